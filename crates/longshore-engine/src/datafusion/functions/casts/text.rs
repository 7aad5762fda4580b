//! Numbers from texts, and texts from floats, as PostgreSQL reads and writes them: blanks around a number do not count, what is
//! out of range is an error, and a float is written with as few digits as lead back to it.

use std::fmt::Display;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray, StringViewBuilder};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use datafusion::common::{DataFusionError, Result, internal_err};
use longshore_numeric::{Number, NumberError};
use longshore_value::float::{Double, Real};
use longshore_value::numeric::Limit;

use crate::datafusion::errors::external;
use crate::datafusion::functions::numeric::failed;
use crate::datafusion::type_name::type_name;
use crate::{Error, ErrorKind};

/// Whether values of one type are read, or written, here to become those of another.
pub(super) fn is_ours(from: &DataType, to: &DataType) -> bool {
    let is_read = to.is_integer() || matches!(to, DataType::Float32 | DataType::Float64 | DataType::Decimal128(_, 0..));
    (from.is_string() && is_read) || (to.is_string() && matches!(from, DataType::Float32 | DataType::Float64))
}

/// The values of an array in another type.
pub(super) fn convert(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    match array.data_type() {
        DataType::Float32 => written(array.as_primitive::<Float32Type>(), to, |value| Real(*value)),
        DataType::Float64 => written(array.as_primitive::<Float64Type>(), to, |value| Double(*value)),
        _ => match to {
            DataType::Int8 => integers::<Int8Type>(array, to),
            DataType::Int16 => integers::<Int16Type>(array, to),
            DataType::Int32 => integers::<Int32Type>(array, to),
            DataType::Int64 => integers::<Int64Type>(array, to),
            DataType::UInt8 => integers::<UInt8Type>(array, to),
            DataType::UInt16 => integers::<UInt16Type>(array, to),
            DataType::UInt32 => integers::<UInt32Type>(array, to),
            DataType::UInt64 => integers::<UInt64Type>(array, to),
            DataType::Float32 => read::<Float32Type>(array, |text| {
                float(text, to, |text| text.parse::<f32>().ok(), |value| (value.is_infinite(), value == 0.0))
            }),
            DataType::Float64 => read::<Float64Type>(array, |text| {
                float(text, to, |text| text.parse::<f64>().ok(), |value| (value.is_infinite(), value == 0.0))
            }),
            DataType::Decimal128(precision, scale) => {
                let limit = Limit::new(u64::from(*precision), i64::from(*scale));
                let units = read::<Decimal128Type>(array, |text| decimal(text, limit, *scale))?;
                Ok(Arc::new(units.as_primitive::<Decimal128Type>().clone().with_data_type(to.clone())))
            }
            other => internal_err!("no texts become {other} here"),
        },
    }
}

fn written<T: ArrowPrimitiveType, D: Display>(
    floats: &PrimitiveArray<T>,
    to: &DataType,
    shown: impl Fn(&T::Native) -> D,
) -> Result<ArrayRef> {
    let mut texts = StringViewBuilder::with_capacity(floats.len());
    for value in floats {
        texts.append_option(value.map(|value| shown(&value).to_string()));
    }
    Ok(cast(&(Arc::new(texts.finish()) as ArrayRef), to)?)
}

fn read<T: ArrowPrimitiveType>(array: &ArrayRef, value: impl Fn(&str) -> Result<T::Native>) -> Result<ArrayRef> {
    let texts = cast(array, &DataType::Utf8View)?;
    let values = texts.as_string_view().iter().map(|text| text.map(&value).transpose());
    Ok(Arc::new(values.collect::<Result<PrimitiveArray<T>>>()?))
}

fn invalid(text: &str, to: &DataType) -> DataFusionError {
    let message = format!("invalid input syntax for type {}: \"{text}\"", type_name(to));
    external(Error::new(ErrorKind::InvalidText, message))
}

fn integers<T: ArrowPrimitiveType<Native: std::str::FromStr>>(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    read::<T>(array, |text| {
        let trimmed = text.trim_ascii();
        trimmed.parse().map_err(|_| {
            let digits = trimmed.strip_prefix(['+', '-']).unwrap_or(trimmed);
            if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                return invalid(text, to);
            }
            let message = format!("value \"{text}\" is out of range for type {}", type_name(to));
            external(Error::new(ErrorKind::OutOfRange, message))
        })
    })
}

/// The float that `parse` makes of a text; `edge` says whether it is infinite, and whether it is zero.
fn float<T: Copy>(
    text: &str,
    to: &DataType,
    parse: impl Fn(&str) -> Option<T>,
    edge: impl Fn(T) -> (bool, bool),
) -> Result<T> {
    let trimmed = text.trim_ascii();
    let value = parse(trimmed).ok_or_else(|| invalid(text, to))?;
    let mantissa = trimmed.split(['e', 'E']).next().unwrap_or_default();
    let has_digits = mantissa.bytes().any(|byte| byte.is_ascii_digit());
    let is_zero = !mantissa.bytes().any(|byte| matches!(byte, b'1'..=b'9'));
    let (is_infinite, became_zero) = edge(value);
    if (is_infinite && has_digits) || (became_zero && !is_zero) {
        let message = format!("\"{text}\" is out of range for type {}", type_name(to));
        return Err(external(Error::new(ErrorKind::OutOfRange, message)));
    }
    Ok(value)
}

fn decimal(text: &str, limit: Option<Limit>, scale: i8) -> Result<i128> {
    let number = Number::parse(text).map_err(|error| match error {
        NumberError::Syntax => invalid(text, &DataType::Decimal128(38, 0)),
        error => failed(error),
    })?;
    let number = limit.map_or_else(|| Ok(number.clone()), |limit| number.limited(limit)).map_err(failed)?;
    number.to_units(u32::from(scale.unsigned_abs())).ok_or_else(|| {
        let message = format!("a DECIMAL of up to 38 digits cannot hold {number}; use NUMERIC without a precision");
        external(Error::unsupported(message))
    })
}
