//! What the queries of one statement see, although it changes rows in several places: the tables as they were before it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use longshore_storage::{Relation, Snapshot};

use super::StatementTransaction;

/// Relations, and the rows of each that queries see; none unless there is such a statement.
#[derive(Default)]
pub(super) struct Frozen(Mutex<Vec<(Arc<Relation>, Arc<Snapshot>)>>);

impl Frozen {
    fn lock(&self) -> MutexGuard<'_, Vec<(Arc<Relation>, Arc<Snapshot>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets queries see what there is again when it goes.
pub(crate) struct FrozenRows<'t>(&'t StatementTransaction);

impl Drop for FrozenRows<'_> {
    fn drop(&mut self) {
        self.0.frozen.lock().clear();
    }
}

impl StatementTransaction {
    /// From now on queries see these relations as they are now.
    pub(crate) fn freeze<'r>(&self, relations: impl Iterator<Item = &'r Arc<Relation>>) -> FrozenRows<'_> {
        let rows = relations.map(|relation| (Arc::clone(relation), self.snapshot(relation))).collect();
        *self.frozen.lock() = rows;
        FrozenRows(self)
    }

    /// Whether its queries see relations otherwise than it would find rows in them.
    pub(crate) fn has_frozen(&self) -> bool {
        !self.frozen.lock().is_empty()
    }

    /// The rows of `relation` that its queries see.
    pub(crate) fn snapshot_to_query(&self, relation: &Arc<Relation>) -> Arc<Snapshot> {
        let frozen = self.frozen.lock();
        let found = frozen.iter().find(|(other, _)| Arc::ptr_eq(other, relation)).map(|(_, rows)| Arc::clone(rows));
        drop(frozen);
        found.unwrap_or_else(|| self.snapshot(relation))
    }
}
