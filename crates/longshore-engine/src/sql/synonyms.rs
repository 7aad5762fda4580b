//! Other words for the same: ABORT for ROLLBACK.

use sqlparser::tokenizer::{Token, TokenWithSpan};

/// Spells them out.
pub(super) fn spell_out(tokens: &mut [TokenWithSpan]) {
    let Some(first) = tokens.iter().position(|token| is_said(&token.token)) else { return };
    if is_word(&tokens[first].token, "ABORT") {
        tokens[first].token = Token::make_keyword("ROLLBACK");
    }
}

/// Whether a token is part of the statement itself.
fn is_said(token: &Token) -> bool {
    !matches!(token, Token::Whitespace(_) | Token::SemiColon | Token::EOF)
}

fn is_word(token: &Token, word: &str) -> bool {
    matches!(token, Token::Word(found) if found.quote_style.is_none() && found.value.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use crate::sql::{Parsed, parse};

    #[test]
    fn they_are_spelled_out() {
        for (sql, expected) in [("ABORT", "ROLLBACK"), ("abort work;", "ROLLBACK")] {
            match parse(sql) {
                Ok(Parsed::Sql(statement)) => assert_eq!(statement.to_string(), expected, "{sql}"),
                other => panic!("{sql}: {other:?}"),
            }
        }
    }
}
