//! Why a statement failed.

mod details;
mod kind;
mod position;

use std::fmt;

pub use details::ErrorDetails;
pub use kind::ErrorKind;

use longshore_load::{BadField, Fault, LoadError, SourceError};
use longshore_storage::native::NativeError;
use longshore_storage::{
    ColumnType, CommitError, Contention, OutOfMemory, ReplayError, ReplayProblem, TransactionError,
};

/// Why a statement failed: `Display` is the whole message, with what, where and the remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    details: Option<Box<ErrorDetails>>,
    /// Which other transaction is in the way.
    contention: Option<Contention>,
}

impl Error {
    /// What a message says of a name in a schema, it says with a period ([`crate::sql::names`]).
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let mut message = message.into();
        if message.contains(SEPARATOR) {
            message = shown_names(&message);
        }
        Self { kind, message, details: None, contention: None }
    }

    pub(crate) fn syntax(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Syntax, message)
    }

    pub(crate) fn unsupported(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    pub(crate) fn no_column(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NoColumn, message)
    }

    pub(crate) fn no_object(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NoObject, message)
    }

    pub(crate) fn exists(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Exists, message)
    }

    /// Two columns of `relation`, such as `table t`, have the name `name`.
    pub(crate) fn duplicate_column(relation: &str, name: &str) -> Self {
        Self::new(
            ErrorKind::DuplicateColumn,
            format!("{relation}: two columns have the name {name}; name them apart, in a query with AS"),
        )
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, message)
    }

    pub(crate) fn io(action: &str, path: &std::path::Path, error: &std::io::Error) -> Self {
        Self::in_file(ErrorKind::Io, path, format!("cannot {action}: {error}"))
    }

    /// What `message` says of the file `path`.
    pub(crate) fn in_file(kind: ErrorKind, path: &std::path::Path, message: impl Into<String>) -> Self {
        Self::new(kind, message).with_file(&path.display().to_string())
    }

    /// The same with the name of the file before it.
    pub(crate) fn with_file(self, file: &str) -> Self {
        let details = ErrorDetails { file: Some(file.to_owned()), ..self.details().clone() };
        Self { message: format!("{file}: {}", self.message), ..self }.about(details)
    }

    pub(crate) fn cancelled() -> Self {
        Self::new(ErrorKind::Cancelled, "the statement was cancelled")
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, message)
    }

    /// The same without `secrets`.
    pub(crate) fn without(self, secrets: &[String]) -> Self {
        let details = self.details.map(|details| Box::new(details.without(secrets)));
        Self { message: masked(self.message, secrets), details, ..self }
    }

    /// The same with another message, which `reword` makes of the one that there is.
    pub(crate) fn reworded(self, reword: impl FnOnce(&str) -> String) -> Self {
        Self { details: self.details, contention: self.contention, ..Self::new(self.kind, reword(&self.message)) }
    }

    /// The same, about what `details` say.
    pub(crate) fn about(self, details: ErrorDetails) -> Self {
        let details = (details != ErrorDetails::NONE).then(|| Box::new(details));
        Self { details, ..self }
    }

    /// The same with the name of the file that was read, if it is about data and does not say so.
    pub(crate) fn of_file(self, file: &str) -> Self {
        let is_about_data = matches!(
            self.kind,
            ErrorKind::Data
                | ErrorKind::InvalidText
                | ErrorKind::OutOfRange
                | ErrorKind::DateTimeFormat
                | ErrorKind::DateTimeRange
                | ErrorKind::IntervalField
                | ErrorKind::ZoneDisplacement
                | ErrorKind::Duplicate
                | ErrorKind::Io
                | ErrorKind::Damaged
                | ErrorKind::Internal
        );
        if is_about_data && self.details().file.is_none() { self.with_file(file) } else { self }
    }

    /// The same; if a constraint of a table is violated and nothing says of which, it is `table`.
    pub(crate) fn of_table(self, table: &str) -> Self {
        let is_violation = matches!(self.kind, ErrorKind::NotNull | ErrorKind::Check | ErrorKind::TooLong);
        if !is_violation || self.details().table.is_some() {
            return self;
        }
        let details = ErrorDetails { table: Some(shown_names(table)), ..self.details().clone() };
        self.about(details)
    }

    /// The same, with its place in the text `sql` of the statement, as far as the message tells it: where the syntax is wrong,
    /// or where the name stands that nothing is known by.
    #[must_use]
    pub fn in_statement(self, sql: &str) -> Self {
        if self.details().position.is_some() {
            return self;
        }
        match position::of(self.kind, &self.message, sql) {
            None => self,
            position => {
                let details = ErrorDetails { position, ..self.details().clone() };
                self.about(details)
            }
        }
    }

    /// The same, with what other transaction or session is in the way.
    pub(crate) fn contended(self, contention: Contention) -> Self {
        Self { contention: Some(contention), ..self }
    }

    /// Which other transaction is in the way, of a conflict.
    pub(crate) fn contention(&self) -> Option<Contention> {
        self.contention
    }

    /// What sort of failure it is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What it is about: file, line, table, column, constraint, value.
    #[must_use]
    pub fn details(&self) -> &ErrorDetails {
        self.details.as_deref().unwrap_or(&ErrorDetails::NONE)
    }
}

/// Stands between the name of a schema and that of what is in it ([`crate::sql::names`]).
pub(crate) const SEPARATOR: char = '\0';

/// Begins the names of schemas that hold what is temporary, each for one session.
pub(crate) const TEMPORARY: &str = "pg_temp_";

/// A message with the names in it as people write them; of what is temporary, the name of the schema says nothing.
pub(crate) fn shown_names(message: &str) -> String {
    let mut shown = String::with_capacity(message.len());
    for (at, part) in message.split(SEPARATOR).enumerate() {
        if at > 0 {
            let begin = shown.rfind(|c: char| !(c.is_alphanumeric() || c == '_')).map_or(0, |before| before + 1);
            if shown[begin..].starts_with(TEMPORARY) { shown.truncate(begin) } else { shown.push('.') }
        }
        shown.push_str(part);
    }
    shown
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// `text` with `***` for each of `secrets`.
fn masked(text: String, secrets: &[String]) -> String {
    secrets.iter().fold(text, |text, secret| text.replace(secret.as_str(), "***"))
}

/// What sort of failure a bad field or record is, as PostgreSQL tells them apart.
fn kind_of(bad: &BadField) -> ErrorKind {
    let is_of_time = bad
        .column
        .as_ref()
        .is_some_and(|(_, column_type)| ["DATE", "TIME", "INTERVAL"].iter().any(|name| column_type.starts_with(name)));
    match bad.fault {
        Fault::Format => ErrorKind::BAD_COPY_FORMAT,
        Fault::Value if is_of_time => ErrorKind::DateTimeFormat,
        Fault::Value => ErrorKind::InvalidText,
        Fault::DateTime => ErrorKind::DateTimeRange,
        Fault::OutOfRange if is_of_time => ErrorKind::DateTimeRange,
        Fault::OutOfRange => ErrorKind::OutOfRange,
        Fault::TooLong => ErrorKind::TooLong,
        Fault::Encoding => ErrorKind::Coded("22021"),
    }
}

impl From<LoadError> for Error {
    fn from(error: LoadError) -> Self {
        let details = ErrorDetails::from(&error);
        let kind = match error {
            LoadError::Transaction(error) => return error.into(),
            LoadError::Duplicate(_) => ErrorKind::Duplicate,
            LoadError::Null(_) => ErrorKind::NotNull,
            LoadError::Violated(_) => ErrorKind::Check,
            LoadError::NoNumbers(_) => ErrorKind::SequenceLimit,
            LoadError::Io { .. } | LoadError::Shrunk { .. } | LoadError::Changed { .. } => ErrorKind::Io,
            LoadError::Bad(ref bad) | LoadError::Misshapen(ref bad) => kind_of(bad),
            LoadError::TooManyRejects(_) | LoadError::Unfit { .. } | LoadError::Filter(_) | LoadError::Query(_) => {
                ErrorKind::Data
            }
            LoadError::Reference(_) => ErrorKind::ForeignKey,
            LoadError::Dialect(_) | LoadError::Options(_) => ErrorKind::Invalid,
            LoadError::OutOfMemory(_) | LoadError::TextOutOfMemory { .. } => ErrorKind::Memory,
            LoadError::Cancelled => ErrorKind::Cancelled,
        };
        Self::new(kind, error.to_string()).about(details)
    }
}

impl From<SourceError> for Error {
    fn from(error: SourceError) -> Self {
        LoadError::from(error).into()
    }
}

impl From<NativeError> for Error {
    fn from(error: NativeError) -> Self {
        let kind = match &error {
            NativeError::Io { .. } => ErrorKind::Io,
            NativeError::Foreign { .. } | NativeError::Version { .. } | NativeError::Damaged { .. } => {
                ErrorKind::Damaged
            }
            NativeError::OutOfMemory { .. } | NativeError::TooLarge { .. } => ErrorKind::Memory,
            NativeError::Cancelled { .. } => ErrorKind::Cancelled,
        };
        Self::new(kind, error.to_string())
    }
}

impl From<TransactionError> for Error {
    fn from(error: TransactionError) -> Self {
        let kind = match &error {
            TransactionError::Conflict { .. }
            | TransactionError::Altered { retry: true, .. }
            | TransactionError::Appending { .. } => ErrorKind::Conflict,
            TransactionError::Duplicate { .. } => ErrorKind::Duplicate,
            TransactionError::NotNull { .. } | TransactionError::HasNull { .. } => ErrorKind::NotNull,
            TransactionError::ForeignKey(_) => ErrorKind::ForeignKey,
            TransactionError::Default { .. } => ErrorKind::Unsupported,
            TransactionError::TooLong { .. } => ErrorKind::TooLong,
            TransactionError::Invalid { column_type: ColumnType::Numeric(_), .. } => ErrorKind::OutOfRange,
            TransactionError::Invalid { .. } | TransactionError::TooMuchText { .. } => ErrorKind::Data,
            TransactionError::IndexName { exists: true, .. } => ErrorKind::Exists,
            TransactionError::IndexName { exists: false, .. } => ErrorKind::NoObject,
            TransactionError::NoSuchRow { .. } => ErrorKind::NotFound,
            TransactionError::NoSuchColumn { .. } => ErrorKind::NoColumn,
            TransactionError::Deadlock => ErrorKind::Deadlock,
            TransactionError::ReadOnly => ErrorKind::ReadOnly,
            TransactionError::OutOfMemory(_) => ErrorKind::Memory,
            TransactionError::Altered { retry: false, .. }
            | TransactionError::Key { .. }
            | TransactionError::Type { .. }
            | TransactionError::ColumnCount { .. }
            | TransactionError::IsNull { .. }
            | TransactionError::Indexed { .. } => ErrorKind::Invalid,
            TransactionError::NotLogged { .. }
            | TransactionError::NotStored { .. }
            | TransactionError::NotSafe { .. } => ErrorKind::Io,
            TransactionError::Abandoned => ErrorKind::Internal,
            TransactionError::Cancelled => ErrorKind::Cancelled,
        };
        Self { contention: error.contention(), ..Self::new(kind, error.to_string()).about((&error).into()) }
    }
}

impl From<CommitError> for Error {
    fn from(error: CommitError) -> Self {
        TransactionError::from(error).into()
    }
}

impl From<ReplayError> for Error {
    fn from(error: ReplayError) -> Self {
        let kind = match &error.problem {
            ReplayProblem::OutOfMemory(_) => ErrorKind::Memory,
            _ => ErrorKind::Damaged,
        };
        Self::new(kind, error.to_string())
    }
}

impl From<OutOfMemory> for Error {
    fn from(error: OutOfMemory) -> Self {
        Self::new(ErrorKind::Memory, error.to_string())
    }
}
