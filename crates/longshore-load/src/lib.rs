//! Joins text and relations: spans, workers, order, merge, rejects, inference, and the way back.
//!
//! The way of a load (Instant Loading, 3.2): each [`Source`] is cut into spans; each worker claims a span, scans and
//! decodes it piece by piece into partition buffers, and hands them to the relation's append, which merges them in
//! the order of the file. The same machinery feeds queries over files ([`TextScan`]). [`unload_csv`] is the way back.
//!
//! The result is the same for every kernel, thread count, piece size and span size. Not here: finding and opening files
//! (`longshore-source`, of which this crate takes nothing remote), SQL, DataFusion, tokio.
//!
//! # Modules
//!
//! Lowest first; a module imports only from those before it (`cargo xtask imports` checks it).
//!
//! - `control`: progress, notices and cancellation of a statement
//! - `error`: what can go wrong, and the bad, rejected and duplicate records that errors tell of
//! - `memory`: the memory of a database as sources see it
//! - `target`: where text is written
//! - `options`: what the user says about a file, and how the machine is used
//! - `input`: the files of a load, and what each of their fields is to the columns
//! - `stop`: how the workers of a pass stop
//! - `span`: cuts a file into spans of whole records
//! - `numbering`: numbers of records
//! - `piece`: the records that a worker decodes at a time
//! - `fields`: which decoder fills which column
//! - `row_decoder`: decodes rows into partition buffers
//! - `files`: goes through the files of a pass, span by span
//! - `position`: from positions in a piece to line, byte, column and value
//! - `worker`: finds the records of a span, piece by piece
//! - `repair`: records of a span that were repaired
//! - `reject`: gathers rejects, puts them in the order of the files, and writes them
//! - `check`: finds rows that violate a check
//! - `row_provenance`: where the rows of a load come from
//! - `load`: COPY FROM
//! - `infer`: types of whole files
//! - `scan`: queries over files
//! - `unload`: COPY TO

mod check;
mod control;
mod error;
mod fields;
mod files;
mod infer;
mod input;
mod load;
mod memory;
mod numbering;
mod options;
mod piece;
mod position;
mod reject;
mod repair;
mod row_decoder;
mod row_provenance;
mod scan;
mod span;
mod stop;
mod target;
mod unload;
mod worker;

pub use control::{Control, Progress};
pub use error::{
    BadField, DuplicateKey, Fault, KeyHolder, LoadError, MissingReference, REJECT_RECORD_BYTES_MAX,
    REJECT_VALUE_BYTES_MAX, REJECTS_SHOWN_MAX, RecordNumber, RecordPlace, ReferringRecord, Reject, RejectLimit,
    RejectedColumn, TooManyRejects,
};
pub use infer::{
    Footer, InferRequest, Inferred, InferredColumn, column_type, dry_run_inferred, found_options, infer, load_inferred,
    sniffed_options,
};
pub use input::{ComputedValue, FieldNames, FieldTarget, FileCounts, InputFile, OtherFields};
pub use load::{LoadReport, Loaded, copy_from, dry_run, load_interleaved, load_into};
pub use longshore_csv::decode::{DateTimeFormat, ValueType};
pub use longshore_csv::{DefectKind, Dialect, DialectError, Kernel, RECORD_BYTES_MAX, RecordFormat, RepairKind};
pub use longshore_source::{ByteCounter, Cancellation, KeptText, Source, SourceError, WaiterId};
pub use memory::memory_pool;
pub use options::{
    ColumnChoice, ColumnValues, Conflicts, Header, Mode, NumberSource, OnError, PIECE_BYTES_DEFAULT, RejectSink,
    Repair, RepairLog, Repaired, RowCheck, RowViolation, TextFormat, TextOptions, TrailingDelimiter, Tuning,
    ValueOptions,
};
pub use reject::{RejectFile, RejectSummary, RejectTable, reject_schema};
pub use scan::{RowFilter, ScanRequest, ScanWorker, SpanRows, TextScan};
pub use target::{OpenTarget, Target};
pub use unload::{
    JsonLayout, PostgresTextLayout, RowText, RowWriter, TextCompression, UnloadOptions, UnloadReport, WIDTH,
    unload_csv, unload_text,
};
