//! A generic plan without streams: each operator takes all rows of the one below it, in one call.
//!
//! For a few rows, to open streams, and to measure what goes through them, takes several times as long as to compute what is
//! asked for. Joins and aggregates are left to the streams.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, NullArray};
use datafusion::arrow::compute::{concat_batches, filter_record_batch};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::common::Result;
use datafusion::common::cast::as_boolean_array;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::filter::FilterExec;
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
        || plan.is::<CorrectedExec>();
    is_known && plan.children().into_iter().all(can_run)
}

/// The rows of a plan that [`can_run`], whose scans are `bound`.
pub(super) fn rows(plan: &Arc<dyn ExecutionPlan>, bound: &BoundScans) -> Result<RecordBatch> {
    if let Some(source) = source_of(plan) {
        let batches = bound.read(source.number())?;
        return Ok(first(one_of(batches, &plan.schema())?, plan.fetch()));
    }
    if plan.is::<PlaceholderRowExec>() {
        let nulls = plan.schema().fields().iter().map(|_| Arc::new(NullArray::new(1)) as ArrayRef).collect();
        return batch(plan.schema(), nulls, 1);
    }
    let input = plan.children().first().map(|input| rows(input, bound)).transpose()?;
    // Without a row nothing is computed, which might fail.
    let Some(mut input) = input.filter(|input| input.num_rows() > 0) else {
        return Ok(RecordBatch::new_empty(plan.schema()));
    };
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        let count = input.num_rows();
        let values = projection.expr().iter().map(|column| column.expr.evaluate(&input)?.into_array(count));
        return batch(plan.schema(), values.collect::<Result<_>>()?, count);
    }
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        let answers = filter.predicate().evaluate(&input)?.into_array(input.num_rows())?;
        input = filter_record_batch(&input, as_boolean_array(&answers)?)?;
        if let Some(columns) = filter.projection() {
            input = input.project(columns)?;
        }
    } else if let Some(sort) = plan.downcast_ref::<SortExec>() {
        input = sort_batch(&input, sort.expr(), sort.fetch())?;
    } else if let Some(limit) = plan.downcast_ref::<GlobalLimitExec>() {
        let skipped = limit.skip().min(input.num_rows());
        input = input.slice(skipped, input.num_rows() - skipped);
    }
    Ok(first(input, plan.fetch()))
}

fn first(rows: RecordBatch, fetch: Option<usize>) -> RecordBatch {
    match fetch {
        Some(fetch) if fetch < rows.num_rows() => rows.slice(0, fetch),
        _ => rows,
    }
}

fn one_of(mut batches: Vec<RecordBatch>, schema: &SchemaRef) -> Result<RecordBatch> {
    Ok(match batches.len() {
        1 => batches.swap_remove(0),
        _ => concat_batches(schema, &batches)?,
    })
}

fn batch(schema: SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(schema, columns, &options)?)
}
