//! Finds the rows that refer to keys: by an index that begins with the columns that refer, or by a scan.
//!
//! A scan goes through the rows once, however many keys there are, and looks each row's key up among them.

use std::ops::{Bound, ControlFlow};

use super::GoneKeys;
use crate::chunk::VisibleChunk;
use crate::datum::Datum;
use crate::error::{TransactionError, check_cancelled};
use crate::index::{Direction, Index, IndexKind, IsCancelled, Referred};
use crate::row_id::RowId;
use crate::table::{ForeignKey, Table};
use crate::transaction::Transaction;

/// An index by which rows that refer are found.
struct ReferencingIndex<'i> {
    index: &'i Index,
    /// The place in the foreign key of each of its first columns.
    places: Vec<usize>,
}

impl Transaction {
    /// The rows of `child` that refer to any of the keys, each with the number of its key; or just one of them.
    pub(super) fn children(
        &self,
        key: &ForeignKey,
        child: &Table,
        gone: &GoneKeys,
        one_is_enough: bool,
        is_cancelled: IsCancelled<'_>,
    ) -> Result<Vec<(RowId, usize)>, TransactionError> {
        let indexes = child.indexes().clone();
        let lookup = indexes.iter().find_map(|index| referencing_index(index, key));
        match lookup {
            Some(lookup) => self.children_by_index(key, child, &lookup, gone, one_is_enough, is_cancelled),
            None => self.children_by_scan(key, child, gone, one_is_enough, is_cancelled),
        }
    }

    fn children_by_index(
        &self,
        key: &ForeignKey,
        child: &Table,
        lookup: &ReferencingIndex<'_>,
        gone: &GoneKeys,
        one_is_enough: bool,
        is_cancelled: IsCancelled<'_>,
    ) -> Result<Vec<(RowId, usize)>, TransactionError> {
        let Some(parent) = key.parent() else { return Ok(Vec::new()) };
        let types: Vec<_> =
            key.index().columns().iter().map(|&column| parent.schema().all_columns()[column].column_type).collect();
        let mut found = Vec::new();
        let mut numbers: Vec<usize> = gone.by_bytes.values().copied().collect();
        numbers.sort_unstable();
        for number in numbers {
            check_cancelled(is_cancelled)?;
            let values = parent.stored(gone.rows[number].row, key.index().columns())?;
            let datums: Vec<Datum<'_>> = lookup.places.iter().map(|&place| values[place].datum(types[place])).collect();
            let mut rows = Vec::new();
            if lookup.places.len() == lookup.index.columns().len() {
                let wanted = lookup.index.key(&datums).map_err(|error| child.key_error(lookup.index, error))?;
                rows.extend(lookup.index.find(&wanted).iter());
            } else {
                let wanted = lookup.index.prefix(&datums).map_err(|error| child.key_error(lookup.index, error))?;
                let ends = (Bound::Included(&wanted), Bound::Included(&wanted));
                let mut range = lookup.index.range(ends.0, ends.1, Direction::Forward);
                let mut before = usize::MAX;
                while before != rows.len() {
                    check_cancelled(is_cancelled)?;
                    before = rows.len();
                    lookup.index.next_batch(&mut range, &mut rows);
                }
            }
            found.extend(rows.into_iter().filter(|&row| self.sees_row(child, row)).map(|row| (row, number)));
            if one_is_enough && !found.is_empty() {
                break;
            }
        }
        Ok(found)
    }

    fn children_by_scan(
        &self,
        key: &ForeignKey,
        child: &Table,
        gone: &GoneKeys,
        one_is_enough: bool,
        is_cancelled: IsCancelled<'_>,
    ) -> Result<Vec<(RowId, usize)>, TransactionError> {
        let mut found = Vec::new();
        let snapshot = child.show(self.view, self.manager.stamps());
        for piece in snapshot.pieces() {
            check_cancelled(is_cancelled)?;
            let mut take = |row: usize, bytes: &[u8]| {
                if let Some(&number) = gone.by_bytes.get(bytes) {
                    found.push((piece.row_id(row), number));
                    if one_is_enough {
                        return ControlFlow::Break(());
                    }
                }
                ControlFlow::Continue(())
            };
            if self.each_key(key, child, piece, &mut take).is_break() {
                break;
            }
        }
        Ok(found)
    }

    /// Gives what the rows that are seen of a piece refer to to a closure.
    fn each_key(
        &self,
        key: &ForeignKey,
        child: &Table,
        piece: &VisibleChunk,
        take: &mut impl FnMut(usize, &[u8]) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let rows = piece.rows();
        let visible = piece.visible(0, rows);
        let is_seen = |row: usize| visible.as_ref().is_none_or(|visible| visible.value(row));
        if key.columns().iter().all(|&column| piece.is_stored(column, 0, rows)) {
            let mut flow = ControlFlow::Continue(());
            key.layout().each(&**piece.chunk(), 0..rows, |row, bytes| {
                if is_seen(row) {
                    flow = bytes.with(|bytes| take(row, bytes));
                }
                flow
            });
            return flow;
        }
        for row in (0..rows).filter(|&row| is_seen(row)) {
            let Referred::Key(found) = self.referred(key, child, piece.row_id(row)) else { continue };
            found.referred().with(|bytes| take(row, bytes))?;
        }
        ControlFlow::Continue(())
    }
}

/// The index as a way to rows that refer, if it is one: its first columns are those of the foreign key, in any order.
fn referencing_index<'i>(index: &'i Index, key: &ForeignKey) -> Option<ReferencingIndex<'i>> {
    let (wanted, columns) = (key.columns(), index.columns());
    let fits = match index.kind() {
        IndexKind::Hash => columns.len() == wanted.len(),
        IndexKind::Art => columns.len() >= wanted.len(),
    };
    let place = |column: &usize| wanted.iter().position(|of| of == column);
    let places: Vec<usize> = columns.iter().take(wanted.len()).map_while(place).collect();
    (fits && places.len() == wanted.len()).then_some(ReferencingIndex { index, places })
}
