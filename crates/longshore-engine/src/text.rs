//! Texts that statements read: which files they are, how they are read, what goes into which column.
//!
//! COPY, CREATE TABLE AS and queries over files go through here, each with options of the same names. Not here: the options
//! (`sql::options`), finding and opening files (`longshore-source`), reading them (`longshore-load`).

mod column_mapping;
mod copy_statement;
mod detect;
mod explain;
mod files;
mod given;
mod infer;
mod input;
mod kind;
mod notices;
mod plan;
mod read_csv;
mod rejects;
mod sources;

pub(crate) use column_mapping::ColumnMapping;
pub use copy_statement::call_text;
pub(crate) use copy_statement::statement as copy_statement;
pub(crate) use explain::{of_inputs as named_by_inputs, of_load as explain_load};
pub(crate) use files::{ComputedColumn, check_not_read, find_files, kind_of, local_path};
pub(crate) use infer::{Finder, FoundText};
pub(crate) use input::TextInput;
pub(crate) use kind::{FileKind, HEAD_BYTES};
pub(crate) use notices::{tell as tell_found, tell_repairs};
pub(crate) use read_csv::{ReadCsv, files_of_call};
pub(crate) use rejects::FileRejects;
pub(crate) use sources::TextSources;
