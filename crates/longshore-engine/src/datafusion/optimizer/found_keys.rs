//! Joins by index: keys of the few rows that one scan finds choose the rows of another scan that it is joined with.
//!
//! In `orders JOIN lines ON lines.order = orders.id WHERE orders.id = 7`, the first table is read by an index, the second one
//! as a whole: its filter comes to be when the join runs, and an index is asked before that. So the few rows that an index has
//! found are looked at when the plan is made, and the scan of the other table gets `lines.order IN (7)` as one more filter, by
//! which its index may find rows in its turn. The join itself stays.
//! Here: which scans are joined so (`key_joins`), and the filters (`choose_rows`); and the rule of plans that are made for
//! their values. Not here: generic plans, which do the same each time they are bound (`planning/plan_cache/generic_plan.rs`).

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::compute::{CastOptions, cast_with_options, concat};
use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{JoinSide, JoinType, NullEquality, Result, ScalarValue};
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{CastExpr, Column, in_list, lit};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::union::UnionExec;

use super::filter_pushdown::origins;
use crate::datafusion::scan::RelationSource;
use crate::datafusion::scan::pushdown::Projection;

/// More rows are not looked at.
const ROWS_MAX: usize = 64;

type Plan = Arc<dyn ExecutionPlan>;

/// Two scans, by their numbers, whose rows are joined by equal columns of their tables: no other row of the scan `to` is of
/// use than one whose columns are equal to those of a row of the scan `from`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::datafusion) struct KeyJoin {
    pub(in crate::datafusion) from: usize,
    pub(in crate::datafusion) to: usize,
    /// A column of the table of `from`, and the one of `to` that is equal to it.
    pub(in crate::datafusion) columns: Vec<(usize, usize)>,
}

/// The number of a scan and what it returns, of a node that is one.
pub(in crate::datafusion) type ScanOf<'a> = &'a dyn Fn(&Plan) -> Option<(usize, Projection)>;

/// Which scans of `plan` are joined by keys.
pub(in crate::datafusion) fn key_joins(plan: &Plan, scan_of: ScanOf<'_>) -> Vec<KeyJoin> {
    let mut found = Vec::new();
    let mut open = vec![plan];
    while let Some(node) = open.pop() {
        if let Some(join) = node.downcast_ref::<HashJoinExec>() {
            for to in [JoinSide::Left, JoinSide::Right] {
                let before = found.len();
                if needs_only_matches(join, to) {
                    of_join(join, to, scan_of, before, &mut found);
                }
            }
        }
        open.extend(node.children());
    }
    found
}

/// Whether a row of one side whose key no row of the other side has might as well not be there.
fn needs_only_matches(join: &HashJoinExec, side: JoinSide) -> bool {
    use JoinType::{Inner, Left, LeftAnti, LeftMark, LeftSemi, Right, RightAnti, RightMark, RightSemi};

    if join.null_aware || join.null_equality() != NullEquality::NullEqualsNothing {
        return false;
    }
    match side {
        JoinSide::Left => {
            matches!(join.join_type(), Inner | Right | LeftSemi | RightSemi | RightAnti | RightMark)
        }
        _ => matches!(join.join_type(), Inner | Left | LeftSemi | RightSemi | LeftAnti | LeftMark),
    }
}

/// Adds the scans on the side `to` of a join whose rows those on its other side choose; its own begin at `first` of `found`.
fn of_join(join: &HashJoinExec, to: JoinSide, scan_of: ScanOf<'_>, first: usize, found: &mut Vec<KeyJoin>) {
    for (left, right) in join.on() {
        let (left, right) = ((join.left(), left), (join.right(), right));
        let (from_key, to_key) = if to == JoinSide::Left { (right, left) } else { (left, right) };
        let trace =
            |(input, key): (&Plan, &Arc<dyn PhysicalExpr>)| trace(input, plain_column(key, &input.schema())?, scan_of);
        let (Some((from, from_column)), Some((to, to_column))) = (trace(from_key), trace(to_key)) else { continue };
        let columns = (from_column, to_column);
        match found[first..].iter_mut().find(|join| (join.from, join.to) == (from, to)) {
            Some(join) => join.columns.push(columns),
            None => found.push(KeyJoin { from, to, columns: vec![columns] }),
        }
    }
}

/// The scan below `node` that a column of `node` comes from, and which column of its table it is: where the column is not
/// NULL, it has the value of some row of the scan; and if the scan loses rows with other values of the column, `node` loses
/// rows with these values, and may have others where the column is NULL.
fn trace(node: &Plan, column: usize, scan_of: ScanOf<'_>) -> Option<(usize, usize)> {
    if let Some((number, projection)) = scan_of(node) {
        return Some((number, projection.columns[column]));
    }
    if node.is::<UnionExec>() {
        return None;
    }
    node.children().into_iter().enumerate().find_map(|(place, child)| {
        let origins = origins(node.as_ref(), place, child)?;
        let origin = origins.get(column)?.as_ref()?;
        trace(child, plain_column(origin, &child.schema())?, scan_of)
    })
}

/// The column of `schema` that an expression is, if need be as a wider whole number.
pub(in crate::datafusion) fn plain_column(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Option<usize> {
    if let Some(column) = expr.downcast_ref::<Column>() {
        return Some(column.index());
    }
    let cast = expr.downcast_ref::<CastExpr>()?;
    let column = plain_column(cast.expr(), schema)?;
    let widths = [schema.field(column).data_type(), cast.cast_type()];
    let is_wider = widths.iter().all(|width| width.is_signed_integer()) && widths[0].size() <= widths[1].size();
    is_wider.then_some(column)
}

/// Gives scans that are joined with few rows filters by the keys of these, where an index then finds the rows. `sources`
/// are the scans by their numbers. Whether any scan was given one.
pub(in crate::datafusion) fn choose_rows(
    sources: &mut HashMap<usize, RelationSource>,
    joins: &[KeyJoin],
) -> Result<bool> {
    let mut open: Vec<&KeyJoin> = joins.iter().collect();
    let mut has_chosen = false;
    // Rows that are chosen choose others.
    while let Some(at) = open.iter().position(|join| sources.get(&join.from).is_some_and(|from| few(from).is_some())) {
        let join = open.swap_remove(at);
        if let (Some(from), Some(to)) = (sources.get(&join.from), sources.get(&join.to))
            && let Some(chosen) = chosen(from, to, &join.columns)?
        {
            sources.insert(join.to, chosen);
            has_chosen = true;
        }
    }
    Ok(has_chosen)
}

/// How many rows an index has found for a scan, if they are few.
fn few(source: &RelationSource) -> Option<usize> {
    // Which rows are the first ones is not certain.
    let found = source.access.as_ref().filter(|_| source.fetch.is_none())?;
    Some(found.rows).filter(|rows| *rows <= ROWS_MAX)
}

/// The scan `to` of just those rows that are equal in some columns to the rows of `from`; `None` where no index finds them, or
/// where it finds no fewer than before.
fn chosen(from: &RelationSource, to: &RelationSource, columns: &[(usize, usize)]) -> Result<Option<RelationSource>> {
    if to.fetch.is_some() || few(to).is_some_and(|rows| Some(rows) <= few(from)) {
        return Ok(None);
    }
    let indexes = to.indexes();
    let columns = columns.iter().filter(|(_, column)| indexes.iter().any(|index| index.columns().contains(column)));
    let (from_columns, to_columns): (Vec<usize>, Vec<usize>) = columns.copied().unzip();
    if to_columns.is_empty() {
        return Ok(None);
    }
    // The error is one of the query when it runs.
    let Ok(batches) = from.read(&from_columns) else { return Ok(None) };
    let mut filters = Vec::new();
    for (at, column) in to_columns.into_iter().enumerate() {
        let arrays: Vec<&dyn Array> = batches.iter().map(|batch| batch.column(at).as_ref()).collect();
        let field = to.table.field(column);
        // Equal floating-point numbers may have several forms.
        if field.data_type().is_floating() {
            return Ok(None);
        }
        let mut keys = if arrays.is_empty() { Vec::new() } else { keys(&concat(&arrays)?, field.data_type())? };
        if keys.is_empty() {
            // No row is equal to it.
            keys.push(ScalarValue::try_new_null(field.data_type())?);
        }
        let column = Arc::new(Column::new(field.name(), column)) as Arc<dyn PhysicalExpr>;
        filters.push(in_list(column, keys.into_iter().map(lit).collect(), &false, &to.table)?);
    }
    let mut chosen = to.clone();
    chosen.filter(filters)?;
    let has_fewer = |found: usize| to.access.as_ref().is_none_or(|before| found < before.rows);
    Ok(chosen.access.as_ref().is_some_and(|access| has_fewer(access.rows)).then_some(chosen))
}

/// The values that are there and that a column of type `data_type` can have, each once.
fn keys(values: &ArrayRef, data_type: &DataType) -> Result<Vec<ScalarValue>> {
    let values = if values.data_type() == data_type {
        Arc::clone(values)
    } else {
        // A wider number that does not fit equals none.
        cast_with_options(values, data_type, &CastOptions { safe: true, ..CastOptions::default() })?
    };
    let mut keys = Vec::new();
    for row in (0..values.len()).filter(|row| values.is_valid(*row)) {
        let key = ScalarValue::try_from_array(&values, row)?;
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    Ok(keys)
}

/// The rule, which comes behind filters.
#[derive(Debug)]
pub(super) struct JoinByIndex;

impl PhysicalOptimizerRule for JoinByIndex {
    fn optimize(&self, plan: Plan, _config: &ConfigOptions) -> Result<Plan> {
        let mut sources = HashMap::new();
        let mut open = vec![&plan];
        while let Some(node) = open.pop() {
            // What stands in two places is not filtered in both.
            if let Some(source) = source_of(node)
                && sources.insert(number(node), source.clone()).is_some()
            {
                return Ok(plan);
            }
            open.extend(node.children());
        }
        if sources.len() < 2 || sources.values().all(|source| few(source).is_none()) {
            return Ok(plan);
        }
        let joins = key_joins(&plan, &|node| Some((number(node), source_of(node)?.projection.clone())));
        if !choose_rows(&mut sources, &joins)? {
            return Ok(plan);
        }
        let plan = plan.transform_up(|node| {
            Ok(match sources.remove(&number(&node)) {
                Some(source) => Transformed::yes(DataSourceExec::from_data_source(source) as Plan),
                None => Transformed::no(node),
            })
        })?;
        Ok(plan.data)
    }

    fn name(&self) -> &'static str {
        "JoinByIndex"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// A number that no other node of the same plan has.
fn number(node: &Plan) -> usize {
    Arc::as_ptr(node).cast::<()>() as usize
}

fn source_of(node: &Plan) -> Option<&RelationSource> {
    node.downcast_ref::<DataSourceExec>()?.data_source().downcast_ref()
}
