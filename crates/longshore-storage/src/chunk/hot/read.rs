//! What a view sees of a row (the thesis, 2.2.2: `retrieveVersion`).

use super::HotChunk;
use crate::datum::Datum;
use crate::transaction::{Stamps, View};
use crate::types::{ColumnType, Physical};
use crate::version::Change;
use crate::view;

/// A value of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cell<'a> {
    Null,
    /// The lower bits are those of the value.
    Bits(u128),
    /// The view of a text that it holds itself.
    ShortText(u128),
    /// A longer text.
    Text(&'a [u8]),
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
            Cell::Bits(bits) => {
                return read(match column_type.physical() {
                    Physical::U8 => Datum::Bool(bits as u8 != 0),
                    Physical::I16 => Datum::I16(bits as i16),
                    Physical::I32 => Datum::I32(bits as i32),
                    Physical::I64 => Datum::I64(bits as i64),
                    Physical::I128 | Physical::View => Datum::I128(bits as i128),
                    Physical::F32 => Datum::F32(f32::from_bits(bits as u32)),
                    Physical::F64 => Datum::F64(f64::from_bits(bits as u64)),
                });
            }
            Cell::Text(text) => text,
            Cell::ShortText(view) => {
                short = view.to_le_bytes();
                &short[4..4 + view::length(view)]
            }
        };
        if column_type == ColumnType::Bytea {
            return read(Datum::Bytes(bytes));
        }
        // SAFETY: a column of text holds UTF-8 only (`Chunk::from_parts`, `typed/domain.rs`).
        read(Datum::Text(unsafe { std::str::from_utf8_unchecked(bytes) }))
    }
}

impl HotChunk {
    /// Whether a view sees a row.
    pub(crate) fn is_visible(&self, row: usize, view: View, stamps: &Stamps) -> bool {
        if row >= self.rows || !self.is_born(row, view, stamps) || self.is_dead_for(view, stamps) {
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

    /// Whether a view sees that a row came to be, as far as its birth says.
    pub(super) fn is_born(&self, row: usize, view: View, stamps: &Stamps) -> bool {
        let unseen =
            |birth: &super::Birth| (birth.from..birth.to).contains(&row) && !view.sees(stamps.get(birth.stamp));
        self.births.is_empty() || !self.births.iter().any(unseen)
    }

    /// Whether all rows have gone, for a view.
    pub(super) fn is_dead_for(&self, view: View, stamps: &Stamps) -> bool {
        self.gone || self.death.is_some_and(|death| view.sees(stamps.get(death)))
    }

    /// A value as a view sees it; `None` if it does not see the row.
    pub(crate) fn visible_cell(&self, row: usize, column: usize, view: View, stamps: &Stamps) -> Option<Cell<'_>> {
        if !self.is_visible(row, view, stamps) {
            return None;
        }
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
        Some(match image {
            None => self.cell(row, column),
            Some(image) => image.bits().map_or(Cell::Null, |bits| self.cell_of(column, bits)),
        })
    }

    /// The newest value, whoever wrote it.
    pub(crate) fn cell(&self, row: usize, column: usize) -> Cell<'_> {
        let of = &self.columns[column];
        if of.is_null(row) { Cell::Null } else { self.cell_of(column, of.bits(row)) }
    }

    /// The value of stored bits.
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
