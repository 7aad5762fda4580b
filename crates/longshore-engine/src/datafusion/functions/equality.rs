//! `IN`, `CASE x WHEN` and `nullif`, which compare as `=` does.
//!
//! `DataFusion` compares floats there by their bits, so that -0 is not 0, and lets `nullif` meet decimals of two scales, which
//! it cannot compare. And it takes a list for one of constants whose values are scalars over no rows, as those of a CASE are
//! (55.2): `2 NOT IN (CASE WHEN k = 0 THEN NULL ELSE k END, 0)` was NULL. So they become comparisons by `=`; an `IN` of
//! constants only gets the other zero, since scans and indexes know it. What changes from one look to the next is looked at
//! once, and left as it is.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::TreeNode;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{Case, Cast, Expr, ExprSchemable, Operator, not};

use super::exact::operators::operation;
use super::numeric::is_numeric;

/// `nullif(value, other)` as CASE, where it must be.
pub(in crate::datafusion) fn nullif(value: &Expr, other: &Expr, schema: &DFSchema) -> Result<Option<Expr>> {
    let (Ok(own), Ok(others)) = (value.get_type(schema), other.get_type(schema)) else { return Ok(None) };
    let is_needed = own != others || own.is_floating() || is_numeric(&own);
    if !is_needed || [&own, &others].contains(&&DataType::Null) || value.is_volatile() {
        return Ok(None);
    }
    let null = Box::new(Expr::Literal(ScalarValue::try_from(&own)?, None));
    let is_equal = match operation(value, Operator::Eq, other, schema)? {
        Some(equal) => Box::new(equal),
        None => Box::new(value.clone().eq(other.clone())),
    };
    Ok(Some(Expr::Case(Case::new(None, vec![(is_equal, null)], Some(Box::new(value.clone()))))))
}

/// `CASE value WHEN ...` as `CASE WHEN value = ...`, where floats are compared.
pub(in crate::datafusion) fn searched(case: Case, schema: &DFSchema) -> (Case, bool) {
    let Case { expr: Some(value), when_then_expr, else_expr } = case else { return (case, false) };
    let mut compared = std::iter::once(&value).chain(when_then_expr.iter().map(|(when, _)| when));
    if value.is_volatile() || !compared.any(|expr| is_float(expr, schema)) {
        return (Case { expr: Some(value), when_then_expr, else_expr }, false);
    }
    let branches = when_then_expr.into_iter().map(|(when, then)| (Box::new(value.as_ref().clone().eq(*when)), then));
    (Case { expr: None, when_then_expr: branches.collect(), else_expr }, true)
}

/// `IN` a list: comparisons where it has other values for other rows, and other constants where floats are compared.
pub(in crate::datafusion) fn in_list(list: InList, schema: &DFSchema) -> (Expr, bool) {
    let has_floats = std::iter::once(list.expr.as_ref()).chain(&list.list).any(|value| is_float(value, schema));
    if !(has_floats || list.list.iter().any(varies)) || list.expr.is_volatile() {
        return (Expr::InList(list), false);
    }
    let constants: Option<Vec<ScalarValue>> = list.list.iter().map(constant).collect();
    let InList { expr, list, negated } = list;
    let Some(constants) = constants else {
        let equal = list.into_iter().map(|other| expr.as_ref().clone().eq(other)).collect();
        let any = any_of(equal);
        return (if negated { not(any) } else { any }, true);
    };
    let zeros = constants.iter().filter_map(other_zero).map(|zero| Expr::Literal(zero, None)).collect::<Vec<_>>();
    let changed = !zeros.is_empty();
    (Expr::InList(InList { expr, list: list.into_iter().chain(zeros).collect(), negated }), changed)
}

/// Whether `expr` may have another value for another row.
fn varies(expr: &Expr) -> bool {
    let is_other = |part: &Expr| {
        matches!(part, Expr::Column(_) | Expr::OuterReferenceColumn(..) | Expr::ScalarSubquery(_))
            || part.is_volatile_node()
    };
    expr.exists(|part| Ok(is_other(part))).is_ok_and(|found| found)
}

fn is_float(expr: &Expr, schema: &DFSchema) -> bool {
    expr.get_type(schema).is_ok_and(|data_type| data_type.is_floating())
}

/// The value of a literal, which may be cast.
pub(in crate::datafusion) fn constant(expr: &Expr) -> Option<ScalarValue> {
    match expr {
        Expr::Literal(value, _) => Some(value.clone()),
        Expr::Cast(Cast { expr, field }) => constant(expr)?.cast_to(field.data_type()).ok(),
        _ => None,
    }
}

/// -0 for 0, and 0 for -0.
fn other_zero(value: &ScalarValue) -> Option<ScalarValue> {
    match value {
        ScalarValue::Float64(Some(value)) if *value == 0.0 => Some(ScalarValue::from(-value)),
        ScalarValue::Float32(Some(value)) if *value == 0.0 => Some(ScalarValue::from(-value)),
        _ => None,
    }
}

/// Whether one of the conditions holds; no deeper than their number needs.
pub(in crate::datafusion) fn any_of(mut conditions: Vec<Expr>) -> Expr {
    while conditions.len() > 1 {
        let mut rest = conditions.into_iter();
        let mut pairs = Vec::new();
        while let Some(first) = rest.next() {
            pairs.push(match rest.next() {
                Some(second) => first.or(second),
                None => first,
            });
        }
        conditions = pairs;
    }
    conditions.remove(0)
}
