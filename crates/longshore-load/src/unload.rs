//! The way back: record batches to text, formatted in parallel and written in order.
//!
//! CSV is what [`crate::copy_from`] with the same options reads back to the same values.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use longshore_csv::Dialect;
use longshore_csv::write::Quoting;

use crate::control::Control;
use crate::error::LoadError;
use crate::options::{ColumnChoice, ValueOptions};
use crate::target::{OpenTarget, Target};

mod columns;
mod compress;
mod json;
mod padding;
mod postgres_text;

use columns::write_rows;
pub use compress::TextCompression;
pub use json::JsonLayout;
use json::JsonRows;
pub use padding::WIDTH;
use padding::padded;
pub use postgres_text::PostgresTextLayout;

/// What rows are written as.
#[derive(Clone, Debug)]
pub enum RowText {
    /// Comma-separated values.
    Csv(UnloadOptions),
    /// JSON objects.
    Json(JsonLayout),
    /// PostgreSQL's text format.
    Postgres(PostgresTextLayout),
    /// Whatever somebody else writes.
    Other(Arc<dyn RowWriter>),
}

/// A way to write rows that is not known here.
pub trait RowWriter: Debug + Send + Sync {
    /// Appends what stands before the rows.
    fn begin(&self, out: &mut Vec<u8>);

    /// Appends the rows of a batch.
    ///
    /// # Errors
    /// When one of them cannot be written.
    fn write(&self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), LoadError>;

    /// What stands behind the rows.
    fn end(&self) -> &'static [u8];
}

/// How CSV is to be written.
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
/// When a batch is an error (its text is kept), a column has a type that CSV cannot hold, the target cannot be
/// written, or the statement is cancelled. A file that existed before is then left as it was.
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
    unload_text(batches, schema, target, &RowText::Csv(options.clone()), None, threads, control)
}

/// Writes all batches as text, in order, perhaps compressed, as [`unload_csv`] does.
///
/// # Errors
/// As [`unload_csv`].
pub fn unload_text<I, E>(
    batches: I,
    schema: &SchemaRef,
    target: Target,
    text: &RowText,
    compression: Option<TextCompression>,
    threads: usize,
    control: &Control,
) -> Result<UnloadReport, LoadError>
where
    I: Iterator<Item = Result<RecordBatch, E>> + Send,
    E: std::fmt::Display,
{
    let begin = Instant::now();
    let mut header = Vec::new();
    let rows = match text {
        RowText::Csv(options) => {
            ValueOptions { nulls: vec![options.null.clone()], ..ValueOptions::default() }.check(&options.dialect)?;
            if options.header {
                write_header(&mut header, schema, options)?;
            }
            Rows::Csv {
                forced: schema.fields().iter().map(|f| options.force_quote.contains(f.name())).collect(),
                options,
            }
        }
        RowText::Json(layout) => Rows::Json(JsonRows::new(*layout, schema)),
        RowText::Postgres(layout) => {
            layout.write_header(schema, &mut header);
            Rows::Postgres(layout)
        }
        RowText::Other(writer) => {
            writer.begin(&mut header);
            Rows::Other(writer.as_ref())
        }
    };
    let output = OpenTarget::open(target)?;
    let unload = Unload {
        batches: Mutex::new((0, batches)),
        rows,
        compression,
        control,
        ready_max: READY_PER_WORKER_MAX * threads.max(1),
        turn: Mutex::default(),
        next_turn: Condvar::new(),
        output: &output,
    };
    unload.write_in_turn(0, 0, header);
    std::thread::scope(|scope| {
        for _ in 1..threads.max(1) {
            scope.spawn(|| unload.work());
        }
        unload.work();
    });
    let sequence = unload.batches.lock().unwrap_or_else(PoisonError::into_inner).0;
    if let Some(end) = unload.rows.end(sequence == 0) {
        unload.write_in_turn(sequence + 1, 0, end.to_vec());
    }
    let turn = unload.turn.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, error)) = turn.failure {
        output.discard();
        return Err(error);
    }
    output.complete()?;
    Ok(UnloadReport { rows: turn.rows, bytes: turn.bytes, seconds: begin.elapsed().as_secs_f64() })
}

/// How the rows of a batch become text.
enum Rows<'a> {
    Csv {
        /// For each column, whether its values are always quoted.
        forced: Vec<bool>,
        options: &'a UnloadOptions,
    },
    Json(JsonRows),
    Postgres(&'a PostgresTextLayout),
    Other(&'a dyn RowWriter),
}

impl Rows<'_> {
    /// Appends the rows of the batch with this number, from 1.
    fn write(&self, batch: &RecordBatch, sequence: u64, text: &mut Vec<u8>) -> Result<(), LoadError> {
        match self {
            Self::Csv { forced, options } => write_rows(&padded(batch), forced, options, text),
            Self::Json(rows) => rows.write(batch, sequence == 1, text),
            Self::Postgres(layout) => layout.write_rows(&padded(batch), text),
            Self::Other(writer) => writer.write(batch, text),
        }
    }

    /// What stands behind all rows, of which there may be none.
    fn end(&self, is_empty: bool) -> Option<&[u8]> {
        match self {
            Self::Csv { .. } | Self::Postgres(_) => None,
            Self::Json(rows) => Some(rows.end(is_empty)),
            Self::Other(writer) => Some(writer.end()),
        }
    }
}

fn write_header(out: &mut Vec<u8>, schema: &SchemaRef, options: &UnloadOptions) -> Result<(), LoadError> {
    for (index, field) in schema.fields().iter().enumerate() {
        if index > 0 {
            out.push(options.dialect.delimiter());
        }
        Quoting::new(&options.dialect, options.null.as_bytes(), false)
            .text(out, field.name().as_bytes())
            .map_err(|error| LoadError::Query(format!("the name of column {}: {error}", field.name())))?;
    }
    out.push(b'\n');
    Ok(())
}

/// What the workers of an unload share.
struct Unload<'a, I> {
    /// How many batches were pulled, and the rest of them.
    batches: Mutex<(u64, I)>,
    rows: Rows<'a>,
    compression: Option<TextCompression>,
    control: &'a Control,
    /// How many texts may wait to be written.
    ready_max: usize,
    turn: Mutex<Turn>,
    next_turn: Condvar,
    output: &'a OpenTarget,
}

/// Texts that may wait to be written, for each worker.
const READY_PER_WORKER_MAX: usize = 2;

/// What is written next, and by whom. One worker at a time writes, whatever is ready: side by side they would only wait
/// for each other, since the system lets one write to a file at a time, and texts are formatted meanwhile.
#[derive(Default)]
struct Turn {
    /// 0 is the header, n the n-th batch.
    sequence: u64,
    is_writing: bool,
    /// Texts whose turn has not come, or that wait for the one before them to be written.
    ready: BTreeMap<u64, Formatted>,
    /// Memory of texts that were written.
    spare: Vec<Vec<u8>>,
    bytes: u64,
    rows: u64,
    failure: Option<(u64, LoadError)>,
}

/// What is done when a thread panics, so that others do not wait for it.
struct OnPanic<F: Fn()>(F);

impl<F: Fn()> Drop for OnPanic<F> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            (self.0)();
        }
    }
}

/// The text of a batch.
struct Formatted {
    rows: u64,
    text: Vec<u8>,
}

impl<I, E> Unload<'_, I>
where
    I: Iterator<Item = Result<RecordBatch, E>> + Send,
    E: std::fmt::Display,
{
    fn work(&self) {
        let _ends_others = OnPanic(|| {
            self.fail(u64::MAX, LoadError::Query("a thread that writes panicked; this is a bug".to_owned()));
        });
        while let Some((sequence, batch)) = self.pull() {
            let mut text = self.lock_turn().spare.pop().unwrap_or_default();
            text.clear();
            let formatted = match batch {
                Ok(batch) => self.rows.write(&batch, sequence, &mut text).map(|()| batch.num_rows() as u64),
                Err(error) => Err(LoadError::Query(error.to_string())),
            };
            let go_on = match formatted {
                Ok(_) if self.control.is_cancelled() => self.fail(sequence, LoadError::Cancelled),
                Ok(rows) => self.write_in_turn(sequence, rows, text),
                Err(error) => self.fail(sequence, error),
            };
            if !go_on {
                return;
            }
        }
    }

    fn pull(&self) -> Option<(u64, Result<RecordBatch, E>)> {
        let mut batches = self.batches.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let batch = batches.1.next()?;
            if batch.as_ref().is_ok_and(|batch| batch.num_rows() == 0) {
                continue;
            }
            batches.0 += 1;
            return Some((batches.0, batch));
        }
    }

    /// Hands in the text of some rows, and writes what is ready unless another worker does; false if the unload failed.
    fn write_in_turn(&self, sequence: u64, rows: u64, text: Vec<u8>) -> bool {
        let text = match self.compression {
            Some(compression) if !text.is_empty() => match compression.compress(&text) {
                Ok(compressed) => compressed,
                Err(error) => return self.fail(sequence, self.output.error("compress it", error)),
            },
            _ => text,
        };
        let formatted = Formatted { rows, text };
        let mut turn = self.lock_turn();
        // The one whose turn it is never waits, so that the others do not wait for ever.
        while turn.sequence != sequence && turn.ready.len() >= self.ready_max && turn.failure.is_none() {
            turn = self.next_turn.wait(turn).unwrap_or_else(PoisonError::into_inner);
        }
        turn.ready.insert(sequence, formatted);
        if turn.is_writing {
            return turn.failure.is_none();
        }
        turn.is_writing = true;
        while turn.failure.is_none() {
            let next = turn.sequence;
            let Some(Formatted { rows, text }) = turn.ready.remove(&next) else { break };
            drop(turn);
            let written = self.output.write_next(&text);
            self.control.progress.add(text.len() as u64, rows);
            if let Err(error) = written {
                self.fail(next, self.output.error("write it", error));
            }
            turn = self.lock_turn();
            turn.sequence += 1;
            turn.rows += rows;
            turn.bytes += text.len() as u64;
            turn.spare.push(text);
            self.next_turn.notify_all();
        }
        turn.is_writing = false;
        turn.failure.is_none()
    }

    /// Notes the failure of a batch; the first one in order counts. Returns false.
    fn fail(&self, sequence: u64, error: LoadError) -> bool {
        let mut turn = self.lock_turn();
        if turn.failure.as_ref().is_none_or(|(earlier, _)| sequence < *earlier) {
            turn.failure = Some((sequence, error));
        }
        drop(turn);
        self.next_turn.notify_all();
        false
    }

    fn lock_turn(&self) -> MutexGuard<'_, Turn> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
