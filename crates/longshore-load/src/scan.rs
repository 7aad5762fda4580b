//! Queries over files: record batches straight from text, with projection, predicate and limit in the parse.

use std::sync::Arc;

use arrow_array::{BooleanArray, RecordBatch};
use longshore_storage::{Memory, Schema};

use crate::{Control, CsvOptions, LoadError, Source, Tuning};

/// A predicate evaluated on some columns before the others are decoded.
pub trait RowFilter: Send + Sync {
    /// The fields that the predicate reads, as positions in the file.
    fn columns(&self) -> &[usize];

    /// Which rows to keep; a null counts as no.
    ///
    /// # Errors
    /// The message of an evaluation that failed.
    fn select(&self, batch: &RecordBatch) -> Result<BooleanArray, String>;
}

/// What a [`CsvScan`] shall read.
pub struct ScanRequest {
    /// Name and type of every field of the file.
    pub schema: Arc<Schema>,
    /// The fields to return, as positions in the file, in this order.
    pub projection: Vec<usize>,
    /// Rows to keep.
    pub filter: Option<Arc<dyn RowFilter>>,
    /// Stop after about this many rows (each worker returns no more).
    pub limit: Option<usize>,
    /// How the text is to be read.
    pub options: CsvOptions,
    /// How the machine is used.
    pub tuning: Tuning,
    /// Where batches take their memory from.
    pub memory: Arc<Memory>,
    /// Progress and cancellation.
    pub control: Arc<Control>,
}

/// One pass over a file, shared by workers.
pub struct CsvScan {}

impl CsvScan {
    /// Prepares the scan: reads the head of the file, but parses no row.
    ///
    /// # Errors
    /// When the file cannot be read or its header does not fit.
    pub fn new(source: Source, request: ScanRequest) -> Result<Arc<Self>, LoadError> {
        let _ = (source, request);
        todo!()
    }

    /// A worker of this scan; call it `tuning.threads` times and drain all of them.
    #[must_use]
    pub fn worker(self: &Arc<Self>) -> ScanWorker {
        todo!()
    }
}

/// Batches of the spans that one worker claims.
pub struct ScanWorker {}

impl Iterator for ScanWorker {
    type Item = Result<RecordBatch, LoadError>;

    fn next(&mut self) -> Option<Self::Item> {
        todo!()
    }
}
