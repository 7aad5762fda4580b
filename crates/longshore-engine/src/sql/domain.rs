//! CREATE DOMAIN and ALTER DOMAIN, whose clauses come in any order, and which sqlparser reads in part.
//!
//! ```text
//! CREATE DOMAIN name [AS] type [DEFAULT expr | [CONSTRAINT name] {NOT NULL | NULL | CHECK (condition)}] ...
//! ALTER DOMAIN name {SET DEFAULT expr | DROP DEFAULT | {SET | DROP} NOT NULL
//!     | ADD [CONSTRAINT name] CHECK (condition) [NOT VALID] | DROP CONSTRAINT [IF EXISTS] name [CASCADE | RESTRICT]
//!     | RENAME CONSTRAINT name TO name | VALIDATE CONSTRAINT name}
//! ```
//! Not here: ALTER DOMAIN of the domain as a whole (`objects`).

use sqlparser::ast::{DataType, Expr, Ident, ObjectName};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::syntax;
use crate::Error;

/// CREATE DOMAIN or ALTER DOMAIN.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DomainStatement {
    pub(crate) name: ObjectName,
    pub(crate) verb: DomainVerb,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum DomainVerb {
    Create { base: DataType, default: Option<Expr>, not_null: bool, checks: Vec<(Option<Ident>, Expr)> },
    SetDefault(Option<Expr>),
    SetNotNull(bool),
    AddCheck { name: Option<Ident>, condition: Expr, is_valid: bool },
    DropConstraint { name: Ident, if_exists: bool },
    RenameConstraint { from: Ident, to: Ident },
    Validate(Ident),
}

impl DomainStatement {
    /// The defaults and conditions that it has.
    pub(super) fn expressions(&mut self) -> Vec<&mut Expr> {
        match &mut self.verb {
            DomainVerb::Create { default, checks, .. } => {
                default.iter_mut().chain(checks.iter_mut().map(|(_, condition)| condition)).collect()
            }
            DomainVerb::SetDefault(default) => default.iter_mut().collect(),
            DomainVerb::AddCheck { condition, .. } => vec![condition],
            DomainVerb::SetNotNull(_)
            | DomainVerb::DropConstraint { .. }
            | DomainVerb::RenameConstraint { .. }
            | DomainVerb::Validate(_) => Vec::new(),
        }
    }
}

/// The statement if it is one of these; otherwise the parser has not moved.
pub(super) fn statement(parser: &mut Parser) -> Result<Option<DomainStatement>, Error> {
    if parser.parse_keywords(&[Keyword::CREATE, Keyword::DOMAIN]) {
        return create(parser).map(Some).map_err(syntax);
    }
    let is_alter = parser.peek_keyword(Keyword::ALTER)
        && matches!(&parser.peek_nth_token_ref(1).token, Token::Word(word) if word.keyword == Keyword::DOMAIN);
    if is_alter {
        parser.advance_token();
        parser.advance_token();
        return alter(parser).map(Some).map_err(syntax);
    }
    Ok(None)
}

fn create(parser: &mut Parser) -> Result<DomainStatement, ParserError> {
    let name = parser.parse_object_name(false)?;
    let _ = parser.parse_keyword(Keyword::AS);
    let base = parser.parse_data_type()?;
    let (mut default, mut not_null, mut checks) = (None, false, Vec::new());
    loop {
        let constraint = constraint_name(parser)?;
        if parser.parse_keyword(Keyword::DEFAULT) {
            // NOT NULL behind it is a constraint, which the parser takes for IS NOT NULL.
            default = Some(match parser.parse_expr()? {
                Expr::IsNotNull(value) => {
                    not_null = true;
                    *value
                }
                Expr::IsNull(value) => *value,
                value => value,
            });
        } else if parser.parse_keywords(&[Keyword::NOT, Keyword::NULL]) {
            not_null = true;
        } else if parser.parse_keyword(Keyword::NULL) {
            not_null = false;
        } else if parser.parse_keyword(Keyword::CHECK) {
            checks.push((constraint, condition(parser)?));
        } else if parser.parse_keyword(Keyword::COLLATE) {
            parser.parse_object_name(false)?;
        } else {
            break;
        }
    }
    Ok(DomainStatement { name, verb: DomainVerb::Create { base, default, not_null, checks } })
}

fn alter(parser: &mut Parser) -> Result<DomainStatement, ParserError> {
    let name = parser.parse_object_name(false)?;
    let verb = if parser.parse_keywords(&[Keyword::SET, Keyword::DEFAULT]) {
        DomainVerb::SetDefault(Some(parser.parse_expr()?))
    } else if parser.parse_keywords(&[Keyword::DROP, Keyword::DEFAULT]) {
        DomainVerb::SetDefault(None)
    } else if parser.parse_keywords(&[Keyword::SET, Keyword::NOT, Keyword::NULL]) {
        DomainVerb::SetNotNull(true)
    } else if parser.parse_keywords(&[Keyword::DROP, Keyword::NOT, Keyword::NULL]) {
        DomainVerb::SetNotNull(false)
    } else if parser.parse_keyword(Keyword::ADD) {
        let name = constraint_name(parser)?;
        parser.expect_keyword(Keyword::CHECK)?;
        let condition = condition(parser)?;
        let is_valid = !parser.parse_keywords(&[Keyword::NOT, Keyword::VALID]);
        DomainVerb::AddCheck { name, condition, is_valid }
    } else if parser.parse_keywords(&[Keyword::DROP, Keyword::CONSTRAINT]) {
        let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
        let name = parser.parse_identifier()?;
        let _ = parser.parse_one_of_keywords(&[Keyword::CASCADE, Keyword::RESTRICT]);
        DomainVerb::DropConstraint { name, if_exists }
    } else if parser.parse_keywords(&[Keyword::RENAME, Keyword::CONSTRAINT]) {
        let from = parser.parse_identifier()?;
        parser.expect_keyword(Keyword::TO)?;
        DomainVerb::RenameConstraint { from, to: parser.parse_identifier()? }
    } else {
        parser.expect_keywords(&[Keyword::VALIDATE, Keyword::CONSTRAINT])?;
        DomainVerb::Validate(parser.parse_identifier()?)
    };
    Ok(DomainStatement { name, verb })
}

fn constraint_name(parser: &mut Parser) -> Result<Option<Ident>, ParserError> {
    if parser.parse_keyword(Keyword::CONSTRAINT) { parser.parse_identifier().map(Some) } else { Ok(None) }
}

fn condition(parser: &mut Parser) -> Result<Expr, ParserError> {
    parser.expect_token(&Token::LParen)?;
    let condition = parser.parse_expr()?;
    parser.expect_token(&Token::RParen)?;
    Ok(condition)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::{Parsed, parse};

    fn parsed(sql: &str) -> DomainVerb {
        match parse(sql) {
            Ok(Parsed::Domain(statement)) => statement.verb,
            other => panic!("{sql}: {other:?}"),
        }
    }

    #[test]
    fn clauses_come_in_any_order() {
        let verb = parsed(
            "CREATE DOMAIN public.d AS integer CONSTRAINT c CHECK ((VALUE > 0)) DEFAULT 5 NOT NULL CHECK (value < 9)",
        );
        let DomainVerb::Create { not_null: true, default: Some(_), checks, .. } = verb else { panic!("{verb:?}") };
        assert_eq!(checks.len(), 2);
        assert!(matches!(
            parsed("ALTER DOMAIN d DROP CONSTRAINT IF EXISTS c CASCADE"),
            DomainVerb::DropConstraint { if_exists: true, .. }
        ));
        assert!(matches!(
            parsed("ALTER DOMAIN d ADD CHECK (VALUE > 1) NOT VALID"),
            DomainVerb::AddCheck { is_valid: false, .. }
        ));
    }
}
