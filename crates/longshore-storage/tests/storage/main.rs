//! The tests of longshore-storage: one program, because each would compile what they share anew.

#![allow(clippy::unwrap_used, reason = "this is test code")]

mod alter;
mod alter_model;
mod alter_references;
mod arrays;
mod buffer;
mod column_bytes;
mod compressed;
mod conflict;
#[path = "history_support/database.rs"]
mod database;
mod distinct_counts;
mod doors;
mod family_support;
mod foreign_keys;
mod foreign_keys_model;
mod foreign_keys_threads;
mod freed_memory;
mod freeze;
mod history;
mod history_checkers;
mod history_support;
mod index;
mod index_bulk;
mod isolation;
mod keys;
mod locks;
mod log;
mod log_crash;
mod log_damage;
mod log_faults;
mod log_support;
mod log_threads;
mod long_keys;
mod merge;
mod model;
mod native_damage;
mod native_round_trip;
mod native_support;
mod old_readers;
mod precision;
mod precision_keys;
mod precision_packed;
mod redo;
mod redo_damage;
mod redo_model;
mod redo_support;
mod rows;
mod snapshot;
mod stress;
mod support;
mod transaction;
mod truncate;
