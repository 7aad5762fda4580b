//! `TABLE t` as the query that it is short for, `SELECT * FROM t`, and `FROM t` without SELECT likewise.
//!
//! Where a statement begins, behind UNION, INTERSECT and EXCEPT, where a query stands in parentheses, and behind what comes before
//! the query of a statement, such as `CREATE VIEW v AS`; TABLE also behind every AS. In other places they are parts of other clauses.
//! `FROM t SELECT a` is left to the parser.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};

/// Spells them out.
pub(super) fn spell_out(tokens: &mut Vec<TokenWithSpan>) {
    let is_said = |token: &&TokenWithSpan| !matches!(token.token, Token::Whitespace(_));
    let mut places = Vec::new();
    let mut before = [None, None];
    let mut is_in_parentheses = false;
    let mut statement = StatementHead::default();
    for (at, token) in tokens.iter().enumerate().filter(|(_, token)| is_said(token)) {
        let next = tokens[at + 1..].iter().find(is_said);
        // `SELECT relname AS table FROM ...` has a column of that name.
        let goes_on = |next: &TokenWithSpan| matches!(keyword(&next.token), Some(Keyword::FROM | Keyword::INTO));
        let is_name = next.is_some_and(|next| matches!(&next.token, Token::Word(_)) && !goes_on(next));
        let begins_query = match before {
            [_, None] => true,
            [_, Some(last)] if is_set_operator(last) => true,
            [Some(first), Some(Keyword::ALL | Keyword::DISTINCT)] => is_set_operator(first),
            _ => false,
        };
        match keyword(&token.token) {
            Some(Keyword::TABLE)
                if is_name && (begins_query || is_in_parentheses || before[1] == Some(Keyword::AS)) =>
            {
                places.push(at);
            }
            Some(Keyword::FROM) => {
                let is_behind_head = is_name && statement.may_go_on_with_query(before[1]);
                if (begins_query || is_in_parentheses || is_behind_head) && !has_select(&tokens[at + 1..]) {
                    places.push(at);
                }
            }
            _ => {}
        }
        is_in_parentheses = token.token == Token::LParen && (is_in_parentheses || may_hold_query(before[1]));
        before = [before[1], Some(keyword(&token.token).unwrap_or(Keyword::NoKeyword))];
        statement.read(&token.token);
        if token.token == Token::SemiColon {
            before = [None, None];
            statement = StatementHead::default();
        }
    }
    let space = || Token::Whitespace(Whitespace::Space);
    for at in places.into_iter().rev() {
        let span = tokens[at].span;
        let query = [Token::make_keyword("SELECT"), space(), Token::Mul, space(), Token::make_keyword("FROM")];
        tokens.splice(at..=at, query.map(|token| TokenWithSpan { token, span }));
    }
}

/// What stands before the query of a statement that has one: `EXPLAIN`, `CREATE VIEW v AS`, `INSERT INTO t (a)`.
#[derive(Default)]
struct StatementHead {
    kind: Option<Keyword>,
    depth: u32,
    /// Whether the query, or something else that FROM is part of, has begun.
    is_over: bool,
}

impl StatementHead {
    fn read(&mut self, token: &Token) {
        use Keyword::{COPY, CREATE, DECLARE, DELETE, EXECUTE, EXPLAIN, FROM, INSERT, MERGE, PREPARE, SELECT, UPDATE};
        use Keyword::{VALUES, WITH};
        match token {
            Token::LParen => self.depth += 1,
            Token::RParen => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        match keyword(token) {
            Some(word @ (CREATE | PREPARE | DECLARE | INSERT)) if self.kind == Some(EXPLAIN) => self.kind = Some(word),
            Some(word) if self.kind.is_none() => self.kind = Some(word),
            Some(SELECT | VALUES | FROM | WITH | DELETE | UPDATE | COPY | MERGE | EXECUTE) => self.is_over = true,
            _ => {}
        }
    }

    /// Whether a query may begin behind the word `last`.
    fn may_go_on_with_query(&self, last: Option<Keyword>) -> bool {
        let is_place = match self.kind {
            Some(Keyword::EXPLAIN | Keyword::INSERT) => true,
            Some(Keyword::CREATE | Keyword::PREPARE) => last == Some(Keyword::AS),
            Some(Keyword::DECLARE) => last == Some(Keyword::FOR),
            _ => false,
        };
        is_place && self.depth == 0 && !self.is_over
    }
}

fn keyword(token: &Token) -> Option<Keyword> {
    match token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.keyword),
        _ => None,
    }
}

fn is_set_operator(keyword: Keyword) -> bool {
    matches!(keyword, Keyword::UNION | Keyword::INTERSECT | Keyword::EXCEPT)
}

/// Whether a parenthesis behind this word may hold a query: that of `trim(FROM x)` holds none.
fn may_hold_query(word: Option<Keyword>) -> bool {
    matches!(
        word,
        None | Some(
            Keyword::ALL
                | Keyword::AS
                | Keyword::COPY
                | Keyword::EXCEPT
                | Keyword::EXISTS
                | Keyword::FROM
                | Keyword::IN
                | Keyword::INTERSECT
                | Keyword::JOIN
                | Keyword::LATERAL
                | Keyword::MATERIALIZED
                | Keyword::UNION
        )
    )
}

/// Whether a SELECT belongs to the FROM before `tokens`.
fn has_select(tokens: &[TokenWithSpan]) -> bool {
    let mut depth = 0;
    for token in tokens {
        match &token.token {
            Token::LParen => depth += 1,
            Token::RParen if depth == 0 => return false,
            Token::RParen => depth -= 1,
            token if depth == 0 => match keyword(token) {
                Some(Keyword::SELECT) => return true,
                Some(Keyword::WHERE | Keyword::GROUP | Keyword::ORDER | Keyword::LIMIT) => return false,
                Some(word) if is_set_operator(word) => return false,
                _ => {}
            },
            _ => {}
        }
    }
    false
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
            (
                "SELECT 1 FROM ((TABLE t EXCEPT ALL TABLE u) UNION ALL (TABLE v)) AS x",
                "SELECT 1 FROM ((SELECT * FROM t EXCEPT ALL SELECT * FROM u) UNION ALL (SELECT * FROM v)) AS x",
            ),
            ("CREATE TABLE u AS TABLE t", "CREATE TABLE u AS SELECT * FROM t"),
            ("TABLE target", "SELECT * FROM target"),
            ("PREPARE p AS FROM t WHERE a = 1", "PREPARE p AS SELECT * FROM t WHERE a = 1"),
            ("CREATE VIEW v AS FROM t LIMIT 1", "CREATE VIEW v AS SELECT * FROM t LIMIT 1"),
            ("CREATE TABLE u AS FROM t WHERE a > 1", "CREATE TABLE u AS SELECT * FROM t WHERE a > 1"),
            ("INSERT INTO t (a) FROM u", "INSERT INTO t (a) SELECT * FROM u"),
            ("EXPLAIN ANALYZE FROM t WHERE a", "EXPLAIN ANALYZE SELECT * FROM t WHERE a"),
            ("DELETE FROM t", "DELETE FROM t"),
            ("SELECT a AS from FROM t", "SELECT a AS from FROM t"),
            ("SELECT a AS table FROM t", "SELECT a AS table FROM t"),
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
