//! Keys of joins of which some are equal when both are NULL, and some are not; and keys over several tables.
//!
//! A join has one answer for all of its keys. In 55.2, `a IS NOT DISTINCT FROM b` becomes a key of a join whose keys are equal
//! when both are NULL. Then the rule that takes inner joins apart, and puts them together again with a cross join between,
//! gives all of them the answer of the first: `t JOIN u ON a IS NOT DISTINCT FROM b CROSS JOIN v` lost the rows of NULL, and
//! what stands in WHERE found rows where it is NULL. And an equality that arrives at the join later becomes one more key. So
//! such keys are conditions again before either rule looks at them, and become keys at the end.
//!
//! The same rule loses a key of which one side has columns of several inputs, as in `t JOIN (u JOIN v ...) ON t.a = (u.b < v.c)`. So
//! that is a condition, too.

use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{JoinType, NullEquality, Result};
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, Join, LogicalPlan, Operator, binary_expr};
use datafusion::optimizer::eliminate_cross_join::EliminateCrossJoin;
use datafusion::optimizer::extract_equijoin_predicate::ExtractEquijoinPredicate;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

/// Takes keys out of conditions, those of one kind only.
pub(super) fn extract_keys(
    rule: &ExtractEquijoinPredicate,
    plan: LogicalPlan,
    config: &dyn OptimizerConfig,
) -> Result<Transformed<LogicalPlan>> {
    let plan = match plan {
        LogicalPlan::Join(join) if equates_nulls(&join) && join.filter.is_some() => {
            LogicalPlan::Join(by_conditions(join))
        }
        plan => plan,
    };
    rule.rewrite(plan, config)
}

/// Puts inner joins together again so that each has its keys, with conditions where NULL equals NULL.
pub(super) fn eliminate_cross_joins(
    rule: &EliminateCrossJoin,
    plan: LogicalPlan,
    config: &dyn OptimizerConfig,
) -> Result<Transformed<LogicalPlan>> {
    let is_found = |join: &Join| join.join_type == JoinType::Inner && (equates_nulls(join) || has_wide_key(join));
    let mut found = false;
    plan.apply_with_subqueries(|node| {
        found |= matches!(node, LogicalPlan::Join(join) if is_found(join));
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    if !found {
        return rule.rewrite(plan, config);
    }
    let plan = plan.transform_up_with_subqueries(|node| {
        Ok(match node {
            LogicalPlan::Join(join) if is_found(&join) => {
                let join = if equates_nulls(&join) { by_conditions(join) } else { without_wide_keys(join) };
                Transformed::yes(LogicalPlan::Join(join))
            }
            other => Transformed::no(other),
        })
    })?;
    rule.rewrite(plan.data, config).map(|rewritten| Transformed::yes(rewritten.data))
}

/// Whether the join has keys, and finds NULL equal to NULL.
fn equates_nulls(join: &Join) -> bool {
    join.null_equality == NullEquality::NullEqualsNull && !join.on.is_empty() && !join.null_aware
}

/// Whether one of the keys has columns of several inputs, once the inner joins below are taken apart.
fn has_wide_key(join: &Join) -> bool {
    join.on.iter().any(|(left, right)| is_wide(left, &join.left) || is_wide(right, &join.right))
}

fn is_wide(key: &Expr, input: &LogicalPlan) -> bool {
    match input {
        LogicalPlan::Join(join) if join.join_type == JoinType::Inner => {
            is_wide(key, &join.left) && is_wide(key, &join.right)
        }
        input => !key.column_refs().into_iter().all(|column| input.schema().has_column(column)),
    }
}

/// The join with conditions in the place of such keys.
fn without_wide_keys(mut join: Join) -> Join {
    let is_wide = |(left, right): &(Expr, Expr)| is_wide(left, &join.left) || is_wide(right, &join.right);
    let (wide, on): (Vec<_>, Vec<_>) = std::mem::take(&mut join.on).into_iter().partition(is_wide);
    let filter = conjunction(wide.into_iter().map(|(left, right)| left.eq(right)).chain(join.filter));
    Join { on, filter, ..join }
}

/// The join with conditions in the place of keys.
fn by_conditions(join: Join) -> Join {
    let equal = |(left, right): (Expr, Expr)| binary_expr(left, Operator::IsNotDistinctFrom, right);
    let filter = conjunction(join.on.into_iter().map(equal).chain(join.filter));
    Join { on: Vec::new(), filter, null_equality: NullEquality::NullEqualsNothing, ..join }
}
