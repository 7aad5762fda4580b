//! Runs a query whose rows stand in several places of a plan: once, by whoever comes first.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result, internal_err};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, EmissionType, ReplaceChildrenOptions};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties, execute_stream,
};
use futures::{TryStreamExt, stream};
use tokio::sync::OnceCell;

/// The rows, once they are known.
#[derive(Default)]
pub(super) struct Rows(OnceCell<Kept>);

struct Kept {
    batches: Vec<RecordBatch>,
    /// What they hold of the memory of queries.
    _memory: MemoryReservation,
}

/// One of the places where the rows are read.
#[derive(Clone)]
pub(super) struct SharedExec {
    input: Arc<dyn ExecutionPlan>,
    rows: Arc<Rows>,
    properties: Arc<PlanProperties>,
}

impl SharedExec {
    /// The `rows` of `input`, which are to be computed if they are not known yet.
    pub(super) fn new(input: Arc<dyn ExecutionPlan>, rows: Arc<Rows>) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(input.schema()),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            input.boundedness(),
        );
        Self { input, rows, properties: Arc::new(properties) }
    }
}

impl Rows {
    async fn of(&self, input: Arc<dyn ExecutionPlan>, context: Arc<TaskContext>) -> Result<&Kept> {
        let compute = || async move {
            let memory = MemoryConsumer::new("rows of a query that is used several times");
            let memory = memory.register(context.memory_pool());
            let mut batches = Vec::new();
            let mut rows = execute_stream(input, Arc::clone(&context))?;
            while let Some(batch) = rows.try_next().await? {
                memory.try_grow(batch.get_array_memory_size())?;
                batches.push(batch);
            }
            Ok(Kept { batches, _memory: memory })
        };
        self.0.get_or_try_init(compute).await
    }
}

impl fmt::Debug for SharedExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedExec").field("input", &self.input).finish_non_exhaustive()
    }
}

impl DisplayAs for SharedExec {
    fn fmt_as(&self, _t: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedExec")
    }
}

impl ExecutionPlan for SharedExec {
    fn name(&self) -> &'static str {
        "SharedExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match children.pop() {
            Some(input) if children.is_empty() => Ok(Arc::new(Self::new(input, Arc::clone(&self.rows)))),
            _ => internal_err!("SharedExec has one input"),
        }
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        if partition != 0 {
            return internal_err!("SharedExec has one partition, and not {partition}");
        }
        let (rows, input) = (Arc::clone(&self.rows), Arc::clone(&self.input));
        let batches = stream::once(async move {
            let batches = rows.of(input, context).await?.batches.clone();
            Ok::<_, DataFusionError>(stream::iter(batches.into_iter().map(Ok)))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), batches.try_flatten())))
    }
}
