//! A row that several values are changed of: looked up, latched and tested once for all of them.
//!
//! Not here: single values (`transaction/rows.rs`), how a value is changed in place (`chunk/hot/write.rs`).

use std::fmt;

use super::Transaction;
use crate::chunk::hot::{RowVisibility, SlotWrite, Writer};
use crate::datum::Datum;
use crate::error::TransactionError;
use crate::index::Index;
use crate::manager::{RowLock, TableLock, Write, WriteKind};
use crate::predicate::RelationLog;
use crate::relation::Relation;
use crate::row_id::RowId;
use crate::sync::atomic::Ordering;
use crate::table::Table;
use crate::typed::{self, Field, FieldType, Scalar, StoredValue};
use crate::values::TextRoom;
use crate::visibility::{ConflictKind, Owner};

/// A row that is being changed, and that nobody has changed whom its transaction does not see. As long as it lives,
/// everybody else waits who works on the same chunk of the relation, so it is to be given up before anything else is
/// done: a thread that works there itself would wait for ever.
pub struct RowEdit<'t> {
    slot: SlotWrite<'t>,
    table: &'t Table,
    log: Option<&'t mut RelationLog>,
    writes: &'t mut Vec<Write>,
    writer: Writer<'t>,
    /// The table, by its place in the write set.
    table_at: u32,
    row: RowId,
    /// Of the first 64 columns those that have no value to keep any more.
    kept: u64,
    /// The newest version of the row, if it was made here.
    newest: Option<u32>,
    /// Who else has locked it so that it must stay.
    kept_by: Option<Owner>,
    /// The last text that was read.
    room: TextRoom,
}

impl fmt::Debug for RowEdit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowEdit").field("row", &self.row).finish_non_exhaustive()
    }
}

impl Transaction {
    /// A row, for changing several of its values in place. What it holds can be read, too.
    ///
    /// # Errors
    ///
    /// When another transaction has changed the row, when it does not see it, or when it only reads.
    pub fn edit<'t>(&'t mut self, relation: &'t Relation, row: RowId) -> Result<RowEdit<'t>, TransactionError> {
        self.edit_first(relation, std::iter::once(row))?.ok_or_else(|| relation.table().no_such_row(row))
    }

    /// The row with a key, as [`Transaction::find`] finds it, for changing several of its values in place.
    ///
    /// # Errors
    ///
    /// When the values are no key of the index, when another transaction has changed the row, or when it only reads.
    pub fn find_edit<'t>(
        &'t mut self,
        relation: &'t Relation,
        index: &Index,
        key: &[Datum<'_>],
    ) -> Result<Option<RowEdit<'t>>, TransactionError> {
        let found = self.look_up(relation.table(), index, key)?;
        self.edit_first(relation, found.iter())
    }

    /// The first of some rows that it sees.
    #[inline]
    fn edit_first<'t>(
        &'t mut self,
        relation: &'t Relation,
        rows: impl Iterator<Item = RowId>,
    ) -> Result<Option<RowEdit<'t>>, TransactionError> {
        self.assert_mine(relation);
        let table = relation.table();
        let stamp = self.stamp.ok_or(TransactionError::ReadOnly)?;
        let table_at = self.set.table(table);
        let Transaction { manager, log, view, keeps_all, set, .. } = self;
        let (view, keeps_all, clock) = (*view, *keeps_all, manager.clock());
        let stamps = clock.stamps();
        let writer = Writer { view, stamp, clock, memory: table.memory(), keeps_all };
        table.forget_cached();
        for row in rows {
            let Some(slot) = table.slots.get(row.chunk()) else { continue };
            let slot = slot.write();
            let mut kept = 0;
            if !slot.is_plain(row.row()) {
                if slot.visibility(row.row(), view, stamps) == RowVisibility::Hidden {
                    continue;
                }
                slot.check(row.row(), &writer).map_err(|error| table.failed(row, error))?;
                kept = slot.kept(row.row(), &writer);
            }
            let mut kept_by = None;
            if table.locks.load(Ordering::Relaxed) != 0 {
                let owner = Owner(view.id);
                let locked = |blocker| table.conflict(row, ConflictKind::Locked(blocker));
                if let Some(blocker) = manager.table_locks.conflicting(table, owner, TableLock::RowExclusive) {
                    return Err(locked(blocker));
                }
                match manager.row_locks.strongest(table, row, owner) {
                    Some((holder, RowLock::KeyShare)) => kept_by = Some(holder),
                    Some((holder, _)) => return Err(locked(holder)),
                    None => {}
                }
            }
            let log = log.as_mut().map(|log| log.relation(table.id()));
            return Ok(Some(RowEdit {
                slot,
                table,
                log,
                writes: &mut set.writes,
                writer,
                table_at,
                row,
                kept,
                newest: None,
                kept_by,
                room: TextRoom::default(),
            }));
        }
        Ok(None)
    }
}

impl RowEdit<'_> {
    /// Which row it is.
    #[must_use]
    pub fn id(&self) -> RowId {
        self.row
    }

    /// A value.
    ///
    /// # Errors
    ///
    /// When it is NULL.
    #[inline]
    pub fn get<T: Scalar>(&mut self, field: Field<T>) -> Result<T, TransactionError> {
        self.get_nullable(field).ok_or_else(|| self.table.is_null(self.row, field.column()))
    }

    /// A value; `None` is NULL.
    #[inline]
    pub fn get_nullable<T: Scalar>(&mut self, field: Field<T>) -> Option<T> {
        self.log(field.column());
        self.slot.scalar(self.row.row(), field.column())
    }

    /// A text; `None` is NULL.
    pub fn text(&mut self, field: Field<&str>) -> Option<&str> {
        self.log(field.column());
        let is_text = !self.table.schema().all_columns()[field.column()].column_type.is_bytes();
        self.room = TextRoom::default();
        let bytes = self.slot.text(self.row.row(), field.column(), &self.room).filter(|_| is_text)?;
        // SAFETY: a column of text holds UTF-8 only (`Chunk::from_parts`, `typed/domain.rs`).
        Some(unsafe { std::str::from_utf8_unchecked(bytes) })
    }

    /// Changes a value.
    ///
    /// # Errors
    ///
    /// When the column does not take the value or is part of an index, or when memory runs out.
    #[inline]
    pub fn set<T: FieldType>(&mut self, field: Field<T>, value: T::Value<'_>) -> Result<(), TransactionError> {
        self.set_datum(field.column(), value.into())
    }

    /// Changes a value of any type.
    ///
    /// # Errors
    ///
    /// As [`RowEdit::set`].
    ///
    /// # Panics
    ///
    /// When there is no such column.
    pub fn set_datum(&mut self, column: usize, value: Datum<'_>) -> Result<(), TransactionError> {
        let table = self.table;
        if table.is_indexed(column) {
            let column = table.schema().all_columns()[column].name.clone();
            return Err(TransactionError::Indexed { relation: table.name(), column });
        }
        if typed::is_plain(&table.schema().all_columns()[column], value) {
            return self.store(column, &value);
        }
        let input = table.input(column, value)?;
        self.store(column, &input)
    }

    /// Changes a value to one that the column takes.
    fn store(&mut self, column: usize, value: &impl StoredValue) -> Result<(), TransactionError> {
        let RowEdit { table, row, .. } = *self;
        let is_first = if column < u64::BITS as usize {
            self.kept >> column & 1 == 0
        } else {
            self.slot.must_keep(row.row(), column, &self.writer)
        };
        // What refers to another row is looked at again after every change.
        let keeps = is_first || table.is_reference(column);
        let beside = self.newest.filter(|_| is_first && !self.writer.keeps_all);
        let written = self.slot.update(row.row(), column, value, (keeps, beside), &self.writer);
        if let Some(version) = written.map_err(|error| table.failed(row, error))? {
            if column < u64::BITS as usize && !self.writer.keeps_all {
                self.kept |= 1 << column;
            }
            if beside.is_none() {
                self.newest = Some(version);
            }
            let kind = WriteKind::Update(column as u16);
            self.writes.push(Write { table: self.table_at, kind, row, version });
        }
        Ok(())
    }

    /// Deletes the row.
    ///
    /// # Errors
    ///
    /// When another transaction has locked it so that it must stay.
    pub fn delete(self) -> Result<(), TransactionError> {
        self.delete_as(WriteKind::Delete)
    }

    /// Deletes the row for a reason.
    pub(super) fn delete_as(mut self, kind: WriteKind) -> Result<(), TransactionError> {
        if let Some(holder) = self.kept_by {
            return Err(self.table.conflict(self.row, ConflictKind::Locked(holder)));
        }
        let version = self.slot.delete(self.row.row(), &self.writer);
        self.writes.push(Write { table: self.table_at, kind, row: self.row, version });
        Ok(())
    }

    #[inline]
    fn log(&mut self, column: usize) {
        if let Some(log) = &mut self.log {
            log.read(column);
        }
    }
}
