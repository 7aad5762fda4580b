//! RETURNING: expressions over the rows that a statement inserted, changed or deleted.

use arrow_array::RecordBatch;
use sqlparser::ast::{Ident, SelectItem};

use super::target::{parsed, select_of};
use crate::datafusion::TARGET;
use crate::sql::names;
use crate::statement::Context;
use crate::{Error, Outcome};

/// The values of `items` over the rows `images` of the table, which the statement calls `alias`.
pub(crate) async fn returning(
    context: &Context<'_>,
    alias: &Ident,
    items: Vec<SelectItem>,
    images: RecordBatch,
) -> Result<Outcome, Error> {
    let mut statement = parsed(&format!("SELECT 1 FROM {} AS {alias}", names::quoted(TARGET)))?;
    select_of(&mut statement)?.projection = items;
    let rows = context.database.queries.query_images(statement, images, context.work, context.control).await?;
    Ok(Outcome::Rows(rows))
}
