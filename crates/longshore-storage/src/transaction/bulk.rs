//! What a transaction does to many rows at once: appends that were prepared elsewhere, and TRUNCATE.
//!
//! Neither leaves versions: a stamp says for all rows of a slot, or of a range of it, when they came to be, and for all
//! rows of a slot when they went.

use std::ops::Range;
use std::sync::Arc;

use super::{Isolation, Transaction};
use crate::chunk::Chunk;
use crate::chunk::hot::{HotChunk, WriteError, Writer};
use crate::error::{AppendedPair, Holder, TransactionError};
use crate::manager::{Write, WriteKind};
use crate::relation::Relation;
use crate::row_id::RowId;
use crate::sync::atomic::Ordering;
use crate::table::{ForeignKey, IncrementalIndexBuild, Table, TableSwap, threads};
use crate::visibility::ConflictKind;

/// What becomes of the failure of an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// It is reported, and so the keys that it tells of count as read.
    IsLogged,
    /// The append is tried in another way.
    IsRetried,
}

impl Transaction {
    /// Removes all rows that it sees, which counts as having read which there are.
    ///
    /// # Errors
    ///
    /// When another transaction has changed rows that it does not see, or when it only reads.
    pub fn truncate(&mut self, relation: &Relation) -> Result<(), TransactionError> {
        self.assert_mine(relation);
        let table = relation.table();
        self.log_scan(relation, &[], &[]);
        self.check_unlocked(table, RowId::new(0, 0))?;
        if table.locks.load(Ordering::Relaxed) != 0
            && let Some((row, holder)) = self.manager.row_locks.any(table, self.owner())
        {
            return Err(table.conflict(row, ConflictKind::Locked(holder)));
        }
        let savepoint = self.set.writes.len();
        let stamp = self.writer(table)?.stamp;
        let truncated = self.truncate_slots(table, HotChunk::check_all);
        if truncated.is_err() {
            self.set.undo(savepoint, stamp);
        }
        truncated
    }

    /// Lets a relation take the place of another one when it commits. The transaction alone knows it until then, and goes on
    /// to change its rows. What becomes of it is logged (`redo/altered.rs`).
    pub(crate) fn swap_table(&mut self, table_swap: TableSwap) -> Result<(), TransactionError> {
        let (before, after) = (table_swap.before(), table_swap.after());
        if self.isolation != Isolation::ReadCommitted && before.has_changed_since(self.view.start) {
            return Err(before.conflict(RowId::new(0, 0), ConflictKind::Committed));
        }
        // Changes of its rows are logged under its number.
        after.set_relation_id(before.relation_id());
        self.set.schema_changes.get_or_insert_default().table_swaps.push(table_swap);
        Ok(())
    }

    /// Whether it has changed rows of a relation, and not undone that.
    #[must_use]
    pub fn has_changed(&self, relation: &Relation) -> bool {
        let at = self.set.tables.iter().position(|table| Arc::ptr_eq(table, relation.table()));
        at.is_some_and(|at| self.set.writes.iter().any(|write| write.table as usize == at))
    }

    /// Whether a foreign key is one of a relation as it was before an alteration that this transaction commits: another one
    /// is in its place.
    pub(super) fn ends(&self, key: &ForeignKey) -> bool {
        let ends = |swap: &TableSwap| [key.parent_id(), key.child_id()].contains(&swap.before().id());
        self.set.table_swaps().iter().any(ends)
    }

    /// Marks slots deleted, apart from those of which the check says that they have no rows.
    fn truncate_slots(
        &mut self,
        table: &Arc<Table>,
        check: impl Fn(&HotChunk, &Writer<'_>) -> Result<(), WriteError>,
    ) -> Result<(), TransactionError> {
        let at = self.set.table(table);
        for (slot_at, slot) in table.slots.iter() {
            let row = RowId::new(slot_at, 0);
            let writer = self.writer(table)?;
            let mut slot = slot.write();
            match check(&slot, &writer) {
                Ok(()) => slot.mark_deleted(writer.stamp),
                Err(WriteError::NoSuchRow) => continue,
                Err(error) => return Err(table.failed(row, error)),
            }
            drop(slot);
            self.set.writes.push(Write { table: at, kind: WriteKind::Truncate, row, version: 0 });
        }
        Ok(())
    }

    /// Adds slots of rows that nobody knows yet, all or none. What was indexed of them already comes with the numbers
    /// that they had there.
    pub(crate) fn append_slots(
        &mut self,
        relation: &Relation,
        slots: Vec<HotChunk>,
        index_build: Option<(IncrementalIndexBuild, Vec<u32>)>,
        failure: Failure,
    ) -> Result<(), TransactionError> {
        let (table, before) = (relation.table(), self.writes());
        // Held from before the rows are there: an index that is built meanwhile would find them, too.
        let indexes = table.indexes();
        let likely = index_build.as_ref().map(|(index_build, _)| index_build.base());
        let slots = self.push_slots(relation, slots, likely)?;
        if let Err(error) = self.check_unlocked(table, RowId::new(slots.start, 0)) {
            self.undo_appended(before);
            return Err(error);
        }
        let indexed = table.index_slots(&indexes, slots, self.view, self.manager.stamps(), index_build, threads());
        if indexed.is_err() {
            if failure == Failure::IsLogged {
                self.log_failed_keys_of(table, &indexes, before);
            }
            self.undo_appended(before);
        }
        indexed
    }

    /// Adds slots of rows that nobody knows yet, and that are in no index; says where they are.
    pub(crate) fn push_slots(
        &mut self,
        relation: &Relation,
        slots: Vec<HotChunk>,
        likely: Option<usize>,
    ) -> Result<Range<usize>, TransactionError> {
        self.assert_mine(relation);
        let table = relation.table();
        let stamp = self.writer(table)?.stamp;
        let at = self.set.table(table);
        let rows: Vec<usize> = slots.iter().map(HotChunk::len).collect();
        let slots = slots.into_iter().map(|slot| slot.inserted_by(stamp)).collect();
        let places = table.push(slots, &self.writer(table)?, likely)?;
        let written = places.clone().zip(rows).map(|(slot, rows)| Write {
            table: at,
            kind: WriteKind::Append,
            row: RowId::new(slot, 0),
            version: rows as u32,
        });
        self.set.writes.extend(written);
        Ok(places)
    }

    /// Undoes appends of slots since it had written so much, whose rows have left the indexes.
    pub(crate) fn undo_appended(&mut self, before: usize) {
        if let Some(stamp) = self.stamp {
            self.set.undo_appended(before, stamp);
        }
    }

    /// Puts the rows of chunks behind those that there are, all or none.
    pub(crate) fn append_rows(
        &mut self,
        relation: &Relation,
        chunks: &[Arc<Chunk>],
        failure: Failure,
    ) -> Result<(), TransactionError> {
        self.assert_mine(relation);
        let table = relation.table();
        let (stamp, before) = (self.writer(table)?.stamp, self.set.writes.len());
        let at = self.set.table(table);
        table.forget_cached();
        let mut rows = 0;
        for chunk in chunks {
            let mut from = 0;
            while from < chunk.rows() {
                let indexes = table.indexes();
                let appended = self
                    .writer(table)
                    .and_then(|writer| table.append(chunk, from, &writer))
                    .map_err(|error| (0, error));
                let indexed = appended.and_then(|(row, count)| {
                    self.set.writes.push(Write { table: at, kind: WriteKind::Append, row, version: count as u32 });
                    from += count;
                    self.check_unlocked(table, row).map_err(|error| (0, error))?;
                    table.index_rows(&indexes, row, count, self.view, self.manager.stamps())?;
                    rows += count;
                    Ok(())
                });
                drop(indexes);
                if let Err((entered, mut error)) = indexed {
                    if let TransactionError::Duplicate { row, appended, .. } = &mut error {
                        let first = self.appended(before, *row).map_or(Holder::Relation(*row), Holder::Append);
                        *appended = Some(Box::new(AppendedPair { first, second: (rows + entered) as u64 }));
                    }
                    if failure == Failure::IsLogged {
                        self.log_failed_keys(before);
                    }
                    self.set.undo(before, stamp);
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// The number of a row among those of a relation that were appended since the transaction had made so many changes
    /// ([`Transaction::writes`]).
    #[must_use]
    pub fn appended_row(&self, relation: &Relation, since: usize, row: RowId) -> Option<u64> {
        let is_of = |write: &&Write| {
            write.kind == WriteKind::Append && self.set.tables[write.table as usize].id() == relation.table().id()
        };
        number_in(self.set.writes.get(since..)?.iter().filter(is_of), row)
    }

    /// The number of a row among those that were appended since some place in the write set.
    fn appended(&self, from: usize, row: RowId) -> Option<u64> {
        number_in(self.set.writes[from..].iter(), row)
    }
}

impl Relation {
    /// Removes all rows, whoever works on them, and waits until that is safe: transactions under way lose what they have written to it, too.
    /// Snapshots already taken keep theirs. [`Transaction::truncate`] does it with regard to others.
    ///
    /// # Errors
    ///
    /// When rows of other relations refer to its own, or it is being altered; then it has all its rows. Of a relation whose
    /// changes are logged also when somebody is at work on it: who loses what he has written could not log it.
    pub fn truncate(&self) -> Result<(), TransactionError> {
        self.table().forget_cached();
        let mut transaction = self.transactions().begin(Isolation::Snapshot);
        let is_logged = self.table().relation_id().is_some();
        let check = if is_logged { HotChunk::check_all } else { HotChunk::check_regardless };
        transaction.truncate_slots(self.table(), check)?;
        self.transactions().wait_until_safe(transaction.commit()?)
    }
}

/// The number of a row among those of some appends.
fn number_in<'w>(appends: impl Iterator<Item = &'w Write>, row: RowId) -> Option<u64> {
    let mut before = 0;
    for write in appends {
        let (first, count) = (write.row.row(), write.version as usize);
        if write.row.chunk() == row.chunk() && (first..first + count).contains(&row.row()) {
            return Some((before + row.row() - first) as u64);
        }
        before += count;
    }
    None
}
