//! Syntax that sqlparser does not read, read as what it is written out as.

use sqlparser::ast::{BinaryOperator, DataType, Expr, Ident, ObjectName, Value};
use sqlparser::dialect::{Dialect, PostgreSqlDialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::CATALOG_SCHEMA;
use crate::sql::build::{call, cast_as, value};
use crate::{Error, ErrorKind};

/// Stands around an array whose elements are the last arguments of a call.
pub(super) const VARIADIC: &str = "$variadic";

/// `substring(a SIMILAR b ESCAPE c)`, `trim([BOTH] FROM a)`, `VARIADIC a` and `name 'a'`, which sqlparser does not read.
pub(in crate::sql) fn prefix(parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
    let Token::Word(word) = &parser.peek_token_ref().token else { return None };
    let read: fn(&mut Parser) -> Result<Expr, ParserError> = match word.keyword {
        Keyword::SUBSTRING => similar_part,
        Keyword::TRIM => trim_blanks,
        Keyword::VARIADIC if word.quote_style.is_none() => {
            parser.advance_token();
            return Some(parser.parse_expr().map(|array| call(VARIADIC, vec![array])));
        }
        _ if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("name") => {
            let Token::SingleQuotedString(text) = &parser.peek_nth_token_ref(1).token else { return None };
            let text = value(Value::SingleQuotedString(text.clone()));
            parser.advance_token();
            parser.advance_token();
            let name = DataType::Custom(ObjectName::from(vec![Ident::new("name")]), Vec::new());
            return Some(Ok(cast_as(text, name)));
        }
        _ => return None,
    };
    if parser.peek_nth_token_ref(1).token != Token::LParen {
        return None;
    }
    parser.maybe_parse(read).transpose()
}

/// The operator that `OPERATOR(name)` is.
///
/// # Errors
/// When there is none of this name.
pub(super) fn operator(name: &[String]) -> Result<BinaryOperator, Error> {
    let known = match name {
        [operator] => Some(operator),
        [schema, operator] if schema.eq_ignore_ascii_case(CATALOG_SCHEMA) => Some(operator),
        _ => None,
    };
    let read = |operator: &String| {
        let mut parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(&format!("a {operator} b")).ok()?;
        match parser.parse_expr().ok()? {
            Expr::BinaryOp { left, op, .. } if matches!(*left, Expr::Identifier(_)) => Some(op),
            _ => None,
        }
    };
    let missing = || Error::new(ErrorKind::NoFunction, format!("operator does not exist: {}", name.join(".")));
    let found = known.and_then(read).filter(|op| !matches!(op, BinaryOperator::PGCustomBinaryOperator(_)));
    found.ok_or_else(missing)
}

fn similar_part(parser: &mut Parser) -> Result<Expr, ParserError> {
    parser.advance_token();
    parser.expect_token(&Token::LParen)?;
    let text = parser.parse_subexpr(PostgreSqlDialect {}.prec_value(Precedence::Like))?;
    parser.expect_keyword_is(Keyword::SIMILAR)?;
    let pattern = parser.parse_subexpr(PostgreSqlDialect {}.prec_value(Precedence::Like))?;
    parser.expect_keyword_is(Keyword::ESCAPE)?;
    let escape = parser.parse_expr()?;
    parser.expect_token(&Token::RParen)?;
    Ok(call("substring", vec![text, pattern, escape]))
}

fn trim_blanks(parser: &mut Parser) -> Result<Expr, ParserError> {
    parser.advance_token();
    parser.expect_token(&Token::LParen)?;
    let side = parser.parse_one_of_keywords(&[Keyword::BOTH, Keyword::LEADING, Keyword::TRAILING]);
    parser.expect_keyword_is(Keyword::FROM)?;
    let mut texts = parser.parse_comma_separated(Parser::parse_expr)?;
    parser.expect_token(&Token::RParen)?;
    if texts.len() > 2 {
        return Err(ParserError::ParserError("trim takes a text and characters".to_owned()));
    }
    let trim_where = match side {
        Some(Keyword::LEADING) => "ltrim",
        Some(Keyword::TRAILING) => "rtrim",
        _ => "btrim",
    };
    Ok(call(trim_where, std::mem::take(&mut texts)))
}
