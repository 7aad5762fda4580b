//! Values of rows and parameters as bytes on the wire, in PostgreSQL's text and binary formats.

mod binary;
pub(crate) mod parameters;
mod rows;
mod text;

use arrow_array::ArrayRef;

pub(crate) use rows::Rows;
use text::{Texts, is_null};

/// The texts of a column.
pub(crate) fn texts_of(array: &ArrayRef) -> Vec<Option<String>> {
    let Some(texts) = Texts::new(array) else { return Vec::new() };
    let text = |row| {
        let mut text = Vec::new();
        texts.write(row, &mut text);
        String::from_utf8_lossy(&text).into_owned()
    };
    (0..array.len()).map(|row| (!is_null(array, row)).then(|| text(row))).collect()
}

/// Days from 1970-01-01 to 2000-01-01, from which PostgreSQL's binary formats count.
const DAYS_TO_2000: i32 = 10_957;
/// The same in microseconds.
const MICROS_TO_2000: i64 = DAYS_TO_2000 as i64 * 86_400_000_000;
