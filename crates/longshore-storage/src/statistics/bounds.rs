//! Running bounds of a column while it is filled, and what they say in the end.
//!
//! Not here: the loops over values (`statistics/extremes.rs`).

use longshore_value::uuid::Uuid;

use super::extremes::{Extremes, extremes};
use super::{ColumnStatistics, Value};
use crate::types::{ColumnType, Physical};
use crate::values::Values;

/// Running bounds of a column. Empty when `min > max`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Bounds {
    /// Not gathered.
    Off,
    Integer {
        min: i64,
        max: i64,
    },
    Wide {
        min: i128,
        max: i128,
    },
    Float {
        min: f64,
        max: f64,
        nan: bool,
    },
    /// The first four bytes, the first most significant; missing ones are 0.
    Prefix {
        min: u32,
        max: u32,
    },
}

impl Bounds {
    pub(crate) fn new(physical: Physical) -> Bounds {
        match physical {
            Physical::U8 | Physical::I16 | Physical::I32 | Physical::I64 => {
                Bounds::Integer { min: i64::MAX, max: i64::MIN }
            }
            Physical::I128 => Bounds::Wide { min: i128::MAX, max: i128::MIN },
            Physical::F32 | Physical::F64 => Bounds::Float { min: f64::INFINITY, max: f64::NEG_INFINITY, nan: false },
            Physical::View => Bounds::Prefix { min: u32::MAX, max: u32::MIN },
        }
    }

    /// Takes in values. Validity: bits, and the bit of the first value; `None` when none is NULL.
    pub(crate) fn add(&mut self, values: Values<'_>, validity: Option<(&[u8], usize)>) {
        if matches!(self, Bounds::Off) {
            return;
        }
        let added = match values {
            Values::U8(values) => integer(extremes(values, validity)),
            Values::I16(values) => integer(extremes(values, validity)),
            Values::I32(values) => integer(extremes(values, validity)),
            Values::I64(values) => integer(extremes(values, validity)),
            Values::I128(values) => {
                let Extremes { min, max, .. } = extremes(values, validity);
                Bounds::Wide { min, max }
            }
            Values::F32(values) => {
                let Extremes { min, max, nan } = extremes(values, validity);
                Bounds::Float { min: min.into(), max: max.into(), nan }
            }
            Values::F64(values) => {
                let Extremes { min, max, nan } = extremes(values, validity);
                Bounds::Float { min, max, nan }
            }
            Values::Views(values) => {
                let Extremes { min, max, .. } = extremes(values, validity);
                Bounds::Prefix { min, max }
            }
        };
        self.merge(&added);
    }

    /// Takes in one value, by the bits that are stored of it.
    #[inline]
    pub(crate) fn widen(&mut self, physical: Physical, bits: u128) {
        match self {
            Bounds::Off => {}
            Bounds::Integer { .. } => self.widen_integer(match physical {
                Physical::U8 => i64::from(bits as u8),
                Physical::I16 => i64::from(bits as i16),
                Physical::I32 => i64::from(bits as i32),
                _ => bits as i64,
            }),
            Bounds::Wide { min, max } => (*min, *max) = ((*min).min(bits as i128), (*max).max(bits as i128)),
            Bounds::Float { min, max, nan } => {
                let value = match physical {
                    Physical::F32 => f32::from_bits(bits as u32).into(),
                    _ => f64::from_bits(bits as u64),
                };
                (*min, *max) = (min.min(value), max.max(value));
                *nan |= value.is_nan();
            }
            Bounds::Prefix { min, max } => {
                let prefix = ((bits >> 32) as u32).swap_bytes();
                (*min, *max) = ((*min).min(prefix), (*max).max(prefix));
            }
        }
    }

    /// Takes in one value, an integer or the bits of a decimal.
    #[inline]
    pub(crate) fn widen_integer(&mut self, value: i64) {
        if let Bounds::Integer { min, max } = self {
            (*min, *max) = ((*min).min(value), (*max).max(value));
        }
    }

    /// Bounds that hold where the statistics do.
    pub(crate) fn of_statistics(statistics: &ColumnStatistics, physical: Physical) -> Bounds {
        if statistics.null_count == statistics.row_count {
            return Bounds::new(physical);
        }
        let prefix = |bytes: &[u8]| bytes.iter().take(4).rev().fold(0, |high, &byte| high >> 8 | u32::from(byte) << 24);
        match (&statistics.min, &statistics.max) {
            (Some(Value::Boolean(min)), Some(Value::Boolean(max))) => {
                Bounds::Integer { min: (*min).into(), max: (*max).into() }
            }
            (Some(Value::Integer(min)), Some(Value::Integer(max))) => Bounds::Integer { min: *min, max: *max },
            (Some(Value::Decimal(min)), Some(Value::Decimal(max))) if physical == Physical::I64 => {
                Bounds::Integer { min: *min as i64, max: *max as i64 }
            }
            (Some(Value::Decimal(min)), Some(Value::Decimal(max))) => Bounds::Wide { min: *min, max: *max },
            (Some(Value::Uuid(min)), Some(Value::Uuid(max))) => Bounds::Wide { min: min.stored(), max: max.stored() },
            (Some(Value::Float(min)), Some(Value::Float(max))) => Bounds::Float { min: *min, max: *max, nan: false },
            (Some(Value::Text(min)), max) => {
                let max = max.as_ref().map_or(u32::MAX, |max| match max {
                    Value::Text(max) => prefix(max.as_bytes()),
                    _ => u32::MAX,
                });
                Bounds::Prefix { min: prefix(min.as_bytes()), max }
            }
            (Some(Value::Bytes(min)), max) => {
                let max = max.as_ref().map_or(u32::MAX, |max| match max {
                    Value::Bytes(max) => prefix(max),
                    _ => u32::MAX,
                });
                Bounds::Prefix { min: prefix(min), max }
            }
            _ => Bounds::Off,
        }
    }

    /// The least and the greatest of whole numbers, the greater first if there is none; `None` if they are not known.
    pub(crate) fn whole(&self) -> Option<(i128, i128)> {
        match *self {
            Bounds::Integer { min, max } => Some((min.into(), max.into())),
            Bounds::Wide { min, max } => Some((min, max)),
            Bounds::Off | Bounds::Float { .. } | Bounds::Prefix { .. } => None,
        }
    }

    /// Takes in bounds of the same type.
    pub(crate) fn merge(&mut self, other: &Bounds) {
        match (self, *other) {
            (Bounds::Integer { min, max }, Bounds::Integer { min: low, max: high }) => {
                (*min, *max) = ((*min).min(low), (*max).max(high));
            }
            (Bounds::Wide { min, max }, Bounds::Wide { min: low, max: high }) => {
                (*min, *max) = ((*min).min(low), (*max).max(high));
            }
            (Bounds::Float { min, max, nan }, Bounds::Float { min: low, max: high, nan: also }) => {
                (*min, *max) = ((*min).min(low), (*max).max(high));
                *nan |= also;
            }
            (Bounds::Prefix { min, max }, Bounds::Prefix { min: low, max: high }) => {
                (*min, *max) = ((*min).min(low), (*max).max(high));
            }
            (this, _) => *this = Bounds::Off,
        }
    }

    /// What the bounds say of a column with these counts.
    pub(crate) fn statistics(&self, column_type: ColumnType, row_count: u64, null_count: u64) -> ColumnStatistics {
        let unknown = ColumnStatistics { row_count, null_count, ..ColumnStatistics::default() };
        if null_count == row_count {
            return unknown;
        }
        let (min, max, exact) = match *self {
            Bounds::Off | Bounds::Float { nan: true, .. } => return unknown,
            Bounds::Integer { min, max } => {
                let value = |value: i64| match column_type {
                    ColumnType::Boolean => Value::Boolean(value != 0),
                    ColumnType::Decimal { .. } => Value::Decimal(value.into()),
                    _ => Value::Integer(value),
                };
                (Some(value(min)), Some(value(max)), true)
            }
            Bounds::Wide { min, max } => {
                let value = |value: i128| match column_type {
                    ColumnType::Uuid => Value::Uuid(Uuid::of_stored(value)),
                    _ => Value::Decimal(value),
                };
                (Some(value(min)), Some(value(max)), true)
            }
            Bounds::Float { min, max, .. } => {
                let exact = min != 0.0 && max != 0.0;
                let min = if min == 0.0 { -0.0 } else { min };
                let max = if max == 0.0 { 0.0 } else { max };
                (Some(Value::Float(min)), Some(Value::Float(max)), exact)
            }
            Bounds::Prefix { min, max } if column_type.is_bytes() => {
                (Some(Value::Bytes(start(min))), bytes_above(start(max)).map(Value::Bytes), false)
            }
            Bounds::Prefix { min, max } => {
                (Some(Value::Text(text_start(min))), text_above(text_start(max)).map(Value::Text), false)
            }
        };
        ColumnStatistics { row_count, null_count, min, max, exact }
    }
}

/// A prefix without the zeros that stand for missing bytes: no string with this prefix is less.
fn start(prefix: u32) -> Vec<u8> {
    let mut bytes = prefix.to_be_bytes().to_vec();
    while bytes.last() == Some(&0) {
        bytes.pop();
    }
    bytes
}

/// The same, up to the last whole character.
fn text_start(prefix: u32) -> String {
    let bytes = start(prefix);
    match std::str::from_utf8(&bytes) {
        Ok(text) => text.to_owned(),
        Err(error) => String::from_utf8_lossy(&bytes[..error.valid_up_to()]).into_owned(),
    }
}

/// A short string greater than all that start with these bytes, if there is one.
fn bytes_above(mut start: Vec<u8>) -> Option<Vec<u8>> {
    loop {
        match start.last_mut()? {
            0xFF => drop(start.pop()),
            last => {
                *last += 1;
                return Some(start);
            }
        }
    }
}

/// A short text greater than all that start with this one, if there is one.
fn text_above(mut start: String) -> Option<String> {
    loop {
        let last = start.pop()?;
        // Ranges of characters skip the surrogates.
        if let Some(next) = (last..=char::MAX).nth(1) {
            start.push(next);
            return Some(start);
        }
    }
}

fn integer<T: PartialOrd + Into<i64>>(extremes: Extremes<T>) -> Bounds {
    if extremes.min > extremes.max {
        // The narrow type's own extremes would be bounds that no value has.
        return Bounds::new(Physical::I64);
    }
    Bounds::Integer { min: extremes.min.into(), max: extremes.max.into() }
}

#[cfg(test)]
mod tests;
