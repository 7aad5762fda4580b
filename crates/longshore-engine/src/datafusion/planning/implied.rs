//! Whether expressions over the columns of a table are the same, or one follows from another: which unique index ON CONFLICT
//! means.
//!
//! As PostgreSQL does (`predicate_implied_by`), parts of AND and OR are looked at one by one; what is no such part follows
//! from the same expression, from a comparison with another constant, and NOT NULL from any comparison. That one follows
//! in another way is not found out.

use std::cmp::Ordering;

use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use datafusion::scalar::ScalarValue;

/// A planned expression over the columns of a table.
#[derive(PartialEq)]
pub(crate) struct TableExpr(pub(super) Expr);

impl TableExpr {
    /// Whether `other` is true wherever it is.
    pub(crate) fn implies(&self, other: &Self) -> bool {
        implies(&self.0, &other.0)
    }
}

fn implies(given: &Expr, wanted: &Expr) -> bool {
    if given == wanted {
        return true;
    }
    if let Some((left, right)) = parts(wanted, Operator::And) {
        return implies(given, left) && implies(given, right);
    }
    if let Some((left, right)) = parts(given, Operator::Or) {
        return implies(left, wanted) && implies(right, wanted);
    }
    if let Some((of, values)) = listed(given) {
        return values.iter().all(|value| compared_implies((of, Operator::Eq, value), wanted));
    }
    if let Some((left, right)) = parts(given, Operator::And)
        && (implies(left, wanted) || implies(right, wanted))
    {
        return true;
    }
    if let Some((left, right)) = parts(wanted, Operator::Or) {
        return implies(given, left) || implies(given, right);
    }
    if let Expr::IsNotNull(of) = wanted {
        return of.as_ref() == given
            || operands(given).is_some_and(|(left, right)| of.as_ref() == left || of.as_ref() == right);
    }
    comparison(given).is_some_and(|given| compared_implies(given, wanted))
}

/// The two sides of an operator.
fn parts(expr: &Expr, wanted: Operator) -> Option<(&Expr, &Expr)> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if *op == wanted => Some((left, right)),
        _ => None,
    }
}

/// What is compared: if one of them is NULL, the comparison is not true.
fn operands(expr: &Expr) -> Option<(&Expr, &Expr)> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_comparison(*op) => Some((left, right)),
        _ => None,
    }
}

fn is_comparison(op: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};

    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq)
}

/// The values that an expression may have, if they are listed.
fn listed(expr: &Expr) -> Option<(&Expr, Vec<&ScalarValue>)> {
    let Expr::InList(list) = expr else { return None };
    let values: Option<Vec<&ScalarValue>> = list.list.iter().map(constant).collect();
    values.filter(|_| !list.negated).map(|values| (list.expr.as_ref(), values))
}

/// A value that compares as what is stored does.
fn constant(expr: &Expr) -> Option<&ScalarValue> {
    match expr {
        Expr::Literal(value, _) => {
            let data_type = value.data_type();
            (!value.is_null() && (data_type.is_primitive() || data_type.is_string())).then_some(value)
        }
        _ => None,
    }
}

type Compared<'a> = (&'a Expr, Operator, &'a ScalarValue);

/// The comparison of an expression with a constant.
fn comparison(expr: &Expr) -> Option<Compared<'_>> {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = expr else { return None };
    if !is_comparison(*op) {
        return None;
    }
    match (constant(left), constant(right)) {
        (None, Some(value)) => Some((left, *op, value)),
        (Some(value), None) => Some((right, op.swap()?, value)),
        _ => None,
    }
}

/// Whether another comparison of the same expression follows.
fn compared_implies((of, op, value): Compared<'_>, wanted: &Expr) -> bool {
    use Operator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};

    if let Expr::IsNotNull(wanted) = wanted {
        return wanted.as_ref() == of;
    }
    if let Some((wanted, values)) = listed(wanted) {
        return wanted == of && op == Operator::Eq && values.contains(&value);
    }
    let Some((wanted, wanted_op, bound)) = comparison(wanted) else { return false };
    let Some(order) = value.partial_cmp(bound).filter(|_| wanted == of) else { return false };
    match (op, wanted_op) {
        (Eq, Eq) | (NotEq, NotEq) => order == Ordering::Equal,
        (Eq, NotEq) => order != Ordering::Equal,
        (Eq | LtEq, Lt) | (LtEq, NotEq) => order == Ordering::Less,
        (Eq | GtEq, Gt) | (GtEq, NotEq) => order == Ordering::Greater,
        (Eq | Lt | LtEq, LtEq) | (Lt, Lt | NotEq) => order != Ordering::Greater,
        (Eq | Gt | GtEq, GtEq) | (Gt, Gt | NotEq) => order != Ordering::Less,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use datafusion::prelude::{col, lit};

    use super::*;

    #[test]
    fn what_follows_is_found() {
        let (a, b) = (|| col("a"), || col("b"));
        for (given, wanted, expected) in [
            (a().gt(lit(5)), a().gt(lit(3)), true),
            (a().gt(lit(3)), a().gt(lit(5)), false),
            (a().gt(lit(3)), a().gt_eq(lit(3)), true),
            (a().gt_eq(lit(3)), a().gt(lit(3)), false),
            (lit(3).lt(a()), a().gt(lit(3)), true),
            (a().eq(lit(4)), a().gt(lit(3)).and(a().not_eq(lit(5))), true),
            (a().gt(lit(3)), a().is_not_null(), true),
            (b().gt(lit(3)), a().is_not_null(), false),
            (a().is_null(), a().is_null(), true),
            (a().is_null().and(b().gt(lit(1))), a().is_null(), true),
            (a().is_null(), a().is_null().and(b().gt(lit(1))), false),
            (a().is_null(), a().is_null().or(b().gt(lit(1))), true),
            (a().is_null().or(b().gt(lit(1))), a().is_null(), false),
            (a().eq(lit(1)).or(a().eq(lit(2))), a().lt(lit(3)), true),
            (a().in_list(vec![lit(1), lit(2)], false), a().lt(lit(3)), true),
            (a().in_list(vec![lit(1), lit(2)], false), a().lt(lit(2)), false),
            (a().eq(lit(2)), a().in_list(vec![lit(1), lit(2)], false), true),
            (a().eq(lit("x")), b().eq(lit("x")), false),
            (a().lt(lit(3)), a().not_eq(lit(3)), true),
            (a().lt_eq(lit(3)), a().not_eq(lit(3)), false),
        ] {
            assert_eq!(implies(&given, &wanted), expected, "{given} => {wanted}");
        }
    }
}
