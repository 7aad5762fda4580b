//! Keeps the indexes of a relation: they hold every row that any transaction may still see (the thesis, 2.2.5).
//!
//! A row enters the indexes when it is inserted, and leaves them when its insert is undone or when nobody sees it any
//! longer. The values of an indexed column never change in place, so that the key of a row is what it was when it
//! entered. Who inserts holds the list of indexes for reading, so that an index is built while nobody inserts.
//!
//! Not here: what an index is (`index.rs`), finding rows by it (`transaction/keys.rs`).

use std::num::NonZero;
use std::ops::Range;
use std::sync::{Arc, PoisonError};

use arrow_buffer::BooleanBuffer;

use super::{IncrementalIndexBuild, Table};
use crate::chunk::Chunk;
use crate::chunk::hot::{HotChunk, KeyConflict};
use crate::error::{AppendedPair, Holder, TransactionError};
use crate::index::{BulkError, Index, IndexKind, IsCancelled, Key, KeyError, Source, Uniqueness};
use crate::row_id::RowId;
use crate::sync::atomic::Ordering;
use crate::sync::{Rank, Ranked, RwLockReadGuard, RwLockWriteGuard};
use crate::typed::StoredValue;
use crate::values::TextRoom;
use crate::version::Change;
use crate::visibility::{Clock, ConflictKind, Stamps, View};

/// The list of indexes, as long as it must not change.
pub(crate) type IndexList<'a> = Ranked<RwLockReadGuard<'a, Vec<Arc<Index>>>>;

impl Table {
    /// The indexes, none of which is built or dropped meanwhile.
    #[track_caller]
    pub(crate) fn indexes(&self) -> IndexList<'_> {
        Ranked::take(Rank::IndexList, &self.indexes, |list| list.read().unwrap_or_else(PoisonError::into_inner))
    }

    #[track_caller]
    fn indexes_mut(&self) -> Ranked<RwLockWriteGuard<'_, Vec<Arc<Index>>>> {
        Ranked::take(Rank::IndexList, &self.indexes, |list| list.write().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether a column is part of an index, so that it cannot be changed in place.
    #[inline]
    pub(crate) fn is_indexed(&self, column: usize) -> bool {
        self.indexed[column].load(Ordering::Acquire)
    }

    /// Builds an index over the rows that there are. The caller keeps a reader active from before to after this, so that
    /// what is committed meanwhile is not reclaimed: its end reclaims it, and that reads the list, which is locked here.
    pub(crate) fn create_index(
        &self,
        name: &str,
        columns: &[usize],
        kind: IndexKind,
        uniqueness: Uniqueness,
        clock: &Clock,
        is_cancelled: IsCancelled<'_>,
    ) -> Result<Arc<Index>, TransactionError> {
        let mut indexes = self.indexes_mut();
        if self.visibility.is_closed() {
            return Err(self.altered(clock.now()));
        }
        if indexes.iter().any(|index| index.name() == name) {
            return Err(TransactionError::IndexName { relation: self.name(), index: name.to_owned(), exists: true });
        }
        // Before the first row is read, so that none of its keys changes afterwards.
        let before: Vec<bool> = columns.iter().map(|&column| self.is_indexed(column)).collect();
        for &column in columns {
            self.indexed[column].store(true, Ordering::Release);
        }
        let index = Index::new(name, self.schema(), columns, kind, uniqueness, self.memory());
        // What was committed up to now; the reader keeps all that came since it began.
        let view = View::at(clock.now());
        if let Err(error) = self.fill_index(&index, view, clock.stamps(), is_cancelled) {
            for (&column, &before) in columns.iter().zip(&before) {
                self.indexed[column].store(before, Ordering::Release);
            }
            return Err(error);
        }
        let index = Arc::new(index);
        indexes.push(Arc::clone(&index));
        Ok(index)
    }

    /// Waits for indexes that are being built.
    pub(crate) fn wait_for_indexes(&self) {
        drop(self.indexes_mut());
    }

    /// Takes in an index that another relation has, by the columns of this one, which has the same rows, and whose
    /// columns may have other numbers. It is built anew if its keys look otherwise here.
    pub(crate) fn adopt_index(
        &self,
        other: &Index,
        name: &str,
        columns: &[usize],
        clock: &Clock,
    ) -> Result<(), TransactionError> {
        let Some(index) = other.renumbered(name, self.schema(), columns) else {
            return self.create_index(name, columns, other.kind(), other.uniqueness(), clock, &|| false).map(|_| ());
        };
        let mut indexes = self.indexes_mut();
        for &column in columns {
            self.indexed[column].store(true, Ordering::Release);
        }
        indexes.push(Arc::new(index));
        Ok(())
    }

    pub(crate) fn drop_index(&self, name: &str) -> Result<(), TransactionError> {
        let mut indexes = self.indexes_mut();
        let Some(at) = indexes.iter().position(|index| index.name() == name) else {
            return Err(TransactionError::IndexName { relation: self.name(), index: name.to_owned(), exists: false });
        };
        indexes.remove(at).set_dropped();
        for (column, indexed) in self.indexed.iter().enumerate() {
            indexed.store(indexes.iter().any(|index| index.columns().contains(&column)), Ordering::Release);
        }
        Ok(())
    }

    fn fill_index(
        &self,
        index: &Index,
        view: View,
        stamps: &Stamps,
        is_cancelled: IsCancelled<'_>,
    ) -> Result<(), TransactionError> {
        let mut sources = Vec::new();
        let mut ghosts = Vec::new();
        for (at, slot) in self.slots.iter() {
            let mut slot = slot.write();
            if slot.is_gone() || slot.len() == 0 {
                continue;
            }
            if let Some((row, kind)) = slot.pending(index.columns(), view, stamps) {
                return Err(self.conflict(RowId::new(at, row), kind));
            }
            let alive = slot.alive();
            ghosts.extend(slot.ghosts().map(|row| RowId::new(at, row)));
            sources.push((at, slot.chunk(), alive));
        }
        // Slots that were taken again may have rows behind those of later ones.
        sources.sort_unstable_by_key(|(at, ..)| *at);
        self.insert_chunks(index, &sources, view, stamps, is_cancelled)?;
        // Rows that were deleted, and that somebody may still see; they are in nobody's way.
        for row in ghosts {
            let key = self.key_of(index, row)?;
            index.insert(&key, row, |_| Ok::<(), TransactionError>(()))?;
        }
        Ok(())
    }

    /// Adds rows of chunks to an index, all of them or none.
    fn insert_chunks(
        &self,
        index: &Index,
        chunks: &[(usize, Arc<Chunk>, Option<BooleanBuffer>)],
        view: View,
        stamps: &Stamps,
        is_cancelled: IsCancelled<'_>,
    ) -> Result<(), TransactionError> {
        let is_in_the_way = |other| self.key_conflict(other, view, stamps) != KeyConflict::None;
        let inserted = index.insert_chunks_unless(&sources(chunks), threads(), is_in_the_way, is_cancelled);
        inserted.map_err(|error| self.bulk_error(error, view, stamps))
    }

    /// What the failure of an index means, of rows that were there before.
    fn bulk_error(&self, error: BulkError, view: View, stamps: &Stamps) -> TransactionError {
        match error {
            BulkError::OutOfMemory(error) => error.into(),
            BulkError::Cancelled => TransactionError::Cancelled,
            BulkError::Duplicate { index, key, first, .. } => match self.key_conflict(first, view, stamps) {
                KeyConflict::Concurrent(kind) => self.conflict(first, kind),
                // It was in the way, and has been undone since: to try again may help.
                KeyConflict::None => self.conflict(first, ConflictKind::Uncommitted(None)),
                KeyConflict::Duplicate => {
                    TransactionError::Duplicate { relation: self.name(), index, key, row: first, appended: None }
                }
            },
        }
    }

    /// Enters all rows of slots that nobody knows yet, or none of them. Of all rows that have a key which they must not
    /// have, the first one is told, whatever index it is of.
    pub(crate) fn index_slots(
        &self,
        indexes: &IndexList<'_>,
        slots: Range<usize>,
        view: View,
        stamps: &Stamps,
        mut index_build: Option<(IncrementalIndexBuild, Vec<u32>)>,
        threads: usize,
    ) -> Result<(), TransactionError> {
        if indexes.is_empty() {
            return Ok(());
        }
        let chunks = slots.filter_map(|at| Some((at, self.slots.get(at)?.write().chunk(), None)));
        let chunks: Vec<_> = chunks.collect();
        let sources = sources(&chunks);
        let is_in_the_way = |other| self.key_conflict(other, view, stamps) != KeyConflict::None;
        let mut failed: Option<(RowId, BulkError)> = None;
        let mut entered = Vec::new();
        for index in &**indexes {
            if failed.is_some() && index.uniqueness() == Uniqueness::Multiple {
                continue;
            }
            let built =
                index_build.as_mut().and_then(|(index_build, numbers)| Some((index_build.parts_of(index)?, &*numbers)));
            let result = match built {
                Some((parts, numbers)) => parts.finish(&sources, numbers, threads, is_in_the_way),
                None => index.insert_chunks(&sources, threads, is_in_the_way),
            };
            match result {
                Ok(()) => entered.push(index),
                Err(BulkError::Duplicate { index, key, first, second }) => {
                    if failed.as_ref().is_none_or(|(row, _)| second < *row) {
                        failed = Some((second, BulkError::Duplicate { index, key, first, second }));
                    }
                }
                Err(error @ (BulkError::OutOfMemory(_) | BulkError::Cancelled)) => {
                    failed = Some((RowId(0), error));
                    break;
                }
            }
        }
        let Some((second, error)) = failed else { return Ok(()) };
        for index in entered {
            index.remove_chunks(&sources);
        }
        Err(self.append_error(error, second, &chunks, view, stamps))
    }

    /// Removes all rows of slots that nobody else knows from the indexes.
    pub(crate) fn unindex_slots(&self, indexes: &IndexList<'_>, slots: &[usize]) {
        let chunks = slots.iter().filter_map(|&at| Some((at, self.slots.get(at)?.write().chunk(), None)));
        let chunks: Vec<_> = chunks.collect();
        for index in &**indexes {
            index.remove_chunks(&sources(&chunks));
        }
    }

    /// What the failure of an index means, of rows that were to be added.
    fn append_error(
        &self,
        error: BulkError,
        second: RowId,
        chunks: &[(usize, Arc<Chunk>, Option<BooleanBuffer>)],
        view: View,
        stamps: &Stamps,
    ) -> TransactionError {
        let number = |row: RowId| {
            let at = chunks.binary_search_by_key(&row.chunk(), |(at, ..)| *at).ok()?;
            let before: usize = chunks[..at].iter().map(|(_, chunk, _)| chunk.rows()).sum();
            Some((before + row.row()) as u64)
        };
        let first = if let BulkError::Duplicate { first, .. } = &error { Some(*first) } else { None };
        let mut error = self.bulk_error(error, view, stamps);
        if let (TransactionError::Duplicate { appended, .. }, Some(first)) = (&mut error, first) {
            let holder = number(first).map_or(Holder::Relation(first), Holder::Append);
            *appended = number(second).map(|second| Box::new(AppendedPair { first: holder, second }));
        }
        error
    }

    /// Enters rows, from one on; with the error comes how many of them were entered before.
    pub(crate) fn index_rows(
        &self,
        indexes: &IndexList<'_>,
        first: RowId,
        count: usize,
        view: View,
        stamps: &Stamps,
    ) -> Result<(), (usize, TransactionError)> {
        if indexes.is_empty() {
            return Ok(());
        }
        (0..count).try_for_each(|at| {
            let row = RowId::new(first.chunk(), first.row() + at);
            let mut each = indexes.iter();
            each.try_for_each(|index| self.enter(index, &self.key_of(index, row)?, row, view, stamps))
                .map_err(|error| (at, error))
        })
    }

    /// Enters a row of these values.
    #[inline]
    pub(crate) fn index_row(
        &self,
        indexes: &IndexList<'_>,
        row: RowId,
        values: &[impl StoredValue],
        view: View,
        stamps: &Stamps,
    ) -> Result<(), TransactionError> {
        let columns = self.schema().all_columns();
        for index in &**indexes {
            let key = index.key_of(|column| values[column].datum(columns[column].column_type));
            self.enter(index, &key.map_err(|error| self.key_error(index, error))?, row, view, stamps)?;
        }
        Ok(())
    }

    fn enter(&self, index: &Index, key: &Key, row: RowId, view: View, stamps: &Stamps) -> Result<(), TransactionError> {
        index.insert(key, row, |other| match self.key_conflict(other, view, stamps) {
            KeyConflict::None => Ok(()),
            KeyConflict::Concurrent(kind) => Err(self.conflict(other, kind)),
            KeyConflict::Duplicate => Err(TransactionError::Duplicate {
                relation: self.name(),
                index: index.name().to_owned(),
                key: index.describe(key),
                row: other,
                appended: None,
            }),
        })
    }

    /// Removes rows from the indexes, as far as they are there. No index is built before the list is given back, so that
    /// none comes to know of them again.
    pub(crate) fn unindex_rows(&self, first: RowId, count: usize) -> IndexList<'_> {
        let indexes = self.indexes();
        for index in &*indexes {
            for row in first.row()..first.row() + count {
                let row = RowId::new(first.chunk(), row);
                if let Ok(key) = self.key_of(index, row) {
                    index.remove(&key, row);
                }
            }
        }
        indexes
    }

    /// The key of a row that is in the slot, whoever sees it.
    pub(crate) fn key_of(&self, index: &Index, row: RowId) -> Result<Key, TransactionError> {
        let slot = self.slot(row)?.read();
        if row.row() >= slot.len() {
            return Err(self.no_such_row(row));
        }
        let room = TextRoom::default();
        index.key_of(|column| slot.datum(row.row(), column, &room)).map_err(|error| self.key_error(index, error))
    }

    pub(crate) fn key_error(&self, index: &Index, error: KeyError) -> TransactionError {
        TransactionError::Key { relation: self.name(), index: index.name().to_owned(), error }
    }

    /// What a row means to one who inserts another with its key.
    pub(crate) fn key_conflict(&self, row: RowId, view: View, stamps: &Stamps) -> KeyConflict {
        let slot = self.slots.get(row.chunk());
        slot.map_or(KeyConflict::None, |slot| slot.read().key_conflict(row.row(), view, stamps))
    }
}

/// Threads that rows are indexed by, when they are many.
pub(crate) fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

fn sources(chunks: &[(usize, Arc<Chunk>, Option<BooleanBuffer>)]) -> Vec<Source<'_>> {
    chunks.iter().map(|(number, chunk, rows)| Source { number: *number, chunk, rows: rows.as_ref() }).collect()
}

impl HotChunk {
    /// A row of which others cannot build an index: a change of it may yet be undone, or its key may be another one for
    /// somebody.
    fn pending(&self, columns: &[usize], view: View, stamps: &Stamps) -> Option<(usize, ConflictKind)> {
        self.changes().find_map(|(row, version)| {
            let stamp = stamps.get(version.stamp);
            let matters = match version.change {
                Change::Delete => !view.sees(stamp),
                Change::Update(column, _) => columns.contains(&column.into()),
                Change::Insert | Change::Free => false,
            };
            matters.then(|| (row, ConflictKind::of(stamp)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datum::Datum;
    use crate::memory::Memory;
    use crate::relation::Relation;
    use crate::transaction::Isolation;
    use crate::types::{Column, ColumnType, Schema};

    #[test]
    fn a_row_that_is_undone_after_it_was_met_is_a_conflict() {
        let schema = Schema::new(vec![Column::new("id", ColumnType::BigInt, false)]);
        let relation = Relation::new(Arc::new(schema), Memory::new(None));
        let begin = || relation.transactions().begin(Isolation::Snapshot);
        let (mut holder, other) = (begin(), begin());
        let first = holder.insert(&relation, &[Datum::I64(7)]).expect("a row");
        let met = || BulkError::Duplicate { index: "pk".to_owned(), key: "(7)".to_owned(), first, second: RowId(9) };
        let stamps = relation.transactions().clock().stamps();
        let conflict = |by| relation.table().conflict(first, ConflictKind::Uncommitted(by));
        let by = Some(holder.owner());
        assert_eq!(relation.table().bulk_error(met(), other.view(), stamps), conflict(by));
        holder.rollback();
        assert_eq!(relation.table().bulk_error(met(), other.view(), stamps), conflict(None));
        let mut last = begin();
        let again = last.insert(&relation, &[Datum::I64(7)]).expect("a row");
        last.commit().expect("nobody is in the way");
        assert_eq!(again, first);
        let error = relation.table().bulk_error(met(), begin().view(), stamps);
        assert!(matches!(error, TransactionError::Duplicate { .. }), "{error}");
    }
}
