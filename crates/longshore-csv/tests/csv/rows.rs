//! Rows as decoders see them: selected, truncated and measured.

use crate::common::padded;
use longshore_csv::{Dialect, Kernel, Marks, Padded, Rows, Scanner, Shape, ShapeErrorKind, TextTraits};

/// Calls `examine` with the rows of a text, once per kernel.
fn with_rows(text: &str, fields: usize, examine: impl Fn(Rows<'_>)) {
    let dialect = Dialect::default();
    for kernel in Kernel::available() {
        let buffer = padded(text.as_bytes());
        let padded = Padded::new(&buffer, text.len());
        let mut marks = Marks::new();
        Scanner::new(kernel, &dialect, TextTraits::ALL).scan(padded, &mut marks);
        let shape = Shape { fields, trailing_delimiter: false };
        let records = Rows::new(padded, &mut marks, shape, TextTraits::ALL, &dialect);
        assert_eq!(records.error, None);
        examine(records.rows);
    }
}

/// The records as text.
fn record_texts<'a>(rows: &Rows<'a>) -> Vec<&'a str> {
    let texts = (0..rows.count()).map(|row| rows.record(row));
    texts.map(|(start, end)| str::from_utf8(&rows.text().text()[start as usize..end as usize]).unwrap()).collect()
}

const TEXTS: [&str; 3] =
    ["aa,b\nc,\n\"d\n\",e\n,f\n", "aa,b\r\nc,\r\n\"d\n\",e\r\n,f\r\n", "aa,b\nc,\r\n\"d\n\",e\n,f\r\n"];

#[test]
fn records_exclude_line_ends() {
    for text in TEXTS {
        with_rows(text, 2, |rows| {
            assert_eq!(record_texts(&rows), ["aa,b", "c,", "\"d\n\",e", ",f"]);
        });
    }
}

#[test]
fn selected_rows_are_the_named_ones() {
    for text in TEXTS {
        with_rows(text, 2, |rows| {
            let mut marks = vec![7; 100];
            let selected = rows.select(&[0, 2, 3], &mut marks);
            assert_eq!(record_texts(&selected), ["aa,b", "\"d\n\",e", ",f"]);
            assert_eq!(selected.text_bytes(), 4 + 6 + 2);
            assert_eq!(selected.field(1, 1), rows.field(2, 1));
            let mut marks = Vec::new();
            let again = selected.select(&[1], &mut marks);
            assert_eq!(record_texts(&again), ["\"d\n\",e"]);
            assert_eq!(record_texts(&selected.truncated(1)), ["aa,b"]);
            assert_eq!(selected.truncated(1).text_bytes(), 4);
        });
    }
}

#[test]
fn text_bytes_bound_the_fields() {
    for text in TEXTS {
        with_rows(text, 2, |rows| {
            for count in 0..=rows.count() {
                let rows = rows.truncated(count);
                let fields = (0..count).flat_map(|row| [rows.field(row, 0), rows.field(row, 1)]);
                assert!(fields.map(|(start, end)| (end - start) as usize).sum::<usize>() <= rows.text_bytes());
                assert_eq!((rows.count(), rows.is_empty()), (count, count == 0));
            }
        });
    }
}

#[test]
fn no_rows() {
    with_rows("", 3, |rows| {
        assert!(rows.is_empty());
        assert_eq!(rows.text_bytes(), 0);
        assert!(rows.select(&[], &mut Vec::new()).is_empty());
    });
}

#[test]
#[should_panic(expected = "no field at row 0, column 2")]
fn a_field_beyond_the_last_is_a_bug() {
    with_rows("a,b\nc,d\n", 2, |rows| {
        let _ = rows.field(0, 2);
    });
}

#[test]
#[should_panic(expected = "the marks are those of another text")]
fn marks_of_another_text_are_a_bug() {
    let buffer = padded(b"a\n");
    let shape = Shape { fields: 1, trailing_delimiter: false };
    let dialect = Dialect::default();
    let _ = Rows::new(Padded::new(&buffer, 2), &mut Marks::new(), shape, TextTraits::ALL, &dialect);
}

/// The good records of a text of two fields per record and the bad ones, by every kernel.
fn check_lenient(text: &str, good: &[&str], bad: &[(usize, &str, ShapeErrorKind)]) {
    let dialect = Dialect::default();
    for kernel in Kernel::available() {
        let buffer = padded(text.as_bytes());
        let padded = Padded::new(&buffer, text.len());
        let mut marks = Marks::new();
        Scanner::new(kernel, &dialect, TextTraits::ALL).scan(padded, &mut marks);
        let shape = Shape { fields: 2, trailing_delimiter: false };
        let mut errors = Vec::new();
        let records = Rows::lenient(padded, &mut marks, shape, TextTraits::ALL, &dialect, &mut errors);
        assert_eq!(record_texts(&records.rows), good);
        let found: Vec<_> = errors
            .iter()
            .map(|error| (error.row, &text[error.start as usize..error.end as usize], error.kind))
            .collect();
        assert_eq!(found, bad);
    }
}

#[test]
fn bad_records_are_left_out() {
    let missing = |found| ShapeErrorKind::MissingFields { expected: 2, found };
    let extra = |found| ShapeErrorKind::ExtraFields { expected: 2, found };
    check_lenient(
        "a,b\nc\n\nd,\"e\n1,2,3\n\"\r\nf,g,h\n",
        &["a,b", "d,\"e\n1,2,3\n\""],
        &[(1, "c", missing(1)), (1, "", missing(1)), (2, "f,g,h", extra(3))],
    );
    check_lenient(
        "a\rb,c\nd,\"e\r\"\r\n\"f\r\",g\rh,i,\nj,k\r\nl",
        &["d,\"e\r\"", "j,k"],
        &[
            (0, "a\rb,c", ShapeErrorKind::StrayCarriageReturn { at: 1 }),
            (1, "\"f\r\",g\rh,i,", ShapeErrorKind::StrayCarriageReturn { at: 20 }),
        ],
    );
}
