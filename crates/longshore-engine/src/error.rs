//! Why a statement failed.

mod details;

use std::fmt;

pub use details::ErrorDetails;

use longshore_load::{LoadError, SourceError};
use longshore_storage::native::NativeError;
use longshore_storage::{CommitError, OutOfMemory, ReplayError, ReplayProblem, TransactionError};

/// Why a statement failed: `Display` is the whole message, with what, where and the remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    details: Option<Box<ErrorDetails>>,
}

/// What sort of failure an [`Error`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The text is not SQL that this version reads.
    Syntax,
    /// The statement is understood, but this version cannot do it.
    Unsupported,
    /// A table, view, sequence or file does not exist.
    NotFound,
    /// A column does not exist.
    NoColumn,
    /// A constraint, an index, a window or a setting does not exist.
    NoObject,
    /// A function does not exist.
    NoFunction,
    /// A name means more than one column.
    Ambiguous,
    /// A column stands beside aggregates, and the rows are not grouped by it.
    Grouping,
    /// No unique constraint is about the columns of ON CONFLICT.
    ConflictTarget,
    /// The name is taken, or the directory is not empty.
    Exists,
    /// Other objects depend on the one to drop.
    Dependent,
    /// An option, a type or an expression does not make sense.
    Invalid,
    /// A value does not fit its column, or a field of a file is bad.
    Data,
    /// A file cannot be read or written.
    Io,
    /// A stored file is damaged.
    Damaged,
    /// The memory limit is reached.
    Memory,
    /// The statement was cancelled.
    Cancelled,
    /// Another transaction is in the way; the same transaction may succeed when it is tried again.
    Conflict,
    /// A value is NULL in a column that is NOT NULL.
    NotNull,
    /// A key is there already that there can only be one of.
    Duplicate,
    /// A foreign key would not hold: a row refers to none, or others refer to the row that goes.
    ForeignKey,
    /// A row is not as a CHECK wants it.
    Check,
    /// A value was given for a column that is GENERATED ALWAYS.
    Generated,
    /// A value that is out of bounds.
    OutOfRange,
    /// A text that is no value of the type that it is to become.
    InvalidText,
    /// A division by zero.
    DivisionByZero,
    /// A power or a root that does not exist.
    InvalidPower,
    /// A logarithm that does not exist.
    InvalidLogarithm,
    /// Buckets that do not exist.
    InvalidBucket,
    /// A sequence has no more numbers.
    SequenceLimit,
    /// A state that the statement needs is not there.
    State,
    /// A constraint of the name is there already.
    DuplicateObject,
    /// Two columns of a relation have one name.
    DuplicateColumn,
    /// Two relations of a query have one name.
    DuplicateAlias,
    /// A window, or a call over one, that cannot be.
    Windowing,
    /// A row would not be in the view that it goes through.
    ViewCheck,
    /// A value is not of the type that is wanted.
    TypeMismatch,
    /// The name is that of something else, such as a view instead of a table.
    WrongObject,
    /// A statement would change one row twice.
    Cardinality,
    /// A foreign key that cannot be: what it refers to is not unique, or it has another number of columns.
    InvalidForeignKey,
    /// A statement that cannot run in a transaction block, or not any more.
    ActiveTransaction,
    /// A statement that needs a transaction block.
    NoTransaction,
    /// A savepoint does not exist.
    NoSavepoint,
    /// A statement of the transaction block has failed before.
    Aborted,
    /// The transaction only reads.
    ReadOnly,
    /// The name of a prepared statement is taken.
    PreparedExists,
    /// A prepared statement does not exist.
    NoPrepared,
    /// A value or a result would be larger than any may be.
    TooLarge,
    /// A statement is nested too deeply, or consists of too many parts.
    TooComplex,
    /// A condition that has a code of its own in PostgreSQL, which is this one.
    Coded(&'static str),
    /// A schema does not exist, or none is there to create something in.
    NoSchema,
    /// A schema of the name is there already.
    SchemaExists,
    /// A table that cannot be, such as a temporary one in a schema of its own.
    InvalidTable,
    /// A column that cannot be used so.
    InvalidColumn,
    /// What only the system may do.
    Privilege,
    /// A name that only the system gives.
    ReservedName,
    /// A name that nothing may have.
    InvalidName,
    /// A bug: something that must not happen did.
    Internal,
}

impl ErrorKind {
    /// The code that SQL has for it (the SQLSTATE of PostgreSQL).
    #[must_use]
    pub fn sqlstate(self) -> &'static str {
        match self {
            Self::Syntax => "42601",
            Self::Unsupported => "0A000",
            Self::NotFound => "42P01",
            Self::NoColumn => "42703",
            Self::NoObject => "42704",
            Self::NoFunction => "42883",
            Self::Ambiguous => "42702",
            Self::Grouping => "42803",
            Self::ConflictTarget => "42P10",
            Self::Exists => "42P07",
            Self::Dependent => "2BP01",
            Self::Invalid => "22023",
            Self::Data => "22000",
            Self::Io => "58030",
            Self::Damaged => "XX001",
            Self::Memory => "53200",
            Self::Cancelled => "57014",
            Self::Conflict => "40001",
            Self::NotNull => "23502",
            Self::Duplicate => "23505",
            Self::ForeignKey => "23503",
            Self::Check => "23514",
            Self::Generated => "428C9",
            Self::OutOfRange => "22003",
            Self::InvalidText => "22P02",
            Self::DivisionByZero => "22012",
            Self::InvalidPower => "2201F",
            Self::InvalidLogarithm => "2201E",
            Self::InvalidBucket => "2201G",
            Self::SequenceLimit => "2200H",
            Self::State => "55000",
            Self::DuplicateObject => "42710",
            Self::DuplicateColumn => "42701",
            Self::DuplicateAlias => "42712",
            Self::Windowing => "42P20",
            Self::ViewCheck => "44000",
            Self::TypeMismatch => "42804",
            Self::WrongObject => "42809",
            Self::Cardinality => "21000",
            Self::InvalidForeignKey => "42830",
            Self::ActiveTransaction => "25001",
            Self::NoTransaction => "25P01",
            Self::NoSavepoint => "3B001",
            Self::Aborted => "25P02",
            Self::ReadOnly => "25006",
            Self::PreparedExists => "42P05",
            Self::NoPrepared => "26000",
            Self::TooLarge => "54000",
            Self::TooComplex => "54001",
            Self::Coded(code) => code,
            Self::NoSchema => "3F000",
            Self::SchemaExists => "42P06",
            Self::InvalidTable => "42P16",
            Self::InvalidColumn => "42P10",
            Self::Privilege => "42501",
            Self::ReservedName => "42939",
            Self::InvalidName => "42602",
            Self::Internal => "XX000",
        }
    }
}

impl Error {
    /// What a message says of a name in a schema, it says with a period ([`crate::sql::names`]).
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let mut message = message.into();
        if message.contains(SEPARATOR) {
            message = shown_names(&message);
        }
        Self { kind, message, details: None }
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
        Self { details: self.details, ..Self::new(self.kind, reword(&self.message)) }
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
                | ErrorKind::Duplicate
                | ErrorKind::Io
                | ErrorKind::Damaged
                | ErrorKind::Internal
        );
        if is_about_data && self.details().file.is_none() { self.with_file(file) } else { self }
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
            LoadError::Bad(_)
            | LoadError::Misshapen(_)
            | LoadError::TooManyRejects(_)
            | LoadError::Unfit { .. }
            | LoadError::Filter(_)
            | LoadError::Query(_) => ErrorKind::Data,
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
            TransactionError::TooLong { .. }
            | TransactionError::Invalid { .. }
            | TransactionError::TooMuchText { .. } => ErrorKind::Data,
            TransactionError::IndexName { exists: true, .. } => ErrorKind::Exists,
            TransactionError::IndexName { exists: false, .. } => ErrorKind::NoObject,
            TransactionError::NoSuchRow { .. } => ErrorKind::NotFound,
            TransactionError::NoSuchColumn { .. } => ErrorKind::NoColumn,
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
        Self::new(kind, error.to_string()).about((&error).into())
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
