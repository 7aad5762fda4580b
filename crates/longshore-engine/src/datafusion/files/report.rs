//! What was found out about a text, as the rows of `sniff_csv`: each property with its value, whether it was given, and
//! why it is so; each column; and a statement that reads the text without looking at it again. Where the text cannot be
//! read by what was found, the error stands in place of the statement, so that one sees what to give.
//!
//! Not here: the statement (`text::copy_statement`).

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray, RecordBatch, StringArray};

use longshore_format::sniff::{OptionText, Sniffed};

use crate::Error;
use crate::text::{FoundText, ReadCsv, copy_statement};

/// One row.
struct Row {
    property: String,
    value: String,
    given: bool,
    reason: String,
}

/// The rows for `found`, which `request` asked for.
pub(super) fn report(found: &FoundText, request: &ReadCsv) -> Result<RecordBatch, Error> {
    let mut rows = options(&found.sniffed);
    rows.extend(found.columns.iter().map(|column| Row {
        property: format!("column {}", column.name),
        value: column.column_type.to_string(),
        given: column.given,
        reason: column.reason.clone(),
    }));
    rows.push(Row {
        property: "statement".to_owned(),
        value: copy_statement(found, request),
        given: false,
        reason: "reads the file without looking at it again".to_owned(),
    });
    batch(&rows)
}

/// The rows for a text that its beginning told to be `sniffed`, and that cannot be read so because of `error`.
pub(super) fn unread(sniffed: &Sniffed, error: &Error) -> Result<RecordBatch, Error> {
    let mut rows = options(sniffed);
    rows.extend(sniffed.columns.iter().map(|column| Row {
        property: format!("column {}", column.name),
        value: column.decision.value_type.to_string(),
        given: false,
        reason: format!("of the sample: {}", column.decision.reason),
    }));
    rows.push(Row {
        property: "error".to_owned(),
        value: error.to_string(),
        given: false,
        reason: "the file cannot be read by what was found; give what is wrong above".to_owned(),
    });
    batch(&rows)
}

/// What was found of the dialect.
fn options(sniffed: &Sniffed) -> Vec<Row> {
    let options = sniffed.options().into_iter();
    let row = |option: OptionText| Row {
        property: option.name.to_owned(),
        value: option.value,
        given: option.given,
        reason: option.reason,
    };
    options.map(row).collect()
}

fn batch(rows: &[Row]) -> Result<RecordBatch, Error> {
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
