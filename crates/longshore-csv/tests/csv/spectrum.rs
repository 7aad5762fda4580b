//! The files of csv-spectrum (`tests/csv/spectrum`), which come with their records as JSON.

use std::fs;
use std::path::PathBuf;

use crate::common::values;
use longshore_csv::{Dialect, Shape};
use serde_json::Value;

fn spectrum(file: &str) -> Vec<u8> {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/csv/spectrum")).join(file);
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The values of a file, header first.
fn rows(name: &str, fields: usize) -> Vec<Vec<String>> {
    let mut text = spectrum(&format!("csvs/{name}.csv"));
    if !text.ends_with(b"\n") {
        text.push(b'\n');
    }
    values(&text, &Dialect::default(), Shape { fields, trailing_delimiter: false })
}

fn check(name: &str, fields: usize) {
    let rows = rows(name, fields);
    let truth: Value = serde_json::from_slice(&spectrum(&format!("json/{name}.json"))).unwrap();
    let truth = truth.as_array().unwrap();
    let (header, rows) = rows.split_first().unwrap();
    assert_eq!(rows.len(), truth.len());
    for (row, truth) in rows.iter().zip(truth) {
        let truth = truth.as_object().unwrap();
        assert_eq!(truth.len(), fields);
        for (name, value) in header.iter().zip(row) {
            assert_eq!(truth[name].as_str(), Some(value.as_str()), "field {name}");
        }
    }
}

macro_rules! spectrum {
    ($($name:ident: $fields:literal),* $(,)?) => {
        $(#[test]
        fn $name() {
            check(stringify!($name), $fields);
        })*
    };
}

spectrum! {
    comma_in_quotes: 5,
    empty: 3,
    empty_crlf: 3,
    escaped_quotes: 2,
    json: 2,
    newlines: 3,
    newlines_crlf: 3,
    quotes_and_newlines: 2,
    simple: 3,
    simple_crlf: 3,
    utf8: 3,
}

/// The JSON of this file is not UTF-8, tells of another telephone number, and takes quotes in mid-field literally, where
/// they toggle quoting for us as for PostgreSQL: the truth stands here.
#[test]
fn location_coordinates() {
    let rows = rows("location_coordinates", 4);
    assert_eq!(rows[0], ["Contact Phone Number", "Location Coordinates", "Cities", "Counties"]);
    assert_eq!(rows[1], ["2095257564", "37\u{FFFD}36'37.8N 121\u{FFFD}2'17.9W", "Modesto", "Stanislaus"]);
}
