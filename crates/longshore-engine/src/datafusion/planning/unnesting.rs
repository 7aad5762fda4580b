//! Subqueries that depend on the query around them, wherever they stand: as values, in CASE, in ORDER BY, with ORDER BY and
//! LIMIT of their own, by any condition, through several levels; and LATERAL.
//!
//! `DataFusion` makes joins of those that depend on equal columns, and these stay as they are ([`trial`] asks it). All others
//! are unnested here, after Neumann and Kemper, *Unnesting Arbitrary Queries* (BTW 2015). A subquery S over the outer columns
//! of the rows I becomes a query over all values that these columns have, and its rows are joined to those of I:
//!
//! ```text
//! D  = the distinct values of the outer columns in I
//! S' = the rows of S for each row of D, which is joined to the tables of S where they refer to it (domain)
//! I LEFT JOIN S' ON the outer columns IS NOT DISTINCT FROM those of D
//! ```
//!
//! The paper computes I once; here it stands in the plan twice, but for one that calls `random()` and the like.
//! Inner subqueries come first, so that one which depends on several levels becomes a part of the level in between.
//! Not here: IN and EXISTS that depend on nothing (`null_logic`).

mod domain;
mod joined;
mod plain;
mod trial;

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, Result, TableReference, not_impl_err};
use datafusion::execution::SessionState;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{
    Aggregate, Distinct, DistinctOn, Expr, Filter, Join, JoinType, LogicalPlan, LogicalPlanBuilder, Projection, Sort,
    Subquery, Window,
};

use crate::datafusion::execution::complexity;
use joined::Source;

/// `plan` without subqueries that `DataFusion` could not make joins of.
///
/// # Errors
/// A subquery stands where it cannot be joined.
pub(in crate::datafusion) fn unnested(plan: LogicalPlan, state: &SessionState) -> Result<LogicalPlan> {
    if !is_needed(&plan)? {
        return Ok(plan);
    }
    let levels = complexity::levels(&plan);
    complexity::with_stack(levels, || Unnester { state, named: 0 }.plan(plan).map(|plan| plan.data))
}

fn is_needed(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply_with_subqueries(|node| {
        found |= node.contains_outer_reference() || is_computed_limit(node)? || has_comparison(node)?;
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

struct Unnester<'a> {
    state: &'a SessionState,
    /// Columns that have been given names.
    named: usize,
}

impl Unnester<'_> {
    /// A name that no other column of the statement has.
    fn fresh(&mut self, what: &str) -> String {
        self.named += 1;
        format!("{what} {} (hidden)", self.named)
    }

    fn plan(&mut self, plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
        let plan = conditions_below_lateral(plan)?;
        let Transformed { data: plan, mut transformed, .. } = plan.map_children(|input| self.plan(input))?;
        let plan = match plan {
            LogicalPlan::Subquery(Subquery { subquery, spans, .. }) => {
                let outer_ref_columns = subquery.all_out_ref_exprs();
                return Ok(Transformed::yes(LogicalPlan::Subquery(Subquery { subquery, outer_ref_columns, spans })));
            }
            LogicalPlan::Join(join) if is_lateral(&join) => return self.lateral(join).map(Transformed::yes),
            plan if transformed => plan.recompute_schema()?,
            plan => plan,
        };
        if !has_subqueries(&plan)? {
            return Ok(Transformed::new_transformed(plan, transformed));
        }
        let plan = plan.map_subqueries(|subquery| self.plan(subquery))?;
        transformed |= plan.transformed;
        let plan = plan.data;
        if let LogicalPlan::Limit(limit) = &plan {
            return self.limited(limit).map(Transformed::yes);
        }
        let references = outer_references(&plan)?;
        if references.is_empty() && !has_comparison(&plan)? {
            return Ok(Transformed::new_transformed(plan, transformed));
        }
        let is_own = |column: &Column| plan.inputs().iter().any(|input| input.schema().has_column(column));
        if references.iter().all(is_own) && trial::is_left(&plan, self.state) {
            return Ok(Transformed::new_transformed(plan, transformed));
        }
        self.node(plan).map(Transformed::yes)
    }

    /// The operator with joins in the place of its subqueries that depend on something.
    fn node(&mut self, plan: LogicalPlan) -> Result<LogicalPlan> {
        let names = NamePreserver::new(&plan);
        let schema = Arc::clone(plan.schema());
        match plan {
            LogicalPlan::Projection(Projection { expr, input, .. }) => {
                let mut source = Source::new(self, input)?;
                let exprs = expr.into_iter().zip(schema.iter());
                let exprs = exprs.map(|(expr, (qualifier, field))| {
                    Ok(domain::named(source.replaced(expr)?, qualifier, field.name()))
                });
                let exprs = exprs.collect::<Result<Vec<_>>>()?;
                Ok(LogicalPlan::Projection(Projection::try_new(exprs, source.rows())?))
            }
            LogicalPlan::Filter(Filter { predicate, input, .. }) => {
                let (later, first): (Vec<Expr>, Vec<Expr>) =
                    split_conjunction_owned(predicate).into_iter().partition(has_outer);
                let input = match conjunction(first) {
                    Some(first) => Arc::new(LogicalPlan::Filter(Filter::try_new(first, input)?)),
                    None => input,
                };
                let mut source = Source::new(self, input)?;
                let later = later.into_iter().map(|expr| source.condition(expr)).collect::<Result<Vec<_>>>()?;
                let rows = source.rows();
                let rows = match conjunction(later) {
                    Some(later) => Arc::new(LogicalPlan::Filter(Filter::try_new(later, rows)?)),
                    None => rows,
                };
                columns_of(rows, schema.columns())
            }
            LogicalPlan::Sort(Sort { expr, input, fetch }) => {
                let mut source = Source::new(self, input)?;
                let keys = expr.into_iter().map(|mut key| {
                    key.expr = source.replaced(key.expr)?;
                    Ok(key)
                });
                let expr = keys.collect::<Result<Vec<_>>>()?;
                let sorted = LogicalPlan::Sort(Sort { expr, input: source.rows(), fetch });
                columns_of(Arc::new(sorted), schema.columns())
            }
            LogicalPlan::Aggregate(Aggregate { input, group_expr, aggr_expr, .. }) => {
                let mut source = Source::new(self, input)?;
                let mut replaced = |exprs: Vec<Expr>| {
                    let replaced = exprs.into_iter().map(|expr| {
                        let name = names.save(&expr);
                        Ok(name.restore(source.replaced(expr)?))
                    });
                    replaced.collect::<Result<Vec<_>>>()
                };
                let (groups, aggregates) = (replaced(group_expr)?, replaced(aggr_expr)?);
                Ok(LogicalPlan::Aggregate(Aggregate::try_new(source.rows(), groups, aggregates)?))
            }
            LogicalPlan::Window(Window { input, window_expr, .. }) => {
                let mut source = Source::new(self, input)?;
                let exprs = window_expr.into_iter().map(|expr| {
                    let name = names.save(&expr);
                    Ok(name.restore(source.replaced(expr)?))
                });
                let exprs = exprs.collect::<Result<Vec<_>>>()?;
                let window = LogicalPlan::Window(Window::try_new(exprs, source.rows())?);
                columns_of(Arc::new(window), schema.columns())
            }
            LogicalPlan::Distinct(Distinct::On(DistinctOn { on_expr, select_expr, sort_expr, input, .. })) => {
                let mut source = Source::new(self, input)?;
                let on = on_expr.into_iter().map(|expr| source.replaced(expr)).collect::<Result<Vec<_>>>()?;
                let select = select_expr.into_iter().zip(schema.iter());
                let select = select.map(|(expr, (qualifier, field))| {
                    Ok(domain::named(source.replaced(expr)?, qualifier, field.name()))
                });
                let select = select.collect::<Result<Vec<_>>>()?;
                let sort = sort_expr.map(|keys| {
                    let keys = keys.into_iter().map(|mut key| {
                        key.expr = source.replaced(key.expr)?;
                        Ok(key)
                    });
                    keys.collect::<Result<Vec<_>>>()
                });
                let distinct = DistinctOn::try_new(on, select, sort.transpose()?, source.rows())?;
                Ok(LogicalPlan::Distinct(Distinct::On(distinct)))
            }
            LogicalPlan::Join(join) => self.join(join),
            other => not_impl_err!("a subquery that depends on the query around it, in {}", other.display()),
        }
    }

    /// A join with subqueries in its condition.
    fn join(&mut self, mut join: Join) -> Result<LogicalPlan> {
        let filter = join.filter.take().map(split_conjunction_owned).unwrap_or_default();
        let (later, first): (Vec<Expr>, Vec<Expr>) = filter.into_iter().partition(has_outer);
        join.filter = conjunction(first);
        if join.join_type == JoinType::Inner {
            let columns = join.schema.columns();
            let filter = Filter::try_new(conjunction(later).unwrap_or_default(), Arc::new(LogicalPlan::Join(join)))?;
            return columns_of(Arc::new(self.node(LogicalPlan::Filter(filter))?), columns);
        }
        let columns = join.schema.columns();
        let (side, other) = match join.join_type {
            JoinType::Left => (&mut join.right, &mut join.left),
            JoinType::Right => (&mut join.left, &mut join.right),
            _ => {
                return not_impl_err!(
                    "a subquery that depends on the query around it, in the condition of a FULL JOIN"
                );
            }
        };
        let (mut within, mut beyond) = (Vec::new(), Vec::new());
        for expr in later {
            let references = outer_references_of(&expr)?;
            let used = expr.column_refs();
            if used.into_iter().chain(&references).all(|column| side.schema().has_column(column)) {
                within.push(expr);
            } else if references.iter().all(|column| other.schema().has_column(column)) && compares_own(&expr, other)? {
                beyond.push(expr);
            } else {
                return not_impl_err!(
                    "a subquery in the condition of an outer join that depends on both sides; compute it in FROM first"
                );
            }
        }
        if !beyond.is_empty() {
            // What a subquery gives for a row of the side that is there in any case stands beside that row.
            let mut source = Source::new(self, Arc::clone(other))?;
            let replaced = beyond.into_iter().map(|expr| source.replaced(expr)).collect::<Result<Vec<_>>>()?;
            *other = source.rows();
            join.filter = conjunction(join.filter.into_iter().chain(replaced));
        }
        if let Some(within) = conjunction(within) {
            let filter = Filter::try_new(within, Arc::clone(side))?;
            *side = Arc::new(self.node(LogicalPlan::Filter(filter))?);
        }
        columns_of(Arc::new(LogicalPlan::Join(join).recompute_schema()?), columns)
    }

    /// A join whose right side takes columns from the left one.
    fn lateral(&mut self, join: Join) -> Result<LogicalPlan> {
        let Join { left, right, on, filter, join_type, schema, .. } = join;
        let names: Vec<(Option<TableReference>, String)> =
            right.schema().iter().map(|(qualifier, field)| (qualifier.cloned(), field.name().clone())).collect();
        let rows = match lateral(&right) {
            Some((subquery, Some(_))) => domain::renamed(subquery.subquery.as_ref().clone(), &[], &names)?,
            Some((subquery, None)) => subquery.subquery.as_ref().clone(),
            None => right.as_ref().clone(),
        };
        let mut source = Source::new(self, left)?;
        let (rows, keys) = source.bound(&rows)?;
        let conditions = on.into_iter().map(|(left, right)| left.eq(right)).chain(filter).chain(keys);
        let joined = LogicalPlanBuilder::from(source.rows());
        let joined = joined.join_on(rows, join_type, conditions.collect::<Vec<_>>())?.build()?;
        columns_of(Arc::new(joined), schema.columns())
    }
}

/// These columns of the rows, in this order.
fn columns_of(rows: Arc<LogicalPlan>, columns: Vec<Column>) -> Result<LogicalPlan> {
    if rows.schema().columns() == columns {
        return Ok(Arc::unwrap_or_clone(rows));
    }
    let columns = columns.into_iter().map(Expr::Column).collect();
    Ok(LogicalPlan::Projection(Projection::try_new(columns, rows)?))
}

/// Whether all that an expression looks for in subqueries is of these rows.
fn compares_own(expr: &Expr, rows: &LogicalPlan) -> Result<bool> {
    let is_other = expr.exists(|part| {
        let compared = match part {
            Expr::InSubquery(of) => &of.expr,
            Expr::SetComparison(of) => &of.expr,
            _ => return Ok(false),
        };
        Ok(!compared.column_refs().into_iter().all(|column| rows.schema().has_column(column)))
    })?;
    Ok(!is_other)
}

/// Whether the right side of a join takes columns from the left one, be it deep within: the planner marks a LATERAL only if it
/// does so itself, and not a join that has one.
fn is_lateral(join: &Join) -> bool {
    let takes =
        |expr: &Expr| matches!(expr, Expr::OuterReferenceColumn(_, column) if join.left.schema().has_column(column));
    lateral(&join.right).is_some()
        || matches!(join.join_type, JoinType::Inner | JoinType::Left)
            && join.right.all_out_ref_exprs().iter().any(takes)
}

/// The query of a LATERAL that depends on what stands before it, and whether it has an alias.
fn lateral(plan: &LogicalPlan) -> Option<(&Subquery, Option<&TableReference>)> {
    match plan {
        LogicalPlan::Subquery(subquery) => Some((subquery, None)),
        LogicalPlan::SubqueryAlias(alias) => match alias.input.as_ref() {
            LogicalPlan::Subquery(subquery) => Some((subquery, Some(&alias.alias))),
            _ => None,
        },
        _ => None,
    }
}

/// The conditions of WHERE put below the LATERAL that they have nothing to do with: its left side is joined by them first.
fn conditions_below_lateral(plan: LogicalPlan) -> Result<LogicalPlan> {
    let LogicalPlan::Filter(Filter { predicate, input, .. }) = &plan else { return Ok(plan) };
    let LogicalPlan::Join(join) = input.as_ref() else { return Ok(plan) };
    if lateral(&join.right).is_none() || !matches!(join.join_type, JoinType::Inner | JoinType::Left) {
        return Ok(plan);
    }
    let is_of_left = |expr: &Expr| {
        let columns = expr.column_refs();
        let is_plain = !expr.is_volatile() && !has_subquery(expr);
        is_plain && !columns.is_empty() && columns.into_iter().all(|column| join.left.schema().has_column(column))
    };
    let (below, above): (Vec<Expr>, Vec<Expr>) =
        split_conjunction_owned(predicate.clone()).into_iter().partition(is_of_left);
    let Some(below) = conjunction(below) else { return Ok(plan) };
    let left = LogicalPlan::Filter(Filter::try_new(below, Arc::clone(&join.left))?);
    let join = LogicalPlan::Join(Join { left: Arc::new(left), ..join.clone() });
    match conjunction(above) {
        Some(above) => Ok(LogicalPlan::Filter(Filter::try_new(above, Arc::new(join))?)),
        None => Ok(join),
    }
}

/// Whether a value is compared by ANY or ALL, which the planner makes a join of in conditions only.
fn has_comparison(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply_expressions(|expr| {
        found |= expr.exists(|part| Ok(matches!(part, Expr::SetComparison(_))))?;
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

/// Whether the number of rows is the value of a query, which the planner does not know.
fn is_computed_limit(plan: &LogicalPlan) -> Result<bool> {
    Ok(matches!(plan, LogicalPlan::Limit(_)) && has_subqueries(plan)?)
}

fn has_subqueries(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply_expressions(|expr| {
        found |= has_subquery(expr);
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

fn has_subquery(expr: &Expr) -> bool {
    expr.exists(|part| Ok(subquery(part).is_some())).is_ok_and(|found| found)
}

/// Whether a subquery in `expr` depends on the query around it, or is compared by ANY or ALL.
fn has_outer(expr: &Expr) -> bool {
    let is_one = |part: &Expr| {
        matches!(part, Expr::SetComparison(_))
            || subquery(part).is_some_and(|subquery| !subquery.outer_ref_columns.is_empty())
    };
    expr.exists(|part| Ok(is_one(part))).is_ok_and(|found| found)
}

fn subquery(expr: &Expr) -> Option<&Subquery> {
    match expr {
        Expr::ScalarSubquery(subquery) => Some(subquery),
        Expr::Exists(exists) => Some(&exists.subquery),
        Expr::InSubquery(list) => Some(&list.subquery),
        Expr::SetComparison(comparison) => Some(&comparison.subquery),
        _ => None,
    }
}

/// The outer columns of all subqueries of an operator.
fn outer_references(plan: &LogicalPlan) -> Result<Vec<Column>> {
    let mut found = Vec::new();
    plan.apply_expressions(|expr| {
        found.extend(outer_references_of(expr)?);
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(found)
}

fn outer_references_of(expr: &Expr) -> Result<Vec<Column>> {
    let mut found = Vec::new();
    expr.apply(|part| {
        let references = subquery(part).map(|subquery| subquery.outer_ref_columns.as_slice()).unwrap_or_default();
        found.extend(references.iter().filter_map(|reference| match reference {
            Expr::OuterReferenceColumn(_, column) => Some(column.clone()),
            _ => None,
        }));
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(found)
}
