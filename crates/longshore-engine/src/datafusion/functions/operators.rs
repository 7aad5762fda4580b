//! Operators over numbers of several types, which compute and compare in the type that PostgreSQL takes.
//!
//! `DataFusion` makes decimals of floats that meet decimals: `0.1::float8 + 0.2::float8` would equal 0.3, and NaN or 1e22
//! would be errors. In PostgreSQL a float makes all of it floats: operators take DOUBLE PRECISION where two types meet of which
//! one is a float; CASE, COALESCE and other lists take REAL if no other float is among them. This is done before
//! `DataFusion` coerces types, which then finds nothing left to do. Not here: the types of columns that meet in a set
//! operation, in VALUES or in USING (`common_types`); comparisons that are not written as such (`equality`).

mod literals;

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::{
    AggregateFunction, Between, InList, InSubquery, ScalarFunction, WindowFunction, WindowFunctionDefinition,
};
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::{BinaryExpr, Case, Expr, ExprSchemable, LogicalPlanBuilder, Operator};

use super::anything::cast_as_written;
use super::casts::{self, cast_number};
use super::equality;
use super::exact::functions::{LARGER, SMALLER, function};
use super::exact::operators::operand;
use super::json_types::is_jsonb;
use super::keys::{self, array_key, has_key};
use super::numeric::keys::key;
use super::numeric::values::Numbers;
use super::numeric::{data_type, is_exact, is_number, is_numeric, rounds};
use super::patterns::operators::{bytes_like, matching};
use super::shifted::COMPUTED;
use super::untyped::{as_truth, is_untyped};
use literals::{has_bytes, with_bytes, with_exact_literals, with_typed_literals};

/// Functions whose arguments have one type.
pub(in crate::datafusion) const OF_ONE_TYPE: [&str; 5] = ["coalesce", "nullif", "nvl", "greatest", "least"];
/// The function that `ARRAY[...]` calls.
const MAKE_ARRAY: &str = "make_array";

/// Puts casts to floats before operators that need them.
#[derive(Debug)]
pub(in crate::datafusion) struct PostgresOperators;

impl FunctionRewrite for PostgresOperators {
    fn name(&self) -> &'static str {
        "postgres_operators"
    }

    fn rewrite(&self, expr: Expr, schema: &DFSchema, config: &ConfigOptions) -> Result<Transformed<Expr>> {
        if let Expr::BinaryExpr(BinaryExpr { left, op, right }) = &expr
            && let Some(matching) = matching(left, *op, right, schema)
        {
            return Ok(Transformed::yes(matching));
        }
        match expr {
            Expr::BinaryExpr(BinaryExpr { left, op, right })
                if computes(op) && is_untyped(&left) != is_untyped(&right) && has_bytes(&[&left, &right], schema) =>
            {
                let (mut sides, _) = with_typed_literals(vec![*left, *right], schema, config)?;
                let [left, right] = [0, 0].map(|_| Box::new(sides.remove(0)));
                Ok(Transformed::yes(Expr::BinaryExpr(BinaryExpr { left, op, right })))
            }
            Expr::BinaryExpr(BinaryExpr { left, op, right }) if computes(op) => {
                let types = [&left, &right].map(|side| side.get_type(schema));
                let [Ok(left_type), Ok(right_type)] = &types else {
                    return Ok(Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right })));
                };
                let Some(common) = of_operands(left_type, right_type) else {
                    return Ok(Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right })));
                };
                let left = Box::new(cast_number(*left, &common, schema)?);
                let right = Box::new(cast_number(*right, &common, schema)?);
                Ok(Transformed::yes(Expr::BinaryExpr(BinaryExpr { left, op, right })))
            }
            Expr::Like(like) => match bytes_like(&like, schema) {
                Some(call) => Ok(Transformed::yes(call)),
                None => Ok(Transformed::no(Expr::Like(like))),
            },
            Expr::Between(between) => self::between(between, schema, config),
            Expr::InList(list) => in_list(list, schema, config),
            Expr::InSubquery(subquery) => in_subquery(subquery, schema),
            Expr::Case(case) => self::case(case, schema, config),
            Expr::AggregateFunction(AggregateFunction { func, mut params }) => {
                if let ("string_agg", [value, delimiter]) = (func.name(), params.args.as_mut_slice())
                    && is_untyped(delimiter)
                    && value.get_type(schema)?.is_binary()
                {
                    *delimiter = cast_as_written(std::mem::take(delimiter), DataType::BinaryView, schema, config)?;
                }
                let is_sum = ["sum", "avg"].contains(&func.name());
                let changed =
                    is_sum && params.args.iter_mut().fold(false, |changed, arg| of_one_scale(arg, schema) | changed);
                let call = Expr::AggregateFunction(AggregateFunction { func, params });
                Ok(Transformed::new_transformed(call, changed))
            }
            Expr::WindowFunction(call) => with_default(call, schema, config),
            Expr::ScalarFunction(call) if OF_ONE_TYPE.contains(&call.func.name()) => {
                let ScalarFunction { func, args } = call;
                let (args, literals_changed) = with_typed_literals(args, schema, config)?;
                let (args, changed) = united(args, of_list, schema)?;
                let changed = changed || literals_changed;
                if let ("nullif", [value, other]) = (func.name(), &args[..])
                    && let Some(case) = equality::nullif(value, other, schema)?
                {
                    return Ok(Transformed::yes(case));
                }
                let of_numeric = args.iter().any(|arg| arg.get_type(schema).is_ok_and(|known| is_numeric(&known)));
                if let Some(name) =
                    [("greatest", LARGER), ("least", SMALLER)].into_iter().find(|(name, _)| *name == func.name())
                    && of_numeric
                {
                    return Ok(Transformed::yes(extreme(name.1, args)));
                }
                let call = Expr::ScalarFunction(ScalarFunction { func, args });
                Ok(if changed { Transformed::yes(call) } else { Transformed::no(call) })
            }
            Expr::ScalarFunction(call) if call.func.name() == MAKE_ARRAY => elements_of_one_type(call, schema),
            other => Ok(Transformed::no(other)),
        }
    }
}

/// `lag(value, offset, default)` and `lead` of numbers of two types in the type of both.
fn with_default(mut call: Box<WindowFunction>, schema: &DFSchema, config: &ConfigOptions) -> Result<Transformed<Expr>> {
    let is_shift = match &call.fun {
        WindowFunctionDefinition::WindowUDF(function) => {
            ["lag", "lead"].contains(&function.name().trim_end_matches(COMPUTED))
        }
        WindowFunctionDefinition::AggregateUDF(_) => false,
    };
    if !is_shift || call.params.args.len() != 3 {
        return Ok(Transformed::no(Expr::WindowFunction(call)));
    }
    let data_type = call.params.args[0].get_type(schema)?;
    if rounds(&call.params.args[2], &data_type) {
        call.params.args[2] = cast_number(std::mem::take(&mut call.params.args[2]), &self::data_type(), schema)?;
    } else if is_untyped(&call.params.args[2]) && !data_type.is_string() {
        let default = std::mem::take(&mut call.params.args[2]);
        call.params.args[2] = cast_as_written(default, data_type, schema, config)?;
        return Ok(Transformed::yes(Expr::WindowFunction(call)));
    }
    let ends = [0, 2].map(|at| call.params.args[at].clone());
    let (ends, changed) = united(ends.to_vec(), of_list, schema)?;
    for (at, end) in [0, 2].into_iter().zip(ends) {
        call.params.args[at] = end;
    }
    Ok(Transformed::new_transformed(Expr::WindowFunction(call), changed))
}

/// The elements of `ARRAY[...]` in one type, where they are numbers of several.
fn elements_of_one_type(call: ScalarFunction, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let ScalarFunction { func, args } = call;
    let (args, changed) = united(with_exact_literals(args, schema)?, of_list, schema)?;
    Ok(Transformed::new_transformed(Expr::ScalarFunction(ScalarFunction { func, args }), changed))
}

/// CASE, COALESCE and the like of numbers of several types in the type of all of them.
pub(in crate::datafusion) fn list_of_numbers(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    match expr {
        Expr::Case(Case { expr, when_then_expr, else_expr }) => {
            let (whens, mut results): (Vec<Box<Expr>>, Vec<Expr>) =
                when_then_expr.into_iter().map(|(when, then)| (when, *then)).unzip();
            let has_else = else_expr.is_some();
            results.extend(else_expr.map(|expr| *expr));
            let (mut results, changed) = united(results, of_list, schema)?;
            let else_expr = if has_else { results.pop().map(Box::new) } else { None };
            let when_then_expr = whens.into_iter().zip(results.into_iter().map(Box::new)).collect();
            Ok(Transformed::new_transformed(Expr::Case(Case { expr, when_then_expr, else_expr }), changed))
        }
        Expr::ScalarFunction(ScalarFunction { func, args }) if OF_ONE_TYPE.contains(&func.name()) => {
            let (args, changed) = united(args, of_list, schema)?;
            Ok(Transformed::new_transformed(Expr::ScalarFunction(ScalarFunction { func, args }), changed))
        }
        Expr::ScalarFunction(call) if call.func.name() == MAKE_ARRAY => elements_of_one_type(call, schema),
        other => Ok(Transformed::no(other)),
    }
}

/// Takes the casts to NUMERIC back that a list got for the scales of its values, if that is all that makes it one: a sum shows
/// the greatest scale of its values anyway, and is computed faster over decimals. Whether it was so.
fn of_one_scale(list: &mut Expr, schema: &DFSchema) -> bool {
    let mut values: Vec<&mut Expr> = match list {
        Expr::Case(case) => {
            let results = case.when_then_expr.iter_mut().map(|(_, result)| result.as_mut());
            results.chain(case.else_expr.as_deref_mut()).collect()
        }
        Expr::ScalarFunction(call) if call.func.name() == "coalesce" => call.args.iter_mut().collect(),
        _ => return false,
    };
    let decimals: Option<Vec<Expr>> = values.iter().map(|value| uncast(value, schema)).collect();
    let Some(decimals) = decimals else { return false };
    for (value, decimal) in values.iter_mut().zip(decimals) {
        **value = decimal;
    }
    true
}

/// What was cast to NUMERIC, if that has a known scale.
fn uncast(value: &Expr, schema: &DFSchema) -> Option<Expr> {
    match value {
        Expr::Literal(value, None) if value.is_null() => Some(Expr::Literal(ScalarValue::Null, None)),
        Expr::Literal(value, None) if is_numeric(&value.data_type()) => {
            let number = Numbers::of(&value.to_array().ok()?).ok()?.get(0).ok()??;
            let scale = number.scale()?;
            let units = number.to_units(scale).filter(|_| scale <= 38)?;
            let precision = (units.unsigned_abs().checked_ilog10().unwrap_or(0) + 1).max(scale).max(1);
            let decimal = ScalarValue::Decimal128(Some(units), u8::try_from(precision).ok()?, scale as i8);
            (precision <= 38).then_some(Expr::Literal(decimal, None))
        }
        Expr::ScalarFunction(call) if casts::is_cast_to_numeric(call) => {
            let [inner] = call.args.as_slice() else { return None };
            let known = inner.get_type(schema).ok()?;
            (known.is_integer() || matches!(known, DataType::Decimal128(..))).then(|| inner.clone())
        }
        _ => None,
    }
}

/// The greatest or the least of NUMERICs, of which NULLs do not count.
fn extreme(name: &'static str, args: Vec<Expr>) -> Expr {
    let function = function(name);
    let pick = |one: Expr, other: Expr| {
        let both = function.call(vec![one.clone(), other.clone()]);
        let only = vec![(Box::new(one.clone().is_null()), Box::new(other.clone()))];
        let either = Expr::Case(Case::new(None, only, Some(Box::new(both))));
        Expr::Case(Case::new(None, vec![(Box::new(other.is_null()), Box::new(one))], Some(Box::new(either))))
    };
    args.into_iter().reduce(pick).unwrap_or_default()
}

fn computes(op: Operator) -> bool {
    use Operator::{
        Divide, Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, Minus, Modulo, Multiply, NotEq, Plus,
    };
    matches!(
        op,
        Eq | NotEq
            | Lt
            | LtEq
            | Gt
            | GtEq
            | IsDistinctFrom
            | IsNotDistinctFrom
            | Plus
            | Minus
            | Multiply
            | Divide
            | Modulo
    )
}

/// The type in which two operands meet, where it is not the one that `DataFusion` takes.
fn of_operands(left: &DataType, right: &DataType) -> Option<DataType> {
    let meets = left != right && is_number(left) && is_number(right) && (left.is_floating() || right.is_floating());
    meets.then_some(DataType::Float64)
}

/// The type of a list of values where it is not the one that `DataFusion` takes, as in CASE, UNION or VALUES: floats where
/// some are floats, NUMERIC where exact numbers have several scales.
pub(in crate::datafusion) fn of_list(types: &[DataType]) -> Option<DataType> {
    let float = of_floats(types);
    if float.is_some() {
        return float;
    }
    let known = || types.iter().filter(|data_type| **data_type != DataType::Null);
    let is_mixed = known().any(|data_type| Some(data_type) != known().next());
    if !is_mixed || !known().all(is_exact) || known().all(DataType::is_integer) {
        return None;
    }
    // Each value keeps the scale that it has.
    let scale = |data_type: &DataType| match data_type {
        DataType::Decimal128(_, scale) => Some(*scale),
        known if known.is_integer() => Some(0),
        _ => None,
    };
    let first = known().next().and_then(scale);
    if first.is_some() && known().all(|data_type| scale(data_type) == first) { None } else { Some(data_type()) }
}

/// The same where floats are among them.
fn of_floats(types: &[DataType]) -> Option<DataType> {
    let known = || types.iter().filter(|data_type| **data_type != DataType::Null);
    let is_mixed = known().any(|data_type| Some(data_type) != known().next());
    let has = |wanted: &DataType| known().any(|data_type| data_type == wanted);
    if !is_mixed || !known().all(is_number) {
        return None;
    }
    [DataType::Float64, DataType::Float32].into_iter().find(has)
}

/// The expressions in the type that `common` finds for them, and whether that changes anything.
fn united(
    exprs: Vec<Expr>,
    common: fn(&[DataType]) -> Option<DataType>,
    schema: &DFSchema,
) -> Result<(Vec<Expr>, bool)> {
    let types: Result<Vec<DataType>> = exprs.iter().map(|expr| expr.get_type(schema)).collect();
    // What has no type is told when types are coerced.
    let Some(common) = types.ok().and_then(|types| common(&types)) else { return Ok((exprs, false)) };
    let cast = |expr: Expr| match expr {
        Expr::Literal(value, metadata) if value.is_null() => Ok(Expr::Literal(value, metadata)),
        expr => cast_number(expr, &common, schema),
    };
    Ok((exprs.into_iter().map(cast).collect::<Result<_>>()?, true))
}

/// Puts keys in the place of exact numbers that are compared with each other, if one of them is NUMERIC; whether one is.
fn keyed(exprs: &mut [Expr], schema: &DFSchema) -> Result<bool> {
    let types = exprs.iter().map(|expr| expr.get_type(schema)).collect::<Result<Vec<DataType>>>()?;
    if !types.iter().any(is_numeric) {
        return Ok(keyed_others(exprs, &types));
    }
    for (expr, known) in exprs.iter_mut().zip(&types) {
        if let Some(number) = operand(expr, known, schema)? {
            *expr = key(number);
        }
    }
    Ok(true)
}

fn of_comparisons(types: &[DataType]) -> Option<DataType> {
    of_floats(types).map(|_| DataType::Float64)
}

/// The same for JSONB and arrays, beside which texts become such.
fn keyed_others(exprs: &mut [Expr], types: &[DataType]) -> bool {
    let Some(common) = types.iter().find(|known| has_key(known)) else { return false };
    if !types.iter().all(|known| known == common || known.is_string() || known.is_null()) {
        return false;
    }
    for (expr, known) in exprs.iter_mut().zip(types) {
        let own = std::mem::take(expr);
        *expr = if is_jsonb(common) { keys::key(own, common) } else { array_key(own, Some(known), common) };
    }
    true
}

fn between(between: Between, schema: &DFSchema, config: &ConfigOptions) -> Result<Transformed<Expr>> {
    let Between { expr, negated, low, high } = between;
    let exprs = with_exact_literals(vec![*expr, *low, *high], schema)?;
    let (exprs, literals_changed) = with_bytes(exprs, schema, config)?;
    let (mut exprs, mut changed) = united(exprs, of_comparisons, schema)?;
    changed |= literals_changed;
    changed |= keyed(&mut exprs, schema)?;
    let [expr, low, high] = [0, 0, 0].map(|at| Box::new(exprs.remove(at)));
    let between = Expr::Between(Between { expr, negated, low, high });
    Ok(if changed { Transformed::yes(between) } else { Transformed::no(between) })
}

fn in_list(list: InList, schema: &DFSchema, config: &ConfigOptions) -> Result<Transformed<Expr>> {
    let InList { expr, list, negated } = list;
    // A list of one is a comparison.
    let common = if list.len() == 1 { of_comparisons } else { of_floats };
    let mut exprs = vec![*expr];
    exprs.extend(list);
    let (exprs, literals_changed) = with_typed_literals(with_exact_literals(exprs, schema)?, schema, config)?;
    let (mut exprs, mut changed) = united(exprs, common, schema)?;
    changed |= literals_changed;
    changed |= keyed(&mut exprs, schema)?;
    let expr = Box::new(exprs.remove(0));
    let (list, is_other) = equality::in_list(InList { expr, list: exprs, negated }, schema);
    Ok(Transformed::new_transformed(list, changed || is_other))
}

/// `IN (SELECT ...)` with both sides in the type, or with the keys, by which they are compared.
pub(in crate::datafusion) fn in_subquery(subquery: InSubquery, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let InSubquery { expr, mut subquery, negated } = subquery;
    let found = subquery.subquery.schema().fields().first().map(|field| field.data_type().clone());
    let common = match (expr.get_type(schema), found) {
        (Ok(expr), Some(found))
            if !expr.is_floating() && !found.is_floating() && (is_numeric(&expr) || is_numeric(&found)) =>
        {
            Some(data_type())
        }
        (Ok(expr), Some(found)) if expr == found && has_key(&expr) => Some(found),
        (Ok(expr), Some(found)) => of_operands(&expr, &found),
        _ => None,
    };
    let Some(common) = common else {
        return Ok(Transformed::no(Expr::InSubquery(InSubquery { expr, subquery, negated })));
    };
    let columns = subquery.subquery.schema().columns();
    let compared = |expr: Expr, schema: &DFSchema| {
        if has_key(&common) { Ok(keys::key(expr, &common)) } else { cast_number(expr, &common, schema) }
    };
    let cast = |column: Column| {
        let name = column.name.clone();
        Ok(compared(Expr::Column(column), subquery.subquery.schema())?.alias(name))
    };
    let exprs = columns.into_iter().map(cast).collect::<Result<Vec<Expr>>>()?;
    let plan = LogicalPlanBuilder::from(subquery.subquery.as_ref().clone()).project(exprs)?.build()?;
    subquery.subquery = Arc::new(plan);
    let expr = Box::new(compared(*expr, schema)?);
    Ok(Transformed::yes(Expr::InSubquery(InSubquery { expr, subquery, negated })))
}

/// CASE, whose results have one type, and so have its operand and what it is compared with.
fn case(case: Case, schema: &DFSchema, config: &ConfigOptions) -> Result<Transformed<Expr>> {
    let Case { expr, when_then_expr, else_expr } = case;
    let (mut whens, thens): (Vec<Expr>, Vec<Expr>) =
        when_then_expr.into_iter().map(|(when, then)| (*when, *then)).unzip();
    let mut changed = false;
    let expr = match expr {
        Some(expr) => {
            whens.insert(0, *expr);
            if whens[0].get_type(schema).is_ok_and(|known| known == DataType::Boolean) {
                whens = whens.into_iter().map(as_truth).collect();
            }
            let (typed, literals_changed) = with_bytes(with_exact_literals(whens, schema)?, schema, config)?;
            (whens, changed) = united(typed, of_comparisons, schema)?;
            changed |= literals_changed;
            changed |= keyed(&mut whens, schema)?;
            Some(Box::new(whens.remove(0)))
        }
        None => None,
    };
    let mut results = thens;
    let has_else = else_expr.is_some();
    results.extend(else_expr.map(|expr| *expr));
    let (results, literals_changed) = with_typed_literals(results, schema, config)?;
    let (mut results, results_changed) = united(results, of_list, schema)?;
    let else_expr = if has_else { results.pop().map(Box::new) } else { None };
    let when_then_expr = whens.into_iter().zip(results).map(|(when, then)| (Box::new(when), Box::new(then))).collect();
    let (case, is_other) = equality::searched(Case { expr, when_then_expr, else_expr }, schema);
    Ok(Transformed::new_transformed(Expr::Case(case), changed || literals_changed || results_changed || is_other))
}
