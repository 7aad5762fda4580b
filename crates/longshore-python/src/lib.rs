//! The part of the Python package that is Rust: sessions, rows and errors of `longshore-engine` as Python has them.
//!
//! Nothing is decided here: statements, files and types are the engine's, and what is easier said in Python (relations, DB-API)
//! is in `python/longshore`. The interpreter is free for other threads while anything works, and Ctrl-C is heeded meanwhile.
//!
//! # Modules
//!
//! Lowest first; a module imports only from those before it (`cargo xtask imports` checks it).
//!
//! - `c_data`: Arrow's C data interface
//! - `errors`: errors as Python's exceptions
//! - `runtime`: the one runtime of the process, and waiting for what runs on it
//! - `capsule`: Arrow's capsules, by which libraries of Python hand each other data
//! - `values`: the values of batches as Python's
//! - `parameters`: Python's values as parameters of statements
//! - `rows`: the rows of a statement
//! - `execute`: what a session executes
//! - `shared`: databases that are open, found by a number
//! - `settings`: options and settings as keywords of calls
//! - `connection`: a database and one session of it
//! - `text`: files of text without a database
//! - `adbc`: a driver of ADBC

mod adbc;
mod c_data;
mod capsule;
mod connection;
mod errors;
mod execute;
mod parameters;
mod rows;
mod runtime;
mod settings;
mod shared;
mod text;
mod values;

use pyo3::prelude::*;

/// What `python/longshore` imports.
#[pymodule]
mod _longshore {
    #[pymodule_export]
    use crate::connection::{Connection, named_parameters};
    #[pymodule_export]
    use crate::rows::{Batch, Rows};
    #[pymodule_export]
    use crate::text::{Reading, read_text};
}
