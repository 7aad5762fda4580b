//! The tests of longshore-format: one program, because each would compile what they share anew.

#![allow(clippy::unwrap_used, reason = "this is test code")]

mod common;
mod delimited;
mod delimited_generated;
mod line_formats;
mod postgres_text;
mod repairs;
mod sniff;
mod sniff_files;
mod sniff_json;
