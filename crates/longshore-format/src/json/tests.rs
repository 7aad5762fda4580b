//! The format as a whole, against `serde_json`: generated texts, mutated ones, and cases written by hand.

mod cases;
mod generate;

use longshore_csv::{Defect, DefectKind, Missing, RecordFormat, RowText};
use longshore_testing::Random;
use serde_json::Value;

use super::discover::{Extent, extents};
use super::*;

/// A field: its text and whether it was in quotes; `None` where it is missing.
type Field = Option<(Vec<u8>, bool)>;

/// What a text was read as: its rows and where they stand, and its defects.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    rows: Vec<(usize, usize, Vec<Field>)>,
    defects: Vec<Defect>,
}

/// What a missing field becomes: no JSON does.
const MISSING: &[u8] = b"(missing)";

fn format(paths: &[&str], layout: Layout) -> Json {
    let paths: Vec<JsonPath> = paths.iter().map(|path| path.parse().unwrap()).collect();
    Json::new(&paths, layout).unwrap()
}

/// Reads a text that comes in parts: each time, `more` says how many bytes of it there are to cut a stretch from.
fn read(json: &Json, text: &[u8], bytes_max: usize, mut more: impl FnMut(usize) -> usize) -> Outcome {
    let columns = json.plan.columns.len();
    let missing = vec![Missing { null: MISSING.into(), default: None }; columns];
    let mut rows = RowText::new(missing, bytes_max);
    let mut outcome = Outcome { rows: Vec::new(), defects: Vec::new() };
    let (mut start, mut there) = (0, 0);
    while start < text.len() {
        there = text.len().min(there + more(text.len()));
        let end = start + json.complete(&text[start..there], there == text.len());
        while start < end {
            rows.clear();
            let mut defects = Vec::new();
            let rows_before = outcome.rows.len();
            let taken = json.read(&text[start..end], &mut rows, &mut defects);
            assert!(taken > 0, "something is taken");
            rows.seal();
            for row in 0..rows.count() {
                let (from, to) = rows.record_origin(row);
                let fields = (0..columns).map(|column| field(&rows, row, column)).collect();
                outcome.rows.push((start + from as usize, start + to as usize, fields));
            }
            for defect in defects {
                outcome.defects.push(Defect {
                    row: rows_before + defect.row,
                    start: start as u32 + defect.start,
                    end: start as u32 + defect.end,
                    ..defect
                });
            }
            start += taken;
        }
    }
    outcome
}

fn read_whole(json: &Json, text: &[u8]) -> Outcome {
    read(json, text, usize::MAX, |all| all)
}

fn field(rows: &RowText, row: usize, column: usize) -> Field {
    let rows = rows.rows();
    let (start, end) = rows.field(row, column);
    let raw = &rows.text().text()[start as usize..end as usize];
    match raw.strip_prefix(b"\"") {
        None => (raw != MISSING).then(|| (raw.to_vec(), false)),
        Some(rest) => {
            let mut content = Vec::new();
            let mut bytes = rest[..rest.len() - 1].iter();
            while let Some(&byte) = bytes.next() {
                content.push(byte);
                if byte == b'"' {
                    assert_eq!(bytes.next(), Some(&b'"'), "quotes stand twice");
                }
            }
            Some((content, true))
        }
    }
}

/// The value at a path, as the twin finds it.
fn at_path<'v>(record: &'v Value, path: &JsonPath) -> Option<&'v Value> {
    path.steps().iter().try_fold(record, |value, step| match step {
        JsonStep::Key(key) => value.as_object()?.get(key.as_ref()),
        JsonStep::Index(index) => value.as_array()?.get(*index as usize),
    })
}

/// Whether a field is the value that the twin finds.
fn agrees(field: &Field, value: Option<&Value>) -> bool {
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

/// Reads a text whole and compares every record with the twin; then in parts, which must change nothing.
fn check(paths: &[&str], layout: Layout, text: &[u8], random: &mut Random) {
    let json = format(paths, layout);
    let paths: Vec<JsonPath> = paths.iter().map(|path| path.parse().unwrap()).collect();
    let whole = read_whole(&json, text);
    let (mut rows, mut defects) = (whole.rows.iter(), whole.defects.iter());
    for Extent { bytes: extent, stray } in extents(text, layout) {
        let said = || format!("{layout:?}, bytes {extent:?} of {}", text.escape_ascii());
        let record = &text[extent.clone()];
        let root = serde_json::from_slice::<Value>(record);
        if root.as_ref().is_err_and(|error| error.to_string().starts_with("number out of range")) {
            // Not a matter of syntax; the twin says nothing.
            return;
        }
        let takes = |root: &Value| {
            let by_key = paths.iter().any(|path| matches!(path.steps()[0], JsonStep::Key(_)));
            let by_index = paths.iter().any(|path| matches!(path.steps()[0], JsonStep::Index(_)));
            root.is_object() && by_key || root.is_array() && by_index
        };
        match root {
            Ok(root) if !stray && takes(&root) => {
                let (start, end, fields) = rows.next().unwrap_or_else(|| panic!("no row for {}", said()));
                assert_eq!((*start, *end), (extent.start, extent.end), "{}", said());
                for (path, field) in paths.iter().zip(fields) {
                    let value = at_path(&root, path);
                    assert!(agrees(field, value), "{path}: {field:?} for {value:?}; {}", said());
                }
            }
            _ => {
                let defect = defects.next().unwrap_or_else(|| panic!("no defect for {}", said()));
                assert!(extent.is_empty() || defect.end as usize == extent.end, "{defect:?}; {}", said());
                assert!(defect.start as usize <= extent.start, "{defect:?}; {}", said());
            }
        }
    }
    assert_eq!((rows.next(), defects.next()), (None, None), "{}", text.escape_ascii());
    for _ in 0..3 {
        let (bytes_max, step) = (random.below(200), 1 + random.below(100));
        let parts = read(&json, text, bytes_max, |_| 1 + random.below(step));
        assert_eq!(parts, whole, "in steps below {step}, rows of {bytes_max}: {}", text.escape_ascii());
    }
}

const PATHS: [&[&str]; 5] = [
    &["a", "b", "c", "d", "e"],
    &["e", "\"\"", "a.b", "a", "a.c.d", "b[1]", "b[0].a"],
    &["[0]", "[2]", "[1].a", "a"],
    &["\"long key of more bytes than are compared\"", "größe", "\"q\"\"\\\""],
    &["nothing"],
];

const LAYOUTS: [Layout; 3] = [Layout::Lines, Layout::Values, Layout::Array];

#[test]
fn generated_texts_are_read_as_the_twin_reads_them() {
    let mut random = Random::new(1);
    for round in 0..3_000 {
        let layout = LAYOUTS[round % 3];
        let text = generate::text(&mut random, layout);
        let outcome = read_whole(&format(&["a", "[0]"], layout), text.as_bytes());
        assert!(outcome.defects.is_empty(), "{:?}; {text}", outcome.defects);
        check(PATHS[random.below(PATHS.len())], layout, text.as_bytes(), &mut random);
    }
}

#[test]
fn mutated_texts_are_read_as_the_twin_reads_them() {
    let mut random = Random::new(2);
    for round in 0..20_000 {
        let layout = LAYOUTS[round % 3];
        let mut text = generate::text(&mut random, layout).into_bytes();
        for _ in 0..=random.below(4) {
            generate::mutate(&mut random, &mut text);
        }
        check(PATHS[random.below(PATHS.len())], layout, &text, &mut random);
    }
}

#[test]
fn an_array_that_is_not_closed_is_found_at_the_end() {
    let json = format(&["a"], Layout::Array);
    for (text, unfinished) in
        [("[{}]", false), ("[", true), ("[{}", true), ("[{},", true), ("", false), (" ,{} ", true), ("[{\"a", false)]
    {
        assert_eq!(json.unfinished(text.as_bytes()).is_some(), unfinished, "{text}");
    }
    assert_eq!(format(&["a"], Layout::Lines).unfinished(b"[{}"), None);
}

#[test]
fn keys_that_no_column_wants_can_be_refused() {
    let json = format(&["a.b", "a.c[0]"], Layout::Lines).with_unknown_keys(UnknownKeys::Reject);
    let text = b"{\"a\":{\"b\":1}}\n{\"x\":1}\n{\"a\":{\"c\":[1,2],\"d\":{}}}\n{\"a\":3}";
    let outcome = read_whole(&json, text);
    let reasons: Vec<&str> = outcome.defects.iter().map(|defect| defect.reason.as_str()).collect();
    assert_eq!(
        reasons,
        [
            "found the key \"x\", which is no column's, at byte 2 of the record",
            "found the key \"d\" in a, which is no column's, at byte 17 of the record"
        ]
    );
    assert!(outcome.defects.iter().all(|defect| defect.kind == DefectKind::ExtraFields));
    assert_eq!(outcome.rows.len(), 2);

    let json = format(&["[0]", "[1]"], Layout::Lines).with_unknown_keys(UnknownKeys::Reject);
    let outcome = read_whole(&json, b"[1,2]\n[1]\n[1,2,3]\n");
    assert_eq!((outcome.rows.len(), outcome.defects.len()), (2, 1));
    assert_eq!(
        outcome.defects[0].reason,
        "found element 3 of the record, which is no column's, at byte 6 of the record"
    );
}

#[test]
fn many_keys_without_a_column_are_read_all_the_same() {
    let record = |from: usize| {
        let keys: Vec<String> = (from..=from + 699).map(|key| format!("\"key {key}\":{key}")).collect();
        format!("{{{},\"a\":{from}}}\n", keys.join(","))
    };
    let text: String = [0, 0, 500, 1500, 1500, 3000, 0].map(record).concat();
    let outcome = read_whole(&format(&["a", "\"key 600\""], Layout::Lines), text.as_bytes());
    assert!(outcome.defects.is_empty());
    let values: Vec<String> =
        outcome.rows.iter().map(|(.., fields)| String::from_utf8(fields[0].clone().unwrap().0).unwrap()).collect();
    assert_eq!(values, ["0", "0", "500", "1500", "1500", "3000", "0"]);
    assert_eq!(outcome.rows.iter().filter(|(.., fields)| fields[1].is_some()).count(), 4);
}
