//! What is told of a foreign key that does not hold: in the words of `PostgreSQL`.

use std::fmt;

use crate::row_id::RowId;

/// A foreign key would not hold any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignKeyError {
    /// The foreign key.
    pub constraint: String,
    /// The relation in which a row was inserted, changed or deleted.
    pub relation: String,
    /// The row.
    pub row: RowId,
    /// In what way.
    pub problem: ForeignKeyProblem,
}

/// How a foreign key is violated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForeignKeyProblem {
    /// The row refers to one that is not there.
    NotPresent {
        /// The columns and their values, for instance `(a, b)=(1, 'two')`.
        key: String,
        /// The relation that it refers to.
        referenced: String,
    },
    /// Some columns of the row are NULL and some are not, which MATCH FULL forbids.
    Mixed,
    /// Others refer to the row that was deleted or changed.
    StillReferenced {
        /// The columns and the values that they had.
        key: String,
        /// The relation that refers to it.
        referencing: String,
    },
}

impl ForeignKeyError {
    /// What is wrong, as PostgreSQL says it: message and detail.
    #[must_use]
    pub fn reason(&self) -> String {
        let Self { constraint, relation, problem, .. } = self;
        let inserted =
            format!("insert or update on table \"{relation}\" violates foreign key constraint \"{constraint}\"");
        match problem {
            ForeignKeyProblem::NotPresent { key, referenced } => {
                format!("{inserted}: Key {key} is not present in table \"{referenced}\"")
            }
            ForeignKeyProblem::Mixed => {
                format!("{inserted}: MATCH FULL does not allow mixing of null and nonnull key values")
            }
            ForeignKeyProblem::StillReferenced { key, referencing } => format!(
                "update or delete on table \"{relation}\" violates foreign key constraint \"{constraint}\" on table \
                 \"{referencing}\": Key {key} is still referenced from table \"{referencing}\""
            ),
        }
    }

    /// What can be done about it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match &self.problem {
            ForeignKeyProblem::NotPresent { .. } => "insert it there first",
            ForeignKeyProblem::Mixed => "give all of them or none",
            ForeignKeyProblem::StillReferenced { .. } => "delete or change the rows there first",
        }
    }
}

impl fmt::Display for ForeignKeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.reason(), self.remedy())
    }
}
