//! Temporary tables, views and sequences: each session has a schema of its own for them, which nobody logs and which goes with
//! the session. What ON COMMIT says of them is done when a transaction has ended.
//!
//! Not here: how their names are found (`resolve`).

use std::sync::Arc;

use longshore_storage::Isolation;
use sqlparser::ast::OnCommit;

use crate::catalog::{Catalog, Entry, SearchPath};
use crate::sql::names;
use crate::statement::{Context, drop};
use crate::transaction::{AtCommit, LastNumbers};
use crate::{Database, Error};

/// Notes what ON COMMIT says of a new table.
pub(crate) fn note(context: &Context<'_>, name: &str, on_commit: Option<&OnCommit>) {
    let at_commit = match on_commit {
        None | Some(OnCommit::PreserveRows) => {
            context.transaction.numbers().temporary.forget(name);
            return;
        }
        Some(OnCommit::DeleteRows) => AtCommit::DeleteRows,
        Some(OnCommit::Drop) => AtCommit::Drop,
    };
    context.transaction.numbers().temporary.add(name, at_commit);
}

/// Does what ON COMMIT says of temporary tables, when no transaction block is open.
pub(crate) fn at_end(database: &Arc<Database>, session: &LastNumbers) -> Result<(), Error> {
    let database = database.base();
    let catalog = &database.catalog;
    for (name, at_commit) in session.temporary.take() {
        let Some(table) = catalog.table(&name) else { continue };
        match at_commit {
            AtCommit::DeleteRows => {
                let mut transaction = database.transactions.begin(Isolation::Snapshot);
                transaction.truncate(&table.relation)?;
                transaction.commit()?;
            }
            AtCommit::Drop => drop_named(catalog, &[name])?,
        }
    }
    Ok(())
}

/// Drops all that is temporary of a session.
pub(crate) fn drop_all(catalog: &Catalog, path: &SearchPath) -> Result<(), Error> {
    if !path.has_temporary(catalog) {
        return Ok(());
    }
    let first = names::in_schema(&path.temporary, "");
    let own = catalog.names().into_iter().filter(|name| name.starts_with(&first));
    drop_named(catalog, &own.collect::<Vec<_>>())?;
    catalog.change(|change| {
        change.sequences.retain(|name, _| !name.starts_with(&first));
        Ok(())
    })
}

fn drop_named(catalog: &Catalog, dropped: &[String]) -> Result<(), Error> {
    // What is dropped is freed after the catalog is open to others again.
    let _dropped = catalog.change(|change| {
        let mut gone: Vec<Entry> = dropped.iter().filter_map(|name| change.entries.remove(name)).collect();
        drop::finish(catalog, change, &mut gone, true)?;
        Ok(gone)
    })?;
    Ok(())
}
