//! Columns that meet: in a set operation, in VALUES, in USING; and lists of numbers that become columns, such as CASE. Where
//! floats meet other numbers, all of them become floats, as in PostgreSQL; `DataFusion` would make decimals of them, which
//! hold neither NaN nor 1e22. Not here: operators (`operators`).

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, FieldRef, TimeUnit};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, ExprSchema, Result, not_impl_err};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::type_coercion::binary::type_union_resolution;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Case, Cast, Expr, ExprSchemable, Join, LogicalPlan, LogicalPlanBuilder, Union, Values};

use super::origin::shows_unknown;
use crate::datafusion::functions::casts::cast_number;
use crate::datafusion::functions::exact::operators::with_final_types;
use crate::datafusion::functions::numeric::is_exact;
use crate::datafusion::functions::operators::{list_of_numbers, of_list};
use crate::datafusion::functions::untyped::is_untyped;

/// The plan with such columns in their common types.
pub(in crate::datafusion) fn united(plan: LogicalPlan) -> Result<LogicalPlan> {
    let mut changed = false;
    let of_insert = values_of_insert(&plan).map(|values| Arc::clone(&values.schema));
    let plan = plan.transform_up_with_subqueries(|node| {
        let literals = with_typed_results(node)?;
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

/// A node whose literals among the results of CASE have the type of the other results.
fn with_typed_results(node: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let mut found = false;
    node.apply_expressions(|expr| {
        found = found || expr.exists(|part| Ok(matches!(part, Expr::Case(case) if results(case).any(is_untyped))))?;
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    if !found {
        return Ok(Transformed::no(node));
    }
    let schema = merge_schema(&node.inputs());
    let names = NamePreserver::new(&node);
    node.map_expressions(|expr| {
        let name = names.save(&expr);
        let typed = expr.transform_up(|part| {
            let Expr::Case(mut case) = part else { return Ok(Transformed::no(part)) };
            let types = results(&case).filter(|result| !is_untyped(result)).map(|result| result.get_type(&schema));
            let of = types.collect::<Result<Vec<_>>>().ok().and_then(|types| of_literals(&types));
            let mut changed = false;
            if let Some(of) = of {
                let results = case.when_then_expr.iter_mut().map(|(_, result)| result).chain(&mut case.else_expr);
                for result in results.filter(|result| is_untyped(result)) {
                    let literal = std::mem::take(result.as_mut());
                    **result = Expr::Cast(Cast::new(Box::new(literal), of.clone()));
                    changed = true;
                }
            }
            Ok(Transformed::new_transformed(Expr::Case(case), changed))
        })?;
        Ok(typed.update_data(|expr| name.restore(expr)))
    })
}

fn results(case: &Case) -> impl Iterator<Item = &Expr> {
    case.when_then_expr.iter().map(|(_, result)| result).chain(&case.else_expr).map(AsRef::as_ref)
}

/// The type that literals without one take beside values of these types; `None` where they are texts, and where they are read
/// as truth values or arrays later on (`untyped`).
fn of_literals(types: &[DataType]) -> Option<DataType> {
    let known = || types.iter().filter(|known| !known.is_null());
    let first = known().next()?;
    if matches!(first, DataType::Boolean | DataType::List(_)) || known().any(DataType::is_string) {
        return None;
    }
    if known().all(|other| other == first) {
        return Some(first.clone());
    }
    let is_number = |known: &DataType| known.is_floating() || is_exact(known);
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
    let commons: Vec<Option<DataType>> = (0..columns)
        .map(|column| {
            let typed = || union.inputs.iter().filter(|input| !shows_unknown(input, column));
            let types = typed().map(|input| Some(input.schema().fields().get(column)?.data_type().clone()));
            let types = types.collect::<Option<Vec<_>>>()?;
            let is_literal = |input: &Arc<LogicalPlan>| {
                input.schema().field(column).data_type().is_string() && shows_unknown(input, column)
            };
            let has_literals = union.inputs.iter().any(is_literal);
            common(&types).or_else(|| of_literals(&types).filter(|_| has_literals))
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
        let exprs = schema.columns().into_iter().zip(&commons).map(|(column, common)| match common {
            Some(common) => {
                let (relation, name) = (column.relation.clone(), column.name.clone());
                let own = schema.field_from_column(&column)?.data_type();
                let is_number = |known: &DataType| known.is_null() || known.is_floating() || is_exact(known);
                let column = Expr::Column(column);
                let cast = if is_number(own) && is_number(common) {
                    cast_number(column, common, &schema)?
                } else if own == common || own.is_null() {
                    column
                } else {
                    Expr::Cast(Cast::new(Box::new(column), common.clone()))
                };
                Ok(cast.alias_qualified(relation, name))
            }
            None => Ok(Expr::Column(column)),
        });
        let exprs = exprs.collect::<Result<Vec<_>>>()?;
        Ok(Arc::new(LogicalPlanBuilder::from(input).project(exprs)?.build()?))
    });
    let union = Union::try_new_with_loose_types(inputs.collect::<Result<_>>()?)?;
    Ok(Transformed::yes(LogicalPlan::Union(union)))
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
        let may_be_mixed = is_exact(field.data_type()) || field.data_type().is_floating();
        if !may_be_mixed || !values.values.iter().any(|row| matches!(row[column], Expr::Cast(_))) {
            commons.push(None);
            continue;
        }
        let types = values.values.iter().map(|row| own(&row[column])).collect::<Result<Vec<_>>>()?;
        // Casts to a type that the planner does not make of these are the statement's own, such as `2.5::int`.
        let is_planned = planned(&types).as_ref() == Some(field.data_type());
        commons.push(of_list(&types).filter(|common| is_planned && common != field.data_type()));
    }
    if commons.iter().all(Option::is_none) {
        return Ok(Transformed::no(LogicalPlan::Values(values)));
    }
    let rows = values.values.into_iter().map(|row| {
        let row = row.into_iter().zip(&commons).map(|(expr, common)| match (expr, common) {
            (Expr::Cast(Cast { expr, .. }), Some(common)) => cast_number(*expr, common, &nothing),
            (expr, Some(common)) => cast_number(expr, common, &nothing),
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
