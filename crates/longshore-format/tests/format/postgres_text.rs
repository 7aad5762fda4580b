//! PostgreSQL's text format: its rules one by one, then generated text against the slow twin.

use crate::common::{Read, Row, assert_cuts_do_not_matter, kinds, read_all, soup, values};
use longshore_csv::{DefectKind, FirstRecord, RecordFormat};
use longshore_format::LineEnds;
use longshore_format::postgres_text::{PostgresText, PostgresTextError, PostgresTextOptions, reference};
use longshore_testing::Random;

/// What is read of `text`, which is what the twin reads.
fn compared(options: &PostgresTextOptions, fields: usize, text: &[u8]) -> Read {
    let read = read_all(&PostgresText::new(options.clone()).unwrap(), text, fields);
    let (mut rows, mut defects) = (Vec::<Row>::new(), Vec::new());
    for record in reference::records(text, options) {
        let kind = match record.fields {
            Ok(row) if row.len() == fields => {
                let row = row.into_iter().map(|field| {
                    let quoted = field.quoted || field.value.iter().any(|byte| b"\"\x1f\r\n".contains(byte));
                    (field.value, quoted, field.start)
                });
                rows.push(((record.start, record.end), row.collect()));
                continue;
            }
            Ok(row) if row.len() < fields => DefectKind::MissingFields,
            Ok(_) => DefectKind::ExtraFields,
            Err(kind) => kind,
        };
        defects.push((rows.len(), record.start, record.end, kind));
    }
    assert_eq!(read, Read { rows, defects }, "{options:?} {}", text.escape_ascii());
    read
}

macro_rules! reads {
    ($name:ident, $text:expr, $rows:expr, $defects:expr) => {
        #[test]
        fn $name() {
            let rows: &[&[&str]] = &$rows;
            let defects: &[DefectKind] = &$defects;
            let read = compared(&PostgresTextOptions::default(), rows.first().map_or(2, |row| row.len()), $text);
            assert_eq!(values(&read), rows);
            assert_eq!(kinds(&read), defects);
        }
    };
    ($name:ident, $text:expr, $rows:expr) => {
        reads!($name, $text, $rows, []);
    };
}

reads!(nothing, b"", []);
reads!(plain, b"a\tb\n\t\n", [&["a", "b"], &["", ""]]);
reads!(quotes_mean_nothing, b"\"a\tb\"\n", [&["\"a", "b\""]]);
reads!(letters, b"\\b\\f\\n\\r\\t\\v\t\\\\\n", [&["\x08\x0c\n\r\t\x0b", "\\"]]);
reads!(octal, b"\\101\\1018\t\\60\\7x\n", [&["AA8", "0\x07x"]]);
reads!(hexadecimal, b"\\x41\\x4142\t\\x9\\xg\\x\n", [&["AA42", "\txgx"]]);
reads!(other_characters_are_literal, b"\\a\\8\\N\t\\\t\n", [&["a8N", "\t"]]);
reads!(a_line_end_behind_a_backslash, b"a\\\nb\tc\n\\\\\td\n", [&["a\nb", "c"], &["\\", "d"]]);
reads!(a_backslash_protects_one_byte, b"a\tb\\\r\nc\td\r\n", [&["a", "b\r"], &["c", "d"]]);
reads!(a_backslash_at_the_end, b"a\tb\\", [&["a", "b"]]);
reads!(the_end_of_data, b"a\tb\n\\.\nc\n", [&["a", "b"]]);
reads!(the_end_of_data_at_the_end, b"a\tb\r\n\\.", [&["a", "b"]]);
reads!(no_end_of_data, b"a\tb\\\n\\.\nc\\.\td\n\\.e\tf\n\\\\.\tg\n", [&["\\.", "g"]], [DefectKind::Syntax; 3]);
reads!(
    misshapen,
    b"a\tb\nc\nd\te\tf\n\n",
    [&["a", "b"]],
    [DefectKind::MissingFields, DefectKind::ExtraFields, DefectKind::MissingFields]
);
reads!(a_carriage_return, b"a\tb\nc\rd\te\nf\\r\\\r\tg\n", [&["a", "b"], &["f\r\r", "g"]], [DefectKind::LineEnd]);

#[test]
fn null_is_looked_for_before_escapes_are_taken_away() {
    let read = compared(&PostgresTextOptions::default(), 4, b"\\N\t\\\\N\tN\tNULL\n");
    let row: Vec<_> = read.rows[0].1.iter().map(|(value, quoted, _)| (&**value, *quoted)).collect();
    assert_eq!(row, [(&b"\\N"[..], false), (b"\\N", true), (b"N", false), (b"NULL", false)]);
}

#[test]
fn the_mark_that_ends_the_data_is_found() {
    let format = PostgresText::new(PostgresTextOptions::default()).unwrap();
    assert_eq!(format.end_of_data(b"a\n\\.\nb\n"), Some(5));
    assert_eq!(format.end_of_data(b"\\.\r\nb\n"), Some(4));
    assert_eq!(format.end_of_data(b"a\\.\n\\.b\n\\\n\\.\n"), None);
    assert_eq!(format.end_of_data(b"a\n"), None);
}

#[test]
fn the_first_record_is_the_header() {
    let format = PostgresText::new(PostgresTextOptions::default()).unwrap();
    let first = FirstRecord { bytes: 6, fields: vec![b"a\t".to_vec(), b"b".to_vec()] };
    assert_eq!(format.first_record(b"a\\t\tb\nc", false), Some(first));
    assert_eq!(format.first_record(b"a\tb", false), None);
    assert_eq!(format.first_record(b"a\tb", true).map(|first| first.bytes), Some(3));
    assert_eq!(format.first_record(b"\\.\n", true), None);
}

#[test]
fn options_that_do_not_go_together_are_refused() {
    let error = PostgresText::new(PostgresTextOptions { delimiter: b'n', ..PostgresTextOptions::default() });
    assert_eq!(
        error.unwrap_err().to_string(),
        "DELIMITER cannot be 'n' in the text format; choose an ASCII character other than a small letter, a digit, a \
         period, a backslash, NUL and the line ends"
    );
    let options = PostgresTextOptions { null_texts: vec![b"\t".as_slice().into()], ..PostgresTextOptions::default() };
    let error = PostgresText::new(options).unwrap_err();
    assert_eq!(error, PostgresTextError::NullText(b"\t".as_slice().into()));
    assert_eq!(
        error.to_string(),
        "NULL cannot be '\\t' in the text format; choose a text without the delimiter and line ends"
    );
}

#[test]
fn generated_text_is_read_as_the_twin_reads_it_wherever_it_is_cut() {
    let tokens: [&[u8]; 24] = [
        b"|",
        b"|",
        b"|",
        b"a",
        b"b",
        b"\n",
        b"\n",
        b"\n",
        b"\\",
        b"\\\\",
        b"\r\n",
        b"\r",
        b"\\N",
        b"\\.",
        b"\n\\.\n",
        b"x",
        b"7",
        b"0",
        b"\"",
        b"\x1f",
        "é".as_bytes(),
        b"\\x4",
        b"\\07",
        b"a|b\n",
    ];
    let mut random = Random::new(3);
    for round in 0..15_000 {
        let options = PostgresTextOptions {
            delimiter: b'|',
            line_ends: [LineEnds::Standard, LineEnds::Any][round % 2],
            record_bytes_max: if random.once_in(10) { 5 } else { 1000 },
            ..PostgresTextOptions::default()
        };
        // Without the mark that ends the data, behind which a text cannot be cut.
        let count = [8, 40][random.below(2)];
        let mut text = soup(&mut random, &tokens, count);
        let fields = 1 + random.below(3);
        compared(&options, fields, &text);
        let format = PostgresText::new(options.clone()).unwrap();
        let records = reference::records(&text, &options);
        let end = records.last().map_or(0, |record| record.end);
        let mark = format.end_of_data(&text);
        assert_eq!(
            mark.is_some(),
            text[end..].iter().any(|byte| !matches!(byte, b'\r' | b'\n')),
            "{}",
            text.escape_ascii()
        );
        text.truncate(end);
        let whole = compared(&options, fields, &text);
        assert_cuts_do_not_matter(&format, &text, fields, &whole);
    }
}
