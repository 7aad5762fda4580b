//! Aggregates of few rows, each group in turn.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, UInt32Array};
use datafusion::arrow::compute::{filter_record_batch, take, take_record_batch};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::arrow::row::{RowConverter, SortField};
use datafusion::common::cast::as_boolean_array;
use datafusion::common::{Result, ScalarValue};
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};

use super::{batch, evaluated};
use crate::datafusion::functions::zeros::positive;

/// Whether it is one whose values need not come in an order, and whose groups are of one kind.
pub(super) fn can_run(aggregate: &AggregateExec) -> bool {
    let schema = aggregate.input_schema();
    let keys = aggregate.group_expr().expr().iter();
    let fields = keys.map(|(key, _)| key.data_type(&schema).map(SortField::new)).collect::<Result<Vec<_>>>();
    matches!(aggregate.mode(), AggregateMode::Single | AggregateMode::SinglePartitioned)
        && !aggregate.group_expr().has_grouping_set()
        && aggregate.limit_options().is_none()
        && aggregate.aggr_expr().iter().all(|function| function.order_bys().is_empty())
        && fields.is_ok_and(|fields| RowConverter::supports_fields(&fields))
}

/// The groups of these rows, in the order in which they come first.
pub(super) fn rows(aggregate: &AggregateExec, input: &RecordBatch) -> Result<RecordBatch> {
    let keys = aggregate.group_expr().expr();
    if keys.is_empty() {
        let values = values_of_group(aggregate, input)?.into_iter().map(|value| value.to_array());
        return batch(aggregate.schema(), values.collect::<Result<_>>()?, 1);
    }
    let keys = keys.iter().map(|(key, _)| evaluated(key, input)).collect::<Result<Vec<_>>>()?;
    let groups = groups(&keys)?;
    if groups.is_empty() {
        return Ok(RecordBatch::new_empty(aggregate.schema()));
    }
    let first = UInt32Array::from_iter_values(groups.iter().map(|rows| rows[0]));
    let mut columns = keys.iter().map(|key| take(key, &first, None)).collect::<Result<Vec<_>, _>>()?;
    let mut values: Vec<Vec<ScalarValue>> = vec![Vec::with_capacity(groups.len()); aggregate.aggr_expr().len()];
    for rows in &groups {
        let group = take_record_batch(input, &UInt32Array::from(rows.clone()))?;
        for (of_function, value) in values.iter_mut().zip(values_of_group(aggregate, &group)?) {
            of_function.push(value);
        }
    }
    columns.extend(values.into_iter().map(ScalarValue::iter_to_array).collect::<Result<Vec<_>>>()?);
    batch(aggregate.schema(), columns, groups.len())
}

/// The rows of each group.
fn groups(keys: &[ArrayRef]) -> Result<Vec<Vec<u32>>> {
    let converter = RowConverter::new(keys.iter().map(|key| SortField::new(key.data_type().clone())).collect())?;
    // -0 is equal to 0.
    let rows = converter.convert_columns(&keys.iter().map(positive).collect::<Vec<_>>())?;
    let mut known = HashMap::new();
    let mut groups: Vec<Vec<u32>> = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        let group = *known.entry(row).or_insert(groups.len());
        if group == groups.len() {
            groups.push(Vec::new());
        }
        groups[group].push(at as u32);
    }
    Ok(groups)
}

fn values_of_group(aggregate: &AggregateExec, group: &RecordBatch) -> Result<Vec<ScalarValue>> {
    let functions = aggregate.aggr_expr().iter().zip(aggregate.filter_expr());
    let values = functions.map(|(function, filter)| match filter {
        Some(filter) => {
            let answers = evaluated(filter, group)?;
            value(function, &filter_record_batch(group, as_boolean_array(&answers)?)?)
        }
        None => value(function, group),
    });
    values.collect()
}

fn value(function: &Arc<AggregateFunctionExpr>, rows: &RecordBatch) -> Result<ScalarValue> {
    let mut accumulator = function.create_accumulator()?;
    if rows.num_rows() > 0 {
        let values = function.expressions().iter().map(|expr| evaluated(expr, rows)).collect::<Result<Vec<_>>>()?;
        accumulator.update_batch(&values)?;
    }
    accumulator.evaluate()
}
