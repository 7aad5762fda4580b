//! A row that several values are read of: looked up, latched and tested once for all of them.
//!
//! Not here: single values (`transaction/rows.rs`), changes (`transaction/row_edit.rs`).

use std::fmt;

use super::Transaction;
use crate::chunk::hot::{Cell, RowVisibility, SlotRead};
use crate::datum::Datum;
use crate::error::TransactionError;
use crate::index::Index;
use crate::predicate::RelationLog;
use crate::relation::Relation;
use crate::row_id::RowId;
use crate::table::Table;
use crate::typed::{Field, Scalar};
use crate::values::TextRoom;
use crate::view;
use crate::visibility::{Stamps, View};

/// A row that is being read. As long as it lives, those who write to the same chunk of the relation wait, so it is to be
/// given up before anything else is done: a thread that writes there itself would wait for ever.
pub struct RowRead<'t> {
    slot: SlotRead<'t>,
    table: &'t Table,
    log: Option<&'t mut RelationLog>,
    row: RowId,
    /// What has to be undone of what is stored, if anything.
    older: Option<(View, &'t Stamps)>,
    /// A short text that was.
    short: [u8; 16],
    /// The last text that was read.
    room: TextRoom,
}

impl fmt::Debug for RowRead<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowRead").field("row", &self.row).finish_non_exhaustive()
    }
}

impl Transaction {
    /// A row, for reading several of its values.
    ///
    /// # Errors
    ///
    /// When it does not see the row.
    pub fn read<'t>(&'t mut self, relation: &'t Relation, row: RowId) -> Result<RowRead<'t>, TransactionError> {
        self.read_first(relation, std::iter::once(row)).ok_or_else(|| relation.table().no_such_row(row))
    }

    /// The row with a key, as [`Transaction::find`] finds it, for reading several of its values.
    ///
    /// # Errors
    ///
    /// When the values are no key of the index.
    pub fn find_read<'t>(
        &'t mut self,
        relation: &'t Relation,
        index: &Index,
        key: &[Datum<'_>],
    ) -> Result<Option<RowRead<'t>>, TransactionError> {
        let found = self.look_up(relation.table(), index, key)?;
        Ok(self.read_first(relation, found.iter()))
    }

    /// The first of some rows that it sees.
    #[inline]
    fn read_first<'t>(
        &'t mut self,
        relation: &'t Relation,
        mut rows: impl Iterator<Item = RowId>,
    ) -> Option<RowRead<'t>> {
        self.assert_mine(relation);
        let table: &Table = relation.table();
        let Transaction { manager, log, view, .. } = self;
        let (view, stamps) = (*view, manager.stamps());
        rows.find_map(|row| {
            let slot = table.slots.get(row.chunk())?.read();
            match slot.visibility(row.row(), view, stamps) {
                RowVisibility::Hidden => None,
                RowVisibility::Stored => Some((slot, row, None)),
                RowVisibility::Older => Some((slot, row, Some((view, stamps)))),
            }
        })
        .map(|(slot, row, older)| {
            let log = log.as_mut().map(|log| log.relation(table.id()));
            RowRead { slot, table, log, row, older, short: [0; 16], room: TextRoom::default() }
        })
    }
}

impl RowRead<'_> {
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
        if self.older.is_none() {
            return self.slot.scalar(self.row.row(), field.column());
        }
        match self.older_cell(field.column()) {
            Cell::Bits(bits) => Some(T::from_bits(bits)),
            Cell::Null | Cell::ShortText(_) | Cell::Text(_) => None,
        }
    }

    /// A text; `None` is NULL.
    pub fn text(&mut self, field: Field<&str>) -> Option<&str> {
        let is_text = !self.table.schema().all_columns()[field.column()].column_type.is_bytes();
        let bytes = self.any_bytes(field.column()).filter(|_| is_text)?;
        // SAFETY: a column of text holds UTF-8 only (`Chunk::from_parts`, `typed/domain.rs`).
        Some(unsafe { std::str::from_utf8_unchecked(bytes) })
    }

    /// A BYTEA; `None` is NULL.
    pub fn bytes(&mut self, field: Field<&[u8]>) -> Option<&[u8]> {
        self.any_bytes(field.column())
    }

    fn any_bytes(&mut self, column: usize) -> Option<&[u8]> {
        self.log(column);
        self.room = TextRoom::default();
        if self.older.is_none() {
            return self.slot.text(self.row.row(), column, &self.room);
        }
        if let Cell::ShortText(view) = self.older_cell(column) {
            self.short = view.to_le_bytes();
            // The length takes the first four bytes of a view that holds its text.
            return Some(&self.short[4..4 + view::length(view)]);
        }
        match self.older_cell(column) {
            Cell::Text(text) => Some(text),
            Cell::Null | Cell::Bits(_) | Cell::ShortText(_) => None,
        }
    }

    /// The value of a row that is not seen as it is stored.
    #[cold]
    fn older_cell(&self, column: usize) -> Cell<'_> {
        match self.older {
            Some((view, stamps)) => self.slot.older_cell((self.row.row(), column), view, stamps, &self.room),
            None => self.slot.cell(self.row.row(), column, &self.room),
        }
    }

    #[inline]
    fn log(&mut self, column: usize) {
        if let Some(log) = &mut self.log {
            log.read(column);
        }
    }
}
