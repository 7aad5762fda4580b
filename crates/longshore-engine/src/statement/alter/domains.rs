//! What ALTER DOMAIN does to the tables that have columns of the domain.

use std::sync::Arc;

use super::draft::Draft;
use super::make;
use crate::Error;
use crate::catalog::Table;
use crate::statement::Context;

/// Lets these columns of tables take NULL no more, table by table.
pub(crate) async fn set_not_null(context: &Context<'_>, users: Vec<(Arc<Table>, Vec<usize>)>) -> Result<(), Error> {
    for (table, columns) in users {
        // One that is altered may have changed what refers to it.
        let Some(table) = context.database.catalog.table(&table.name) else { continue };
        let mut draft = Draft::new(context, table);
        for at in columns {
            draft.columns[at].column.nullable = false;
        }
        make::replace(context, draft).await?;
    }
    Ok(())
}
