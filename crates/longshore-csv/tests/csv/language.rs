//! The language, a line per rule; each line runs on every kernel and on the slow twin.

use crate::common::{check, dialect, values};
use longshore_csv::reference::records;
use longshore_csv::{Dialect, Shape, ShapeError, ShapeErrorKind};

/// A text and its values, in the default dialect or another.
macro_rules! parses_to {
    ($name:ident, $text:expr, $rows:expr) => {
        parses_to!($name, Dialect::default(), false, $text, $rows);
    };
    ($name:ident, $dialect:expr, $text:expr, $rows:expr) => {
        parses_to!($name, $dialect, false, $text, $rows);
    };
    ($name:ident, $dialect:expr, $trailing_delimiter:expr, $text:expr, $rows:expr) => {
        #[test]
        fn $name() {
            let (rows, dialect): (&[&[&str]], Dialect) = (&$rows, $dialect);
            let shape =
                Shape { fields: rows.first().map_or(1, |row| row.len()), trailing_delimiter: $trailing_delimiter };
            assert_eq!(values($text.as_bytes(), &dialect, shape), rows);
            if !$trailing_delimiter {
                let twin: Vec<Vec<Vec<u8>>> = records($text.as_bytes(), &dialect)
                    .unwrap()
                    .into_iter()
                    .map(|record| record.fields.into_iter().map(|field| field.value).collect())
                    .collect();
                let rows: Vec<Vec<Vec<u8>>> =
                    rows.iter().map(|row| row.iter().map(|value| value.as_bytes().to_vec()).collect()).collect();
                assert_eq!(twin, rows);
            }
        }
    };
}

/// A text of two fields per record, and what is wrong with which bytes of it.
macro_rules! fails {
    ($name:ident, $text:expr, row $row:expr, $start:literal..$end:literal, $kind:expr) => {
        fails!($name, false, $text, row $row, $start..$end, $kind);
    };
    ($name:ident, $trailing_delimiter:expr, $text:expr, row $row:expr, $start:literal..$end:literal, $kind:expr) => {
        #[test]
        fn $name() {
            let shape = Shape { fields: 2, trailing_delimiter: $trailing_delimiter };
            let outcome = check($text.as_bytes(), &Dialect::default(), shape);
            assert_eq!(outcome.error, Some(ShapeError { row: $row, start: $start, end: $end, kind: $kind }));
            assert_eq!(outcome.rows.len(), $row);
            assert_eq!(outcome.consumed, $start);
        }
    };
}

fn backslash() -> Dialect {
    dialect(b',', Some(b'"'), Some(b'\\'))
}

fn pipe() -> Dialect {
    dialect(b'|', None, None)
}

fn missing(found: usize) -> ShapeErrorKind {
    ShapeErrorKind::MissingFields { expected: 2, found }
}

fn extra(found: usize) -> ShapeErrorKind {
    ShapeErrorKind::ExtraFields { expected: 2, found }
}

fn stray(at: u32) -> ShapeErrorKind {
    ShapeErrorKind::StrayCarriageReturn { at }
}

parses_to!(nothing, "", []);
parses_to!(one_field, "a\n", [&["a"]]);
parses_to!(plain, "a,b\nc,d\n", [&["a", "b"], &["c", "d"]]);
parses_to!(empty_fields, ",\n,\n", [&["", ""], &["", ""]]);
parses_to!(blank_line_is_one_empty_field, "\n\n", [&[""], &[""]]);
parses_to!(spaces_are_kept, " a , b \n", [&[" a ", " b "]]);
parses_to!(nul_is_a_byte_like_any, "a\0b,\0\n", [&["a\0b", "\0"]]);
parses_to!(not_ascii, "é,ʤ\n\"é,\",€\n", [&["é", "ʤ"], &["é,", "€"]]);

parses_to!(quoted, "\"a\",\"b\"\n", [&["a", "b"]]);
parses_to!(quoted_empty, "\"\",\"\"\n", [&["", ""]]);
parses_to!(quoted_delimiter, "\"a,b\",c\n", [&["a,b", "c"]]);
parses_to!(quoted_line_end, "\"a\nb\",c\n", [&["a\nb", "c"]]);
parses_to!(quoted_crlf, "a,\"b\r\nc\"\n", [&["a", "b\r\nc"]]);
parses_to!(quoted_carriage_return, "a,\"b\rc\"\r\n", [&["a", "b\rc"]]);
parses_to!(doubled_quote, "\"a\"\"b\",c\n", [&["a\"b", "c"]]);
parses_to!(only_a_doubled_quote, "\"\"\"\",c\n", [&["\"", "c"]]);
parses_to!(doubled_quotes_and_delimiter, "\"\"\",\"\"\",c\n", [&["\",\"", "c"]]);
parses_to!(quote_in_mid_field, "ab\"c,d\"e,f\n", [&["abc,de", "f"]]);
parses_to!(empty_quotes_in_mid_field, "a\"\"b,c\n", [&["ab", "c"]]);
parses_to!(text_behind_quotes, "\"a\"b\"c\",d\n", [&["abc", "d"]]);

parses_to!(crlf, "a,b\r\nc,d\r\n", [&["a", "b"], &["c", "d"]]);
parses_to!(mixed_line_ends, "a,b\r\nc,d\ne,f\r\n", [&["a", "b"], &["c", "d"], &["e", "f"]]);
parses_to!(crlf_behind_an_empty_field, "a,\r\n,\r\n", [&["a", ""], &["", ""]]);
parses_to!(crlf_behind_quotes, "a,\"b\"\r\n", [&["a", "b"]]);
parses_to!(crlf_alone, "\r\n\r\n", [&[""], &[""]]);

parses_to!(escaped_quote, backslash(), "\"a\\\"b\",c\n", [&["a\"b", "c"]]);
parses_to!(escaped_escape, backslash(), "\"a\\\\\",c\n", [&["a\\", "c"]]);
parses_to!(escaped_escape_and_quote, backslash(), "\"a\\\\\\\",\",c\n", [&["a\\\",", "c"]]);
parses_to!(escape_before_another_byte, backslash(), "\"\\n\\,\\\n\",c\n", [&["\\n\\,\\\n", "c"]]);
parses_to!(escape_outside_quotes, backslash(), "\\,\\\"a,\"\n", [&["\\", "\\a,"]]);
parses_to!(doubling_under_an_escape, backslash(), "\"a\"\"b\",c\n", [&["ab", "c"]]);

parses_to!(no_quotes, pipe(), "\"a|b\"\n", [&["\"a", "b\""]]);
parses_to!(commas_between_pipes, pipe(), "a,b|c,d\n", [&["a,b", "c,d"]]);
parses_to!(trailing_delimiter, pipe(), true, "a|b|\nc||\n", [&["a", "b"], &["c", ""]]);
parses_to!(trailing_delimiter_crlf, pipe(), true, "a|b|\r\n||\r\n", [&["a", "b"], &["", ""]]);
parses_to!(trailing_delimiter_one_field, pipe(), true, "a|\n|\n", [&["a"], &[""]]);

fails!(too_few, "a,b\nc\n", row 1, 4..5, missing(1));
fails!(blank_line, "a,b\n\nc,d\n", row 1, 4..4, missing(1));
fails!(too_many, "a,b\nc,d,e,f\n", row 1, 4..11, extra(4));
fails!(too_few_then_too_many, "a,b\nc\nd,e,f\n", row 1, 4..5, missing(1));
fails!(too_many_then_too_few, "a,b,c\nd\n", row 0, 0..5, extra(3));
fails!(too_few_crlf, "a,b\r\nc\r\n", row 1, 5..6, missing(1));
fails!(stray_carriage_return, "a,b\nc,d\re\n", row 1, 4..9, stray(7));
fails!(stray_before_crlf, "a,b\r\r\n", row 0, 0..4, stray(3));
fails!(stray_before_a_delimiter, "a\r,b\r\n", row 0, 0..4, stray(1));
fails!(stray_in_a_record_of_wrong_length, "a,b\nc\rd\n", row 1, 4..7, stray(5));
fails!(stray_behind_a_record_of_wrong_length, "a\nc,d\r\r\n", row 0, 0..1, missing(1));
fails!(stray_before_a_record_of_wrong_length, "a,\rb\r\nc\r\n", row 0, 0..4, stray(2));
fails!(stray_before_quotes, "a,\r\"b\"\n", row 0, 0..6, stray(2));
fails!(no_trailing_delimiter, true, "a,b,\nc,d\n", row 1, 5..8, ShapeErrorKind::TrailingDelimiterMissing);
fails!(too_few_with_trailing, true, "a,b,\nc,\n", row 1, 5..7, missing(1));
fails!(too_few_without_trailing, true, "a,b,\nc\n", row 1, 5..6, missing(1));
fails!(blank_line_with_trailing, true, "a,b,\n\n", row 1, 5..5, missing(0));
fails!(one_more_with_trailing, true, "a,b,\nc,d,e\n", row 1, 5..10, extra(3));
fails!(quoted_empty_is_not_trailing, true, "a,b,\"\"\n", row 0, 0..6, extra(3));
fails!(carriage_return_behind_trailing, true, "a,b,\r\r\n", row 0, 0..5, stray(4));

#[test]
fn an_incomplete_record_is_left_for_later() {
    for tail in ["", "c", "c,d", "c,d,e", "c,\"d\n", "c,d\r", "c\r,d", "c,d\r\"\n"] {
        let text = format!("a,b\r\n{tail}");
        let outcome = check(text.as_bytes(), &Dialect::default(), Shape { fields: 2, trailing_delimiter: false });
        assert_eq!((outcome.rows.len(), outcome.consumed, outcome.error), (1, 5, None), "{tail:?}");
    }
}

#[test]
fn errors_read_as_sentences() {
    assert_eq!(missing(1).reason(), "found 1 field where 2 are expected");
    assert_eq!(extra(3).reason(), "found 3 fields where 2 are expected");
    assert!(extra(3).remedy().contains("TRAILING_DELIMITER true"));
    assert!(!extra(4).remedy().contains("TRAILING_DELIMITER"));
    assert_eq!(stray(0).remedy(), r"quote the field, end every line with \n or \r\n, or set LINE_ENDS any");
    assert!(ShapeErrorKind::TrailingDelimiterMissing.remedy().contains("TRAILING_DELIMITER false"));
}
