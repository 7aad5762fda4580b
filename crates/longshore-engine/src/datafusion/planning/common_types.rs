//! Columns that meet: in a set operation, in VALUES, in USING; and lists of numbers that become columns, such as CASE. Where
//! floats meet other numbers, all of them become floats, as in PostgreSQL; `DataFusion` would make decimals of them, which
//! hold neither NaN nor 1e22. Not here: operators (`operators`).

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, FieldRef, TimeUnit};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result, not_impl_err};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::type_coercion::binary::type_union_resolution;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Cast, Expr, ExprSchemable, Join, LogicalPlan, LogicalPlanBuilder, Union, Values};

use super::origin::{column_of_known_type, known_type, shows_unknown};
use crate::builtin_types::BuiltinType;
use crate::datafusion::functions::casts::cast_number;
use crate::datafusion::functions::exact::operators::with_final_types;
use crate::datafusion::functions::numeric::{data_type, is_number};
use crate::datafusion::functions::operators::{OF_ONE_TYPE, list_of_numbers, of_list};
use crate::datafusion::functions::untyped::is_untyped;
use crate::datafusion::functions::uuid_in;

/// The plan with such columns in their common types.
pub(in crate::datafusion) fn united(plan: LogicalPlan) -> Result<LogicalPlan> {
    let mut changed = false;
    let of_insert = values_of_insert(&plan).map(|values| Arc::clone(&values.schema));
    let plan = plan.transform_up_with_subqueries(|node| {
        let literals = with_typed_literals(node)?;
        changed |= literals.transformed;
        let typed = of_expressions(literals.data, changed)?;
        changed |= typed.transformed;
        // Once a type has changed, so may those of everything above.
        let node = if changed { typed.data.recompute_schema()? } else { typed.data };
        let united = match node {
            LogicalPlan::Union(union) => of_union(union)?,
            LogicalPlan::Values(values) if !of_insert.as_ref().is_some_and(|own| Arc::ptr_eq(own, &values.schema)) => {
                of_values(values)?
            }
            LogicalPlan::Join(join) => of_join(join)?,
            other => Transformed::no(other),
        };
        changed |= united.transformed;
        Ok(united)
    })?;
    Ok(plan.data)
}

/// What literals without a type are read as.
enum ReadAs {
    Type(DataType),
    /// A text that is a UUID.
    Uuid,
}

impl ReadAs {
    fn cast(&self, literal: Expr) -> Expr {
        match self {
            Self::Type(to) => Expr::Cast(Cast::new(Box::new(literal), to.clone())),
            Self::Uuid => uuid_in::function().call(vec![literal]),
        }
    }
}

/// A node whose literals in CASE, COALESCE and the like have the type of the values beside them.
fn with_typed_literals(node: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let mut found = false;
    node.apply_expressions(|expr| {
        found = found || expr.exists(|part| Ok(values(part).iter().any(|value| is_untyped(value))))?;
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    let input = match node.inputs()[..] {
        [input] if found => input.clone(),
        _ => return Ok(Transformed::no(node)),
    };
    let names = NamePreserver::new(&node);
    node.map_expressions(|expr| {
        let name = names.save(&expr);
        let typed = expr.transform_up(|mut part| {
            let list = values(&part);
            let read_as = if list.iter().any(|value| is_untyped(value)) { read_as(&list, &input) } else { None };
            let Some(read_as) = read_as else { return Ok(Transformed::no(part)) };
            for value in values_mut(&mut part).into_iter().filter(|value| is_untyped(value)) {
                *value = read_as.cast(std::mem::take(value));
            }
            Ok(Transformed::yes(part))
        })?;
        Ok(typed.update_data(|expr| name.restore(expr)))
    })
}

/// The values that CASE, COALESCE and the like choose among; none of other expressions.
fn values(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::Case(case) => {
            let results = case.when_then_expr.iter().map(|(_, result)| result).chain(&case.else_expr);
            results.map(AsRef::as_ref).collect()
        }
        Expr::ScalarFunction(call) if OF_ONE_TYPE.contains(&call.func.name()) => call.args.iter().collect(),
        _ => Vec::new(),
    }
}

fn values_mut(expr: &mut Expr) -> Vec<&mut Expr> {
    match expr {
        Expr::Case(case) => {
            let results = case.when_then_expr.iter_mut().map(|(_, result)| result).chain(&mut case.else_expr);
            results.map(AsMut::as_mut).collect()
        }
        Expr::ScalarFunction(call) => call.args.iter_mut().collect(),
        _ => Vec::new(),
    }
}

/// What literals among these are read as; `None` where they are texts, and where they are read as truth values or arrays later on
/// (`untyped`).
fn read_as(values: &[&Expr], input: &LogicalPlan) -> Option<ReadAs> {
    let typed = || values.iter().filter(|value| !is_untyped(value));
    if typed().any(|value| known_type(value, input).is_some_and(is_uuid)) {
        return Some(ReadAs::Uuid);
    }
    let types: Vec<_> = typed().map(|value| value.get_type(input.schema())).collect::<Result<_>>().ok()?;
    let of = of_literals(&types).filter(|of| !matches!(of, DataType::Boolean | DataType::List(_)));
    of.map(ReadAs::Type)
}

fn is_uuid((known, is_array): (&BuiltinType, bool)) -> bool {
    known.name == "uuid" && !is_array
}

/// The type that literals without one take beside values of these types; `None` where they are texts.
fn of_literals(types: &[DataType]) -> Option<DataType> {
    let known = || types.iter().filter(|known| !known.is_null());
    let first = known().next()?;
    if known().any(DataType::is_string) {
        return None;
    }
    if known().all(|other| other == first) {
        // A literal has the digits that it is written with.
        return Some(if first.is_decimal() { data_type() } else { first.clone() });
    }
    common(types).or_else(|| planned(types).filter(|_| known().all(is_number)))
}

/// The common type of several, where it is not the one that `DataFusion` takes.
fn common(types: &[DataType]) -> Option<DataType> {
    of_list(types).or_else(|| of_moments(types))
}

/// The same of dates and timestamps, of which `DataFusion` makes nanoseconds.
fn of_moments(types: &[DataType]) -> Option<DataType> {
    let known = || types.iter().filter(|known| !known.is_null());
    let is_moment =
        |known: &DataType| matches!(known, DataType::Date32 | DataType::Timestamp(TimeUnit::Microsecond, _));
    let first = known().next()?;
    if !known().all(is_moment) || known().all(|other| other == first) {
        return None;
    }
    known()
        .max_by_key(|known| match known {
            DataType::Timestamp(_, zone) => 1 + u8::from(zone.is_some()),
            _ => 0,
        })
        .cloned()
}

/// A node whose lists of numbers have the types that they have in the end, which is what expressions above must know; and whose
/// operators fit those types, if some have changed.
fn of_expressions(node: LogicalPlan, changed: bool) -> Result<Transformed<LogicalPlan>> {
    let mut has_lists = false;
    if matches!(node, LogicalPlan::Projection(_)) {
        node.apply_expressions(|expr| {
            has_lists = has_lists || expr.exists(|part| Ok(matches!(part, Expr::Case(_) | Expr::ScalarFunction(_))))?;
            Ok(if has_lists { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })?;
    }
    if !has_lists && !changed {
        return Ok(Transformed::no(node));
    }
    let schema = merge_schema(&node.inputs());
    let names = NamePreserver::new(&node);
    node.map_expressions(|expr| {
        let name = names.save(&expr);
        let typed = expr.transform_up(|part| {
            let typed = if has_lists { list_of_numbers(part, &schema)? } else { Transformed::no(part) };
            if !changed {
                return Ok(typed);
            }
            typed.transform_data(|part| with_final_types(part, &schema))
        })?;
        Ok(typed.update_data(|expr| name.restore(expr)))
    })
}

fn of_union(union: Union) -> Result<Transformed<LogicalPlan>> {
    let columns = union.schema.fields().len();
    let commons: Vec<Option<ReadAs>> = (0..columns)
        .map(|column| {
            let typed = || union.inputs.iter().filter(|input| !shows_unknown(input, column));
            let types = typed().map(|input| Some(input.schema().fields().get(column)?.data_type().clone()));
            let types = types.collect::<Option<Vec<_>>>()?;
            let is_literal = |input: &Arc<LogicalPlan>| {
                input.schema().field(column).data_type().is_string() && shows_unknown(input, column)
            };
            let has_literals = union.inputs.iter().any(is_literal);
            if has_literals && typed().any(|input| column_of_known_type(input, column).is_some_and(is_uuid)) {
                return Some(ReadAs::Uuid);
            }
            common(&types).or_else(|| of_literals(&types).filter(|_| has_literals)).map(ReadAs::Type)
        })
        .collect();
    if commons.iter().all(Option::is_none) {
        let is_stale = |(column, field): (usize, &FieldRef)| {
            let is_own = |input: &Arc<LogicalPlan>| input.schema().field(column).data_type() == field.data_type();
            !union.inputs.iter().any(is_own)
        };
        if !union.schema.fields().iter().enumerate().any(is_stale) {
            return Ok(Transformed::no(LogicalPlan::Union(union)));
        }
        return Union::try_new_with_loose_types(union.inputs).map(|union| Transformed::yes(LogicalPlan::Union(union)));
    }
    let inputs = union.inputs.into_iter().map(|input| {
        let schema = Arc::clone(input.schema());
        let exprs = schema.columns().into_iter().zip(&commons).enumerate().map(|(at, (column, common))| {
            let Some(common) = common else { return Ok(Expr::Column(column)) };
            let (relation, name) = (column.relation.clone(), column.name.clone());
            let column = Expr::Column(column);
            let cast = match common {
                ReadAs::Uuid if !shows_unknown(&input, at) => column,
                ReadAs::Uuid => common.cast(column),
                ReadAs::Type(to) => in_type(column, to, &schema)?,
            };
            Ok(cast.alias_qualified(relation, name))
        });
        let exprs = exprs.collect::<Result<Vec<_>>>()?;
        Ok(Arc::new(LogicalPlanBuilder::from(Arc::unwrap_or_clone(input)).project(exprs)?.build()?))
    });
    let union = Union::try_new_with_loose_types(inputs.collect::<Result<_>>()?)?;
    Ok(Transformed::yes(LogicalPlan::Union(union)))
}

/// `expr` in a type that it has in common with others.
fn in_type(expr: Expr, to: &DataType, schema: &DFSchema) -> Result<Expr> {
    let own = expr.get_type(schema)?;
    Ok(if (own.is_null() || is_number(&own)) && is_number(to) {
        cast_number(expr, to, schema)?
    } else if own == *to || own.is_null() {
        expr
    } else {
        Expr::Cast(Cast::new(Box::new(expr), to.clone()))
    })
}

/// The values that an INSERT itself has: they are of the types of its columns.
fn values_of_insert(plan: &LogicalPlan) -> Option<&Values> {
    let LogicalPlan::Dml(insert) = plan else { return None };
    let input = match insert.input.as_ref() {
        LogicalPlan::Projection(projection) => projection.input.as_ref(),
        input => input,
    };
    if let LogicalPlan::Values(values) = input { Some(values) } else { None }
}

/// Rows of values, of which the planner has cast some to decimals already.
///
/// It takes a CASE for one of the type of its first result, and rounded the others to that:
/// `VALUES (CASE WHEN false THEN 0.5 ELSE 0.255 END)` was 0.3. A CASE of several types is refused, as it does not show whether
/// a cast around it is the planner's.
fn of_values(values: Values) -> Result<Transformed<LogicalPlan>> {
    let nothing = DFSchema::empty();
    for value in values.values.iter().flatten() {
        if value.exists(|part| is_case_of_several_types(part, &nothing))? {
            return not_impl_err!(
                "a CASE in VALUES has results of several types; cast its first result to the type that is wanted, \
                 or write SELECT ... UNION ALL in place of VALUES"
            );
        }
    }
    let own = |expr: &Expr| match expr {
        Expr::Cast(Cast { expr, .. }) => expr.get_type(&nothing),
        expr => expr.get_type(&nothing),
    };
    let mut commons = Vec::with_capacity(values.schema.fields().len());
    for (column, field) in values.schema.fields().iter().enumerate() {
        // Dates and timestamps have become nanoseconds.
        let are_moments = matches!(field.data_type(), DataType::Timestamp(TimeUnit::Nanosecond, _));
        let may_be_mixed = is_number(field.data_type()) || are_moments;
        if !may_be_mixed || !values.values.iter().any(|row| matches!(row[column], Expr::Cast(_))) {
            commons.push(None);
            continue;
        }
        let types = values.values.iter().map(|row| own(&row[column])).collect::<Result<Vec<_>>>()?;
        // Casts to a type that the planner does not make of these are the statement's own, such as `2.5::int`.
        let is_planned = planned(&types).as_ref() == Some(field.data_type());
        commons.push(common(&types).filter(|common| is_planned && common != field.data_type()));
    }
    if commons.iter().all(Option::is_none) {
        return Ok(Transformed::no(LogicalPlan::Values(values)));
    }
    let rows = values.values.into_iter().map(|row| {
        let row = row.into_iter().zip(&commons).map(|(expr, common)| match (expr, common) {
            (Expr::Cast(Cast { expr, .. }), Some(common)) => in_type(*expr, common, &nothing),
            (expr, Some(common)) => in_type(expr, common, &nothing),
            (expr, None) => Ok(expr),
        });
        row.collect::<Result<Vec<_>>>()
    });
    Ok(Transformed::yes(LogicalPlanBuilder::values(rows.collect::<Result<_>>()?)?.build()?))
}

/// The type that the planner makes of values of these types, one after the other.
fn planned(types: &[DataType]) -> Option<DataType> {
    let mut known = types.iter().filter(|data_type| !data_type.is_null()).cloned();
    let first = known.next()?;
    known.try_fold(first, |common, other| type_union_resolution(&[common, other]))
}

fn is_case_of_several_types(expr: &Expr, schema: &DFSchema) -> Result<bool> {
    let Expr::Case(case) = expr else { return Ok(false) };
    let results = case.when_then_expr.iter().map(|(_, result)| result).chain(&case.else_expr);
    let types = results.map(|result| result.get_type(schema)).collect::<Result<Vec<DataType>>>()?;
    let mut known = types.into_iter().filter(|data_type| !data_type.is_null());
    let Some(first) = known.next() else { return Ok(false) };
    Ok(known.any(|other| other != first && !(first.is_string() && other.is_string())))
}

/// A join by equal columns.
fn of_join(mut join: Join) -> Result<Transformed<LogicalPlan>> {
    let mut changed = false;
    for (left, right) in &mut join.on {
        let types = [left.get_type(join.left.schema())?, right.get_type(join.right.schema())?];
        if types.iter().any(DataType::is_floating) && of_list(&types).is_some() {
            let take = |expr: &mut Expr, schema| cast_number(std::mem::take(expr), &DataType::Float64, schema);
            *left = take(left, join.left.schema())?;
            *right = take(right, join.right.schema())?;
            changed = true;
        }
    }
    let join = LogicalPlan::Join(join);
    Ok(if changed { Transformed::yes(join) } else { Transformed::no(join) })
}
