//! Values of enumerations in a plan: they are compared and sorted in the order of their labels, not as texts.
//!
//! An enumeration has no type of its own in Arrow. So before the plan is optimized, what is of one is looked up: columns of
//! tables, casts, and what gives one of these. Then ranks take their place in comparisons, sorts, `min`, `max` and their
//! like. Equality is left to the texts.

mod find;
mod functions;

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, Result, ScalarValue};
use datafusion::logical_expr::expr::{Between, InList, ScalarFunction};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{BinaryExpr, Distinct, Expr, LogicalPlan, Operator, SortExpr, lit};

use crate::catalog::Check;
use crate::datafusion::functions::enums::{Enumeration, FIRST, LAST, RANGE, input, label, range, rank};

use crate::datafusion::scan::enums::of_checks;
use find::{Found, of_column, of_expr};

/// The plan with such comparisons and sorts.
pub(in crate::datafusion) fn with_enums(plan: LogicalPlan) -> Result<LogicalPlan> {
    if !find::has_enums(&plan)? {
        return Ok(plan);
    }
    Ok(plan.transform_up_with_subqueries(of_node)?.data)
}

/// An expression over the columns of a table, whose rules are `checks`, with such comparisons.
pub(in crate::datafusion) fn compare_enums<'a, 'n>(
    expr: Expr,
    name: impl Fn(usize) -> &'n str,
    checks: impl Iterator<Item = &'a Check>,
) -> Result<Expr> {
    let found = of_checks(checks);
    if found.is_empty() && !expr.exists(|part| Ok(find::names_one(part)))? {
        return Ok(expr);
    }
    let column =
        |column: &Column| found.iter().find(|(at, _)| name(**at) == column.name).map(|(_, found)| Arc::clone(found));
    compared(expr, &column).map(|expr| expr.data)
}

fn of_node(node: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let inputs: Vec<LogicalPlan> = node.inputs().into_iter().cloned().collect();
    let column = |column: &Column| inputs.iter().find_map(|input| of_column(input, column));
    let node = match node {
        LogicalPlan::Sort(mut sort) => {
            let changed = sorted(&mut sort.expr, &column)?;
            return Ok(Transformed::new_transformed(LogicalPlan::Sort(sort), changed));
        }
        LogicalPlan::Distinct(Distinct::On(mut distinct)) => {
            let mut changed = false;
            for expr in &mut distinct.on_expr {
                changed |= key(expr, &column)?;
            }
            for expr in &mut distinct.select_expr {
                let name = expr.schema_name().to_string();
                let inner = compared(std::mem::take(expr), &column)?;
                let is_named = inner.data.schema_name().to_string() == name;
                *expr = if is_named { inner.data } else { inner.data.alias(name) };
                changed |= inner.transformed;
            }
            if let Some(keys) = &mut distinct.sort_expr {
                changed |= sorted(keys, &column)?;
            }
            return Ok(Transformed::new_transformed(LogicalPlan::Distinct(Distinct::On(distinct)), changed));
        }
        other => other,
    };
    let names = NamePreserver::new(&node);
    let node = node.map_expressions(|expr| {
        let name = names.save(&expr);
        Ok(compared(expr, &column)?.update_data(|expr| name.restore(expr)))
    })?;
    let changed = node.transformed;
    let node = functions::over_ranks(node.data, &column)?;
    Ok(Transformed::new_transformed(node.data, changed || node.transformed))
}

/// What is sorted by, with ranks; whether that changes anything.
fn sorted(keys: &mut [SortExpr], column: Found<'_>) -> Result<bool> {
    let mut changed = false;
    for sort in keys {
        changed |= key(&mut sort.expr, column)?;
    }
    Ok(changed)
}

fn key(expr: &mut Expr, column: Found<'_>) -> Result<bool> {
    let inner = compared(std::mem::take(expr), column)?;
    *expr = inner.data;
    let Some(found) = of_expr(expr, column) else { return Ok(inner.transformed) };
    *expr = rank(std::mem::take(expr), &found)?;
    Ok(true)
}

/// The expression with ranks where it compares.
fn compared(expr: Expr, column: Found<'_>) -> Result<Transformed<Expr>> {
    expr.transform_up(|part| {
        Ok(match part {
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
                let found = of_expr(&left, column).or_else(|| of_expr(&right, column));
                let binary =
                    |left, right| Expr::BinaryExpr(BinaryExpr { left: Box::new(left), op, right: Box::new(right) });
                match (found, op) {
                    (Some(found), Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq) => {
                        Transformed::yes(binary(rank(*left, &found)?, rank(*right, &found)?))
                    }
                    (Some(found), Operator::Eq | Operator::NotEq) => {
                        check(&left, &found)?;
                        check(&right, &found)?;
                        Transformed::no(binary(*left, *right))
                    }
                    _ => Transformed::no(binary(*left, *right)),
                }
            }
            Expr::Between(Between { expr, negated, low, high }) => {
                let found = [&expr, &low, &high].into_iter().find_map(|part| of_expr(part, column));
                let between = |expr, low, high| Expr::Between(Between { expr, negated, low, high });
                match found {
                    Some(found) => {
                        let ranked = |part: Box<Expr>| rank(*part, &found).map(Box::new);
                        Transformed::yes(between(ranked(expr)?, ranked(low)?, ranked(high)?))
                    }
                    None => Transformed::no(between(expr, low, high)),
                }
            }
            Expr::InList(list) => {
                if let InList { expr, list, .. } = &list
                    && let Some(found) = of_expr(expr, column)
                {
                    list.iter().try_for_each(|value| check(value, &found))?;
                }
                Transformed::no(Expr::InList(list))
            }
            Expr::ScalarFunction(call) => of_call(call, column)?,
            other => Transformed::no(other),
        })
    })
}

/// Refuses a literal that is no label.
fn check(value: &Expr, found: &Enumeration) -> Result<()> {
    match value {
        Expr::Literal(ScalarValue::Utf8(Some(text)) | ScalarValue::Utf8View(Some(text)), _) => {
            found.rank(text).map(|_| ())
        }
        _ => Ok(()),
    }
}

/// Functions whose result depends on the order of labels, or on what they are.
fn of_call(call: ScalarFunction, column: Found<'_>) -> Result<Transformed<Expr>> {
    let found = call.args.iter().find_map(|argument| of_expr(argument, column));
    let Some(found) = found else { return Ok(Transformed::no(Expr::ScalarFunction(call))) };
    let ScalarFunction { func, args } = call;
    let bound = |value: Expr| match value {
        Expr::Literal(value, _) if value.is_null() => Expr::Literal(ScalarValue::Utf8View(None), None),
        other => other,
    };
    Ok(match (func.name(), args.len()) {
        (FIRST, 1) => Transformed::yes(found.literal(found.labels.first())),
        (LAST, 1) => Transformed::yes(found.literal(found.labels.last())),
        (RANGE, 1) => {
            let none = || Expr::Literal(ScalarValue::Utf8View(None), None);
            Transformed::yes(range(none(), none(), &found))
        }
        (RANGE, 2) => {
            let mut args = args.into_iter().map(bound);
            let (from, to) = (args.next().unwrap_or_default(), args.next().unwrap_or_default());
            Transformed::yes(range(from, to, &found))
        }
        ("pg_typeof", 1) => Transformed::yes(lit(found.name.clone())),
        ("greatest" | "least", _) => {
            let ranks = args.into_iter().map(|value| rank(value, &found)).collect::<Result<_>>()?;
            Transformed::yes(label(Expr::ScalarFunction(ScalarFunction { func, args: ranks }), &found))
        }
        ("coalesce" | "nullif", _) => {
            let checked = |value: Expr| match &value {
                Expr::Literal(ScalarValue::Utf8(Some(_)), _) => input(value, &found, false),
                _ => value,
            };
            let args = args.into_iter().map(checked).collect();
            Transformed::no(Expr::ScalarFunction(ScalarFunction { func, args }))
        }
        _ => Transformed::no(Expr::ScalarFunction(ScalarFunction { func, args })),
    })
}
