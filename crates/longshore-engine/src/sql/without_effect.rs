//! Words that say how PostgreSQL goes about it, and mean nothing here: `CHECK (condition) NO INHERIT` and `FROM ONLY t`, as no
//! table inherits; `DROP INDEX CONCURRENTLY`; the condition in `ON CONFLICT (a) WHERE condition DO`, which names a partial
//! index, as no unique index is partial.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::sql::tokens::is_word;

/// Leaves them out.
pub(super) fn leave_out(tokens: &mut Vec<TokenWithSpan>) {
    let places: Vec<usize> = said(tokens).take(3).collect();
    let [first, second, third] = places.as_slice() else { return };
    let is = |at: usize, word: &str| is_word(&tokens[at].token, word);
    if is(*first, "drop") && is(*second, "index") {
        if is(*third, "concurrently") {
            tokens.remove(*third);
        }
        return;
    }
    if is(*first, "create") || is(*first, "alter") {
        no_inherit(tokens);
    }
    only(tokens);
    conflict_condition(tokens);
}

fn no_inherit(tokens: &mut Vec<TokenWithSpan>) {
    let (mut follows_parenthesis, mut at) = (false, 0);
    while at < tokens.len() {
        let token = &tokens[at].token;
        if matches!(token, Token::Whitespace(_)) {
            at += 1;
            continue;
        }
        if follows_parenthesis && is_word(token, "no") {
            let next = said_from(tokens, at + 1);
            if let Some(next) = next.filter(|next| is_word(&tokens[*next].token, "inherit")) {
                tokens.drain(at..=next);
                continue;
            }
        }
        follows_parenthesis = *token == Token::RParen;
        at += 1;
    }
}

/// ONLY before the name of a table, and parentheses around the name.
fn only(tokens: &mut Vec<TokenWithSpan>) {
    let (mut names_table, mut at) = (false, 0);
    while at < tokens.len() {
        let token = &tokens[at].token;
        if matches!(token, Token::Whitespace(_)) {
            at += 1;
            continue;
        }
        if names_table && is_word(token, "only") {
            let next = said_from(tokens, at + 1).map(|next| &tokens[next].token);
            let is_name = matches!(next, Some(Token::Word(_)));
            if let Some(close) = closing(tokens, at) {
                tokens.remove(close);
                let open = said_from(tokens, at + 1).unwrap_or(at);
                tokens.drain(at..=open);
                continue;
            }
            if is_name {
                tokens.remove(at);
                continue;
            }
        }
        names_table = ["from", "join", "update", "into", "using"].iter().any(|word| is_word(token, word));
        at += 1;
    }
}

/// `WHERE condition` between `ON CONFLICT (columns)` and DO.
fn conflict_condition(tokens: &mut Vec<TokenWithSpan>) {
    let Some(conflict) = tokens.iter().position(|token| is_word(&token.token, "conflict")) else { return };
    let Some(close) = closing(tokens, conflict) else { return };
    let Some(place) = said_from(tokens, close + 1).filter(|at| is_word(&tokens[*at].token, "where")) else { return };
    let mut depth = 0_usize;
    for at in place..tokens.len() {
        match &tokens[at].token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            token if depth == 0 && is_word(token, "do") => {
                tokens.drain(place..at);
                return;
            }
            _ => {}
        }
    }
}

/// Where the parenthesis ends that begins behind the word at `at`.
fn closing(tokens: &[TokenWithSpan], at: usize) -> Option<usize> {
    let open = said_from(tokens, at + 1).filter(|open| tokens[*open].token == Token::LParen)?;
    let mut depth = 0_usize;
    (open..tokens.len()).find(|at| {
        match tokens[*at].token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            _ => {}
        }
        depth == 0
    })
}

/// The places of tokens that are no white space.
fn said(tokens: &[TokenWithSpan]) -> impl Iterator<Item = usize> {
    (0..tokens.len()).filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_)))
}

/// The first of them from `at` on.
fn said_from(tokens: &[TokenWithSpan], at: usize) -> Option<usize> {
    (at..tokens.len()).find(|at| !matches!(tokens[*at].token, Token::Whitespace(_)))
}

#[cfg(test)]
mod tests {
    use crate::sql::{Parsed, parse};

    #[test]
    fn they_are_left_out() {
        for (sql, expected) in [
            ("SELECT a FROM ONLY t JOIN ONLY (s.u) AS v ON true", "SELECT a FROM t JOIN s.u AS v ON true"),
            ("UPDATE ONLY t SET a = 1", "UPDATE t SET a = 1"),
            ("DELETE FROM ONLY t", "DELETE FROM t"),
            ("SELECT only.a FROM only", "SELECT only.a FROM only"),
        ] {
            match parse(sql) {
                Ok(Parsed::Sql(statement)) => assert_eq!(statement.to_string(), expected, "{sql}"),
                other => panic!("{sql}: {other:?}"),
            }
        }
    }
}
