//! `ORDER BY a USING <` as the ASC or DESC that it is, before the statement is parsed.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::sql::tokens::is_word;

/// Spells it out. An operator behind USING stands nowhere else.
pub(super) fn spell_out(tokens: &mut Vec<TokenWithSpan>) {
    let mut at = 0;
    while at < tokens.len() {
        if is_word(&tokens[at].token, "using")
            && let Some(skipped) =
                tokens[at + 1..].iter().position(|token| !matches!(token.token, Token::Whitespace(_)))
            && let Some(direction) = direction(&tokens[at + 1 + skipped].token)
        {
            tokens[at].token = Token::make_keyword(direction);
            tokens.drain(at + 1..=at + 1 + skipped);
        }
        at += 1;
    }
}

/// The order in which an operator sorts.
fn direction(operator: &Token) -> Option<&'static str> {
    match operator {
        Token::Lt => Some("ASC"),
        Token::Gt => Some("DESC"),
        _ => None,
    }
}
