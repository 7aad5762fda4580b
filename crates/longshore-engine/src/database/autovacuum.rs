//! The thread that packs again what was changed and then left alone (the thesis, 7.1: cold chunks are frozen).
//!
//! It looks through all tables from time to time, and packs the chunks that are full enough and that nobody changed since
//! the last look. Nobody waits for it: a chunk's latch is held only to take its values, and to put the packed ones in their
//! place. It ends with the database.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use longshore_storage::{Freeze, Storage};

use crate::catalog::{Catalog, Entry};
use crate::config::Naptime;
use crate::{Config, panics};

/// Rows that a chunk has at least to be packed: more are likely to follow those of a smaller one.
const ROWS_MIN: usize = 8192;

/// Whether there is such a thread, and how long it waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AutovacuumSettings {
    pub(crate) is_on: bool,
    pub(crate) naptime: Naptime,
}

impl AutovacuumSettings {
    pub(crate) fn of(config: &Config) -> AutovacuumSettings {
        AutovacuumSettings { is_on: config.autovacuum, naptime: config.autovacuum_naptime }
    }
}

/// Ends the thread when it is dropped.
pub(crate) struct Autovacuum {
    catalog: Weak<Catalog>,
    state: Mutex<State>,
}

struct State {
    settings: AutovacuumSettings,
    /// Dropped, it ends the thread.
    _running: Option<Sender<()>>,
}

impl Autovacuum {
    /// Starts the thread for the tables of a catalog, if the settings want one.
    pub(super) fn start(catalog: &Arc<Catalog>, settings: AutovacuumSettings) -> Autovacuum {
        let catalog = Arc::downgrade(catalog);
        let state = Mutex::new(State { settings, _running: running(&catalog, settings) });
        Autovacuum { catalog, state }
    }

    pub(crate) fn settings(&self) -> AutovacuumSettings {
        self.lock().settings
    }

    /// Changes the settings. The naptime begins anew.
    pub(crate) fn set(&self, change: impl FnOnce(&mut AutovacuumSettings)) {
        let mut state = self.lock();
        let mut settings = state.settings;
        change(&mut settings);
        *state = State { settings, _running: running(&self.catalog, settings) };
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts a thread that ends with what is returned. None where the system gives no thread: the database works without.
fn running(catalog: &Weak<Catalog>, settings: AutovacuumSettings) -> Option<Sender<()>> {
    if !settings.is_on {
        return None;
    }
    let (running, ended) = mpsc::channel();
    let (catalog, naptime) = (Weak::clone(catalog), settings.naptime.duration());
    let work = move || {
        while ended.recv_timeout(naptime) == Err(RecvTimeoutError::Timeout) {
            // A bug costs one look, and nobody a statement.
            let _ = panics::caught(|| {
                look(&catalog);
                Ok(())
            });
        }
    };
    std::thread::Builder::new().name("autovacuum".to_owned()).spawn(work).ok()?;
    Some(running)
}

/// Looks at all tables once.
fn look(catalog: &Weak<Catalog>) {
    let Some(catalog) = catalog.upgrade() else { return };
    for entry in catalog.entries() {
        let Entry::Table(table) = entry else { continue };
        if table.relation.storage() != Storage::Packed {
            continue;
        }
        let is_last = || Arc::strong_count(&catalog) == 1;
        // Short of memory, it stays as it is until the next look.
        let _ = table.relation.freeze(Freeze::Unchanged, ROWS_MIN, &is_last);
        if is_last() {
            break;
        }
    }
}
