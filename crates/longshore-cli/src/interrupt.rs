//! Decides what Ctrl-C does: it cancels the statement that runs, and nothing while none runs.
//!
//! Signals arrive on a thread of their own, because all workers of the runtime may be busy with the very statement
//! that is to be cancelled. At the prompt the terminal delivers Ctrl-C as a key, not as a signal.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use longshore_engine::Control;
use tokio::signal::unix::{SignalKind, signal};

/// Exit status of a process that Ctrl-C ended.
pub(crate) const EXIT_INTERRUPTED: i32 = 130;

/// Whether and what the user has interrupted.
#[derive(Clone, Debug)]
pub(crate) struct Interrupts {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    seen: AtomicBool,
    running: Mutex<Option<Arc<Control>>>,
}

/// Cancels its statement on Ctrl-C for as long as it lives.
#[derive(Debug)]
pub(crate) struct Watch<'a> {
    interrupts: &'a Interrupts,
}

impl Interrupts {
    /// Takes over SIGINT for the rest of the process, and SIGTERM if `terminate`.
    ///
    /// With `insist`, a second signal that finds the first one unanswered ends the process.
    ///
    /// # Errors
    ///
    /// The system gives no signal handler or no thread.
    pub(crate) fn install(terminate: bool, insist: bool) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let listener = Arc::clone(&shared);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        let (mut interrupt, mut terminated) = {
            let _inside = runtime.enter();
            (signal(SignalKind::interrupt())?, terminate.then(|| signal(SignalKind::terminate())).transpose()?)
        };
        std::thread::Builder::new().name(String::from("signals")).spawn(move || {
            runtime.block_on(async move {
                loop {
                    let other = async {
                        match &mut terminated {
                            Some(signal) => signal.recv().await,
                            None => std::future::pending().await,
                        }
                    };
                    tokio::select! {
                        _ = interrupt.recv() => {}
                        _ = other => {}
                    }
                    listener.interrupt(insist);
                }
            });
        })?;
        Ok(Self { shared })
    }

    /// Cancels `control` on Ctrl-C until the result is dropped, at once if Ctrl-C came already.
    pub(crate) fn watch(&self, control: Arc<Control>) -> Watch<'_> {
        let mut running = self.running();
        if self.seen() {
            control.cancel();
        }
        *running = Some(control);
        Watch { interrupts: self }
    }

    /// Forgets a Ctrl-C that came while no statement ran.
    pub(crate) fn forget(&self) {
        self.shared.seen.store(false, Ordering::Relaxed);
    }

    /// Set from the first Ctrl-C on, until the next [`Interrupts::forget`].
    pub(crate) fn flag(&self) -> &AtomicBool {
        &self.shared.seen
    }

    /// Whether Ctrl-C came since the last [`Interrupts::forget`].
    pub(crate) fn seen(&self) -> bool {
        self.shared.seen.load(Ordering::Relaxed)
    }

    fn running(&self) -> std::sync::MutexGuard<'_, Option<Arc<Control>>> {
        self.shared.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    fn interrupt(&self, insist: bool) {
        let again = self.seen.swap(true, Ordering::Relaxed);
        if again && insist {
            std::process::exit(EXIT_INTERRUPTED);
        }
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(control) = running.as_ref() {
            control.cancel();
        }
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        *self.interrupts.running() = None;
    }
}
