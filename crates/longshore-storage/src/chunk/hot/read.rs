//! What a view sees of a row (the thesis, 2.2.2: `retrieveVersion`).

use super::HotChunk;
use crate::datum::{Datum, datum_of_bits};
use crate::typed::{Input, Scalar};
use crate::types::ColumnType;
use crate::values::TextRoom;
use crate::version::Change;
use crate::view;
use crate::visibility::{ConflictKind, Stamps, View};

/// A value of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cell<'a> {
    Null,
    /// The lower bits are those of the value.
    Bits(u128),
    /// The view of a text that it holds itself.
    ShortText(u128),
    /// A text that lies elsewhere.
    Text(&'a [u8]),
}

/// How a view sees a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowVisibility {
    /// Not at all.
    Hidden,
    /// As it is stored.
    Stored,
    /// As it was before some versions.
    Older,
}

/// The value as one that may be written.
pub(crate) fn input_of(cell: Cell<'_>) -> Input<'static> {
    match cell {
        Cell::Null => Input::Null,
        Cell::Bits(bits) => Input::Bits(bits),
        Cell::ShortText(_) | Cell::Text(_) => {
            let mut text = Vec::new();
            cell.bytes(|bytes| text.extend_from_slice(bytes));
            Input::Text(text.into())
        }
    }
}

/// What a row means to one who inserts another with the same key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyConflict {
    /// Nothing: it is gone.
    None,
    /// It has the key.
    Duplicate,
    /// A transaction that he does not see has inserted or deleted it.
    Concurrent(ConflictKind),
}

impl Cell<'_> {
    /// Gives the text to a closure; says whether there is one.
    pub(crate) fn bytes(self, read: impl FnOnce(&[u8])) -> bool {
        match self {
            Cell::Null | Cell::Bits(_) => return false,
            Cell::Text(text) => read(text),
            Cell::ShortText(view) => read(&view.to_le_bytes()[4..4 + view::length(view)]),
        }
        true
    }

    /// Gives the value to a closure, as one of its column's type.
    pub(crate) fn with_datum<R>(self, column_type: ColumnType, read: impl FnOnce(Datum<'_>) -> R) -> R {
        let short;
        let bytes = match self {
            Cell::Null => return read(Datum::Null),
            Cell::Bits(bits) => return read(datum_of_bits(column_type, bits)),
            Cell::Text(text) => text,
            Cell::ShortText(view) => {
                short = view.to_le_bytes();
                &short[4..4 + view::length(view)]
            }
        };
        if column_type.is_bytes() {
            return read(Datum::Bytes(bytes));
        }
        // SAFETY: a column of text holds UTF-8 only (`Chunk::from_parts`, `typed/domain.rs`).
        read(Datum::Text(unsafe { std::str::from_utf8_unchecked(bytes) }))
    }
}

impl HotChunk {
    /// How a view sees a row. Most rows have no versions, and are told by a few tests.
    #[inline]
    pub(crate) fn visibility(&self, row: usize, view: View, stamps: &Stamps) -> RowVisibility {
        let newest = self.versions.as_ref().and_then(|versions| versions.newest(row));
        if newest.is_some_and(|newest| !view.sees(stamps.get(newest.stamp))) {
            return if self.is_visible(row, view, stamps) { RowVisibility::Older } else { RowVisibility::Hidden };
        }
        let is_there = row < self.rows && !self.dead.contains(row);
        if is_there && self.is_inserted(row, view, stamps) && !self.is_dead_for(view, stamps) {
            RowVisibility::Stored
        } else {
            RowVisibility::Hidden
        }
    }

    /// Whether a row is there for everybody as it is stored, and may be changed, as most are.
    #[inline]
    pub(crate) fn is_plain(&self, row: usize) -> bool {
        row < self.rows
            && !self.closed
            && self.inserts.is_empty()
            && self.deleted.is_none()
            && !self.dead.contains(row)
            && self.versions.as_ref().is_none_or(|versions| versions.newest(row).is_none())
    }

    /// Whether a view sees a row.
    pub(crate) fn is_visible(&self, row: usize, view: View, stamps: &Stamps) -> bool {
        if row >= self.rows || !self.is_inserted(row, view, stamps) || self.is_dead_for(view, stamps) {
            return false;
        }
        let mut alive = !self.dead.contains(row);
        if let Some(versions) = &self.versions {
            for version in versions.chain(row) {
                if view.sees(stamps.get(version.stamp)) {
                    break;
                }
                match version.change {
                    Change::Insert => return false,
                    Change::Delete => alive = true,
                    Change::Update(..) | Change::Free => {}
                }
            }
        }
        alive
    }

    /// Whether a view sees that a row was inserted, as far as its insert range says.
    #[inline]
    pub(super) fn is_inserted(&self, row: usize, view: View, stamps: &Stamps) -> bool {
        self.inserts.is_empty() || self.insert_range_of(row).is_none_or(|range| view.sees(stamps.get(range.stamp)))
    }

    /// Whether all rows have gone, for a view.
    #[inline]
    pub(super) fn is_dead_for(&self, view: View, stamps: &Stamps) -> bool {
        self.gone || self.deleted.is_some_and(|deleted| view.sees(stamps.get(deleted)))
    }

    /// A value as a view sees it; `None` if it does not see the row.
    pub(crate) fn visible_cell<'a>(
        &'a self,
        (row, column): (usize, usize),
        view: View,
        stamps: &Stamps,
        room: &'a TextRoom,
    ) -> Option<Cell<'a>> {
        match self.visibility(row, view, stamps) {
            RowVisibility::Hidden => None,
            RowVisibility::Stored => Some(self.cell(row, column, room)),
            RowVisibility::Older => Some(self.older_cell((row, column), view, stamps, room)),
        }
    }

    /// The same of a row that is seen as it was before some versions.
    pub(crate) fn older_cell<'a>(
        &'a self,
        (row, column): (usize, usize),
        view: View,
        stamps: &Stamps,
        room: &'a TextRoom,
    ) -> Cell<'a> {
        let mut image = None;
        if let Some(versions) = &self.versions {
            for version in versions.chain(row) {
                if view.sees(stamps.get(version.stamp)) {
                    break;
                }
                if let Change::Update(changed, before) = &version.change
                    && usize::from(*changed) == column
                {
                    image = Some(*before);
                }
            }
        }
        match image {
            None => self.cell(row, column, room),
            Some(image) => image.bits().map_or(Cell::Null, |bits| self.cell_of(column, bits)),
        }
    }

    /// The newest value of a column that holds values of a type; `None` is NULL.
    #[inline]
    pub(crate) fn scalar<T: Scalar>(&self, row: usize, column: usize) -> Option<T> {
        let of = &self.columns[column];
        if of.is_null(row) { None } else { Some(of.scalar(row)) }
    }

    /// The newest value of a column of texts or bytes; `None` is NULL, or a value of another type.
    #[inline]
    pub(crate) fn text<'a>(&'a self, row: usize, column: usize, room: &'a TextRoom) -> Option<&'a [u8]> {
        let of = &self.columns[column];
        if !of.is_view() || of.is_null(row) {
            return None;
        }
        Some(of.text(row, self.heap.bytes(), room))
    }

    /// Asks for the memory of values of a row.
    pub(crate) fn prefetch(&self, row: usize, columns: &[usize]) {
        for column in columns.iter().filter_map(|&column| self.columns.get(column)) {
            column.prefetch(row);
        }
    }

    /// Asks for the memory of long texts of a row, the views of which are there.
    pub(crate) fn prefetch_texts(&self, row: usize, columns: &[usize]) {
        if row >= self.rows {
            return;
        }
        // NULL is the empty view.
        let columns = columns.iter().filter_map(|&column| self.columns.get(column));
        for view in columns.filter_map(|column| column.plain_view(row)) {
            self.heap.prefetch(view);
        }
    }

    /// The newest value, whoever wrote it.
    pub(crate) fn cell<'a>(&'a self, row: usize, column: usize, room: &'a TextRoom) -> Cell<'a> {
        let of = &self.columns[column];
        if of.is_null(row) {
            return Cell::Null;
        }
        match of.packed().filter(|_| of.is_view()) {
            Some(packed) => Cell::Text(packed.text(row, room)),
            None => self.cell_of(column, of.bits(row)),
        }
    }

    /// The newest value, whoever wrote it; the only one there is of a column that is part of an index.
    pub(crate) fn datum<'a>(&'a self, row: usize, column: usize, room: &'a TextRoom) -> Datum<'a> {
        let (of, column_type) = (&self.columns[column], self.schema.all_columns()[column].column_type);
        if of.is_null(row) {
            return Datum::Null;
        }
        let Some(text) = self.text(row, column, room) else {
            return datum_of_bits(column_type, of.bits(row));
        };
        if column_type.is_bytes() {
            return Datum::Bytes(text);
        }
        // SAFETY: a column of text holds UTF-8 only (`Chunk::from_parts`, `typed/domain.rs`).
        Datum::Text(unsafe { std::str::from_utf8_unchecked(text) })
    }

    /// Whether a row keeps others from having its key, for one who inserts it: 2.2.5 of the thesis.
    pub(crate) fn key_conflict(&self, row: usize, view: View, stamps: &Stamps) -> KeyConflict {
        if row >= self.rows || self.gone {
            return KeyConflict::None;
        }
        if let Some(deleted) = self.deleted {
            let stamp = stamps.get(deleted);
            return if view.sees(stamp) { KeyConflict::None } else { KeyConflict::Concurrent(ConflictKind::of(stamp)) };
        }
        let is_dead = self.dead.contains(row);
        let newest = self.versions.as_ref().and_then(|versions| versions.newest(row));
        if let Some(stamp) = newest.map(|newest| stamps.get(newest.stamp)).filter(|&stamp| !view.sees(stamp)) {
            // An update of other columns by somebody else leaves the key taken.
            let is_taken = !is_dead && self.is_visible(row, view, stamps);
            return if is_taken { KeyConflict::Duplicate } else { KeyConflict::Concurrent(ConflictKind::of(stamp)) };
        }
        if is_dead {
            return KeyConflict::None;
        }
        match self.insert_range_of(row).map(|range| stamps.get(range.stamp)).filter(|&stamp| !view.sees(stamp)) {
            Some(stamp) => KeyConflict::Concurrent(ConflictKind::of(stamp)),
            None => KeyConflict::Duplicate,
        }
    }

    /// The value of bits that are stored, or were, of a plain column.
    fn cell_of(&self, column: usize, bits: u128) -> Cell<'_> {
        if !self.columns[column].is_view() {
            return Cell::Bits(bits);
        }
        match self.long_text(bits) {
            Some(text) => Cell::Text(text),
            None => Cell::ShortText(bits),
        }
    }
}
