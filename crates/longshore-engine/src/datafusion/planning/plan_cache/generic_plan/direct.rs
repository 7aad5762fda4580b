//! A generic plan without streams: each operator takes all rows of those below it, in one call.
//!
//! For a few rows, to open streams, and to measure what goes through them, takes several times as long as to compute what is
//! asked for. Plans with other operators are left to the streams.

mod aggregate;
mod join;

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, new_null_array};
use datafusion::arrow::compute::{concat_batches, filter_record_batch};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::common::cast::as_boolean_array;
use datafusion::common::{Result, internal_err};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::placeholder_row::PlaceholderRowExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::{SortExec, sort_batch};

use super::source_of;
use crate::datafusion::optimizer::order_properties::CorrectedExec;
use crate::datafusion::scan::generic::BoundScans;

/// Whether a plan has only operators that are run so.
pub(super) fn can_run(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let is_known = source_of(plan).is_some()
        || plan.is::<ProjectionExec>()
        || plan.is::<FilterExec>()
        || plan.is::<SortExec>()
        || plan.is::<GlobalLimitExec>()
        || plan.is::<LocalLimitExec>()
        || plan.is::<CoalescePartitionsExec>()
        || plan.is::<PlaceholderRowExec>()
        || plan.is::<EmptyExec>()
        || plan.is::<CorrectedExec>()
        || plan.downcast_ref().is_some_and(join::can_run)
        || plan.downcast_ref().is_some_and(aggregate::can_run);
    is_known && plan.children().into_iter().all(can_run)
}

/// The rows of a plan that [`can_run`], whose scans are `bound`.
pub(super) fn rows(plan: &Arc<dyn ExecutionPlan>, bound: &BoundScans) -> Result<RecordBatch> {
    let inputs = plan.children().into_iter().map(|input| rows(input, bound)).collect::<Result<Vec<_>>>()?;
    let rows = match inputs.as_slice() {
        [] => of_leaf(plan, bound)?,
        [left, right] => match plan.downcast_ref::<HashJoinExec>() {
            Some(join) => join::rows(join, left, right)?,
            None => return internal_err!("{} is run by streams", plan.name()),
        },
        [input, ..] => match plan.downcast_ref::<AggregateExec>() {
            Some(aggregate) => aggregate::rows(aggregate, input)?,
            // Without a row nothing is computed, which might fail.
            None if input.num_rows() == 0 => RecordBatch::new_empty(plan.schema()),
            None => of_rows(plan, input)?,
        },
    };
    Ok(match plan.fetch() {
        Some(fetch) if fetch < rows.num_rows() => rows.slice(0, fetch),
        _ => rows,
    })
}

fn of_leaf(plan: &Arc<dyn ExecutionPlan>, bound: &BoundScans) -> Result<RecordBatch> {
    if let Some(source) = source_of(plan) {
        let mut batches = bound.read(source.number())?;
        return match batches.len() {
            1 => Ok(batches.swap_remove(0)),
            _ => Ok(concat_batches(&plan.schema(), &batches)?),
        };
    }
    if plan.is::<PlaceholderRowExec>() {
        let nulls = plan.schema().fields().iter().map(|field| new_null_array(field.data_type(), 1)).collect();
        return batch(plan.schema(), nulls, 1);
    }
    Ok(RecordBatch::new_empty(plan.schema()))
}

/// What an operator makes of the rows below it, of which there are some.
fn of_rows(plan: &Arc<dyn ExecutionPlan>, input: &RecordBatch) -> Result<RecordBatch> {
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        let values = projection.expr().iter().map(|column| evaluated(&column.expr, input));
        return batch(plan.schema(), values.collect::<Result<_>>()?, input.num_rows());
    }
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        let answers = evaluated(filter.predicate(), input)?;
        let rows = filter_record_batch(input, as_boolean_array(&answers)?)?;
        return match filter.projection() {
            Some(columns) => Ok(rows.project(columns)?),
            None => Ok(rows),
        };
    }
    if let Some(sort) = plan.downcast_ref::<SortExec>() {
        return sort_batch(input, sort.expr(), sort.fetch());
    }
    let skipped = plan.downcast_ref::<GlobalLimitExec>().map_or(0, GlobalLimitExec::skip).min(input.num_rows());
    Ok(input.slice(skipped, input.num_rows() - skipped))
}

pub(super) fn evaluated(expr: &Arc<dyn PhysicalExpr>, rows: &RecordBatch) -> Result<ArrayRef> {
    expr.evaluate(rows)?.into_array(rows.num_rows())
}

fn batch(schema: SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(schema, columns, &options)?)
}
