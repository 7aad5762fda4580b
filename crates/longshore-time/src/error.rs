//! What is wrong with a value of time, in PostgreSQL's words and with its SQLSTATE.

use std::fmt;

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeError {
    /// Its kind, which has an SQLSTATE.
    pub kind: TimeErrorKind,
    /// What PostgreSQL says of it.
    pub message: String,
    /// What may help.
    pub hint: Option<&'static str>,
}

/// A result of this crate.
pub type Result<T> = std::result::Result<T, TimeError>;

/// The kinds of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeErrorKind {
    /// Text that is no value of the type (22007).
    InvalidFormat,
    /// A value, or a field of one, that is too large or too small (22008).
    OutOfRange,
    /// A field of an interval that is too large or too small (22015).
    IntervalField,
    /// An offset of a zone that is too large (22009).
    ZoneDisplacement,
    /// An argument that makes no sense (22023).
    InvalidParameter,
    /// What PostgreSQL has not either (0A000).
    Unsupported,
    /// Division by zero (22012).
    DivisionByZero,
    /// A pattern that is no pattern (42601).
    Syntax,
    /// A text of a number that is no number (22P02).
    InvalidText,
}

impl TimeError {
    pub(crate) fn new(kind: TimeErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None }
    }

    /// A value that is out of range; `what` is its type.
    #[must_use]
    pub fn out_of_range(what: &str) -> Self {
        Self::new(TimeErrorKind::OutOfRange, format!("{what} out of range"))
    }

    /// `text` is no value of the type.
    #[must_use]
    pub fn invalid_input(type_name: &str, text: &str) -> Self {
        Self::new(TimeErrorKind::InvalidFormat, format!("invalid input syntax for type {type_name}: \"{text}\""))
    }

    pub(crate) fn parameter(message: impl Into<String>) -> Self {
        Self::new(TimeErrorKind::InvalidParameter, message)
    }

    pub(crate) fn unsupported(message: impl Into<String>) -> Self {
        Self::new(TimeErrorKind::Unsupported, message)
    }

    pub(crate) fn with_hint(self, hint: &'static str) -> Self {
        Self { hint: Some(hint), ..self }
    }
}

impl fmt::Display for TimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for TimeError {}
