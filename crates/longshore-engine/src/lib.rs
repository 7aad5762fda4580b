//! The database as its users see it: sessions that execute SQL statements over main-memory relations.
//!
//! A [`Database`] holds tables and views, a [`Session`] executes one statement at a time, and a statement is either
//! [`Outcome::Rows`] or [`Outcome::Done`]. Statements are dispatched here over the parsed syntax tree; queries are
//! planned and run by `DataFusion`, which is named only under `datafusion/`. Transactions are also written in Rust
//! ([`typed`]). Not here: reading text (`longshore-load`), memory and chunks (`longshore-storage`), the shell
//! (`longshore-cli`).

mod catalog;
mod config;
mod database;
mod datafusion;
mod error;
mod panics;
mod prepared;
mod report;
mod session;
mod sql;
mod statement;
mod transaction;
pub mod typed;

pub use config::Config;
pub use database::Database;
pub use error::{Error, ErrorKind};
pub use longshore_load::{Control, Kernel, Progress};
pub use longshore_storage::checksum::Checksum;
pub use longshore_storage::{Datum, Isolation, Memory, key};
pub use prepared::Prepared;
pub use report::{Outcome, Report, RowStream};
pub use session::Session;
pub use sql::options::{OPTIONS, OptionRule};
pub use sql::secrets::without_secrets;
pub use sql::split::{Split, split};
