//! The database as its users see it: sessions that execute SQL statements over main-memory relations, which a directory on
//! disk keeps if the database was opened there.
//!
//! A [`Database`] holds tables and views, a [`Session`] executes one statement at a time, and a statement is either
//! [`Outcome::Rows`] or [`Outcome::Done`]. Statements are dispatched here over the parsed syntax tree; queries are
//! planned and run by `DataFusion`, which is named only under `datafusion/`. Transactions are also written in Rust
//! ([`typed`]). Not here: reading text (`longshore-load`), memory and chunks (`longshore-storage`), the shell
//! (`longshore-cli`).
//!
//! # Modules
//!
//! Lowest first; a module imports only from those before it (`cargo xtask imports` checks it).
//!
//! - `config`, `error`, `panics`, `blocking`: settings, what can go wrong, work on threads that may block
//! - `builtin_types`: the built-in types of PostgreSQL, by OID
//! - `sql`: text to syntax trees, and trees that statements build themselves
//! - `report`: what a statement gives back
//! - `catalog`: tables, views, sequences, and the rules of their columns
//! - `notifications`: what sessions tell each other by LISTEN and NOTIFY
//! - `activity`: what sessions do, as others may see it
//! - `text`: which texts a statement reads, how, and what goes into which column
//! - `transaction`: transaction blocks and what a statement's transaction sees
//! - `datafusion`: queries, planned and run; nothing else names `DataFusion`
//! - `arrow_rows`: rows for programs that know Arrow and nothing of Longshore
//! - `binary`: values and rows in PostgreSQL's binary formats
//! - `database`: a catalog, its memory, and its way to run queries
//! - `prepared`: prepared statements and the point queries that need no planner
//! - `statement`: what each statement does
//! - `read_text`: texts as batches of Arrow, without a database
//! - `session`: one connection's statements, one after the other
//! - `typed`: transactions written in Rust
//! - `durable`: databases that come back from their directories
//! - `inspect`: directories looked at: what is damaged, what is sound, what their logs say

mod activity;
mod arrow_rows;
mod binary;
mod blocking;
mod builtin_types;
mod catalog;
mod config;
mod database;
mod datafusion;
mod durable;
mod error;
mod inspect;
mod notifications;
mod panics;
mod prepared;
mod read_text;
mod report;
mod session;
mod sql;
mod statement;
mod text;
mod transaction;
pub mod typed;

pub use crate::datafusion::nested_texts;
pub use crate::datafusion::shown_times;
pub use activity::{Activity, Client, Phase, StatementEntry, Statements};
pub use arrow_rows::{decimal_columns, doubles_of_decimals, plain_rows, schema_with_doubles};
pub use binary::{Binaries, Malformed, Texts, binary_text, is_null};
pub use builtin_types::{BUILTIN_TYPES, BuiltinType, PG_TYPE, TypeId};
pub use config::{Config, Durability, Naptime, WalSize};
pub use database::{Database, DatabaseStatistics, DurableStatistics, Login};
pub use error::{Error, ErrorDetails, ErrorKind};
pub use inspect::{CheckReport, LogLine};
pub use longshore_load::{Control, Kernel, Progress};
pub use longshore_storage::checksum::Checksum;
pub use longshore_storage::{Datum, Isolation, Memory, Uuid, key};
pub use notifications::{Inbox, Notification};
pub use prepared::Prepared;
pub use read_text::{TextRequest, TextRows, read_text};
pub use report::{Description, Function, Outcome, Report, ResultColumns, RowStream, TableBytes};
pub use session::{Session, table_names};
pub use sql::copy_text::{OptionSetting, copy_rows_text, copy_text, copy_to_text};
pub use sql::options::{OPTIONS, OptionRule};
pub use sql::placeholders::{Numbered, numbered};
pub use sql::secrets::without_secrets;
pub use sql::split::{Split, split};
pub use statement::CopyBegin;
pub use text::call_text;
