//! The parser of ALTER TABLE: what sqlparser reads of it, and what it does not know.
//!
//! ```text
//! ALTER TABLE [IF EXISTS] [ONLY] name [*] action, ...
//! action: SET {LOGGED | UNLOGGED} | SET SCHEMA name | CLUSTER ON index | SET WITHOUT {CLUSTER | OIDS}
//!       | ALTER [COLUMN] c ADD GENERATED {ALWAYS | BY DEFAULT} AS IDENTITY [([SEQUENCE NAME s] option ...)]
//!       | ALTER [COLUMN] c {SET GENERATED {ALWAYS | BY DEFAULT} | SET option | RESTART [[WITH] n]} ...
//!       | ALTER [COLUMN] c DROP {IDENTITY | EXPRESSION} [IF EXISTS]
//!       | ALTER [COLUMN] c SET {STATISTICS n | STORAGE word | COMPRESSION word | (option, ...)} | RESET (option, ...)
//!       | what sqlparser reads
//! ```
//! ONLY and `*` are about tables that inherit, which there are none of. Not here: what actions do (`statement::alter`).

use sqlparser::ast::{AlterTableOperation, ConstraintCharacteristics, GeneratedAs, Ident, ObjectName};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::sequence::{self, SequenceOptions};
use super::syntax;
use crate::Error;

/// ALTER TABLE.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AlterTable {
    pub(crate) name: ObjectName,
    pub(crate) if_exists: bool,
    pub(crate) actions: Vec<Action>,
}

/// What is to be done to the table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {
    /// What sqlparser reads.
    Plain(Box<AlterTableOperation>),
    /// SET LOGGED or SET UNLOGGED.
    Logged(bool),
    /// SET SCHEMA.
    Schema(Ident),
    /// A column becomes an identity column; its sequence may be given a name.
    AddIdentity {
        column: Ident,
        always: bool,
        sequence: Option<ObjectName>,
        options: Box<SequenceOptions>,
    },
    /// An identity column, or its sequence, becomes another one.
    SetIdentity {
        column: Ident,
        always: Option<bool>,
        options: Box<SequenceOptions>,
    },
    DropIdentity {
        column: Ident,
        if_exists: bool,
    },
    /// A generated column becomes one like others.
    DropExpression {
        column: Ident,
        if_exists: bool,
    },
    /// A foreign key is checked at another time.
    Timing {
        constraint: Ident,
        said: Option<ConstraintCharacteristics>,
    },
    /// What is about the files of PostgreSQL, and means nothing here: of a column, if it names one.
    Layout(Option<Ident>),
}

impl AlterTable {
    /// Whether it is OWNER TO and nothing else.
    pub(crate) fn changes_owner_only(&self) -> bool {
        let is_owner = |action: &Action| matches!(action, Action::Plain(operation) if matches!(operation.as_ref(), AlterTableOperation::OwnerTo { .. }));
        self.actions.iter().all(is_owner)
    }
}

/// The statement if it is one; otherwise the parser has not moved.
pub(super) fn statement(parser: &mut Parser) -> Result<Option<AlterTable>, Error> {
    if !parser.parse_keywords(&[Keyword::ALTER, Keyword::TABLE]) {
        return Ok(None);
    }
    parsed(parser).map(Some).map_err(syntax)
}

fn parsed(parser: &mut Parser) -> Result<AlterTable, ParserError> {
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    let only = parser.parse_keyword(Keyword::ONLY);
    let name = parser.parse_object_name(false)?;
    if !only {
        let _ = parser.consume_token(&Token::Mul);
    }
    let actions = parser.parse_comma_separated(action)?;
    Ok(AlterTable { name, if_exists, actions })
}

fn action(parser: &mut Parser) -> Result<Action, ParserError> {
    if let Some(action) = parser.maybe_parse(own_action)? {
        return Ok(action);
    }
    if parser.parse_keywords(&[Keyword::ALTER, Keyword::CONSTRAINT]) {
        let constraint = parser.parse_identifier()?;
        return Ok(Action::Timing { constraint, said: parser.parse_constraint_characteristics()? });
    }
    let is_column = parser.peek_keyword(Keyword::ALTER);
    if is_column && let Some(action) = parser.maybe_parse(column_action)? {
        return Ok(action);
    }
    Ok(Action::Plain(Box::new(parser.parse_alter_table_operation()?)))
}

/// Moves over a word that sqlparser may not know.
fn word(parser: &mut Parser, word: &str) -> bool {
    let is_it = matches!(&parser.peek_token_ref().token, Token::Word(next) if next.quote_style.is_none()
        && next.value.eq_ignore_ascii_case(word));
    if is_it {
        parser.advance_token();
    }
    is_it
}

fn expect(parser: &mut Parser, expected: &str) -> Result<(), ParserError> {
    if word(parser, expected) { Ok(()) } else { parser.expected_ref(expected, parser.peek_token_ref()) }
}

fn own_action(parser: &mut Parser) -> Result<Action, ParserError> {
    if word(parser, "cluster") {
        parser.expect_keyword(Keyword::ON)?;
        parser.parse_identifier()?;
        return Ok(Action::Layout(None));
    }
    parser.expect_keyword(Keyword::SET)?;
    if parser.parse_keyword(Keyword::SCHEMA) {
        return Ok(Action::Schema(parser.parse_identifier()?));
    }
    if word(parser, "logged") {
        return Ok(Action::Logged(true));
    }
    if word(parser, "unlogged") {
        return Ok(Action::Logged(false));
    }
    if parser.parse_keyword(Keyword::WITHOUT) && (word(parser, "cluster") || word(parser, "oids")) {
        return Ok(Action::Layout(None));
    }
    parser.expected_ref("an action", parser.peek_token_ref())
}

fn column_action(parser: &mut Parser) -> Result<Action, ParserError> {
    parser.expect_keyword(Keyword::ALTER)?;
    let _ = parser.parse_keyword(Keyword::COLUMN);
    let column = parser.parse_identifier()?;
    if parser.parse_keyword(Keyword::ADD) {
        let Some(generated) = sequence::generated(parser) else {
            return parser.expected_ref("GENERATED", parser.peek_token_ref());
        };
        let (mut sequence, mut options) = (None, SequenceOptions::default());
        if parser.consume_token(&Token::LParen) {
            loop {
                if word(parser, "sequence") {
                    expect(parser, "name")?;
                    sequence = Some(parser.parse_object_name(false)?);
                } else if !add_option(parser, &column, &mut options)? {
                    break;
                }
            }
            parser.expect_token(&Token::RParen)?;
        }
        let always = generated == GeneratedAs::Always;
        return Ok(Action::AddIdentity { column, always, sequence, options: Box::new(options) });
    }
    if parser.parse_keyword(Keyword::DROP) {
        let is_identity = word(parser, "identity");
        if !is_identity {
            expect(parser, "expression")?;
        }
        let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
        return Ok(if is_identity {
            Action::DropIdentity { column, if_exists }
        } else {
            Action::DropExpression { column, if_exists }
        });
    }
    if word(parser, "reset") {
        parser.expect_token(&Token::LParen)?;
        parser.parse_comma_separated(Parser::parse_identifier)?;
        parser.expect_token(&Token::RParen)?;
        return Ok(Action::Layout(Some(column)));
    }
    if let Some(action) = parser.maybe_parse(|parser| layout(parser, &column))? {
        return Ok(action);
    }
    set_identity(parser, column)
}

fn layout(parser: &mut Parser, column: &Ident) -> Result<Action, ParserError> {
    parser.expect_keyword(Keyword::SET)?;
    if word(parser, "statistics") {
        parser.parse_number()?;
    } else if word(parser, "storage") || word(parser, "compression") {
        parser.parse_identifier()?;
    } else {
        parser.expect_token(&Token::LParen)?;
        parser.parse_comma_separated(|parser| {
            parser.parse_identifier()?;
            parser.expect_token(&Token::Eq)?;
            parser.parse_number()
        })?;
        parser.expect_token(&Token::RParen)?;
    }
    Ok(Action::Layout(Some(column.clone())))
}

/// One or more of `SET GENERATED ...`, `SET option` and `RESTART`.
fn set_identity(parser: &mut Parser, column: Ident) -> Result<Action, ParserError> {
    let (mut always, mut options, mut is_one) = (None, SequenceOptions::default(), false);
    loop {
        let is_set = parser.parse_keyword(Keyword::SET);
        if is_set && parser.parse_keyword(Keyword::GENERATED) {
            always = Some(if parser.parse_keyword(Keyword::ALWAYS) {
                true
            } else {
                parser.expect_keywords(&[Keyword::BY, Keyword::DEFAULT])?;
                false
            });
        } else if !add_option(parser, &column, &mut options)? {
            if is_set || !is_one {
                return parser.expected_ref("an action on the column", parser.peek_token_ref());
            }
            break;
        }
        is_one = true;
    }
    Ok(Action::SetIdentity { column, always, options: Box::new(options) })
}

/// Takes the next option of a sequence, if there is one.
fn add_option(parser: &mut Parser, column: &Ident, options: &mut SequenceOptions) -> Result<bool, ParserError> {
    let as_parsed = |error: Error| ParserError::ParserError(error.to_string());
    options.take(parser, &column.value).map_err(as_parsed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::{Parsed, parse};

    fn actions(sql: &str) -> Vec<Action> {
        match parse(sql) {
            Ok(Parsed::AlterTable(alter)) => alter.actions,
            other => panic!("{sql}: {other:?}"),
        }
    }

    #[test]
    fn what_sqlparser_does_not_know() {
        assert_eq!(actions("ALTER TABLE t SET UNLOGGED"), [Action::Logged(false)]);
        let both = actions("ALTER TABLE IF EXISTS t DROP COLUMN a, set logged;");
        assert!(matches!(&both[..], [Action::Plain(_), Action::Logged(true)]));
        assert!(matches!(&actions("ALTER TABLE ONLY public.t SET SCHEMA s")[..], [Action::Schema(_)]));
        let added = actions(
            "ALTER TABLE public.t ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (SEQUENCE NAME public.t_id_seq \
             START WITH 5 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1)",
        );
        let [Action::AddIdentity { always: false, sequence: Some(_), options, .. }] = &added[..] else {
            panic!("{added:?}")
        };
        assert_eq!((options.start, options.increment), (Some(5), Some(1)));
        let set = actions("ALTER TABLE t ALTER id SET GENERATED ALWAYS SET INCREMENT BY 2 RESTART");
        assert!(matches!(&set[..], [Action::SetIdentity { always: Some(true), .. }]));
        assert!(matches!(&actions("ALTER TABLE t ALTER a DROP EXPRESSION")[..], [Action::DropExpression { .. }]));
        assert!(matches!(&actions("ALTER TABLE t ALTER a SET STATISTICS 5")[..], [Action::Layout(Some(_))]));
        assert!(matches!(&actions("ALTER TABLE t ALTER a SET DEFAULT 5, ALTER b SET NOT NULL")[..], [_, _]));
    }

    #[test]
    fn what_is_none_is_refused() {
        for sql in ["ALTER TABLE t SET UNLOGGED LOGGED", "ALTER TABLE t SET \"logged\"", "ALTER TABLE t"] {
            parse(sql).expect_err(sql);
        }
    }
}
