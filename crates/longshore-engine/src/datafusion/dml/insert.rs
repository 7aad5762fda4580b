//! INSERT: rows of a plan, appended in one step. Not here: how they are gathered and checked (`bulk_appender`).

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::Field;
use futures::TryStreamExt;
use longshore_load::Control;
use longshore_storage::{Column, MergeKind, Merged, OnConflict, Relation};

use super::array_lengths::fitted;
use super::bulk_appender::{BulkAppender, convert};
use crate::datafusion::errors::from_datafusion;
use crate::datafusion::planning::rules::Checks;
use crate::transaction::StatementTransaction;
use crate::{Error, RowStream};

/// Makes all `rows` and checks that `relation` takes them, which does not get them. Returns their number.
pub(in crate::datafusion) async fn dry_run(
    relation: &Relation,
    mut rows: RowStream,
    checks: Option<&Checks>,
    control: &Control,
) -> Result<u64, Error> {
    let mut appender = BulkAppender::new(relation, checks);
    let mut count = 0;
    while let Some(batch) = rows.try_next().await? {
        if control.is_cancelled() {
            return Err(Error::cancelled());
        }
        appender.add(&batch)?;
        appender.take()?;
        count += batch.num_rows() as u64;
    }
    Ok(count)
}

/// All `rows` in the types of `relation`.
pub(in crate::datafusion) async fn gather(relation: &Relation, mut rows: RowStream) -> Result<RecordBatch, Error> {
    let types: Vec<Field> = relation.schema().columns().iter().map(Column::field).collect();
    let mut batches = Vec::new();
    while let Some(batch) = rows.try_next().await? {
        let columns = relation.schema().columns().iter().map(|column| column.column_type).enumerate();
        batches.push(fitted(convert(&batch, &types)?, columns)?);
    }
    let types = batches.first().map_or_else(|| relation.schema().arrow(), RecordBatch::schema);
    concat_batches(&types, &batches).map_err(|error| from_datafusion(error.into()))
}

/// Appends `rows` to `relation`, as part of `transaction` if there is one: all but those that `conflict` leaves out, or none.
pub(in crate::datafusion) async fn append(
    relation: &Relation,
    mut rows: RowStream,
    checks: Option<&Checks>,
    transaction: Option<&StatementTransaction>,
    conflict: &OnConflict,
    control: &Control,
) -> Result<Merged, Error> {
    let mut appender = BulkAppender::new(relation, checks);
    while let Some(batch) = rows.try_next().await? {
        if control.is_cancelled() {
            return Err(Error::cancelled());
        }
        appender.add(&batch)?;
    }
    let buffers = appender.finish()?;
    let append = relation.begin_append(MergeKind::Chunk);
    append.merge(0, buffers)?;
    match transaction {
        Some(transaction) => transaction.with(|transaction| append.commit_resolving(transaction, conflict, |_| Ok(()))),
        None => Ok(Merged { inserted: append.commit()?, ..Merged::default() }),
    }
}
