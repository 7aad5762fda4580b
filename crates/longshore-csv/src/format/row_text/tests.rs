//! Rows as the slow parser reads their text.

use super::*;
use crate::reference;

fn fields(count: usize) -> RowText {
    RowText::new(vec![Missing::default(); count], 1 << 16)
}

/// The rows as the slow parser of CSV reads their text: content and whether it was quoted.
fn read(rows: &mut RowText) -> Vec<Vec<(String, bool)>> {
    rows.seal();
    let rows = rows.rows();
    let text = rows.text().text();
    let records = reference::records(text, rows.dialect()).expect("well-formed text");
    for (row, record) in records.iter().enumerate() {
        for (column, field) in record.fields.iter().enumerate() {
            assert_eq!(rows.field(row, column), (field.start as u32, field.end as u32), "row {row}, {column}");
        }
    }
    let field = |field: &reference::RawField| (String::from_utf8_lossy(&field.value).into_owned(), field.quoted);
    records.iter().map(|record| record.fields.iter().map(field).collect()).collect()
}

#[test]
fn rows_are_what_the_reference_parser_reads() {
    let mut rows = fields(2);
    rows.push_bare(b"1", 10);
    rows.push_quoted(b"a\x1f\"b\"\n", 12);
    rows.end_record(10, 30);
    rows.push_bare(b"", 31);
    rows.push_bare(b"5\" pipe", 32);
    rows.end_record(31, 39);
    let expected = [[("1", false), ("a\u{1f}\"b\"\n", true)], [("", false), ("5\" pipe", true)]];
    let expected: Vec<Vec<(String, bool)>> =
        expected.iter().map(|row| row.iter().map(|(text, quoted)| ((*text).to_owned(), *quoted)).collect()).collect();
    assert_eq!(read(&mut rows), expected);
    assert_eq!((rows.record_origin(1), rows.field_origin(1, 1)), ((31, 39), 32));
    for (row, column) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        assert_eq!(rows.locate(rows.rows().field(row, column).0), (row, column));
    }
}

#[test]
fn fields_and_records_that_need_no_look_are_what_the_others_are() {
    let mut rows = fields(3);
    assert_eq!(rows.push_record(b"1;;x", b';', 10), Ok(()));
    assert_eq!(rows.push_record(b"1;2", b';', 20), Err(2));
    assert_eq!(rows.push_record(b"1;2;3;4;5", b';', 30), Err(5));
    let text = b"a;\"a\"\"\x1f\n\";;and what is behind it";
    rows.push_clean_part(text, 0, 1);
    rows.push_verbatim_part(text, 2, 9);
    rows.push_clean(b"", 10);
    rows.end_record(0, 10);
    let value = |text: &str, quoted| (text.to_owned(), quoted);
    let expected = [
        [value("1", false), value("", false), value("x", false)],
        [value("a", false), value("a\"\u{1f}\n", true), value("", false)],
    ];
    assert_eq!(read(&mut rows), expected);
    assert_eq!((rows.record_origin(0), rows.field_origin(0, 1), rows.field_origin(0, 2)), ((10, 14), 12, 13));
}

#[test]
fn a_cancelled_record_leaves_nothing() {
    let mut rows = fields(2);
    rows.push_bare(b"x", 0);
    rows.cancel_record();
    rows.push_bare(b"1", 5);
    rows.push_bare(b"2", 7);
    rows.end_record(5, 8);
    rows.push_quoted(b"y", 9);
    rows.cancel_record();
    assert_eq!(read(&mut rows), [[("1".to_owned(), false), ("2".to_owned(), false)]]);
}

#[test]
fn missing_fields_become_what_was_asked_for() {
    let missing = [("", None), ("-", Some("n/a"))].map(|(null, default): (&str, Option<&str>)| Missing {
        null: null.as_bytes().into(),
        default: default.map(|default| default.as_bytes().into()),
    });
    let mut rows = RowText::new(missing.to_vec(), 1 << 16);
    rows.push_missing(0);
    rows.push_missing(0);
    rows.end_record(0, 0);
    rows.push_null(0);
    rows.push_null(0);
    rows.end_record(0, 0);
    let field = |text: &str, quoted| (text.to_owned(), quoted);
    let lacking = [field("", false), field("n/a", true)];
    assert_eq!(read(&mut rows), [lacking, [field("", false), field("-", false)]]);
    rows.clear();
    rows.seal();
    assert_eq!(rows.rows().count(), 0);
}
