//! Long work on threads that may block, so that a session stays able to show progress and to cancel.

use std::sync::Arc;
use std::time::Duration;

use longshore_load::Control;
use tokio::task::JoinError;

use crate::{Error, panics};

/// How often work that does not look for a cancellation itself is looked after.
const CANCEL_POLL: Duration = Duration::from_millis(20);

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
    loop {
        tokio::select! {
            result = &mut task => {
                std::mem::forget(guard);
                return of_task(result);
            }
            () = tokio::time::sleep(CANCEL_POLL) => {
                if control.is_cancelled() {
                    return Err(Error::cancelled());
                }
            }
        }
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
