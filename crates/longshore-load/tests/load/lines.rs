//! Texts of one line each, on every machine. The twin says what must come out; the literal says what the twin must say.

use crate::harness::{check, comma, expected, pipe, schema, texts};
use longshore_load::{ColumnChoice, Dialect, Header, TextOptions, TrailingDelimiter, ValueOptions};
use longshore_storage::ColumnType;

/// A test that loads a text into text columns and expects rows in canonical CSV (every value quoted, NULL empty).
macro_rules! loads_to {
    ($name:ident, $columns:expr, $options:expr, $text:expr, $rows:expr) => {
        #[test]
        fn $name() {
            let (text, schema, options) = ($text.as_bytes(), texts($columns), $options);
            assert_eq!(expected(text, &schema, &options).as_deref(), Some($rows));
            assert_eq!(check(text, &schema, &options), None);
        }
    };
}

/// A test that loads a text and expects an error that contains the given words.
macro_rules! fails_with {
    ($name:ident, $columns:expr, $options:expr, $text:expr, $($words:expr),+) => {
        #[test]
        fn $name() {
            let text: &[u8] = $text.as_ref();
            let message = check(text, &$columns, &$options).expect("an error");
            $(assert!(message.contains($words), "{message}");)+
        }
    };
}

fn escaped() -> TextOptions {
    TextOptions::new(Dialect::new(b',', Some(b'"'), Some(b'\\')).expect("a dialect"))
}

fn unquoted() -> TextOptions {
    TextOptions::new(Dialect::new(b',', None, None).expect("a dialect"))
}

fn header(options: TextOptions) -> TextOptions {
    TextOptions { header: Header::Skip, ..options }
}

fn null(text: &str, options: TextOptions) -> TextOptions {
    values(options, |values| values.nulls = vec![text.to_owned()])
}

fn values(options: TextOptions, set: impl FnOnce(&mut ValueOptions)) -> TextOptions {
    let mut values = ValueOptions::default();
    set(&mut values);
    TextOptions { values, ..options }
}

loads_to!(nothing, 2, comma(), "", "");
loads_to!(one_record, 2, comma(), "a,b\n", "\"a\",\"b\"\n");
loads_to!(no_last_line_end, 2, comma(), "a,b\nc,d", "\"a\",\"b\"\n\"c\",\"d\"\n");
loads_to!(carriage_returns, 2, comma(), "a,b\r\nc,d\r\n", "\"a\",\"b\"\n\"c\",\"d\"\n");
loads_to!(mixed_line_ends, 2, comma(), "a,b\r\nc,d\ne,f", "\"a\",\"b\"\n\"c\",\"d\"\n\"e\",\"f\"\n");
loads_to!(carriage_return_at_the_end, 2, comma(), "a,b\r\nc,d\r", "\"a\",\"b\"\n\"c\",\"d\"\n");
loads_to!(nulls_and_empty_texts, 3, comma(), ",\"\",x\n", ",\"\",\"x\"\n");
loads_to!(quoted_delimiter, 2, comma(), "\"a,b\",c\n", "\"a,b\",\"c\"\n");
loads_to!(quoted_line_end, 2, comma(), "\"a\nb\",c\n\"d\r\ne\",f\n", "\"a\nb\",\"c\"\n\"d\r\ne\",\"f\"\n");
loads_to!(doubled_quotes, 2, comma(), "\"a\"\"b\",\"\"\"\"\n", "\"a\"\"b\",\"\"\"\"\n");
loads_to!(quotes_within_a_field, 1, comma(), "a\"b,c\"d\n", "\"ab,cd\"\n");
loads_to!(quote_at_the_very_end, 2, comma(), "a,\"b\"", "\"a\",\"b\"\n");
loads_to!(line_ends_only_in_quotes, 1, comma(), "\"\n\n\n\"\n\"\n\"", "\"\n\n\n\"\n\"\n\"\n");
loads_to!(escape_character, 2, escaped(), "\"a\\\"b\",\"c\\\\\"\n", "\"a\"\"b\",\"c\\\"\n");
loads_to!(escape_that_escapes_nothing, 2, escaped(), "\"a\\b\",\\\n", "\"a\\b\",\"\\\"\n");
loads_to!(escaped_line_end, 2, escaped(), "\"a\\\nb\",c\n", "\"a\\\nb\",\"c\"\n");
loads_to!(no_quotes_in_the_dialect, 2, unquoted(), "\"a,b\"\n", "\"\"\"a\",\"b\"\"\"\n");
loads_to!(header_is_skipped, 2, header(comma()), "x,y\na,b\n", "\"a\",\"b\"\n");
loads_to!(header_with_a_line_end, 2, header(comma()), "\"x\n1\",y\na,b\n", "\"a\",\"b\"\n");
loads_to!(header_alone, 2, header(comma()), "x,y", "");
loads_to!(byte_order_mark, 2, comma(), "\u{feff}a,b\n", "\"a\",\"b\"\n");
loads_to!(byte_order_mark_and_quote, 2, comma(), "\u{feff}\"a\",b\n", "\"a\",\"b\"\n");
loads_to!(trailing_delimiters, 2, pipe(), "a|b|\nc||\n", "\"a\",\"b\"\n\"c\",\n");
loads_to!(trailing_delimiters_and_carriage_returns, 2, pipe(), "a|b|\r\nc|d|\r\n", "\"a\",\"b\"\n\"c\",\"d\"\n");
loads_to!(empty_lines_of_one_column, 1, comma(), "\na\n\n", "\n\"a\"\n\n");
loads_to!(null_text, 2, null("NA", comma()), "NA,\"NA\"\n,x\n", ",\"NA\"\n\"\",\"x\"\n");
loads_to!(not_ascii, 2, comma(), "é,日本語\n\"ü,\",ß\n", "\"é\",\"日本語\"\n\"ü,\",\"ß\"\n");
loads_to!(
    long_texts,
    2,
    comma(),
    "the first value is longer than a view,\"so is, the second one of them\"\n",
    "\"the first value is longer than a view\",\"so is, the second one of them\"\n"
);
loads_to!(
    force_null_and_not_null,
    2,
    values(comma(), |values| {
        values.quoted_nulls = ColumnChoice::Names(vec!["c0".to_owned()]);
        values.force_not_null = ColumnChoice::Names(vec!["c1".to_owned()]);
    }),
    "\"\",\n",
    ",\"\"\n"
);

#[test]
fn typed_values() {
    let types = [
        ColumnType::Boolean,
        ColumnType::SmallInt,
        ColumnType::BigInt,
        ColumnType::Double,
        ColumnType::Decimal { precision: 15, scale: 2 },
        ColumnType::Decimal { precision: 30, scale: 4 },
        ColumnType::Date,
        ColumnType::Timestamp,
        ColumnType::Numeric(None),
    ];
    let text = "t,-5,9000000000,1.5,12.50,-3.25,1998-12-01,2001-02-03 04:05:06.7,1.50e3\n,,,,,,,,\n\
                \"no\",\"32767\",\"-1\",\"1e3\",\"7\",\"1e2\",\"2000-02-29\",\"2001-02-03\",\"-0.10\"\n";
    let rows = "\"t\",\"-5\",\"9000000000\",\"1.5\",\"12.50\",\"-3.2500\",\"1998-12-01\",\"2001-02-03 04:05:06.7\",\"1500\"\n\
                ,,,,,,,,\n\"f\",\"32767\",\"-1\",\"1000\",\"7.00\",\"100.0000\",\"2000-02-29\",\"2001-02-03 00:00:00\",\"-0.10\"\n";
    assert_eq!(expected(text.as_bytes(), &schema(&types), &comma()).as_deref(), Some(rows));
    assert_eq!(check(text.as_bytes(), &schema(&types), &comma()), None);
}

fails_with!(missing_field, texts(3), comma(), "a,b,c\nd,e\n", "FILE: line 2, byte 6", "3", "2");
fails_with!(extra_field, texts(2), comma(), "a,b\nc,d,e\n", "FILE: line 2, byte 4");
fails_with!(empty_line, texts(2), comma(), "a,b\n\nc,d\n", "line 2, byte 4");
fails_with!(unclosed_quote, texts(2), comma(), "a,b\nc,\"d\ne,f\n", "line 2, byte 6", "never closed");
fails_with!(unclosed_quote_within_a_field, texts(1), comma(), "a\nb\"c", "line 2, byte 3", "never closed");
fails_with!(stray_carriage_return, texts(2), comma(), "a,b\nc\rx,d\n", "line 2");
fails_with!(trailing_delimiter_missing, texts(2), pipe(), "a|b|\nc|d\n", "line 2, byte 5");
fails_with!(
    trailing_delimiter_not_wanted,
    texts(2),
    TextOptions { trailing_delimiter: TrailingDelimiter::No, ..pipe() },
    "a|b|\n",
    "line 1, byte 0"
);
fails_with!(not_utf8, texts(2), comma(), b"a,b\nc,\xff\xfe\n", "line 2, byte 6", "column c1 TEXT");
fails_with!(
    bad_number_behind_quoted_line_ends,
    schema(&[ColumnType::Text, ColumnType::Integer]),
    comma(),
    "\"a\nb\nc\",1\nd,x2\n",
    "line 4, byte 12",
    "column c1 INTEGER",
    "\"x2\""
);
fails_with!(
    the_first_bad_field_counts,
    schema(&[ColumnType::Integer, ColumnType::Integer]),
    comma(),
    "1,2\n3,bad\nbad,4\n",
    "line 2, byte 6",
    "column c1"
);
fails_with!(
    a_bad_field_before_a_bad_record,
    schema(&[ColumnType::Integer, ColumnType::Integer]),
    comma(),
    "1,2\n3,bad\n5\n",
    "line 2, byte 6"
);
fails_with!(
    a_bad_record_before_a_bad_field,
    schema(&[ColumnType::Integer, ColumnType::Integer]),
    comma(),
    "1,2\n3\nbad,5\n",
    "line 2, byte 4"
);
