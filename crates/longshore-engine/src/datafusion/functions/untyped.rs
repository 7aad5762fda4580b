//! Texts without a type beside values that have one: `indisprimary = 't'`, `a AND 'yes'`, `coalesce(j, '[]')`.
//!
//! PostgreSQL takes such a literal for a value of that type. `DataFusion` takes it for a text, and refuses it beside truth
//! values, JSON and arrays. So the literal gets a cast. Not here: numbers and times (`operators`, `time`).

use datafusion::arrow::datatypes::{DataType, Fields};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{Cast, Expr, ExprSchemable};
use sqlparser::ast::BinaryOperator;

/// Gives literals beside truth values their type.
#[derive(Debug)]
pub(in crate::datafusion) struct TruthTexts;

impl ExprPlanner for TruthTexts {
    fn plan_binary_op(&self, expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        let RawBinaryExpr { op, left, right } = expr;
        let (left, right) = match &op {
            BinaryOperator::And | BinaryOperator::Or => (as_truth(left), as_truth(right)),
            BinaryOperator::StringConcat if is_untyped(&right) && is_bytes(&left, schema) => (left, as_bytes(right)),
            BinaryOperator::StringConcat if is_untyped(&left) && is_bytes(&right, schema) => (as_bytes(left), right),
            BinaryOperator::StringConcat if is_null(&right) && is_truth(&left, schema) => (left, no_text()),
            BinaryOperator::StringConcat if is_null(&left) && is_truth(&right, schema) => (no_text(), right),
            op if compares(op) && is_untyped(&right) && is_truth(&left, schema) => (left, as_truth(right)),
            op if compares(op) && is_untyped(&left) && is_truth(&right, schema) => (as_truth(left), right),
            _ => (left, right),
        };
        Ok(PlannerResult::Original(RawBinaryExpr { op, left, right }))
    }
}

fn compares(op: &BinaryOperator) -> bool {
    use BinaryOperator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq)
}

/// Whether it is a text that was written without a type.
pub(in crate::datafusion) fn is_untyped(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(ScalarValue::Utf8(Some(_)), _))
}

fn is_truth(expr: &Expr, schema: &DFSchema) -> bool {
    expr.get_type(schema).is_ok_and(|known| known == DataType::Boolean)
}

fn is_null(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(ScalarValue::Null, _))
}

fn no_text() -> Expr {
    Expr::Literal(ScalarValue::Utf8View(None), None)
}

fn is_bytes(expr: &Expr, schema: &DFSchema) -> bool {
    expr.get_type(schema).is_ok_and(|known| known.is_binary())
}

fn as_bytes(literal: Expr) -> Expr {
    Expr::Cast(Cast::new(Box::new(literal), DataType::BinaryView))
}

/// A literal without a type as a truth value; anything else as it is.
pub(in crate::datafusion) fn as_truth(expr: Expr) -> Expr {
    if is_untyped(&expr) { Expr::Cast(Cast::new(Box::new(expr), DataType::Boolean)) } else { expr }
}

/// The type that literals take beside values of these types, where `DataFusion` would not find it.
pub(in crate::datafusion) fn type_of_literals(types: &[DataType]) -> Option<DataType> {
    let mut known = types.iter().filter(|known| !known.is_null());
    let first = known.next()?;
    let is_ours = |fields: &Fields| fields.len() == 1 && fields[0].name().starts_with('$');
    let is_it = match first {
        DataType::Boolean | DataType::List(_) => true,
        DataType::Struct(fields) => is_ours(fields),
        other => other.is_binary(),
    };
    (is_it && known.all(|other| other == first)).then(|| first.clone())
}

/// The array without elements that the literal `'{}'` is, be it of rows.
pub(super) fn empty_array(expr: &Expr, of: &DataType) -> Option<Expr> {
    let (Expr::Literal(ScalarValue::Utf8(Some(text)), _), DataType::List(item)) = (expr, of) else { return None };
    let none = || ScalarValue::List(ScalarValue::new_list_nullable(&[], item.data_type()));
    (text.trim() == "{}").then(|| Expr::Literal(none(), None))
}
