//! INSERT: rows of a plan, checked and appended in one step.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{DmlStatement, LogicalPlan, WriteOp};
use futures::TryStreamExt;
use longshore_load::Control;
use longshore_storage::{AppendError, Arena, MergeKind, PartitionBuffer, Relation};

use super::errors::ours;
use super::table::RelationTable;
use crate::{Error, ErrorKind, RowStream};

/// Bytes of memory that an insert takes from the system at a time.
const ARENA_BYTES: usize = 2 << 20;

/// The table that an INSERT appends to, and the plan of the rows, which have the types of its columns.
pub(super) fn target(plan: LogicalPlan) -> Result<(Arc<Relation>, Arc<LogicalPlan>), Error> {
    let LogicalPlan::Dml(DmlStatement { table_name, target, op: WriteOp::Insert(InsertOp::Append), input, .. }) = plan
    else {
        return Err(Error::unsupported("only INSERT INTO appends rows; other forms of INSERT are not supported yet"));
    };
    let provider = source_as_provider(&target).map_err(ours)?;
    match provider.downcast_ref::<RelationTable>() {
        Some(table) => Ok((Arc::clone(table.relation()), input)),
        None => Err(Error::invalid(format!("{} is not a table; INSERT needs one", table_name.table()))),
    }
}

/// Appends all `rows` to `relation`, or none of them. Returns their number.
pub(super) async fn append(relation: &Relation, mut rows: RowStream, control: &Control) -> Result<u64, Error> {
    let schema = relation.schema();
    let types = schema.arrow();
    let mut arena = Arena::new(Arc::clone(relation.memory()), ARENA_BYTES);
    let mut buffers = Vec::new();
    while let Some(batch) = rows.try_next().await? {
        if control.is_cancelled() {
            return Err(Error::cancelled());
        }
        let batch = convert(&batch, &types)?;
        buffers.extend(PartitionBuffer::from_batch(schema, &batch, &mut arena).map_err(rejected)?);
    }
    // Batches are small; copying them fills the last chunk of the relation before a new one is begun.
    let append = relation.begin_append(MergeKind::Copy);
    append.merge(0, buffers)?;
    Ok(append.commit())
}

/// The rows of `batch` in the types of `target`. What does not fit is an error, never NULL.
fn convert(batch: &RecordBatch, target: &SchemaRef) -> Result<RecordBatch, Error> {
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let columns = batch.columns().iter().zip(target.fields()).map(|(array, field)| {
        if array.data_type() == field.data_type() {
            return Ok(Arc::clone(array));
        }
        let cast = cast_with_options(array, field.data_type(), &options);
        cast.map_err(|error| ours(error.into()))
    });
    let columns = columns.collect::<Result<Vec<ArrayRef>, Error>>()?;
    // NOT NULL is checked when the rows are taken in, with a message that names the column.
    let fields = target.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
    let schema = Schema::new(fields.collect::<Vec<_>>());
    RecordBatch::try_new(Arc::new(schema), columns).map_err(|error| ours(error.into()))
}

fn rejected(error: AppendError) -> Error {
    match error {
        AppendError::OutOfMemory(error) => error.into(),
        AppendError::ColumnCount { .. } | AppendError::Type { .. } => Error::internal(error.to_string()),
        other => Error::new(ErrorKind::Data, other.to_string()),
    }
}
