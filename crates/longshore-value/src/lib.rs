//! Rules about values: each stands here once, and every way in (COPY, INSERT, parameters, the typed API) applies it.
//!
//! The rules are PostgreSQL's. They decide what a column takes and how it stores it; they know nothing of columns, files
//! or statements, so that each caller reports an error in its own words.
//!
//! Not here: the syntax of text files and its fast decoders (`longshore-csv`), types and NULL (`longshore-storage`).
//!
//! What this crate never does: depend on another crate, perform I/O, or allocate. It is `no_std`.
//!
//! # Modules
//!
//! Lowest first; a module imports only from those before it (`cargo xtask imports` checks it).
//!
//! - `digits`: powers of ten, and digits rounded to a whole number
//! - `decimal`: numbers as DECIMAL(p,s) stores them
//! - `float`: how floating-point numbers are shown
//! - `numeric`: numbers as NUMERIC without a precision keeps them
//! - `text`: texts as CHAR(n) and VARCHAR(n) store them
//! - `times`: times of a precision, and times with a zone and intervals as bytes
//! - `uuid`: UUIDs: their spellings, how they are stored and written

#![no_std]
#![forbid(unsafe_code)]

pub mod decimal;
pub mod digits;
pub mod float;
pub mod numeric;
pub mod text;
pub mod times;
pub mod uuid;
