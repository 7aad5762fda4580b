//! What the user says about a file, and how the machine shall be used for it.

mod number_source;
mod on_error;
mod repair;
mod row_check;
mod values;

use std::sync::Arc;

use longshore_csv::{Dialect, Kernel, RecordFormat, RowText};
use longshore_format::QuoteCheck;
use longshore_storage::{MergeKind, OnConflict, ReferenceChecks};

use crate::error::RejectLimit;

pub use number_source::NumberSource;
pub use on_error::{OnError, RejectSink};
pub use repair::{Repair, RepairLog, Repaired};
pub use row_check::{RowCheck, RowViolation};
pub(crate) use values::value_type;
pub use values::{ColumnValues, ValueOptions};

/// Bytes of a piece when nothing else is said: it stays in a core's second-level cache together with its marks
/// and the column slices that it is decoded into (measured by `longshore-bench load`).
pub const PIECE_BYTES_DEFAULT: usize = 128 << 10;

/// The language of a text.
#[derive(Clone, Debug)]
pub enum TextFormat {
    /// Delimited, with single-byte delimiter, quote and escape: what the SIMD scan reads.
    Csv(Dialect),
    /// Anything else, record by record. Split serially, read in parallel.
    Other(Arc<dyn RecordFormat>),
}

/// How the text of a file is to be read. Every option has PostgreSQL's meaning unless it says otherwise.
#[derive(Clone, Debug)]
pub struct TextOptions {
    /// The language of the text.
    pub format: TextFormat,
    /// Lines before the header or the first record that are not data.
    pub skip_lines: u64,
    /// How values are spelled.
    pub values: ValueOptions,
    /// What to do with the first record.
    pub header: Header,
    /// Whether records end with a field delimiter, as in dbgen's files. Not in PostgreSQL.
    pub trailing_delimiter: TrailingDelimiter,
    /// How the file is split among workers.
    pub mode: Mode,
    /// What to do about records that cannot be taken.
    pub on_error: OnError,
    /// How many of them there may be.
    pub reject_limit: RejectLimit,
    /// What to do about records that are not whole, before they count as such.
    pub repair: Repair,
    /// What must hold of rows that are loaded. Queries over files do not heed it.
    pub check: Option<Arc<dyn RowCheck>>,
    /// Where the numbers of [`crate::ComputedValue::Number`] come from.
    pub numbers: Vec<Arc<dyn NumberSource>>,
    /// What to do about records with keys that are there already. Of loads only.
    pub conflicts: Conflicts,
    /// The foreign keys to check rows by as they come. Of loads only.
    pub references: Option<Arc<ReferenceChecks>>,
    /// What holds of quotes in all fields of plain CSV whose quoting was found out; a record that speaks against it is
    /// bad. (Other formats check for themselves.)
    pub quote_check: QuoteCheck,
}

/// What becomes of records whose key is there already.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conflicts {
    /// What becomes of their rows.
    pub on: OnConflict,
    /// Whether those that are left out are rejected, as bad records are. Needs [`TextOptions::on_error`] to be other than to
    /// stop.
    pub rejects: bool,
}

impl TextOptions {
    /// PostgreSQL's defaults for CSV with the given dialect.
    #[must_use]
    pub fn new(dialect: Dialect) -> Self {
        Self::of(TextFormat::Csv(dialect))
    }

    /// How to read a text again of which a pass ended with [`LoadError::Misshapen`](crate::LoadError::Misshapen).
    #[must_use]
    pub fn repairing(&self) -> Option<Self> {
        let Repair::Later(format) = &self.repair else { return None };
        let (format, repair) = (TextFormat::Other(Arc::clone(format)), Repair::Noted(Arc::new(RepairLog::default())));
        Some(Self { format, repair, ..self.clone() })
    }

    /// Where repairs are noted, if records are repaired.
    #[must_use]
    pub fn repair_log(&self) -> Option<&Arc<RepairLog>> {
        match &self.repair {
            Repair::Noted(log) => Some(log),
            Repair::AsSaid | Repair::Later(_) => None,
        }
    }

    /// The dialect of the rows that the decoders get.
    pub(crate) fn row_dialect(&self) -> &Dialect {
        match &self.format {
            TextFormat::Csv(dialect) => dialect,
            TextFormat::Other(_) => RowText::dialect(),
        }
    }

    /// PostgreSQL's defaults for a text of the given format.
    #[must_use]
    pub fn of(format: TextFormat) -> Self {
        Self {
            format,
            skip_lines: 0,
            values: ValueOptions::default(),
            header: Header::None,
            trailing_delimiter: TrailingDelimiter::Auto,
            mode: Mode::Exact,
            on_error: OnError::Stop,
            reject_limit: RejectLimit::None,
            repair: Repair::AsSaid,
            check: None,
            numbers: Vec::new(),
            conflicts: Conflicts::default(),
            references: None,
            quote_check: QuoteCheck::Off,
        }
    }
}

/// Some columns of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnChoice {
    /// No column.
    None,
    /// Every column.
    All,
    /// The columns of these names.
    Names(Vec<String>),
}

impl ColumnChoice {
    /// Whether the column `name` is among them.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Names(names) => names.iter().any(|n| n == name),
        }
    }
}

/// What the first record of a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// Data like any other.
    None,
    /// Column names, to be skipped.
    Skip,
    /// Column names that must be the names of the fields, in order.
    Match,
}

/// Whether every record ends with one more field delimiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrailingDelimiter {
    /// As the first record of data has it; then all must.
    Auto,
    /// Every record must have it.
    Yes,
    /// A trailing delimiter opens a further, empty field.
    No,
}

/// How a file is split among workers (Instant Loading, 3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// In parallel, and right for line breaks in quoted fields: the quoting state at each split point is a
    /// parallel prefix.
    Exact,
    /// The paper's fast mode: in parallel, for files whose quoted line breaks are all escaped. Split points are
    /// taken to be outside quotes; where that proves wrong the load fails and says so.
    Fast,
    /// The paper's safe mode: one serial pass splits the file. The reference that `Exact` is tested against.
    Safe,
}

/// How the machine is used; none of it changes the result.
#[derive(Clone, Debug)]
pub struct Tuning {
    /// Workers, at least 1.
    pub threads: usize,
    /// Instruction set of the scan.
    pub kernel: Kernel,
    /// Bytes that a worker scans and decodes at a time, at least 1; `None` is [`PIECE_BYTES_DEFAULT`], or more where
    /// records are so long that a piece would hold few of them.
    pub piece_bytes: Option<usize>,
    /// Bytes that a worker claims at a time, at least 1; `None` sizes spans so that each fills about one chunk.
    pub span_bytes: Option<usize>,
    /// How partition buffers become part of the relation (Instant Loading, 3.5).
    pub merge: MergeKind,
}

impl Tuning {
    /// The defaults for `threads` workers.
    #[must_use]
    pub fn new(threads: usize) -> Self {
        Self {
            threads: threads.max(1),
            kernel: Kernel::best(),
            piece_bytes: None,
            span_bytes: None,
            merge: MergeKind::Chunk,
        }
    }
}
