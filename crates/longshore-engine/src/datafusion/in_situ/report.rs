//! What was found out about a text, as the rows of `sniff_csv`: each property with its value, whether it was given, and
//! why it is so; each column; and a statement that reads the text without looking at it again.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray, RecordBatch, StringArray};

use longshore_source::FoundFile;

use super::FoundText;
use crate::Error;
use crate::sql::names;

/// One row.
struct Row {
    property: String,
    value: String,
    given: bool,
    reason: String,
}

/// The rows for `found`, which stands in `files`.
pub(super) fn report(found: &FoundText, files: &[FoundFile]) -> Result<RecordBatch, Error> {
    let options = found.sniffed.options();
    let mut rows: Vec<Row> = options
        .iter()
        .map(|option| Row {
            property: option.name.to_owned(),
            value: option.value.clone(),
            given: option.given,
            reason: option.reason.clone(),
        })
        .collect();
    rows.extend(found.columns.iter().map(|column| Row {
        property: format!("column {}", column.name),
        value: column.column_type.to_string(),
        given: column.given,
        reason: column.reason.clone(),
    }));
    let arguments = options.iter().map(|option| format!("{} => {}", option.name.to_lowercase(), option.value));
    rows.push(Row {
        property: "statement".to_owned(),
        value: statement(found, files, arguments.collect()),
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

/// `SELECT * FROM read_csv(...)` with all that was found.
fn statement(found: &FoundText, files: &[FoundFile], mut arguments: Vec<String>) -> String {
    let columns = found
        .columns
        .iter()
        .map(|column| format!("{}: {}", names::literal(&column.name), names::literal(&column.column_type.to_string())));
    arguments.push(format!("columns => {{{}}}", columns.collect::<Vec<_>>().join(", ")));
    let paths: Vec<String> = files.iter().map(|file| names::literal(&file.location.to_string())).collect();
    let paths = if let [only] = paths.as_slice() { only.clone() } else { format!("[{}]", paths.join(", ")) };
    format!("SELECT * FROM read_csv({paths}, {})", arguments.join(", "))
}
