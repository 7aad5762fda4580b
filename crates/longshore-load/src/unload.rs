//! The way back: record batches to CSV text, formatted in parallel and written in order.
//!
//! The text is what [`crate::copy_from`] with the same options reads back to the same values.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use longshore_csv::{Dialect, write};

use crate::options::check_null;
use crate::{ColumnChoice, Control, LoadError};

mod columns;

use columns::ColumnText;

/// Where text goes.
pub enum Target {
    /// A file, replaced if it exists, and only when all of the text is written.
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
    let begin = Instant::now();
    check_null(&options.dialect, &options.null)?;
    let mut header = Vec::new();
    if options.header {
        write_header(&mut header, schema, options)?;
    }
    let output = Output::open(target)?;
    let unload = Unload {
        batches: Mutex::new((0, batches)),
        forced: schema.fields().iter().map(|f| options.force_quote.contains(f.name())).collect(),
        options,
        control,
        turn: Mutex::new(Turn { sequence: 0, offset: 0, rows: 0, failure: None }),
        next_turn: Condvar::new(),
        output: &output,
    };
    unload.write_in_turn(0, 0, &header);
    std::thread::scope(|scope| {
        for _ in 1..threads.max(1) {
            scope.spawn(|| unload.work());
        }
        unload.work();
    });
    let turn = unload.turn.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, error)) = turn.failure {
        output.discard();
        return Err(error);
    }
    output.complete()?;
    Ok(UnloadReport { rows: turn.rows, bytes: turn.offset, seconds: begin.elapsed().as_secs_f64() })
}

fn write_header(out: &mut Vec<u8>, schema: &SchemaRef, options: &UnloadOptions) -> Result<(), LoadError> {
    for (index, field) in schema.fields().iter().enumerate() {
        if index > 0 {
            out.push(options.dialect.delimiter());
        }
        write::text(out, field.name().as_bytes(), &options.dialect, options.null.as_bytes(), false)
            .map_err(|error| LoadError::Query(format!("the name of column {}: {error}", field.name())))?;
    }
    out.push(b'\n');
    Ok(())
}

/// What the workers of an unload share.
struct Unload<'a, I> {
    /// How many batches were pulled, and the rest of them.
    batches: Mutex<(u64, I)>,
    /// For each column, whether its values are always quoted.
    forced: Vec<bool>,
    options: &'a UnloadOptions,
    control: &'a Control,
    turn: Mutex<Turn>,
    next_turn: Condvar,
    output: &'a Output,
}

/// Whose text comes next, and where it goes.
struct Turn {
    /// 0 is the header, n the n-th batch.
    sequence: u64,
    offset: u64,
    rows: u64,
    failure: Option<(u64, LoadError)>,
}

impl<I, E> Unload<'_, I>
where
    I: Iterator<Item = Result<RecordBatch, E>> + Send,
    E: std::fmt::Display,
{
    fn work(&self) {
        let mut text = Vec::new();
        while let Some((sequence, batch)) = self.pull() {
            text.clear();
            let formatted = match batch {
                Ok(batch) => self.format(&batch, &mut text).map(|()| batch.num_rows() as u64),
                Err(error) => Err(LoadError::Query(error.to_string())),
            };
            let go_on = match formatted {
                Ok(_) if self.control.is_cancelled() => self.fail(sequence, LoadError::Cancelled),
                Ok(rows) => self.write_in_turn(sequence, rows, &text),
                Err(error) => self.fail(sequence, error),
            };
            if !go_on {
                return;
            }
        }
    }

    fn pull(&self) -> Option<(u64, Result<RecordBatch, E>)> {
        let mut batches = self.batches.lock().unwrap_or_else(PoisonError::into_inner);
        let batch = batches.1.next()?;
        batches.0 += 1;
        Some((batches.0, batch))
    }

    fn format(&self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), LoadError> {
        let dialect = &self.options.dialect;
        let null = self.options.null.as_bytes();
        let columns = batch
            .columns()
            .iter()
            .zip(batch.schema_ref().fields())
            .zip(&self.forced)
            .map(|((array, field), &forced)| ColumnText::new(array, field.name(), forced, dialect, null))
            .collect::<Result<Vec<_>, _>>()?;
        for row in 0..batch.num_rows() {
            for (index, column) in columns.iter().enumerate() {
                if index > 0 {
                    out.push(dialect.delimiter());
                }
                column.write(row, out, dialect, null).map_err(|error| {
                    let name = batch.schema_ref().field(index).name();
                    LoadError::Query(format!("column {name}: {error}"))
                })?;
            }
            out.push(b'\n');
        }
        Ok(())
    }

    /// Writes `text` behind that of all batches before it; false if the unload failed.
    fn write_in_turn(&self, sequence: u64, rows: u64, text: &[u8]) -> bool {
        let mut turn = self.lock_turn();
        while turn.sequence != sequence {
            if turn.failure.is_some() {
                return false;
            }
            turn = self.next_turn.wait(turn).unwrap_or_else(PoisonError::into_inner);
        }
        if turn.failure.is_some() {
            return false;
        }
        let offset = turn.offset;
        turn.offset += text.len() as u64;
        turn.rows += rows;
        turn.sequence += 1;
        // A file takes text at any place, so that others need not wait; a stream takes it in order.
        let written = if let Output::File { file, .. } = self.output {
            drop(turn);
            self.next_turn.notify_all();
            file.write_all_at(text, offset)
        } else {
            let written = self.output.write_next(text);
            drop(turn);
            self.next_turn.notify_all();
            written
        };
        self.control.progress.add(text.len() as u64, rows);
        match written {
            Ok(()) => true,
            Err(error) => self.fail(sequence, self.output.error("write it", error)),
        }
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

/// An open target.
enum Output {
    /// A new file beside the target, renamed to it at the end.
    File {
        file: File,
        partial: PathBuf,
        path: PathBuf,
    },
    Writer {
        writer: Mutex<Box<dyn Write + Send>>,
        name: String,
    },
}

impl Output {
    fn open(target: Target) -> Result<Self, LoadError> {
        let path = match target {
            Target::Writer(writer) => {
                let name = "standard output".to_owned();
                return Ok(Self::Writer { writer: Mutex::new(writer), name });
            }
            Target::File(path) => path,
        };
        let failed = |action, error| LoadError::Io { file: path.display().to_string(), action, error };
        if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            // A pipe or a device; opening a directory for writing fails.
            let file = File::options().write(true).open(&path).map_err(|e| failed("open it", e))?;
            let name = path.display().to_string();
            return Ok(Self::Writer { writer: Mutex::new(Box::new(file)), name });
        }
        let partial = partial_name(&path);
        let file = File::create(&partial).map_err(|error| failed("create it", error))?;
        Ok(Self::File { file, partial, path })
    }

    fn write_next(&self, text: &[u8]) -> io::Result<()> {
        match self {
            Self::File { file, .. } => (&*file).write_all(text),
            Self::Writer { writer, .. } => writer.lock().unwrap_or_else(PoisonError::into_inner).write_all(text),
        }
    }

    fn complete(self) -> Result<(), LoadError> {
        let finished = match &self {
            Self::File { partial, path, .. } => std::fs::rename(partial, path),
            Self::Writer { writer, .. } => writer.lock().unwrap_or_else(PoisonError::into_inner).flush(),
        };
        finished.map_err(|error| self.error("finish it", error))
    }

    fn discard(self) {
        if let Self::File { partial, .. } = self {
            // The error that led here is the one to report.
            let _ = std::fs::remove_file(partial);
        }
    }

    fn error(&self, action: &'static str, error: io::Error) -> LoadError {
        let file = match self {
            Self::File { path, .. } => path.display().to_string(),
            Self::Writer { name, .. } => name.clone(),
        };
        LoadError::Io { file, action, error }
    }
}

/// Where the text of `path` is gathered until it is complete: beside it, so that it can be renamed.
fn partial_name(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".partial-{}", std::process::id()));
    PathBuf::from(name)
}
