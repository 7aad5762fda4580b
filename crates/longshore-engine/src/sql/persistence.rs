//! `CREATE UNLOGGED TABLE` and `ALTER TABLE ... SET LOGGED | UNLOGGED`, which sqlparser does not know.
//!
//! UNLOGGED is taken out before the parser sees CREATE TABLE, and kept among the options of the table, as a word, which no WITH
//! can have; so are the words of ALTER TABLE.

use sqlparser::ast::{
    AlterTable, AlterTableOperation, CreateTableOptions, Ident, SqlOption, Statement,
    helpers::attached_token::AttachedToken,
};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::Parsed;
use crate::Error;

const LOGGED: &str = "LOGGED";
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

/// Whether an option says that rows are logged, or not; `None` if it says something else.
pub(crate) fn is_logged(option: &SqlOption) -> Option<bool> {
    match option {
        SqlOption::Ident(word) if word.value == LOGGED => Some(true),
        SqlOption::Ident(word) if word.value == UNLOGGED => Some(false),
        _ => None,
    }
}

/// Parses an ALTER TABLE that says SET LOGGED or SET UNLOGGED; of any other one the parser has not moved.
pub(super) fn alter_table(parser: &mut Parser) -> Result<Option<Statement>, Error> {
    if !parser.peek_keyword(Keyword::ALTER) {
        return Ok(None);
    }
    parser.maybe_parse(alteration).map_err(super::syntax)
}

fn alteration(parser: &mut Parser) -> Result<Statement, ParserError> {
    parser.expect_keywords(&[Keyword::ALTER, Keyword::TABLE])?;
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    let only = parser.parse_keyword(Keyword::ONLY);
    let name = parser.parse_object_name(false)?;
    let mut is_ours = false;
    let operations = parser.parse_comma_separated(|parser| match persistence(parser) {
        Some(word) => {
            is_ours = true;
            let options = vec![SqlOption::Ident(Ident::new(word))];
            Ok(AlterTableOperation::SetOptionsParens { options })
        }
        None => parser.parse_alter_table_operation(),
    })?;
    if !is_ours {
        return parser.expected_ref("SET LOGGED or SET UNLOGGED", parser.peek_token_ref());
    }
    Ok(Statement::AlterTable(AlterTable {
        name,
        if_exists,
        only,
        operations,
        location: None,
        on_cluster: None,
        table_type: None,
        end_token: AttachedToken::empty(),
    }))
}

/// The word behind SET, if it is one of the two.
fn persistence(parser: &mut Parser) -> Option<&'static str> {
    let [Token::Word(set), Token::Word(word)] = parser.peek_tokens() else { return None };
    if set.keyword != Keyword::SET || word.quote_style.is_some() {
        return None;
    }
    let word = [LOGGED, UNLOGGED].into_iter().find(|known| word.value.eq_ignore_ascii_case(known))?;
    parser.advance_token();
    parser.advance_token();
    Some(word)
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
            ("ALTER TABLE t SET UNLOGGED", "ALTER TABLE t SET (UNLOGGED)"),
            (
                "ALTER TABLE IF EXISTS t DROP COLUMN a, set logged;",
                "ALTER TABLE IF EXISTS t DROP COLUMN a, SET (LOGGED)",
            ),
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
            "ALTER TABLE t SET UNLOGGED LOGGED",
            "ALTER TABLE t SET \"logged\"",
        ] {
            parse(sql).expect_err(sql);
        }
    }
}
