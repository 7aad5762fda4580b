//! When a table is visible: from the commit that put it in its place to the one that puts another one there.
//!
//! Not here: how the other one is made (`alteration`).

use std::any::Any;
use std::sync::Arc;

use super::{ColumnOrigin, Table};
use crate::error::TransactionError;
use crate::memory::Memory;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::types::Schema;
use crate::visibility::{Owner, Time};

/// From when to when a table is visible.
pub(crate) struct VisibilityInterval {
    since: AtomicU64,
    /// [`OPEN`], [`CLOSED`], or the time of the commit that put another one in its place.
    until: AtomicU64,
    /// The transaction that has closed it and goes on, or 0.
    closed_by: AtomicU64,
}

/// The commit has not come.
const PENDING: u64 = u64::MAX;
/// Nobody alters it.
const OPEN: u64 = u64::MAX;
/// It is being altered.
const CLOSED: u64 = u64::MAX - 1;

impl Default for VisibilityInterval {
    fn default() -> VisibilityInterval {
        VisibilityInterval { since: AtomicU64::new(0), until: AtomicU64::new(OPEN), closed_by: AtomicU64::new(0) }
    }
}

impl VisibilityInterval {
    fn pending() -> VisibilityInterval {
        VisibilityInterval { since: AtomicU64::new(PENDING), ..VisibilityInterval::default() }
    }

    /// Whether it is visible to who sees what was committed up to a time.
    pub(crate) fn is_current_at(&self, time: Time) -> bool {
        self.since.load(Ordering::Acquire) <= time.0 && self.lasts_at(time)
    }

    /// Whether no other one has taken its place by then.
    pub(crate) fn lasts_at(&self, time: Time) -> bool {
        time.0 < self.until.load(Ordering::Acquire)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.until.load(Ordering::Acquire) != OPEN
    }

    /// Closes it, perhaps for a transaction; says whether nobody else has closed it.
    pub(crate) fn close(&self, by: Option<Owner>) -> bool {
        let is_closed = self.until.compare_exchange(OPEN, CLOSED, Ordering::AcqRel, Ordering::Acquire).is_ok();
        if is_closed {
            self.closed_by.store(by.map_or(0, |owner| owner.0), Ordering::Release);
        }
        is_closed
    }

    /// The transaction that has closed it and has not ended.
    pub(crate) fn closed_by(&self) -> Option<Owner> {
        let by = Owner(self.closed_by.load(Ordering::Acquire));
        (self.until.load(Ordering::Acquire) == CLOSED && by != Owner(0)).then_some(by)
    }

    pub(crate) fn reopen(&self) {
        self.until.store(OPEN, Ordering::Release);
    }
}

/// An append that has begun and may yet be committed.
pub(crate) struct AppendInProgress<'r>(&'r Table);

impl<'r> AppendInProgress<'r> {
    pub(crate) fn new(table: &'r Table) -> AppendInProgress<'r> {
        table.appends.fetch_add(1, Ordering::AcqRel);
        AppendInProgress(table)
    }
}

impl Drop for AppendInProgress<'_> {
    fn drop(&mut self) {
        self.0.appends.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A table takes the place of another one when a transaction commits.
pub(crate) struct TableSwap {
    before: Arc<Table>,
    after: Arc<Table>,
    /// Kept until nobody reads the one before.
    _keep: Arc<dyn Any + Send + Sync>,
}

impl TableSwap {
    /// `keep` is kept as long as somebody may read what was before.
    pub(crate) fn new(before: Arc<Table>, after: Arc<Table>, keep: Arc<dyn Any + Send + Sync>) -> TableSwap {
        TableSwap { before, after, _keep: keep }
    }

    pub(crate) fn before(&self) -> &Table {
        &self.before
    }

    pub(crate) fn after(&self) -> &Arc<Table> {
        &self.after
    }

    /// With the commit of this time, which nobody sees yet.
    pub(crate) fn take_place(&self, time: Time) {
        self.after.visibility.since.store(time.0, Ordering::Release);
        self.before.visibility.until.store(time.0, Ordering::Release);
        self.before.end_references(time);
        self.after.set_relation_id(self.before.relation_id());
    }
}

impl Table {
    /// A table that is to take the place of another one, from which its columns come so.
    pub(crate) fn pending(schema: Arc<Schema>, memory: Arc<Memory>, origins: Box<[ColumnOrigin]>) -> Table {
        Table { visibility: VisibilityInterval::pending(), origins, ..Table::new(schema, memory) }
    }

    /// Why a transaction that began at a time cannot write any more.
    pub(crate) fn altered(&self, start: Time) -> TransactionError {
        let (retry, by) = (self.visibility.lasts_at(start), self.visibility.closed_by());
        TransactionError::Altered { relation: self.name(), retry, by }
    }

    /// Whether it has not taken the place yet of the one that it was made of.
    pub(crate) fn is_pending(&self) -> bool {
        self.visibility.since.load(Ordering::Acquire) == PENDING
    }

    /// Whether appends are under way.
    pub(crate) fn has_appends(&self) -> bool {
        self.appends.load(Ordering::Acquire) > 0
    }
}
