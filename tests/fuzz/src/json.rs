//! Any bytes as JSON: `serde_json` takes and refuses the same records with the same values, and where the text is cut
//! changes nothing. Looking at a sample finds no value that reading does not.

use crate::Choices;
use longshore_csv::{Defect, Missing, RecordFormat, RowText};
use longshore_format::json::{Json, JsonPath, JsonStep, Layout, detect_layout, discover};
use serde_json::Value;

const PATHS: [&[&str]; 4] = [
    &["a", "b", "c"],
    &["a.b", "a", "a[1].c", "\"\"", "b[0]"],
    &["[0]", "[2].a", "[1]", "a"],
    &["\"a key of more bytes than are compared at once\"", "a"],
];

/// What no field is.
const MISSING: &[u8] = b"(missing)";

/// Containers within each other that the twin reads.
const TWIN_DEPTH_MAX: usize = 100;

/// What must hold for any bytes.
///
/// # Panics
///
/// When it does not.
pub fn check_input(input: &[u8]) {
    let mut choices = Choices::new(input);
    let layout = choices.pick(&[Layout::Lines, Layout::Values, Layout::Array]);
    let paths = choices.pick(&PATHS);
    let steps: Vec<usize> = (0..8).map(|_| 1 + usize::from(choices.byte())).collect();
    let bytes_max = usize::from(choices.byte());
    let text = choices.rest();

    let paths: Vec<JsonPath> = paths.iter().map(|path| path.parse().expect("a path")).collect();
    let json = Json::new(&paths, layout).expect("there are columns");
    let whole = read(&json, text, paths.len(), usize::MAX, &[text.len()]);
    assert_eq!(read(&json, text, paths.len(), bytes_max, &steps), whole, "read in parts");

    for row in &whole.rows {
        let record = &text[row.start..row.end];
        match serde_json::from_slice::<Value>(record) {
            Ok(value) => {
                for (path, field) in paths.iter().zip(&row.fields) {
                    assert!(
                        agrees(field.as_ref(), at_path(&value, path)),
                        "{path}: {field:?} in {}",
                        record.escape_ascii()
                    );
                }
            }
            Err(error) => assert!(is_limit(&error, record), "{error}: {}", record.escape_ascii()),
        }
    }
    if layout == Layout::Lines {
        lines(text, &paths, &whole);
    }
    if let Some(found) = detect_layout(text) {
        let discovery = discover(text, found, true, true);
        if let Ok(json) = Json::new(&discovery.values.iter().map(|value| value.path.clone()).collect::<Vec<_>>(), found)
        {
            let outcome = read(&json, text, discovery.values.len(), usize::MAX, &[text.len()]);
            // Objects without members among arrays tell of no path that begins with a key.
            assert!(outcome.rows.len() <= discovery.records, "records of a sample");
            let found = outcome.rows.len() + outcome.defects.len();
            assert_eq!(found, discovery.records + discovery.defects, "records and defects of a sample");
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    rows: Vec<Row>,
    defects: Vec<Defect>,
}

#[derive(Debug, PartialEq, Eq)]
struct Row {
    start: usize,
    end: usize,
    /// Text, and whether it was in quotes; `None` where the value is missing.
    fields: Vec<Option<(Vec<u8>, bool)>>,
}

/// Reads a text that comes in parts of these sizes, over and over.
fn read(json: &Json, text: &[u8], columns: usize, bytes_max: usize, steps: &[usize]) -> Outcome {
    let missing = vec![Missing { null: MISSING.into(), default: None }; columns];
    let mut rows = RowText::new(missing, bytes_max);
    let mut outcome = Outcome { rows: Vec::new(), defects: Vec::new() };
    let (mut start, mut there) = (0, 0);
    for step in steps.iter().cycle() {
        if start == text.len() {
            break;
        }
        there = text.len().min(there + step);
        let end = start + json.complete(&text[start..there], there == text.len());
        while start < end {
            rows.clear();
            let mut defects = Vec::new();
            let taken = json.read(&text[start..end], &mut rows, &mut defects);
            assert!(taken > 0, "something is taken");
            rows.seal();
            let before = outcome.rows.len();
            for row in 0..rows.count() {
                let (from, to) = rows.record_origin(row);
                let fields = (0..columns).map(|column| field(&rows, row, column)).collect();
                outcome.rows.push(Row { start: start + from as usize, end: start + to as usize, fields });
            }
            outcome.defects.extend(defects.into_iter().map(|defect| Defect {
                row: before + defect.row,
                start: start as u32 + defect.start,
                end: start as u32 + defect.end,
                ..defect
            }));
            start += taken;
        }
    }
    outcome
}

fn field(rows: &RowText, row: usize, column: usize) -> Option<(Vec<u8>, bool)> {
    let rows = rows.rows();
    let (start, end) = rows.field(row, column);
    let raw = &rows.text().text()[start as usize..end as usize];
    match raw.strip_prefix(b"\"") {
        None => (raw != MISSING).then(|| (raw.to_vec(), false)),
        Some(rest) => {
            let content = rest.strip_suffix(b"\"").expect("a closing quote");
            Some((String::from_utf8_lossy(content).replace("\"\"", "\"").into_bytes(), true))
        }
    }
}

fn at_path<'v>(record: &'v Value, path: &JsonPath) -> Option<&'v Value> {
    path.steps().iter().try_fold(record, |value, step| match step {
        JsonStep::Key(key) => value.as_object()?.get(key.as_ref()),
        JsonStep::Index(index) => value.as_array()?.get(*index as usize),
    })
}

fn agrees(field: Option<&(Vec<u8>, bool)>, value: Option<&Value>) -> bool {
    match (field, value) {
        (None, None | Some(Value::Null)) => true,
        (Some((text, true)), Some(Value::String(string))) => text == string.as_bytes(),
        (Some((text, quoted)), Some(value)) => {
            *quoted == matches!(value, Value::Object(_) | Value::Array(_))
                && serde_json::from_slice::<Value>(text).is_ok_and(|parsed| parsed == *value)
        }
        _ => false,
    }
}

/// Whether the twin refuses a record for a limit that it has and we do not.
fn is_limit(error: &serde_json::Error, record: &[u8]) -> bool {
    let said = error.to_string();
    said.starts_with("number out of range") || said.starts_with("recursion limit exceeded") && is_deep(record)
}

fn is_deep(record: &[u8]) -> bool {
    record.iter().filter(|byte| matches!(byte, b'{' | b'[')).count() > TWIN_DEPTH_MAX
}

/// Every line is a row if the twin takes it, and a defect if not.
fn lines(text: &[u8], paths: &[JsonPath], whole: &Outcome) {
    let by_key = paths.iter().any(|path| matches!(path.steps()[0], JsonStep::Key(_)));
    let by_index = paths.iter().any(|path| matches!(path.steps()[0], JsonStep::Index(_)));
    let (mut rows, mut defects) = (0, 0);
    for line in text.split(|byte| *byte == b'\n') {
        let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r');
        if line.iter().all(is_blank) {
            continue;
        }
        match serde_json::from_slice::<Value>(line) {
            Ok(value) if value.is_object() && by_key || value.is_array() && by_index => rows += 1,
            Err(error) if is_limit(&error, line) => return,
            _ => defects += 1,
        }
    }
    assert_eq!((whole.rows.len(), whole.defects.len()), (rows, defects), "{}", text.escape_ascii());
}
