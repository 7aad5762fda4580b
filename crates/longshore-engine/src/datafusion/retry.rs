//! Queries whose joins do not fit into memory: run again with joins that spill.
//!
//! A hash join keeps one of its sides in memory and cannot spill, a merge join sorts both sides and can. The first is
//! the faster one by far where it fits, so it is what is tried; where memory runs out before the first row has come, the
//! query is planned again with merge joins. Not here: the limit (`memory`), sorts that spill (`DataFusion`).

use std::sync::Arc;
use std::time::Duration;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::execution::memory_pool::MemoryLimit;
use datafusion::logical_expr::{JoinType, LogicalPlan};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::{CrossJoinExec, HashJoinExec, NestedLoopJoinExec};
use futures::{StreamExt, TryStreamExt, stream};
use longshore_load::Control;

use super::ordered::Ordered;
use super::plan::{Optimized, Planner};
use super::workers::Workers;
use super::{Queries, columnar, scan};
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
struct Again {
    planner: Planner,
    source: Source,
    workers: Arc<Workers>,
    control: Arc<Control>,
}

impl Queries {
    /// Starts `plan`, which was made of `source`.
    pub(super) fn run(
        &self,
        planner: Planner,
        source: Source,
        plan: Arc<dyn ExecutionPlan>,
        control: &Arc<Control>,
    ) -> Result<RowStream, Error> {
        if planner.work.logs_reads() {
            scan::log_reads(&plan);
        }
        let files = columnar::files_of(&plan);
        let workers = self.pool.workers()?;
        let may_help = may_help(&planner, &plan);
        let context = planner.task_context(&plan);
        let rows = match Ordered::new(&plan) {
            Some(ordered) => ordered.run(&workers, context, control)?,
            None => workers.run(plan, context, control)?,
        };
        let rows = if may_help {
            Again { planner, source, workers, control: Arc::clone(control) }.or_else(rows)
        } else {
            rows
        };
        Ok(match files {
            // What is wrong with values is wrong in the query; all else is in the files.
            Some(files) => rows.with_errors(move |error| match error.kind() {
                ErrorKind::Data | ErrorKind::InvalidText | ErrorKind::OutOfRange => error,
                _ => error.of_file(&files),
            }),
            None => rows,
        })
    }
}

/// Whether it may help to run `plan` again: memory is limited, and a join keeps a side of it.
fn may_help(planner: &Planner, plan: &Arc<dyn ExecutionPlan>) -> bool {
    if matches!(planner.state.runtime_env().memory_pool.memory_limit(), MemoryLimit::Infinite) {
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
    fn or_else(self, rows: RowStream) -> RowStream {
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

/// The same plan, in which products of two relations are made by an operator that spills.
pub(super) fn without_cross_joins(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|node| {
        let Some(join) = node.downcast_ref::<CrossJoinExec>() else { return Ok(Transformed::no(node)) };
        let (left, right) = (Arc::clone(join.left()), Arc::clone(join.right()));
        let product = NestedLoopJoinExec::try_new(left, right, None, &JoinType::Inner, None)?;
        Ok(Transformed::yes(Arc::new(product) as Arc<dyn ExecutionPlan>))
    })
    .map(|transformed| transformed.data)
}
