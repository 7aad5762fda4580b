//! The parsers of what is said of objects as wholes: who owns them, what they are called, which schema they are in, what people
//! say of them, and that they be tidied up.
//!
//! ```text
//! ALTER {VIEW | MATERIALIZED VIEW | SEQUENCE | SCHEMA | TYPE | DOMAIN | INDEX | DATABASE} [IF EXISTS] name
//!     {OWNER TO role | SET SCHEMA schema | RENAME TO name | RENAME [COLUMN] column TO column}
//! COMMENT ON {kind name | COLUMN table.column | CONSTRAINT name ON [DOMAIN] table} IS {'text' | NULL}
//! VACUUM [(option [value], ...)] [FULL] [FREEZE] [VERBOSE] [ANALYZE] [table [(column, ...)], ...]
//! ANALYZE [(option [value], ...)] [VERBOSE] [table [(column, ...)], ...]
//! ```
//! Not here: ALTER TABLE (`alter`), what these statements do (`statement`).

use sqlparser::ast::{Ident, ObjectName};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::syntax;
use crate::Error;

/// What sort of object a name is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ObjectKind {
    Table,
    View,
    Sequence,
    Index,
    Schema,
    Type,
    Domain,
    Database,
    Column,
    /// Of a table.
    Constraint,
    /// There are none here.
    Other(&'static str),
}

/// The kinds that have names, as they are written.
const KINDS: [(&[&str], ObjectKind); 20] = [
    (&["materialized", "view"], ObjectKind::Other("materialized view")),
    (&["foreign", "table"], ObjectKind::Other("foreign table")),
    (&["event", "trigger"], ObjectKind::Other("event trigger")),
    (&["table"], ObjectKind::Table),
    (&["view"], ObjectKind::View),
    (&["sequence"], ObjectKind::Sequence),
    (&["index"], ObjectKind::Index),
    (&["schema"], ObjectKind::Schema),
    (&["type"], ObjectKind::Type),
    (&["domain"], ObjectKind::Domain),
    (&["database"], ObjectKind::Database),
    (&["column"], ObjectKind::Column),
    (&["constraint"], ObjectKind::Constraint),
    (&["extension"], ObjectKind::Other("extension")),
    (&["function"], ObjectKind::Other("function")),
    (&["procedure"], ObjectKind::Other("procedure")),
    (&["aggregate"], ObjectKind::Other("aggregate")),
    (&["trigger"], ObjectKind::Other("trigger")),
    (&["role"], ObjectKind::Other("role")),
    (&["statistics"], ObjectKind::Other("statistics object")),
];

impl ObjectKind {
    /// What messages call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::View => "view",
            Self::Sequence => "sequence",
            Self::Index => "index",
            Self::Schema => "schema",
            Self::Type => "type",
            Self::Domain => "domain",
            Self::Database => "database",
            Self::Column => "column",
            Self::Constraint => "constraint",
            Self::Other(name) => name,
        }
    }
}

/// ALTER of an object as a whole.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AlterObject {
    pub(crate) kind: ObjectKind,
    pub(crate) if_exists: bool,
    pub(crate) name: ObjectName,
    pub(crate) change: ObjectChange,
}

/// What becomes of the object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ObjectChange {
    Owner(Ident),
    Schema(Ident),
    Rename(Ident),
    RenameColumn(Ident, Ident),
}

/// COMMENT ON.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CommentStatement {
    pub(crate) kind: ObjectKind,
    pub(crate) name: ObjectName,
    /// The table that a constraint is of.
    pub(crate) of: Option<ObjectName>,
    /// `None` forgets what was said.
    pub(crate) text: Option<String>,
}

/// VACUUM or ANALYZE.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Upkeep {
    pub(crate) is_vacuum: bool,
    /// The tables, with columns where they are named; of none, all are meant.
    pub(crate) tables: Vec<(ObjectName, Vec<Ident>)>,
}

/// One of these statements.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ObjectStatement {
    Alter(AlterObject),
    Comment(CommentStatement),
    Upkeep(Upkeep),
}

/// The statement if it is one of these; otherwise the parser has not moved.
pub(super) fn statement(parser: &mut Parser) -> Result<Option<ObjectStatement>, Error> {
    if parser.peek_keyword(Keyword::ALTER) {
        return Ok(parser.maybe_parse(alteration).map_err(syntax)?.map(ObjectStatement::Alter));
    }
    if parser.peek_keyword(Keyword::COMMENT) {
        return comment(parser).map(|comment| Some(ObjectStatement::Comment(comment))).map_err(syntax);
    }
    let is_vacuum = parser.parse_keyword(Keyword::VACUUM);
    if is_vacuum || parser.parse_keyword(Keyword::ANALYZE) {
        return upkeep(parser, is_vacuum).map(|upkeep| Some(ObjectStatement::Upkeep(upkeep))).map_err(syntax);
    }
    Ok(None)
}

fn is_word(parser: &Parser, at: usize, word: &str) -> bool {
    matches!(&parser.peek_nth_token_ref(at).token, Token::Word(next) if next.quote_style.is_none()
        && next.value.eq_ignore_ascii_case(word))
}

fn word(parser: &mut Parser, word: &str) -> bool {
    let is_it = is_word(parser, 0, word);
    if is_it {
        parser.advance_token();
    }
    is_it
}

fn kind(parser: &mut Parser) -> Result<ObjectKind, ParserError> {
    for (words, kind) in KINDS {
        if words.iter().enumerate().all(|(at, word)| is_word(parser, at, word)) {
            for _ in words {
                parser.advance_token();
            }
            return Ok(kind);
        }
    }
    parser.expected_ref("the kind of an object", parser.peek_token_ref())
}

fn alteration(parser: &mut Parser) -> Result<AlterObject, ParserError> {
    parser.expect_keyword(Keyword::ALTER)?;
    let kind = kind(parser)?;
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    let name = parser.parse_object_name(false)?;
    if parser.consume_token(&Token::LParen) {
        // The arguments of a function.
        while !parser.consume_token(&Token::RParen) {
            if parser.next_token().token == Token::EOF {
                return parser.expected_ref(")", parser.peek_token_ref());
            }
        }
    }
    let change = if word(parser, "owner") {
        parser.expect_keyword(Keyword::TO)?;
        ObjectChange::Owner(parser.parse_identifier()?)
    } else if parser.parse_keywords(&[Keyword::SET, Keyword::SCHEMA]) {
        ObjectChange::Schema(parser.parse_identifier()?)
    } else {
        parser.expect_keyword(Keyword::RENAME)?;
        if kind == ObjectKind::Index {
            // sqlparser reads it.
            return parser.expected_ref("OWNER or SET SCHEMA", parser.peek_token_ref());
        }
        if parser.parse_keyword(Keyword::TO) {
            ObjectChange::Rename(parser.parse_identifier()?)
        } else {
            let _ = parser.parse_keyword(Keyword::COLUMN);
            let from = parser.parse_identifier()?;
            parser.expect_keyword(Keyword::TO)?;
            ObjectChange::RenameColumn(from, parser.parse_identifier()?)
        }
    };
    Ok(AlterObject { kind, if_exists, name, change })
}

fn comment(parser: &mut Parser) -> Result<CommentStatement, ParserError> {
    parser.expect_keywords(&[Keyword::COMMENT, Keyword::ON])?;
    let kind = kind(parser)?;
    let name = parser.parse_object_name(false)?;
    let mut of = None;
    if kind == ObjectKind::Constraint {
        parser.expect_keyword(Keyword::ON)?;
        if parser.parse_keyword(Keyword::DOMAIN) {
            return parser.expected_ref("the name of a table", parser.peek_token_ref());
        }
        of = Some(parser.parse_object_name(false)?);
    }
    while !parser.parse_keyword(Keyword::IS) {
        // The arguments of a function, and what it is of.
        if parser.next_token().token == Token::EOF {
            return parser.expected_ref("IS", parser.peek_token_ref());
        }
    }
    let text = if parser.parse_keyword(Keyword::NULL) { None } else { Some(parser.parse_literal_string()?) };
    Ok(CommentStatement { kind, name, of, text })
}

fn upkeep(parser: &mut Parser, is_vacuum: bool) -> Result<Upkeep, ParserError> {
    /// Options that say how PostgreSQL goes about it, which means nothing here.
    const OPTIONS: [&str; 11] = [
        "full",
        "freeze",
        "verbose",
        "analyze",
        "disable_page_skipping",
        "skip_locked",
        "index_cleanup",
        "process_toast",
        "truncate",
        "parallel",
        "process_main",
    ];
    if parser.consume_token(&Token::LParen) {
        loop {
            if !OPTIONS.iter().any(|option| word(parser, option)) {
                return parser.expected_ref("an option", parser.peek_token_ref());
            }
            let ends = matches!(parser.peek_token_ref().token, Token::Comma | Token::RParen);
            if !ends {
                parser.advance_token();
            }
            if !parser.consume_token(&Token::Comma) {
                break;
            }
        }
        parser.expect_token(&Token::RParen)?;
    } else {
        let words: &[&str] = if is_vacuum { &["full", "freeze", "verbose", "analyze"] } else { &["verbose"] };
        for option in words {
            word(parser, option);
        }
    }
    let mut tables = Vec::new();
    if !matches!(parser.peek_token_ref().token, Token::EOF | Token::SemiColon) {
        tables = parser.parse_comma_separated(|parser| {
            let name = parser.parse_object_name(false)?;
            let mut columns = Vec::new();
            if parser.consume_token(&Token::LParen) {
                columns = parser.parse_comma_separated(Parser::parse_identifier)?;
                parser.expect_token(&Token::RParen)?;
            }
            Ok((name, columns))
        })?;
    }
    Ok(Upkeep { is_vacuum, tables })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::{Parsed, parse};

    fn parsed(sql: &str) -> ObjectStatement {
        match parse(sql) {
            Ok(Parsed::Object(statement)) => *statement,
            other => panic!("{sql}: {other:?}"),
        }
    }

    #[test]
    fn objects_are_altered_as_wholes() {
        for (sql, kind) in [
            ("ALTER VIEW public.v OWNER TO me", ObjectKind::View),
            ("ALTER SEQUENCE IF EXISTS s SET SCHEMA other", ObjectKind::Sequence),
            ("ALTER SEQUENCE s OWNER TO me", ObjectKind::Sequence),
            ("ALTER SCHEMA s RENAME TO t", ObjectKind::Schema),
            ("ALTER FUNCTION f(integer, text) OWNER TO me", ObjectKind::Other("function")),
            ("ALTER VIEW v RENAME COLUMN a TO b", ObjectKind::View),
        ] {
            let ObjectStatement::Alter(alter) = parsed(sql) else { panic!("{sql}") };
            assert_eq!(alter.kind, kind, "{sql}");
        }
    }

    #[test]
    fn comments_say_what_they_are_about() {
        let ObjectStatement::Comment(comment) = parsed("COMMENT ON CONSTRAINT c ON public.t IS 'x'") else { panic!() };
        assert_eq!((comment.kind, comment.text.as_deref()), (ObjectKind::Constraint, Some("x")));
        assert!(comment.of.is_some());
        let ObjectStatement::Comment(comment) = parsed("COMMENT ON COLUMN public.t.a IS NULL") else { panic!() };
        assert_eq!((comment.kind, comment.text), (ObjectKind::Column, None));
    }

    #[test]
    fn tables_are_tidied_up() {
        for (sql, tables) in [
            ("VACUUM", 0),
            ("VACUUM FULL VERBOSE ANALYZE t (a, b), public.u", 2),
            ("VACUUM (FULL, ANALYZE false, PARALLEL 2) t", 1),
            ("ANALYZE VERBOSE t", 1),
            ("ANALYZE", 0),
        ] {
            let ObjectStatement::Upkeep(upkeep) = parsed(sql) else { panic!("{sql}") };
            assert_eq!(upkeep.tables.len(), tables, "{sql}");
        }
        assert!(parse("VACUUM (BOGUS) t").is_err());
    }
}
