//! The tests of longshore-source: one program, because each would compile what they share anew.

#![allow(clippy::unwrap_used, reason = "this is test code")]

mod common;
mod containers;
mod encodings;
mod expand;
mod kept;
