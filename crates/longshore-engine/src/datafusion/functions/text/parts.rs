//! Texts as lists of parts.

use crate::Error;
use crate::datafusion::functions::calls::Kind::{Int, Text};
use crate::datafusion::functions::calls::{Given, Overload, Row, of};

pub(super) const OVERLOADS: &[Overload] = &[of("split_part", &[Text, Text, Int], Text, split_part)];

fn split_part(row: &Row<'_>) -> Result<Given, Error> {
    let (text, separator, field) = (row.text(0), row.text(1), row.int(2));
    if field == 0 {
        return Err(Error::invalid("field position must not be zero"));
    }
    let number = field.unsigned_abs() as usize - 1;
    let part = if separator.is_empty() {
        (number == 0).then_some(text)
    } else if field > 0 {
        text.split(separator).nth(number)
    } else {
        let parts: Vec<&str> = text.split(separator).collect();
        parts.into_iter().rev().nth(number)
    };
    Ok(part.unwrap_or_default().into())
}

/// `string_to_array(text, separator [, null])`: its characters where the separator is NULL.
#[expect(clippy::unnecessary_wraps, reason = "it is a function as others are")]
pub(super) fn string_to_array(row: &Row<'_>) -> Result<Given, Error> {
    if row.is_null(0) {
        return Ok(Given::Null);
    }
    let text = row.text(0);
    let null = (row.len() > 2 && !row.is_null(2)).then(|| row.text(2));
    let part = |part: &str| (Some(part) != null).then(|| part.to_owned());
    let parts: Vec<Option<String>> = if text.is_empty() {
        Vec::new()
    } else if row.is_null(1) {
        text.chars().map(|character| part(character.encode_utf8(&mut [0; 4]))).collect()
    } else if row.text(1).is_empty() {
        vec![part(text)]
    } else {
        text.split(row.text(1)).map(part).collect()
    };
    Ok(parts.into())
}
