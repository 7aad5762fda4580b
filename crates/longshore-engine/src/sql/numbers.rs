//! Number literals of more digits than a decimal has, such as `1e300`: they are double precision.
//!
//! Other literals with a point or an exponent are decimals, exact as in PostgreSQL.

use std::convert::Infallible;
use std::ops::ControlFlow;

use sqlparser::ast::{CastKind, DataType, Expr, Value, VisitMut, VisitorMut};

/// Digits of a decimal, at most.
const DIGITS_MAX: i64 = 38;

/// Casts such literals in `tree`.
pub(super) fn widen(tree: &mut impl VisitMut) {
    let (ControlFlow::Continue(()) | ControlFlow::Break(_)) = tree.visit(&mut Widener);
}

struct Widener;

impl VisitorMut for Widener {
    type Break = Infallible;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        if let Expr::Value(value) = expr
            && let Value::Number(text, _) = &value.value
            && is_beyond_decimals(text)
        {
            *expr = Expr::Cast {
                kind: CastKind::Cast,
                expr: Box::new(Expr::Value(Value::SingleQuotedString(text.clone()).into())),
                data_type: DataType::DoublePrecision,
                array: false,
                format: None,
            };
        }
        ControlFlow::Continue(())
    }
}

/// Whether a number needs more digits than decimals have, before and behind the point together.
fn is_beyond_decimals(text: &str) -> bool {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let Ok(exponent) = exponent.parse::<i64>() else { return false };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let whole = whole.trim_start_matches('0').len() as i64;
    let digits = (whole.saturating_add(exponent)).max(0).saturating_add((fraction.len() as i64 - exponent).max(0));
    digits > DIGITS_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_before_and_behind_the_point_count() {
        for number in ["1", "1.5", "1e37", "0.5e-30", "1e-38", "00000000000000000000000000000000000000001", "1_000"] {
            assert!(!is_beyond_decimals(number), "{number}");
        }
        for number in ["1e300", "1E+38", "1.5e-300", "1e-39", &"9".repeat(39), "123456789.5e31"] {
            assert!(is_beyond_decimals(number), "{number}");
        }
    }
}
