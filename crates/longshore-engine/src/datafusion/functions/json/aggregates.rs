//! `json_agg`, `jsonb_agg`, `json_object_agg`, `jsonb_object_agg`: JSON of the list that `array_agg` gives; and `histogram`.

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::datatypes::FieldRef;
use datafusion::common::{Result, internal_err, plan_err};
use datafusion::functions_aggregate::array_agg::array_agg_udaf;
use datafusion::logical_expr::expr::{AggregateFunction, ScalarFunction, WindowFunction, WindowFunctionParams};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawAggregateExpr, RawWindowExpr};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Expr, Signature, Volatility, WindowFunctionDefinition, lit,
};

use super::{build, histogram};

const NAMES: [&str; 4] = ["json_agg", "jsonb_agg", "json_object_agg", "jsonb_object_agg"];

/// The aggregates.
pub(in crate::datafusion) fn aggregates() -> impl Iterator<Item = AggregateUDF> {
    let named = NAMES.into_iter().map(|name| {
        AggregateUDF::new_from_impl(Named { name, signature: Signature::variadic_any(Volatility::Immutable) })
    });
    named.chain([AggregateUDF::new_from_impl(histogram::Histogram::new())])
}

/// The name of an aggregate that is planned as another, so it never runs.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Named {
    name: &'static str,
    signature: Signature,
}

impl AggregateUDFImpl for Named {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(if self.name.starts_with("jsonb") {
            crate::datafusion::functions::json_types::jsonb()
        } else {
            crate::datafusion::functions::json_types::json()
        })
    }

    fn accumulator(&self, _: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        internal_err!("{} is planned as array_agg", self.name)
    }

    fn state_fields(&self, _: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        internal_err!("{} is planned as array_agg", self.name)
    }
}

/// Plans the aggregates.
#[derive(Debug)]
pub(in crate::datafusion) struct JsonAggregates;

impl ExprPlanner for JsonAggregates {
    fn plan_aggregate(&self, mut raw: RawAggregateExpr) -> Result<PlannerResult<RawAggregateExpr>> {
        histogram::count_texts(raw.func.name(), &mut raw.args);
        let Some(parts) = parts(raw.func.name(), &raw.args)? else { return Ok(PlannerResult::Original(raw)) };
        let (collected, finish) = parts;
        let RawAggregateExpr { distinct, filter, order_by, null_treatment, .. } = raw;
        let list =
            AggregateFunction::new_udf(array_agg_udaf(), vec![collected], distinct, filter, order_by, null_treatment);
        Ok(PlannerResult::Planned(finished(finish, Expr::AggregateFunction(list))?))
    }

    fn plan_window(&self, mut raw: RawWindowExpr) -> Result<PlannerResult<RawWindowExpr>> {
        histogram::count_texts(raw.func_def.name(), &mut raw.args);
        let Some((collected, finish)) = parts(raw.func_def.name(), &raw.args)? else {
            return Ok(PlannerResult::Original(raw));
        };
        let RawWindowExpr { partition_by, order_by, window_frame, filter, null_treatment, distinct, .. } = raw;
        let list = WindowFunction {
            fun: WindowFunctionDefinition::AggregateUDF(array_agg_udaf()),
            params: WindowFunctionParams {
                args: vec![collected],
                partition_by,
                order_by,
                window_frame,
                filter,
                null_treatment,
                distinct,
            },
        };
        Ok(PlannerResult::Planned(finished(finish, Expr::WindowFunction(Box::new(list)))?))
    }
}

/// What is collected, and the function that makes JSON of the list.
fn parts(name: &str, args: &[Expr]) -> Result<Option<(Expr, &'static str)>> {
    Ok(Some(match (name, args) {
        ("json_agg", [value]) => (value.clone(), "json of list"),
        ("jsonb_agg", [value]) => (value.clone(), "jsonb of list"),
        ("json_object_agg", [key, value]) => (pair(key, value), "json of pairs"),
        ("jsonb_object_agg", [key, value]) => (pair(key, value), "jsonb of pairs"),
        (name, _) if NAMES.contains(&name) => return plan_err!("{name} takes another number of arguments"),
        _ => return Ok(None),
    }))
}

fn pair(key: &Expr, value: &Expr) -> Expr {
    datafusion::functions::core::expr_fn::named_struct(vec![lit("key"), key.clone(), lit("value"), value.clone()])
}

fn finished(function: &str, list: Expr) -> Result<Expr> {
    let Some(function) = build::function(function) else { return internal_err!("no function {function}") };
    Ok(Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(&function), vec![list])))
}
