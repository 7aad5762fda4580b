//! What sqlparser says of wrong syntax, in our words.

use sqlparser::parser::ParserError;

use super::depth;
use crate::{Error, ErrorKind};

/// sqlparser's error as ours, without its prefix.
pub(crate) fn syntax(error: ParserError) -> Error {
    match error {
        ParserError::ParserError(message) if message.contains("MATCH_CONDITION") => Error::unsupported(
            "ASOF JOIN is not supported; join on the condition, and keep the latest row of each by QUALIFY row_number() OVER \
             (PARTITION BY ... ORDER BY ... DESC) = 1",
        ),
        ParserError::TokenizerError(message) | ParserError::ParserError(message) => {
            Error::syntax(in_our_words(message.trim_start_matches("sql parser error: ")))
        }
        ParserError::RecursionLimitExceeded => Error::new(
            ErrorKind::TooComplex,
            format!("the statement is nested more than {} deep; split it, for instance by WITH", depth::NESTING_MAX),
        ),
    }
}

/// sqlparser's message, with its place in front: `syntax error at line 1, column 8: expected an expression, found FROM`.
fn in_our_words(message: &str) -> String {
    let (message, place) = match message.rsplit_once(" at Line: ") {
        Some((message, place)) => (message, format!(" at line {}", place.replace("Column: ", "column "))),
        None => (message, String::new()),
    };
    let message = match message.strip_prefix("Expected: ") {
        Some(rest) => format!("expected {}", rest.replacen(", found: ", ", found ", 1)),
        None => message.to_owned(),
    };
    let message = message.strip_suffix("found EOF").map_or(message.clone(), |before| format!("{before}found the end"));
    format!("syntax error{place}: {message}")
}
