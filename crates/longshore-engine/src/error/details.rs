//! What an error is about, beside its message: what a program shows elsewhere, or acts on.

use longshore_load::{BadField, DuplicateKey, LoadError, MissingReference, RecordPlace, ReferringRecord};
use longshore_storage::TransactionError;

use super::shown_names;

/// What an [`Error`](crate::Error) is about, as far as that is known. Table, column and constraint are those of PostgreSQL's
/// error fields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ErrorDetails {
    /// The file that was read or written, as the statement or a pattern in it names it.
    pub file: Option<String>,
    /// Line of the file, from 1.
    pub line: Option<u64>,
    /// Offset in the file, in bytes from 0.
    pub byte: Option<u64>,
    /// The table.
    pub table: Option<String>,
    /// The column.
    pub column: Option<String>,
    /// The constraint or index that is violated.
    pub constraint: Option<String>,
    /// The domain whose constraint is violated.
    pub data_type: Option<String>,
    /// The place in the text of the statement, in characters from 1.
    pub position: Option<usize>,
    /// The value or key that cannot be taken, as it is written; bytes that are no UTF-8 are replaced.
    pub value: Option<String>,
}

impl ErrorDetails {
    /// Of no error in particular.
    pub(crate) const NONE: Self = Self {
        file: None,
        line: None,
        byte: None,
        table: None,
        column: None,
        constraint: None,
        data_type: None,
        position: None,
        value: None,
    };

    /// The same with `secrets` masked.
    pub(super) fn without(mut self, secrets: &[String]) -> Self {
        for text in [&mut self.file, &mut self.value].into_iter().flatten() {
            *text = super::masked(std::mem::take(text), secrets);
        }
        self
    }

    fn of_field(bad: &BadField) -> Self {
        Self {
            file: Some(bad.file.clone()),
            line: Some(bad.line),
            byte: Some(bad.byte),
            column: bad.column.as_ref().map(|(name, _)| name.clone()),
            value: Some(String::from_utf8_lossy(&bad.value).into_owned()),
            ..Self::NONE
        }
    }

    fn of_record(place: &RecordPlace) -> Self {
        let (line, byte) = place.line_and_byte.unzip();
        Self { file: Some(place.file.to_string()), line, byte, ..Self::NONE }
    }
}

impl From<&LoadError> for ErrorDetails {
    fn from(error: &LoadError) -> Self {
        match error {
            LoadError::Bad(bad) | LoadError::Misshapen(bad) | LoadError::Null(bad) => Self::of_field(bad),
            LoadError::Violated(bad) => {
                // The reason of a violation names its constraint.
                let named = bad.reason.split_once("violates check constraint \"").map(|(_, rest)| rest);
                let constraint = named.and_then(|rest| rest.split_once('"')).map(|(name, _)| name.to_owned());
                Self { constraint, ..Self::of_field(bad) }
            }
            LoadError::Reference(missing) => {
                let MissingReference { record, error } = missing.as_ref();
                let record = match record {
                    ReferringRecord::Text(bad) => Self::of_field(bad),
                    ReferringRecord::Place(place) => Self::of_record(place),
                };
                Self { table: Some(shown_names(&error.relation)), constraint: Some(error.constraint.clone()), ..record }
            }
            LoadError::Duplicate(duplicate) => {
                let DuplicateKey { relation, index, key, second, .. } = duplicate.as_ref();
                Self {
                    table: Some(shown_names(relation)),
                    constraint: Some(index.clone()),
                    value: Some(key.clone()),
                    ..Self::of_record(second)
                }
            }
            LoadError::Io { file, .. }
            | LoadError::Shrunk { file }
            | LoadError::Changed { file }
            | LoadError::Unfit { file, .. }
            | LoadError::TextOutOfMemory { file, .. } => Self { file: Some(file.clone()), ..Self::NONE },
            LoadError::Transaction(error) => error.into(),
            LoadError::TooManyRejects(_)
            | LoadError::NoNumbers(_)
            | LoadError::Dialect(_)
            | LoadError::Options(_)
            | LoadError::OutOfMemory(_)
            | LoadError::Cancelled
            | LoadError::Filter(_)
            | LoadError::Query(_) => Self::NONE,
        }
    }
}

impl From<&TransactionError> for ErrorDetails {
    fn from(error: &TransactionError) -> Self {
        match error {
            TransactionError::Duplicate { relation, index, key, .. } => Self {
                table: Some(shown_names(relation)),
                constraint: Some(index.clone()),
                value: Some(key.clone()),
                ..Self::NONE
            },
            TransactionError::ForeignKey(error) => Self {
                table: Some(shown_names(&error.relation)),
                constraint: Some(error.constraint.clone()),
                ..Self::NONE
            },
            TransactionError::NotNull { relation, column } => {
                Self { table: Some(shown_names(relation)), column: Some(column.clone()), ..Self::NONE }
            }
            TransactionError::TooLong { relation, column, value, .. } => Self {
                table: Some(shown_names(relation)),
                column: Some(column.clone()),
                value: Some(value.clone()),
                ..Self::NONE
            },
            _ => Self::NONE,
        }
    }
}
