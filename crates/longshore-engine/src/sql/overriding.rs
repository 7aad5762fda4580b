//! `INSERT ... OVERRIDING {SYSTEM | USER} VALUE`: what becomes of values given for identity columns.
//!
//! sqlparser does not know the clause, so it is taken out before the parser sees the statement and kept among the
//! settings of the INSERT, which no statement of PostgreSQL's dialect has. In MERGE it is read where it stands, and kept
//! as the condition of the clause's INSERT, which PostgreSQL does not have either.

use sqlparser::ast::{Expr, Ident, Insert, MergeInsertExpr, SetExpr, Setting, Statement};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::sql::tokens::is_word;

/// What is to be done with values given for identity columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overriding {
    /// They are taken, also for columns GENERATED ALWAYS.
    System,
    /// They are not.
    User,
}

const SETTING: &str = "overriding";

/// Takes the clause out of an INSERT, which may be one to prepare.
pub(super) fn take(tokens: &mut Vec<TokenWithSpan>) -> Option<Overriding> {
    let words: Vec<usize> = (0..tokens.len()).filter(|index| !is_space(&tokens[*index].token)).collect();
    let may_have_it = words.first().is_some_and(|first| match &tokens[*first].token {
        Token::Word(word) => matches!(word.keyword, Keyword::INSERT | Keyword::PREPARE | Keyword::WITH),
        _ => false,
    });
    if !may_have_it {
        return None;
    }
    let mut depth = 0_usize;
    for (place, window) in words.windows(3).enumerate() {
        match tokens[window[0]].token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        let is = |index: usize, text: &str| is_word(&tokens[window[index]].token, text);
        if depth == 0 && is(0, "MERGE") {
            return None;
        }
        let found = match depth {
            0 if is(0, "OVERRIDING") && is(1, "SYSTEM") && is(2, "VALUE") => Overriding::System,
            0 if is(0, "OVERRIDING") && is(1, "USER") && is(2, "VALUE") => Overriding::User,
            _ => continue,
        };
        tokens.drain(words[place]..=words[place + 2]);
        return Some(found);
    }
    None
}

fn is_space(token: &Token) -> bool {
    matches!(token, Token::Whitespace(_))
}

/// Puts it into the statement that it was taken out of.
pub(super) fn put(overriding: Overriding, statement: &mut Statement) {
    match statement {
        Statement::Insert(insert) => {
            let setting = Setting { key: Ident::new(SETTING), value: overriding.as_expr() };
            insert.settings.get_or_insert_default().push(setting);
        }
        Statement::Query(query) => {
            if let SetExpr::Insert(insert) = query.body.as_mut() {
                put(overriding, insert);
            }
        }
        Statement::Prepare { statement, .. } => put(overriding, statement),
        _ => {}
    }
}

/// What the INSERT says of it.
pub(crate) fn of(insert: &Insert) -> Option<Overriding> {
    let said = insert.settings.iter().flatten().find(|setting| setting.key.value == SETTING)?;
    Overriding::from_expr(&said.value)
}

/// Reads the clause of an INSERT of MERGE, if the parser stands before it.
pub(super) fn of_merge(parser: &mut Parser) -> Result<Option<Expr>, ParserError> {
    if !is_word(&parser.peek_token_ref().token, "OVERRIDING") {
        return Ok(None);
    }
    parser.next_token();
    let overriding = if parser.parse_keyword(Keyword::SYSTEM) {
        Overriding::System
    } else {
        parser.expect_keyword_is(Keyword::USER)?;
        Overriding::User
    };
    parser.expect_keyword_is(Keyword::VALUE)?;
    Ok(Some(overriding.as_expr()))
}

/// What the INSERT of a MERGE says of it.
pub(crate) fn in_merge(insert: &MergeInsertExpr) -> Option<Overriding> {
    insert.insert_predicate.as_ref().and_then(Overriding::from_expr)
}

impl Overriding {
    fn as_expr(self) -> Expr {
        Expr::Identifier(Ident::new(if self == Self::System { "system" } else { "user" }))
    }

    fn from_expr(expr: &Expr) -> Option<Self> {
        match expr {
            Expr::Identifier(word) => Some(if word.value == "system" { Self::System } else { Self::User }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::{Parsed, parse};

    fn found(sql: &str) -> Option<Overriding> {
        let statement = match parse(sql) {
            Ok(Parsed::Sql(statement)) => *statement,
            other => panic!("{sql}: {other:?}"),
        };
        match statement {
            Statement::Insert(insert) => of(&insert),
            Statement::Prepare { statement, .. } => match *statement {
                Statement::Insert(insert) => of(&insert),
                other => panic!("{other}"),
            },
            Statement::Query(query) => match *query.body {
                SetExpr::Insert(Statement::Insert(insert)) => of(&insert),
                other => panic!("{other}"),
            },
            other => panic!("{other}"),
        }
    }

    #[test]
    fn the_clause_is_found_where_it_may_stand() {
        assert_eq!(found("INSERT INTO t VALUES (1)"), None);
        assert_eq!(found("insert into t (a) overriding system value values (1)"), Some(Overriding::System));
        assert_eq!(found("/* x */ INSERT INTO t OVERRIDING USER VALUE SELECT 1"), Some(Overriding::User));
        assert_eq!(found("PREPARE p AS INSERT INTO t OVERRIDING USER VALUE VALUES ($1)"), Some(Overriding::User));
        assert_eq!(found("WITH x AS (SELECT 1) INSERT INTO t OVERRIDING USER VALUE SELECT 1"), Some(Overriding::User));
        assert!(parse("SELECT 1 OVERRIDING SYSTEM VALUE").is_err());
    }
}
