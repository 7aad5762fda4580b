//! `ARRAY[...]`, and the operators of arrays, as functions.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DFSchema, Result, internal_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{Cast, Expr, ScalarUDF};
use sqlparser::ast::BinaryOperator;

use crate::datafusion::functions::json::operators::operand_type;
use crate::datafusion::functions::keys::{array_key, has_key};

/// Plans the operators.
#[derive(Debug)]
pub(in crate::datafusion) struct ArrayOperators {
    functions: HashMap<String, Arc<ScalarUDF>>,
}

impl ArrayOperators {
    pub(in crate::datafusion) fn new() -> Self {
        let functions = super::functions().map(|function| (function.name().to_owned(), Arc::new(function)));
        Self { functions: functions.collect() }
    }
}

impl ExprPlanner for ArrayOperators {
    fn plan_binary_op(&self, expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        let is_comparison = matches!(
            expr.op,
            BinaryOperator::Eq
                | BinaryOperator::NotEq
                | BinaryOperator::Lt
                | BinaryOperator::LtEq
                | BinaryOperator::Gt
                | BinaryOperator::GtEq
        );
        let name = match expr.op {
            BinaryOperator::StringConcat => "array_cat",
            BinaryOperator::AtArrow => "arraycontains",
            BinaryOperator::ArrowAt => "arraycontained",
            BinaryOperator::PGOverlap => "arrayoverlap",
            _ if is_comparison => "",
            _ => return Ok(PlannerResult::Original(expr)),
        };
        let left = operand_type(&expr.left, schema);
        let right = operand_type(&expr.right, schema);
        let is_list = |data_type: &Option<DataType>| matches!(data_type, Some(DataType::List(_)));
        if !is_list(&left) && !is_list(&right) {
            return Ok(PlannerResult::Original(expr));
        }
        // A text beside an array is one.
        let RawBinaryExpr { op, left: left_expr, right: right_expr } = expr;
        let left_expr = if is_list(&right) { literal_as(left_expr, right.as_ref()) } else { left_expr };
        let right_expr = if is_list(&left) { literal_as(right_expr, left.as_ref()) } else { right_expr };
        if is_comparison {
            let common = [&left, &right].into_iter().flatten().find(|known| has_key(known));
            let (left_expr, right_expr) = match common {
                Some(common) => {
                    (array_key(left_expr, left.as_ref(), common), array_key(right_expr, right.as_ref(), common))
                }
                None => (left_expr, right_expr),
            };
            return Ok(PlannerResult::Original(RawBinaryExpr { op, left: left_expr, right: right_expr }));
        }
        let is_element = |own: &Option<DataType>| {
            !is_list(own) && !matches!(own, Some(DataType::Null)) && !own.as_ref().is_some_and(DataType::is_string)
        };
        let name = match name {
            "array_cat" if is_element(&right) || is_text_element(left.as_ref(), &right_expr, right.as_ref()) => {
                "array_append"
            }
            "array_cat" if is_element(&left) || is_text_element(right.as_ref(), &left_expr, left.as_ref()) => {
                "array_prepend"
            }
            name => name,
        };
        let Some(function) = self.functions.get(name) else { return internal_err!("no function {name}") };
        let call = ScalarFunction::new_udf(Arc::clone(function), vec![left_expr, right_expr]);
        Ok(PlannerResult::Planned(Expr::ScalarFunction(call)))
    }
}

/// Whether a text that is no literal is appended to an array of texts.
fn is_text_element(array: Option<&DataType>, expr: &Expr, own: Option<&DataType>) -> bool {
    let element = array.and_then(crate::datafusion::functions::nested::element_of);
    element.is_some_and(DataType::is_string)
        && own.is_some_and(DataType::is_string)
        && !matches!(expr, Expr::Literal(..) | Expr::Cast(_))
        || (own.is_some_and(DataType::is_string)
            && matches!(expr, Expr::Cast(Cast { field, .. }) if field.data_type().is_string()))
}

/// A literal text as an array of this type; anything else as it is.
fn literal_as(expr: Expr, array: Option<&DataType>) -> Expr {
    match (&expr, array) {
        (Expr::Literal(value, _), Some(array)) if value.data_type().is_string() => {
            Expr::Cast(Cast::new(Box::new(expr), array.clone()))
        }
        _ => expr,
    }
}
