//! Decides how a workload's tables are populated: as loads do it, chunk by chunk in one append, before there are any
//! indexes.
//!
//! Not here: what the rows are (`tpcc/populate.rs`, `tatp/populate.rs`).

use std::mem::MaybeUninit;
use std::sync::Arc;

use arrow_array::builder::{
    BooleanBuilder, Decimal128Builder, Int16Builder, Int32Builder, Int64Builder, StringViewBuilder,
    TimestampMicrosecondBuilder,
};
use arrow_array::{ArrayRef, RecordBatch};
use longshore_storage::{
    ARENA_BLOCK_BYTES, Append, Arena, CHUNK_ROWS_MAX, ColumnType, Datum, Memory, MergeKind, PartitionBuffer, Relation,
};

use crate::Failure;

/// Has so many bytes of memory wait for their use, all pages of them known to the system: as in repeated loads, what is
/// measured then is not how fast the system hands out memory.
///
/// # Errors
///
/// When memory is short.
pub(super) fn have_at_hand(memory: &Arc<Memory>, bytes: usize) -> Result<(), Failure> {
    let mut region = Arena::new(Arc::clone(memory), bytes).allocate(bytes)?;
    region.as_uninit().fill(MaybeUninit::new(0));
    Ok(())
}

/// Rows on their way into a relation.
pub(super) struct Fill<'r> {
    relation: &'r Relation,
    append: Append<'r>,
    arena: Arena,
    columns: Vec<Builder>,
    rows: usize,
    sequence: u64,
}

enum Builder {
    Boolean(BooleanBuilder),
    I16(Int16Builder),
    I32(Int32Builder),
    I64(Int64Builder),
    Decimal(Decimal128Builder),
    Timestamp(TimestampMicrosecondBuilder),
    Text(StringViewBuilder),
}

impl<'r> Fill<'r> {
    /// Begins to fill a relation.
    ///
    /// # Errors
    ///
    /// When it has a column of a type that no workload has.
    pub(super) fn new(relation: &'r Relation) -> Result<Fill<'r>, Failure> {
        let columns = relation.schema().columns().iter().map(|column| Builder::new(column.column_type));
        Ok(Fill {
            relation,
            append: relation.begin_append(MergeKind::Chunk),
            arena: Arena::new(Arc::clone(relation.memory()), ARENA_BLOCK_BYTES),
            columns: columns.collect::<Result<_, _>>()?,
            rows: 0,
            sequence: 0,
        })
    }

    /// Adds a row: a value for each column.
    ///
    /// # Errors
    ///
    /// When a value is not of its column's type, or memory is short.
    pub(super) fn push(&mut self, row: &[Datum<'_>]) -> Result<(), Failure> {
        if row.len() != self.columns.len() {
            return Err(format!("{} values for {} columns", row.len(), self.columns.len()).into());
        }
        for (column, value) in self.columns.iter_mut().zip(row) {
            column.push(*value)?;
        }
        self.rows += 1;
        if self.rows == CHUNK_ROWS_MAX { self.merge() } else { Ok(()) }
    }

    /// Makes the rows visible.
    ///
    /// # Errors
    ///
    /// When memory is short.
    pub(super) fn finish(mut self) -> Result<u64, Failure> {
        self.merge()?;
        Ok(self.append.commit()?)
    }

    fn merge(&mut self) -> Result<(), Failure> {
        let arrays = self.columns.iter_mut().map(Builder::finish).collect();
        let schema = self.relation.schema();
        let batch = RecordBatch::try_new(schema.arrow(), arrays)?;
        let buffers = PartitionBuffer::from_batch(schema, &batch, &mut self.arena)?;
        self.append.merge(self.sequence, buffers)?;
        self.sequence += 1;
        self.rows = 0;
        Ok(())
    }
}

impl Builder {
    fn new(column_type: ColumnType) -> Result<Builder, Failure> {
        Ok(match column_type {
            ColumnType::Boolean => Builder::Boolean(BooleanBuilder::new()),
            ColumnType::SmallInt => Builder::I16(Int16Builder::new()),
            ColumnType::Integer => Builder::I32(Int32Builder::new()),
            ColumnType::BigInt => Builder::I64(Int64Builder::new()),
            ColumnType::Decimal { precision, scale } => {
                Builder::Decimal(Decimal128Builder::new().with_precision_and_scale(precision, scale as i8)?)
            }
            ColumnType::Timestamp => Builder::Timestamp(TimestampMicrosecondBuilder::new()),
            ColumnType::Char(_) | ColumnType::Varchar(_) => Builder::Text(StringViewBuilder::new()),
            other => return Err(format!("no workload fills columns of type {other}").into()),
        })
    }

    fn push(&mut self, value: Datum<'_>) -> Result<(), Failure> {
        match (self, value) {
            (Builder::Boolean(builder), Datum::Bool(value)) => builder.append_value(value),
            (Builder::I16(builder), Datum::I16(value)) => builder.append_value(value),
            (Builder::I32(builder), Datum::I32(value)) => builder.append_value(value),
            (Builder::I64(builder), Datum::I64(value)) => builder.append_value(value),
            (Builder::Decimal(builder), Datum::I64(value)) => builder.append_value(value.into()),
            (Builder::Timestamp(builder), Datum::I64(value)) => builder.append_value(value),
            (Builder::Text(builder), Datum::Text(value)) => builder.append_value(value),
            (Builder::Boolean(builder), Datum::Null) => builder.append_null(),
            (Builder::I16(builder), Datum::Null) => builder.append_null(),
            (Builder::I32(builder), Datum::Null) => builder.append_null(),
            (Builder::I64(builder), Datum::Null) => builder.append_null(),
            (Builder::Decimal(builder), Datum::Null) => builder.append_null(),
            (Builder::Timestamp(builder), Datum::Null) => builder.append_null(),
            (Builder::Text(builder), Datum::Null) => builder.append_null(),
            (_, value) => return Err(format!("{value:?} is not of its column's type").into()),
        }
        Ok(())
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Builder::Boolean(builder) => Arc::new(builder.finish()),
            Builder::I16(builder) => Arc::new(builder.finish()),
            Builder::I32(builder) => Arc::new(builder.finish()),
            Builder::I64(builder) => Arc::new(builder.finish()),
            Builder::Decimal(builder) => Arc::new(builder.finish()),
            Builder::Timestamp(builder) => Arc::new(builder.finish()),
            Builder::Text(builder) => Arc::new(builder.finish()),
        }
    }
}
