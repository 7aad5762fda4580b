//! The one runtime of the process, and waiting for what runs on it.
//!
//! Whoever waits lets other threads have the interpreter, and looks every [`LOOK`] whether a signal came: Ctrl-C cancels
//! what is waited for. Threads do not survive a fork, so a child has a runtime of its own, and what was opened before the fork
//! is refused in it ([`Home`]).

use std::future::Future;
use std::mem::ManuallyDrop;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use longshore_engine::Control;
use pyo3::prelude::*;
use tokio::runtime::{Builder, Runtime};

use crate::errors;

/// How long it is from one look for signals to the next.
const LOOK: Duration = Duration::from_millis(20);
/// How long what was cancelled may take to end before it is left alone.
const PATIENCE: Duration = Duration::from_secs(1);

/// The runtime, and the process that it belongs to.
static RUNTIME: Mutex<Option<(u32, &'static Runtime)>> = Mutex::new(None);

/// The runtime of this process.
pub(crate) fn runtime() -> PyResult<&'static Runtime> {
    started().map_err(|error| errors::of_system(&error))
}

/// The same for those who know nothing of Python.
pub(crate) fn started() -> std::io::Result<&'static Runtime> {
    let mut kept = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if let Some((of, runtime)) = *kept
        && of == process
    {
        return Ok(runtime);
    }
    let runtime = Builder::new_multi_thread().enable_all().thread_name("longshore").build()?;
    // It lives as long as the process; that of a parent has no threads here, so that it cannot even be ended.
    let runtime: &'static Runtime = Box::leak(Box::new(runtime));
    *kept = Some((process, runtime));
    Ok(runtime)
}

/// The control of what runs, where whoever waits for it finds it.
#[derive(Clone, Default)]
pub(crate) struct Running(Arc<Mutex<(Option<Arc<Control>>, bool)>>);

impl Running {
    /// What has this control runs from now on.
    pub(crate) fn set(&self, control: Arc<Control>) {
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if running.1 {
            control.cancel();
        }
        running.0 = Some(control);
    }

    /// Cancels what runs, and what is about to.
    pub(crate) fn cancel(&self) {
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        running.1 = true;
        if let Some(control) = &running.0 {
            control.cancel();
        }
    }

    /// What runs, if anything does.
    pub(crate) fn control(&self) -> Option<Arc<Control>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0.clone()
    }
}

/// How far something is: bytes done, bytes in all (0 if that is not known), rows.
pub(crate) fn progress_of(control: &Control) -> (u64, u64, u64) {
    let progress = &control.progress;
    (progress.bytes_done(), progress.bytes_total(), progress.rows())
}

/// Waits until `future` is ready, which runs in the runtime and puts its control into `running`.
///
/// # Errors
/// Whatever a handler of a signal raises; `future` is cancelled then.
pub(crate) fn wait<T: Send + 'static>(
    py: Python<'_>,
    running: &Running,
    future: impl Future<Output = T> + Send + 'static,
) -> PyResult<T> {
    let (sender, mut receiver) = sync_channel(1);
    let task = runtime()?.spawn(async move {
        // Nobody waits any more for what was left alone.
        let _ = sender.send(future.await);
    });
    let mut interrupted = None;
    loop {
        let wait = if interrupted.is_some() { PATIENCE } else { LOOK };
        let received;
        (receiver, received) = py.detach(move || {
            let received = receiver.recv_timeout(wait);
            (receiver, received)
        });
        match (received, interrupted) {
            (Ok(_) | Err(_), Some(raised)) => {
                task.abort();
                return Err(raised);
            }
            (Ok(ready), None) => return Ok(ready),
            (Err(RecvTimeoutError::Disconnected), None) => {
                return Err(errors::own(py, "XX000", "the work ended without a result; this is a bug of Longshore"));
            }
            (Err(RecvTimeoutError::Timeout), None) => {
                interrupted = py.check_signals().err();
                if interrupted.is_some() {
                    running.cancel();
                }
            }
        }
    }
}

/// Why something cannot be used in a child.
pub(crate) const FORKED: &str = "this was opened before the process was forked, and works in the parent only; connect in the \
                                 child, or start processes with multiprocessing.get_context('spawn')";

/// What belongs to the process that made it: in a child after a fork its threads are gone, so that it is neither used there
/// nor dropped.
pub(crate) struct Home<T> {
    value: ManuallyDrop<T>,
    process: u32,
}

impl<T> Home<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { value: ManuallyDrop::new(value), process: std::process::id() }
    }

    /// It, where it may be used.
    pub(crate) fn get(&self, py: Python<'_>) -> PyResult<&T> {
        self.here().ok_or_else(|| errors::misuse(py, FORKED))
    }

    /// It, where it may be used; see [`FORKED`].
    pub(crate) fn here(&self) -> Option<&T> {
        (self.process == std::process::id()).then(|| &*self.value)
    }
}

impl<T> Drop for Home<T> {
    fn drop(&mut self) {
        if self.process == std::process::id() {
            // SAFETY: it is dropped once, here, and not used afterwards.
            unsafe { ManuallyDrop::drop(&mut self.value) };
        }
    }
}
