//! Columns by which a subquery depends on the query around it get names that no other column has.
//!
//! When `DataFusion` turns a correlated subquery into a join, it puts all columns of the subquery under one name of a
//! relation. Two columns of one name, of two relations of the subquery or of one relation and the select list, are the
//! same from then on: `b.k = a.k AND c.k = a.k` becomes twice the same condition, and rows are lost or made up. So where
//! a name is not the only one of its kind, a projection right above the relation adds a copy of the column under a name
//! of its own, and the condition refers to that.
//!
//! What it costs: a projection that copies nothing (columns are shared), only in such subqueries.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, Result, not_impl_err};
use datafusion::logical_expr::utils::{conjunction, split_conjunction, split_conjunction_owned};
use datafusion::logical_expr::{Expr, Filter, Join, JoinType, LogicalPlan, Projection, Subquery, SubqueryAlias};
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

/// The rule.
#[derive(Debug)]
pub(super) struct UniqueCorrelatedColumns;

/// What the names of copies begin with.
const COPY: &str = "__correlated_key";

/// Columns, and the names of their copies.
type Copies = BTreeMap<Column, String>;

impl OptimizerRule for UniqueCorrelatedColumns {
    fn name(&self) -> &'static str {
        "unique_correlated_columns"
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        plan.transform_up_with_subqueries(|node| match node {
            LogicalPlan::Subquery(subquery) => unique(subquery, config),
            other => Ok(Transformed::no(other)),
        })
    }
}

/// The subquery with copies of the columns that need them.
fn unique(subquery: Subquery, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
    let columns = ambiguous(&subquery.subquery)?;
    if columns.is_empty() {
        return Ok(Transformed::no(LogicalPlan::Subquery(subquery)));
    }
    let plan = subquery.subquery.as_ref().clone().transform_up(|node| match node {
        LogicalPlan::Filter(filter) => {
            let found = correlated(&filter.predicate).into_iter().filter(|column| columns.contains(column));
            let copies: Copies = found.map(|column| (column, config.alias_generator().next(COPY))).collect();
            let input = with_copies(filter.input, &copies)?;
            let predicate = renamed(filter.predicate, &copies)?;
            Ok(Transformed::yes(LogicalPlan::Filter(Filter::try_new(predicate, input)?)))
        }
        LogicalPlan::SubqueryAlias(derived) => {
            let input = with_given_copies(derived.input)?;
            Ok(Transformed::yes(LogicalPlan::SubqueryAlias(SubqueryAlias::try_new(input, derived.alias)?)))
        }
        other => other.recompute_schema().map(Transformed::yes),
    });
    Ok(Transformed::yes(LogicalPlan::Subquery(subquery.with_plan(Arc::new(plan.data()?)))))
}

/// The columns in the conditions of a plan on the query around it whose names are those of others, too: of a relation
/// beside theirs, of the select list, or of such conditions.
fn ambiguous(plan: &LogicalPlan) -> Result<BTreeSet<Column>> {
    let mut names: BTreeMap<String, BTreeSet<Column>> = BTreeMap::new();
    let mut add = |column: Column| {
        names.entry(column.name.clone()).or_default().insert(column);
    };
    plan.schema().columns().into_iter().for_each(&mut add);
    let mut keys = BTreeSet::new();
    plan.apply(|node| {
        if let LogicalPlan::Filter(filter) = node {
            let found = correlated(&filter.predicate);
            if !found.is_empty() {
                filter.input.schema().columns().into_iter().for_each(&mut add);
            }
            keys.extend(found);
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    keys.retain(|column| names[&column.name].len() > 1);
    Ok(keys)
}

/// The columns that stand in a condition beside some of the query around.
fn correlated(predicate: &Expr) -> BTreeSet<Column> {
    let conditions = split_conjunction(predicate).into_iter().filter(|condition| condition.contains_outer());
    conditions.flat_map(|condition| condition.column_refs().into_iter().cloned()).collect()
}

/// The predicate with the copies in its conditions on the query around.
fn renamed(predicate: Expr, copies: &Copies) -> Result<Expr> {
    let conditions = split_conjunction_owned(predicate).into_iter().map(|condition| {
        if !condition.contains_outer() {
            return Ok(condition);
        }
        let renamed = condition.transform(|expr| match &expr {
            Expr::Column(column) => Ok(match copies.get(column) {
                Some(copy) => Transformed::yes(Expr::Column(Column::new_unqualified(copy))),
                None => Transformed::no(expr),
            }),
            _ => Ok(Transformed::no(expr)),
        });
        renamed.data()
    });
    let conditions: Vec<Expr> = conditions.collect::<Result<_>>()?;
    Ok(conjunction(conditions).expect("a predicate has a condition"))
}

/// A derived table that gives the copies that were made within it, too: its conditions are looked up above it.
fn with_given_copies(plan: Arc<LogicalPlan>) -> Result<Arc<LogicalPlan>> {
    let made = made_within(&plan)?;
    let gives = |plan: &LogicalPlan| {
        let columns = plan.schema().columns();
        made.iter().all(|name| columns.iter().any(|column| column.name == *name))
    };
    if gives(&plan) {
        return Ok(plan);
    }
    match Arc::unwrap_or_clone(plan) {
        LogicalPlan::Projection(projection) if gives(&projection.input) => {
            let copies = projection.input.schema().columns().into_iter().filter(|column| made.contains(&column.name));
            let all = projection.expr.into_iter().chain(copies.map(Expr::Column)).collect();
            Ok(Arc::new(LogicalPlan::Projection(Projection::try_new(all, projection.input)?)))
        }
        _ => not_impl_err!(
            "a condition on the query around, in a derived table that groups, sorts or combines its rows, on a column \
             whose name another relation has, too"
        ),
    }
}

/// The names of the copies that were made within a plan.
fn made_within(plan: &LogicalPlan) -> Result<BTreeSet<String>> {
    let mut made = BTreeSet::new();
    plan.apply(|node| {
        if let LogicalPlan::Projection(projection) = node {
            let names = projection.expr.iter().filter_map(|expr| match expr {
                Expr::Alias(alias) if alias.name.starts_with(COPY) => Some(alias.name.clone()),
                _ => None,
            });
            made.extend(names);
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(made)
}

/// The plan with copies of columns, which are made as far down as joins let them through.
fn with_copies(plan: Arc<LogicalPlan>, copies: &Copies) -> Result<Arc<LogicalPlan>> {
    if copies.is_empty() {
        return Ok(plan);
    }
    let plan = match Arc::unwrap_or_clone(plan) {
        LogicalPlan::Filter(filter) => {
            LogicalPlan::Filter(Filter::try_new(filter.predicate, with_copies(filter.input, copies)?)?)
        }
        LogicalPlan::Join(join) if gives_both_sides(join.join_type) => {
            let (left, right): (Copies, Copies) =
                copies.clone().into_iter().partition(|(column, _)| join.left.schema().has_column(column));
            let (left, right) = (with_copies(join.left, &left)?, with_copies(join.right, &right)?);
            let (on, filter, constraint) = (join.on, join.filter, join.join_constraint);
            let equality = join.null_equality;
            LogicalPlan::Join(Join::try_new(
                left,
                right,
                on,
                filter,
                join.join_type,
                constraint,
                equality,
                join.null_aware,
            )?)
        }
        other => {
            let all = other.schema().columns().into_iter().map(Expr::Column);
            let copied = copies.iter().map(|(column, copy)| Expr::Column(column.clone()).alias(copy));
            let all = all.chain(copied).collect();
            LogicalPlan::Projection(Projection::try_new(all, Arc::new(other))?)
        }
    };
    Ok(Arc::new(plan))
}

fn gives_both_sides(join: JoinType) -> bool {
    matches!(join, JoinType::Inner | JoinType::Left | JoinType::Right | JoinType::Full)
}
