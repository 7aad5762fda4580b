//! Joins text and relations: sources, spans, workers, order, merge, errors, and the way back.
//!
//! The way of a load (Instant Loading, 3.2): each [`Source`] is cut into spans; each worker claims a span, scans and
//! decodes it piece by piece into partition buffers, and hands them to the relation's append, which merges them in
//! the order of the file. The same machinery feeds queries over files ([`TextScan`]). [`unload_csv`] is the way back.
//!
//! The result is the same for every kernel, thread count, piece size and span size. Not here: SQL, DataFusion, tokio.

mod check;
mod control;
mod error;
mod field_names;
mod fields;
mod files;
mod fill;
mod infer;
mod input;
mod load;
mod numbering;
mod options;
mod places;
mod position;
mod preamble;
mod reject;
mod repair;
mod scan;
mod source;
mod span;
mod unload;
mod worker;

pub use check::{RowCheck, RowViolation};
pub use control::{Control, Progress};
pub use error::{BadField, LoadError};
pub use field_names::{FieldNames, OtherFields};
pub use infer::{
    InferRequest, Inferred, InferredColumn, column_type, dry_run_inferred, found_options, infer, load_inferred,
    sniffed_options,
};
pub use input::{FieldTarget, Fill, InputFile, TextFormat};
pub use load::{
    LoadReport, Loaded, MissingReference, ReferringRecord, copy_from, dry_run, load_interleaved, load_into,
};
pub use longshore_csv::decode::{MomentFormat, ValueType};
pub use longshore_csv::{DefectKind, Dialect, DialectError, Kernel, RECORD_BYTES_MAX, RecordFormat, RepairKind};
pub use numbering::NumberSource;
pub use options::{
    ColumnChoice, ColumnValues, Conflicts, Header, Mode, PIECE_BYTES_DEFAULT, TextOptions, TrailingDelimiter, Tuning,
    ValueOptions,
};
pub use places::{DuplicateKey, KeyHolder, RecordNumber, RecordPlace};
pub use reject::{
    OnError, REJECT_RECORD_BYTES_MAX, REJECT_VALUE_BYTES_MAX, REJECTS_SHOWN_MAX, Reject, RejectFile, RejectLimit,
    RejectSink, RejectSummary, RejectTable, RejectedColumn, TooManyRejects, reject_schema,
};
pub use repair::{Footer, Repair, RepairLog, Repaired};
pub use scan::{RowFilter, ScanRequest, ScanWorker, SpanRows, TextScan};
pub use source::{KeptText, Meter, Source};
pub use unload::{Target, UnloadOptions, UnloadReport, unload_csv};
