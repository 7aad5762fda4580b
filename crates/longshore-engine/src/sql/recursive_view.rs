//! `CREATE RECURSIVE VIEW v (a) AS query` as what it is short for:
//! `CREATE VIEW v (a) AS WITH RECURSIVE v (a) AS (query) SELECT a FROM v`.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};

use crate::sql::tokens::is_keyword;

/// Spells it out, before the statement is parsed.
pub(super) fn spell_out(tokens: &mut Vec<TokenWithSpan>) {
    if let Some(written) = spelled_out(tokens) {
        *tokens = written;
    }
}

fn spelled_out(tokens: &[TokenWithSpan]) -> Option<Vec<TokenWithSpan>> {
    let said: Vec<usize> =
        (0..tokens.len()).filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_))).take(64).collect();
    let is = |place: usize, keyword: Keyword| said.get(place).is_some_and(|at| is_keyword(&tokens[*at].token, keyword));
    let recursive = (1..5).find(|place| is(*place, Keyword::RECURSIVE) && is(place + 1, Keyword::VIEW))?;
    if !is(0, Keyword::CREATE) {
        return None;
    }
    let token = |place: usize| said.get(place).map(|at| &tokens[*at].token);
    let mut name = recursive + 2;
    while token(name + 1) == Some(&Token::Period) {
        name += 2;
    }
    let open = name + 1;
    let close = (open..said.len()).find(|place| token(*place) == Some(&Token::RParen))?;
    if token(open) != Some(&Token::LParen) || !is(close + 1, Keyword::AS) {
        return None;
    }
    let (begin, span) = (*said.get(close + 1)?, tokens[*said.get(close + 1)?].span);
    let end = tokens[begin..].iter().position(|token| matches!(token.token, Token::SemiColon | Token::EOF));
    let end = end.map_or(tokens.len(), |length| begin + length);
    let keyword = |word: &str| TokenWithSpan { token: Token::make_keyword(word), span };
    let blank = || TokenWithSpan { token: Token::Whitespace(Whitespace::Space), span };
    let other = |token: Token| TokenWithSpan { token, span };
    let name = tokens[said[name]].clone();
    let (list, columns) = (&tokens[said[open]..=said[close]], &tokens[said[open] + 1..said[close]]);
    let mut written = tokens[..said[recursive]].to_vec();
    written.extend_from_slice(&tokens[said[recursive] + 1..=begin]);
    written.extend([blank(), keyword("WITH"), blank(), keyword("RECURSIVE"), blank(), name.clone(), blank()]);
    written.extend_from_slice(list);
    written.extend([blank(), keyword("AS"), blank(), other(Token::LParen)]);
    written.extend_from_slice(&tokens[begin + 1..end]);
    written.extend([other(Token::RParen), blank(), keyword("SELECT"), blank()]);
    written.extend_from_slice(columns);
    written.extend([blank(), keyword("FROM"), blank(), name]);
    written.extend_from_slice(&tokens[end..]);
    Some(written)
}

#[cfg(test)]
mod tests {
    use crate::sql::{Parsed, parse};

    #[test]
    fn it_is_a_view_of_a_recursive_query() {
        let sql = "CREATE OR REPLACE RECURSIVE VIEW s.v (n) AS VALUES (1) UNION ALL SELECT n + 1 FROM v WHERE n < 5;";
        let expected = "CREATE OR REPLACE VIEW s.v (n) AS WITH RECURSIVE v (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM v \
                        WHERE n < 5) SELECT n FROM v";
        match parse(sql) {
            Ok(Parsed::Sql(statement)) => assert_eq!(statement.to_string(), expected),
            other => panic!("{other:?}"),
        }
    }
}
