//! What becomes of a session's temporary tables when a transaction ends.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What becomes of a temporary table when the transaction that it is used in commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtCommit {
    DeleteRows,
    Drop,
}

/// The temporary tables that do not stay as they are.
#[derive(Debug, Default)]
pub(crate) struct TemporaryTables {
    has_any: AtomicBool,
    tables: Mutex<Vec<(String, AtCommit)>>,
}

impl TemporaryTables {
    /// Whether there may be any.
    pub(crate) fn has_any(&self) -> bool {
        self.has_any.load(Ordering::Relaxed)
    }

    fn tables(&self) -> MutexGuard<'_, Vec<(String, AtCommit)>> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All of them, as they are now.
    pub(crate) fn all(&self) -> Vec<(String, AtCommit)> {
        self.tables().clone()
    }

    /// Goes back to what was known before.
    pub(crate) fn restore(&self, known: &[(String, AtCommit)]) {
        let mut tables = self.tables();
        known.clone_into(&mut tables);
        self.has_any.store(!tables.is_empty(), Ordering::Relaxed);
    }

    /// Forgets what was noted of a table of the same name.
    pub(crate) fn forget(&self, name: &str) {
        if self.has_any() {
            self.tables().retain(|(known, _)| known != name);
        }
    }

    /// Notes what becomes of a table.
    pub(crate) fn add(&self, name: &str, at_commit: AtCommit) {
        let mut tables = self.tables();
        tables.retain(|(known, _)| known != name);
        tables.push((name.to_owned(), at_commit));
        self.has_any.store(true, Ordering::Relaxed);
    }

    /// All of them; those that are dropped are forgotten.
    pub(crate) fn take(&self) -> Vec<(String, AtCommit)> {
        let mut tables = self.tables();
        let all = tables.clone();
        tables.retain(|(_, at_commit)| *at_commit != AtCommit::Drop);
        self.has_any.store(!tables.is_empty(), Ordering::Relaxed);
        all
    }
}
