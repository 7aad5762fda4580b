//! Row groups of Parquet files, encoded column by column by several workers.
//!
//! Not here: which rows are a group (`parquet`, `written`).

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves,
};
use datafusion::parquet::errors::ParquetError;
use longshore_load::Control;

/// Some rows on their way into a file, in parts that follow each other.
pub(super) struct RowGroup<'a, A> {
    pub(super) schema: &'a SchemaRef,
    /// The number of parts.
    pub(super) parts: usize,
    /// The array of a part, by its number, and a column.
    pub(super) array: A,
    pub(super) control: &'a Control,
}

impl<A: Fn(usize, usize) -> ArrayRef + Sync> RowGroup<'_, A> {
    /// Encodes all columns, each by one of `threads` workers.
    pub(super) fn encode(
        &self,
        factory: &ArrowRowGroupWriterFactory,
        index: usize,
        threads: usize,
    ) -> Result<Vec<ArrowColumnChunk>, ParquetError> {
        let slots = self.slots(factory.create_column_writers(index)?);
        let encoded: Vec<_> = slots.iter().map(|_| Mutex::new(None)).collect();
        let next = AtomicUsize::new(0);
        let work = || {
            loop {
                let slot = next.fetch_add(1, Ordering::Relaxed);
                if slot >= slots.len() || self.control.is_cancelled() {
                    return;
                }
                let writers = std::mem::take(&mut *lock(&slots[slot]));
                *lock(&encoded[slot]) = Some(self.encode_column(slot, writers));
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads.min(slots.len()) {
                scope.spawn(work);
            }
            work();
        });
        // Columns are missing only after a cancellation, which the caller sees.
        let columns: Result<Vec<Vec<_>>, _> = encoded.iter().filter_map(|slot| lock(slot).take()).collect();
        Ok(columns?.into_iter().flatten().collect())
    }

    /// The writers of each column; one of a nested type has several.
    fn slots(&self, writers: Vec<ArrowColumnWriter>) -> Vec<Mutex<Vec<ArrowColumnWriter>>> {
        let mut writers = writers.into_iter();
        let fields = self.schema.fields().iter();
        fields.map(|field| Mutex::new(writers.by_ref().take(leaves(field.data_type())).collect())).collect()
    }

    fn encode_column(
        &self,
        column: usize,
        mut writers: Vec<ArrowColumnWriter>,
    ) -> Result<Vec<ArrowColumnChunk>, ParquetError> {
        for part in 0..self.parts {
            let array = (self.array)(part, column);
            for (leaf, writer) in compute_leaves(self.schema.field(column), &array)?.iter().zip(&mut writers) {
                writer.write(leaf)?;
            }
        }
        writers.into_iter().map(ArrowColumnWriter::close).collect()
    }
}

/// How many columns of Parquet a type takes.
fn leaves(data_type: &DataType) -> usize {
    match data_type {
        DataType::Struct(fields) => fields.iter().map(|field| leaves(field.data_type())).sum(),
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::FixedSizeList(field, _)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::Map(field, _) => leaves(field.data_type()),
        _ => 1,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
