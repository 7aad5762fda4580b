//! Finds the rows that refer by a foreign key to a row which is not there, as a view sees both relations.
//!
//! Rows are checked chunk by chunk, on several threads; the violation that is told is the first in the order of the rows,
//! for any number of threads. What the others refer to is gathered, for those whose rows must stay.
//!
//! Not here: which rows a transaction has to check (`transaction/references/parents.rs`).

use std::num::NonZero;
use std::ops::{ControlFlow, Range};

use super::RowSet;
use crate::chunk::{Stored, VisibleChunk};
use crate::error::{ForeignKeyError, ForeignKeyProblem, TransactionError, check_cancelled};
use crate::index::{IsCancelled, Recent, ReferredBytes};
use crate::row_id::RowId;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::table::{ForeignKey, ReferenceMatch, Table};
use crate::threads::in_threads;
use crate::visibility::{Stamps, View};

/// A row that refers to none.
#[derive(Clone, Debug)]
pub(crate) struct Missing {
    /// The row: its number among those that were asked for, or its id.
    pub(crate) row: RowId,
    /// What it refers to; `None` if it mixes NULL and values.
    pub(crate) key: Option<String>,
}

/// Looks for the rows that others refer to, on behalf of a view.
pub(crate) struct Finder<'a> {
    pub(crate) key: &'a ForeignKey,
    pub(crate) parent: &'a Table,
    pub(crate) view: View,
    pub(crate) stamps: &'a Stamps,
}

impl Missing {
    /// The columns of the parent and their values.
    pub(crate) fn key_shown(&self, key: &ForeignKey, parent: &Table) -> String {
        let names = ForeignKey::names(parent, key.index().columns());
        format!("({names})={}", self.key.as_deref().unwrap_or("NULL"))
    }

    pub(crate) fn error(&self, key: &ForeignKey, child: &Table, parent: &Table) -> ForeignKeyError {
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
    pub(crate) fn find(&self, bytes: ReferredBytes<'_>) -> Option<RowId> {
        let sees = |row: &RowId| {
            let slot = self.parent.slots.get(row.chunk());
            slot.is_some_and(|slot| slot.read().is_visible(row.row(), self.view, self.stamps))
        };
        self.key.index().find_referred(bytes).iter().find(sees)
    }

    /// Gives the rows of a range that refer to no row to a closure, in their order, until it says `Break`; what the
    /// others refer to goes to `kept`.
    pub(crate) fn each_missing(
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

/// The first row of a relation that refers to none, as a view sees both.
pub(crate) fn first_violation(
    key: &ForeignKey,
    child: &Table,
    parent: &Table,
    view: View,
    stamps: &Stamps,
    is_cancelled: IsCancelled<'_>,
) -> Result<Option<Missing>, TransactionError> {
    let finder = Finder { key, parent, view, stamps };
    let snapshot = child.show(view, stamps);
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

/// What was found of the first piece of which something was found, with its number; and the sets that were gathered.
pub(crate) type Found = (Option<(usize, Missing)>, Vec<RowSet>);

/// Checks pieces on several threads, unless it is cancelled before the last of them.
pub(crate) fn in_order(
    count: usize,
    is_cancelled: IsCancelled<'_>,
    check: impl Fn(usize, &mut RowSet) -> Option<Missing> + Sync,
) -> Result<Found, TransactionError> {
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get).min(count);
    let (next, least) = (AtomicUsize::new(0), AtomicUsize::new(usize::MAX));
    let work = || {
        let (mut kept, mut first) = (RowSet::default(), None);
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            // Nothing behind what was found matters.
            if number >= count || is_cancelled() || number > least.load(Ordering::Relaxed) {
                return (first, kept);
            }
            if let Some(missing) = check(number, &mut kept) {
                least.fetch_min(number, Ordering::Relaxed);
                first = Some((number, missing));
                return (first, kept);
            }
        }
    };
    let results = in_threads(threads, work);
    check_cancelled(is_cancelled)?;
    let (found, sets): (Vec<_>, Vec<_>) = results.into_iter().unzip();
    Ok((found.into_iter().flatten().min_by_key(|(number, _): &(usize, Missing)| *number), sets))
}
