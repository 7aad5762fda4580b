//! Long work on threads that may block, so that a session stays able to show progress and to cancel.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use longshore_load::{Control, WaiterId};
use tokio::task::JoinError;

use crate::{Error, panics};

/// Ready once the statement is cancelled.
pub(crate) struct Cancelled {
    control: Arc<Control>,
    waiter: WaiterId,
}

impl Cancelled {
    /// Waits for a cancellation by `control`.
    pub(crate) fn new(control: &Arc<Control>) -> Self {
        Self { control: Arc::clone(control), waiter: control.cancellation().waiter() }
    }
}

impl Future for Cancelled {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.control.cancellation().wait(self.waiter, context.waker()) { Poll::Pending } else { Poll::Ready(()) }
    }
}

impl Drop for Cancelled {
    fn drop(&mut self) {
        self.control.cancellation().leave(self.waiter);
    }
}

/// Runs `work` on a blocking thread. If the future is dropped before the work is done, the statement is cancelled.
pub(crate) async fn run<R: Send + 'static>(
    control: &Arc<Control>,
    work: impl FnOnce(&Control) -> Result<R, Error> + Send + 'static,
) -> Result<R, Error> {
    let for_work = Arc::clone(control);
    let guard = CancelOnDrop(control);
    let result = tokio::task::spawn_blocking(move || work(&for_work)).await;
    std::mem::forget(guard);
    of_task(result)
}

/// Runs `work`, which does not look for a cancellation, on a blocking thread. If the statement is cancelled, the work is
/// left to itself: it must change nothing.
pub(crate) async fn run_abandonable<R: Send + 'static>(
    control: &Arc<Control>,
    work: impl FnOnce() -> Result<R, Error> + Send + 'static,
) -> Result<R, Error> {
    let mut task = tokio::task::spawn_blocking(work);
    let guard = CancelOnDrop(control);
    tokio::select! {
        result = &mut task => {
            std::mem::forget(guard);
            of_task(result)
        }
        () = Cancelled::new(control) => Err(Error::cancelled()),
    }
}

fn of_task<R>(result: Result<Result<R, Error>, JoinError>) -> Result<R, Error> {
    result.unwrap_or_else(|error| {
        Err(match error.try_into_panic() {
            Ok(panic) => panics::error(panic.as_ref()),
            // The runtime is shutting down.
            Err(_) => Error::cancelled(),
        })
    })
}

struct CancelOnDrop<'a>(&'a Control);

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
