//! What can be wrong with a text or an operation, sorted as PostgreSQL sorts it.

use std::fmt;

/// An error, with PostgreSQL's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonError {
    /// What sort of error it is.
    pub problem: Problem,
    /// The message.
    pub message: String,
    /// More about it, where there is more.
    pub detail: Option<String>,
}

/// The sorts of errors, each of which has an SQLSTATE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Problem {
    /// A text that is no JSON (22P02).
    InvalidText,
    /// An escape that no text can hold (22P05).
    Untranslatable,
    /// A number beyond the bounds of numeric (22003).
    OutOfRange,
    /// Nested too deeply (54001).
    TooDeep,
    /// More elements than an array may have (54000).
    TooLarge,
    /// A step of a path that is NULL (22004).
    NullStep,
    /// An argument that does not fit the value (22023).
    InvalidArgument,
    /// A text that is no path (42601).
    PathSyntax,
    /// A path does not fit the value: no such member (2203A).
    NoMember,
    /// No array where one is needed (22039).
    NoArray,
    /// No such element, or no number where one is needed to find it (22033).
    Subscript,
    /// No object where one is needed (2203C).
    NoObject,
    /// More or less than one value where one is needed (22038).
    Singleton,
    /// No number where one is needed (2203B, 22036).
    NonNumeric,
    /// Division by zero (22012).
    DivisionByZero,
    /// A regular expression that is none (2201B).
    Regex,
    /// A variable that was not given (42704).
    NoVariable,
    /// Something that is not built (0A000).
    Unsupported,
}

impl JsonError {
    /// An error without a detail.
    #[must_use]
    pub fn new(problem: Problem, message: impl Into<String>) -> Self {
        Self { problem, message: message.into(), detail: None }
    }

    /// A text that is no JSON.
    pub(crate) fn invalid(detail: impl Into<String>) -> Self {
        Self {
            problem: Problem::InvalidText,
            message: "invalid input syntax for type json".to_owned(),
            detail: Some(detail.into()),
        }
    }

    pub(crate) fn untranslatable(detail: &str) -> Self {
        Self {
            problem: Problem::Untranslatable,
            message: "unsupported Unicode escape sequence".to_owned(),
            detail: Some(detail.to_owned()),
        }
    }

    pub(crate) fn too_deep() -> Self {
        Self::new(Problem::TooDeep, "stack depth limit exceeded")
    }
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.detail {
            Some(detail) => write!(f, ": {detail}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for JsonError {}
