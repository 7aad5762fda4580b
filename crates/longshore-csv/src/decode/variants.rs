//! Decides which compiled loop reads a column: by type, quoting, NULL text and instructions.

use super::boolean::Boolean;
use super::bytea::Bytea;
use super::column::{self, Conversion, NullHead, Settings};
use super::date::Date;
use super::decimal::{Decimal64, Decimal128};
use super::float::{Float32, Float64};
use super::integer::{Int16, Int32, Int64};
use super::tier::{Loops, Portable};
use super::time::{Time, Timestamp, TimestampTz};
use super::uuid::Uuid;
use super::{Column, FieldRule, ValueType, exact, text, unusual};
use crate::{Dialect, Kernel};

#[cfg(target_arch = "x86_64")]
use super::tier::{Avx2, Avx512};

impl Settings {
    pub(super) fn new(rule: FieldRule, dialect: &Dialect) -> Settings {
        // The empty text is the most frequent one.
        let first = rule.null_texts.iter().find(|text| text.is_empty()).or(rule.null_texts.first()).cloned();
        let may_be_null = first.is_some() && !rule.force_not_null;
        let null_first = first.as_ref().is_some_and(|text| is_value(text, rule.value_type));
        let null_text = first.as_deref().unwrap_or_default();
        let null_is_plain =
            may_be_null && rule.nullable && dialect.quote().is_none_or(|quote| !null_text.contains(&quote));
        let null_heads = rule.null_texts.iter().map(|text| NullHead::new(text)).collect();
        let null_text = null_text.into();
        Settings { rule, dialect: *dialect, null_text, may_be_null, null_is_plain, null_first, null_heads }
    }
}

/// Whether a field of that text is a value of the type, were it not NULL.
pub(super) fn is_value(text: &[u8], value_type: ValueType) -> bool {
    match value_type {
        ValueType::Boolean => exact::boolean(text).is_ok(),
        ValueType::Int16 | ValueType::Int32 | ValueType::Int64 => exact::int64(text).is_ok(),
        ValueType::Float32 | ValueType::Float64 => exact::float64(text).is_ok(),
        ValueType::Decimal64 { precision, scale } | ValueType::Decimal128 { precision, scale } => {
            exact::decimal128(text, precision, scale).is_ok()
        }
        ValueType::Date => exact::date(text).is_ok(),
        ValueType::Time => exact::time(text).is_ok(),
        ValueType::Timestamp => exact::timestamp(text).is_ok(),
        ValueType::TimestampTz => exact::timestamptz(text).is_ok(),
        ValueType::Uuid => exact::uuid(text).is_ok(),
        ValueType::Bytea => exact::bytea(text, &mut Vec::new()).is_ok(),
        ValueType::Text | ValueType::Varchar(_) | ValueType::Char(_) => true,
    }
}

/// The functions for text without and with quotes.
pub(super) fn choose(rule: &FieldRule, dialect: &Dialect, kernel: Kernel) -> (Column, Column) {
    match kernel {
        #[cfg(target_arch = "x86_64")]
        Kernel::Avx512 => of_type::<Avx512>(rule, dialect),
        #[cfg(target_arch = "x86_64")]
        Kernel::Avx2 => of_type::<Avx2>(rule, dialect),
        _ => of_type::<Portable>(rule, dialect),
    }
}

fn of_type<T: Loops>(rule: &FieldRule, dialect: &Dialect) -> (Column, Column) {
    if let Some(column) = unusual::choose(rule) {
        return (column, column);
    }
    match rule.value_type {
        ValueType::Boolean => of_conversion::<T, Boolean>(rule, dialect),
        ValueType::Int16 => of_conversion::<T, Int16<T>>(rule, dialect),
        ValueType::Int32 => of_conversion::<T, Int32<T>>(rule, dialect),
        ValueType::Int64 => of_conversion::<T, Int64<T>>(rule, dialect),
        ValueType::Float32 => of_conversion::<T, Float32<T>>(rule, dialect),
        ValueType::Float64 => of_conversion::<T, Float64<T>>(rule, dialect),
        ValueType::Decimal64 { .. } => of_conversion::<T, Decimal64<T>>(rule, dialect),
        ValueType::Decimal128 { .. } => of_conversion::<T, Decimal128<T>>(rule, dialect),
        ValueType::Date => of_conversion::<T, Date>(rule, dialect),
        ValueType::Time => of_conversion::<T, Time>(rule, dialect),
        ValueType::Timestamp => of_conversion::<T, Timestamp>(rule, dialect),
        ValueType::TimestampTz => of_conversion::<T, TimestampTz>(rule, dialect),
        ValueType::Uuid => of_conversion::<T, Uuid>(rule, dialect),
        ValueType::Bytea => of_conversion::<T, Bytea>(rule, dialect),
        ValueType::Text | ValueType::Varchar(_) | ValueType::Char(_) => text::choose::<T>(rule),
    }
}

fn of_conversion<T: Loops, C: Conversion>(rule: &FieldRule, dialect: &Dialect) -> (Column, Column) {
    let general = T::column::<C, true>();
    let null_is_value = rule.null_texts.iter().any(|text| is_value(text, rule.value_type));
    let plain = if null_is_value { general } else { T::column::<C, false>() };
    // Behind a backslash, as escape, only a quote or a further backslash is special: neither is part of a value.
    let escape = dialect.escape().filter(|escape| *escape != b'\\');
    let quoted = if dialect.quote().into_iter().chain(escape).any(may_stand_in_value) {
        column::decode_slowly::<C> as Column
    } else {
        general
    };
    (plain, quoted)
}

/// Whether the byte may stand in a value other than a string, so that a field has to be unquoted before
/// its bytes mean anything.
fn may_stand_in_value(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+-.: {}\\\t\x0B\x0C".contains(&byte)
}
