//! What is wrong with an expression, in PostgreSQL's words.

use std::fmt;

/// Why an expression cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// It is none.
    Invalid(Problem),
    /// PostgreSQL has it, and this crate does not.
    Unsupported(&'static str),
    /// A flag that there is not.
    Flag(char),
    /// To match it took more steps than are allowed.
    TooManySteps,
}

/// What is wrong with an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// A bracket expression names an element that there is not.
    Element,
    /// `[:word:]` names no class.
    Class,
    /// A backslash before what it cannot stand before.
    Escape,
    /// `\1` before a first group ends.
    BackReference,
    /// A bracket without its other one.
    Brackets,
    /// A parenthesis without its other one.
    Parentheses,
    /// A brace without its other one.
    Braces,
    /// `{2,1}` or `{256}`.
    Counts,
    /// `[b-a]`.
    Range,
    /// A quantifier behind nothing.
    Quantifier,
    /// An option that there is not, in front.
    EmbeddedOption,
    /// It is too large.
    TooLarge,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Element => "invalid collating element",
            Self::Class => "invalid character class",
            Self::Escape => "invalid escape \\ sequence",
            Self::BackReference => "invalid backreference number",
            Self::Brackets => "brackets [] not balanced",
            Self::Parentheses => "parentheses () not balanced",
            Self::Braces => "braces {} not balanced",
            Self::Counts => "invalid repetition count(s)",
            Self::Range => "invalid character range",
            Self::Quantifier => "quantifier operand invalid",
            Self::EmbeddedOption => "invalid embedded option",
            Self::TooLarge => "regular expression is too complex",
        })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(problem) => write!(f, "invalid regular expression: {problem}"),
            Self::Unsupported(what) => write!(f, "{what} are not supported in regular expressions"),
            Self::Flag(flag) => write!(f, "invalid regular expression option: \"{flag}\""),
            Self::TooManySteps => f.write_str("the regular expression takes too many steps to match this text"),
        }
    }
}

impl std::error::Error for Error {}
