//! Queries, planned and run by `DataFusion`: this file and the folder `datafusion/` are the only places that name it.
//!
//! A statement is planned under names of its own ([`planning`]), so that it sees one state of every table; `DataFusion`
//! optimizes and runs it over our scans of relations ([`scan`]) and of files ([`files`]), which take projections,
//! simple predicates and limits. Not here: statements other than queries and INSERT (`statement`).

mod context;
mod datums;
mod dml;
mod errors;
mod execution;
mod files;
mod functions;
mod hidden_names;
mod optimizer;
mod parallel_reader;
mod planning;
mod queries;
mod request;
mod scan;
#[cfg(test)]
mod tests;
mod type_name;

/// The texts of arrays, rows and JSON, as PostgreSQL writes them; `None` for values of other types.
#[must_use]
pub fn nested_texts(array: &arrow_array::ArrayRef) -> Option<arrow_array::StringViewArray> {
    functions::nested::text_out::of_nested(array)
}

pub(crate) use ::datafusion::common::utils::memory::RecordBatchMemoryCounter;
pub(crate) use datums::datum;
pub(crate) use dml::found_rows::{FoundRows, concat, fetch_rows, rows_with_numbers, take};
pub(crate) use files::columnar::Columnar;
pub(crate) use files::known_types::{known_batch, known_schema};
pub(crate) use files::named_source::NamedSource;
pub(crate) use files::plain::{PlainFor, doubles, plain_batch, plain_schema};
pub(crate) use files::rows_once::RowsOnce;
pub(crate) use files::written::{ColumnarFormat, ParquetCompression, write_columnar};
pub(crate) use files::{TextTable, text_with_columns};
pub use functions::shown_times::shown_times;
pub(crate) use functions::shown_times::{is_shown_as_text, time_texts};
pub(crate) use hidden_names::{END_COLUMN, ROW_COLUMN, TARGET};
pub(crate) use planning::generated::Generated;
pub(crate) use planning::implied::TableExpr;
pub(crate) use planning::plan_cache::{Parameters, PlanCache};
pub(crate) use planning::rules::{Checks, Value};
pub(crate) use planning::text_reader::TextReader;
pub(crate) use queries::{Described, Queries};
pub(crate) use request::{Appended, Appending, Changing, ExecutionContext, NamedInputs, NamedRows};
pub(crate) use scan::access::has_plain_order;
pub(crate) use scan::loads::loads_schema;
