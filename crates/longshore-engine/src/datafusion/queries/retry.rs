//! Queries whose joins do not fit into memory: run again with joins that spill.
//!
//! A hash join keeps one of its sides in memory and cannot spill, a merge join sorts both sides and can. The first is
//! the faster one by far where it fits, so it is what is tried; where memory runs out before the first row has come, the
//! query is planned again with merge joins. Not here: the limit (`memory`), sorts that spill (`DataFusion`).

use std::sync::Arc;
use std::time::Duration;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::{CrossJoinExec, HashJoinExec};
use futures::{StreamExt, TryStreamExt, stream};
use longshore_load::Control;

use crate::datafusion::execution::workers::Workers;
use crate::datafusion::planning::planner::{Optimized, Planner};
use crate::{Error, ErrorKind, RowStream};

/// How long the second run waits for the memory of the first one, whose tasks end when they pause.
const MEMORY_WAIT: Duration = Duration::from_millis(5);
const MEMORY_WAITS_MAX: usize = 40;

/// What a plan was made of.
pub(super) enum Source {
    Plan(LogicalPlan),
    Optimized(Optimized),
}

/// A query that can be run again.
pub(super) struct Again {
    pub(super) planner: Planner,
    pub(super) source: Source,
    pub(super) workers: Arc<Workers>,
    pub(super) control: Arc<Control>,
}

/// Whether it may help to run `plan` again: memory is limited, and a join keeps a side of it.
pub(super) fn may_help(planner: &Planner, plan: &Arc<dyn ExecutionPlan>) -> bool {
    if !planner.is_limited() {
        return false;
    }
    let mut collects = false;
    let looked = plan.apply(|node| {
        collects |= node.is::<HashJoinExec>() || node.is::<CrossJoinExec>();
        Ok(if collects { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    looked.is_ok() && collects
}

impl Again {
    /// `rows` of the first run; if memory runs out before the first of them, those of the second one.
    pub(super) fn or_else(self, rows: RowStream) -> RowStream {
        let schema = Arc::clone(rows.schema());
        let shown = Arc::clone(&schema);
        let rows = async move {
            let mut rows = rows;
            match rows.next().await {
                Some(Err(error)) if error.kind() == ErrorKind::Memory => {
                    drop(rows);
                    self.run().await
                }
                first => Ok(RowStream::new(schema, stream::iter(first).chain(rows))),
            }
        };
        RowStream::new(shown, stream::once(rows).try_flatten())
    }

    async fn run(self) -> Result<RowStream, Error> {
        let pool = Arc::clone(&self.planner.state.runtime_env().memory_pool);
        for _ in 0..MEMORY_WAITS_MAX {
            if pool.reserved() == 0 {
                break;
            }
            tokio::time::sleep(MEMORY_WAIT).await;
        }
        let planner = self.planner.merging();
        let plan = match &self.source {
            Source::Plan(plan) => Box::pin(planner.physical(plan)).await?,
            Source::Optimized(plan) => Box::pin(planner.physical_of_optimized(plan)).await?,
        };
        let context = planner.task_context(&plan);
        self.workers.run(plan, context, &self.control)
    }
}
