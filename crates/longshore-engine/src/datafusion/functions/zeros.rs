//! -0 and 0 are equal, also where rows are sorted.
//!
//! `DataFusion` sorts floating-point numbers by their bits, -0 before 0. So `ORDER BY f, id` put the rows of both apart,
//! `rank()` told them apart, `PARTITION BY f` made two partitions of them, and a merge join found no partner; an aggregate of
//! DISTINCT values beside another one counted both. So 0 takes the place of -0 in what is sorted by, as long as it is
//! sorted, and in what must be DISTINCT; the rows keep what they have. Not here: `=` and the other
//! comparisons, which compare numbers, and those that are not written as such (`equality`); filters that a join makes of
//! its rows (`optimizer::filter_pushdown`).

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::{DataType, Float32Type, Float64Type};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::{AggregateFunction, WindowFunction};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    ColumnarValue, Distinct, DistinctOn, Expr, ExprSchemable, Join, LogicalPlan, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, SortExpr, Volatility,
};

use super::element_wise::map_values;
use super::json;
use super::json_types::is_jsonb;

static POSITIVE_ZERO: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    let signature = Signature::any(1, Volatility::Immutable);
    Arc::new(ScalarUDF::new_from_impl(PositiveZero { signature }))
});

/// The plan that sorts -0 as 0.
pub(in crate::datafusion) fn with_equal_zeros(plan: LogicalPlan) -> Result<LogicalPlan> {
    let plan = plan.transform_up_with_subqueries(|node| match node {
        LogicalPlan::Sort(mut sort) => {
            let changed = replace_in(&mut sort.expr, sort.input.schema());
            Ok(with_changed(LogicalPlan::Sort(sort), changed))
        }
        LogicalPlan::Distinct(Distinct::On(mut distinct)) => {
            let DistinctOn { on_expr, sort_expr, input, .. } = &mut distinct;
            let mut changed = false;
            for expr in on_expr {
                changed |= replace(expr, input.schema());
            }
            if let Some(keys) = sort_expr {
                changed |= replace_in(keys, input.schema());
            }
            Ok(with_changed(LogicalPlan::Distinct(Distinct::On(distinct)), changed))
        }
        LogicalPlan::Window(_) | LogicalPlan::Aggregate(_) => in_functions(node),
        other => Ok(Transformed::no(other)),
    })?;
    Ok(plan.data)
}

/// The plan, optimized before, whose joins find -0 beside 0 by sorting.
pub(in crate::datafusion) fn with_equal_zeros_in_joins(plan: LogicalPlan) -> Result<LogicalPlan> {
    let plan = plan.transform_up_with_subqueries(|node| {
        let LogicalPlan::Join(mut join) = node else { return Ok(Transformed::no(node)) };
        let Join { left, right, on, .. } = &mut join;
        let mut changed = false;
        for (of_left, of_right) in on {
            changed |= replace(of_left, left.schema());
            changed |= replace(of_right, right.schema());
        }
        Ok(with_changed(LogicalPlan::Join(join), changed))
    })?;
    Ok(plan.data)
}

fn with_changed(plan: LogicalPlan, changed: bool) -> Transformed<LogicalPlan> {
    if changed { Transformed::yes(plan) } else { Transformed::no(plan) }
}

/// The node, with other keys of the functions that go through rows in an order.
fn in_functions(node: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let schema = merge_schema(&node.inputs());
    let names = NamePreserver::new(&node);
    node.map_expressions(|expr| {
        let name = names.save(&expr);
        let mut replaced = expr.transform_up(|part| {
            let mut part = part;
            let changed = match &mut part {
                Expr::WindowFunction(call) => {
                    let WindowFunction { params, .. } = call.as_mut();
                    // JSONB has other keys there (`planning::exact_numbers`).
                    let mut changed = false;
                    for sort in &mut params.order_by {
                        changed |= replace_zero(&mut sort.expr, &schema);
                    }
                    for expr in &mut params.partition_by {
                        changed |= replace(expr, &schema);
                    }
                    if params.distinct {
                        for expr in &mut params.args {
                            changed |= replace_zero(expr, &schema);
                        }
                    }
                    changed
                }
                Expr::AggregateFunction(AggregateFunction { params, .. }) => {
                    let mut changed = replace_in(&mut params.order_by, &schema);
                    if params.distinct {
                        for expr in &mut params.args {
                            changed |= replace_zero(expr, &schema);
                        }
                    }
                    changed
                }
                _ => false,
            };
            Ok(if changed { Transformed::yes(part) } else { Transformed::no(part) })
        })?;
        if replaced.transformed {
            replaced.data = name.restore(replaced.data);
        }
        Ok(replaced)
    })
}

fn replace_in(keys: &mut [SortExpr], schema: &DFSchema) -> bool {
    let mut changed = false;
    for key in keys {
        changed |= replace(&mut key.expr, schema);
    }
    changed
}

/// Puts 0 in the place of -0 where `expr` may be that, and the key of JSONB in its place; whether it is one of them.
fn replace(expr: &mut Expr, schema: &DFSchema) -> bool {
    let may_be = replace_zero(expr, schema);
    if expr.get_type(schema).is_ok_and(|data_type| is_jsonb(&data_type)) {
        let own = std::mem::replace(expr, Expr::Literal(ScalarValue::Null, None));
        *expr = json::key(own);
        return true;
    }
    may_be
}

/// Puts 0 in the place of -0 where `expr` may be that; whether it may.
fn replace_zero(expr: &mut Expr, schema: &DFSchema) -> bool {
    let may_be = expr.get_type(schema).is_ok_and(|data_type| data_type.is_floating());
    if may_be {
        let own = std::mem::replace(expr, Expr::Literal(ScalarValue::Null, None));
        *expr = POSITIVE_ZERO.call(vec![own]);
    }
    may_be
}

/// The function that is 0 for -0, and its argument otherwise. Nobody can call it by its name.
#[derive(Debug, PartialEq, Eq, Hash)]
struct PositiveZero {
    signature: Signature,
}

impl ScalarUDFImpl for PositiveZero {
    fn name(&self) -> &'static str {
        "positive zero"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(types[0].clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        map_values(&args.args[0], |array| Ok(positive(array)))
    }
}

/// The values, each with 0 added: -0 is 0 then, and nothing else changes.
pub(in crate::datafusion) fn positive(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Float64 => Arc::new(array.as_primitive::<Float64Type>().unary::<_, Float64Type>(|value| value + 0.0)),
        DataType::Float32 => Arc::new(array.as_primitive::<Float32Type>().unary::<_, Float32Type>(|value| value + 0.0)),
        _ => Arc::clone(array),
    }
}
