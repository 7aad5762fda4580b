//! Number literals, typed as PostgreSQL types them, with their exact values.
//!
//! A literal without a point and an exponent is an INTEGER if it fits, else a BIGINT, else a decimal; any other is a
//! decimal of as many digits behind the point as it has once the exponent is worked in: `1e3` is 1000 and `1.50` keeps
//! its zero. Decimals have 38 digits here, and up to 76 while a statement computes; a literal that needs more (`1e300`)
//! is a DOUBLE PRECISION, which PostgreSQL makes of it only where one is wanted.
//! Not here: which numbers are literals (`sql::numbers`), and which casts get a name, which is done here, too
//! (`sql::cast_names`).

use datafusion::arrow::datatypes::i256;
use datafusion::common::{DFSchema, Result, ScalarValue, internal_err};
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};

use crate::datafusion::errors::external;
use crate::sql::{cast_names, numbers};
use crate::{Error, ErrorKind};

/// Digits of a decimal that is stored, and of one that is computed with.
const DIGITS_MAX: usize = 38;
const WIDE_DIGITS_MAX: usize = 76;

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
    let Some(Decimal { digits, scale }) = Decimal::read(unsigned) else { return double(&text) };
    let precision = digits.len().max(scale).max(1) as u8;
    let value = i256::from_string(if digits.is_empty() { "0" } else { &digits });
    let Some(value) = value.map(|value| if is_negative { value.wrapping_neg() } else { value }) else {
        return double(&text);
    };
    Ok(match value.to_i128().filter(|_| usize::from(precision) <= DIGITS_MAX) {
        Some(value) => ScalarValue::Decimal128(Some(value), precision, scale as i8),
        None => ScalarValue::Decimal256(Some(value), precision, scale as i8),
    })
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
            let zeros = usize::try_from(scale.unsigned_abs()).ok().filter(|zeros| *zeros <= WIDE_DIGITS_MAX)?;
            digits.extend(std::iter::repeat_n('0', zeros));
        }
        let scale = usize::try_from(scale.max(0)).ok()?;
        (digits.len().max(scale) <= WIDE_DIGITS_MAX).then_some(Self { digits, scale })
    }
}

/// The double precision number that is nearest to `text`.
fn double(text: &str) -> std::result::Result<ScalarValue, Error> {
    let value = text.parse::<f64>().map_err(|_| Error::syntax(format!("{text} is not a number")))?;
    let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
    let is_lost = value == 0.0 && mantissa.bytes().any(|byte| matches!(byte, b'1'..=b'9'));
    if value.is_infinite() || is_lost {
        return Err(Error::new(ErrorKind::OutOfRange, format!("\"{text}\" is out of range for type double precision")));
    }
    Ok(ScalarValue::Float64(Some(value)))
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
            ("1e40", ScalarValue::Decimal256(i256::from_string(&format!("1{}", "0".repeat(40))), 41, 0)),
            ("1e300", ScalarValue::Float64(Some(1e300))),
            ("-1e-300", ScalarValue::Float64(Some(-1e-300))),
        ] {
            assert_eq!(literal(text).unwrap(), expected, "{text}");
        }
        for text in ["1e400", "-1e400", "1e-400", "1e99999999999999999999"] {
            assert!(literal(text).is_err(), "{text}");
        }
    }
}
