//! The texts of known dialects that the sniffer is tested with.

#![allow(dead_code, reason = "the test of the sniffer uses all of it")]

#[path = "../../../longshore-format/tests/format/sniff/table.rs"]
pub(crate) mod table;
#[path = "../../../longshore-format/tests/format/sniff/writer.rs"]
pub(crate) mod writer;
