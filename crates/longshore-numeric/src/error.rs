//! Why a computation has no result.

use std::fmt;

/// Why there is no result; its text is PostgreSQL's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberError {
    /// A divisor is zero.
    DivisionByZero,
    /// The result has more digits than a number can have.
    Overflow,
    /// A value is not within what a function takes or a type holds.
    Range(&'static str),
    /// A power or a root that does not exist.
    Power(&'static str),
    /// A logarithm that does not exist.
    Logarithm(&'static str),
    /// Buckets that do not exist.
    Bucket(&'static str),
    /// A text that does not spell a number.
    Syntax,
    /// More digits than a column or a cast allows.
    Field,
}

impl fmt::Display for NumberError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::DivisionByZero => "division by zero",
            Self::Overflow => "value overflows numeric format",
            Self::Range(message) | Self::Power(message) | Self::Logarithm(message) | Self::Bucket(message) => message,
            Self::Syntax => "invalid input syntax for type numeric",
            Self::Field => "numeric field overflow",
        })
    }
}

impl std::error::Error for NumberError {}
