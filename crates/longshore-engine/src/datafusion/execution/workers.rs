//! The threads on which queries run, and the streams that bring their rows out.
//!
//! Operators compute for as long as they please before they let others go on. On threads of their own they keep
//! nobody from noticing a cancellation: then the stream ends with an error at once, and the work is dropped as soon
//! as its operators pause. Joins are told to.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result as Outcome;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use futures::{Stream, StreamExt};
use longshore_load::Control;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinHandle;

use super::complexity;
use super::interruptible::{Stop, stop_of};
use crate::blocking::Cancelled;
use crate::datafusion::errors::from_datafusion;
use crate::{Error, RowStream, panics};

/// Batches that are ready before someone asks for them.
const BATCHES_AHEAD: usize = 2;

/// The threads that a database runs its queries on now.
pub(in crate::datafusion) struct Pool {
    threads: usize,
    current: Mutex<Arc<Workers>>,
}

impl Pool {
    /// Starts `threads` threads.
    pub(in crate::datafusion) fn start(threads: usize) -> Result<Self, Error> {
        let current = Mutex::new(Workers::start(threads)?);
        Ok(Self { threads, current })
    }

    /// The threads for a new query. Those on which a cancelled query may still be busy are left to it.
    pub(in crate::datafusion) fn workers(&self) -> Result<Arc<Workers>, Error> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.left_busy.load(Ordering::Relaxed) {
            *current = Workers::start(self.threads)?;
        }
        Ok(Arc::clone(&current))
    }
}

/// The stack of a thread: the operators of a plan, which may have thousands of levels, call each other for rows.
const STACK_BYTES: usize = 32 << 20;

/// The threads on which queries run. They end when neither the database nor a stream of rows needs them.
pub(in crate::datafusion) struct Workers {
    /// Gone only while this is dropped.
    runtime: Option<Runtime>,
    /// A query was cancelled that did not end at once.
    left_busy: AtomicBool,
}

impl Workers {
    /// Starts `threads` threads.
    fn start(threads: usize) -> Result<Arc<Self>, Error> {
        let mut runtime = Builder::new_multi_thread();
        runtime.worker_threads(threads).thread_name("query").thread_stack_size(STACK_BYTES).enable_all();
        let runtime = runtime
            .build()
            .map_err(|error| Error::invalid(format!("cannot start {threads} threads: {error}; set fewer threads")))?;
        Ok(Arc::new(Self { runtime: Some(runtime), left_busy: AtomicBool::new(false) }))
    }

    fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().expect("the threads run until the last handle is dropped")
    }

    /// Starts `plan`. Its rows come until `control` cancels them: then one error, and the work on them is dropped.
    pub(in crate::datafusion) fn run(
        self: &Arc<Self>,
        plan: Arc<dyn ExecutionPlan>,
        context: Arc<TaskContext>,
        control: &Arc<Control>,
    ) -> Result<RowStream, Error> {
        let stop = stop_of(&plan);
        let mut batches = {
            // Operators start tasks when they are opened.
            let _on_workers = self.runtime().enter();
            complexity::with_stack(complexity::levels_to_run(&plan), || execute_stream(plan, context))
                .map_err(from_datafusion)?
        };
        let schema = batches.schema();
        let work = |sender: Sender<_>| async move {
            while let Some(batch) = batches.next().await {
                if sender.send(batch).await.is_err() {
                    break;
                }
            }
        };
        Ok(self.spawn(schema, control, stop, work))
    }

    /// Starts `work`, which sends batches of this `schema`, with the same care for a cancellation.
    pub(in crate::datafusion) fn stream<W: Future<Output = ()> + Send + 'static>(
        self: &Arc<Self>,
        schema: SchemaRef,
        control: &Arc<Control>,
        work: impl FnOnce(Sender<Outcome<RecordBatch>>) -> W,
    ) -> RowStream {
        self.spawn(schema, control, None, work)
    }

    fn spawn<W: Future<Output = ()> + Send + 'static>(
        self: &Arc<Self>,
        schema: SchemaRef,
        control: &Arc<Control>,
        stop: Option<Stop>,
        work: impl FnOnce(Sender<Outcome<RecordBatch>>) -> W,
    ) -> RowStream {
        let (sender, receiver) = channel(BATCHES_AHEAD);
        let task = self.runtime().spawn(work(sender));
        let work = RunningQuery { receiver, task, stop, workers: Arc::clone(self) };
        RowStream::new(
            schema,
            Rows { work: Some(work), control: Arc::clone(control), cancelled: Cancelled::new(control) },
        )
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        // The last handle may be dropped by a task, which must not wait for the threads.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// A running query.
struct RunningQuery {
    receiver: Receiver<Outcome<RecordBatch>>,
    task: JoinHandle<()>,
    /// What makes its joins return.
    stop: Option<Stop>,
    workers: Arc<Workers>,
}

impl RunningQuery {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<RecordBatch, Error>>> {
        match ready!(self.receiver.poll_recv(context)) {
            Some(batch) => Poll::Ready(Some(batch.map_err(from_datafusion))),
            // All rows have come, or the task has died.
            None => match ready!(Pin::new(&mut self.task).poll(context)) {
                Ok(()) => Poll::Ready(None),
                Err(error) => Poll::Ready(Some(Err(match error.try_into_panic() {
                    Ok(panic) => panics::error(panic.as_ref()),
                    // The threads end.
                    Err(_) => Error::cancelled(),
                }))),
            },
        }
    }
}

impl Drop for RunningQuery {
    fn drop(&mut self) {
        if let Some(stop) = &self.stop {
            stop.stop();
        }
        self.task.abort();
    }
}

/// The rows of a running query.
struct Rows {
    /// `None` once the stream has ended.
    work: Option<RunningQuery>,
    control: Arc<Control>,
    cancelled: Cancelled,
}

impl Stream for Rows {
    type Item = Result<RecordBatch, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let Some(work) = &mut this.work else {
            return Poll::Ready(None);
        };
        if !this.control.is_cancelled() {
            match work.poll_next(context) {
                Poll::Ready(Some(Ok(batch))) => return Poll::Ready(Some(Ok(batch))),
                Poll::Ready(end) => {
                    this.work = None;
                    return Poll::Ready(end);
                }
                Poll::Pending => ready!(Pin::new(&mut this.cancelled).poll(context)),
            }
        }
        work.workers.left_busy.fetch_or(!work.task.is_finished(), Ordering::Relaxed);
        this.work = None;
        Poll::Ready(Some(Err(Error::cancelled())))
    }
}
