//! The hidden columns of what was loaded for a table: files have none.

use std::sync::Arc;

use longshore_storage::{Relation, Schema};
use sqlparser::ast::{SelectItem, Statement};

use super::empty;
use crate::Error;
use crate::catalog::{Rules, Table};
use crate::sql::{build, names};
use crate::statement::Context;
use crate::statement::alter::make::query_altered;
use crate::statement::change::rows_of_target;
use crate::statement::storage::TableStorage;

/// The rows of a relation with the hidden columns that its table needs.
pub(super) async fn completed(
    context: &Context<'_>,
    name: &str,
    (schema, storage): (Schema, TableStorage),
    loaded: Arc<Relation>,
    rules: &Rules,
) -> Result<Arc<Relation>, Error> {
    let alias = build::quoted(names::own(name));
    let mut select = rows_of_target(&alias);
    let columns = schema.columns().iter();
    select.projection = columns.map(|of| SelectItem::UnnamedExpr(build::column(&alias, &of.name))).collect();
    let statement = Statement::Query(Box::new(build::query_of(select)));
    // Begun behind the load, it sees its rows.
    let look = context.transaction.beside(&context.database.transactions, None);
    let table = Table::new(name, loaded, Rules::default())?;
    let rows = query_altered(context, statement, &table, &look).await?;
    let relation = empty(context, name, schema, storage);
    context.database.queries.append_completed(rows, (name, &relation), rules, &context.execution()).await?;
    Ok(relation)
}
