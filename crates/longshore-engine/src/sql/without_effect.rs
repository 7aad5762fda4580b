//! Words that say how PostgreSQL goes about it, and mean nothing here: `CHECK (condition) NO INHERIT`, as no table inherits, and
//! `DROP INDEX CONCURRENTLY`.

use sqlparser::tokenizer::{Token, TokenWithSpan};

/// Leaves them out.
pub(super) fn leave_out(tokens: &mut Vec<TokenWithSpan>) {
    let places: Vec<usize> =
        (0..tokens.len()).filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_))).take(3).collect();
    let [first, second, third] = places.as_slice() else { return };
    let is = |at: usize, word: &str| is_word(&tokens[at].token, word);
    if is(*first, "drop") && is(*second, "index") {
        if is(*third, "concurrently") {
            tokens.remove(*third);
        }
        return;
    }
    if !is(*first, "create") && !is(*first, "alter") {
        return;
    }
    let (mut follows_parenthesis, mut at) = (false, 0);
    while at < tokens.len() {
        let token = &tokens[at].token;
        if matches!(token, Token::Whitespace(_)) {
            at += 1;
            continue;
        }
        if follows_parenthesis && is_word(token, "no") {
            let next = (at + 1..tokens.len()).find(|next| !matches!(tokens[*next].token, Token::Whitespace(_)));
            if let Some(next) = next.filter(|next| is_word(&tokens[*next].token, "inherit")) {
                tokens.drain(at..=next);
                continue;
            }
        }
        follows_parenthesis = *token == Token::RParen;
        at += 1;
    }
}

fn is_word(token: &Token, word: &str) -> bool {
    matches!(token, Token::Word(found) if found.quote_style.is_none() && found.value.eq_ignore_ascii_case(word))
}
