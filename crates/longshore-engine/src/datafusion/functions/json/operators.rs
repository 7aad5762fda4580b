//! The operators of JSON and JSONB, as functions.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DFSchema, Result, internal_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, Operator, ScalarUDF};
use sqlparser::ast::BinaryOperator;

use super::keys::key;
use crate::datafusion::functions::json_types::{is_json, is_jsonb};

/// Plans the operators.
#[derive(Debug)]
pub(in crate::datafusion) struct JsonOperators {
    functions: HashMap<String, Arc<ScalarUDF>>,
}

impl JsonOperators {
    pub(in crate::datafusion) fn new() -> Self {
        let functions = super::functions().map(|function| (function.name().to_owned(), Arc::new(function)));
        Self { functions: functions.collect() }
    }

    fn call(&self, name: &str, args: Vec<Expr>) -> Result<Expr> {
        let Some(function) = self.functions.get(name) else { return internal_err!("no function {name}") };
        Ok(Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(function), args)))
    }
}

/// The type of an operand, unless it is one that no operator of JSON has.
pub(in crate::datafusion) fn operand_type(expr: &Expr, schema: &DFSchema) -> Option<DataType> {
    match expr {
        // Chains of operators are long, and give nothing that counts here.
        Expr::BinaryExpr(_) | Expr::Placeholder(_) => None,
        expr => expr.get_type(schema).ok(),
    }
}

impl ExprPlanner for JsonOperators {
    fn plan_binary_op(&self, expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        let Some(kind) = Kind::of(&expr.op) else { return Ok(PlannerResult::Original(expr)) };
        let types = [&expr.left, &expr.right].map(|side| operand_type(side, schema));
        let is = |at: usize, test: fn(&DataType) -> bool| types[at].as_ref().is_some_and(test);
        let has_jsonb = is(0, is_jsonb) || is(1, is_jsonb);
        let prefix = if is(0, is_json) { "json" } else { "jsonb" };
        let by_number = is(1, DataType::is_integer);
        let name = match kind {
            Kind::Part(suffix) if is(0, is_json) || is(0, is_jsonb) => {
                let part = if by_number { "array_element" } else { "object_field" };
                format!("{prefix}_{part}{suffix}")
            }
            Kind::Path(suffix) if is(0, is_json) || is(0, is_jsonb) => {
                let path = cast_to_texts(expr.right);
                let call = self.call(&format!("{prefix}_extract_path{suffix}"), vec![expr.left, path])?;
                return Ok(PlannerResult::Planned(call));
            }
            Kind::Named(name) if has_jsonb => name.to_owned(),
            Kind::OfLeft(name) if is(0, is_jsonb) => name.to_owned(),
            Kind::Compared(op) if has_jsonb => {
                let (left, right) = (Box::new(key(expr.left)), Box::new(key(expr.right)));
                return Ok(PlannerResult::Planned(Expr::BinaryExpr(BinaryExpr { left, op, right })));
            }
            _ => return Ok(PlannerResult::Original(expr)),
        };
        Ok(PlannerResult::Planned(self.call(&name, vec![expr.left, expr.right])?))
    }
}

/// A path that is written as the text of an array.
fn cast_to_texts(path: Expr) -> Expr {
    match &path {
        Expr::Literal(value, _) if value.data_type().is_string() => {
            let list = crate::datafusion::functions::nested::list_of(DataType::Utf8View);
            Expr::Cast(datafusion::logical_expr::Cast::new(Box::new(path), list))
        }
        _ => path,
    }
}

/// What an operator does.
enum Kind {
    /// A member or an element; what the function's name ends in.
    Part(&'static str),
    /// What lies at a path.
    Path(&'static str),
    /// The function of two values, one of which is JSONB.
    Named(&'static str),
    /// The function of a JSONB and something else.
    OfLeft(&'static str),
    Compared(Operator),
}

impl Kind {
    fn of(op: &BinaryOperator) -> Option<Self> {
        Some(match op {
            BinaryOperator::Arrow => Self::Part(""),
            BinaryOperator::LongArrow => Self::Part("_text"),
            BinaryOperator::HashArrow => Self::Path(""),
            BinaryOperator::HashLongArrow => Self::Path("_text"),
            BinaryOperator::AtArrow => Self::Named("jsonb_contains"),
            BinaryOperator::ArrowAt => Self::Named("jsonb_contained"),
            BinaryOperator::StringConcat => Self::Named("jsonb_concat"),
            BinaryOperator::Question => Self::OfLeft("jsonb_exists"),
            BinaryOperator::QuestionPipe => Self::OfLeft("jsonb_exists_any"),
            BinaryOperator::QuestionAnd => Self::OfLeft("jsonb_exists_all"),
            BinaryOperator::Minus => Self::OfLeft("jsonb_delete"),
            BinaryOperator::HashMinus => Self::OfLeft("jsonb_delete_path"),
            BinaryOperator::AtQuestion => Self::OfLeft("jsonb_path_exists_opr"),
            BinaryOperator::AtAt => Self::OfLeft("jsonb_path_match_opr"),
            BinaryOperator::Eq => Self::Compared(Operator::Eq),
            BinaryOperator::NotEq => Self::Compared(Operator::NotEq),
            BinaryOperator::Lt => Self::Compared(Operator::Lt),
            BinaryOperator::LtEq => Self::Compared(Operator::LtEq),
            BinaryOperator::Gt => Self::Compared(Operator::Gt),
            BinaryOperator::GtEq => Self::Compared(Operator::GtEq),
            _ => return None,
        })
    }
}
