//! `SET CONSTRAINTS {ALL | name, ...} {DEFERRED | IMMEDIATE}`, which sqlparser does not know.

use sqlparser::ast::ObjectName;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};

use super::syntax;
use super::tokens::is_word;
use crate::Error;

/// When constraints are checked from now on, to the end of the transaction.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SetConstraints {
    /// `None` for all that can be deferred.
    pub(crate) constraints: Option<Vec<ObjectName>>,
    pub(crate) deferred: bool,
}

/// The statement if it is one; otherwise the parser has not moved.
pub(super) fn statement(parser: &mut Parser) -> Result<Option<SetConstraints>, Error> {
    let is_one = parser.peek_keyword(Keyword::SET) && is_word(&parser.peek_nth_token_ref(1).token, "constraints");
    if is_one { parsed(parser).map(Some).map_err(syntax) } else { Ok(None) }
}

fn parsed(parser: &mut Parser) -> Result<SetConstraints, ParserError> {
    parser.advance_token();
    parser.advance_token();
    let constraints = if parser.parse_keyword(Keyword::ALL) {
        None
    } else {
        Some(parser.parse_comma_separated(|parser| parser.parse_object_name(false))?)
    };
    let deferred = match &parser.peek_token_ref().token {
        word if is_word(word, "deferred") => true,
        word if is_word(word, "immediate") => false,
        _ => return parser.expected_ref("DEFERRED or IMMEDIATE", parser.peek_token_ref()),
    };
    parser.advance_token();
    Ok(SetConstraints { constraints, deferred })
}
