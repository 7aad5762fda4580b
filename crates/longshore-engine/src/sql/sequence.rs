//! CREATE SEQUENCE and ALTER SEQUENCE, and the options of identity columns, which are the same.
//!
//! ```text
//! CREATE [TEMPORARY | UNLOGGED] SEQUENCE [IF NOT EXISTS] name [option ...]
//! ALTER SEQUENCE [IF EXISTS] name option ...
//! column type GENERATED {ALWAYS | BY DEFAULT} AS IDENTITY [(option ...)]
//! option: AS type | INCREMENT [BY] n | MINVALUE n | NO MINVALUE | MAXVALUE n | NO MAXVALUE | START [WITH] n
//!       | RESTART [[WITH] n] | CACHE n | [NO] CYCLE | OWNED BY {table.column | NONE}
//! ```
//! sqlparser wants the options in one fixed order, and knows no ALTER SEQUENCE. Not here: what sequences do
//! (`catalog::sequence`).

use longshore_storage::ColumnType;
use sqlparser::ast::{
    ColumnOption, Expr, GeneratedAs, ObjectName, ObjectNamePart, SequenceOptions as Parsed, UnaryOperator, Value,
};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use crate::Error;
use crate::sql::{names, syntax, types};

/// CREATE SEQUENCE or ALTER SEQUENCE.
#[derive(Debug)]
pub(crate) struct SequenceStatement {
    pub(crate) name: String,
    pub(crate) verb: Verb,
    pub(crate) options: SequenceOptions,
}

/// What is to be done about the sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Create { if_not_exists: bool, is_temporary: bool },
    Alter { if_exists: bool },
}

/// What a statement says of a sequence; `None` where it says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::option_option, reason = "nothing is said of a bound, or that there is none")]
pub(crate) struct SequenceOptions {
    pub(crate) column_type: Option<ColumnType>,
    pub(crate) increment: Option<i64>,
    /// `Some(None)` is NO MINVALUE.
    pub(crate) min: Option<Option<i64>>,
    /// `Some(None)` is NO MAXVALUE.
    pub(crate) max: Option<Option<i64>>,
    pub(crate) start: Option<i64>,
    /// `Some(None)` is at the start.
    pub(crate) restart: Option<Option<i64>>,
    pub(crate) cache: Option<i64>,
    pub(crate) cycle: Option<bool>,
    /// Table and column; `Some(None)` is NONE.
    pub(crate) owned_by: Option<Option<(String, String)>>,
}

/// The statement if it is one of these; otherwise the parser has not moved.
pub(super) fn statement(parser: &mut Parser) -> Result<Option<SequenceStatement>, Error> {
    let begins = |parser: &mut Parser, word| parser.parse_keywords(&[Keyword::CREATE, word, Keyword::SEQUENCE]);
    let is_temporary = begins(parser, Keyword::TEMPORARY) || begins(parser, Keyword::TEMP);
    let is_unlogged = begins(parser, Keyword::UNLOGGED);
    let verb = if is_temporary || is_unlogged || parser.parse_keywords(&[Keyword::CREATE, Keyword::SEQUENCE]) {
        let if_not_exists = parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
        Verb::Create { if_not_exists, is_temporary }
    } else if is_alteration(parser) && parser.parse_keywords(&[Keyword::ALTER, Keyword::SEQUENCE]) {
        Verb::Alter { if_exists: parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]) }
    } else {
        return Ok(None);
    };
    let name = names::written(&parser.parse_object_name(false).map_err(syntax)?)?;
    let mut options = SequenceOptions::default();
    while options.take(parser, &name)? {}
    if options.restart.is_some() && matches!(verb, Verb::Create { .. }) {
        return Err(Error::syntax("CREATE SEQUENCE takes START, not RESTART"));
    }
    Ok(Some(SequenceStatement { name, verb, options }))
}

/// Whether an ALTER SEQUENCE changes the sequence itself, and not its name, its schema or its owner.
fn is_alteration(parser: &Parser) -> bool {
    let word = |at: usize| match &parser.peek_nth_token_ref(at).token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.keyword),
        _ => None,
    };
    let mut at = 2;
    if word(at) == Some(Keyword::IF) {
        at += 2;
    }
    at += 1;
    while parser.peek_nth_token_ref(at).token == Token::Period {
        at += 2;
    }
    !matches!(
        (word(at), word(at + 1)),
        (Some(Keyword::RENAME | Keyword::OWNER), _) | (Some(Keyword::SET), Some(Keyword::SCHEMA))
    )
}

/// `GENERATED {ALWAYS | BY DEFAULT} AS IDENTITY`, if that comes; otherwise the parser has not moved.
pub(super) fn generated(parser: &mut Parser) -> Option<GeneratedAs> {
    if parser.parse_keywords(&[Keyword::GENERATED, Keyword::ALWAYS, Keyword::AS, Keyword::IDENTITY]) {
        Some(GeneratedAs::Always)
    } else if parser.parse_keywords(&[
        Keyword::GENERATED,
        Keyword::BY,
        Keyword::DEFAULT,
        Keyword::AS,
        Keyword::IDENTITY,
    ]) {
        Some(GeneratedAs::ByDefault)
    } else {
        None
    }
}

/// `GENERATED ... AS IDENTITY` with its options, if that comes; otherwise the parser has not moved.
pub(super) fn identity(parser: &mut Parser) -> Result<Option<ColumnOption>, ParserError> {
    let Some(generated_as) = generated(parser) else { return Ok(None) };
    let mut options = Vec::new();
    if parser.consume_token(&Token::LParen) {
        while let Some(option) = option(parser)? {
            options.push(option);
        }
        parser.expect_token(&Token::RParen)?;
    }
    Ok(Some(ColumnOption::Generated {
        generated_as,
        sequence_options: Some(options),
        generation_expr: None,
        generation_expr_mode: None,
        generated_keyword: true,
    }))
}

/// The next of the options that sequences and identity columns have.
fn option(parser: &mut Parser) -> Result<Option<Parsed>, ParserError> {
    Ok(Some(if parser.parse_keyword(Keyword::INCREMENT) {
        let by = parser.parse_keyword(Keyword::BY);
        Parsed::IncrementBy(parser.parse_number()?, by)
    } else if parser.parse_keyword(Keyword::MINVALUE) {
        Parsed::MinValue(Some(parser.parse_number()?))
    } else if parser.parse_keywords(&[Keyword::NO, Keyword::MINVALUE]) {
        Parsed::MinValue(None)
    } else if parser.parse_keyword(Keyword::MAXVALUE) {
        Parsed::MaxValue(Some(parser.parse_number()?))
    } else if parser.parse_keywords(&[Keyword::NO, Keyword::MAXVALUE]) {
        Parsed::MaxValue(None)
    } else if parser.parse_keyword(Keyword::START) {
        let with = parser.parse_keyword(Keyword::WITH);
        Parsed::StartWith(parser.parse_number()?, with)
    } else if parser.parse_keyword(Keyword::CACHE) {
        Parsed::Cache(parser.parse_number()?)
    } else if parser.parse_keyword(Keyword::CYCLE) {
        Parsed::Cycle(false)
    } else if parser.parse_keywords(&[Keyword::NO, Keyword::CYCLE]) {
        // As sqlparser has it: whether NO was said.
        Parsed::Cycle(true)
    } else {
        return Ok(None);
    }))
}

impl SequenceOptions {
    /// What the options of the identity column `name` say.
    pub(crate) fn of_identity(name: &str, options: &[Parsed]) -> Result<Self, Error> {
        let mut all = Self::default();
        options.iter().try_for_each(|option| all.add(name, option))?;
        Ok(all)
    }

    /// Takes the next option that a statement about the sequence `name` has; `false` if there is none.
    pub(super) fn take(&mut self, parser: &mut Parser, name: &str) -> Result<bool, Error> {
        if let Some(option) = option(parser).map_err(syntax)? {
            self.add(name, &option)?;
        } else if parser.parse_keyword(Keyword::AS) {
            let data_type = parser.parse_data_type().map_err(syntax)?;
            once(name, "AS", &mut self.column_type, number_type(types::column_type(&data_type)?)?)?;
        } else if parser.parse_keyword(Keyword::RESTART) {
            let with = parser.parse_keyword(Keyword::WITH);
            let is_number = matches!(parser.peek_token_ref().token, Token::Number(..) | Token::Minus | Token::Plus);
            let value = if with || is_number { Some(integer(&parser.parse_number().map_err(syntax)?)?) } else { None };
            once(name, "RESTART", &mut self.restart, value)?;
        } else if parser.parse_keywords(&[Keyword::OWNED, Keyword::BY]) {
            let owner = if parser.parse_keyword(Keyword::NONE) {
                None
            } else {
                Some(column(&parser.parse_object_name(false).map_err(syntax)?)?)
            };
            once(name, "OWNED BY", &mut self.owned_by, owner)?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn add(&mut self, name: &str, option: &Parsed) -> Result<(), Error> {
        let bound = |value: &Option<Expr>| value.as_ref().map(integer).transpose();
        match option {
            Parsed::IncrementBy(value, _) => once(name, "INCREMENT", &mut self.increment, integer(value)?),
            Parsed::MinValue(value) => once(name, "MINVALUE", &mut self.min, bound(value)?),
            Parsed::MaxValue(value) => once(name, "MAXVALUE", &mut self.max, bound(value)?),
            Parsed::StartWith(value, _) => once(name, "START", &mut self.start, integer(value)?),
            Parsed::Cache(value) => once(name, "CACHE", &mut self.cache, integer(value)?),
            Parsed::Cycle(no) => once(name, "CYCLE", &mut self.cycle, !no),
        }
    }
}

fn once<T>(name: &str, option: &str, place: &mut Option<T>, value: T) -> Result<(), Error> {
    if place.replace(value).is_some() {
        return Err(Error::syntax(format!("sequence {name}: {option} stands twice; keep one of them")));
    }
    Ok(())
}

/// The types that numbers of a sequence may have.
fn number_type(column_type: ColumnType) -> Result<ColumnType, Error> {
    match column_type {
        ColumnType::SmallInt | ColumnType::Integer | ColumnType::BigInt => Ok(column_type),
        other => Err(Error::invalid(format!("a sequence is of SMALLINT, INTEGER or BIGINT, not {other}"))),
    }
}

/// The whole number that an expression is.
fn integer(expr: &Expr) -> Result<i64, Error> {
    let (sign, digits) = match expr {
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => ("-", expr.as_ref()),
        Expr::UnaryOp { op: UnaryOperator::Plus, expr } => ("", expr.as_ref()),
        other => ("", other),
    };
    let parsed = match digits {
        Expr::Value(value) => match &value.value {
            Value::Number(digits, false) => format!("{sign}{digits}").parse().ok(),
            _ => None,
        },
        _ => None,
    };
    parsed.ok_or_else(|| Error::invalid(format!("{expr} is not a whole number of 64 bits, as sequences take them")))
}

/// `[public.]table.column`
fn column(name: &ObjectName) -> Result<(String, String), Error> {
    if let [rest @ .., ObjectNamePart::Identifier(column)] = name.0.as_slice()
        && !rest.is_empty()
    {
        let table = names::written(&ObjectName(rest.to_vec()))?;
        return Ok((table, names::identifier(column)?));
    }
    Err(Error::syntax(format!("OWNED BY takes table.column or NONE, not {name}")))
}

#[cfg(test)]
mod tests {
    use crate::sql::{Parsed, parse};

    use super::*;

    fn parsed(sql: &str) -> SequenceStatement {
        match parse(sql) {
            Ok(Parsed::Sequence(statement)) => statement,
            other => panic!("{sql}: {other:?}"),
        }
    }

    #[test]
    fn options_come_in_any_order() {
        let statement = parsed(
            "create sequence if not exists S start 5 cycle no minvalue increment by -2 as int cache 3 maxvalue +9 owned \
             by T.\"C\"",
        );
        assert_eq!(
            (statement.name.as_str(), statement.verb),
            ("s", Verb::Create { if_not_exists: true, is_temporary: false })
        );
        assert_eq!(
            statement.options,
            SequenceOptions {
                column_type: Some(ColumnType::Integer),
                increment: Some(-2),
                min: Some(None),
                max: Some(Some(9)),
                start: Some(5),
                restart: None,
                cache: Some(3),
                cycle: Some(true),
                owned_by: Some(Some(("t".to_owned(), "C".to_owned()))),
            }
        );
    }

    #[test]
    fn sequences_restart() {
        assert_eq!(parsed("ALTER SEQUENCE s RESTART").options.restart, Some(None));
        assert_eq!(parsed("ALTER SEQUENCE s RESTART -7 NO CYCLE").options.restart, Some(Some(-7)));
        let altered = parsed("ALTER SEQUENCE IF EXISTS s RESTART WITH 7 OWNED BY NONE");
        assert_eq!(altered.verb, Verb::Alter { if_exists: true });
        assert_eq!((altered.options.restart, altered.options.owned_by), (Some(Some(7)), Some(None)));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (sql, part) in [
            ("CREATE SEQUENCE s START 1 START 2", "START stands twice"),
            ("CREATE SEQUENCE s START 1.5", "not a whole number"),
            ("CREATE SEQUENCE s AS text", "SMALLINT, INTEGER or BIGINT"),
            ("CREATE SEQUENCE s RESTART", "START, not RESTART"),
            ("CREATE SEQUENCE s OWNED BY c", "table.column"),
            ("CREATE SEQUENCE s BOGUS", "BOGUS"),
        ] {
            let message = parse(sql).map(|_| ()).expect_err(sql).to_string();
            assert!(message.contains(part), "{sql}: {message}");
        }
    }
}
