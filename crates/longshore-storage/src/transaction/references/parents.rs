//! Checks that the rows which came refer to rows that are there.
//!
//! Single rows are looked up one by one. Rows that came many at a time, of a load or of a foreign key that is added, are
//! checked chunk by chunk, on several threads; the violation that is told is the first in the order of the rows, for any
//! number of threads. A load may do that itself while it goes on (`references/on_the_way.rs`), or leave it to the end of the
//! statement (*post*).

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use super::pieces::{Found, in_order};
use super::{Transaction, TransactionError, WriteKind, heed};
use crate::chunk::hot::input_of;
use crate::chunk::{Stored, VisibleChunk};
use crate::datum::{Datum, RowId};
use crate::index::{IsCancelled, Recent, Referred, ReferredBytes};
use crate::relation::{ForeignKey, ReferenceMatch, Table};
use crate::transaction::foreign_error::{ForeignKeyError, ForeignKeyProblem};
use crate::transaction::guards::RowSet;
use crate::transaction::{Stamps, Transactions, View};
use crate::typed::Input;

/// Rows that came together from which on they are checked as a chunk.
const ROWS_MANY: usize = 256;

/// A row that refers to none.
#[derive(Clone, Debug)]
pub(super) struct Missing {
    /// The row: its number among those that were asked for, or its id.
    pub(super) row: RowId,
    /// What it refers to; `None` if it mixes NULL and values.
    pub(super) key: Option<String>,
}

/// Chunks of a write set, by what is to be checked of them.
struct Piece {
    slot: usize,
    rows: Range<usize>,
}

/// Looks for the rows that others refer to, on behalf of a view.
pub(super) struct Finder<'a> {
    pub(super) key: &'a ForeignKey,
    pub(super) parent: &'a Table,
    pub(super) view: View,
    pub(super) stamps: &'a Stamps,
}

impl Missing {
    /// The columns of the parent and their values.
    pub(super) fn key_shown(&self, key: &ForeignKey, parent: &Table) -> String {
        let names = ForeignKey::names(parent, key.index().columns());
        format!("({names})={}", self.key.as_deref().unwrap_or("NULL"))
    }

    pub(super) fn error(&self, key: &ForeignKey, child: &Table, parent: &Table) -> ForeignKeyError {
        let problem = match &self.key {
            None => ForeignKeyProblem::Mixed,
            Some(values) => ForeignKeyProblem::NotPresent {
                key: format!("({})={values}", ForeignKey::names(child, key.columns())),
                referenced: parent.name(),
            },
        };
        ForeignKeyError { constraint: key.name().to_owned(), relation: child.name(), row: self.row, problem }
    }
}

impl Finder<'_> {
    fn find(&self, bytes: ReferredBytes<'_>) -> Option<RowId> {
        let sees = |row: &RowId| {
            let slot = self.parent.slots.get(row.chunk());
            slot.is_some_and(|slot| slot.read().is_visible(row.row(), self.view, self.stamps))
        };
        self.key.index().find_referred(bytes).iter().find(sees)
    }

    /// Gives the rows of a range that refer to no row to a closure, in their order, until it says `Break`; what the
    /// others refer to goes to `kept`.
    pub(super) fn each_missing(
        &self,
        rows: &impl Stored,
        range: Range<usize>,
        kept: &mut RowSet,
        mut missing: impl FnMut(usize, Option<String>) -> ControlFlow<()>,
    ) {
        let mut recent = Recent::default();
        let is_full = self.key.rules().matching == ReferenceMatch::Full;
        let mut mixed = if is_full { self.key.layout().first_mixed(rows, range.clone()) } else { None };
        let mut has_stopped = false;
        self.key.layout().each(rows, range.clone(), |row, bytes| {
            while let Some(at) = mixed.filter(|&at| at < row) {
                if missing(at, None).is_break() {
                    has_stopped = true;
                    return ControlFlow::Break(());
                }
                mixed = self.key.layout().first_mixed(rows, at + 1..range.end);
            }
            if recent.knows(bytes) {
                return ControlFlow::Continue(());
            }
            if let Some(found) = self.find(bytes) {
                kept.insert(found);
                recent.learn(bytes);
                return ControlFlow::Continue(());
            }
            let flow = missing(row, Some(self.key.index().describe_referred(bytes)));
            has_stopped = flow.is_break();
            flow
        });
        while let Some(at) = mixed.filter(|_| !has_stopped) {
            if missing(at, None).is_break() {
                return;
            }
            mixed = self.key.layout().first_mixed(rows, at + 1..range.end);
        }
    }
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
        let cell = |&column: &usize| slot.visible_cell(row.row(), column, self.view, self.manager.stamps());
        let inputs: Option<Vec<Input<'static>>> =
            key.columns().iter().map(|column| cell(column).map(input_of)).collect();
        // A row that is not seen refers to nothing.
        let Some(inputs) = inputs else { return Referred::Nothing };
        key.layout().of_row(|column| {
            let place = key.columns().iter().position(|&of| of == column);
            let column_type = child.schema().columns()[column].column_type;
            place.map_or(Datum::Null, |place| inputs[place].datum(column_type))
        })
    }

    /// Checks that what came since refers to rows that are there, and sees to it that they stay until this commits.
    pub(super) fn check_new(
        &mut self,
        range: Range<usize>,
        is_cancelled: IsCancelled<'_>,
    ) -> Result<(), TransactionError> {
        for (at, child) in self.referencing_tables() {
            let Some(references) = child.references() else { continue };
            let mut first: Option<((usize, RowId), ForeignKeyError)> = None;
            for key in &references.outgoing {
                let Some(parent) = key.parent() else { continue };
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
        parent: &Table,
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
            heed(is_cancelled)?;
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
                            kept.insert(row);
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
        let guards = self.guards();
        for set in sets.into_iter().chain([kept]) {
            guards.keep(key, set);
        }
        Ok(found.map(|(piece, missing)| (many[piece].0, missing)).or(first))
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

impl Transactions {
    /// Checks that all rows obey a foreign key.
    pub(crate) fn verify(&self, key: &ForeignKey, is_cancelled: IsCancelled<'_>) -> Result<(), TransactionError> {
        let (Some(child), Some(parent)) = (key.child(), key.parent()) else { return Ok(()) };
        let reader = self.begin_reader();
        match first_violation(key, &child, &parent, reader.view(), self.stamps(), is_cancelled)? {
            None => Ok(()),
            Some(missing) => Err(missing.error(key, &child, &parent).into()),
        }
    }
}

/// The first row of a relation that refers to none, as a view sees both.
pub(super) fn first_violation(
    key: &ForeignKey,
    child: &Table,
    parent: &Table,
    view: View,
    stamps: &Stamps,
    is_cancelled: IsCancelled<'_>,
) -> Result<Option<Missing>, TransactionError> {
    let finder = Finder { key, parent, view, stamps };
    let snapshot = child.show(view);
    let pieces: &[VisibleChunk] = snapshot.pieces();
    let (found, _) = in_order(pieces.len(), is_cancelled, |number, kept| {
        let piece = &pieces[number];
        let rows = piece.rows();
        let visible = piece.visible(0, rows);
        let is_seen = |row: usize| visible.as_ref().is_none_or(|visible| visible.value(row));
        let mut first = None;
        if key.columns().iter().all(|&column| piece.is_stored(column, 0, rows)) {
            finder.each_missing(&**piece.chunk(), 0..rows, kept, |row, shown| {
                if !is_seen(row) {
                    return ControlFlow::Continue(());
                }
                first = Some(Missing { row: piece.row_id(row), key: shown });
                ControlFlow::Break(())
            });
            return first;
        }
        // Rows have other values for the view than they hold now: a copy of what it sees.
        let (settled, seen) = (piece.settled(), (0..rows).filter(|&row| is_seen(row)));
        let seen: Vec<usize> = seen.collect();
        finder.each_missing(&*settled, 0..settled.rows(), kept, |row, shown| {
            first = Some(Missing { row: piece.row_id(seen[row]), key: shown });
            ControlFlow::Break(())
        });
        first
    })?;
    Ok(found.map(|(_, missing)| missing))
}
