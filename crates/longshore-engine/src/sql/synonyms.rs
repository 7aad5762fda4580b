//! Other words for the same: ABORT for ROLLBACK.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::sql::tokens::{is_said, is_word};

/// Spells them out.
pub(super) fn spell_out(tokens: &mut [TokenWithSpan]) {
    let Some(first) = tokens.iter().position(|token| is_said(&token.token)) else { return };
    if is_word(&tokens[first].token, "ABORT") {
        tokens[first].token = Token::make_keyword("ROLLBACK");
    }
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
