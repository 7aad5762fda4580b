//! Columns that meet: in a set operation, in VALUES, in USING; and lists of numbers that become columns, such as CASE. Where
//! floats meet other numbers, all of them become floats, as in PostgreSQL; `DataFusion` would make decimals of them, which
//! hold neither NaN nor 1e22. Not here: operators (`operators`).

mod columns;
mod rows;
mod subqueries;

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::type_coercion::binary::type_union_resolution;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Cast, Expr, ExprSchemable, Join, LogicalPlan};

use super::multisets::is_set_operation;
use super::origin::{Known, known_type};
use super::type_names::bpchar;
use crate::datafusion::functions::casts::cast_number;
use crate::datafusion::functions::exact::operators::with_final_types;
use crate::datafusion::functions::numeric::{data_type, is_number};
use crate::datafusion::functions::operators::{OF_ONE_TYPE, list_of_numbers, of_list};
use crate::datafusion::functions::time::kinds::Kind;
use crate::datafusion::functions::untyped::is_untyped;
use crate::datafusion::functions::uuid_in;
use columns::{of_set_operation, of_union};
use rows::{of_values, values_of_insert};
use subqueries::with_comparable_rows;

/// The plan with such columns in their common types.
pub(in crate::datafusion) fn united(plan: LogicalPlan) -> Result<LogicalPlan> {
    let mut changed = false;
    let of_insert = values_of_insert(&plan).map(|values| Arc::clone(&values.schema));
    let plan = plan.transform_up_with_subqueries(|node| {
        let literals = with_typed_literals(node)?.transform_data(with_comparable_rows)?;
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
            LogicalPlan::Join(join) if is_set_operation(&join) => of_set_operation(join)?,
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
    /// A text whose trailing blanks do not count, and which is shown in this length.
    Char(Option<i32>),
}

impl ReadAs {
    /// What they are read as beside values of a type that is a text to Arrow, and not TEXT.
    fn text((known, is_array): Known) -> Option<Self> {
        match known.name {
            "uuid" if !is_array => Some(Self::Uuid),
            "bpchar" if !is_array => Some(Self::Char(None)),
            _ => None,
        }
    }

    fn cast(&self, literal: Expr) -> Expr {
        match self {
            Self::Type(to) => Expr::Cast(Cast::new(Box::new(literal), to.clone())),
            Self::Uuid => uuid_in::function().call(vec![literal]),
            Self::Char(length) => Expr::Cast(Cast::new_from_field(Box::new(literal), bpchar(*length))),
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
    if let Some(form) = typed().filter_map(|value| known_type(value, input)).find_map(ReadAs::text) {
        return Some(form);
    }
    let types: Vec<_> = typed().map(|value| value.get_type(input.schema())).collect::<Result<_>>().ok()?;
    let of = of_literals(&types).filter(|of| !matches!(of, DataType::Boolean | DataType::List(_)));
    of.map(ReadAs::Type)
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
    of_list(types).or_else(|| of_moments(types)).or_else(|| of_times(types))
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

/// The same of times of day with and without a zone.
fn of_times(types: &[DataType]) -> Option<DataType> {
    let kinds = || types.iter().filter(|known| !known.is_null()).map(Kind::of);
    let are_both = [Kind::Time, Kind::TimeTz].iter().all(|kind| kinds().any(|known| known == Some(*kind)));
    let are_times = kinds().all(|known| matches!(known, Some(Kind::Time | Kind::TimeTz)));
    (are_both && are_times).then(|| Kind::TimeTz.data_type())
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

/// The type that the planner makes of values of these types, one after the other.
fn planned(types: &[DataType]) -> Option<DataType> {
    let mut known = types.iter().filter(|data_type| !data_type.is_null()).cloned();
    let first = known.next()?;
    known.try_fold(first, |common, other| type_union_resolution(&[common, other]))
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
