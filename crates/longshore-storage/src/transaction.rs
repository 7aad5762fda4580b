//! Transactions: what several threads do to several relations at the same time, as if one after the other.
//!
//! Source: the thesis, chapter 2. Rows are changed in place, what they were is kept for who began earlier
//! (`version.rs`), and a transaction that meets a change it does not see gives up at once. A serializable transaction
//! also logs what it read, and commits only if nobody who committed meanwhile has changed any of it.
//!
//! A transaction is used by one thread at a time. Threads that read in parallel take its [`View`].
//!
//! Not here: slots and the changes of rows (`chunk/hot.rs`), indexes (`table/indexes.rs`), the order of transactions and
//! what becomes of what they have changed (`manager`).

use std::fmt;
use std::sync::Arc;

use crate::chunk::hot::{RowVisibility, Writer};
use crate::error::TransactionError;
use crate::manager::{ActiveSlot, Left, SchemaChanges, Transactions, WriteSet};
use crate::predicate::PredicateLog;
use crate::relation::Relation;
use crate::row_id::RowId;
use crate::table::{Snapshot, Table};
use crate::visibility::{StampId, Time, View};

mod begin;
mod bulk;
mod commit;
mod deferral;
mod error;
mod failed_keys;
mod foreign_key_reads;
mod keys;
mod reads;
mod references;
mod row_edit;
mod row_locks;
mod row_read;
mod rows;
mod savepoint;
mod statement;
mod validate;

pub(crate) use bulk::Failure;
pub use error::CommitError;
pub(crate) use failed_keys::KEYS_LOGGED_MAX;
pub use references::{ActionRows, ReferenceChecks};
pub use row_edit::RowEdit;
pub use row_read::RowRead;
pub use savepoint::Savepoint;
pub use statement::Contention;

use deferral::Deferral;
use foreign_key_reads::ForeignKeyReads;
use row_locks::HeldLock;

/// What a transaction is guarded against.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Isolation {
    /// Against everything: what commits is equivalent to the same transactions one after the other.
    #[default]
    Serializable,
    /// Against all but write skew: each transaction reads the state at its start, and two that run at the same time do
    /// not change the same row.
    Snapshot,
    /// Against what is not committed: each statement reads the state at its start ([`Transaction::begin_statement`]).
    ReadCommitted,
}

/// A transaction. Dropped without a commit, it is rolled back.
///
/// Rows are to be found by its own lookups, ranges and scans (or by a snapshot, said with [`Transaction::log_scan`]):
/// what is read of a row whose id comes from elsewhere is not guarded against others, since no predicate asks for it.
pub struct Transaction {
    manager: Arc<Transactions>,
    active_slot: ActiveSlot,
    view: View,
    /// `None` if it only reads.
    stamp: Option<StampId>,
    isolation: Isolation,
    set: WriteSet,
    /// What it has read, if it will have to answer for it.
    log: Option<Box<PredicateLog>>,
    /// What foreign keys made of what it saw.
    foreign_key_reads: Option<Box<ForeignKeyReads>>,
    /// Writes of which the foreign keys were seen to.
    foreign_keys_checked: usize,
    /// Relations whose foreign keys it knows up to later times than its start, since it has added the last ones.
    known_references: Vec<(Arc<Table>, Time)>,
    /// Foreign keys that are checked later.
    deferral: Deferral,
    /// The rows and tables that it has locked.
    locks: Vec<HeldLock>,
    /// A savepoint was made: every change must be undoable on its own.
    keeps_all: bool,
    /// How often it has gone back to a savepoint.
    went_back: usize,
    ended: bool,
}

impl fmt::Debug for Transaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transaction")
            .field("view", &self.view)
            .field("isolation", &self.isolation)
            .field("writes", &self.set.writes.len())
            .finish_non_exhaustive()
    }
}

impl Transaction {
    fn new(
        manager: Arc<Transactions>,
        active_slot: ActiveSlot,
        view: View,
        stamp: Option<StampId>,
        isolation: Isolation,
        set: WriteSet,
        log: Option<Box<PredicateLog>>,
    ) -> Transaction {
        Transaction {
            manager,
            active_slot,
            view,
            stamp,
            isolation,
            set,
            log,
            foreign_key_reads: None,
            foreign_keys_checked: 0,
            known_references: Vec::new(),
            deferral: Deferral::default(),
            locks: Vec::new(),
            keeps_all: false,
            went_back: 0,
            ended: false,
        }
    }

    /// What it sees, for threads that read on its behalf.
    #[must_use]
    pub fn view(&self) -> View {
        self.view
    }

    /// Its isolation level.
    #[must_use]
    pub fn isolation(&self) -> Isolation {
        self.isolation
    }

    /// Whether it was begun as one that changes nothing.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.stamp.is_none()
    }

    /// Whether it has changed anything.
    #[must_use]
    pub fn has_written(&self) -> bool {
        !self.set.writes.is_empty() || self.set.schema_changes.is_some()
    }

    /// The rows of a relation as it sees them now. What it changes afterwards does not show.
    #[must_use]
    pub fn snapshot(&self, relation: &Relation) -> Arc<Snapshot> {
        self.assert_mine(relation);
        relation.snapshot_at(self.view)
    }

    /// Whether it sees a row.
    #[must_use]
    pub fn sees(&self, relation: &Relation, row: RowId) -> bool {
        let slot = relation.table().slots.get(row.chunk());
        slot.is_some_and(|slot| {
            slot.read().visibility(row.row(), self.view, self.manager.stamps()) != RowVisibility::Hidden
        })
    }

    /// Undoes everything.
    pub fn rollback(mut self) {
        self.end(Left::RolledBack);
    }

    fn end(&mut self, left: Left) {
        if self.ended {
            return;
        }
        self.ended = true;
        let mut set = std::mem::take(&mut self.set);
        if let Some(stamp) = self.stamp {
            set.undo(0, stamp);
            set.forget_items(0, 0);
            self.unlock(0);
        }
        self.manager.leave(self.active_slot, self.stamp, set, self.log.take(), left);
    }

    /// Its changes that are no rows, to log one; `None` if its database has no log.
    pub(crate) fn logged_changes(&mut self) -> Result<Option<&mut SchemaChanges>, TransactionError> {
        if self.stamp.is_none() {
            return Err(TransactionError::ReadOnly);
        }
        let is_logged = self.manager.log().is_set();
        Ok(is_logged.then(|| &mut **self.set.schema_changes.get_or_insert_default()))
    }

    /// The same for a relation, which must be of its database.
    pub(crate) fn logged_changes_of(
        &mut self,
        relation: &Relation,
    ) -> Result<Option<&mut SchemaChanges>, TransactionError> {
        self.assert_mine(relation);
        self.logged_changes()
    }

    /// What slots need to know of it.
    fn writer<'a>(&'a self, table: &'a Table) -> Result<Writer<'a>, TransactionError> {
        let stamp = self.stamp.ok_or(TransactionError::ReadOnly)?;
        let Transaction { view, keeps_all, .. } = *self;
        Ok(Writer { view, stamp, clock: self.manager.clock(), memory: table.memory(), keeps_all })
    }

    #[inline]
    fn assert_mine(&self, relation: &Relation) {
        assert!(
            Arc::ptr_eq(&self.manager, relation.transactions()),
            "a transaction works on relations of its database"
        );
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        self.end(Left::RolledBack);
    }
}
