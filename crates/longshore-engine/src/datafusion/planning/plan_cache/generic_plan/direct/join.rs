//! Joins of few rows by equal keys: each row of the right side, in order, with those of the left side that have its key.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, UInt32Array, new_null_array};
use datafusion::arrow::compute::take;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::arrow::row::{RowConverter, Rows, SortField};
use datafusion::common::{JoinSide, JoinType, NullEquality, Result};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::HashJoinExec;

use super::{batch, evaluated};
use crate::datafusion::functions::zeros::positive;

/// Pairs of rows, on the left and on the right side, of which one may be missing.
type Pairs = Vec<(Option<u32>, Option<u32>)>;

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
    let (left_keys, right_keys) = keys(&of_left, &of_right, left, right)?;
    let mut by_key = HashMap::<&[u8], Vec<u32>>::new();
    for (at, key) in left_keys.each(matches_null) {
        by_key.entry(key).or_default().push(at);
    }
    let mut matching: Vec<(u32, u32)> = Vec::new();
    for (at, key) in right_keys.each(matches_null) {
        matching.extend(by_key.get(key).into_iter().flatten().map(|on_left| (*on_left, at)));
    }
    if join.filter().is_some() {
        matching = filtered(join, left, right, matching)?;
    }
    let pairs = of_type(*join.join_type(), &matching, left.num_rows() as u32, right.num_rows() as u32);
    let (on_left, on_right): (Vec<Option<u32>>, Vec<Option<u32>>) = pairs.into_iter().unzip();
    let count = on_left.len();
    let (on_left, on_right) = (UInt32Array::from(on_left), UInt32Array::from(on_right));
    let shows_left = !matches!(join.join_type(), JoinType::RightSemi | JoinType::RightAnti);
    let shows_right = !matches!(join.join_type(), JoinType::LeftSemi | JoinType::LeftAnti);
    let of_side = |side: &RecordBatch, rows: &UInt32Array, is_shown: bool| {
        let columns = side.columns().iter().filter(|_| is_shown).map(|column| taken(column, rows));
        columns.collect::<Result<Vec<_>>>()
    };
    let columns = [of_side(left, &on_left, shows_left)?, of_side(right, &on_right, shows_right)?].concat();
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

/// The keys of one side.
struct Keys {
    rows: Rows,
    columns: Vec<ArrayRef>,
}

impl Keys {
    /// Each row that has a key.
    fn each(&self, with_null: bool) -> impl Iterator<Item = (u32, &[u8])> {
        let has_key = move |at: usize| with_null || self.columns.iter().all(|column| column.is_valid(at));
        (0..self.rows.num_rows()).filter(move |at| has_key(*at)).map(|at| (at as u32, self.rows.row(at).data()))
    }
}

fn keys(
    of_left: &[Arc<dyn PhysicalExpr>],
    of_right: &[Arc<dyn PhysicalExpr>],
    left: &RecordBatch,
    right: &RecordBatch,
) -> Result<(Keys, Keys)> {
    let columns = |exprs: &[Arc<dyn PhysicalExpr>], side: &RecordBatch| {
        // -0 is equal to 0.
        exprs.iter().map(|expr| Ok(positive(&evaluated(expr, side)?))).collect::<Result<Vec<_>>>()
    };
    let (left, right) = (columns(of_left, left)?, columns(of_right, right)?);
    let fields = left.iter().map(|column| SortField::new(column.data_type().clone())).collect();
    let converter = RowConverter::new(fields)?;
    let left = Keys { rows: converter.convert_columns(&left)?, columns: left };
    Ok((left, Keys { rows: converter.convert_columns(&right)?, columns: right }))
}
