//! Text formats beside plain CSV, and telling what a text is from looking at it.
//!
//! Each format is a [`longshore_csv::RecordFormat`]: it rewrites its records as plain rows, which the decoders of
//! `longshore-csv` read. What this crate never does: read or write files, start threads.

#![allow(clippy::inline_always, reason = "loops over a text must not call for each byte or field")]

pub mod delimited;
pub mod json;
pub mod sniff;

pub use delimited::{Delimited, DelimitedError, DelimitedOptions};
pub use json::{Json, JsonError, JsonPath};
