//! Windows, computed for some of their partitions at a time.
//!
//! `DataFusion` collects all rows before it computes a window whose frame reaches to the end of its partition, and tells
//! nobody. The rows come sorted by the columns of PARTITION BY, though, and no row needs another partition's. Where a
//! memory limit is set, the operator is run over as many whole partitions as make [`GROUPS_BYTES`], again and again. A
//! window without PARTITION BY has one partition, which must fit. Not here: windows whose frame ends at the row, which
//! keep little of their input.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::arrow::compute::partition;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{LexOrdering, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::windows::WindowAggExec;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::{Stream, StreamExt};

/// Bytes of whole partitions that a window is computed for at a time.
const GROUPS_BYTES: usize = 4 << 20;

/// The same plan, in which windows are computed for some of their partitions at a time.
pub(in crate::datafusion) fn by_groups(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|node| {
        let Some(window) = node.downcast_ref::<WindowAggExec>() else { return Ok(Transformed::no(node)) };
        let keys = window.partition_by_sort_keys()?.into_iter().map(|key| key.expr).collect();
        let input = Arc::clone(window.input());
        Ok(Transformed::yes(Arc::new(WindowsExec { window: node, input, keys }) as Arc<dyn ExecutionPlan>))
    })
    .map(|transformed| transformed.data)
}

/// A window over rows that are sorted by `keys`.
#[derive(Debug)]
pub(in crate::datafusion) struct WindowsExec {
    window: Arc<dyn ExecutionPlan>,
    input: Arc<dyn ExecutionPlan>,
    /// What rows of one partition have in common.
    keys: Vec<Arc<dyn PhysicalExpr>>,
}

impl DisplayAs for WindowsExec {
    fn fmt_as(&self, kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.window.fmt_as(kind, f)
    }
}

impl ExecutionPlan for WindowsExec {
    fn name(&self) -> &'static str {
        "WindowsExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.window.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        act: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.window.apply_expressions(act)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Ok([input]) = <[_; 1]>::try_from(children) else {
            return internal_err!("WindowsExec has one input");
        };
        let window = Arc::clone(&self.window).replace_children(vec![Arc::clone(&input)], options)?;
        Ok(Arc::new(Self { window, input, keys: self.keys.clone() }))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let reservation = MemoryConsumer::new("a window").register(context.memory_pool());
        Ok(Box::pin(Windows {
            window: Arc::clone(&self.window),
            input: Some(self.input.execute(partition, Arc::clone(&context))?),
            keys: self.keys.clone(),
            order: self.input.properties().output_ordering().cloned(),
            context,
            whole: Vec::new(),
            whole_bytes: 0,
            open: Vec::new(),
            open_bytes: 0,
            last: None,
            computed: None,
            reservation,
        }))
    }
}

/// The rows of one partition of the plan.
struct Windows {
    window: Arc<dyn ExecutionPlan>,
    /// `None` once it has ended.
    input: Option<SendableRecordBatchStream>,
    keys: Vec<Arc<dyn PhysicalExpr>>,
    /// How the rows of the input are sorted.
    order: Option<LexOrdering>,
    context: Arc<TaskContext>,
    /// Rows of partitions of the window that are there as a whole.
    whole: Vec<RecordBatch>,
    whole_bytes: usize,
    /// Rows of the partition that may go on.
    open: Vec<RecordBatch>,
    open_bytes: usize,
    /// What the last row has for keys.
    last: Option<Vec<ScalarValue>>,
    /// What was computed and has not been given out.
    computed: Option<SendableRecordBatchStream>,
    reservation: MemoryReservation,
}

impl Windows {
    /// Takes in rows.
    fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let rows = batch.num_rows();
        if rows == 0 {
            return Ok(());
        }
        let bytes = batch.get_array_memory_size();
        // The window puts its rows into one batch, and adds columns.
        self.reservation.try_grow(2 * bytes)?;
        let keys =
            self.keys.iter().map(|key| key.evaluate(batch)?.into_array(rows)).collect::<Result<Vec<ArrayRef>>>()?;
        if keys.is_empty() {
            self.open.push(batch.clone());
            self.open_bytes += bytes;
            return Ok(());
        }
        let of_row = |row| keys.iter().map(|key| ScalarValue::try_from_array(key, row)).collect::<Result<Vec<_>>>();
        let goes_on =
            self.last.replace(of_row(rows - 1)?).is_none_or(|last| of_row(0).is_ok_and(|first| first == last));
        // Where the last partition begins in this batch.
        let last = partition(&keys)?.ranges().last().map_or(0, |range| range.start);
        if last == 0 && goes_on {
            self.open.push(batch.clone());
            self.open_bytes += bytes;
            return Ok(());
        }
        self.whole.append(&mut self.open);
        self.whole_bytes += self.open_bytes + bytes / rows * last;
        if last > 0 {
            self.whole.push(batch.slice(0, last));
        }
        self.open.push(batch.slice(last, rows - last));
        self.open_bytes = bytes / rows * (rows - last);
        Ok(())
    }

    /// Computes the window of the partitions that are there as a whole.
    fn compute(&mut self) -> Result<()> {
        let rows = std::mem::take(&mut self.whole);
        let rows = MemorySourceConfig::try_new(&[rows], self.window.children()[0].schema(), None)?;
        let rows = match &self.order {
            Some(order) => rows.try_with_sort_information(vec![order.clone()])?,
            None => rows,
        };
        let rows = DataSourceExec::from_data_source(rows);
        let keep = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Keep);
        let window = Arc::clone(&self.window).replace_children(vec![rows], keep)?;
        self.computed = Some(window.execute(0, Arc::clone(&self.context))?);
        Ok(())
    }

    fn next_batch(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<RecordBatch>>> {
        loop {
            if let Some(computed) = &mut self.computed {
                if let Some(batch) = ready!(computed.poll_next_unpin(context)) {
                    return Poll::Ready(batch.map(Some));
                }
                self.computed = None;
                self.whole_bytes = 0;
                self.reservation.try_resize(2 * self.open_bytes)?;
            }
            let Some(input) = &mut self.input else { return Poll::Ready(Ok(None)) };
            if let Some(batch) = ready!(input.poll_next_unpin(context)) {
                self.add(&batch?)?;
                if self.whole_bytes >= GROUPS_BYTES {
                    self.compute()?;
                }
            } else {
                self.input = None;
                self.whole.append(&mut self.open);
                self.open_bytes = 0;
                self.compute()?;
            }
        }
    }
}

impl Stream for Windows {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = ready!(self.next_batch(context));
        if polled.is_err() {
            self.input = None;
            self.computed = None;
        }
        Poll::Ready(polled.transpose())
    }
}

impl RecordBatchStream for Windows {
    fn schema(&self) -> SchemaRef {
        self.window.schema()
    }
}
