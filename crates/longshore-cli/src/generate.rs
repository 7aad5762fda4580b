//! Generates the text of TPC-H: eight files, made in parts by all threads and written in order.
//!
//! The rows are those of dbgen, made by the `tpchgen` crate. A table is cut into parts of about [`PART_BYTES`];
//! threads claim parts in the order of the files, format them into a buffer of their own, learn their offset when
//! the parts before are formatted, and write at that offset without waiting for each other. A file carries the
//! suffix `.partial` until it is complete, so a file under its own name is whole.
//!
//! Not here: the rows of each table (`generate::table`), arguments (`args`), drawing progress (`progress`).

mod table;

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Instant;

use longshore_engine::Progress;
use tpchgen::distribution::Distributions;
use tpchgen::text::TextPool;

pub(crate) use table::Table;

/// Smallest scale factor: below it, several rows of partsupp would get the same key.
pub(crate) const SCALE_MIN: f64 = 0.001;
/// Largest scale factor.
pub(crate) const SCALE_MAX: f64 = 10_000.0;
/// Text that one thread formats before it writes: long enough to make the writes cheap, short enough for a cache.
const PART_BYTES: u64 = 2 << 20;

/// How the text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum TextFormat {
    /// As dbgen writes it: fields end with `|`, no header, files named TABLE.tbl
    Tbl,
    /// Comma-separated with a header line and quoted text, files named TABLE.csv
    Csv,
}

impl TextFormat {
    /// Suffix of the file names.
    pub(crate) fn suffix(self) -> &'static str {
        match self {
            Self::Tbl => "tbl",
            Self::Csv => "csv",
        }
    }
}

/// What to generate.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// Scale factor; 1 is about 1 GB of text.
    pub(crate) scale: f64,
    /// Where the files go; made if missing.
    pub(crate) directory: PathBuf,
    /// Their format.
    pub(crate) format: TextFormat,
    /// How many threads make them.
    pub(crate) threads: usize,
}

impl Request {
    /// The path of a table's file.
    pub(crate) fn path(&self, table: Table) -> PathBuf {
        self.directory.join(format!("{}.{}", table.name(), self.format.suffix()))
    }

    /// Estimate of the text in all files, in bytes.
    pub(crate) fn bytes_estimate(&self) -> u64 {
        Table::ALL.iter().map(|table| table.bytes_estimate(self.scale)).sum()
    }
}

/// What was generated.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Generated {
    /// Bytes of text.
    pub(crate) bytes: u64,
    /// Wall time in seconds.
    pub(crate) seconds: f64,
}

/// Why nothing was generated.
#[derive(Debug)]
pub(crate) enum GenerateError {
    /// The scale factor is not one that the generator serves.
    Scale(f64),
    /// A file or directory could not be written.
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// The user stopped it.
    Interrupted,
}

impl fmt::Display for GenerateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scale(scale) => write!(f, "scale factor {scale} is not between {SCALE_MIN} and {SCALE_MAX}"),
            Self::Io { path, error } => {
                write!(f, "{}: {error}", path.display())?;
                if error.kind() == io::ErrorKind::StorageFull {
                    f.write_str("; choose a smaller scale factor or a directory on another disk")?;
                }
                Ok(())
            }
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for GenerateError {}

/// Generates the eight files of `request`, adding to `progress`, until `interrupted` is set.
///
/// Existing files are replaced. After an error or an interruption no partial file is left.
///
/// # Errors
///
/// A scale factor out of range, a directory or file that cannot be written, or the interruption.
pub(crate) fn tpch(
    request: &Request,
    progress: &Progress,
    interrupted: &AtomicBool,
) -> Result<Generated, GenerateError> {
    if !(SCALE_MIN..=SCALE_MAX).contains(&request.scale) {
        return Err(GenerateError::Scale(request.scale));
    }
    let started = Instant::now();
    progress.start(request.bytes_estimate());
    fs::create_dir_all(&request.directory)
        .map_err(|error| GenerateError::Io { path: request.directory.clone(), error })?;
    let pool = TextPool::new(TEXT_POOL_BYTES, Distributions::static_default());
    let outputs = Table::ALL.iter().map(|&table| Output::create(request, table)).collect::<Result<Vec<_>, _>>()?;
    let job = Job {
        request,
        outputs,
        pool,
        claimed: AtomicUsize::new(0),
        failed: AtomicBool::new(false),
        progress,
        interrupted,
    };
    let results: Vec<Result<(), GenerateError>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..request.threads.max(1)).map(|_| scope.spawn(|| job.work())).collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    results.into_iter().collect::<Result<(), _>>()?;
    let mut bytes = 0;
    for output in job.outputs {
        bytes += output.finish()?;
    }
    Ok(Generated { bytes, seconds: started.elapsed().as_secs_f64() })
}

/// dbgen's pool of text: comments are pieces of it, so another size would give other rows.
const TEXT_POOL_BYTES: i32 = 300 * 1024 * 1024;

/// One generation, shared by its threads.
struct Job<'a> {
    request: &'a Request,
    outputs: Vec<Output>,
    pool: TextPool,
    claimed: AtomicUsize,
    failed: AtomicBool,
    progress: &'a Progress,
    interrupted: &'a AtomicBool,
}

impl Job<'_> {
    /// Makes parts until there are none; the body of a thread.
    fn work(&self) -> Result<(), GenerateError> {
        let result = self.work_until_error();
        if result.is_err() {
            self.failed.store(true, Ordering::Relaxed);
            for output in &self.outputs {
                output.wake();
            }
        }
        result
    }

    fn work_until_error(&self) -> Result<(), GenerateError> {
        let mut text = Vec::with_capacity(2 * PART_BYTES as usize);
        while let Some((output, part)) = self.claim() {
            if self.interrupted.load(Ordering::Relaxed) {
                return Err(GenerateError::Interrupted);
            }
            text.clear();
            if part == 1 && self.request.format == TextFormat::Csv {
                text.extend_from_slice(output.table.csv_header().as_bytes());
                text.push(b'\n');
            }
            let rows = output.table.write_part(
                &table::Part {
                    format: self.request.format,
                    scale: self.request.scale,
                    number: part,
                    count: output.parts,
                    pool: &self.pool,
                },
                &mut text,
            );
            let Some(offset) = output.take_offset(part, text.len() as u64, &self.failed) else {
                return Ok(());
            };
            output.file.write_all_at(&text, offset).map_err(|error| output.error(error))?;
            self.progress.add(text.len() as u64, rows);
        }
        Ok(())
    }

    /// The next part that nobody has claimed, in the order of the tables and of their parts.
    fn claim(&self) -> Option<(&Output, i32)> {
        let mut index = self.claimed.fetch_add(1, Ordering::Relaxed);
        for output in &self.outputs {
            if index < output.parts as usize {
                return Some((output, index as i32 + 1));
            }
            index -= output.parts as usize;
        }
        None
    }
}

/// One file in the making; removed on drop unless finished.
struct Output {
    table: Table,
    parts: i32,
    file: File,
    partial: PathBuf,
    path: PathBuf,
    /// The next part to get an offset, and that offset.
    turn: Mutex<(i32, u64)>,
    turn_taken: Condvar,
    finished: bool,
}

impl Output {
    fn create(request: &Request, table: Table) -> Result<Self, GenerateError> {
        let path = request.path(table);
        let partial = partial_path(&path);
        let file = File::create(&partial).map_err(|error| GenerateError::Io { path: partial.clone(), error })?;
        let parts = table
            .bytes_estimate(request.scale)
            .div_ceil(PART_BYTES)
            .min(table.source_rows(request.scale))
            .clamp(1, i32::MAX as u64) as i32;
        Ok(Self {
            table,
            parts,
            file,
            partial,
            path,
            turn: Mutex::new((1, 0)),
            turn_taken: Condvar::new(),
            finished: false,
        })
    }

    /// Waits until the parts before `part` have their offsets and takes the next `len` bytes; none after a failure.
    fn take_offset(&self, part: i32, len: u64, failed: &AtomicBool) -> Option<u64> {
        let mut turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        while turn.0 != part {
            if failed.load(Ordering::Relaxed) {
                return None;
            }
            turn = self.turn_taken.wait(turn).unwrap_or_else(PoisonError::into_inner);
        }
        let offset = turn.1;
        *turn = (part + 1, offset + len);
        self.turn_taken.notify_all();
        Some(offset)
    }

    /// Wakes threads that wait for their turn, after `failed` was set.
    fn wake(&self) {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.turn_taken.notify_all();
    }

    /// Gives the complete file its name; returns its length in bytes.
    fn finish(mut self) -> Result<u64, GenerateError> {
        self.file.flush().map_err(|error| self.error(error))?;
        fs::rename(&self.partial, &self.path).map_err(|error| self.error(error))?;
        self.finished = true;
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(turn.1)
    }

    fn error(&self, error: io::Error) -> GenerateError {
        GenerateError::Io { path: self.partial.clone(), error }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if !self.finished {
            // The file is of no use, and an error would hide the one that brought us here.
            let _ = fs::remove_file(&self.partial);
        }
    }
}

fn partial_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".partial");
    PathBuf::from(name)
}
