//! Joins of few rows by equal keys: each row of the right side, in order, with those of the left side that have its key.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, UInt32Array, make_comparator, new_null_array};
use datafusion::arrow::compute::{SortOptions, take};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::arrow::row::{RowConverter, SortField};
use datafusion::common::{JoinSide, JoinType, NullEquality, Result};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::HashJoinExec;

use super::{batch, evaluated};
use crate::datafusion::functions::zeros::positive;

/// Pairs of rows, on the left and on the right side, of which one may be missing.
type Pairs = Vec<(Option<u32>, Option<u32>)>;

/// The pairs of rows that are compared one by one: to compare a few takes less than to hash their keys.
const COMPARED_MAX: usize = 256;

pub(super) fn can_run(join: &HashJoinExec) -> bool {
    let is_known = matches!(
        join.join_type(),
        JoinType::Inner
            | JoinType::Left
            | JoinType::Right
            | JoinType::LeftSemi
            | JoinType::LeftAnti
            | JoinType::RightSemi
            | JoinType::RightAnti
    );
    let fields = join.on().iter().map(|(left, _)| left.data_type(&join.left().schema()).map(SortField::new));
    let are_keys = fields.collect::<Result<Vec<_>>>().is_ok_and(|fields| RowConverter::supports_fields(&fields));
    is_known && !join.null_aware && are_keys
}

/// The rows of a join of these sides.
pub(super) fn rows(join: &HashJoinExec, left: &RecordBatch, right: &RecordBatch) -> Result<RecordBatch> {
    let (of_left, of_right): (Vec<_>, Vec<_>) = join.on().iter().cloned().unzip();
    let matches_null = join.null_equality() == NullEquality::NullEqualsNull;
    let (left_keys, right_keys) = (keys(&of_left, left)?, keys(&of_right, right)?);
    let mut matching = if left.num_rows() * right.num_rows() <= COMPARED_MAX {
        compared(&left_keys, &right_keys, matches_null)?
    } else {
        hashed(&left_keys, &right_keys, matches_null)?
    };
    if join.filter().is_some() {
        matching = filtered(join, left, right, matching)?;
    }
    let (lefts, rights) = (left.num_rows(), right.num_rows());
    let pairs = of_type(*join.join_type(), &matching, lefts as u32, rights as u32);
    let (on_left, on_right): (Vec<Option<u32>>, Vec<Option<u32>>) = pairs.into_iter().unzip();
    let count = on_left.len();
    let shows_left = !matches!(join.join_type(), JoinType::RightSemi | JoinType::RightAnti);
    let shows_right = !matches!(join.join_type(), JoinType::LeftSemi | JoinType::LeftAnti);
    let of_side = |side: &RecordBatch, rows: Vec<Option<u32>>, is_shown: bool| {
        let are_all = rows.len() == side.num_rows() && rows.iter().zip(0..).all(|(row, at)| *row == Some(at));
        if are_all || !is_shown {
            return Ok(side.columns().iter().filter(|_| is_shown).map(Arc::clone).collect());
        }
        let rows = UInt32Array::from(rows);
        side.columns().iter().map(|column| taken(column, &rows)).collect::<Result<Vec<_>>>()
    };
    let columns = [of_side(left, on_left, shows_left)?, of_side(right, on_right, shows_right)?].concat();
    let columns = match &join.projection {
        Some(shown) => shown.iter().map(|at| Arc::clone(&columns[*at])).collect(),
        None => columns,
    };
    batch(join.schema(), columns, count)
}

/// The rows that a join of this type has.
fn of_type(join_type: JoinType, matching: &[(u32, u32)], left: u32, right: u32) -> Pairs {
    let matched = |rows: u32, side: fn(&(u32, u32)) -> u32| {
        let mut matched = vec![false; rows as usize];
        for pair in matching {
            matched[side(pair) as usize] = true;
        }
        matched
    };
    let on_left = || (0..left).zip(matched(left, |pair| pair.0));
    let on_right = || (0..right).zip(matched(right, |pair| pair.1));
    let pairs = matching.iter().map(|(left, right)| (Some(*left), Some(*right)));
    match join_type {
        JoinType::Left => {
            pairs.chain(on_left().filter(|(_, is_matched)| !is_matched).map(|(at, _)| (Some(at), None))).collect()
        }
        JoinType::Right => {
            let mut pairs = pairs.peekable();
            let mut all = Vec::new();
            for (at, is_matched) in on_right() {
                if !is_matched {
                    all.push((None, Some(at)));
                }
                while let Some(pair) = pairs.next_if(|(_, on_right)| *on_right == Some(at)) {
                    all.push(pair);
                }
            }
            all
        }
        JoinType::LeftSemi | JoinType::LeftAnti => {
            let wanted = join_type == JoinType::LeftSemi;
            on_left().filter(|(_, is_matched)| *is_matched == wanted).map(|(at, _)| (Some(at), None)).collect()
        }
        JoinType::RightSemi | JoinType::RightAnti => {
            let wanted = join_type == JoinType::RightSemi;
            on_right().filter(|(_, is_matched)| *is_matched == wanted).map(|(at, _)| (None, Some(at))).collect()
        }
        _ => pairs.collect(),
    }
}

/// The pairs that the filter of the join leaves.
fn filtered(
    join: &HashJoinExec,
    left: &RecordBatch,
    right: &RecordBatch,
    matching: Vec<(u32, u32)>,
) -> Result<Vec<(u32, u32)>> {
    let Some(filter) = join.filter().filter(|_| !matching.is_empty()) else { return Ok(matching) };
    let on_left = UInt32Array::from_iter_values(matching.iter().map(|pair| pair.0));
    let on_right = UInt32Array::from_iter_values(matching.iter().map(|pair| pair.1));
    let columns = filter.column_indices().iter().map(|column| match column.side {
        JoinSide::Left => taken(left.column(column.index), &on_left),
        _ => taken(right.column(column.index), &on_right),
    });
    let pairs = batch(Arc::clone(filter.schema()), columns.collect::<Result<_>>()?, matching.len())?;
    let answers = evaluated(filter.expression(), &pairs)?;
    let answers = answers.as_boolean().iter().map(|answer| answer == Some(true));
    Ok(matching.into_iter().zip(answers).filter_map(|(pair, is_left)| is_left.then_some(pair)).collect())
}

/// These rows of a column, with NULL where there is none.
fn taken(column: &ArrayRef, rows: &UInt32Array) -> Result<ArrayRef> {
    if column.is_empty() {
        return Ok(new_null_array(column.data_type(), rows.len()));
    }
    Ok(take(column, rows, None)?)
}

/// The columns of the keys of one side.
fn keys(exprs: &[Arc<dyn PhysicalExpr>], side: &RecordBatch) -> Result<Vec<ArrayRef>> {
    // -0 is equal to 0.
    exprs.iter().map(|expr| Ok(positive(&evaluated(expr, side)?))).collect()
}

/// The rows that have a key.
fn with_key(keys: &[ArrayRef], with_null: bool) -> impl Iterator<Item = usize> + Clone {
    let has_key = move |at: &usize| with_null || keys.iter().all(|column| column.is_valid(*at));
    (0..keys.first().map_or(0, Array::len)).filter(has_key)
}

/// Pairs of rows with equal keys: each row of the right side compared with each of the left one.
fn compared(left: &[ArrayRef], right: &[ArrayRef], with_null: bool) -> Result<Vec<(u32, u32)>> {
    let columns = left.iter().zip(right);
    let columns = columns.map(|(left, right)| make_comparator(left, right, SortOptions::default()));
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let mut matching = Vec::new();
    for on_right in with_key(right, with_null) {
        let is_equal = |on_left: &usize| columns.iter().all(|compare| compare(*on_left, on_right).is_eq());
        matching.extend(with_key(left, with_null).filter(is_equal).map(|on_left| (on_left as u32, on_right as u32)));
    }
    Ok(matching)
}

/// Pairs of rows with equal keys, by a hash table of the left side.
fn hashed(left: &[ArrayRef], right: &[ArrayRef], with_null: bool) -> Result<Vec<(u32, u32)>> {
    let converter = RowConverter::new(left.iter().map(|column| SortField::new(column.data_type().clone())).collect())?;
    let (left_rows, right_rows) = (converter.convert_columns(left)?, converter.convert_columns(right)?);
    let mut by_key = HashMap::<&[u8], Vec<u32>>::new();
    for at in with_key(left, with_null) {
        by_key.entry(left_rows.row(at).data()).or_default().push(at as u32);
    }
    let mut matching = Vec::new();
    for at in with_key(right, with_null) {
        let equal = by_key.get(right_rows.row(at).data()).into_iter().flatten();
        matching.extend(equal.map(|on_left| (*on_left, at as u32)));
    }
    Ok(matching)
}
