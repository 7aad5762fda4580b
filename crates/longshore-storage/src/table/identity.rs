//! What the log of a durable database calls a table, and how it tells where the columns of an altered one come from.

use std::fmt;

use super::Table;
use crate::sync::atomic::Ordering;

/// The number of a relation in the log of its database, from 1 on: given when it joins, and never to another one. What
/// takes the place of a relation takes its number, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelationId(pub u32);

impl fmt::Display for RelationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Where a column of a table comes from that takes the place of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnOrigin {
    /// It is the column of this number there.
    Kept(usize),
    /// All rows were given one value.
    Filled,
    /// Each row was given a value of its own.
    Computed,
}

impl Table {
    /// What the log calls it; `None` if its changes are not logged.
    #[inline]
    pub(crate) fn relation_id(&self) -> Option<RelationId> {
        Some(self.relation_id.load(Ordering::Acquire)).filter(|&id| id != 0).map(RelationId)
    }

    /// Gives it the number that it has in the log, or none: then its changes are not logged any more.
    pub(crate) fn set_relation_id(&self, id: Option<RelationId>) {
        self.relation_id.store(id.map_or(0, |id| id.0), Ordering::Release);
    }

    /// Whether its rows are durable if it is one of a durable database: otherwise only that it is there is.
    #[inline]
    pub(crate) fn is_logged(&self) -> bool {
        self.is_logged.load(Ordering::Acquire)
    }

    pub(crate) fn set_logged(&self, is_logged: bool) {
        self.is_logged.store(is_logged, Ordering::Release);
    }

    /// Where its columns come from; nothing if it takes the place of no other one.
    pub(crate) fn origins(&self) -> &[ColumnOrigin] {
        &self.origins
    }
}
