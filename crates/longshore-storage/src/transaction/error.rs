//! The ways in which a commit fails.

use std::error::Error;
use std::fmt;

use crate::error::TransactionError;
use crate::row_id::RowId;
use crate::visibility::ConflictKind;

/// A transaction could not commit; it has been rolled back.
#[derive(Clone, Debug, PartialEq)]
pub enum CommitError {
    /// Another transaction has committed changes of what this one has read.
    Conflict {
        /// The relation.
        relation: String,
        /// The row that was changed.
        row: RowId,
        /// By what this one has read it.
        predicate: String,
    },
    /// A foreign key does not hold, or would not beside what others have committed.
    Failed(Box<TransactionError>),
}

impl CommitError {
    /// Whether the same transaction may succeed when it is tried again.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        match self {
            CommitError::Conflict { .. } => true,
            CommitError::Failed(error) => error.is_conflict(),
        }
    }
}

impl fmt::Display for CommitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The same words, however a user comes to know of it.
        TransactionError::from(self.clone()).fmt(f)
    }
}

impl Error for CommitError {}

impl From<CommitError> for TransactionError {
    fn from(error: CommitError) -> TransactionError {
        match error {
            CommitError::Conflict { relation, row, predicate } => {
                TransactionError::Conflict { relation, row, kind: ConflictKind::Read { predicate } }
            }
            CommitError::Failed(error) => *error,
        }
    }
}
