//! Decides which compiled loop reads a column: by type, quoting, NULL text and instructions.

use super::boolean::Boolean;
use super::bytea::Bytea;
use super::column;
use super::conversion::Conversion;
use super::date::Date;
use super::decimal::{Decimal64, Decimal128};
use super::float::{Float32, Float64};
use super::integer::{Int16, Int32, Int64};
use super::loops::Loops;
use super::numeric::Numeric;
use super::simd_level::Portable;
use super::text::{Char, Text, TextKind, Varchar};
use super::time::{Time, Timestamp, TimestampTz};
use super::uuid::ToUuid;
use super::{Column, FieldRule, ValueType, exact, unusual};
use crate::{Dialect, Kernel};

#[cfg(target_arch = "x86_64")]
use super::simd_level::{Avx2, Avx512};

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
        ValueType::Uuid => of_conversion::<T, ToUuid>(rule, dialect),
        ValueType::Bytea => of_conversion::<T, Bytea>(rule, dialect),
        ValueType::Numeric(_) => of_conversion::<T, Numeric>(rule, dialect),
        ValueType::Text | ValueType::Varchar(_) | ValueType::Char(_) => of_text::<T>(rule),
    }
}

fn of_conversion<T: Loops, C: Conversion>(rule: &FieldRule, dialect: &Dialect) -> (Column, Column) {
    let general = T::column::<C, true>();
    let null_is_value = rule.null_texts.iter().any(|text| exact::is_value(text, rule.value_type));
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

fn of_text<T: Loops>(rule: &FieldRule) -> (Column, Column) {
    match rule.value_type {
        ValueType::Varchar(_) => of_text_kind::<T, Varchar>(rule),
        ValueType::Char(_) => of_text_kind::<T, Char>(rule),
        _ => of_text_kind::<T, Text>(rule),
    }
}

fn of_text_kind<T: Loops, K: TextKind>(rule: &FieldRule) -> (Column, Column) {
    if rule.trim || rule.null_texts.len() > 1 {
        (T::text_column::<K, false, true>(), T::text_column::<K, true, true>())
    } else {
        (T::text_column::<K, false, false>(), T::text_column::<K, true, false>())
    }
}

/// Whether the byte may stand in a value other than a string, so that a field has to be unquoted before
/// its bytes mean anything.
fn may_stand_in_value(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+-.: {}\\\t\x0B\x0C".contains(&byte)
}
