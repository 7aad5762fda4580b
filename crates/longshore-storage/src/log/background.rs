//! The thread that writes what no thread waits for: sessions leave with the log what is to be done then ([`Log::when_safe`]).
//!
//! Commits that do not wait are safe soon all the same; who holds a ticket finds its records written while it does other
//! things; and when many wait, it writes frame after frame while they wake up and append the next. A log without it works:
//! then whoever waits writes, which makes a test on one thread the same every time.

use std::io;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use crate::sync::thread;

use super::state::Background;
use super::{Log, StateGuard};

/// The background writer of a log. When it is dropped, it writes what there is and ends.
#[derive(Debug)]
pub struct BackgroundWriter {
    log: Arc<Log>,
    thread: Option<thread::JoinHandle<()>>,
}

impl BackgroundWriter {
    /// Starts to write what nobody waits for, at most `delay` after it was appended.
    ///
    /// # Errors
    ///
    /// When the system starts no thread.
    ///
    /// # Panics
    ///
    /// If the log has one already.
    pub fn start(log: &Arc<Log>, delay: Duration) -> io::Result<BackgroundWriter> {
        {
            let mut state = log.lock();
            assert_eq!(state.background, Background::Absent, "a log has one background writer");
            state.background = Background::Awake;
        }
        let shared = Arc::clone(log);
        let thread = thread::Builder::new().name("log writer".to_owned()).spawn(move || run(&shared, delay))?;
        Ok(BackgroundWriter { log: Arc::clone(log), thread: Some(thread) })
    }
}

impl Drop for BackgroundWriter {
    fn drop(&mut self) {
        self.log.lock().background = Background::Ending;
        self.log.work.notify_all();
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
        self.log.lock().background = Background::Absent;
    }
}

fn run(log: &Log, delay: Duration) {
    let mut state = log.lock();
    loop {
        let is_ending = state.background == Background::Ending;
        if is_ending && state.is_at_rest() {
            return;
        }
        let since = state.gathering_since();
        let is_due = is_ending || state.is_wanted() || since.is_some_and(|since| since.elapsed() >= delay);
        state = if is_due && state.can_write() { log.write_group(state) } else { sleep(log, state, since, delay) };
    }
}

/// Sleeps until there is something to do, or the frame that has gathered since then is due.
fn sleep<'a>(log: &'a Log, mut state: StateGuard<'a>, since: Option<Instant>, delay: Duration) -> StateGuard<'a> {
    let rest = since.map(|since| delay.saturating_sub(since.elapsed())).filter(|rest| !rest.is_zero());
    if let Some(rest) = rest {
        return state.pass(|guard| log.work.wait_timeout(guard, rest).unwrap_or_else(PoisonError::into_inner).0);
    }
    if state.background == Background::Awake {
        state.background = Background::Asleep;
    }
    let mut state = state.pass(|guard| log.work.wait(guard).unwrap_or_else(PoisonError::into_inner));
    if state.background == Background::Asleep {
        state.background = Background::Awake;
    }
    state
}
