//! Columns of rows: the types that their values have, and whether they have all the one that was guessed.
//!
//! [`classify_column`] looks at every value with the exact [`classify`]. [`verify`] is for a column that a decoder has
//! read by the guessed type: what is left to see is whether something was lost on the way, which the first bytes or the
//! length of a usual spelling rule out. All other values go to `classify` again.

use longshore_csv::{Dialect, Rows};

use super::{InferredType, Reading, TypeSet, classify, date_time, uuid};

/// Which fields are NULL whatever their type is: by the user's word, or because nothing stands there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nulls {
    /// The texts.
    pub texts: Vec<Box<[u8]>>,
    /// Whether they are also NULL in quotes.
    pub quoted: bool,
    /// Whether blanks around them mean nothing.
    pub trim: bool,
}

impl Nulls {
    fn contains(&self, content: &[u8], quoted: bool) -> bool {
        let content = if self.trim && !quoted { content.trim_ascii() } else { content };
        (!quoted || self.quoted) && self.texts.iter().any(|text| **text == *content)
    }
}

/// The types that every value of a column has. Stops looking when only text is left.
#[must_use]
pub fn classify_column(rows: &Rows<'_>, column: usize, nulls: &Nulls, reading: &Reading) -> TypeSet {
    let text = rows.text().text();
    let mut scratch = Vec::new();
    let mut set = TypeSet::EVERY;
    for row in 0..rows.count() {
        let (start, end) = rows.field(row, column);
        let (content, quoted) = content(&text[start as usize..end as usize], rows.dialect(), &mut scratch);
        if !nulls.contains(content, quoted) {
            set = set.join(classify(content, quoted, reading));
            if set.is_text() {
                break;
            }
        }
    }
    set
}

/// Whether a column that a decoder has read as `value_type` lost nothing: then every value is NULL, a common null text,
/// or admitted by [`classify`].
#[must_use]
pub fn verify(rows: &Rows<'_>, column: usize, value_type: &InferredType, nulls: &Nulls, reading: &Reading) -> bool {
    let point = reading.decimal_separator;
    match *value_type {
        InferredType::Text | InferredType::Date(None) => true,
        InferredType::Uuid => all(rows, column, value_type, nulls, reading, uuid::has_usual_hyphens),
        InferredType::Integer | InferredType::BigInt => all(rows, column, value_type, nulls, reading, is_plain_integer),
        InferredType::Decimal { scale, .. } => {
            let scale = usize::from(scale);
            all(rows, column, value_type, nulls, reading, |field| is_plain_decimal(field, scale, point))
        }
        InferredType::Double => all(rows, column, value_type, nulls, reading, |field| is_short_number(field, point)),
        InferredType::Boolean => all(rows, column, value_type, nulls, reading, |field| {
            field.eq_ignore_ascii_case(b"true") || field.eq_ignore_ascii_case(b"false")
        }),
        InferredType::Time if reading.formats.time.is_some() => {
            all(rows, column, value_type, nulls, reading, date_time::is_kept)
        }
        InferredType::Timestamp(None) | InferredType::TimestampTz if reading.formats.timestamp.is_some() => {
            all(rows, column, value_type, nulls, reading, date_time::is_kept)
        }
        InferredType::Time => all(rows, column, value_type, nulls, reading, |field| {
            field.len() >= 8 && field[2] == b':' && field[5] == b':' && (field.len() == 8 || field.len() <= 15)
        }),
        InferredType::Timestamp(None) => all(rows, column, value_type, nulls, reading, |field| {
            field.len() <= 19 || field.len() <= 26 && field[19] == b'.'
        }),
        InferredType::TimestampTz => all(rows, column, value_type, nulls, reading, |field| {
            field.len() == 20 && field[19] == b'Z' || matches!(field.len(), 22 | 25) && matches!(field[19], b'+' | b'-')
        }),
        InferredType::Date(Some(layout)) | InferredType::Timestamp(Some(layout)) => {
            all(rows, column, value_type, nulls, reading, |field| layout.reads(field))
        }
    }
}

/// Whether `plain` or else [`classify`] accepts all fields of a column.
#[inline]
fn all(
    rows: &Rows<'_>,
    column: usize,
    value_type: &InferredType,
    nulls: &Nulls,
    reading: &Reading,
    plain: impl Fn(&[u8]) -> bool,
) -> bool {
    let text = rows.text().text();
    let quote = rows.dialect().quote();
    let empty_is_null = nulls.contains(b"", false);
    (0..rows.count()).all(|row| {
        let (start, end) = rows.field(row, column);
        let field = &text[start as usize..end as usize];
        let usual = match field {
            [] if empty_is_null => true,
            [first, ..] if reading.quoted_strings && Some(*first) == quote => false,
            [first, inner @ .., last] if Some(*first) == quote && Some(*last) == quote => plain(inner),
            _ => plain(field),
        };
        usual || is_admitted(field, rows.dialect(), value_type, nulls, reading)
    })
}

#[cold]
fn is_admitted(field: &[u8], dialect: &Dialect, value_type: &InferredType, nulls: &Nulls, reading: &Reading) -> bool {
    let mut scratch = Vec::new();
    let (content, quoted) = content(field, dialect, &mut scratch);
    nulls.contains(content, quoted) || classify(content, quoted, reading).admits(value_type)
}

/// Whether the first bytes show that nothing but a number without leading zeros can follow.
#[inline]
fn is_plain_integer(field: &[u8]) -> bool {
    matches!(field, [b'1'..=b'9', ..] | [b'-', b'1'..=b'9', ..] | [b'0'])
}

/// Whether a decimal is plain: no leading zeros, no exponent, no more than `scale` digits behind the point.
#[inline]
fn is_plain_decimal(field: &[u8], scale: usize, point: u8) -> bool {
    let starts = match field {
        [b'1'..=b'9', ..] | [b'-', b'1'..=b'9', ..] | [b'0'] => true,
        [b'0', second, ..] | [b'-', b'0', second, ..] => *second == point,
        _ => false,
    };
    if !starts {
        return false;
    }
    if field.len() > scale && scale > 0 && field[field.len() - scale - 1] == point {
        return field[field.len() - scale..].iter().all(u8::is_ascii_digit);
    }
    let digits = field.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    // All digits, or some of them behind the point.
    digits == field.len()
        || digits == field.len() - 1 && field[0] == b'-'
        || digits <= scale && field[field.len() - digits - 1] == point
}

/// Whether a number has so few digits that every double gives them back.
#[inline]
fn is_short_number(field: &[u8], point: u8) -> bool {
    let starts = match field {
        [b'1'..=b'9', ..] | [b'-', b'1'..=b'9', ..] | [b'0'] => true,
        [b'0', second, ..] | [b'-', b'0', second, ..] => *second == point,
        _ => false,
    };
    starts && field.len() <= 15 && field[1..].iter().all(|byte| byte.is_ascii_digit() || *byte == point)
}

/// What a field says without its quotes and escapes, and whether it has quotes.
pub(in crate::sniff) fn content<'a>(field: &'a [u8], dialect: &Dialect, scratch: &'a mut Vec<u8>) -> (&'a [u8], bool) {
    let Some(quote) = dialect.quote().filter(|quote| memchr::memchr(*quote, field).is_some()) else {
        return (field, false);
    };
    let escape = dialect.escape().unwrap_or(quote);
    scratch.clear();
    let mut inside = false;
    let mut at = 0;
    while let Some(&byte) = field.get(at) {
        let next = field.get(at + 1).copied();
        at += 1;
        if inside && byte == escape && (next == Some(quote) || next == Some(escape)) {
            scratch.extend(next);
            at += 1;
        } else if byte == quote {
            inside = !inside;
        } else {
            scratch.push(byte);
        }
    }
    (scratch, true)
}
