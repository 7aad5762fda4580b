//! Makes joins return, so that a statement can be cancelled while a join multiplies its rows.
//!
//! `DataFusion` yields where rows enter a plan. A join may make billions of rows out of one batch. An operator above it that
//! takes them all in (an aggregate, a sort) would not return for hours, nor would the join itself where its condition holds
//! for none of them: nobody would look whether the statement was cancelled. So joins yield with each batch that they give, and
//! their conditions fail once nobody wants rows any more. Not here: who says so (`workers`).

use std::fmt::{self, Display, Formatter};
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use datafusion::arrow::datatypes::{FieldRef, Schema};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::joins::utils::JoinFilter;
use datafusion::physical_plan::joins::{
    CrossJoinExec, HashJoinExec, NestedLoopJoinExec, NestedLoopJoinExecBuilder, SortMergeJoinExec,
};

/// Whether nobody wants the rows of a plan any more. Shared by the conditions of its joins.
#[derive(Clone, Debug, Default)]
pub(super) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Makes the joins fail that look at it.
    pub(super) fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The same plan, in which every join returns to its caller now and then, and looks at a [`Stop`].
pub(in crate::datafusion) fn interruptible(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let stop = Stop::default();
    plan.transform_up(|node| {
        if multiplies(node.as_ref()) {
            let yielding: Arc<dyn ExecutionPlan> = Arc::new(CooperativeExec::new(with_stop(node, &stop)?));
            Ok(Transformed::yes(yielding))
        } else {
            Ok(Transformed::no(node))
        }
    })
    .map(|transformed| transformed.data)
}

/// What stops the joins of a plan that [`interruptible`] has made; `None` where none of them has a condition.
pub(super) fn stop_of(plan: &Arc<dyn ExecutionPlan>) -> Option<Stop> {
    let mut found = None;
    let _ = plan.apply(|node| {
        let condition = condition(node.as_ref()).and_then(|filter| filter.expression().downcast_ref::<Condition>());
        found = condition.map(|condition| condition.stop.clone());
        Ok(if found.is_some() { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    found
}

/// Whether the operator may make many rows out of few.
fn multiplies(node: &dyn ExecutionPlan) -> bool {
    node.is::<CrossJoinExec>()
        || node.is::<NestedLoopJoinExec>()
        || node.is::<HashJoinExec>()
        || node.is::<SortMergeJoinExec>()
}

/// The condition of a join that is evaluated for the pairs that it makes.
fn condition(node: &dyn ExecutionPlan) -> Option<&JoinFilter> {
    if let Some(join) = node.downcast_ref::<NestedLoopJoinExec>() {
        join.filter()
    } else if let Some(join) = node.downcast_ref::<HashJoinExec>() {
        join.filter()
    } else {
        node.downcast_ref::<SortMergeJoinExec>()?.filter().as_ref()
    }
}

/// The same join, whose condition fails where it is to stop.
fn with_stop(node: Arc<dyn ExecutionPlan>, stop: &Stop) -> Result<Arc<dyn ExecutionPlan>> {
    let Some(filter) = condition(node.as_ref()) else { return Ok(node) };
    let condition = Condition { inner: Arc::clone(filter.expression()), stop: stop.clone() };
    let filter = JoinFilter::new(Arc::new(condition), filter.column_indices().to_vec(), Arc::clone(filter.schema()));
    if let Some(join) = node.downcast_ref::<NestedLoopJoinExec>() {
        Ok(Arc::new(NestedLoopJoinExecBuilder::from(join).with_filter(Some(filter)).build()?))
    } else if let Some(join) = node.downcast_ref::<HashJoinExec>() {
        join.builder().with_filter(Some(filter)).build_exec()
    } else if let Some(join) = node.downcast_ref::<SortMergeJoinExec>() {
        let (left, right, on) = (Arc::clone(join.left()), Arc::clone(join.right()), join.on().to_vec());
        let options = join.sort_options().to_vec();
        let made =
            SortMergeJoinExec::try_new(left, right, on, Some(filter), join.join_type(), options, join.null_equality());
        Ok(Arc::new(made?))
    } else {
        Ok(node)
    }
}

/// The condition of a join, as long as rows are wanted.
#[derive(Debug)]
struct Condition {
    inner: Arc<dyn PhysicalExpr>,
    stop: Stop,
}

impl PartialEq for Condition {
    fn eq(&self, other: &Self) -> bool {
        self.inner.eq(&other.inner)
    }
}

impl Eq for Condition {}

impl Hash for Condition {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inner.hash(state);
    }
}

impl Display for Condition {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl PhysicalExpr for Condition {
    fn return_field(&self, input_schema: &Schema) -> Result<FieldRef> {
        self.inner.return_field(input_schema)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        if self.stop.0.load(Ordering::Relaxed) {
            return exec_err!("nobody wants the rows of this join any more");
        }
        self.inner.evaluate(batch)
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.inner]
    }

    fn with_new_children(self: Arc<Self>, mut children: Vec<Arc<dyn PhysicalExpr>>) -> Result<Arc<dyn PhysicalExpr>> {
        let inner = children.pop().unwrap_or_else(|| Arc::clone(&self.inner));
        Ok(Arc::new(Self { inner, stop: self.stop.clone() }))
    }

    fn fmt_sql(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.inner.fmt_sql(f)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use datafusion::prelude::{SessionConfig, SessionContext};
    use longshore_load::Control;

    use super::super::workers::Pool;
    use super::*;

    /// How long a join may go on behind the stream of its rows. All pairs take far longer.
    const PATIENCE: Duration = Duration::from_secs(20);

    async fn plan(sql: &str, prefers_hash: bool) -> Arc<dyn ExecutionPlan> {
        let mut config = SessionConfig::new().with_target_partitions(2);
        config.options_mut().optimizer.prefer_hash_join = prefers_hash;
        let context = SessionContext::new_with_config(config);
        let plan = context.sql(sql).await.expect("valid").create_physical_plan().await.expect("a plan");
        interruptible(plan).expect("a plan")
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn joins_end_with_the_stream_of_their_rows() {
        const ROWS: &str = "(SELECT value AS v, value % 1 AS k FROM generate_series(1, 1000000))";
        for (on, join) in [
            ("a.v + b.v < 0", "NestedLoopJoinExec"),
            ("a.k = b.k AND a.v + b.v < 0", "HashJoinExec"),
            ("a.k = b.k AND a.v + b.v < 0", "SortMergeJoinExec"),
        ] {
            let sql = format!("SELECT count(*) FROM {ROWS} AS a LEFT JOIN {ROWS} AS b ON {on}");
            let plan = plan(&sql, join == "HashJoinExec").await;
            let shown = datafusion::physical_plan::displayable(plan.as_ref()).indent(false).to_string();
            assert!(shown.contains(join), "{shown}");
            let stop = stop_of(&plan).expect("its join has a condition");
            let workers = Pool::start(1).and_then(|pool| pool.workers()).expect("threads");
            let rows = workers.run(plan, Arc::default(), &Arc::new(Control::new())).expect("it runs");
            tokio::time::sleep(Duration::from_millis(300)).await;
            assert!(Arc::strong_count(&stop.0) > 1, "{join} runs");
            let began = Instant::now();
            drop(rows);
            while Arc::strong_count(&stop.0) > 1 {
                assert!(began.elapsed() < PATIENCE, "{join} goes on");
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    }
}
