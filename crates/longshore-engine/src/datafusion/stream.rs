//! Streams of batches that end when their statement is cancelled.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use datafusion::arrow::array::RecordBatch;
use datafusion::execution::SendableRecordBatchStream;
use futures::{Stream, StreamExt};
use longshore_load::Control;
use tokio::time::{Sleep, sleep};

use super::errors::ours;
use crate::{Error, RowStream};

/// How often a stream that waits for its operators looks for a cancellation.
const CANCEL_POLL: Duration = Duration::from_millis(20);

/// The rows of `inner`, until `control` cancels them: then one error, and all work on them is dropped.
pub(super) fn rows(inner: SendableRecordBatchStream, control: &Arc<Control>) -> RowStream {
    let schema = inner.schema();
    let stream = Cancellable { inner: Some(inner), control: Arc::clone(control), alarm: Box::pin(sleep(CANCEL_POLL)) };
    RowStream::new(schema, stream)
}

struct Cancellable {
    /// `None` once the stream has ended.
    inner: Option<SendableRecordBatchStream>,
    control: Arc<Control>,
    alarm: Pin<Box<Sleep>>,
}

impl Stream for Cancellable {
    type Item = Result<RecordBatch, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let Some(inner) = &mut this.inner else {
            return Poll::Ready(None);
        };
        if this.control.is_cancelled() {
            this.inner = None;
            return Poll::Ready(Some(Err(Error::cancelled())));
        }
        match inner.poll_next_unpin(context) {
            Poll::Ready(Some(Ok(batch))) => Poll::Ready(Some(Ok(batch))),
            Poll::Ready(Some(Err(error))) => {
                this.inner = None;
                Poll::Ready(Some(Err(ours(error))))
            }
            Poll::Ready(None) => {
                this.inner = None;
                Poll::Ready(None)
            }
            Poll::Pending => {
                while this.alarm.as_mut().poll(context).is_ready() {
                    this.alarm = Box::pin(sleep(CANCEL_POLL));
                }
                // The alarm wakes this task, which then looks at the control again.
                Poll::Pending
            }
        }
    }
}
