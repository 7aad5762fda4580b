//! Operators, `extract` and negation of dates, times and intervals, as they are written.
//!
//! `DataFusion` asks for the type of each expression as soon as it is planned, and knows no operators of intervals. So
//! functions are put in their place at once.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DFSchema, Result, internal_datafusion_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{Cast, Expr, ExprSchemable, Operator, ScalarUDF};
use sqlparser::ast::BinaryOperator;
use std::sync::Arc;

use crate::datafusion::functions::time::kinds::{Kind, time_kind};
use crate::datafusion::functions::time::rewrite::compared;
use crate::datafusion::functions::time::{call, extract};
use crate::datafusion::functions::untyped::is_untyped;

/// Puts functions in the place of such operators.
#[derive(Debug)]
pub(in crate::datafusion) struct TimeOperators {
    extract: Arc<ScalarUDF>,
}

impl TimeOperators {
    pub(in crate::datafusion) fn new() -> Self {
        Self { extract: Arc::new(extract()) }
    }
}

/// An operator that dates, times or intervals have.
enum Own {
    Arithmetic(&'static str),
    Comparison(Operator),
}

fn own(op: &BinaryOperator) -> Option<Own> {
    Some(match op {
        BinaryOperator::Plus => Own::Arithmetic("+"),
        BinaryOperator::Minus => Own::Arithmetic("-"),
        BinaryOperator::Multiply => Own::Arithmetic("*"),
        BinaryOperator::Divide => Own::Arithmetic("/"),
        BinaryOperator::Eq => Own::Comparison(Operator::Eq),
        BinaryOperator::NotEq => Own::Comparison(Operator::NotEq),
        BinaryOperator::Lt => Own::Comparison(Operator::Lt),
        BinaryOperator::LtEq => Own::Comparison(Operator::LtEq),
        BinaryOperator::Gt => Own::Comparison(Operator::Gt),
        BinaryOperator::GtEq => Own::Comparison(Operator::GtEq),
        _ => return None,
    })
}

/// The type of an operand, if it may be one of time. An operator of `DataFusion`'s never is: they are all replaced.
fn type_of(expr: &Expr, schema: &DFSchema) -> Option<DataType> {
    match expr {
        Expr::BinaryExpr(_) => None,
        Expr::Literal(value, _) => Some(value.data_type()),
        expr => expr.get_type(schema).ok(),
    }
}

impl ExprPlanner for TimeOperators {
    fn plan_binary_op(&self, expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        let Some(operator) = own(&expr.op) else { return Ok(PlannerResult::Original(expr)) };
        let (left, right) = (type_of(&expr.left, schema), type_of(&expr.right, schema));
        let is_time = |data_type: &Option<DataType>| data_type.as_ref().is_some_and(|found| time_kind(found).is_some());
        if !is_time(&left) && !is_time(&right) {
            return Ok(PlannerResult::Original(expr));
        }
        let is_of_day =
            |known: &Option<DataType>| matches!(known.as_ref().and_then(time_kind), Some(Kind::Time | Kind::TimeTz));
        let (is_after_time, is_before_time) = (is_of_day(&left), is_of_day(&right));
        let RawBinaryExpr { op, mut left, mut right } = expr;
        match operator {
            Own::Arithmetic(name) => {
                // What is added to a time is an interval, unless it has a type that says otherwise.
                let cast = |literal: Expr, to| Expr::Cast(Cast::new(Box::new(literal), to));
                let interval = |literal: Expr| cast(literal, Kind::Interval.data_type());
                if name == "+" && is_after_time && is_untyped(&right) {
                    right = interval(right);
                } else if name == "+" && is_before_time && is_untyped(&left) {
                    left = interval(left);
                }
                // What an interval is multiplied with or divided by is a number.
                if ["*", "/"].contains(&name) && is_untyped(&right) {
                    right = cast(right, DataType::Float64);
                } else if name == "*" && is_untyped(&left) {
                    left = cast(left, DataType::Float64);
                }
                let planned = call(name, vec![left, right]);
                planned.map(PlannerResult::Planned).ok_or_else(|| internal_datafusion_err!("no operator {name}"))
            }
            Own::Comparison(operator) => match compared(&left, operator, &right, schema) {
                Some(planned) => Ok(PlannerResult::Planned(planned)),
                None => Ok(PlannerResult::Original(RawBinaryExpr { op, left, right })),
            },
        }
    }

    fn plan_extract(&self, args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        Ok(PlannerResult::Planned(Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(&self.extract), args))))
    }
}
