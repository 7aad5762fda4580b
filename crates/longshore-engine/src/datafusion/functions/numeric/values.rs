//! Arrays of exact numbers, value by value, and arrays of NUMERIC as they are made.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BinaryViewArray, BinaryViewBuilder, Decimal128Array, Decimal256Array, PrimitiveArray,
    StructArray,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::ColumnarValue;
use longshore_numeric::Number;

use super::{data_type, failed};

/// The values of an array of exact numbers.
pub(in crate::datafusion) struct Numbers {
    /// The array itself, whose NULLs count.
    array: ArrayRef,
    values: Values,
}

enum Values {
    Null,
    Whole(PrimitiveArray<Int64Type>),
    Decimal(Decimal128Array, u32),
    Wide(Decimal256Array),
    Numeric(BinaryViewArray),
}

impl Numbers {
    /// The values of `array`, whose type is that of exact numbers.
    pub(in crate::datafusion) fn of(array: &ArrayRef) -> Result<Self> {
        let values = match array.data_type() {
            DataType::Null => Values::Null,
            DataType::Struct(_) => Values::Numeric(array.as_struct().column(0).as_binary_view().clone()),
            DataType::Decimal128(_, scale) if *scale >= 0 => {
                Values::Decimal(array.as_primitive().clone(), u32::from(scale.unsigned_abs()))
            }
            DataType::UInt64 => Values::Decimal(cast(array, &DataType::Decimal128(20, 0))?.as_primitive().clone(), 0),
            data_type if data_type.is_integer() => Values::Whole(cast(array, &DataType::Int64)?.as_primitive().clone()),
            DataType::Decimal256(..) => Values::Wide(array.as_primitive().clone()),
            DataType::Decimal32(_, scale) | DataType::Decimal64(_, scale) if *scale >= 0 => {
                let wide = cast(array, &DataType::Decimal128(38, *scale))?;
                Values::Decimal(wide.as_primitive().clone(), u32::from(scale.unsigned_abs()))
            }
            other => return internal_err!("{other} is no type of exact numbers"),
        };
        Ok(Self { array: Arc::clone(array), values })
    }

    /// The value of a row; `None` for NULL.
    #[inline]
    pub(in crate::datafusion) fn get(&self, row: usize) -> Result<Option<Number>> {
        if self.array.is_null(row) {
            return Ok(None);
        }
        Ok(Some(match &self.values {
            Values::Null => return Ok(None),
            Values::Whole(values) => Number::new(values.value(row).into(), 0),
            Values::Decimal(values, scale) => Number::new(values.value(row), *scale),
            Values::Wide(values) => Number::parse(&values.value_as_string(row)).map_err(failed)?,
            Values::Numeric(values) => {
                if values.is_null(row) {
                    return Ok(None);
                }
                let Some(number) = Number::from_bytes(values.value(row)) else {
                    return internal_err!("bytes of no number");
                };
                number
            }
        }))
    }

    /// How many there are.
    pub(in crate::datafusion) fn len(&self) -> usize {
        self.array.len()
    }

    /// The bytes of a row, where the array has them as they are; `None` for NULL.
    pub(super) fn bytes(&self, row: usize) -> Option<&[u8]> {
        match &self.values {
            Values::Numeric(values) if self.array.is_valid(row) && values.is_valid(row) => Some(values.value(row)),
            _ => None,
        }
    }
}

/// An argument of a function: the same number for all rows, or one for each.
pub(in crate::datafusion) enum Operand {
    One(Option<Number>),
    Each(Numbers),
}

impl Operand {
    /// The argument, whose type is that of exact numbers.
    pub(in crate::datafusion) fn of(value: &ColumnarValue) -> Result<Self> {
        match value {
            ColumnarValue::Array(array) => Numbers::of(array).map(Self::Each),
            ColumnarValue::Scalar(value) => Numbers::of(&value.to_array()?)?.get(0).map(Self::One),
        }
    }

    /// The number of a row.
    #[inline]
    pub(in crate::datafusion) fn get(&self, row: usize) -> Result<Option<Number>> {
        match self {
            Self::One(value) => Ok(value.clone()),
            Self::Each(values) => values.get(row),
        }
    }
}

/// How many rows arguments have; one if all of them are the same for all rows, and whether that is so.
pub(in crate::datafusion) fn rows_of(arguments: &[ColumnarValue]) -> (usize, bool) {
    let rows = arguments.iter().find_map(|value| match value {
        ColumnarValue::Array(array) => Some(array.len()),
        ColumnarValue::Scalar(_) => None,
    });
    (rows.unwrap_or(1), rows.is_none())
}

/// The array, or the only value of it.
pub(in crate::datafusion) fn columnar(array: ArrayRef, is_one: bool) -> Result<ColumnarValue> {
    if is_one {
        ScalarValue::try_from_array(&array, 0).map(ColumnarValue::Scalar)
    } else {
        Ok(ColumnarValue::Array(array))
    }
}

/// Makes an array of NUMERIC.
pub(in crate::datafusion) struct NumericBuilder {
    bytes: BinaryViewBuilder,
    room: Vec<u8>,
}

impl NumericBuilder {
    pub(in crate::datafusion) fn with_capacity(rows: usize) -> Self {
        Self { bytes: BinaryViewBuilder::with_capacity(rows), room: Vec::new() }
    }

    #[inline]
    pub(in crate::datafusion) fn append(&mut self, value: Option<&Number>) {
        match value {
            Some(value) => {
                self.room.clear();
                value.push_bytes(&mut self.room);
                self.bytes.append_value(&self.room);
            }
            None => self.bytes.append_null(),
        }
    }

    pub(in crate::datafusion) fn finish(mut self) -> ArrayRef {
        wrapped(self.bytes.finish())
    }
}

/// The array of NUMERIC that has these bytes.
pub(in crate::datafusion) fn wrapped(bytes: BinaryViewArray) -> ArrayRef {
    let nulls = bytes.nulls().cloned();
    let DataType::Struct(fields) = data_type() else { unreachable!("NUMERIC is a struct") };
    Arc::new(StructArray::new(fields, vec![Arc::new(bytes)], nulls))
}

/// The array of NUMERIC that `value` makes row by row.
pub(in crate::datafusion) fn numerics(
    rows: usize,
    mut value: impl FnMut(usize) -> Result<Option<Number>>,
) -> Result<ArrayRef> {
    let mut builder = NumericBuilder::with_capacity(rows);
    for row in 0..rows {
        builder.append(value(row)?.as_ref());
    }
    Ok(builder.finish())
}
