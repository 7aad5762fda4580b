//! `CREATE UNLOGGED TABLE`, which sqlparser does not know.
//!
//! UNLOGGED is taken out before the parser sees CREATE TABLE, and kept among the options of the table, as a word, which no WITH
//! can have.

use sqlparser::ast::{CreateTableOptions, Ident, SqlOption, Statement};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::Parsed;

const UNLOGGED: &str = "UNLOGGED";

/// Takes the word out of a CREATE TABLE; says whether it was there.
pub(super) fn take(tokens: &mut Vec<TokenWithSpan>) -> bool {
    let is_said = |at: &usize| !matches!(tokens[*at].token, Token::Whitespace(_) | Token::SemiColon);
    let mut words = (0..tokens.len()).filter(is_said);
    let mut next = || words.next().map(|at| (at, keyword(&tokens[at].token)));
    if next().is_none_or(|(_, keyword)| keyword != Some(Keyword::CREATE)) {
        return false;
    }
    let mut found = next();
    if found.is_some_and(|(_, keyword)| keyword == Some(Keyword::OR)) {
        // OR REPLACE.
        next();
        found = next();
    }
    let Some((at, Some(Keyword::UNLOGGED))) = found else { return false };
    if next().is_none_or(|(_, keyword)| keyword != Some(Keyword::TABLE)) {
        return false;
    }
    tokens.remove(at);
    true
}

fn keyword(token: &Token) -> Option<Keyword> {
    match token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.keyword),
        _ => None,
    }
}

/// Puts it into the statement that it was taken out of.
pub(super) fn put(parsed: &mut Parsed) {
    match parsed {
        Parsed::CreateFrom(create) => create.is_logged = false,
        Parsed::Sql(statement) => {
            if let Statement::CreateTable(create) = &mut **statement {
                let word = SqlOption::Ident(Ident::new(UNLOGGED));
                match &mut create.table_options {
                    CreateTableOptions::With(options) => options.push(word),
                    other if *other == CreateTableOptions::None => *other = CreateTableOptions::With(vec![word]),
                    // It is refused.
                    _ => {}
                }
            }
        }
        _ => {}
    }
}

/// Whether an option says that rows are not logged.
pub(crate) fn is_unlogged(option: &SqlOption) -> bool {
    matches!(option, SqlOption::Ident(word) if word.value == UNLOGGED)
}

#[cfg(test)]
mod tests {
    use crate::sql::{Parsed, parse};

    #[test]
    fn only_where_it_belongs() {
        for (sql, expected) in [
            ("CREATE UNLOGGED TABLE t (a INT)", "CREATE TABLE t (a INT) WITH (UNLOGGED)"),
            (
                "create or replace unlogged table if not exists t (a INT) WITH (storage = plain)",
                "CREATE OR REPLACE TABLE IF NOT EXISTS t (a INT) WITH (storage = plain, UNLOGGED)",
            ),
            ("CREATE UNLOGGED TABLE t AS SELECT 1", "CREATE TABLE t WITH (UNLOGGED) AS SELECT 1"),
            ("CREATE TABLE unlogged (logged INT)", "CREATE TABLE unlogged (logged INT)"),
            ("SELECT unlogged FROM t", "SELECT unlogged FROM t"),
        ] {
            match parse(sql) {
                Ok(Parsed::Sql(statement)) => assert_eq!(statement.to_string(), expected, "{sql}"),
                other => panic!("{sql}: {other:?}"),
            }
        }
        for sql in [
            "CREATE UNLOGGED VIEW v AS SELECT 1",
            "CREATE TABLE t (a INT) WITH (UNLOGGED)",
            "CREATE UNLOGGED UNLOGGED TABLE t (a INT)",
            "ALTER TABLE t SET (UNLOGGED)",
        ] {
            parse(sql).expect_err(sql);
        }
    }
}
