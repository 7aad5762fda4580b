//! Waits for other transactions, without a thread: until they end, the statement is cancelled, or it has lasted too long.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use longshore_load::Control;
use longshore_storage::{Contention, Deadlock, Moment, Owner};
use tokio::sync::oneshot;

use super::{Arc, Block, LastNumbers};
use crate::blocking::Cancelled;
use crate::{Error, ErrorKind};

/// How often a statement is tried again that others were in the way of, where it need not wait for their end: others that
/// go on by and by, or always the same one.
const TRIES_MAX: u32 = 100;
const SAME_MAX: u32 = 10;

/// The longest pause before the first of these tries; each further one may be twice as long, up to [`PAUSE_MAX`].
const PAUSE_FIRST: Duration = Duration::from_millis(1);
const PAUSE_MAX: Duration = Duration::from_millis(30);

/// How long statements of a session may take; `None` is without end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Timeouts {
    /// To wait for a lock.
    pub(crate) lock: Option<Duration>,
    /// From begin to end.
    pub(crate) statement: Option<Duration>,
    /// Until the next one, in an open block.
    pub(crate) idle_in_transaction: Option<Duration>,
}

/// What the log is to tell of a session's statements; `None` where it tells nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Logging {
    /// Statements that take so long.
    pub(crate) slow_statements: Option<Duration>,
    /// Waits for locks that take so long.
    pub(crate) lock_waits: Option<Duration>,
}

/// The tries of a statement.
#[derive(Default)]
pub(super) struct Tries {
    made: u32,
    /// Who was in the way last, and how often by now.
    last: Option<Contention>,
    same: u32,
}

impl Tries {
    /// How long to pause before the next one, after this was in the way; `None` if there were enough.
    fn pause(&mut self, met: Option<Contention>) -> Option<Duration> {
        self.made += 1;
        let is_same = met != Some(Contention::Changed) && met == self.last;
        self.same = if is_same { self.same + 1 } else { 0 };
        self.last = met;
        let longest = PAUSE_MAX.min(PAUSE_FIRST * (1 << self.made.min(5)));
        (self.made <= TRIES_MAX && self.same < SAME_MAX).then(|| longest.mul_f64(random_part()))
    }
}

/// A number from 0 to 1 that others do not draw at the same time.
fn random_part() -> f64 {
    use std::hash::{BuildHasher, RandomState};
    let drawn = RandomState::new().hash_one(0_u8);
    f64::from((drawn >> 32) as u32) / f64::from(u32::MAX)
}

impl Block {
    /// How long its statements may take.
    pub(crate) fn timeouts(&self) -> Timeouts {
        self.timeouts
    }

    /// Sets how long its statements may take.
    pub(crate) fn set_timeouts(&mut self, timeouts: Timeouts) {
        self.timeouts = timeouts;
    }

    /// What the log is to tell of its statements.
    pub(crate) fn logging(&self) -> Logging {
        self.logging
    }

    /// Sets what the log is to tell of its statements.
    pub(crate) fn set_logging(&mut self, logging: Logging) {
        self.logging = logging;
        self.numbers.keep_plans(logging.slow_statements.is_some());
    }

    /// Pauses before a statement runs again that has failed with `error` for reasons of others, and was undone. `who` is
    /// its transaction, or what is left of it; `since` is when it began.
    ///
    /// # Errors
    /// `error`, when it was tried often enough; or why it cannot wait.
    pub(super) async fn before_next_try(
        &self,
        error: Error,
        who: &[Owner],
        since: Moment,
        tries: &mut Tries,
        control: &Arc<Control>,
    ) -> Result<(), Error> {
        if control.is_cancelled() {
            return Err(Error::cancelled());
        }
        let contention = error.contention();
        match contention {
            Some(Contention::Locked(blocker)) => return self.wait_for(blocker, who, since, control).await,
            Some(Contention::Changing(blocker)) if self.modes().level.is_read_committed() => {
                return self.wait_for(blocker, who, since, control).await;
            }
            // Others have committed since: so somebody goes on.
            Some(Contention::Changed) if self.modes().level.is_read_committed() => return Ok(()),
            _ => {}
        }
        let Some(pause) = tries.pause(contention) else { return Err(error) };
        let pause = tokio::time::sleep(pause);
        if let Some(Contention::Changing(blocker)) = contention {
            tokio::select! {
                ended = self.wait_for(blocker, who, since, control) => ended,
                () = pause => Ok(()),
            }
        } else {
            tokio::select! {
                () = pause => Ok(()),
                () = Cancelled::new(control) => Err(Error::cancelled()),
            }
        }
    }

    /// Waits until there is something to look at again: another transaction or session has ended, or has given up
    /// something.
    ///
    /// # Errors
    /// When all would wait for each other, the wait lasts too long, or the statement is cancelled.
    pub(crate) async fn wait_for(
        &self,
        blocker: Owner,
        who: &[Owner],
        since: Moment,
        control: &Arc<Control>,
    ) -> Result<(), Error> {
        let (ends, end) = oneshot::channel();
        let wake = move || {
            // Who has given up the wait does not listen.
            let _ = ends.send(());
        };
        let pid = self.numbers.entered().map(|(activity, _)| activity.pid());
        let wait = self.transactions.wait_for(who, blocker, since, wake).map_err(|Deadlock| {
            tracing::warn!(target: "longshore::locks", pid, "deadlock detected");
            deadlock()
        })?;
        let Some(_wait) = wait else { return Ok(()) };
        let told = Told { pid, began: Instant::now(), was_written: AtomicBool::new(false) };
        let tell = async {
            if let Some(after) = self.logging.lock_waits {
                tokio::time::sleep(after).await;
                told.tell(&self.numbers, blocker);
            }
            std::future::pending::<()>().await;
        };
        let too_long = async {
            match self.timeouts.lock {
                Some(timeout) => tokio::time::sleep(timeout).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = end => {
                told.tell_end();
                Ok(())
            }
            () = tell => Ok(()),
            () = Cancelled::new(control) => Err(Error::cancelled()),
            () = too_long => {
                Err(Error::new(ErrorKind::LockNotAvailable, "canceling statement due to lock timeout"))
            }
        }
    }
}

/// A wait that the log may tell of.
struct Told {
    pid: Option<i32>,
    began: Instant,
    was_written: AtomicBool,
}

impl Told {
    /// It lasts.
    fn tell(&self, numbers: &LastNumbers, blocker: Owner) {
        let sessions = numbers.entered().map(|(_, all)| all.all()).unwrap_or_default();
        let holder = sessions.iter().find(|session| session.is(blocker)).map(|session| session.pid());
        let waited_ms = self.began.elapsed().as_secs_f64() * 1e3;
        tracing::info!(target: "longshore::locks", pid = self.pid, holder, waited_ms, "still waiting for a lock");
        self.was_written.store(true, Ordering::Relaxed);
    }

    /// It is over.
    fn tell_end(&self) {
        if self.was_written.load(Ordering::Relaxed) {
            let waited_ms = self.began.elapsed().as_secs_f64() * 1e3;
            tracing::info!(target: "longshore::locks", pid = self.pid, waited_ms, "the wait for a lock is over");
        }
    }
}

/// The error of the transaction that is chosen to fail when several wait for each other.
pub(crate) fn deadlock() -> Error {
    Error::new(ErrorKind::Deadlock, "deadlock detected")
}
