//! The tests of longshore-load: one program, because each would compile what they share anew.

#![allow(clippy::unwrap_used, reason = "this is test code")]

mod by_name;
#[path = "../../../longshore-source/tests/source/common/mod.rs"]
mod common;
mod detect;
mod few_texts;
mod files;
mod formats;
mod harness;
mod in_situ;
mod infer;
mod infer_given;
mod infer_lossless;
mod infer_streams;
mod json;
mod keys;
mod large;
mod lines;
mod many_files;
mod mutations;
mod pollock;
mod ragged;
mod references;
mod reject_ends;
mod rejects;
mod rules;
mod sources;
mod unload;
mod values;
