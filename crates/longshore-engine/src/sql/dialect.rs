//! The SQL that we read: PostgreSQL's, plus `{name: value}` for the columns of `read_csv`, and options of identity
//! columns in any order.
//!
//! sqlparser asks its dialect many small questions. This one answers as `PostgreSqlDialect` does, so every method
//! that the latter overrides is passed on below; [`Dialect::dialect`] makes sqlparser's own checks for PostgreSQL
//! hold for us as well.

use std::any::TypeId;

use sqlparser::ast::{
    ColumnOption, Expr, Ident, KeyOrIndexDisplay, NullsDistinctOption, ObjectName, Reset, ResetStatement, Statement,
    UniqueConstraint,
};
use sqlparser::dialect::{Dialect, PostgreSqlDialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::{call_syntax, merge, precedence, sequence};

/// PostgreSQL's dialect with dictionary literals.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LongshoreDialect;

const POSTGRESQL: PostgreSqlDialect = PostgreSqlDialect {};

/// Passes questions without arguments on to PostgreSQL's dialect.
macro_rules! as_postgresql {
    ($($question:ident)*) => {
        $(fn $question(&self) -> bool {
            POSTGRESQL.$question()
        })*
    };
}

impl Dialect for LongshoreDialect {
    fn dialect(&self) -> TypeId {
        POSTGRESQL.dialect()
    }

    /// Literals with a line end between them are one.
    fn supports_string_literal_concatenation_with_newline(&self) -> bool {
        true
    }

    fn supports_dictionary_syntax(&self) -> bool {
        true
    }

    /// `* EXCLUDE`, `* REPLACE`, `* RENAME`, `FROM t` and ORDER BY ALL are DuckDB's.
    fn supports_select_wildcard_exclude(&self) -> bool {
        true
    }

    fn supports_select_wildcard_replace(&self) -> bool {
        true
    }

    fn supports_select_wildcard_rename(&self) -> bool {
        true
    }

    fn supports_from_first_select(&self) -> bool {
        true
    }

    fn supports_order_by_all(&self) -> bool {
        true
    }

    /// MERGE is read as PostgreSQL writes it, wherever a statement may stand, and RESET has a name of two words.
    fn parse_statement(&self, parser: &mut Parser) -> Option<Result<Statement, ParserError>> {
        if parser.parse_keywords(&[Keyword::RESET, Keyword::TIME, Keyword::ZONE]) {
            let name = ObjectName::from(vec![Ident::new("timezone")]);
            return Some(Ok(Statement::Reset(ResetStatement { reset: Reset::ConfigurationParameter(name) })));
        }
        merge::merge(parser)
    }

    /// Names of arguments may be those of functions with a syntax of their own, as in `read_csv('f', trim => true)`.
    fn parse_prefix(&self, parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
        let is_name = matches!(&parser.peek_token_ref().token, Token::Word(_))
            && parser.peek_nth_token_ref(1).token == Token::RArrow;
        if is_name {
            return Some(parser.parse_identifier().map(Expr::Identifier));
        }
        values_as_query(parser).or_else(|| call_syntax::prefix(parser)).or_else(|| precedence::prefix(parser))
    }

    fn parse_infix(&self, parser: &mut Parser, left: &Expr, _precedence: u8) -> Option<Result<Expr, ParserError>> {
        precedence::infix(parser, left)
    }

    /// The options of an identity column may come in any order, and UNIQUE says what NULLs are.
    fn parse_column_option(
        &self,
        parser: &mut Parser,
    ) -> Result<Option<Result<Option<ColumnOption>, ParserError>>, ParserError> {
        let option = match unique_nulls(parser)? {
            Some(unique) => Some(unique),
            None => sequence::identity(parser)?,
        };
        Ok(option.map(|option| Ok(Some(option))))
    }

    fn identifier_quote_style(&self, identifier: &str) -> Option<char> {
        POSTGRESQL.identifier_quote_style(identifier)
    }

    fn is_delimited_identifier_start(&self, character: char) -> bool {
        POSTGRESQL.is_delimited_identifier_start(character)
    }

    fn is_identifier_start(&self, character: char) -> bool {
        POSTGRESQL.is_identifier_start(character)
    }

    fn is_identifier_part(&self, character: char) -> bool {
        POSTGRESQL.is_identifier_part(character)
    }

    fn is_reserved_for_identifier(&self, keyword: Keyword) -> bool {
        POSTGRESQL.is_reserved_for_identifier(keyword)
    }

    fn is_custom_operator_part(&self, character: char) -> bool {
        POSTGRESQL.is_custom_operator_part(character)
    }

    /// ON and FOR are no names of columns, unless AS stands before them: `INSERT INTO t SELECT 1 ON CONFLICT DO NOTHING`.
    fn is_column_alias(&self, keyword: &Keyword, parser: &mut Parser) -> bool {
        !matches!(keyword, Keyword::ON | Keyword::RETURNING | Keyword::FOR)
            && POSTGRESQL.is_column_alias(keyword, parser)
    }

    fn get_next_precedence(&self, parser: &Parser) -> Option<Result<u8, ParserError>> {
        precedence::next(parser).map(Ok).or_else(|| POSTGRESQL.get_next_precedence(parser))
    }

    fn prec_value(&self, precedence: Precedence) -> u8 {
        POSTGRESQL.prec_value(precedence)
    }

    as_postgresql! {
        supports_unicode_string_literal
        supports_filter_during_aggregation
        supports_group_by_expr
        allow_extract_custom
        allow_extract_single_quotes
        supports_create_index_with_clause
        supports_explain_with_utility_options
        supports_listen_notify
        supports_factorial_operator
        supports_bitwise_shift_operators
        supports_comment_on
        supports_load_extension
        supports_named_fn_args_with_colon_operator
        supports_named_fn_args_with_expr_name
        supports_empty_projections
        supports_nested_comments
        supports_string_escape_constant
        supports_numeric_literal_underscores
        supports_array_typedef_with_brackets
        supports_geometric_types
        supports_set_names
        supports_alter_column_type_using
        supports_notnull_operator
        supports_interval_options
        supports_insert_table_alias
        supports_create_table_like_parenthesized
        supports_select_wildcard_with_alias
        supports_comma_separated_trim
        supports_xml_expressions
        supports_comment_optimizer_hint
    }
}

/// `UNIQUE NULLS [NOT] DISTINCT` of a column, which sqlparser reads in constraints of tables only; otherwise the parser has
/// not moved.
fn unique_nulls(parser: &mut Parser) -> Result<Option<ColumnOption>, ParserError> {
    if !parser.parse_keywords(&[Keyword::UNIQUE, Keyword::NULLS]) {
        return Ok(None);
    }
    let is_not = parser.parse_keyword(Keyword::NOT);
    parser.expect_keyword_is(Keyword::DISTINCT)?;
    let unique = UniqueConstraint {
        name: None,
        index_name: None,
        index_type_display: KeyOrIndexDisplay::None,
        index_type: None,
        columns: Vec::new(),
        index_options: Vec::new(),
        characteristics: parser.parse_constraint_characteristics()?,
        nulls_distinct: if is_not { NullsDistinctOption::NotDistinct } else { NullsDistinctOption::Distinct },
    };
    Ok(Some(unique.into()))
}

/// `(VALUES (1))` where an expression stands: a query of one value.
fn values_as_query(parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
    let is_values = parser.peek_token_ref().token == Token::LParen
        && matches!(&parser.peek_nth_token_ref(1).token, Token::Word(word) if word.keyword == Keyword::VALUES)
        && parser.peek_nth_token_ref(2).token == Token::LParen;
    if !is_values {
        return None;
    }
    parser.advance_token();
    let query = parser.parse_query().and_then(|query| {
        parser.expect_token(&Token::RParen)?;
        Ok(Expr::Subquery(query))
    });
    Some(query)
}

#[cfg(test)]
mod tests {
    use sqlparser::dialect::GenericDialect;

    use super::*;

    fn parsed(dialect: &dyn Dialect, sql: &str) -> String {
        format!(
            "{:?}",
            Parser::parse_sql(dialect, sql)
                .map(|statements| { statements.iter().map(ToString::to_string).collect::<Vec<_>>() })
        )
    }

    #[test]
    fn reads_what_postgresql_reads() {
        for sql in [
            "SELECT a::int, b->>'c', E'x\\ty', 5!, 1 << 2 FROM \"T\" WHERE x NOTNULL",
            "SELECT sum(x) FILTER (WHERE y) FROM t GROUP BY ROLLUP (a)",
            "SELECT FROM t",
            "SELECT $$a$$, $tag$b$tag$, U&'\\0041'",
            "EXPLAIN (ANALYZE) SELECT 1",
            "SELECT EXTRACT('year' FROM x), INTERVAL '1 day', 1_000",
            "CREATE TABLE t (a int[], b varchar(3) COLLATE \"C\")",
            "INSERT INTO t AS x VALUES (1) ON CONFLICT DO NOTHING",
        ] {
            assert_eq!(parsed(&LongshoreDialect, sql), parsed(&POSTGRESQL, sql), "{sql}");
        }
    }

    #[test]
    fn arguments_may_be_named_as_functions() {
        assert!(Parser::parse_sql(&LongshoreDialect, "SELECT * FROM read_csv('f', trim => true, cast => 1)").is_ok());
    }

    #[test]
    fn reads_dictionaries() {
        let sql = "SELECT * FROM read_csv('f', columns => {a: 'INTEGER', 'b': 'DATE'})";
        assert!(Parser::parse_sql(&LongshoreDialect, sql).is_ok());
        assert!(Parser::parse_sql(&POSTGRESQL, sql).is_err());
        assert!(Parser::parse_sql(&GenericDialect, sql).is_ok());
    }
}
