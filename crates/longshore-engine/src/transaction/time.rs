//! What a session's statements know of time: its `TimeZone`, `DateStyle` and `IntervalStyle`, and when its block began.
//!
//! As in PostgreSQL, what a block has set is undone when it is rolled back, and `SET LOCAL` holds until its end.
//! Not here: SET and SHOW (`statement/time_settings`).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use longshore_time::settings::Settings;

/// The settings of a session, shared with its transactions.
#[derive(Debug, Default)]
pub(crate) struct SessionTime(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    settings: Arc<Settings>,
    block: Option<OpenBlock>,
}

/// What a block has found.
#[derive(Debug)]
struct OpenBlock {
    /// Microseconds since 1970-01-01 UTC.
    began: i64,
    /// The settings that a rollback goes back to.
    before: Arc<Settings>,
    /// Those that hold behind it, if SET LOCAL has been said.
    behind: Option<Arc<Settings>>,
}

/// What holds when a savepoint is set.
#[derive(Debug)]
pub(super) struct TimeMark {
    settings: Arc<Settings>,
    behind: Option<Arc<Settings>>,
}

/// What one statement knows of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StatementTime {
    pub(crate) settings: Arc<Settings>,
    /// When its transaction began, in microseconds since 1970-01-01 UTC.
    pub(crate) began: i64,
    /// Whether that is a block, which may have begun long before the statement.
    pub(crate) is_in_block: bool,
}

impl SessionTime {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a statement works with now, whose own transaction would have begun at the time that `began` gives.
    pub(super) fn of_statement(&self, began: impl FnOnce() -> i64) -> StatementTime {
        let state = self.lock();
        let block = state.block.as_ref().map(|block| block.began);
        let settings = Arc::clone(&state.settings);
        StatementTime { settings, began: block.unwrap_or_else(began), is_in_block: block.is_some() }
    }

    /// The settings that hold now.
    pub(crate) fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.lock().settings)
    }

    /// A block begins.
    pub(super) fn begin(&self) {
        let mut state = self.lock();
        let before = Arc::clone(&state.settings);
        state.block = Some(OpenBlock { began: micros_now(), before, behind: None });
    }

    /// What holds now, to go back to.
    pub(super) fn mark(&self) -> TimeMark {
        let state = self.lock();
        let behind = state.block.as_ref().and_then(|block| block.behind.clone());
        TimeMark { settings: Arc::clone(&state.settings), behind }
    }

    /// What was set since is undone.
    pub(super) fn go_back(&self, mark: &TimeMark) {
        let mut state = self.lock();
        state.settings = Arc::clone(&mark.settings);
        if let Some(block) = &mut state.block {
            block.behind.clone_from(&mark.behind);
        }
    }

    /// A block ends.
    pub(super) fn end(&self, is_rolled_back: bool) {
        let mut state = self.lock();
        if let Some(block) = state.block.take() {
            if is_rolled_back {
                state.settings = block.before;
            } else if let Some(behind) = block.behind {
                state.settings = behind;
            }
        }
    }

    /// Sets the settings; `is_local` says that they hold to the end of the block. Returns whether that does anything.
    pub(crate) fn set(&self, settings: Settings, is_local: bool) -> bool {
        let mut state = self.lock();
        let settings = Arc::new(settings);
        let before = Arc::clone(&state.settings);
        match &mut state.block {
            None if is_local => return false,
            Some(block) if is_local => {
                block.behind.get_or_insert(before);
            }
            Some(block) => block.behind = None,
            None => {}
        }
        state.settings = settings;
        true
    }
}

/// Microseconds since 1970-01-01 UTC.
pub(crate) fn micros_now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
