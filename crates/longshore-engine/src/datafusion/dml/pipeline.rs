//! Appends the rows of a file in the order of the file, by all workers, where each row comes of one record.
//!
//! A plan that only filters and computes over files is run part by part: a worker claims a part, runs the plan over its
//! rows and hands the result to the relation under the number of the part. Parts of text are spans; those of Parquet
//! and Arrow files are the partitions of the plan, which are ranges of the files in their order. So
//! `COPY ... FROM (SELECT ...)` and `COPY ... WHERE` keep the order of the file and stay parallel; any other plan brings
//! its rows through one stream (`insert`). Not here: planning (`plan`).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result as Outcome;
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, Partitioning};
use futures::StreamExt;
use longshore_load::{Control, RejectSummary, SpanRows, TextScan};
use longshore_storage::{Append, MergeKind, Merged, OnConflict, PartitionBuffer, Relation, TransactionError};
use tokio::runtime::Handle;

use super::bulk_appender::BulkAppender;
use crate::datafusion::errors::from_datafusion;
use crate::datafusion::files::TextSource;
use crate::datafusion::planning::rules::Checks;
use crate::datafusion::request::Appended;
use crate::transaction::StatementTransaction;
use crate::{Error, panics};

/// Stages of a pipeline, at most: the threads that run it have stacks of the usual size.
const STAGES_MAX: usize = 100;

/// A plan that makes each row of one record.
pub(in crate::datafusion) struct Pipeline {
    /// Filters and projections, from the last one to the first one.
    stages: Vec<Arc<dyn ExecutionPlan>>,
    /// The leaf.
    files: Arc<dyn ExecutionPlan>,
}

/// How rows are appended.
pub(in crate::datafusion) struct Target<'a> {
    pub(in crate::datafusion) relation: &'a Relation,
    /// What rows must be.
    pub(in crate::datafusion) checks: Option<&'a Checks>,
    /// `None` leaves the choice to the plan.
    pub(in crate::datafusion) merge: Option<MergeKind>,
    pub(in crate::datafusion) threads: usize,
    /// Whether the rows are made and checked, but not kept.
    pub(in crate::datafusion) dry_run: bool,
    /// What becomes of rows whose key is there already.
    pub(in crate::datafusion) conflict: &'a OnConflict,
}

impl Pipeline {
    /// `plan` as a pipeline over a file, if it is one.
    pub(in crate::datafusion) fn new(plan: &Arc<dyn ExecutionPlan>) -> Option<Self> {
        let pipeline = Self::with_limits(plan, Vec::new())?;
        let is_limited = |node: &Arc<dyn ExecutionPlan>| node.fetch().is_some();
        (!is_limited(&pipeline.files) && !pipeline.stages.iter().any(is_limited)).then_some(pipeline)
    }

    /// The same behind the projections `stages`, where limits of parts do not matter: whoever runs it takes no more of all
    /// parts than one may have.
    pub(in crate::datafusion) fn with_limits(
        plan: &Arc<dyn ExecutionPlan>,
        mut stages: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Option<Self> {
        let mut node = Arc::clone(plan);
        loop {
            if let Some(files) = node.downcast_ref::<DataSourceExec>() {
                let source = files.data_source();
                let is_file = source.is::<TextSource>() || source.is::<FileScanConfig>();
                return is_file.then_some(Self { stages, files: node });
            }
            if is_stage(node.as_ref()) && stages.len() < STAGES_MAX {
                stages.push(Arc::clone(&node));
            } else if !is_passage(node.as_ref()) {
                return None;
            }
            let [child] = node.children()[..] else {
                return None;
            };
            node = Arc::clone(child);
        }
    }

    /// Whether it reads text.
    pub(in crate::datafusion) fn reads_text(&self) -> bool {
        self.text().is_some()
    }

    /// Appends all rows to the target, or none. Blocks; `runtime` serves what does not.
    pub(in crate::datafusion) fn append(
        &self,
        target: &Target<'_>,
        transaction: &StatementTransaction,
        context: &Arc<TaskContext>,
        control: &Arc<Control>,
        runtime: &Handle,
    ) -> Result<Appended, Error> {
        let text = self.text();
        // Rows left out leave short chunks behind, which are worth being moved together.
        let filters = text.is_some_and(TextSource::filters) || self.filters();
        let merge = target.merge.unwrap_or(if filters { MergeKind::Copy } else { MergeKind::Chunk });
        let append = (!target.dry_run).then(|| target.relation.begin_append(merge));
        let parts = match text {
            Some(source) => Parts::Spans(source.begin(Arc::clone(control))?, source),
            None => Parts::Partitions(self.over(Arc::clone(&self.files)).map_err(from_datafusion)?, AtomicU64::new(0)),
        };
        let run = Run {
            pipeline: self,
            parts,
            relation: target.relation,
            checks: target.checks,
            append: append.as_ref(),
            rows: AtomicU64::new(0),
            context,
            control,
            runtime,
            failure: Mutex::new(None),
            failed_first: AtomicU64::new(u64::MAX),
        };
        std::thread::scope(|scope| {
            for _ in 1..target.threads {
                scope.spawn(|| run.work());
            }
            run.work();
        });
        let Run { parts, rows, failure, .. } = run;
        if let Some((_, error)) = failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        let rejects = match parts {
            Parts::Spans(scan, _) => scan.rejects(),
            Parts::Partitions(..) => RejectSummary::default(),
        };
        let merged = match append {
            Some(append) => transaction.with_unless_cancelled(control, |transaction| {
                append.commit_resolving::<TransactionError>(transaction, target.conflict, |_| Ok(()))
            })?,
            None => Merged { inserted: rows.into_inner(), ..Merged::default() },
        };
        Ok(Appended::new(merged, rejects))
    }

    /// Whether it leaves rows out that it read.
    pub(in crate::datafusion) fn filters(&self) -> bool {
        self.stages.iter().any(|stage| stage.is::<FilterExec>())
    }

    /// The columns of its rows.
    pub(in crate::datafusion) fn schema(&self) -> SchemaRef {
        self.stages.first().unwrap_or(&self.files).schema()
    }

    /// The plan over the rows of one span.
    pub(in crate::datafusion) fn plan_over(
        &self,
        source: &TextSource,
        rows: &[RecordBatch],
    ) -> Outcome<Arc<dyn ExecutionPlan>> {
        let rows = rows.iter().map(|batch| source.with_schema(batch)).collect::<Outcome<Vec<_>>>()?;
        let rows = MemorySourceConfig::try_new(&[rows], self.files.schema(), None)?;
        self.over(DataSourceExec::from_data_source(rows))
    }

    /// The scan, if it is one of text.
    pub(in crate::datafusion) fn text(&self) -> Option<&TextSource> {
        self.files.downcast_ref::<DataSourceExec>()?.data_source().downcast_ref::<TextSource>()
    }

    /// The plan over `rows` in place of the files.
    fn over(&self, rows: Arc<dyn ExecutionPlan>) -> Outcome<Arc<dyn ExecutionPlan>> {
        self.stages
            .iter()
            .rev()
            .try_fold(rows, |plan, stage| replace_children_if_necessary(Arc::clone(stage), vec![plan]))
    }
}

/// Whether the operator makes each row of one row.
fn is_stage(node: &dyn ExecutionPlan) -> bool {
    node.is::<ProjectionExec>() || node.is::<FilterExec>()
}

/// Whether the operator only hands rows on.
pub(in crate::datafusion) fn is_passage(node: &dyn ExecutionPlan) -> bool {
    let deals_out = node
        .downcast_ref::<RepartitionExec>()
        .is_some_and(|node| matches!(node.partitioning(), Partitioning::RoundRobinBatch(_)));
    deals_out || node.is::<CooperativeExec>() || (node.is::<CoalescePartitionsExec>() && node.fetch().is_none())
}

/// What is claimed part by part.
enum Parts<'a> {
    Spans(Arc<TextScan>, &'a TextSource),
    /// The plan, and the first of its partitions that nobody has claimed.
    Partitions(Arc<dyn ExecutionPlan>, AtomicU64),
}

/// What the workers share.
struct Run<'a, 'r> {
    pipeline: &'a Pipeline,
    parts: Parts<'a>,
    relation: &'a Relation,
    checks: Option<&'a Checks>,
    /// Where rows go; nowhere in a dry run.
    append: Option<&'a Append<'r>>,
    /// Rows that were made.
    rows: AtomicU64,
    context: &'a Arc<TaskContext>,
    control: &'a Control,
    runtime: &'a Handle,
    /// The failure of the first part, in the order of the files, that failed.
    failure: Mutex<Option<(u64, Error)>>,
    /// Its number: parts behind it need not be run.
    failed_first: AtomicU64,
}

impl Run<'_, '_> {
    fn work(&self) {
        let mut appender = BulkAppender::new(self.relation, self.checks);
        let done = catch_unwind(AssertUnwindSafe(|| match &self.parts {
            Parts::Spans(scan, source) => self.spans(scan, source, &mut appender),
            Parts::Partitions(plan, next) => self.partitions(plan, next, &mut appender),
        }));
        // Others wait for the parts before theirs, so that nobody may leave without a word.
        let done = done.unwrap_or_else(|panic| Err((0, panics::error(panic.as_ref()))));
        if let Err((part, error)) = done {
            if let Parts::Spans(scan, _) = &self.parts {
                scan.abandon();
            }
            let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
            if failure.as_ref().is_none_or(|(earlier, _)| part < *earlier) {
                *failure = Some((part, error));
                self.failed_first.store(part, Ordering::Release);
            }
        }
    }

    fn spans(
        &self,
        scan: &Arc<TextScan>,
        source: &TextSource,
        appender: &mut BulkAppender<'_>,
    ) -> Result<(), (u64, Error)> {
        let mut worker = scan.worker();
        while let Some(SpanRows { sequence: part, batches }) =
            worker.next_span().map_err(|(part, error)| (part, source.named(error)))?
        {
            if self.is_behind_failure(part) {
                break;
            }
            let plan = self.pipeline.plan_over(source, &batches).map_err(|error| (part, from_datafusion(error)))?;
            self.take(part, &plan, 0, appender).map_err(|error| (part, error))?;
        }
        Ok(())
    }

    fn partitions(
        &self,
        plan: &Arc<dyn ExecutionPlan>,
        next: &AtomicU64,
        appender: &mut BulkAppender<'_>,
    ) -> Result<(), (u64, Error)> {
        let count = plan.output_partitioning().partition_count() as u64;
        loop {
            let part = next.fetch_add(1, Ordering::Relaxed);
            if part >= count || self.is_behind_failure(part) {
                return Ok(());
            }
            self.take(part, plan, part as usize, appender).map_err(|error| (part, error))?;
        }
    }

    fn is_behind_failure(&self, part: u64) -> bool {
        part > self.failed_first.load(Ordering::Acquire)
    }

    /// Runs a partition of `plan`, whose rows are those of the part `part`.
    fn take(
        &self,
        part: u64,
        plan: &Arc<dyn ExecutionPlan>,
        partition: usize,
        appender: &mut BulkAppender<'_>,
    ) -> Result<(), Error> {
        let _on_runtime = self.runtime.enter();
        let mut batches = plan.execute(partition, Arc::clone(self.context)).map_err(from_datafusion)?;
        while let Some(batch) = self.runtime.block_on(batches.next()) {
            if self.control.is_cancelled() {
                return Err(Error::cancelled());
            }
            appender.add(&batch.map_err(from_datafusion)?)?;
        }
        let buffers = appender.take()?;
        let rows: usize = buffers.iter().map(PartitionBuffer::rows).sum();
        self.rows.fetch_add(rows as u64, Ordering::Relaxed);
        match self.append {
            Some(append) => append.merge(part, buffers).map_err(Error::from),
            None => Ok(()),
        }
    }
}
