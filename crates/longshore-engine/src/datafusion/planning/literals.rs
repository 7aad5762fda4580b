//! Number literals, typed as PostgreSQL types them, with their exact values.
//!
//! A literal without a point and an exponent is an INTEGER if it fits, else a BIGINT, else a decimal; any other is a
//! decimal of as many digits behind the point as it has once the exponent is worked in: `1e3` is 1000 and `1.50` keeps
//! its zero. A literal of more than 38 digits is a NUMERIC (`functions::numeric`).
//! Not here: which numbers are literals (`sql::numbers`), and which casts get a name, which is done here, too
//! (`sql::cast_names`).

use datafusion::common::{DFSchema, Result, ScalarValue, internal_err};
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use longshore_numeric::{Number, NumberError};

use crate::datafusion::errors::{external, from_datafusion};
use crate::datafusion::functions::numeric::values::NumericBuilder;
use crate::sql::{cast_names, numbers};
use crate::{Error, ErrorKind};

/// Digits of a decimal of Arrow.
const DIGITS_MAX: usize = 38;

/// Makes literals of marked numbers, and gives marked casts their names.
#[derive(Debug)]
pub(in crate::datafusion) struct Literals;

impl ExprPlanner for Literals {
    fn plan_binary_op(&self, expr: RawBinaryExpr, _schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        match &expr.left {
            Expr::Literal(ScalarValue::Utf8(Some(text)), _) if numbers::is_mark(&expr.op) => {
                let value = literal(text).map_err(external)?;
                Ok(PlannerResult::Planned(Expr::Literal(value, None)))
            }
            _ if cast_names::is_mark(&expr.op) => {
                let Expr::Literal(ScalarValue::Utf8(Some(name)), _) = expr.right else {
                    return internal_err!("a cast without a name");
                };
                Ok(PlannerResult::Planned(expr.left.alias(name)))
            }
            _ => Ok(PlannerResult::Original(expr)),
        }
    }
}

/// The value of a literal, which may have a minus in front; its type is that of the number behind the minus.
fn literal(text: &str) -> std::result::Result<ScalarValue, Error> {
    let text = text.replace('_', "");
    let (is_negative, unsigned) = text.strip_prefix('-').map_or((false, text.as_str()), |rest| (true, rest));
    if unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
        if let Ok(value) = unsigned.parse::<i32>() {
            return Ok(ScalarValue::Int32(Some(if is_negative { -value } else { value })));
        }
        if let Ok(value) = unsigned.parse::<i64>() {
            return Ok(ScalarValue::Int64(Some(if is_negative { -value } else { value })));
        }
    }
    let Some(Decimal { digits, scale }) = Decimal::read(unsigned) else { return numeric(&text) };
    let precision = digits.len().max(scale).max(1) as u8;
    let Ok(value) = (if digits.is_empty() { "0" } else { &digits }).parse::<i128>() else { return numeric(&text) };
    Ok(ScalarValue::Decimal128(Some(if is_negative { -value } else { value }), precision, scale as i8))
}

/// A decimal number without its sign.
struct Decimal {
    /// Without zeros in front.
    digits: String,
    /// How many of them stand behind the point, or would.
    scale: usize,
}

impl Decimal {
    /// The number that `text` spells; `None` if it has too many digits.
    fn read(text: &str) -> Option<Self> {
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let exponent: i64 = exponent.parse().ok()?;
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let mut digits = format!("{whole}{fraction}").trim_start_matches('0').to_owned();
        let scale = (fraction.len() as i64).checked_sub(exponent)?;
        if scale < 0 && !digits.is_empty() {
            let zeros = usize::try_from(scale.unsigned_abs()).ok().filter(|zeros| *zeros <= DIGITS_MAX)?;
            digits.extend(std::iter::repeat_n('0', zeros));
        }
        let scale = usize::try_from(scale.max(0)).ok()?;
        (digits.len().max(scale) <= DIGITS_MAX).then_some(Self { digits, scale })
    }
}

/// The NUMERIC that `text` spells.
fn numeric(text: &str) -> std::result::Result<ScalarValue, Error> {
    let number = Number::parse(text).map_err(|error| match error {
        NumberError::Syntax => Error::syntax(format!("{text} is not a number")),
        error => Error::new(ErrorKind::OutOfRange, error.to_string()),
    })?;
    let mut builder = NumericBuilder::with_capacity(1);
    builder.append(Some(&number));
    ScalarValue::try_from_array(&builder.finish(), 0).map_err(from_datafusion)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(value: i128, precision: u8, scale: i8) -> ScalarValue {
        ScalarValue::Decimal128(Some(value), precision, scale)
    }

    #[test]
    fn literals_have_the_types_and_values_of_postgresql() {
        for (text, expected) in [
            ("0", ScalarValue::Int32(Some(0))),
            ("007", ScalarValue::Int32(Some(7))),
            ("2147483647", ScalarValue::Int32(Some(i32::MAX))),
            ("2147483648", ScalarValue::Int64(Some(2_147_483_648))),
            ("-2147483648", ScalarValue::Int64(Some(-2_147_483_648))),
            ("9223372036854775807", ScalarValue::Int64(Some(i64::MAX))),
            ("9223372036854775808", decimal(9_223_372_036_854_775_808, 19, 0)),
            ("-9223372036854775808", decimal(-9_223_372_036_854_775_808, 19, 0)),
            ("1_000", ScalarValue::Int32(Some(1000))),
            ("1.50", decimal(150, 3, 2)),
            (".5", decimal(5, 1, 1)),
            ("5.", decimal(5, 1, 0)),
            ("0.001", decimal(1, 3, 3)),
            ("-0.0", decimal(0, 1, 1)),
            ("1e3", decimal(1000, 4, 0)),
            ("1.5E+3", decimal(1500, 4, 0)),
            ("1.2345e2", decimal(12345, 5, 2)),
            ("-25e-1", decimal(-25, 2, 1)),
            ("1e-38", decimal(1, 38, 38)),
            ("0e99", decimal(0, 1, 0)),
            ("1e40", numeric("1e40").unwrap()),
            ("1e300", numeric("1e300").unwrap()),
            ("-1e-300", numeric("-1e-300").unwrap()),
        ] {
            assert_eq!(literal(text).unwrap(), expected, "{text}");
        }
        for text in ["1e131072", "-1e131072", "1e-16384", "1e99999999999999999999"] {
            assert!(literal(text).is_err(), "{text}");
        }
    }
}
