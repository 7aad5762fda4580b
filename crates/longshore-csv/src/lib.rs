//! Bytes to typed columns and back: the SIMD heart of Longshore.
//!
//! The way of a text (Instant Loading, 3.3 and 3.4):
//!
//! 1. [`survey`] tells in one pass at memory speed how a stretch of text changes the quote state and which
//!    kinds of bytes it holds; stretches are surveyed in parallel and combined in order ([`prefix`]).
//! 2. [`record_start`] finds where a worker may begin, given the state the stretch begins in.
//! 3. [`Scanner::scan`] writes the position of every unquoted delimiter and line end of a piece ([`scan`]).
//! 4. [`Rows::new`] proves that these marks form rows of equal length, or names the first record that does not
//!    ([`record`]).
//! 5. A decoder per column turns fields into values, a column at a time ([`decode`]).
//!
//! Texts of other formats are rewritten as rows of this one, and enter at step 5 ([`mod@format`]).
//!
//! [`mod@write`] is the way back. [`mod@reference`] is a slow and obvious parser of the same language, which the tests
//! compare every kernel with.
//!
//! What this crate never does: read or write files, start threads, or allocate per field.
//!
//! # Modules
//!
//! Lowest first; a module imports only from those before it (`cargo xtask imports` checks it).
//!
//! - `dialect`: which bytes delimit, quote and escape
//! - `kernel`: the instruction sets that a scan is compiled for
//! - `padded`: text with readable bytes behind it
//! - `quote_state`: what a stretch of text holds, and how it changes the quote state
//! - `scan`: the marks of a text, and the survey of a stretch, in blocks of 64 bytes
//! - `prefix`: where a record may begin
//! - `record`: marks as rows of equal length
//! - `decode`: fields as values, a column at a time
//! - `format`: records of other formats, rewritten as plain rows
//! - `write`: values as text
//! - `reference`: the slow and obvious parser of the same language

#![allow(
    clippy::inline_always,
    reason = "the parts of a kernel must be inlined into the function that enables its CPU features"
)]
#![allow(clippy::trivially_copy_pass_by_ref, reason = "a Dialect is passed by reference, whatever it grows to")]

pub mod decode;
pub mod dialect;
pub mod format;
pub mod kernel;
pub mod padded;
pub mod prefix;
pub mod quote_state;
pub mod record;
pub mod reference;
pub mod scan;
pub mod write;

pub use decode::{
    Advice, BooleanWords, DateTimeFormat, DateTimeFormatError, Decoder, Expected, FieldError, FieldRule, Heap, Reason,
    RuleError, Slot, Target, Validity, ValueType, Values,
};
pub use dialect::{Dialect, DialectError};
pub use format::{Defect, DefectKind, FirstRecord, Missing, RECORD_BYTES_MAX, RecordFormat, RepairKind, RowText};
pub use kernel::{Kernel, KernelError};
pub use padded::{PADDING, Padded};
pub use prefix::{record_start, record_start_fast, survey, unclosed_quote};
pub use quote_state::{QuoteState, Survey, TextTraits};
pub use record::{Records, Rows, Shape, ShapeError, ShapeErrorKind};
pub use scan::enclosed::quotes_enclose_fields;
pub use scan::{Marks, Scanner};
