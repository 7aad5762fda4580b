//! Columns that binary values are read into, as they are received.

use std::sync::Arc;

use arrow_array::builder::{
    BinaryViewBuilder, BooleanBuilder, Date32Builder, Decimal128Builder, Float32Builder, Float64Builder, Int16Builder,
    Int32Builder, Int64Builder, StringViewBuilder, Time64MicrosecondBuilder, TimestampMicrosecondBuilder,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use longshore_storage::{ColumnType, Uuid};

use super::decode::{self, Digits, Malformed, binary_text};
use super::{INFINITY, NAN, NEGATIVE, NEGATIVE_INFINITY};
use crate::TypeId;

/// Decimal digits of a digit of NUMERIC's format.
const DIGITS: i32 = 4;

/// Why a value cannot be taken.
pub(super) enum Refused {
    Malformed(Malformed),
    /// A number that the column has no room for.
    Overflow,
}

impl From<Malformed> for Refused {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

/// Values of one column.
pub(super) struct Column {
    /// What texts are made of.
    oid: u32,
    values: Values,
}

enum Values {
    Boolean(BooleanBuilder),
    I16(Int16Builder),
    I32(Int32Builder),
    I64(Int64Builder),
    F32(Float32Builder),
    F64(Float64Builder),
    /// With the digits before and behind the point.
    Decimal(Decimal128Builder, u8, u8),
    Date(Date32Builder),
    Time(Time64MicrosecondBuilder),
    Timestamp(TimestampMicrosecondBuilder),
    Bytes(BinaryViewBuilder),
    Text(StringViewBuilder),
    Uuid(StringViewBuilder),
    /// Texts that are cast to the type.
    Cast(StringViewBuilder),
}

/// Whether values of a type come as texts, which are cast to it.
pub(super) fn is_cast(column_type: ColumnType) -> bool {
    column_type.is_inserted() || matches!(column_type, ColumnType::Numeric(_) | ColumnType::Rounded(..))
}

impl Column {
    /// One whose values are of the type of a column of a table.
    pub(super) fn new(column_type: ColumnType) -> Self {
        let values = match column_type {
            cast if is_cast(cast) => Values::Cast(StringViewBuilder::new()),
            ColumnType::Boolean => Values::Boolean(BooleanBuilder::new()),
            ColumnType::SmallInt => Values::I16(Int16Builder::new()),
            ColumnType::Integer => Values::I32(Int32Builder::new()),
            ColumnType::BigInt => Values::I64(Int64Builder::new()),
            ColumnType::Real => Values::F32(Float32Builder::new()),
            ColumnType::Double => Values::F64(Float64Builder::new()),
            ColumnType::Decimal { precision, scale } => {
                let builder = Decimal128Builder::new().with_data_type(column_type.arrow());
                Values::Decimal(builder, precision, scale)
            }
            ColumnType::Date => Values::Date(Date32Builder::new()),
            ColumnType::Time => Values::Time(Time64MicrosecondBuilder::new()),
            ColumnType::Timestamp | ColumnType::TimestampTz => {
                Values::Timestamp(TimestampMicrosecondBuilder::new().with_data_type(column_type.arrow()))
            }
            ColumnType::Bytea => Values::Bytes(BinaryViewBuilder::new()),
            ColumnType::Uuid => Values::Uuid(StringViewBuilder::new()),
            _ => Values::Text(StringViewBuilder::new()),
        };
        Self { oid: TypeId::of_column(column_type).oid, values }
    }

    /// The type of its arrays.
    pub(super) fn data_type(&mut self) -> DataType {
        self.finish().data_type().clone()
    }

    pub(super) fn append_null(&mut self) {
        match &mut self.values {
            Values::Boolean(builder) => builder.append_null(),
            Values::I16(builder) => builder.append_null(),
            Values::I32(builder) => builder.append_null(),
            Values::I64(builder) => builder.append_null(),
            Values::F32(builder) => builder.append_null(),
            Values::F64(builder) => builder.append_null(),
            Values::Decimal(builder, ..) => builder.append_null(),
            Values::Date(builder) => builder.append_null(),
            Values::Time(builder) => builder.append_null(),
            Values::Timestamp(builder) => builder.append_null(),
            Values::Bytes(builder) => builder.append_null(),
            Values::Text(builder) | Values::Uuid(builder) | Values::Cast(builder) => builder.append_null(),
        }
    }

    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), Refused> {
        match &mut self.values {
            Values::Boolean(builder) => builder.append_value(sized::<1>(bytes)? != [0]),
            Values::I16(builder) => builder.append_value(i16::from_be_bytes(sized(bytes)?)),
            Values::I32(builder) => builder.append_value(i32::from_be_bytes(sized(bytes)?)),
            Values::I64(builder) => builder.append_value(i64::from_be_bytes(sized(bytes)?)),
            Values::F32(builder) => builder.append_value(f32::from_be_bytes(sized(bytes)?)),
            Values::F64(builder) => builder.append_value(f64::from_be_bytes(sized(bytes)?)),
            Values::Decimal(builder, precision, scale) => {
                builder.append_value(units(bytes, *precision, *scale)?);
            }
            Values::Date(builder) => builder.append_value(decode::date(i32::from_be_bytes(sized(bytes)?))?),
            Values::Time(builder) => builder.append_value(decode::time(i64::from_be_bytes(sized(bytes)?))?),
            Values::Timestamp(builder) => {
                builder.append_value(decode::timestamp(i64::from_be_bytes(sized(bytes)?))?);
            }
            Values::Bytes(builder) => builder.append_value(bytes),
            Values::Text(builder) => builder.append_value(decode::text(bytes)?),
            Values::Uuid(builder) => builder.append_value(Uuid(sized(bytes)?).to_string()),
            Values::Cast(builder) => builder.append_value(decode::text(&binary_text(bytes, self.oid)?)?),
        }
        Ok(())
    }

    /// What was appended since the last time.
    pub(super) fn finish(&mut self) -> ArrayRef {
        match &mut self.values {
            Values::Boolean(builder) => Arc::new(builder.finish()),
            Values::I16(builder) => Arc::new(builder.finish()),
            Values::I32(builder) => Arc::new(builder.finish()),
            Values::I64(builder) => Arc::new(builder.finish()),
            Values::F32(builder) => Arc::new(builder.finish()),
            Values::F64(builder) => Arc::new(builder.finish()),
            Values::Decimal(builder, ..) => Arc::new(builder.finish()),
            Values::Date(builder) => Arc::new(builder.finish()),
            Values::Time(builder) => Arc::new(builder.finish()),
            Values::Timestamp(builder) => Arc::new(builder.finish()),
            Values::Bytes(builder) => Arc::new(builder.finish()),
            Values::Text(builder) | Values::Uuid(builder) | Values::Cast(builder) => Arc::new(builder.finish()),
        }
    }
}

fn sized<const BYTES: usize>(bytes: &[u8]) -> Result<[u8; BYTES], Malformed> {
    bytes.try_into().map_err(|_| Malformed::Binary)
}

/// A number in NUMERIC's format in units of its last digit of `scale`, rounded half away from zero as PostgreSQL does.
fn units(bytes: &[u8], precision: u8, scale: u8) -> Result<i128, Refused> {
    let number = Digits::read(bytes)?;
    if matches!(number.sign, NAN | INFINITY | NEGATIVE_INFINITY) {
        return Err(Refused::Overflow);
    }
    let power = |exponent: i32| 10_u128.checked_pow(exponent.unsigned_abs());
    let (mut units, mut rounds_up) = (0_u128, false);
    for (digit, place) in number.iter().zip(0_i32..) {
        // The digit counts units of ten to this.
        let exponent = (number.weight - place) * DIGITS + i32::from(scale);
        let digit = u128::from(digit);
        if exponent >= 0 {
            let value = if digit == 0 { Some(0) } else { power(exponent).and_then(|unit| digit.checked_mul(unit)) };
            units = value.and_then(|value| units.checked_add(value)).ok_or(Refused::Overflow)?;
        } else if exponent >= -DIGITS {
            // The first decimal digit behind the last one decides.
            let below = power(exponent).ok_or(Refused::Overflow)?;
            units = units.checked_add(digit / below).ok_or(Refused::Overflow)?;
            rounds_up = digit / (below / 10) % 10 >= 5;
        }
    }
    let units = units + u128::from(rounds_up);
    if power(precision.into()).is_none_or(|end| units >= end) {
        return Err(Refused::Overflow);
    }
    let units = i128::try_from(units).map_err(|_| Refused::Overflow)?;
    Ok(if number.sign == NEGATIVE { -units } else { units })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[u16], precision: u8, scale: u8) -> Option<i128> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        units(&bytes, precision, scale).ok()
    }

    #[test]
    fn numbers_are_rounded_to_the_scale() {
        assert_eq!(of(&[3, 1, 0, 3, 1, 2345, 6780], 10, 3), Some(12_345_678));
        assert_eq!(of(&[3, 1, 0, 3, 1, 2345, 6780], 10, 2), Some(1_234_568));
        assert_eq!(of(&[3, 1, 0x4000, 3, 1, 2345, 6780], 10, 0), Some(-12_346));
        assert_eq!(of(&[1, 0xFFFF, 0, 4, 5000], 4, 0), Some(1));
        assert_eq!(of(&[1, 0xFFFF, 0, 4, 4999], 4, 0), Some(0));
        assert_eq!(of(&[1, 0xFFFE, 0, 8, 9999], 4, 4), Some(1));
        assert_eq!(of(&[1, 0xFFFD, 0, 12, 9999], 4, 4), Some(0));
        assert_eq!(of(&[1, 1, 0, 0, 1], 4, 0), None, "as many digits as there is room for");
        assert_eq!(of(&[1, 0x7FFF, 0, 0, 1], 18, 2), None);
        assert_eq!(of(&[0, 0, 0xC000, 0], 18, 2), None);
        assert_eq!(of(&[0, 0, 0, 2], 18, 2), Some(0));
        assert_eq!(of(&[1, 0, 0, 0, 10_000], 18, 2), None);
    }
}
