//! Operators of floats, which fail where PostgreSQL's do: where a result is infinite and no operand is, where a product or a
//! quotient is zero and should not be, and where the divisor is zero.

use datafusion::arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray};
use datafusion::arrow::compute::kernels::numeric;
use datafusion::arrow::datatypes::{DataType, Float32Type, Float64Type};
use datafusion::common::Result;
use datafusion::logical_expr::{ColumnarValue, Operator};
use datafusion::physical_expr_common::datum::apply;

use crate::datafusion::errors::external;
use crate::{Error, ErrorKind};

/// Whether the operator may fail.
pub(super) fn is_checked(operator: Operator) -> bool {
    matches!(operator, Operator::Plus | Operator::Minus | Operator::Multiply | Operator::Divide)
}

/// The result of the operator, unless there is none.
pub(super) fn checked(operator: Operator, left: &ColumnarValue, right: &ColumnarValue) -> Result<ColumnarValue> {
    let result = match operator {
        Operator::Plus => apply(left, right, numeric::add),
        Operator::Minus => apply(left, right, numeric::sub),
        Operator::Multiply => apply(left, right, numeric::mul),
        _ => apply(left, right, numeric::div),
    }?;
    let array = match &result {
        ColumnarValue::Array(array) => ArrayRef::clone(array),
        ColumnarValue::Scalar(value) => value.to_array()?,
    };
    match array.data_type() {
        DataType::Float32 => check::<Float32Type>(operator, &array, left, right)?,
        DataType::Float64 => check::<Float64Type>(operator, &array, left, right)?,
        _ => {}
    }
    Ok(result)
}

fn check<T: ArrowPrimitiveType<Native: Into<f64>>>(
    operator: Operator,
    result: &ArrayRef,
    left: &ColumnarValue,
    right: &ColumnarValue,
) -> Result<()> {
    let may_be_zero = matches!(operator, Operator::Plus | Operator::Minus);
    let divides = operator == Operator::Divide;
    let is_suspect = |value: T::Native| {
        let value: f64 = value.into();
        value.is_infinite() || (value == 0.0 && !may_be_zero) || (divides && value.is_nan())
    };
    let results = result.as_primitive::<T>();
    // Most results are none of that, and looked at once.
    if !results.values().iter().any(|value| is_suspect(*value)) {
        return Ok(());
    }
    let rows = results.len();
    let operands = |value: &ColumnarValue| {
        Ok::<PrimitiveArray<T>, datafusion::error::DataFusionError>(value.to_array(rows)?.as_primitive::<T>().clone())
    };
    let (left, right) = (operands(left)?, operands(right)?);
    for row in (0..rows).filter(|row| results.is_valid(*row)) {
        let (result, left, right): (f64, f64, f64) =
            (results.value(row).into(), left.value(row).into(), right.value(row).into());
        if divides && right == 0.0 && !left.is_nan() {
            return Err(external(Error::new(ErrorKind::DivisionByZero, "division by zero")));
        }
        let is_infinite = left.is_infinite() || right.is_infinite();
        if result.is_infinite() && !is_infinite {
            return Err(external(Error::new(ErrorKind::OutOfRange, "value out of range: overflow")));
        }
        let is_zero = left == 0.0 || (right == 0.0 && !divides) || (divides && right.is_infinite());
        if result == 0.0 && !may_be_zero && !is_zero {
            return Err(external(Error::new(ErrorKind::OutOfRange, "value out of range: underflow")));
        }
    }
    Ok(())
}
