//! What a key looks like in messages: its values, read back from its bytes.

use std::fmt::Write;

use longshore_value::numeric::Numeric;
use longshore_value::times;
use longshore_value::uuid::Uuid;

use super::{ABSENT, END, ESCAPE, ESCAPED_END, KeyLayout, Part, big_endian};
use crate::datum::Datum;
use crate::index::Uniqueness;
use crate::show::{Date, Decimal, Time, Timestamp};
use crate::types::{ColumnType, Physical, Schema};

/// Characters of a text that are shown.
const SHOWN_CHARACTERS_MAX: usize = 40;

const MICROS_PER_DAY: i128 = 86_400_000_000;

/// The values of a row of a schema, as a key of all columns is shown.
pub(crate) fn described_row<'v>(schema: &Schema, value: impl FnMut(usize) -> Datum<'v>) -> String {
    let all: Vec<usize> = (0..schema.columns().len()).collect();
    let layout = KeyLayout::new(schema, &all, Uniqueness::Multiple);
    layout.encode_row(value).map_or_else(|error| error.to_string(), |key| layout.describe(&key.to_bytes()))
}

impl KeyLayout {
    /// The values of a key of this layout, for instance `(1, 'two', NULL)`.
    pub(in crate::index) fn describe(&self, bytes: &[u8]) -> String {
        let mut rest = bytes;
        let mut text = String::from("(");
        for (at, part) in self.parts.iter().filter(|part| !part.is_filter).enumerate() {
            if rest.is_empty() {
                break;
            }
            if at > 0 {
                text.push_str(", ");
            }
            part.describe(&mut rest, &mut text);
        }
        text.push(')');
        text
    }
}

impl Part {
    fn describe(&self, rest: &mut &[u8], text: &mut String) {
        if self.nullable && take(rest, 1) == [ABSENT] {
            text.push_str("NULL");
            take(rest, self.fixed_bytes().map_or(0, |bytes| bytes - 1));
            return;
        }
        // Writing to a string cannot fail.
        let _ = match self.physical {
            Physical::View => {
                let bytes = take_text(rest);
                if matches!(self.column_type, ColumnType::Numeric(_)) {
                    text.push('\'');
                    Numeric::of_key(&bytes).map_or(Ok(()), |value| write!(text, "{value}"))
                } else if self.column_type.time_type().is_some() {
                    text.push('\'');
                    describe_time(&bytes, text)
                } else if self.column_type.is_bytes() {
                    text.push_str("'\\x");
                    bytes.iter().take(SHOWN_CHARACTERS_MAX / 2).try_for_each(|byte| write!(text, "{byte:02x}"))
                } else {
                    text.push('\'');
                    let shown = String::from_utf8_lossy(&bytes);
                    text.extend(shown.chars().take(SHOWN_CHARACTERS_MAX));
                    Ok(())
                }
                .and_then(|()| write!(text, "{}'", if bytes.len() > SHOWN_CHARACTERS_MAX { "..." } else { "" }))
            }
            Physical::U8 => write!(text, "{}", take(rest, 1) == [1]),
            Physical::F32 => {
                let bits = big_endian(take(rest, 4)) as u32;
                write!(text, "{}", f32::from_bits(if bits >> 31 == 1 { bits ^ 1 << 31 } else { !bits }))
            }
            Physical::F64 => {
                let bits = big_endian(take(rest, 8));
                write!(text, "{}", f64::from_bits(if bits >> 63 == 1 { bits ^ 1 << 63 } else { !bits }))
            }
            Physical::I16 | Physical::I32 | Physical::I64 | Physical::I128 => {
                let width = self.physical.width();
                let bytes = take(rest, width).iter();
                let ordered = bytes.fold(0_u128, |value, &byte| value << 8 | u128::from(byte));
                let value = ordered.wrapping_sub(1 << (8 * width - 1)) as i128;
                self.describe_integer(value, text)
            }
        };
    }

    fn describe_integer(&self, value: i128, text: &mut String) -> std::fmt::Result {
        match self.column_type.unrounded() {
            ColumnType::Decimal { scale, .. } => write!(text, "{}", Decimal(value, scale)),
            ColumnType::Uuid => write!(text, "'{}'", Uuid::of_stored(value)),
            ColumnType::Date => write!(text, "'{}'", Date(value as i64)),
            ColumnType::Time => write!(text, "'{}'", Time(value as i64)),
            ColumnType::Timestamp => write!(text, "'{}'", Timestamp(value as i64)),
            ColumnType::TimestampTz => write!(text, "'{}+00'", Timestamp(value as i64)),
            _ => write!(text, "{value}"),
        }
    }
}

/// The text of a time of a zone, or of the length of an interval, as days and a time.
fn describe_time(bytes: &[u8], text: &mut String) -> std::fmt::Result {
    if let Some((micros, west)) = times::timetz_of_key(bytes) {
        let (sign, west) = (if west > 0 { '-' } else { '+' }, west.unsigned_abs());
        write!(text, "{}{sign}{:02}", Time(micros), west / 3600)?;
        return if west.is_multiple_of(3600) { Ok(()) } else { write!(text, ":{:02}", west / 60 % 60) };
    }
    let Some(micros) = times::total_of_interval_key(bytes) else { return Ok(()) };
    let (days, micros) = (micros / MICROS_PER_DAY, micros % MICROS_PER_DAY);
    let sign = if micros < 0 { "-" } else { "" };
    let time = Time(micros.unsigned_abs() as i64);
    match (days, micros) {
        (0, _) => write!(text, "{sign}{time}"),
        (_, 0) => write!(text, "{days} days"),
        _ => write!(text, "{days} days {sign}{time}"),
    }
}

/// Takes the first bytes, or as many as there are.
fn take<'b>(rest: &mut &'b [u8], count: usize) -> &'b [u8] {
    let (taken, left) = rest.split_at(count.min(rest.len()));
    *rest = left;
    taken
}

/// Takes a text up to its end, without escapes.
fn take_text(rest: &mut &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    while let Some((&byte, left)) = rest.split_first() {
        *rest = left;
        match byte {
            END => break,
            ESCAPE => text.push(if take(rest, 1) == [ESCAPED_END] { END } else { ESCAPE }),
            other => text.push(other),
        }
    }
    text
}
