//! `LISTEN channel`, `UNLISTEN {channel | *}` and `NOTIFY channel [, 'payload']`. sqlparser would take a name for a payload.

use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::tokens::is_word;
use super::{names, syntax};
use crate::Error;

/// What a session has to do with channels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NotificationStatement {
    Listen(String),
    /// `None` for all channels.
    Unlisten(Option<String>),
    Notify {
        channel: String,
        payload: String,
    },
}

impl NotificationStatement {
    /// The first word of the statement.
    pub(crate) fn verb(&self) -> &'static str {
        match self {
            Self::Listen(_) => "LISTEN",
            Self::Unlisten(_) => "UNLISTEN",
            Self::Notify { .. } => "NOTIFY",
        }
    }
}

/// The statement if it is one; otherwise the parser has not moved.
pub(super) fn statement(parser: &mut Parser) -> Result<Option<NotificationStatement>, Error> {
    let first = parser.peek_token();
    let is = |word| is_word(&first.token, word);
    if !is("listen") && !is("unlisten") && !is("notify") {
        return Ok(None);
    }
    parser.advance_token();
    if is("unlisten") && parser.consume_token(&Token::Mul) {
        return Ok(Some(NotificationStatement::Unlisten(None)));
    }
    let channel = names::identifier(&parser.parse_identifier().map_err(syntax)?)?;
    Ok(Some(if is("listen") {
        NotificationStatement::Listen(channel)
    } else if is("unlisten") {
        NotificationStatement::Unlisten(Some(channel))
    } else {
        let payload =
            if parser.consume_token(&Token::Comma) { payload(parser).map_err(syntax)? } else { String::new() };
        NotificationStatement::Notify { channel, payload }
    }))
}

fn payload(parser: &mut Parser) -> Result<String, ParserError> {
    let next = parser.next_token();
    match next.token {
        Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text) => Ok(text),
        Token::DollarQuotedString(text) => Ok(text.value),
        _ => parser.expected("a text", next),
    }
}
