//! The parser of `CREATE TABLE t (a, b) AS query`: column names without types, which sqlparser reads for SQLite only. And
//! `WITH [NO] DATA` behind the query, which it does not know.

use sqlparser::ast::helpers::stmt_create_table::CreateTableBuilder;
use sqlparser::ast::{ColumnDef, DataType, Ident, LimitClause, ObjectName, Statement};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::Error;
use crate::sql::tokens::{is_said, is_word};
use crate::sql::{Parsed, build, syntax};

/// Whether a table gets the rows of its query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WithData {
    Yes,
    No,
}

/// Takes `WITH [NO] DATA` from behind a CREATE TABLE AS.
pub(super) fn take_with_data(tokens: &mut Vec<TokenWithSpan>) -> Option<WithData> {
    let is = |token: &TokenWithSpan, name: &str| is_word(&token.token, name);
    let mut said = tokens.iter().filter(|token| is_said(&token.token));
    if !said.next().is_some_and(|first| is(first, "CREATE")) || !said.take(4).any(|token| is(token, "TABLE")) {
        return None;
    }
    let last: Vec<usize> = (0..tokens.len()).rev().filter(|at| is_said(&tokens[*at].token)).take(3).collect();
    let (first, with_data) = match last.as_slice() {
        [data, no, with] if is(&tokens[*data], "DATA") && is(&tokens[*no], "NO") && is(&tokens[*with], "WITH") => {
            (*with, WithData::No)
        }
        [data, with, ..] if is(&tokens[*data], "DATA") && is(&tokens[*with], "WITH") => (*with, WithData::Yes),
        _ => return None,
    };
    tokens.drain(first..=last[0]);
    Some(with_data)
}

/// Leaves the table of a CREATE TABLE AS empty.
///
/// # Errors
/// For statements that have no query.
pub(super) fn put_no_data(parsed: &mut Parsed) -> Result<(), Error> {
    if let Parsed::Sql(statement) = parsed
        && let Statement::CreateTable(create) = statement.as_mut()
        && let Some(query) = &mut create.query
    {
        let limit = Some(build::number(0));
        query.fetch = None;
        query.limit_clause = Some(LimitClause::LimitOffset { limit, offset: None, limit_by: Vec::new() });
        return Ok(());
    }
    Err(Error::unsupported("WITH NO DATA is for CREATE TABLE ... AS a query; add LIMIT 0 to other queries"))
}

/// What stands before the query.
struct Head {
    or_replace: bool,
    temporary: bool,
    if_not_exists: bool,
    name: ObjectName,
    columns: Vec<Ident>,
}

/// Parses the statement if it names columns without types; otherwise the parser has not moved.
pub(crate) fn create_table_as(parser: &mut Parser) -> Result<Option<Statement>, Error> {
    if !parser.peek_keyword(Keyword::CREATE) {
        return Ok(None);
    }
    let Some(head) = parser.maybe_parse(head).map_err(syntax)? else {
        return Ok(None);
    };
    let query = parser.parse_query().map_err(syntax)?;
    let column = |name| ColumnDef { name, data_type: DataType::Unspecified, options: Vec::new() };
    let create = CreateTableBuilder::new(head.name)
        .or_replace(head.or_replace)
        .temporary(head.temporary)
        .if_not_exists(head.if_not_exists)
        .columns(head.columns.into_iter().map(column).collect())
        .query(Some(query))
        .build();
    Ok(Some(create.into()))
}

fn head(parser: &mut Parser) -> Result<Head, ParserError> {
    parser.expect_keyword(Keyword::CREATE)?;
    let or_replace = parser.parse_keywords(&[Keyword::OR, Keyword::REPLACE]);
    let temporary = parser.parse_one_of_keywords(&[Keyword::TEMP, Keyword::TEMPORARY]).is_some();
    parser.expect_keyword(Keyword::TABLE)?;
    let if_not_exists = parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
    let name = parser.parse_object_name(false)?;
    parser.expect_token(&Token::LParen)?;
    let columns = parser.parse_comma_separated(Parser::parse_identifier)?;
    parser.expect_token(&Token::RParen)?;
    parser.expect_keyword(Keyword::AS)?;
    Ok(Head { or_replace, temporary, if_not_exists, name, columns })
}
