//! NUMERIC without a precision, which Arrow has no type for: its values in arrays, conversions, keys.
//!
//! A value is a struct of one field, `$numeric`, whose bytes `longshore_value::numeric` describes; `longshore_numeric` computes.
//! Decimals whose scale is known while a statement is planned stay decimals of Arrow, which are faster: columns of type
//! DECIMAL(p,s), literals, and their sums and products. Quotients, averages and most functions have a scale that depends on the
//! values; they are NUMERIC. Two values that differ in their scale alone are equal; so whatever compares them does so by their
//! keys ([`keys`]).

pub(in crate::datafusion) mod convert;
pub(in crate::datafusion) mod keys;
pub(in crate::datafusion) mod values;

use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::DataFusionError;
use datafusion::logical_expr::Expr;
use longshore_numeric::NumberError;
use longshore_storage::ColumnType;
use longshore_value::decimal;
use longshore_value::numeric::Limit;

use crate::datafusion::errors::external;
use crate::{Error, ErrorKind};

/// The type of such values.
pub(in crate::datafusion) fn data_type() -> DataType {
    ColumnType::Numeric(None).arrow()
}

/// Whether it is the type of such values.
pub(in crate::datafusion) fn is_numeric(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Struct(_)) && ColumnType::from_arrow(data_type) == Some(ColumnType::Numeric(None))
}

/// Whether values of a type are exact numbers.
pub(in crate::datafusion) fn is_exact(data_type: &DataType) -> bool {
    data_type.is_integer() || data_type.is_decimal() || is_numeric(data_type)
}

/// Whether a text that is written is no value of the DECIMAL type `known`, or one that it would round.
pub(in crate::datafusion) fn rounds(literal: &Expr, known: &DataType) -> bool {
    let (Expr::Literal(text, _), DataType::Decimal128(precision, scale)) = (literal, known) else { return false };
    let Some(Some(text)) = text.try_as_str() else { return false };
    let units = |scale| decimal::plain(text, (*precision).min(DECIMAL64_DIGITS), scale);
    u8::try_from(*scale).ok().and_then(units).is_none()
}

/// The most digits of a decimal of eight bytes.
const DECIMAL64_DIGITS: u8 = 18;

/// Whether values of a type are numbers, exact ones or floats.
pub(in crate::datafusion) fn is_number(data_type: &DataType) -> bool {
    data_type.is_floating() || is_exact(data_type)
}

/// Among the metadata of a field that a cast names: the precision and the scale of a NUMERIC, with a comma between them.
const LIMIT: &str = "longshore.numeric";

/// A field whose values have these digits at most.
pub(in crate::datafusion) fn with_limit(field: Field, limit: Limit) -> Field {
    let Limit { precision, scale } = limit;
    field.with_metadata([(LIMIT.to_owned(), format!("{precision},{scale}"))].into())
}

/// The limit of a NUMERIC that a cast names.
pub(in crate::datafusion) fn limit(field: &Field) -> Option<Limit> {
    let (precision, scale) = field.metadata().get(LIMIT)?.split_once(',')?;
    Limit::new(precision.parse().ok()?, scale.parse().ok()?)
}

/// An error of a computation.
pub(in crate::datafusion) fn failed(error: NumberError) -> DataFusionError {
    external(Error::new(kind(error), error.to_string()))
}

fn kind(error: NumberError) -> ErrorKind {
    match error {
        NumberError::DivisionByZero => ErrorKind::DivisionByZero,
        NumberError::Overflow | NumberError::Range(_) | NumberError::Field => ErrorKind::OutOfRange,
        NumberError::Power(_) => ErrorKind::InvalidPower,
        NumberError::Logarithm(_) => ErrorKind::InvalidLogarithm,
        NumberError::Bucket(_) => ErrorKind::InvalidBucket,
        NumberError::Syntax => ErrorKind::InvalidText,
    }
}
