//! Rejects as rows, for a table that queries can ask.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringViewArray};
use longshore_storage::{
    Append, AppendError, Arena, Column, ColumnType, Memory, MergeKind, PartitionBuffer, Relation, Schema, Transaction,
    TransactionError,
};

use crate::error::{LoadError, REJECT_RECORD_BYTES_MAX, REJECT_VALUE_BYTES_MAX, Reject};
use crate::options::RejectSink;

/// Rejects that are made rows at a time.
const BATCH_ROWS: usize = 128;
/// Rows of a buffer.
const BUFFER_ROWS: usize = 8192;
/// Bytes of a buffer's long texts: several times those of the largest reject.
const BUFFER_HEAP_BYTES: usize = 4 << 20;
/// Bytes of the blocks that buffers lie in.
const BLOCK_BYTES: usize = 8 << 20;

const _: () = assert!(4 * 3 * (REJECT_RECORD_BYTES_MAX + REJECT_VALUE_BYTES_MAX) <= BUFFER_HEAP_BYTES);

/// The columns of a table of rejects.
///
/// `line` and `byte` say where the field begins, or the record where all of it is misshapen; then `column_name`,
/// `column_type` and `value` are NULL. `record_byte`, with `file`, tells rejects of one record from those of others.
/// Bytes that are not UTF-8 are replaced by U+FFFD in `value` and `record`.
#[must_use]
pub fn reject_schema() -> Arc<Schema> {
    let column = |name: &str, column_type, nullable| Column::new(name, column_type, nullable);
    Arc::new(Schema::new(vec![
        column("file", ColumnType::Text, false),
        column("line", ColumnType::BigInt, false),
        column("byte", ColumnType::BigInt, false),
        column("column_name", ColumnType::Text, true),
        column("column_type", ColumnType::Text, true),
        column("value", ColumnType::Text, true),
        column("kind", ColumnType::Text, false),
        column("reason", ColumnType::Text, false),
        column("record_byte", ColumnType::BigInt, false),
        column("record", ColumnType::Text, false),
    ]))
}

/// Gathers rejects as rows of [`reject_schema`], within the memory limit; [`RejectTable::append_to`] makes them part of
/// a relation.
pub struct RejectTable {
    schema: Arc<Schema>,
    rows: Mutex<Rows>,
}

struct Rows {
    arena: Arena,
    buffers: Vec<PartitionBuffer>,
}

impl RejectTable {
    /// No rejects yet; their memory is that of a database.
    #[must_use]
    pub fn new(memory: &Arc<Memory>) -> Self {
        let rows = Rows { arena: Arena::new(Arc::clone(memory), BLOCK_BYTES), buffers: Vec::new() };
        Self { schema: reject_schema(), rows: Mutex::new(rows) }
    }

    /// Rejects gathered.
    #[must_use]
    pub fn count(&self) -> u64 {
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        rows.buffers.iter().map(|buffer| buffer.rows() as u64).sum()
    }

    /// Appends all rejects to `relation`, which has [`reject_schema`], and says how many they are. To be called after
    /// the load: it needs no more memory than there is already.
    ///
    /// # Errors
    /// When memory runs out all the same, or the user has given the relation a key that rejects share.
    pub fn append_to(&self, relation: &Relation) -> Result<u64, TransactionError> {
        self.appended(relation)?.commit()
    }

    /// The same as part of a transaction, that of the load.
    ///
    /// # Errors
    /// As [`RejectTable::append_to`], and when another transaction is in the way.
    pub fn append_in(&self, relation: &Relation, transaction: &mut Transaction) -> Result<u64, TransactionError> {
        self.appended(relation)?.commit_in(transaction)
    }

    /// The append of all rejects, which is not committed yet.
    fn appended<'r>(&self, relation: &'r Relation) -> Result<Append<'r>, TransactionError> {
        let buffers = std::mem::take(&mut self.rows.lock().unwrap_or_else(PoisonError::into_inner).buffers);
        let append = relation.begin_append(MergeKind::Chunk);
        append.merge(0, buffers)?;
        Ok(append)
    }

    fn batch(&self, rejects: &[Reject]) -> RecordBatch {
        let number = |value: &dyn Fn(&Reject) -> u64| -> ArrayRef {
            Arc::new(Int64Array::from_iter_values(rejects.iter().map(|reject| value(reject).cast_signed())))
        };
        let text = |value: &dyn Fn(&Reject) -> Option<String>| -> ArrayRef {
            Arc::new(rejects.iter().map(value).collect::<StringViewArray>())
        };
        let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let columns = vec![
            text(&|reject| Some(reject.file.to_string())),
            number(&|reject| reject.line),
            number(&|reject| reject.byte),
            text(&|reject| reject.column.as_ref().map(|column| column.name.clone())),
            text(&|reject| reject.column.as_ref().map(|column| column.column_type.clone())),
            text(&|reject| reject.value.as_deref().map(lossy)),
            text(&|reject| Some(reject.kind.to_string())),
            text(&|reject| Some(reject.reason.clone())),
            number(&|reject| reject.record_byte),
            text(&|reject| Some(lossy(&reject.record))),
        ];
        RecordBatch::try_new(self.schema.arrow(), columns).expect("the columns are those of the schema")
    }
}

impl Rows {
    fn add(&mut self, schema: &Arc<Schema>, batch: &RecordBatch) -> Result<(), AppendError> {
        let mut row = 0;
        while row < batch.num_rows() {
            let taken = match self.buffers.last_mut() {
                Some(buffer) => buffer.append_batch(batch, row..batch.num_rows())?,
                None => 0,
            };
            if taken == 0 {
                let buffer = PartitionBuffer::with_capacity(schema, BUFFER_ROWS, BUFFER_HEAP_BYTES, &mut self.arena)?;
                self.buffers.push(buffer);
            }
            row += taken;
        }
        Ok(())
    }
}

impl RejectSink for RejectTable {
    fn take(&self, rejects: &[Reject]) -> Result<(), LoadError> {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        // Some at a time, so that what lies beside the buffers stays small.
        for rejects in rejects.chunks(BATCH_ROWS) {
            rows.add(&self.schema, &self.batch(rejects)).map_err(|error| match error {
                AppendError::OutOfMemory(error) => LoadError::OutOfMemory(error),
                error => LoadError::Query(error.to_string()),
            })?;
        }
        Ok(())
    }

    fn finish(&self) -> Result<(), LoadError> {
        Ok(())
    }
}

impl fmt::Debug for RejectTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RejectTable").field("count", &self.count()).finish_non_exhaustive()
    }
}
