//! Decides how the values of key columns become one string of bytes that sorts as they do.
//!
//! | type | bytes |
//! |---|---|
//! | BOOLEAN, integers, dates, times, decimals | big-endian, sign bit flipped |
//! | UUID | its bytes |
//! | floats | bits flipped so that they sort; -0 is 0, every NaN the same one and the greatest |
//! | texts, BYTEA | 0 becomes 1 1, 1 becomes 1 2, behind the last a 0 |
//! | a nullable column | before its bytes a 0; NULL is a 1 and as many zeros as other values of fixed size have bytes |
//!
//! NULL is last, as in PostgreSQL. No key is a prefix of another one of the same index, so that a radix tree needs no
//! terminator; the values of the first columns are a prefix of the key, so that a range may be of fewer columns.
//! Keys of up to 16 bytes lie in a register, and most keys do; only longer ones are allocated.
//!
//! Not here: access to bytes (`key/bytes.rs`), keys of many rows at a time (`key/bulk.rs`), what a key looks like in messages (`key/describe.rs`).

use std::cmp::Ordering;
use std::fmt;

use longshore_value::text::trim_char;
use longshore_value::uuid::Uuid;
use longshore_value::{numeric, times};

use super::Uniqueness;
use crate::datum::Datum;
use crate::types::{ColumnType, Physical, Schema};

pub(super) mod bulk;
mod bytes;
mod describe;

use bytes::big_endian;
pub(super) use bytes::{AnyBytes, KeyBytes, LongBytes, SHORT_BYTES, ShortBytes, WholeKey};
pub(crate) use describe::described_row;

/// Stands before the bytes of a value of a nullable column.
const PRESENT: u8 = 0;

/// The same for NULL.
const ABSENT: u8 = 1;

/// Ends a text.
const END: u8 = 0;

/// Comes before [`ESCAPED_END`] for a 0 and before [`ESCAPED_ESCAPE`] for a 1 within a text.
const ESCAPE: u8 = 1;
const ESCAPED_END: u8 = 1;
const ESCAPED_ESCAPE: u8 = 2;

/// The values of an index's columns, or of the first few of them, as bytes that sort as they do.
#[derive(Clone, Debug)]
pub struct Key {
    /// The first 16 bytes, the first of them in the highest bits; zeros behind the last.
    short: u128,
    length: u32,
    has_null: bool,
    /// Whether NULL makes it differ from every key.
    is_apart: bool,
    /// All bytes if they are more.
    long: Vec<u8>,
}

impl Key {
    const EMPTY: Key = Key { short: 0, length: 0, has_null: false, is_apart: false, long: Vec::new() };

    /// Whether one of its values is NULL.
    #[must_use]
    pub fn has_null(&self) -> bool {
        self.has_null
    }

    /// Whether one of its values is NULL, so that it equals no key, not even itself.
    #[must_use]
    pub fn is_apart(&self) -> bool {
        self.is_apart
    }

    /// Its bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.bytes().to_vec()
    }

    /// Its bytes in the form that is fast to compare.
    #[inline]
    pub(super) fn bytes(&self) -> AnyBytes<'_> {
        if self.length as usize <= SHORT_BYTES {
            AnyBytes::Short(ShortBytes { bits: self.short, length: self.length })
        } else {
            AnyBytes::Long(LongBytes(&self.long))
        }
    }

    /// Appends the lowest `count` bytes of a word, the highest of them first.
    #[inline]
    fn push(&mut self, word: u64, count: usize) {
        let length = self.length as usize + count;
        if length <= SHORT_BYTES {
            self.short |= u128::from(word) << (8 * (SHORT_BYTES - length));
        } else {
            self.spill();
            self.long.extend_from_slice(&word.to_be_bytes()[8 - count..]);
        }
        self.length = length as u32;
    }

    /// Appends 16 bytes.
    fn push_wide(&mut self, wide: u128) {
        self.push((wide >> 64) as u64, 8);
        self.push(wide as u64, 8);
    }

    /// Moves to the long form, before it grows beyond the short one.
    #[cold]
    fn spill(&mut self) {
        if self.long.is_empty() {
            self.long.extend_from_slice(&self.short.to_be_bytes()[..self.length as usize]);
        }
    }

    /// Appends a text with its escapes and its end.
    fn push_text(&mut self, text: &[u8]) {
        if text.iter().all(|&byte| byte > ESCAPE) {
            let mut eights = text.chunks_exact(8);
            for eight in eights.by_ref() {
                self.push(big_endian(eight), 8);
            }
            for &byte in eights.remainder() {
                self.push(byte.into(), 1);
            }
        } else {
            for &byte in text {
                match byte {
                    END => self.push(u64::from(ESCAPE) << 8 | u64::from(ESCAPED_END), 2),
                    ESCAPE => self.push(u64::from(ESCAPE) << 8 | u64::from(ESCAPED_ESCAPE), 2),
                    other => self.push(other.into(), 1),
                }
            }
        }
        self.push(END.into(), 1);
    }
}

/// The order of keys of the same index; that of their bytes.
impl Ord for Key {
    fn cmp(&self, other: &Key) -> Ordering {
        self.to_bytes().cmp(&other.to_bytes())
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Key) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Equality of bytes; whether NULLs are equal is for the index to say.
impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        match (self.bytes(), other.bytes()) {
            (AnyBytes::Short(a), AnyBytes::Short(b)) => a == b,
            (AnyBytes::Long(a), AnyBytes::Long(b)) => a.0 == b.0,
            _ => false,
        }
    }
}

impl Eq for Key {}

/// How the keys of an index are made.
#[derive(Clone, Debug)]
pub(super) struct KeyLayout {
    parts: Vec<Part>,
    /// How many of them, from the first on, are integers of 32 bits that are never NULL.
    integers: usize,
}

/// A column of a key.
#[derive(Clone, Debug)]
struct Part {
    column: usize,
    name: String,
    column_type: ColumnType,
    physical: Physical,
    nullable: bool,
    /// Whether a key with NULL in it equals no other.
    nulls_differ: bool,
    /// Whether it only says which rows have a key.
    is_filter: bool,
}

/// Why values are no key of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyError {
    /// More values than the index has columns, or fewer where all are needed.
    Count {
        /// Columns of the index.
        expected: usize,
        /// Values given.
        found: usize,
    },
    /// A value of a type that is not the column's, or beyond its range.
    Type {
        /// The column.
        column: String,
        /// Its type.
        column_type: ColumnType,
        /// The value.
        found: String,
    },
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyError::Count { expected, found } => {
                write!(f, "a key of {found} values where the index has {expected} columns; give one per column")
            }
            KeyError::Type { column, column_type, found } => {
                write!(f, "column {column} {column_type}: {found} is no value of it; convert it to the column's type")
            }
        }
    }
}

impl std::error::Error for KeyError {}

impl KeyLayout {
    /// Keys of these columns.
    ///
    /// # Panics
    ///
    /// When the schema does not have them.
    pub(super) fn new(schema: &Schema, columns: &[usize], uniqueness: Uniqueness) -> KeyLayout {
        let parts = columns.iter().map(|&column| {
            let described = &schema.all_columns()[column];
            Part {
                column,
                name: described.name.clone(),
                column_type: described.column_type,
                physical: described.column_type.physical(),
                nullable: described.nullable,
                nulls_differ: uniqueness != Uniqueness::UniqueNulls || described.is_filter(),
                is_filter: described.is_filter(),
            }
        });
        KeyLayout::of(parts.collect())
    }

    fn of(parts: Vec<Part>) -> KeyLayout {
        let is_integer = |part: &&Part| part.physical == Physical::I32 && !part.nullable;
        KeyLayout { integers: parts.iter().take_while(is_integer).count(), parts }
    }

    /// The same keys, made of columns of another relation that have the same types.
    pub(super) fn over(&self, columns: &[usize]) -> KeyLayout {
        let each = self.parts.iter().zip(columns);
        KeyLayout::of(each.map(|(part, &column)| Part { column, ..part.clone() }).collect())
    }

    /// The columns, in their order.
    pub(super) fn columns(&self) -> impl Iterator<Item = usize> + Clone {
        self.parts.iter().map(|part| part.column)
    }

    /// Whether the same values have the same keys there.
    pub(super) fn is_like(&self, other: &KeyLayout) -> bool {
        let shapes = |layout: &KeyLayout| -> Vec<(ColumnType, bool)> {
            layout.parts.iter().map(|part| (part.column_type, part.nullable)).collect()
        };
        shapes(self) == shapes(other)
    }

    /// The bytes that every key has; `None` if some have more than others.
    pub(super) fn fixed_bytes(&self) -> Option<usize> {
        self.parts.iter().map(Part::fixed_bytes).sum()
    }

    /// The key of some values, or of the first columns if they are fewer and may be.
    #[inline]
    pub(super) fn encode(&self, values: &[Datum<'_>], may_be_fewer: bool) -> Result<Key, KeyError> {
        let (expected, found) = (self.parts.len(), values.len());
        if found > expected || (found < expected && !may_be_fewer) {
            return Err(KeyError::Count { expected, found });
        }
        let (mut key, done) = self.encode_integers(found, |at| values[at]);
        for (part, &value) in self.parts.iter().zip(values).skip(done) {
            part.encode(&mut key, value)?;
        }
        Ok(key)
    }

    /// The key of the values before the first one, of so many, that is no INTEGER, and how many they are: no more than
    /// fit into a short key. Most keys begin with them, and many have nothing else.
    #[inline]
    fn encode_integers<'v>(&self, count: usize, mut value: impl FnMut(usize) -> Datum<'v>) -> (Key, usize) {
        const BYTES: usize = size_of::<i32>();
        let (mut bits, mut done) = (0_u128, 0);
        while done < count.min(self.integers).min(SHORT_BYTES / BYTES)
            && let Datum::I32(value) = value(done)
        {
            bits = bits << (8 * BYTES) | u128::from(order_i32(value));
            done += 1;
        }
        let length = done * BYTES;
        let short = bits.unbounded_shl((8 * (SHORT_BYTES - length)) as u32);
        (Key { short, length: length as u32, ..Key::EMPTY }, done)
    }

    /// The key of a row, whose values are asked for by the numbers of columns.
    pub(super) fn encode_row<'v>(&self, mut value: impl FnMut(usize) -> Datum<'v>) -> Result<Key, KeyError> {
        let (mut key, done) = self.encode_integers(self.parts.len(), |at| value(self.parts[at].column));
        for part in &self.parts[done..] {
            part.encode(&mut key, value(part.column))?;
        }
        Ok(key)
    }
}

impl Part {
    fn fixed_bytes(&self) -> Option<usize> {
        (self.physical != Physical::View).then(|| self.physical.width() + usize::from(self.nullable))
    }

    fn encode(&self, key: &mut Key, value: Datum<'_>) -> Result<(), KeyError> {
        if matches!(value, Datum::Null) {
            return self.encode_null(key);
        }
        if self.nullable {
            key.push(PRESENT.into(), 1);
        }
        match (self.physical, value) {
            (Physical::I32, Datum::I32(value)) => key.push(order_i32(value).into(), 4),
            (Physical::I64, Datum::I64(value)) => key.push(order_i64(value), 8),
            (Physical::I16, Datum::I16(value)) => key.push(order_i16(value).into(), 2),
            (Physical::U8, Datum::Bool(value)) => key.push(value.into(), 1),
            (Physical::F32, Datum::F32(value)) => key.push(order_f32(value).into(), 4),
            (Physical::F64, Datum::F64(value)) => key.push(order_f64(value), 8),
            (Physical::F64, Datum::F32(value)) => key.push(order_f64(value.into()), 8),
            (Physical::View, Datum::Text(value)) if !self.column_type.is_bytes() => {
                // As the column stores it.
                let is_char = matches!(self.column_type, ColumnType::Char(_));
                key.push_text(if is_char { trim_char(value) } else { value }.as_bytes());
            }
            (Physical::View, Datum::Bytes(value)) if self.column_type.is_bytes() => {
                key.push_text(self.compared(value));
            }
            (Physical::I128, Datum::Uuid(value)) if self.column_type == ColumnType::Uuid => {
                key.push_wide(order_i128(value.stored()));
            }
            (Physical::I128, Datum::Text(value)) if self.column_type == ColumnType::Uuid => {
                let uuid = Uuid::parse(value.as_bytes()).map_err(|_| self.wrong(Datum::Text(value)))?;
                key.push_wide(order_i128(uuid.stored()));
            }
            (_, value) => self.encode_converted(key, value)?,
        }
        Ok(())
    }

    /// The bytes of a stored value that compare as the value does: 1.0 and 1.00 are equal, `1 mon` and `30 days` are.
    fn compared<'b>(&self, bytes: &'b [u8]) -> &'b [u8] {
        match self.column_type.unrounded() {
            ColumnType::Numeric(_) => numeric::key(bytes),
            ColumnType::Interval => bytes.get(..times::INTERVAL_TOTAL_BYTES).unwrap_or(bytes),
            _ => bytes,
        }
    }

    /// NULL equals and precedes nothing; as the last of all values it is out of the way of ranges.
    #[cold]
    fn encode_null(&self, key: &mut Key) -> Result<(), KeyError> {
        if !self.nullable {
            return Err(self.wrong(Datum::Null));
        }
        key.has_null = true;
        key.is_apart |= self.nulls_differ;
        key.push(ABSENT.into(), 1);
        let zeros = self.fixed_bytes().map_or(0, |bytes| bytes - 1);
        for count in [zeros.min(8), zeros.saturating_sub(8)] {
            key.push(0, count);
        }
        Ok(())
    }

    /// An integer of another width than the column's.
    #[cold]
    fn encode_converted(&self, key: &mut Key, value: Datum<'_>) -> Result<(), KeyError> {
        let wide = match value {
            Datum::I16(value) => i128::from(value),
            Datum::I32(value) => value.into(),
            Datum::I64(value) => value.into(),
            Datum::I128(value) => value,
            _ => return Err(self.wrong(value)),
        };
        let wrong = |_| self.wrong(value);
        match self.physical {
            Physical::I16 => key.push(order_i16(wide.try_into().map_err(wrong)?).into(), 2),
            Physical::I32 => key.push(order_i32(wide.try_into().map_err(wrong)?).into(), 4),
            Physical::I64 => key.push(order_i64(wide.try_into().map_err(wrong)?), 8),
            Physical::I128 if self.column_type == ColumnType::Uuid => return Err(self.wrong(value)),
            Physical::I128 => key.push_wide(order_i128(wide)),
            Physical::U8 | Physical::F32 | Physical::F64 | Physical::View => return Err(self.wrong(value)),
        }
        Ok(())
    }

    fn wrong(&self, value: Datum<'_>) -> KeyError {
        KeyError::Type { column: self.name.clone(), column_type: self.column_type, found: format!("{value:?}") }
    }
}

fn order_i16(value: i16) -> u16 {
    value as u16 ^ 1 << 15
}

fn order_i32(value: i32) -> u32 {
    value as u32 ^ 1 << 31
}

fn order_i64(value: i64) -> u64 {
    value as u64 ^ 1 << 63
}

fn order_i128(value: i128) -> u128 {
    value as u128 ^ 1 << 127
}

fn order_f32(value: f32) -> u32 {
    let bits = if value.is_nan() { f32::NAN } else { value + 0.0 }.to_bits();
    // Negative ones sort by their magnitude, the greater the lower.
    if bits >> 31 == 1 { !bits } else { bits ^ 1 << 31 }
}

fn order_f64(value: f64) -> u64 {
    let bits = if value.is_nan() { f64::NAN } else { value + 0.0 }.to_bits();
    if bits >> 63 == 1 { !bits } else { bits ^ 1 << 63 }
}

#[cfg(test)]
mod tests;
