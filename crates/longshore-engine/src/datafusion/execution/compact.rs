//! Rows that an operator keeps, copied into memory of their own, so that they count as what they are.
//!
//! The arrays of a scan share memory: those of a table with its chunks, those of a file with the block that its next
//! rows lie in, and texts with all texts of their chunk. Who keeps a batch keeps all of it, and counts all of it: eight
//! batches of a chunk count its texts eight times. Where a memory limit is set, the inputs of operators that keep rows
//! (sorts, the sides that joins collect, windows) are copied. Some of these operators put all that they have collected
//! into one batch in the end, which takes as much again; whether it is there is asked before. Not here: the limit
//! (`memory`).

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, MutableArrayData, RecordBatch, RecordBatchOptions, make_array,
};
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DataFusionError, Result, internal_err};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::execution_plan::{
    ChildrenPropertiesMode, ReplaceChildrenOptions, replace_children_if_necessary,
};
use datafusion::physical_plan::joins::{CrossJoinExec, HashJoinExec, NestedLoopJoinExec};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::Stream;
use futures::StreamExt;

use super::windows::WindowsExec;

/// The same plan, in which the rows that operators keep lie in memory of their own.
pub(in crate::datafusion) fn compact(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|node| {
        let Some((name, kept, concatenates)) = keeps(node.as_ref()) else { return Ok(Transformed::no(node)) };
        let mut children: Vec<Arc<dyn ExecutionPlan>> = node.children().into_iter().map(Arc::clone).collect();
        let input = Arc::clone(&children[kept]);
        children[kept] = Arc::new(CompactExec { input, name, concatenates });
        Ok(Transformed::yes(replace_children_if_necessary(node, children)?))
    })
    .map(|transformed| transformed.data)
}

/// What an operator is called, the input whose rows it keeps, and whether it puts them into one batch.
fn keeps(node: &dyn ExecutionPlan) -> Option<(&'static str, usize, bool)> {
    if let Some(sort) = node.downcast_ref::<SortExec>() {
        return sort.fetch().is_none().then_some(("a sort", 0, false));
    }
    if node.is::<HashJoinExec>() {
        Some(("a join", 0, true))
    } else if node.is::<NestedLoopJoinExec>() || node.is::<CrossJoinExec>() {
        Some(("a join without an equality", 0, true))
    } else if node.is::<WindowsExec>() {
        Some(("a window", 0, false))
    } else {
        None
    }
}

/// Copies the rows of its input.
#[derive(Debug)]
struct CompactExec {
    input: Arc<dyn ExecutionPlan>,
    /// What the operator is called that keeps the rows.
    name: &'static str,
    /// Whether it puts them into one batch in the end.
    concatenates: bool,
}

impl DisplayAs for CompactExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CompactExec")
    }
}

impl ExecutionPlan for CompactExec {
    fn name(&self) -> &'static str {
        "CompactExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Ok([input]) = <[_; 1]>::try_from(children) else {
            return internal_err!("CompactExec has one input");
        };
        Ok(Arc::new(Self { input, name: self.name, concatenates: self.concatenates }))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let consumer = MemoryConsumer::new(self.name).register(context.memory_pool());
        let input = self.input.execute(partition, context)?;
        Ok(Box::pin(Compacted { input, kept: 0, concatenates: self.concatenates, consumer }))
    }
}

/// The rows of one partition.
struct Compacted {
    input: SendableRecordBatchStream,
    /// Bytes that the operator has got.
    kept: usize,
    concatenates: bool,
    consumer: MemoryReservation,
}

impl Stream for Compacted {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.input.poll_next_unpin(context).map(|batch| match batch {
            Some(batch) => Some(batch.and_then(|batch| copied(&batch)).inspect(|batch| {
                self.kept += batch.get_array_memory_size();
            })),
            None if self.concatenates => {
                let kept = std::mem::take(&mut self.kept);
                let room = self.consumer.try_grow(kept);
                self.consumer.free();
                room.err().map(Err)
            }
            None => None,
        })
    }
}

impl RecordBatchStream for Compacted {
    fn schema(&self) -> SchemaRef {
        self.input.schema()
    }
}

/// The same rows in memory that nobody else has.
fn copied(batch: &RecordBatch) -> Result<RecordBatch> {
    let columns = batch.columns().iter().map(own).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(batch.schema(), columns, &options).map_err(DataFusionError::from)
}

fn own(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Utf8View => Arc::new(array.as_string_view().gc()),
        DataType::BinaryView => Arc::new(array.as_binary_view().gc()),
        DataType::Null => Arc::clone(array),
        _ => {
            let data = array.to_data();
            let mut copy = MutableArrayData::new(vec![&data], false, array.len());
            match copy.try_extend(0, 0, array.len()) {
                Ok(()) => make_array(copy.freeze()),
                // As it is, then.
                Err(_) => Arc::clone(array),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::{Int32Array, StringViewArray};
    use datafusion::arrow::datatypes::{Field, Schema};

    use super::*;

    #[test]
    fn a_copy_counts_what_its_rows_take() {
        let texts = StringViewArray::from_iter_values((0..10_000).map(|row| format!("a text that is long, {row}")));
        let numbers: Int32Array = (0..10_000).map(|row| (row % 3 > 0).then_some(row)).collect();
        let fields = vec![Field::new("s", DataType::Utf8View, true), Field::new("n", DataType::Int32, true)];
        let columns: Vec<ArrayRef> = vec![Arc::new(texts), Arc::new(numbers)];
        let whole = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).expect("a batch");
        let part = whole.slice(5000, 100);
        let copy = copied(&part).expect("a copy");
        assert_eq!(copy, part);
        assert!(part.get_array_memory_size() > 200_000);
        assert!(copy.get_array_memory_size() < 10_000, "{}", copy.get_array_memory_size());
    }
}
