//! `statement_timeout`: a statement that takes longer is cancelled.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use longshore_load::Control;
use tokio::task::JoinHandle;

use crate::{Error, ErrorKind, Outcome};

/// When a statement is cancelled. It is not any more once this is gone.
pub(super) struct Deadline {
    has_passed: Arc<AtomicBool>,
    alarm: JoinHandle<()>,
}

impl Deadline {
    /// That of a statement which begins now.
    pub(super) fn after(timeout: Duration, control: &Arc<Control>) -> Self {
        let (has_passed, control) = (Arc::new(AtomicBool::new(false)), Arc::clone(control));
        let passes = Arc::clone(&has_passed);
        let alarm = tokio::spawn(async move {
            tokio::time::sleep(timeout).await;
            passes.store(true, Ordering::Release);
            control.cancel();
        });
        Self { has_passed, alarm }
    }

    /// What the statement gives back; rows are to be read before the deadline, too.
    pub(super) fn kept(self, outcome: Result<Outcome, Error>) -> Result<Outcome, Error> {
        match outcome {
            Ok(Outcome::Rows(rows)) => Ok(Outcome::Rows(rows.with_errors(move |error| self.reworded(error)))),
            Ok(done) => Ok(done),
            Err(error) => Err(self.reworded(error)),
        }
    }

    fn reworded(&self, error: Error) -> Error {
        if error.kind() == ErrorKind::Cancelled && self.has_passed.load(Ordering::Acquire) {
            return Error::new(ErrorKind::Cancelled, "canceling statement due to statement timeout");
        }
        error
    }
}

impl Drop for Deadline {
    fn drop(&mut self) {
        self.alarm.abort();
    }
}
