//! Long work on threads that may block, so that a session stays able to show progress and to cancel.

use std::sync::Arc;

use longshore_load::Control;

use crate::Error;

/// Runs `work` on a blocking thread. If the future is dropped before the work is done, the statement is cancelled.
pub(crate) async fn run<R: Send + 'static>(
    control: &Arc<Control>,
    work: impl FnOnce(&Control) -> Result<R, Error> + Send + 'static,
) -> Result<R, Error> {
    let for_work = Arc::clone(control);
    let guard = CancelOnDrop(control);
    let result = tokio::task::spawn_blocking(move || work(&for_work)).await;
    std::mem::forget(guard);
    match result {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is shutting down.
            Err(_) => Err(Error::cancelled()),
        },
    }
}

struct CancelOnDrop<'a>(&'a Control);

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
