//! Checks that the rows which came refer to rows that are there.
//!
//! Single rows are looked up one by one. Rows of a load, which came many at a time, are checked chunk by chunk, on several
//! threads. A load may do that itself while it goes on (`references/early_checks.rs`), or leave it to the end of the
//! statement (*post*).
//!
//! Not here: the search for rows that refer to none (`relation/violations.rs`).

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use super::Transaction;
use crate::chunk::hot::input_of;
use crate::datum::Datum;
use crate::error::{ForeignKeyError, TransactionError, check_cancelled};
use crate::index::{IsCancelled, Referred, ReferredBytes};
use crate::manager::{RowLock, WriteKind};
use crate::relation::{Finder, Found, Missing, RowSet, in_order};
use crate::row_id::RowId;
use crate::table::{ForeignKey, ReferenceMatch, Table};
use crate::transaction::Isolation;
use crate::transaction::deferral::Checked;
use crate::typed::Input;
use crate::values::TextRoom;

/// Rows that came together from which on they are checked as a chunk.
const ROWS_MANY: usize = 256;

/// Rows that a statement locks for one foreign key, at most: of more the transaction finds out at its commit whether they have
/// stayed. A lock takes about a hundred bytes.
const ROWS_LOCKED_MAX: usize = 1 << 16;

/// Chunks of a write set, by what is to be checked of them.
struct Piece {
    slot: usize,
    rows: Range<usize>,
}

impl Transaction {
    /// The row that has a key, as this transaction sees it.
    pub(super) fn finds(&self, key: &ForeignKey, parent: &Table, bytes: ReferredBytes<'_>) -> Option<RowId> {
        Finder { key, parent, view: self.view, stamps: self.manager.stamps() }.find(bytes)
    }

    pub(super) fn sees_row(&self, table: &Table, row: RowId) -> bool {
        let slot = table.slots.get(row.chunk());
        slot.is_some_and(|slot| slot.read().is_visible(row.row(), self.view, self.manager.stamps()))
    }

    /// What a row refers to, as this transaction sees it.
    pub(super) fn referred(&self, key: &ForeignKey, child: &Table, row: RowId) -> Referred {
        let Some(slot) = child.slots.get(row.chunk()) else { return Referred::Nothing };
        let slot = slot.read();
        let room = TextRoom::default();
        let stamps = self.manager.stamps();
        let cell = |&column: &usize| slot.visible_cell((row.row(), column), self.view, stamps, &room);
        let inputs: Option<Vec<Input<'static>>> =
            key.columns().iter().map(|column| cell(column).map(input_of)).collect();
        // A row that is not seen refers to nothing.
        let Some(inputs) = inputs else { return Referred::Nothing };
        key.layout().of_row(|column| {
            let place = key.columns().iter().position(|&of| of == column);
            let column_type = child.schema().all_columns()[column].column_type;
            place.map_or(Datum::Null, |place| inputs[place].datum(column_type))
        })
    }

    /// Checks that what came since refers to rows that are there, and sees to it that they stay until this commits.
    pub(in crate::transaction) fn check_new(
        &mut self,
        range: Range<usize>,
        checked: Checked,
        only: Option<&Arc<ForeignKey>>,
        is_cancelled: IsCancelled<'_>,
    ) -> Result<(), TransactionError> {
        for (at, child) in self.referencing_tables() {
            let Some(references) = child.references() else { continue };
            let mut first: Option<((usize, RowId), ForeignKeyError)> = None;
            for key in &references.outgoing {
                let Some(parent) = key.parent() else { continue };
                if !self.is_checked_now(key, checked, only, range.start) {
                    continue;
                }
                // Of several violations that of the first row is told, and of one row that of the first constraint.
                let until = first.as_ref().map_or(range.end, |((number, _), _)| number + 1);
                let found = self.check_key(key, at, &child, &parent, range.start..until, is_cancelled)?;
                if let Some((number, missing)) = found {
                    self.log_referred(key, &child, &parent, missing.row)?;
                    let place = (number, missing.row);
                    if first.as_ref().is_none_or(|(before, _)| place < *before) {
                        first = Some((place, missing.error(key, &child, &parent)));
                    }
                }
            }
            if let Some((_, error)) = first {
                return Err(error.into());
            }
        }
        Ok(())
    }

    /// The first change by which a row refers to none.
    fn check_key(
        &mut self,
        key: &Arc<ForeignKey>,
        at: u32,
        child: &Table,
        parent: &Arc<Table>,
        range: Range<usize>,
        is_cancelled: IsCancelled<'_>,
    ) -> Result<Option<(usize, Missing)>, TransactionError> {
        let mut kept = RowSet::default();
        let mut last: Option<Box<[u8]>> = None;
        let mut many: Vec<(usize, Piece)> = Vec::new();
        let mut first: Option<(usize, Missing)> = None;
        for number in range {
            let write = self.set.writes[number];
            let rows = match write.kind {
                WriteKind::Insert => 1,
                WriteKind::Update(column) if key.columns().contains(&column.into()) => 1,
                WriteKind::Append => write.version as usize,
                _ => continue,
            };
            if write.table != at || write.kind == WriteKind::Append && self.is_checked(number, key) {
                continue;
            }
            check_cancelled(is_cancelled)?;
            let (slot, from) = (write.row.chunk(), write.row.row());
            if rows >= ROWS_MANY {
                many.push((number, Piece { slot, rows: from..from + rows }));
                continue;
            }
            for row in (from..from + rows).map(|row| RowId::new(slot, row)) {
                let shown = match self.referred(key, child, row) {
                    Referred::Mixed if key.rules().matching == ReferenceMatch::Full => None,
                    Referred::Nothing | Referred::Mixed => continue,
                    Referred::Key(found) => {
                        let bytes = found.referred();
                        if last.as_ref().is_some_and(|last| bytes.is(last)) {
                            continue;
                        }
                        if let Some(row) = self.finds(key, parent, bytes) {
                            self.keep_referred(parent, row, &mut kept)?;
                            last = Some(bytes.to_boxed());
                            continue;
                        }
                        Some(key.index().describe_referred(bytes))
                    }
                };
                first = Some((number, Missing { row, key: shown }));
                break;
            }
            if first.is_some() {
                break;
            }
        }
        let until = first.as_ref().map_or(usize::MAX, |(number, _)| *number);
        many.retain(|(number, _)| *number < until);
        let pieces: Vec<&Piece> = many.iter().map(|(_, piece)| piece).collect();
        let (found, sets) = self.check_pieces(key, child, parent, &pieces, is_cancelled)?;
        for set in sets {
            kept.extend(set);
        }
        self.keep_all_referred(key, parent, kept)?;
        Ok(found.map(|(piece, missing)| (many[piece].0, missing)).or(first))
    }

    /// Sees to it that a row stays which another one refers to: at READ COMMITTED who deletes it waits, elsewhere who
    /// commits later fails.
    fn keep_referred(&mut self, parent: &Arc<Table>, row: RowId, kept: &mut RowSet) -> Result<(), TransactionError> {
        if self.isolation == Isolation::ReadCommitted {
            return self.lock_row_of(parent, row, RowLock::KeyShare);
        }
        kept.insert(row);
        Ok(())
    }

    /// The same of many rows, which are locked unless they are too many for that.
    pub(super) fn keep_all_referred(
        &mut self,
        key: &Arc<ForeignKey>,
        parent: &Arc<Table>,
        rows: RowSet,
    ) -> Result<(), TransactionError> {
        if self.isolation == Isolation::ReadCommitted && rows.count_max() <= ROWS_LOCKED_MAX {
            return rows.rows().try_for_each(|row| self.lock_row_of(parent, row, RowLock::KeyShare));
        }
        self.foreign_key_reads().keep(key, rows);
        Ok(())
    }

    /// The first row of pieces that refers to none, with the number of its piece; and what the others refer to.
    fn check_pieces(
        &self,
        key: &ForeignKey,
        child: &Table,
        parent: &Table,
        pieces: &[&Piece],
        is_cancelled: IsCancelled<'_>,
    ) -> Result<Found, TransactionError> {
        let stamps = self.manager.stamps();
        let finder = Finder { key, parent, view: self.view, stamps };
        in_order(pieces.len(), is_cancelled, |number, kept| {
            let Piece { slot: at, rows } = pieces[number];
            let slot = child.slots.get(*at)?;
            let chunk = slot.write().chunk();
            let mut first = None;
            finder.each_missing(&*chunk, rows.clone(), kept, |row, shown| {
                // Rows that this transaction has deleted again do not matter.
                if !slot.read().is_visible(row, self.view, stamps) {
                    return ControlFlow::Continue(());
                }
                first = Some(Missing { row: RowId::new(*at, row), key: shown });
                ControlFlow::Break(())
            });
            first
        })
    }
}
