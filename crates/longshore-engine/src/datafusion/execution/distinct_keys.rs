//! Semi and anti joins look at each key of their inner side once.
//!
//! `WHERE a.country IN (SELECT country FROM b)` asks whether there is such a row. `DataFusion`'s hash join looks at all of them: at
//! each pair of rows with the same key, though it gives none. Where keys come again and again on both sides, these are many more
//! than there are rows. So there the keys of the inner side are grouped before. They are as a partial aggregate groups them, which
//! stops where it sees that few keys come again. Not here: joins with a further condition, which must see all pairs.

use std::sync::Arc;

use datafusion::arrow::datatypes::Schema;
use datafusion::arrow::row::{RowConverter, SortField};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{JoinSide, JoinType, Result, Statistics};
use datafusion::physical_expr::PhysicalExprRef;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode, PhysicalGroupBy};
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};

/// Pairs for each row of both sides from which on keys are grouped: to group a row takes as long as some pairs.
const PAIRS_A_ROW: usize = 8;
/// Pairs that are not worth an operator.
const PAIRS_MIN: usize = 1_000_000;

type Plan = Arc<dyn ExecutionPlan>;

/// The same plan, whose semi and anti joins group the keys of their inner side where these come again and again.
pub(in crate::datafusion) fn with_distinct_keys(plan: Plan) -> Result<Plan> {
    plan.transform_up(|node| {
        Ok(match node.downcast_ref::<HashJoinExec>().map(over_distinct_keys).transpose()?.flatten() {
            Some(join) => Transformed::yes(join),
            None => Transformed::no(node),
        })
    })
    .map(|transformed| transformed.data)
}

/// The join over grouped keys; `None` where it stays as it is.
fn over_distinct_keys(join: &HashJoinExec) -> Result<Option<Plan>> {
    let Some(inner) = inner_side(join.join_type()).filter(|_| join.filter().is_none()) else { return Ok(None) };
    if !has_many_pairs(join)? {
        return Ok(None);
    }
    let (mut left, mut right) = (Arc::clone(join.left()), Arc::clone(join.right()));
    let input = if inner == JoinSide::Left { &mut left } else { &mut right };
    let schema = input.schema();
    let (mut keys, mut on, mut fields) = (Vec::new(), join.on().to_vec(), Vec::new());
    for (left, right) in &mut on {
        let key = if inner == JoinSide::Left { left } else { right };
        let (at, name) = (keys.len(), format!("key_{}", keys.len()));
        fields.push(SortField::new(key.data_type(&schema)?));
        let grouped = Arc::new(Column::new(&name, at));
        keys.push((std::mem::replace(key, grouped), name));
    }
    if !RowConverter::supports_fields(&fields) {
        return Ok(None);
    }
    let groups = PhysicalGroupBy::new_single(keys);
    *input = Arc::new(AggregateExec::try_new(
        AggregateMode::Partial,
        groups,
        Vec::new(),
        Vec::new(),
        Arc::clone(input),
        schema,
    )?);
    // The filter that scans of the right side take from the keys of the left one names columns that are no longer there.
    let builder = if inner == JoinSide::Right { join.builder().reset_state() } else { join.builder() };
    builder.with_on(on).with_new_children(vec![left, right])?.recompute_properties().build_exec().map(Some)
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
fn has_many_pairs(join: &HashJoinExec) -> Result<bool> {
    let statistics = |plan: &Plan| StatisticsContext::new().compute(plan.as_ref(), &StatisticsArgs::new());
    let (left, right) = (statistics(join.left())?, statistics(join.right())?);
    let (Some(left_rows), Some(right_rows)) = (left.num_rows.get_value(), right.num_rows.get_value()) else {
        return Ok(true);
    };
    let keys = || join.on().iter();
    let distinct = distinct(keys().map(|(key, _)| key), &left, &join.left().schema()).max(distinct(
        keys().map(|(_, key)| key),
        &right,
        &join.right().schema(),
    ));
    let pairs = left_rows.saturating_mul(*right_rows) / distinct.max(1);
    Ok(pairs > PAIRS_MIN && pairs / PAIRS_A_ROW > left_rows.saturating_add(*right_rows))
}

/// How many different keys there are at least, as far as statistics know columns; 1 where they do not.
fn distinct<'a>(keys: impl Iterator<Item = &'a PhysicalExprRef>, statistics: &Statistics, schema: &Schema) -> usize {
    let of_key = |key: &PhysicalExprRef| {
        let column = key.downcast_ref::<Column>().filter(|column| column.index() < schema.fields().len())?;
        statistics.column_statistics.get(column.index())?.distinct_count.get_value().copied()
    };
    keys.filter_map(of_key).max().unwrap_or(1)
}
