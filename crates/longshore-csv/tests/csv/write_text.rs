//! Text that is written is read as the same text, never as NULL, whatever bytes it holds.

use longshore_csv::write::Quoting;
use longshore_csv::{Dialect, reference, write};
use longshore_testing::Random;

/// What is to be written, the obvious way.
fn obvious(value: &[u8], dialect: &Dialect, null_text: &[u8], force_quote: bool) -> Vec<u8> {
    let (delimiter, quote) = (dialect.delimiter(), dialect.quote().unwrap());
    let escape = dialect.escape().unwrap_or(quote);
    let is_special = |byte: &u8| [delimiter, quote, escape, b'\n', b'\r'].contains(byte);
    if !force_quote && !value.iter().any(is_special) && value != null_text && value != b"\\." {
        return value.to_vec();
    }
    let mut text = vec![quote];
    for &byte in value {
        if byte == quote || byte == escape {
            text.push(escape);
        }
        text.push(byte);
    }
    text.push(quote);
    text
}

#[test]
fn texts_are_read_back() {
    let mut random = Random::new(5);
    let dialects = [
        Dialect::default(),
        Dialect::new(b'|', Some(b'"'), None).unwrap(),
        Dialect::new(b'\t', Some(b'\''), Some(b'\\')).unwrap(),
        Dialect::new(b'x', Some(b'y'), Some(b'z')).unwrap(),
    ];
    for dialect in &dialects {
        for null_text in [&b""[..], b"\\N", b"x", b"NULL"] {
            for round in 0..3000 {
                let bytes = &b",|\t\"'\\xyz\n\r\\N. NULa\xC3\xA4"[..];
                // Now and then none of the bytes is special.
                let bytes = if round % 3 == 0 { &b"abcdefghi0123456789"[..] } else { bytes };
                let value: Vec<u8> = (0..random.below(70)).map(|_| random.pick(bytes)).collect();
                let value = if round % 50 == 0 { null_text.to_vec() } else { value };
                let mut text = Vec::new();
                for end in [dialect.delimiter(), b'\n'] {
                    let start = text.len();
                    Quoting::new(dialect, null_text, round % 7 == 0).text(&mut text, &value).unwrap();
                    assert_eq!(text[start..], obvious(&value, dialect, null_text, round % 7 == 0));
                    text.push(end);
                }
                let records = reference::records(&text, dialect).unwrap();
                assert_eq!(records.len(), 1, "{}", text.escape_ascii());
                assert_eq!(records[0].fields.len(), 2, "{}", text.escape_ascii());
                for field in &records[0].fields {
                    assert_eq!(field.value, value, "{}", text.escape_ascii());
                    assert!(field.quoted || value != null_text, "{} is read as NULL", text.escape_ascii());
                }
            }
        }
    }
}

#[test]
fn protected_values_are_read_back() {
    // Every byte that a timestamp is made of has a role here.
    for delimiter in *b"-: +.0" {
        let dialect = Dialect::new(delimiter, Some(b'"'), None).unwrap();
        let mut text = Vec::new();
        for end in [delimiter, b'\n'] {
            let start = text.len();
            write::timestamptz(&mut text, 1_234_567);
            Quoting::new(&dialect, b"", false).protect(&mut text, start).unwrap();
            text.push(end);
        }
        let records = reference::records(&text, &dialect).unwrap();
        assert_eq!(records.len(), 1);
        for field in &records[0].fields {
            assert_eq!(field.value, b"1970-01-01 00:00:01.234567+00");
        }
        assert_eq!(records[0].fields.len(), 2);
    }
}
