//! Rows of queries on their way into a relation: batches are gathered until they fill a chunk, and copied once.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, RecordBatch};
use datafusion::arrow::datatypes::{Field, Schema};
use longshore_storage::{
    ARENA_BLOCK_BYTES, AppendError, Arena, CHUNK_ROWS_MAX, Column, ColumnType, HEAP_BYTES_MAX, PartitionBuffer,
    Relation, lists,
};

use super::array_lengths::fitted;
use crate::datafusion::errors::from_datafusion;
use crate::datafusion::functions::nested::cast::cast_to;
use crate::datafusion::planning::rules::Checks;
use crate::{Error, ErrorDetails, ErrorKind};

/// Bytes of memory that a small insert takes from the system at a time.
const SMALL_BLOCK_BYTES: usize = 2 << 20;

/// Gathers rows for a relation.
pub(in crate::datafusion) struct BulkAppender<'a> {
    relation: &'a Relation,
    checks: Option<&'a Checks>,
    waiting: Vec<RecordBatch>,
    waiting_rows: usize,
    arena: Option<Arena>,
    buffers: Vec<PartitionBuffer>,
}

impl<'a> BulkAppender<'a> {
    /// Gathers rows for `relation`, which does not see them yet, and refuses those that violate `checks`.
    pub(in crate::datafusion) fn new(relation: &'a Relation, checks: Option<&'a Checks>) -> Self {
        Self { relation, checks, waiting: Vec::new(), waiting_rows: 0, arena: None, buffers: Vec::new() }
    }

    /// Takes in the rows of `batch`, which have hidden columns only if no checks make these.
    pub(in crate::datafusion) fn add(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        let columns = &self.relation.schema().all_columns()[..batch.num_columns()];
        let types = columns.iter().map(|column| column.column_type).enumerate();
        let fields: Vec<Field> = columns.iter().map(Column::field).collect();
        let mut batch = fitted(convert(batch, &fields)?, types)?;
        if let Some(checks) = self.checks {
            batch = checks.complete(batch)?;
            checks.check(&batch)?;
        }
        self.waiting_rows += batch.num_rows();
        self.waiting.push(lists::encode_batch(&batch));
        if self.waiting_rows >= CHUNK_ROWS_MAX { self.flush() } else { Ok(()) }
    }

    /// All rows, in their order.
    pub(in crate::datafusion) fn finish(mut self) -> Result<Vec<PartitionBuffer>, Error> {
        self.take()
    }

    /// The rows since the last time, in their order.
    pub(in crate::datafusion) fn take(&mut self) -> Result<Vec<PartitionBuffer>, Error> {
        self.flush()?;
        Ok(std::mem::take(&mut self.buffers))
    }

    /// Copies what waits into buffers.
    fn flush(&mut self) -> Result<(), Error> {
        if self.waiting_rows == 0 {
            return Ok(());
        }
        let block_bytes = if self.waiting_rows < CHUNK_ROWS_MAX { SMALL_BLOCK_BYTES } else { ARENA_BLOCK_BYTES };
        let memory = self.relation.memory();
        let arena = self.arena.get_or_insert_with(|| Arena::new(Arc::clone(memory), block_bytes));
        let schema = self.relation.schema();
        let heap_bytes: usize = self.waiting.iter().map(|batch| PartitionBuffer::heap_bytes_of(schema, batch)).sum();
        let mut room = |rows: usize| {
            PartitionBuffer::with_capacity(schema, rows.min(CHUNK_ROWS_MAX), heap_bytes.min(HEAP_BYTES_MAX), arena)
        };
        let mut left = std::mem::take(&mut self.waiting_rows);
        let mut buffer = room(left)?;
        for batch in std::mem::take(&mut self.waiting) {
            let mut row = 0;
            while row < batch.num_rows() {
                let taken = buffer.append_batch(&batch, row..batch.num_rows());
                let taken = taken.map_err(|error| rejected(&self.relation.name(), error))?;
                row += taken;
                left -= taken;
                if row < batch.num_rows() {
                    if buffer.rows() == 0 {
                        let bytes = PartitionBuffer::heap_bytes_of(schema, &batch.slice(row, 1));
                        return Err(rejected(&self.relation.name(), AppendError::RowTooLarge { row: 0, bytes }));
                    }
                    self.buffers.push(std::mem::replace(&mut buffer, room(left)?));
                }
            }
        }
        self.buffers.push(buffer);
        Ok(())
    }
}

/// The rows of `batch` in the types of `target`. What does not fit is an error, never NULL.
pub(in crate::datafusion) fn convert(batch: &RecordBatch, target: &[Field]) -> Result<RecordBatch, Error> {
    let columns = batch.columns().iter().zip(target).map(|(array, field)| {
        if array.data_type() == field.data_type() {
            return Ok(Arc::clone(array));
        }
        cast_to(array, field.data_type()).map_err(from_datafusion)
    });
    let columns = columns.collect::<Result<Vec<ArrayRef>, Error>>()?;
    // NOT NULL is checked when the rows are taken in, with a message that names the column.
    let fields = target.iter().map(|field| field.clone().with_nullable(true));
    let schema = Schema::new(fields.collect::<Vec<_>>());
    RecordBatch::try_new(Arc::new(schema), columns).map_err(|error| from_datafusion(error.into()))
}

fn rejected(relation: &str, error: AppendError) -> Error {
    match error {
        AppendError::Null { ref column, .. } => {
            let (table, column) = (Some(relation.to_owned()), Some(column.clone()));
            let details = ErrorDetails { table, column, ..ErrorDetails::NONE };
            Error::new(ErrorKind::NotNull, format!("{relation}: {error}")).about(details)
        }
        AppendError::OutOfMemory(error) => error.into(),
        AppendError::ColumnCount { .. } | AppendError::Type { .. } => Error::internal(error.to_string()),
        AppendError::TooLong { .. } => Error::new(ErrorKind::TooLong, error.to_string()),
        AppendError::Invalid { column_type: ColumnType::Numeric(_), .. } => {
            Error::new(ErrorKind::OutOfRange, error.to_string())
        }
        other => Error::new(ErrorKind::Data, other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::{AsArray, Int64Array, StringArray};
    use datafusion::arrow::datatypes::DataType;
    use longshore_storage::{ColumnType, Memory, MergeKind, Schema as TableSchema};

    use super::*;

    #[test]
    fn batches_of_any_size_become_full_chunks_in_order() {
        let columns = vec![Column::new("n", ColumnType::Integer, false), Column::new("s", ColumnType::Text, true)];
        for (batch_rows, batches, expected) in [
            (1, 3, vec![3]),
            (50_000, 3, vec![65_536, 34_464, 50_000]),
            (200_000, 1, vec![65_536, 65_536, 65_536, 3_392]),
        ] {
            let relation = Relation::new(Arc::new(TableSchema::new(columns.clone())), Memory::new(None));
            let mut appender = BulkAppender::new(&relation, None);
            for batch in 0..batches {
                let rows = batch * batch_rows..(batch + 1) * batch_rows;
                let numbers = Int64Array::from_iter_values(rows.clone());
                let texts = rows.map(|row| (row % 3 > 0).then(|| format!("{}{row}", "long ".repeat(row as usize % 5))));
                let texts: StringArray = texts.collect();
                let schema =
                    Schema::new(vec![Field::new("a", DataType::Int64, true), Field::new("b", DataType::Utf8, true)]);
                let batch = RecordBatch::try_new(Arc::new(schema), vec![Arc::new(numbers), Arc::new(texts)]);
                appender.add(&batch.expect("the columns fit the schema")).expect("the rows fit the table");
            }
            let append = relation.begin_append(MergeKind::Chunk);
            let buffers = appender.finish().expect("there is memory");
            assert_eq!(buffers.iter().map(PartitionBuffer::rows).collect::<Vec<_>>(), expected);
            append.merge(0, buffers).expect("there is memory");
            assert_eq!(append.commit().expect("there are no keys"), (batch_rows * batches) as u64);
            let mut row = 0;
            for chunk in relation.snapshot().chunks() {
                let batch = chunk.batch(&[0, 1], 0, chunk.rows());
                for (number, text) in batch
                    .column(0)
                    .as_primitive::<datafusion::arrow::datatypes::Int32Type>()
                    .values()
                    .iter()
                    .zip(batch.column(1).as_string_view())
                {
                    assert_eq!(i64::from(*number), row);
                    let expected = (row % 3 > 0).then(|| format!("{}{row}", "long ".repeat(row as usize % 5)));
                    assert_eq!(text, expected.as_deref());
                    row += 1;
                }
            }
        }
    }

    #[test]
    fn values_that_do_not_fit_are_refused() {
        let columns = vec![Column::new("n", ColumnType::SmallInt, false)];
        let relation = Relation::new(Arc::new(TableSchema::new(columns)), Memory::new(None));
        let batch = |values: Vec<Option<i64>>| {
            let schema = Schema::new(vec![Field::new("a", DataType::Int64, true)]);
            RecordBatch::try_new(Arc::new(schema), vec![Arc::new(Int64Array::from(values))]).expect("it fits")
        };
        let mut appender = BulkAppender::new(&relation, None);
        assert!(appender.add(&batch(vec![Some(1), Some(40_000)])).is_err());
        appender.add(&batch(vec![Some(1), None])).expect("checked later");
        assert!(appender.finish().expect_err("NULL").to_string().contains("column n"));
    }
}
