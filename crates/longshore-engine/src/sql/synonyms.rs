//! Other words for the same: ABORT for ROLLBACK, and CREATE RECURSIVE VIEW for the view of a query WITH RECURSIVE.

use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};

/// Spells them out.
pub(super) fn spell_out(tokens: &mut Vec<TokenWithSpan>) {
    let Some(first) = tokens.iter().position(|token| is_said(&token.token)) else { return };
    if is_word(&tokens[first].token, "ABORT") {
        tokens[first].token = Token::make_keyword("ROLLBACK");
    } else if is_word(&tokens[first].token, "CREATE") {
        recursive_view(tokens);
    }
}

/// `CREATE RECURSIVE VIEW v (a, b) AS query` as `CREATE VIEW v (a, b) AS WITH RECURSIVE v (a, b) AS (query) SELECT a, b FROM v`.
fn recursive_view(tokens: &mut Vec<TokenWithSpan>) {
    let said: Vec<usize> = (0..tokens.len()).filter(|at| is_said(&tokens[*at].token)).collect();
    let is = |place: usize, word: &str| said.get(place).is_some_and(|at| is_word(&tokens[*at].token, word));
    let Some(recursive) = (1..=4).find(|place| is(*place, "RECURSIVE") && is(place + 1, "VIEW")) else { return };
    let find = |token: &Token| said.iter().position(|at| tokens[*at].token == *token);
    let (Some(open), Some(close)) = (find(&Token::LParen), find(&Token::RParen)) else { return };
    if open < recursive + 3 || close < open || !is(close + 1, "AS") {
        return;
    }
    let span = tokens[said[close]].span;
    let at = |place: usize| tokens[said[place]].token.clone();
    let (name, columns) = (at(open - 1), (open + 1..close).map(at).collect::<Vec<_>>());
    let spaced = |words: Vec<Token>| {
        let spaced = words.into_iter().flat_map(|word| [Token::Whitespace(Whitespace::Space), word]);
        spaced.map(|token| TokenWithSpan { token, span }).collect::<Vec<_>>()
    };
    let keyword = Token::make_keyword;
    let mut head = vec![keyword("WITH"), keyword("RECURSIVE"), name.clone(), Token::LParen];
    head.extend(columns.iter().cloned());
    head.extend([Token::RParen, keyword("AS"), Token::LParen]);
    let mut tail = vec![Token::RParen, keyword("SELECT")];
    tail.extend(columns);
    tail.extend([keyword("FROM"), name]);
    let end = said.last().map_or(tokens.len(), |last| last + 1);
    tokens.splice(end..end, spaced(tail));
    let query = said[close + 1] + 1;
    tokens.splice(query..query, spaced(head));
    tokens.remove(said[recursive]);
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
        for (sql, expected) in [
            ("ABORT", "ROLLBACK"),
            ("abort work;", "ROLLBACK"),
            (
                "CREATE RECURSIVE VIEW s.v (a, \"B\") AS VALUES (1, 2) UNION ALL SELECT a + 1, 2 FROM v WHERE a < 9;",
                "CREATE VIEW s.v (a, \"B\") AS WITH RECURSIVE v (a, \"B\") AS \
                 (VALUES (1, 2) UNION ALL SELECT a + 1, 2 FROM v WHERE a < 9) SELECT a, \"B\" FROM v",
            ),
        ] {
            match parse(sql) {
                Ok(Parsed::Sql(statement)) => assert_eq!(statement.to_string(), expected, "{sql}"),
                other => panic!("{sql}: {other:?}"),
            }
        }
    }
}
