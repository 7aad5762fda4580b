//! NUMERIC from other types, and other types from NUMERIC.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, BinaryViewBuilder, PrimitiveArray, StringViewBuilder};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    ArrowPrimitiveType, DataType, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use datafusion::common::{DataFusionError, Result, internal_err};
use longshore_numeric::{Number, NumberError};
use longshore_storage::ColumnType;
use longshore_value::numeric::{self, Limit, Numeric, NumericError};

use super::values::{Numbers, numerics, wrapped};
use super::{failed, is_exact, is_numeric};
use crate::datafusion::errors::external;
use crate::{Error, ErrorKind};

/// Whether one of the types is NUMERIC, and values of the other become such, or the other way round.
pub(in crate::datafusion) fn is_ours(from: &DataType, to: &DataType) -> bool {
    let is_other = |other: &DataType| {
        other.is_integer() || other.is_decimal() || other.is_floating() || other.is_string() || is_numeric(other)
    };
    (is_numeric(to) && is_other(from)) || (is_numeric(from) && is_other(to))
}

/// The values of an array in another type, of which one is NUMERIC; `limit` is that of a NUMERIC that they become.
pub(in crate::datafusion) fn convert(array: &ArrayRef, to: &DataType, limit: Option<Limit>) -> Result<ArrayRef> {
    if is_numeric(to) {
        return to_numeric(array, limit);
    }
    let numbers = Numbers::of(array)?;
    match to {
        DataType::Int8 => integers::<Int8Type>(&numbers, to),
        DataType::Int16 => integers::<Int16Type>(&numbers, to),
        DataType::Int32 => integers::<Int32Type>(&numbers, to),
        DataType::Int64 => integers::<Int64Type>(&numbers, to),
        DataType::UInt8 => integers::<UInt8Type>(&numbers, to),
        DataType::UInt16 => integers::<UInt16Type>(&numbers, to),
        DataType::UInt32 => integers::<UInt32Type>(&numbers, to),
        DataType::UInt64 => integers::<UInt64Type>(&numbers, to),
        DataType::Float32 => {
            primitives::<Float32Type>(&numbers, |number| number.to_f32().map_err(|_| lost(number, to)))
        }
        DataType::Float64 => {
            primitives::<Float64Type>(&numbers, |number| number.to_f64().map_err(|_| lost(number, to)))
        }
        DataType::Float16 => Ok(cast(&convert(array, &DataType::Float32, None)?, to)?),
        DataType::Decimal128(precision, scale) if *scale >= 0 => {
            let limit = Limit::new(u64::from(*precision), i64::from(*scale));
            let scale = u32::from(scale.unsigned_abs());
            let units = primitives::<Decimal128Type>(&numbers, |number| {
                let limited =
                    limit.map_or_else(|| Ok(number.clone()), |limit| number.limited(limit)).map_err(failed)?;
                // A decimal of Arrow has no NaN.
                limited.to_units(scale).ok_or_else(|| lost(number, to))
            })?;
            Ok(Arc::new(units.as_primitive::<Decimal128Type>().clone().with_data_type(to.clone())))
        }
        to if to.is_decimal() => Ok(cast(&texts(&numbers), to)?),
        to if to.is_string() => Ok(cast(&texts(&numbers), to)?),
        other => internal_err!("NUMERIC does not become {other}"),
    }
}

fn to_numeric(array: &ArrayRef, limit: Option<Limit>) -> Result<ArrayRef> {
    let rows = array.len();
    let limited = |number: Number| match limit {
        Some(limit) => number.limited(limit).map_err(failed),
        None => Ok(number),
    };
    match array.data_type() {
        data_type if is_numeric(data_type) && limit.is_none() => Ok(Arc::clone(array)),
        data_type if is_exact(data_type) => {
            let numbers = Numbers::of(array)?;
            numerics(rows, |row| numbers.get(row)?.map(limited).transpose())
        }
        DataType::Float32 => {
            let floats = array.as_primitive::<Float32Type>();
            numerics(rows, |row| floats.is_valid(row).then(|| limited(Number::from_f32(floats.value(row)))).transpose())
        }
        data_type if data_type.is_floating() => {
            let floats = cast(array, &DataType::Float64)?;
            let floats = floats.as_primitive::<Float64Type>();
            numerics(rows, |row| floats.is_valid(row).then(|| limited(Number::from_f64(floats.value(row)))).transpose())
        }
        _ => of_texts(array, limit),
    }
}

fn of_texts(array: &ArrayRef, limit: Option<Limit>) -> Result<ArrayRef> {
    let texts = cast(array, &DataType::Utf8View)?;
    let mut builder = BinaryViewBuilder::with_capacity(texts.len());
    let mut bytes = Vec::new();
    for text in texts.as_string_view() {
        let Some(text) = text else {
            builder.append_null();
            continue;
        };
        bytes.clear();
        numeric::read(text.as_bytes(), limit, &mut |byte| bytes.push(byte)).map_err(|error| match error {
            NumericError::Syntax => {
                let message = format!("invalid input syntax for type numeric: \"{text}\"");
                external(Error::new(ErrorKind::InvalidText, message))
            }
            NumericError::Range => failed(NumberError::Overflow),
            NumericError::Limit => failed(NumberError::Field),
        })?;
        builder.append_value(&bytes);
    }
    Ok(wrapped(builder.finish()))
}

fn texts(numbers: &Numbers) -> ArrayRef {
    let mut builder = StringViewBuilder::with_capacity(numbers.len());
    for row in 0..numbers.len() {
        match numbers.bytes(row).and_then(Numeric::of) {
            Some(value) => builder.append_value(value.to_string()),
            None => builder.append_null(),
        }
    }
    Arc::new(builder.finish())
}

fn primitives<T: ArrowPrimitiveType>(
    numbers: &Numbers,
    value: impl Fn(&Number) -> Result<T::Native>,
) -> Result<ArrayRef> {
    let values = (0..numbers.len()).map(|row| numbers.get(row)?.map(|number| value(&number)).transpose());
    Ok(Arc::new(values.collect::<Result<PrimitiveArray<T>>>()?))
}

fn integers<T: ArrowPrimitiveType<Native: TryFrom<i128>>>(numbers: &Numbers, to: &DataType) -> Result<ArrayRef> {
    primitives::<T>(numbers, |number| {
        number.to_whole().and_then(|whole| T::Native::try_from(whole).ok()).ok_or_else(|| lost(number, to))
    })
}

/// A number that the type `to` does not have.
fn lost(number: &Number, to: &DataType) -> DataFusionError {
    let name = ColumnType::from_arrow(to).map_or_else(|| to.to_string(), |sql| sql.to_string().to_lowercase());
    let (kind, message) = match number {
        Number::Finite(_) if to.is_floating() => {
            (ErrorKind::OutOfRange, format!("\"{number}\" is out of range for type {name}"))
        }
        Number::Finite(_) => (ErrorKind::OutOfRange, format!("{name} out of range")),
        Number::NaN => (ErrorKind::Unsupported, format!("cannot convert NaN to {name}")),
        Number::Infinity { .. } => (ErrorKind::Unsupported, format!("cannot convert infinity to {name}")),
    };
    external(Error::new(kind, message))
}
