//! Conflicts: with changes that a transaction does not see, or that it should have seen.

use std::fmt;

use super::time::{Owner, TRANSACTION_ID_MIN};

/// Why two transactions cannot both go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConflictKind {
    /// Another transaction has changed the row and has not ended yet: this one, where that is known.
    Uncommitted(Option<Owner>),
    /// Another transaction has locked the row.
    Locked(Owner),
    /// Another transaction has changed the row since this one began, and has committed.
    Committed,
    /// Another transaction has changed since what this one has read.
    Read {
        /// By what it has read it.
        predicate: String,
    },
    /// Another transaction has changed since what a foreign key relied on here.
    Reference {
        /// The foreign key.
        constraint: String,
        /// What the other one has done.
        what: &'static str,
    },
    /// A foreign key of the relation was added, or the relation at its other end altered, since this transaction began.
    NewReference,
}

impl ConflictKind {
    /// The conflict with a change that bears a stamp, which one does not see.
    pub(crate) fn of(stamp: u64) -> ConflictKind {
        if stamp < TRANSACTION_ID_MIN { ConflictKind::Committed } else { ConflictKind::Uncommitted(Some(Owner(stamp))) }
    }
}

impl fmt::Display for ConflictKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConflictKind::Uncommitted(_) => f.write_str("another transaction is changing it"),
            ConflictKind::Locked(_) => f.write_str("another transaction has locked it"),
            ConflictKind::Committed => f.write_str("another transaction has changed it meanwhile"),
            ConflictKind::Read { predicate } => {
                write!(f, "another transaction has changed what this one read ({predicate})")
            }
            ConflictKind::Reference { constraint, what } => {
                write!(f, "another transaction has {what} (foreign key {constraint})")
            }
            ConflictKind::NewReference => f.write_str(
                "a foreign key of it was added, or the table at its other end altered, since this transaction began",
            ),
        }
    }
}
