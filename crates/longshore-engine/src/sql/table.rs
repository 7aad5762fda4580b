//! `TABLE t` as the query that it is short for: `SELECT * FROM t`.
//!
//! Where a statement begins, and behind UNION, INTERSECT and EXCEPT; in other places TABLE is a part of other clauses.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};

/// Spells it out.
pub(super) fn spell_out(tokens: &mut Vec<TokenWithSpan>) {
    let keyword = |token: &Token| match token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.keyword),
        _ => None,
    };
    let is_said = |token: &&TokenWithSpan| !matches!(token.token, Token::Whitespace(_));
    let mut places = Vec::new();
    let mut before = [None, None];
    for (at, token) in tokens.iter().enumerate().filter(|(_, token)| is_said(token)) {
        let next = tokens[at + 1..].iter().find(is_said);
        let is_name = next.is_some_and(|next| match &next.token {
            Token::Word(word) => word.keyword == Keyword::NoKeyword || word.quote_style == Some('"'),
            _ => false,
        });
        let begins_query = match before {
            [_, None] => true,
            [_, Some(last)] if is_set_operator(last) => true,
            [Some(first), Some(Keyword::ALL | Keyword::DISTINCT)] => is_set_operator(first),
            _ => false,
        };
        let said = keyword(&token.token);
        if said == Some(Keyword::TABLE) && is_name && begins_query {
            places.push(at);
        }
        before = [before[1], Some(said.unwrap_or(Keyword::NoKeyword))];
        if token.token == Token::SemiColon {
            before = [None, None];
        }
    }
    let space = || Token::Whitespace(Whitespace::Space);
    for at in places.into_iter().rev() {
        let span = tokens[at].span;
        let query = [Token::make_keyword("SELECT"), space(), Token::Mul, space(), Token::make_keyword("FROM")];
        tokens.splice(at..=at, query.map(|token| TokenWithSpan { token, span }));
    }
}

fn is_set_operator(keyword: Keyword) -> bool {
    matches!(keyword, Keyword::UNION | Keyword::INTERSECT | Keyword::EXCEPT)
}

#[cfg(test)]
mod tests {
    use crate::sql::{Parsed, parse};

    #[test]
    fn only_where_a_query_begins() {
        for (sql, expected) in [
            ("TABLE t", "SELECT * FROM t"),
            (" /* all */ table \"T\" ORDER BY a LIMIT 1;", "SELECT * FROM \"T\" ORDER BY a LIMIT 1"),
            (
                "TABLE t UNION ALL TABLE u EXCEPT TABLE v",
                "SELECT * FROM t UNION ALL SELECT * FROM u EXCEPT SELECT * FROM v",
            ),
            ("DROP TABLE t", "DROP TABLE t"),
            ("TRUNCATE TABLE t", "TRUNCATE TABLE t"),
        ] {
            match parse(sql) {
                Ok(Parsed::Sql(statement)) => assert_eq!(statement.to_string(), expected, "{sql}"),
                other => panic!("{sql}: {other:?}"),
            }
        }
    }
}
