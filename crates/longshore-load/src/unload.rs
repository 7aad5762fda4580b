//! The way back: record batches to CSV text, formatted in parallel and written in order.

use std::io::Write;
use std::path::PathBuf;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use longshore_csv::Dialect;

use crate::{ColumnChoice, Control, LoadError};

/// Where text goes.
pub enum Target {
    /// A file, replaced if it exists.
    File(PathBuf),
    /// Anything that takes bytes in order.
    Writer(Box<dyn Write + Send>),
}

/// How text is to be written.
#[derive(Clone, Debug)]
pub struct UnloadOptions {
    /// Delimiter, quote and escape.
    pub dialect: Dialect,
    /// The text that stands for NULL.
    pub null: String,
    /// Whether the first record holds the column names.
    pub header: bool,
    /// Columns whose values are always quoted (NULL never is).
    pub force_quote: ColumnChoice,
}

/// What an unload did.
#[derive(Clone, Copy, Debug, Default)]
pub struct UnloadReport {
    /// Rows written, without the header.
    pub rows: u64,
    /// Bytes written.
    pub bytes: u64,
    /// Wall-clock time.
    pub seconds: f64,
}

/// Writes all batches as CSV, in order; `batches` is pulled by `threads` workers, one at a time.
///
/// # Errors
/// When a batch is an error (its text is kept), the target cannot be written, or the statement is cancelled.
pub fn unload_csv<I, E>(
    batches: I,
    schema: &SchemaRef,
    target: Target,
    options: &UnloadOptions,
    threads: usize,
    control: &Control,
) -> Result<UnloadReport, LoadError>
where
    I: Iterator<Item = Result<RecordBatch, E>> + Send,
    E: std::fmt::Display,
{
    let _ = (batches, schema, target, options, threads, control);
    todo!()
}
