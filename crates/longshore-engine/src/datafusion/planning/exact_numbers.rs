//! What a plan must know of exact numbers, and of JSONB and arrays, which hold such: those that differ in their scale alone are equal, and
//! an average is a quotient.
//!
//! A NUMERIC has a scale that is shown and does not count in comparisons. So whatever sorts, groups or joins by one does so
//! by its key, as by that of a JSONB; a group shows the value of one of its rows. An average of exact numbers becomes a sum divided by a count, both
//! of which other aggregates of the same values share. All of this happens when the types of a plan are final, before
//! `DataFusion` coerces them. Not here: comparisons that are written as such (`functions::exact::operators`).

use std::sync::{Arc, LazyLock};

use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, DFSchema, Result, ScalarValue};
use datafusion::functions_aggregate::count::count_udaf;
use datafusion::functions_aggregate::first_last::first_value_udaf;
use datafusion::logical_expr::expr::{AggregateFunction, WindowFunction, WindowFunctionParams};
use datafusion::logical_expr::utils::grouping_set_to_exprlist;
use datafusion::logical_expr::{
    Aggregate, AggregateUDF, Case, Distinct, DistinctOn, Expr, ExprSchemable, GroupingSet, JoinConstraint, LogicalPlan,
    LogicalPlanBuilder, SortExpr, Window, WindowFunctionDefinition,
};
use datafusion::optimizer::AnalyzerRule;

use super::range_frames;
use crate::Error;
use crate::datafusion::errors::external;
use crate::datafusion::functions::arrays;
use crate::datafusion::functions::checked::CheckedSum;
use crate::datafusion::functions::exact::operators::quotient;
use crate::datafusion::functions::json;
use crate::datafusion::functions::json_types::is_jsonb;
use crate::datafusion::functions::keys::{has_key, key};
use crate::datafusion::functions::numeric::keys::text_key;
use crate::datafusion::functions::numeric::{is_exact, is_numeric};

static SUM: LazyLock<Arc<AggregateUDF>> = LazyLock::new(|| Arc::new(AggregateUDF::new_from_impl(CheckedSum::new())));

/// The rule.
#[derive(Debug)]
pub(in crate::datafusion) struct ExactNumbers;

impl AnalyzerRule for ExactNumbers {
    fn name(&self) -> &'static str {
        "exact_numbers"
    }

    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        Ok(plan.transform_up_with_subqueries(rewritten)?.data)
    }
}

/// Refuses frames that add to a NUMERIC: windows are sorted by its key, to which nothing can be added.
fn refuse_offsets(window: &Window) -> Result<()> {
    let adds = |expr: &Expr| {
        let Expr::WindowFunction(call) = expr.clone().unalias() else { return false };
        let WindowFunctionParams { order_by, window_frame: frame, .. } = &call.params;
        range_frames::has_offset(frame)
            && order_by
                .iter()
                .any(|sort| type_with_key(&sort.expr, window.input.schema()).is_some_and(|known| is_numeric(&known)))
    };
    if window.window_expr.iter().any(adds) {
        return Err(external(Error::unsupported(
            "RANGE with an offset over NUMERIC without a precision is not supported; cast what is ordered by to NUMERIC(p, s) or \
             DOUBLE PRECISION",
        )));
    }
    Ok(())
}

fn rewritten(node: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    match node {
        LogicalPlan::Sort(mut sort) => {
            let changed = key_sorts(&mut sort.expr, sort.input.schema());
            Ok(Transformed::new_transformed(LogicalPlan::Sort(sort), changed))
        }
        LogicalPlan::Distinct(Distinct::All(input)) => {
            if !input.schema().fields().iter().any(|field| has_key(field.data_type())) {
                return Ok(Transformed::no(LogicalPlan::Distinct(Distinct::All(input))));
            }
            let columns = input.schema().columns().into_iter().map(Expr::Column).collect();
            of_aggregate(Aggregate::try_new(input, columns, Vec::new())?)
        }
        LogicalPlan::Distinct(Distinct::On(mut distinct)) => {
            let DistinctOn { on_expr, sort_expr, input, .. } = &mut distinct;
            let mut changed = false;
            for expr in on_expr {
                changed |= key_in_place(expr, input.schema());
            }
            if let Some(keys) = sort_expr {
                changed |= key_sorts(keys, input.schema());
            }
            Ok(Transformed::new_transformed(LogicalPlan::Distinct(Distinct::On(distinct)), changed))
        }
        LogicalPlan::Join(mut join) => {
            let mut changed = false;
            for (left, right) in &mut join.on {
                let of_left = left.get_type(join.left.schema()).ok().filter(has_key);
                let Some(data_type) = of_left.or_else(|| right.get_type(join.right.schema()).ok().filter(has_key))
                else {
                    continue;
                };
                *left = key(std::mem::take(left), &data_type);
                *right = key(std::mem::take(right), &data_type);
                changed = true;
            }
            if changed {
                // Of USING, both sides must be columns.
                join.join_constraint = JoinConstraint::On;
            }
            Ok(Transformed::new_transformed(LogicalPlan::Join(join), changed))
        }
        LogicalPlan::Window(window) => {
            refuse_offsets(&window)?;
            of_window(window)
        }
        LogicalPlan::Aggregate(aggregate) => of_aggregate(aggregate),
        other => Ok(Transformed::no(other)),
    }
}

/// The type of `expr`, if its values are compared by their keys.
fn type_with_key(expr: &Expr, schema: &DFSchema) -> Option<DataType> {
    expr.get_type(schema).ok().filter(has_key)
}

/// Puts the key of a value in its place; whether it has one.
fn key_in_place(expr: &mut Expr, schema: &DFSchema) -> bool {
    let Some(data_type) = type_with_key(expr, schema) else { return false };
    *expr = key(std::mem::take(expr), &data_type);
    true
}

fn key_sorts(sorts: &mut [SortExpr], schema: &DFSchema) -> bool {
    sorts.iter_mut().fold(false, |changed, sort| key_in_place(&mut sort.expr, schema) | changed)
}

/// The same of the arguments that a function compares.
fn key_arguments(name: &str, distinct: bool, arguments: &mut [Expr], schema: &DFSchema) -> bool {
    if !(name == "count" && distinct || name == "grouping") {
        return false;
    }
    arguments.iter_mut().fold(false, |changed, argument| key_in_place(argument, schema) | changed)
}

/// What stands in the place of functions of a node: some of the same kind, and what is made of their results.
struct Parts {
    functions: Vec<Expr>,
    results: Vec<Made>,
}

enum Made {
    /// The result of one of the functions.
    Of(usize),
    /// That of one divided by that of another.
    Quotient(usize, usize),
    /// That of one, a sorted array, with each element once.
    Distinct(usize),
}

impl Parts {
    fn place(&mut self, function: Expr) -> usize {
        self.functions.iter().position(|own| *own == function).unwrap_or_else(|| {
            let (name, place) = (function.schema_name().to_string(), self.functions.len());
            // Those of other treatment of NULL have the same name.
            let is_taken = self.functions.iter().any(|own| own.schema_name().to_string() == name);
            self.functions.push(if is_taken { function.alias(format!("{name} {place}")) } else { function });
            place
        })
    }

    /// Takes `expr` apart; whether that changes anything.
    fn take(&mut self, expr: Expr, schema: &DFSchema) -> Result<bool> {
        let name = expr.schema_name().to_string();
        let mut function = expr.unalias();
        if sort_distinct_elements(&mut function, schema) {
            let place = self.place(function);
            self.results.push(Made::Distinct(place));
            return Ok(true);
        }
        let (keyed, average) = match &mut function {
            Expr::AggregateFunction(AggregateFunction { func, params }) => {
                let is_average =
                    func.name() == "avg" && params.args.iter().all(|argument| is_of_exact(argument, schema));
                let mut changed = key_sorts(&mut params.order_by, schema);
                if !is_average {
                    changed |= key_arguments(func.name(), params.distinct, &mut params.args, schema);
                }
                (changed, is_average)
            }
            Expr::WindowFunction(call) => {
                let WindowFunction { fun, params } = call.as_mut();
                let is_average =
                    fun.name() == "avg" && params.args.iter().all(|argument| is_of_exact(argument, schema));
                let mut changed = range_frames::as_numbers(params, schema)?;
                for sort in &mut params.order_by {
                    if let Some(data_type) = type_with_key(&sort.expr, schema) {
                        let own = std::mem::take(&mut sort.expr);
                        sort.expr = if is_jsonb(&data_type) {
                            json::text_key(own)
                        } else if is_numeric(&data_type) {
                            text_key(own)
                        } else {
                            key(own, &data_type)
                        };
                        changed = true;
                    }
                }
                for expr in &mut params.partition_by {
                    changed |= key_in_place(expr, schema);
                }
                if !is_average {
                    changed |= key_arguments(fun.name(), params.distinct, &mut params.args, schema);
                }
                (changed, is_average)
            }
            _ => (false, false),
        };
        if average {
            let mut count = with_function(function.clone(), &count_udaf());
            key_of_distinct(&mut count, schema);
            let (sum, count) = (self.place(with_function(function, &SUM)), self.place(count));
            self.results.push(Made::Quotient(sum, count));
            return Ok(true);
        }
        let is_named = function.schema_name().to_string() == name;
        let place = self.place(if is_named { function } else { function.alias(name) });
        self.results.push(Made::Of(place));
        Ok(keyed)
    }

    /// The expressions that give the results, over the columns that the functions have become; with the names `names`.
    fn results<'a>(
        &'a self,
        columns: &'a [Column],
        names: impl Iterator<Item = String> + 'a,
    ) -> impl Iterator<Item = Expr> + 'a {
        let column = |at: usize| Expr::Column(columns[at].clone());
        self.results.iter().zip(names).map(move |(made, name)| match made {
            Made::Of(at) => column(*at).alias(name),
            Made::Quotient(sum, count) => quotient(column(*sum), column(*count)).alias(name),
            Made::Distinct(at) => arrays::distinct(column(*at)).alias(name),
        })
    }
}

/// Makes `array_agg(DISTINCT x)` of values with keys an array of all values, sorted by them; whether it is one.
fn sort_distinct_elements(call: &mut Expr, schema: &DFSchema) -> bool {
    let Expr::AggregateFunction(AggregateFunction { func, params }) = call else { return false };
    let [element] = params.args.as_slice() else { return false };
    if func.name() != "array_agg" || !params.distinct || type_with_key(element, schema).is_none() {
        return false;
    }
    if params.order_by.is_empty() {
        params.order_by.push(element.clone().sort(true, false));
    }
    key_sorts(&mut params.order_by, schema);
    params.distinct = false;
    true
}

fn is_of_exact(expr: &Expr, schema: &DFSchema) -> bool {
    expr.get_type(schema).is_ok_and(|data_type| is_exact(&data_type))
}

fn with_function(call: Expr, function: &Arc<AggregateUDF>) -> Expr {
    match call {
        Expr::AggregateFunction(AggregateFunction { params, .. }) => {
            Expr::AggregateFunction(AggregateFunction { func: Arc::clone(function), params })
        }
        Expr::WindowFunction(mut call) => {
            call.fun = WindowFunctionDefinition::AggregateUDF(Arc::clone(function));
            Expr::WindowFunction(call)
        }
        other => other,
    }
}

fn key_of_distinct(call: &mut Expr, schema: &DFSchema) {
    let (distinct, arguments) = match call {
        Expr::AggregateFunction(AggregateFunction { params, .. }) => (params.distinct, &mut params.args),
        Expr::WindowFunction(call) => (call.params.distinct, &mut call.params.args),
        _ => return,
    };
    key_arguments("count", distinct, arguments, schema);
}

fn of_window(window: Window) -> Result<Transformed<LogicalPlan>> {
    let Window { input, window_expr, schema } = window;
    let mut parts = Parts { functions: Vec::new(), results: Vec::new() };
    let mut changed = false;
    for expr in &window_expr {
        changed |= parts.take(expr.clone(), input.schema())?;
    }
    if !changed {
        return Ok(Transformed::no(LogicalPlan::Window(Window { input, window_expr, schema })));
    }
    let before = input.schema().columns();
    let window = Window::try_new(parts.functions.clone(), input)?;
    let columns = window.schema.columns().split_off(before.len());
    let names = schema.fields().iter().skip(before.len()).map(|field| field.name().clone());
    let exprs: Vec<Expr> = before.into_iter().map(Expr::Column).chain(parts.results(&columns, names)).collect();
    let plan = LogicalPlanBuilder::from(LogicalPlan::Window(window)).project(exprs)?.build()?;
    Ok(Transformed::yes(plan))
}

fn of_aggregate(aggregate: Aggregate) -> Result<Transformed<LogicalPlan>> {
    let Aggregate { input, group_expr, aggr_expr, schema, .. } = aggregate.clone();
    let mut parts = Parts { functions: Vec::new(), results: Vec::new() };
    let mut changed = false;
    for expr in &aggr_expr {
        changed |= parts.take(expr.clone(), input.schema())?;
    }
    let groups: Vec<Expr> = grouping_set_to_exprlist(&group_expr)?.into_iter().cloned().collect();
    let is_keyed: Vec<bool> = groups.iter().map(|group| type_with_key(group, input.schema()).is_some()).collect();
    if !changed && !is_keyed.contains(&true) {
        return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
    }
    let shown: Vec<Option<usize>> = groups
        .iter()
        .zip(&is_keyed)
        .map(|(group, is_keyed)| is_keyed.then(|| parts.place(first_value_udaf().call(vec![group.clone().unalias()]))))
        .collect();
    let keyed_groups = group_expr.into_iter().map(|group| keyed_group(group, input.schema())).collect();
    let aggregate = Aggregate::try_new(input, keyed_groups, parts.functions.clone())?;
    let of_groups = schema.fields().len() - aggr_expr.len();
    let mut columns = aggregate.schema.columns();
    let functions = columns.split_off(of_groups);
    let mut exprs = Vec::with_capacity(schema.fields().len());
    for (at, column) in columns.into_iter().enumerate() {
        let (qualifier, field) = schema.qualified_field(at);
        let expr = match shown.get(at).copied().flatten() {
            // In a set without it, the group is NULL whatever its rows have.
            Some(first) => {
                let null = ScalarValue::try_new_null(field.data_type())?;
                let is_absent = Box::new(Expr::Column(column).is_null());
                let first = Box::new(Expr::Column(functions[first].clone()));
                Expr::Case(Case::new(None, vec![(is_absent, Box::new(Expr::Literal(null, None)))], Some(first)))
            }
            None => Expr::Column(column),
        };
        exprs.push(expr.alias_qualified(qualifier.cloned(), field.name()));
    }
    let names = schema.fields().iter().skip(of_groups).map(|field| field.name().clone());
    exprs.extend(parts.results(&functions, names));
    let plan = LogicalPlanBuilder::from(LogicalPlan::Aggregate(aggregate)).project(exprs)?.build()?;
    Ok(Transformed::yes(plan))
}

fn keyed_group(group: Expr, schema: &DFSchema) -> Expr {
    let all = |groups: Vec<Expr>| groups.into_iter().map(|group| keyed_group(group, schema)).collect();
    match group {
        Expr::GroupingSet(GroupingSet::Rollup(groups)) => Expr::GroupingSet(GroupingSet::Rollup(all(groups))),
        Expr::GroupingSet(GroupingSet::Cube(groups)) => Expr::GroupingSet(GroupingSet::Cube(all(groups))),
        Expr::GroupingSet(GroupingSet::GroupingSets(sets)) => {
            Expr::GroupingSet(GroupingSet::GroupingSets(sets.into_iter().map(all).collect()))
        }
        group => match type_with_key(&group, schema) {
            Some(data_type) => key(group.unalias(), &data_type),
            None => group,
        },
    }
}
