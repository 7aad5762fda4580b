//! What sorts of failures there are, and the codes that SQL has for them.

/// What sort of failure an [`Error`](crate::Error) is.
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
    /// Transactions wait for each other in a circle.
    Deadlock,
    /// A lock is held by another transaction, which is not waited for, or not any longer.
    LockNotAvailable,
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
    /// A text that is too long for its type.
    TooLong,
    /// A regular expression that is none.
    RegularExpression,
    /// A part of a text of a negative length.
    Substring,
    /// A place in bytes or an array that is not there.
    Subscript,
    /// An escape character that is none, or stands where it cannot.
    EscapeSequence,
    /// An escape character that has no meaning where it stands.
    EscapeUse,
    /// Bytes that are no text.
    Encoding,
    /// A NULL where none may be.
    NullNotAllowed,
    /// A text that is no date, time or interval.
    DateTimeFormat,
    /// A date or a time that is out of bounds.
    DateTimeRange,
    /// A field of an interval that is out of bounds.
    IntervalField,
    /// The offset of a time zone that is out of bounds.
    ZoneDisplacement,
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
    /// A recursive query reads itself where it cannot.
    InvalidRecursion,
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
    /// Data of COPY is not in its format.
    pub(crate) const BAD_COPY_FORMAT: Self = Self::Coded("22P04");

    /// An offset of a window frame is none.
    pub(crate) const FRAME_OFFSET: Self = Self::Coded("22013");

    /// A share of rows to be drawn is none.
    pub(crate) const SAMPLE_SHARE: Self = Self::Coded("2202H");

    /// Whether it is about data that was read: values, or the format of records.
    pub(crate) fn is_of_data(self) -> bool {
        matches!(
            self,
            Self::Data
                | Self::InvalidText
                | Self::OutOfRange
                | Self::TooLong
                | Self::DateTimeFormat
                | Self::DateTimeRange
                | Self::Coded("22P04" | "22021")
        )
    }

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
            Self::ConflictTarget | Self::InvalidColumn => "42P10",
            Self::Exists => "42P07",
            Self::Dependent => "2BP01",
            Self::Invalid => "22023",
            Self::Data => "22000",
            Self::Io => "58030",
            Self::Damaged => "XX001",
            Self::Memory => "53200",
            Self::Cancelled => "57014",
            Self::Conflict => "40001",
            Self::Deadlock => "40P01",
            Self::LockNotAvailable => "55P03",
            Self::NotNull => "23502",
            Self::Duplicate => "23505",
            Self::ForeignKey => "23503",
            Self::Check => "23514",
            Self::Generated => "428C9",
            Self::OutOfRange => "22003",
            Self::InvalidText => "22P02",
            Self::TooLong => "22001",
            Self::RegularExpression => "2201B",
            Self::Substring => "22011",
            Self::Subscript => "2202E",
            Self::EscapeSequence => "22025",
            Self::EscapeUse => "2200C",
            Self::Encoding => "22021",
            Self::NullNotAllowed => "22004",
            Self::DateTimeFormat => "22007",
            Self::DateTimeRange => "22008",
            Self::IntervalField => "22015",
            Self::ZoneDisplacement => "22009",
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
            Self::InvalidRecursion => "42P19",
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
            Self::Privilege => "42501",
            Self::ReservedName => "42939",
            Self::InvalidName => "42602",
            Self::Internal => "XX000",
        }
    }
}
