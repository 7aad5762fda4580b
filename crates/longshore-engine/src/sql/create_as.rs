//! The parser of `CREATE TABLE t (a, b) AS query`: column names without types, which sqlparser reads for SQLite only.

use sqlparser::ast::helpers::stmt_create_table::CreateTableBuilder;
use sqlparser::ast::{ColumnDef, DataType, Ident, ObjectName, Statement};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use crate::Error;
use crate::sql::syntax;

/// What stands before the query.
struct Head {
    or_replace: bool,
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
        .if_not_exists(head.if_not_exists)
        .columns(head.columns.into_iter().map(column).collect())
        .query(Some(query))
        .build();
    Ok(Some(create.into()))
}

fn head(parser: &mut Parser) -> Result<Head, ParserError> {
    parser.expect_keyword(Keyword::CREATE)?;
    let or_replace = parser.parse_keywords(&[Keyword::OR, Keyword::REPLACE]);
    parser.expect_keyword(Keyword::TABLE)?;
    let if_not_exists = parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
    let name = parser.parse_object_name(false)?;
    parser.expect_token(&Token::LParen)?;
    let columns = parser.parse_comma_separated(Parser::parse_identifier)?;
    parser.expect_token(&Token::RParen)?;
    parser.expect_keyword(Keyword::AS)?;
    Ok(Head { or_replace, if_not_exists, name, columns })
}
