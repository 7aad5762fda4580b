//! What was found out about a text, as the rows of `sniff_csv`: each property with its value, whether it was given, and
//! why it is so; each column; and a statement that reads the text without looking at it again.
//!
//! Not here: the statement (`paste`).

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray, RecordBatch, StringArray};

use super::options::ReadCsv;
use super::{FoundText, paste};
use crate::Error;

/// One row.
struct Row {
    property: String,
    value: String,
    given: bool,
    reason: String,
}

/// The rows for `found`, which `request` asked for.
pub(super) fn report(found: &FoundText, request: &ReadCsv) -> Result<RecordBatch, Error> {
    let options = found.sniffed.options();
    let mut rows: Vec<Row> = options
        .into_iter()
        .map(|option| Row {
            property: option.name.to_owned(),
            value: option.value,
            given: option.given,
            reason: option.reason,
        })
        .collect();
    rows.extend(found.columns.iter().map(|column| Row {
        property: format!("column {}", column.name),
        value: column.column_type.to_string(),
        given: column.given,
        reason: column.reason.clone(),
    }));
    rows.push(Row {
        property: "statement".to_owned(),
        value: paste::statement(found, request),
        given: false,
        reason: "reads the file without looking at it again".to_owned(),
    });
    let text =
        |value: &dyn Fn(&Row) -> &str| -> ArrayRef { Arc::new(StringArray::from_iter_values(rows.iter().map(value))) };
    let given: ArrayRef = Arc::new(rows.iter().map(|row| Some(row.given)).collect::<BooleanArray>());
    RecordBatch::try_from_iter([
        ("property", text(&|row| &row.property)),
        ("value", text(&|row| &row.value)),
        ("given", given),
        ("reason", text(&|row| &row.reason)),
    ])
    .map_err(|error| Error::internal(error.to_string()))
}
