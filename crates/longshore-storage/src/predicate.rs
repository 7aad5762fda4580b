//! Decides what a transaction remembers of its reads, and whether a write that committed meanwhile concerns it.
//!
//! Precision locking as HyPer has it (thesis, 2.2.3): not the rows that were read are logged but the *predicates* by
//! which they were asked for, per relation ([`PredicateLog`]). At commit the rows that others wrote since the
//! transaction began are held against them ([`PredicateTree`]), before- and after-image. A predicate is a conjunction
//! of restrictions of single attributes, each an interval of 64-bit comparison summaries ([`Span`]). All that is
//! rounded is rounded outwards: a summary may cause a conflict that was none, never hide one.
//!
//! Attribute-level: beside predicates, the log knows which attributes were read without a restriction. An update of
//! others is passed over, whatever row it hit.
//!
//! Where it differs from the thesis: point reads of an index are kept as they are until they are many, not only those
//! of joins coarsened; and since index ranges are logged as far as they were followed, the first of a range (`min`,
//! `max`) conflicts with nothing behind it.
//!
//! Not here: the walk over those who committed (`transaction/validate.rs`), the images of rows (`version`).

mod coarsen;
mod describe;
mod log;
mod summary;
#[cfg(test)]
mod tests;
mod tree;

pub(crate) use describe::describe;
pub(crate) use log::{PredicateLog, RelationLog};
pub(crate) use summary::{Attribute, Comparand, Restriction, Span, between, integer};
pub(crate) use tree::{Image, PredicateTree};

/// A set of columns of one relation in 64 bits; all columns from the 64th on share the last bit, so that of very wide
/// relations it may seem to hold a column that it does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ColumnSet(u64);

impl ColumnSet {
    /// The set of one column.
    #[inline]
    pub(crate) const fn of(column: usize) -> ColumnSet {
        ColumnSet(1 << if column < 63 { column } else { 63 })
    }

    #[inline]
    pub(crate) fn insert(&mut self, column: usize) {
        self.0 |= ColumnSet::of(column).0;
    }

    #[inline]
    #[must_use]
    pub(crate) const fn union(self, other: ColumnSet) -> ColumnSet {
        ColumnSet(self.0 | other.0)
    }

    pub(crate) const fn intersects(self, other: ColumnSet) -> bool {
        self.0 & other.0 != 0
    }
}

/// What a write did to a row, as far as validation tells writes apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// The row came or went: every predicate that holds for it is concerned.
    Existence,
    /// These columns got other values: only who has read or restricted one of them is concerned.
    Columns(ColumnSet),
}
