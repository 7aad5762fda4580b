//! Locks of sequences and types that a transaction defines anew or drops: others that want to do so wait for its end.
//!
//! They are kept with the advisory locks of the session, among those of its transaction. Not here: which statements take them
//! (`statement/object_locks`).

use std::sync::Arc;

use longshore_load::Control;
use longshore_storage::{AdvisoryKey, AdvisoryLock, Contention};

use super::{AdvisoryLocks, Block, Scope, State};
use crate::Error;
use crate::catalog::{Catalog, ObjectId};

/// The OIDs of `pg_class` and `pg_type`: of which kind an object is.
pub(crate) const RELATIONS: u32 = 1259;
const TYPES: u32 = 1247;

/// The lock of an object.
fn lock_of(catalog: &Catalog, object: ObjectId) -> AdvisoryLock {
    let class = if matches!(object, ObjectId::Type(_)) { TYPES } else { RELATIONS };
    AdvisoryLock { key: AdvisoryKey::Object(class, catalog.oid(object)), is_shared: false }
}

impl AdvisoryLocks {
    /// Locks an object for the transaction.
    ///
    /// # Errors
    /// When another session has it.
    pub(crate) fn take_object(&self, catalog: &Catalog, object: ObjectId) -> Result<(), Error> {
        self.take(lock_of(catalog, object), Scope::Transaction, true).map(drop)
    }
}

impl Block {
    /// Whether statements may change something.
    pub(crate) fn may_change(&self) -> bool {
        !self.is_read_only && !self.modes().read_only
    }

    /// Locks an object to the end of the open block, or of the next statement; waits for others that have it.
    ///
    /// # Errors
    /// When all would wait for each other, the wait lasts too long, or it is cancelled.
    pub(crate) async fn lock_object(
        &mut self,
        catalog: &Catalog,
        object: ObjectId,
        control: &Arc<Control>,
    ) -> Result<(), Error> {
        let transaction = match &self.state {
            State::Idle => None,
            State::Open(open) | State::Failed(open) => open.begun().map(|transaction| transaction.owner()),
        };
        let who: Vec<_> = std::iter::once(self.session).chain(transaction).collect();
        let locked = loop {
            let since = self.transactions.moment();
            let Err(error) = self.numbers.advisory().take_object(catalog, object.clone()) else { break Ok(()) };
            let Some(Contention::Locked(blocker)) = error.contention() else { break Err(error) };
            if let Err(error) = self.wait_for(blocker, &who, since, control).await {
                break Err(error);
            }
        };
        if locked.is_err() && !self.is_open() {
            self.numbers.advisory().end_transaction(0);
        }
        locked
    }
}
