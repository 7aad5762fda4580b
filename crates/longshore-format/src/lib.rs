//! Text formats beside plain CSV, and telling what a text is from looking at it.
//!
//! Each format is a [`longshore_csv::RecordFormat`]: it rewrites its records as plain rows, which the decoders of
//! `longshore-csv` read. What this crate never does: read or write files, start threads.

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
