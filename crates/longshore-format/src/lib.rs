//! Text formats beside plain CSV, and telling what a text is from looking at it.
//!
//! Each format is a [`longshore_csv::RecordFormat`]: it rewrites its records as plain rows, which the decoders of
//! `longshore-csv` read. What this crate never does: read or write files, start threads.
//!
//! # Modules
//!
//! Lowest first; a module imports only from those before it (`cargo xtask imports` checks it).
//!
//! - `ahead`: special bytes of many records, found at once
//! - `lines`: what ends a line, and which lines are records
//! - `quote_check`: whether a field speaks against what quotes were taken for
//! - `delimited`: CSV beyond what the SIMD scan reads
//! - `fixed_width`: fields at fixed places of each line
//! - `json`: objects and arrays, a record each
//! - `logfmt`: lines of `key=value` pairs
//! - `pattern`: lines that a regular expression takes apart
//! - `postgres_text`: the text format of PostgreSQL
//! - `sniff`: what a text is, from looking at it

#![allow(clippy::inline_always, reason = "loops over a text must not call for each byte or field")]

mod ahead;
pub mod delimited;
pub mod fixed_width;
pub mod json;
pub mod lines;
pub mod logfmt;
pub mod pattern;
pub mod postgres_text;
mod quote_check;
pub mod sniff;

pub use delimited::{Delimited, DelimitedError, DelimitedOptions};
pub use fixed_width::{FixedColumn, FixedWidth, FixedWidthError, FixedWidthOptions};
pub use json::{Json, JsonError, JsonPath};
pub use lines::{LineEnds, LineOptions};
pub use logfmt::{Logfmt, LogfmtError, LogfmtOptions};
pub use pattern::{Pattern, PatternError};
pub use postgres_text::{PostgresText, PostgresTextError, PostgresTextOptions};
pub use quote_check::{QuoteCheck, Quoting};
