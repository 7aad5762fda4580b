//! Which predicates a scan takes, and in what order it evaluates them.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::logical_expr::{Operator, Volatility};
use datafusion::physical_expr::expressions::{
    BinaryExpr, CaseExpr, CastExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, LikeExpr, Literal, NegativeExpr,
    NotExpr, TryCastExpr,
};
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};

/// Whether `expr` is cheap, and cannot fail on any row.
pub(in crate::datafusion) fn is_simple(expr: &Arc<dyn PhysicalExpr>) -> bool {
    if expr.is::<Column>() || expr.is::<Literal>() {
        return true;
    }
    let known = expr.is::<NotExpr>()
        || expr.is::<IsNullExpr>()
        || expr.is::<IsNotNullExpr>()
        || expr.is::<InListExpr>()
        || expr.is::<LikeExpr>()
        || expr.downcast_ref::<BinaryExpr>().is_some_and(|binary| is_simple_operator(*binary.op()));
    known && expr.children().into_iter().all(is_simple)
}

fn is_simple_operator(operator: Operator) -> bool {
    matches!(
        operator,
        Operator::Eq
            | Operator::NotEq
            | Operator::Lt
            | Operator::LtEq
            | Operator::Gt
            | Operator::GtEq
            | Operator::And
            | Operator::Or
            | Operator::IsDistinctFrom
            | Operator::IsNotDistinctFrom
    )
}

/// Whether `expr` says the same of every row that has the same value in one column. It may fail.
pub(in crate::datafusion) fn is_of_one_column(expr: &Arc<dyn PhysicalExpr>) -> bool {
    collect_columns(expr).len() == 1 && is_deterministic(expr)
}

fn is_deterministic(expr: &Arc<dyn PhysicalExpr>) -> bool {
    let function = expr.downcast_ref::<ScalarFunctionExpr>();
    let known = expr.is::<Column>()
        || expr.is::<Literal>()
        || expr.is::<NotExpr>()
        || expr.is::<IsNullExpr>()
        || expr.is::<IsNotNullExpr>()
        || expr.is::<InListExpr>()
        || expr.is::<LikeExpr>()
        || expr.is::<BinaryExpr>()
        || expr.is::<CaseExpr>()
        || expr.is::<CastExpr>()
        || expr.is::<TryCastExpr>()
        || expr.is::<NegativeExpr>()
        || function.is_some_and(|function| function.fun().signature().volatility == Volatility::Immutable);
    known && expr.children().into_iter().all(is_deterministic)
}

/// A rough order of evaluation: fixed-width comparisons before strings, strings before patterns.
pub(super) fn cost(expr: &Arc<dyn PhysicalExpr>, table: &Schema) -> usize {
    let own = if expr.is::<LikeExpr>() {
        16
    } else if let Some(column) = expr.downcast_ref::<Column>() {
        match table.field(column.index()).data_type() {
            DataType::Utf8View | DataType::BinaryView => 4,
            DataType::Decimal128(..) => 2,
            _ => 1,
        }
    } else {
        0
    };
    own + expr.children().into_iter().map(|child| cost(child, table)).sum::<usize>()
}
