//! What a database that comes back from its log needs of statements: its foreign keys.
//!
//! They are not held against the rows again, which obeyed them. Not here: everything else (`catalog::restore`).

use std::sync::Arc;

use longshore_load::Control;

use crate::catalog::{Entry, Table};
use crate::statement::{Context, foreign};
use crate::transaction::{Level, Modes, StatementTransaction};
use crate::{Database, Error};

/// Lets all tables obey their foreign keys.
pub(crate) fn bind_references(database: &Arc<Database>) -> Result<(), Error> {
    let modes = Modes::new(Level::Snapshot, true);
    let transaction =
        StatementTransaction::begin(&database.transactions, modes, &Arc::default(), &Arc::default(), false);
    let control = Arc::new(Control::new());
    let context =
        Context { database, control: &control, transaction: &transaction, parameters: None, with: None, named: &[] };
    for entry in database.catalog.entries() {
        let Entry::Table(table) = entry else { continue };
        let rules = table.rules();
        let defaults = foreign::defaults(&context, table.relation.schema().columns(), &rules)?;
        for reference in &rules.references {
            let parent: Option<Arc<Table>> = database.catalog.table(&reference.table);
            let parent = parent.ok_or_else(|| foreign::no_table(&reference.table))?;
            foreign::bind((&table, &parent), reference, defaults.clone(), true, None, &|| false)?;
        }
    }
    Ok(())
}
