//! Semi and anti joins look once at rows of their inner side that are alike.
//!
//! `WHERE a.country IN (SELECT country FROM b)` asks whether there is such a row. `DataFusion`'s hash join looks at all of them: at
//! each pair of rows with the same key, though it gives none; joins without a key look at all pairs. Where keys come again and again
//! on both sides, these are many more than there are rows. So there the rows of the inner side are grouped before, by what the
//! join looks at: its keys, and the columns of its condition. They are as a partial aggregate groups them, which stops where it sees
//! that few are alike.

use std::sync::Arc;

use datafusion::arrow::datatypes::Schema;
use datafusion::arrow::row::{RowConverter, SortField};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{JoinSide, JoinType, Result, Statistics};
use datafusion::physical_expr::PhysicalExprRef;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode, PhysicalGroupBy};
use datafusion::physical_plan::joins::utils::{JoinFilter, JoinOnRef};
use datafusion::physical_plan::joins::{HashJoinExec, NestedLoopJoinExec, NestedLoopJoinExecBuilder};
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};

/// Pairs for each row of both sides from which on keys are grouped: to group a row takes as long as some pairs.
const PAIRS_A_ROW: usize = 8;
/// Pairs that are not worth an operator.
const PAIRS_MIN: usize = 1_000_000;

type Plan = Arc<dyn ExecutionPlan>;

/// The same plan, whose semi and anti joins group the rows of their inner side where these come again and again.
pub(in crate::datafusion) fn with_distinct_keys(plan: Plan) -> Result<Plan> {
    plan.transform_up(|node| {
        let grouped = if let Some(join) = node.downcast_ref::<HashJoinExec>() {
            hash_join(join)?
        } else if let Some(join) = node.downcast_ref::<NestedLoopJoinExec>() {
            nested_loop_join(join)?
        } else {
            None
        };
        Ok(grouped.map_or_else(|| Transformed::no(node), Transformed::yes))
    })
    .map(|transformed| transformed.data)
}

/// The join over grouped rows; `None` where it stays as it is.
fn hash_join(join: &HashJoinExec) -> Result<Option<Plan>> {
    let Some(inner) = inner_side(join.join_type()) else { return Ok(None) };
    if !has_many_pairs(join.left(), join.right(), join.on())? {
        return Ok(None);
    }
    let (mut on, mut looked_at) = (join.on().to_vec(), Vec::new());
    for (left, right) in &mut on {
        let key = of_side(inner, left, right);
        let grouped = Arc::new(Column::new(&name(looked_at.len()), looked_at.len()));
        looked_at.push(std::mem::replace(key, grouped));
    }
    let schema = of_side(inner, join.left(), join.right()).schema();
    let filter = join.filter().map(|filter| over_groups(filter, (inner, &schema), &mut looked_at));
    let Some((left, right)) = grouped(join.left(), join.right(), inner, looked_at)? else { return Ok(None) };
    // The filter that scans of the right side take from the keys of the left one names columns that are no longer there.
    let builder = if inner == JoinSide::Right { join.builder().reset_state() } else { join.builder() };
    let builder = builder.with_on(on).with_filter(filter).with_new_children(vec![left, right])?;
    builder.recompute_properties().build_exec().map(Some)
}

/// The join over grouped rows; `None` where it stays as it is.
fn nested_loop_join(join: &NestedLoopJoinExec) -> Result<Option<Plan>> {
    let (Some(inner), Some(filter)) = (inner_side(join.join_type()), join.filter()) else { return Ok(None) };
    if !has_many_pairs(join.left(), join.right(), &[])? {
        return Ok(None);
    }
    let mut looked_at = Vec::new();
    let schema = of_side(inner, join.left(), join.right()).schema();
    let filter = over_groups(filter, (inner, &schema), &mut looked_at);
    let Some((left, right)) = grouped(join.left(), join.right(), inner, looked_at)? else { return Ok(None) };
    let builder = NestedLoopJoinExecBuilder::new(left, right, *join.join_type()).with_filter(Some(filter));
    Ok(Some(Arc::new(builder.with_projection_ref(join.projection().clone()).build()?)))
}

/// The condition, where the columns of the inner side are those that are `looked_at`. Adds the columns that the condition takes.
fn over_groups(
    filter: &JoinFilter,
    (inner, schema): (JoinSide, &Schema),
    looked_at: &mut Vec<PhysicalExprRef>,
) -> JoinFilter {
    let mut columns = filter.column_indices().to_vec();
    for column in columns.iter_mut().filter(|column| column.side == inner) {
        looked_at.push(Arc::new(Column::new(schema.field(column.index).name(), column.index)));
        column.index = looked_at.len() - 1;
    }
    JoinFilter::new(Arc::clone(filter.expression()), columns, Arc::clone(filter.schema()))
}

/// Both sides, the inner one grouped by what is looked at; `None` where that cannot be.
fn grouped(
    left: &Plan,
    right: &Plan,
    inner: JoinSide,
    looked_at: Vec<PhysicalExprRef>,
) -> Result<Option<(Plan, Plan)>> {
    let input = of_side(inner, left, right);
    let schema = input.schema();
    let fields =
        looked_at.iter().map(|expr| expr.data_type(&schema).map(SortField::new)).collect::<Result<Vec<_>>>()?;
    if looked_at.is_empty() || !RowConverter::supports_fields(&fields) {
        return Ok(None);
    }
    let named = looked_at.into_iter().enumerate().map(|(at, expr)| (expr, name(at)));
    let groups = PhysicalGroupBy::new_single(named.collect());
    let (no_aggregates, no_filters) = (Vec::new(), Vec::new());
    let input =
        AggregateExec::try_new(AggregateMode::Partial, groups, no_aggregates, no_filters, Arc::clone(input), schema)?;
    let grouped: Plan = Arc::new(input);
    Ok(Some(if inner == JoinSide::Left { (grouped, Arc::clone(right)) } else { (Arc::clone(left), grouped) }))
}

/// That of the two which is of this side.
fn of_side<T>(side: JoinSide, left: T, right: T) -> T {
    if side == JoinSide::Left { left } else { right }
}

/// What a column is called by which rows are grouped.
fn name(at: usize) -> String {
    format!("key_{at}")
}

/// The side of which the join gives no rows.
fn inner_side(join_type: &JoinType) -> Option<JoinSide> {
    match join_type {
        JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => Some(JoinSide::Right),
        JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => Some(JoinSide::Left),
        JoinType::Inner | JoinType::Left | JoinType::Right | JoinType::Full => None,
    }
}

/// Whether there are many more pairs of rows with equal keys than rows, as far as is known.
fn has_many_pairs(left: &Plan, right: &Plan, on: JoinOnRef<'_>) -> Result<bool> {
    let statistics = |plan: &Plan| StatisticsContext::new().compute(plan.as_ref(), &StatisticsArgs::new());
    let (of_left, of_right) = (statistics(left)?, statistics(right)?);
    let (Some(left_rows), Some(right_rows)) = (of_left.num_rows.get_value(), of_right.num_rows.get_value()) else {
        return Ok(true);
    };
    let distinct =
        distinct(on.iter().map(|(key, _)| key), &of_left).max(distinct(on.iter().map(|(_, key)| key), &of_right));
    let pairs = left_rows.saturating_mul(*right_rows) / distinct.max(1);
    Ok(pairs > PAIRS_MIN && pairs / PAIRS_A_ROW > left_rows.saturating_add(*right_rows))
}

/// How many different keys there are at least, as far as statistics know columns; 1 where they do not.
fn distinct<'a>(keys: impl Iterator<Item = &'a PhysicalExprRef>, statistics: &Statistics) -> usize {
    let of_key = |key: &PhysicalExprRef| {
        let column = key.downcast_ref::<Column>()?.index();
        statistics.column_statistics.get(column)?.distinct_count.get_value().copied()
    };
    keys.filter_map(of_key).max().unwrap_or(1)
}
