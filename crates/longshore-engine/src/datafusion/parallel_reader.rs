//! Brings the rows of a file out in the order of the file, where each row comes of one record and nothing above asks for
//! another order.
//!
//! Workers claim spans as they do for any scan, run the filters and projections of the plan over the rows of their span,
//! and hand the result on when all spans before it were handed on. A span is small, so that few rows wait. Plans that
//! sort, join or aggregate have no such order, and bring their rows as they come. Not here: appending (`pipeline`), scans
//! (`files`).

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::arrow::array::RecordBatch;
use datafusion::common::Result as Outcome;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::projection::ProjectionExec;
use futures::StreamExt;
use longshore_load::{Control, ScanWorker, SpanRows, TextScan};
use tokio::sync::mpsc::Sender;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::dml::pipeline::{Pipeline, is_passage};
use super::errors::external;
use super::execution::workers::Workers;
use super::files::TextSource;
use crate::{Error, RowStream};

/// A query whose rows come in the order of a file.
pub(in crate::datafusion) struct ParallelReader {
    pipeline: Pipeline,
    /// Rows that are left out at the start, and how many follow at most.
    skip: usize,
    fetch: Option<usize>,
}

impl ParallelReader {
    /// `plan` as such a query, if it is one that several workers run.
    pub(in crate::datafusion) fn new(plan: &Arc<dyn ExecutionPlan>) -> Option<Self> {
        let (mut skip, mut fetch) = (0, None);
        let mut node = Arc::clone(plan);
        let mut projections = Vec::new();
        // Limits commute with the projections above them.
        loop {
            if let Some(limit) = node.downcast_ref::<GlobalLimitExec>() {
                if skip > 0 || fetch.is_some() {
                    return None;
                }
                (skip, fetch) = (limit.skip(), limit.fetch());
            } else if let Some(coalesce) = node.downcast_ref::<CoalescePartitionsExec>() {
                let limit = coalesce.fetch().map(|limit| limit.saturating_sub(skip));
                fetch = limit.into_iter().chain(fetch).min();
            } else if node.is::<ProjectionExec>() {
                projections.push(Arc::clone(&node));
            } else if !node.is::<LocalLimitExec>() && !is_passage(node.as_ref()) {
                break;
            }
            let [child] = node.children()[..] else { return None };
            node = Arc::clone(child);
        }
        if node.is::<FilterExec>() && fetch.is_none() {
            fetch = node.fetch();
        }
        let pipeline = Pipeline::with_limits(&node, projections)?;
        let source = pipeline.text()?;
        let of_source = source.rows_max();
        if source.threads() < 2 || of_source.is_some() && pipeline.filters() {
            return None;
        }
        if source.workers() == 1 {
            // One worker alone returns no more than these.
            let limit = of_source.map(|limit| limit.saturating_sub(skip));
            fetch = limit.into_iter().chain(fetch).min();
        }
        Some(Self { pipeline, skip, fetch })
    }

    /// Starts the query.
    pub(in crate::datafusion) fn run(
        self,
        workers: &Arc<Workers>,
        context: Arc<TaskContext>,
        control: &Arc<Control>,
    ) -> Result<RowStream, Error> {
        let source = self.pipeline.text().ok_or_else(|| Error::internal("a scan of text expected"))?.clone();
        let scan = source.begin_in_parts(Arc::clone(control))?;
        let schema = self.pipeline.schema();
        let count = source.workers();
        let (turn, _) = watch::channel(0);
        let run = Arc::new(Run {
            skip: AtomicUsize::new(self.skip),
            left: AtomicUsize::new(self.fetch.unwrap_or(usize::MAX)),
            pipeline: self.pipeline,
            source,
            scan,
            context,
            turn,
            over: AtomicBool::new(false),
            ending: Mutex::default(),
        });
        Ok(workers.stream(schema, control, |sender| async move {
            let mut tasks = JoinSet::new();
            for _ in 0..count {
                let (run, sender) = (Arc::clone(&run), sender.clone());
                tasks.spawn(async move { run.work(&sender).await });
            }
            while let Some(ended) = tasks.join_next().await {
                if let Err(error) = ended
                    && let Ok(panic) = error.try_into_panic()
                {
                    std::panic::resume_unwind(panic);
                }
            }
            let error = run.ending.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(error) = error {
                let _ = sender.send(Err(external(error))).await;
            }
        }))
    }
}

/// What the workers share.
struct Run {
    pipeline: Pipeline,
    source: TextSource,
    scan: Arc<TextScan>,
    context: Arc<TaskContext>,
    /// The part whose rows are handed on now.
    turn: watch::Sender<u64>,
    /// Rows that are still to be left out, and those that are still wanted: changed by the part whose turn it is.
    skip: AtomicUsize,
    left: AtomicUsize,
    /// Nobody has rows to hand on any more: a part has failed, all that were wanted are there, or the scan has ended.
    over: AtomicBool,
    /// What is wrong with the scan as a whole.
    ending: Mutex<Option<Error>>,
}

/// What is to be handed on.
type Batches = Sender<Outcome<RecordBatch>>;

impl Run {
    /// Takes part after part until there is none left, or nobody wants more rows.
    async fn work(&self, sender: &Batches) {
        let mut worker = self.scan.worker();
        loop {
            let (part, outcome) = match self.next(&mut worker) {
                Ok(Some(SpanRows { sequence, batches })) => (sequence, self.pipeline.plan_over(&self.source, &batches)),
                Ok(None) => return,
                Err((u64::MAX, error)) => {
                    *self.ending.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    self.end();
                    return;
                }
                Err((part, error)) => (part, Err(external(error))),
            };
            let handed = match outcome {
                Ok(plan) => self.hand_on(part, &plan, sender).await,
                Err(error) => {
                    if self.has_turn(part).await {
                        let _ = sender.send(Err(error)).await;
                        self.end();
                    }
                    false
                }
            };
            if !handed {
                return;
            }
        }
    }

    fn next(&self, worker: &mut ScanWorker) -> Result<Option<SpanRows>, (u64, Error)> {
        if self.over.load(Ordering::Acquire) || self.left.load(Ordering::Acquire) == 0 {
            return Ok(None);
        }
        worker.next_span().map_err(|(part, error)| (part, self.source.named(error)))
    }

    /// Runs the plan of a part, and hands its rows on in its turn; whether more are wanted.
    async fn hand_on(&self, part: u64, plan: &Arc<dyn ExecutionPlan>, sender: &Batches) -> bool {
        let mut waiting = Vec::new();
        let mut failed = None;
        match plan.execute(0, Arc::clone(&self.context)) {
            Ok(mut batches) => {
                while let Some(batch) = batches.next().await {
                    match batch {
                        Ok(batch) => waiting.push(batch),
                        Err(error) => {
                            failed = Some(error);
                            break;
                        }
                    }
                }
            }
            Err(error) => failed = Some(error),
        }
        if !self.has_turn(part).await {
            return false;
        }
        for batch in waiting {
            let skipped = self.skip.load(Ordering::Acquire).min(batch.num_rows());
            self.skip.fetch_sub(skipped, Ordering::AcqRel);
            let wanted = self.left.load(Ordering::Acquire).min(batch.num_rows() - skipped);
            self.left.fetch_sub(wanted, Ordering::AcqRel);
            if wanted > 0 && sender.send(Ok(batch.slice(skipped, wanted))).await.is_err() {
                return false;
            }
        }
        if self.left.load(Ordering::Acquire) == 0 {
            self.end();
            return false;
        }
        if let Some(error) = failed {
            let _ = sender.send(Err(error)).await;
            self.end();
            return false;
        }
        self.turn.send_modify(|turn| *turn = (*turn).max(part + 1));
        true
    }

    /// Waits for the turn of a part; false where nobody hands on rows any more.
    async fn has_turn(&self, part: u64) -> bool {
        let mut turn = self.turn.subscribe();
        // The sender lives as long as this.
        let _ = turn.wait_for(|turn| *turn >= part).await;
        !self.over.load(Ordering::Acquire)
    }

    /// Lets those go who wait for their turn.
    fn end(&self) {
        self.over.store(true, Ordering::Release);
        self.turn.send_replace(u64::MAX);
    }
}
