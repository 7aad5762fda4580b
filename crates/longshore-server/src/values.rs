//! Values of rows and parameters as bytes on the wire, in PostgreSQL's text and binary formats.

pub(crate) mod parameters;
mod rows;

use arrow_array::ArrayRef;
use longshore_engine::{Texts, is_null};

pub(crate) use rows::Rows;

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
