//! The tests of longshore-csv: one program, because each would compile what they share anew.

#![allow(clippy::unwrap_used, reason = "this is test code")]

mod common;
mod date_time_formats;
mod decode_mutations;
mod decode_text_memo;
mod decode_unusual;
mod decode_values;
mod decoding;
mod kernels;
mod language;
mod rows;
mod spectrum;
mod write_text;
