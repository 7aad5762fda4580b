//! `jsonpath`: an expression that finds values within a value, or says whether something holds.
//!
//! Not built: `.datetime()`. Regular expressions are those of the crate `regex`, without references back.

mod execute;
mod lexer;
mod parser;
mod print;

use std::fmt;

use regex::Regex;

use crate::arithmetic::Operation;
use crate::error::JsonError;
use crate::number::Number;
use crate::value::Value;

/// A path, ready to be followed.
#[derive(Debug, Clone)]
pub struct Path {
    is_lax: bool,
    chain: Chain,
}

impl Path {
    /// The path that `text` is.
    ///
    /// # Errors
    /// If it is none.
    pub fn parse(text: &str) -> Result<Self, JsonError> {
        parser::parse(text)
    }

    /// All values that it finds in `root`; its variables are the members of `variables`, and null if there are none.
    ///
    /// # Errors
    /// If the path does not fit the value.
    pub fn query(&self, root: &Value, variables: Option<&Value>) -> Result<Vec<Value>, JsonError> {
        execute::query(self, root, variables)
    }

    /// The values that it finds in `root` before the first error, and that error.
    pub fn query_until_error(&self, root: &Value, variables: Option<&Value>) -> (Vec<Value>, Result<(), JsonError>) {
        execute::query_until_error(self, root, variables)
    }

    /// Whether it finds a value in `root`.
    ///
    /// # Errors
    /// If the path does not fit the value.
    pub fn exists(&self, root: &Value, variables: Option<&Value>) -> Result<bool, JsonError> {
        execute::exists(self, root, variables)
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print::text(self))
    }
}

/// An item, and those that follow it, each of which takes what the one before gives.
type Chain = Vec<Item>;

#[derive(Debug, Clone)]
enum Item {
    Root,
    Current,
    Last,
    Literal(Value),
    Variable(String),
    Member(String),
    AnyMember,
    AnyElement,
    Elements(Vec<(Chain, Option<Chain>)>),
    /// `.**{first to last}`; `LEAVES` is `last`.
    Descend {
        first: u32,
        last: u32,
    },
    Filter(Chain),
    Method(Method),
    Arithmetic(Operation, Chain, Chain),
    Plus(Chain),
    Minus(Chain),
    And(Chain, Chain),
    Or(Chain, Chain),
    Not(Chain),
    IsUnknown(Chain),
    Exists(Chain),
    Compare(Comparison, Chain, Chain),
    StartsWith(Chain, Chain),
    LikeRegex {
        value: Chain,
        pattern: String,
        flags: Flags,
        regex: Regex,
    },
}

/// A bound of `.**` that is `last`.
const LAST_LEVEL: u32 = u32::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Abs,
    Size,
    Type,
    Floor,
    Double,
    Ceiling,
    KeyValue,
}

impl Method {
    const ALL: [(&'static str, Self); 7] = [
        ("abs", Self::Abs),
        ("size", Self::Size),
        ("type", Self::Type),
        ("floor", Self::Floor),
        ("double", Self::Double),
        ("ceiling", Self::Ceiling),
        ("keyvalue", Self::KeyValue),
    ];

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, method)| *method == self).map_or("", |(name, _)| name)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag that LIKE_REGEX has or not")]
struct Flags {
    ignores_case: bool,
    dot_is_all: bool,
    has_lines: bool,
    is_expanded: bool,
    is_quoted: bool,
}

impl Item {
    /// Whether it holds or not, rather than gives values.
    fn is_predicate(&self) -> bool {
        matches!(
            self,
            Self::And(..)
                | Self::Or(..)
                | Self::Not(_)
                | Self::IsUnknown(_)
                | Self::Exists(_)
                | Self::Compare(..)
                | Self::StartsWith(..)
                | Self::LikeRegex { .. }
        )
    }
}

fn symbol(operation: Operation) -> char {
    match operation {
        Operation::Add => '+',
        Operation::Subtract => '-',
        Operation::Multiply => '*',
        Operation::Divide => '/',
        Operation::Remainder => '%',
    }
}

fn number(number: i64) -> Value {
    Value::Number(Number::from(number))
}
