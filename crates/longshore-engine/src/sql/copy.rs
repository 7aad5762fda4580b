//! The parser of COPY, CREATE TABLE AS FROM, EXPORT DATABASE and IMPORT DATABASE.
//!
//! ```text
//! COPY table [(column, ...)] FROM source [[WITH] (option [value], ...) | old options] [WHERE condition]
//! COPY table [(column, ...)] | (query) TO 'path' | STDOUT   [[WITH] (option [value], ...) | old options]
//! CREATE [OR REPLACE] TABLE [IF NOT EXISTS] table AS FROM 'path' | ('path', ...) [[WITH] (option [value], ...)]
//! EXPORT DATABASE 'directory' [[WITH] (option [value], ...)]
//! IMPORT DATABASE 'directory'
//! source: 'path' | ('path', ...) | STDIN | (query)
//! ```
//! sqlparser reads COPY as well, but knows a fixed set of options and no way to say where a wrong one stands.
//! Not here: lists of options (`option_list`), what options mean (`sql::options`).

use sqlparser::ast::{Expr, ObjectName, Query};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use crate::Error;
use crate::sql::option_list::{self, column_names, expected, option_list, peek_is, text};
use crate::sql::options::OptionItem;
use crate::sql::tokens::is_word;
use crate::sql::{Parsed, names, syntax};

/// COPY into a table.
#[derive(Debug)]
pub(crate) struct CopyFrom {
    pub(crate) table: String,
    /// Empty for all columns.
    pub(crate) columns: Vec<String>,
    pub(crate) source: CopySource,
    pub(crate) options: Vec<OptionItem>,
    /// Rows for which it is not true are left out.
    pub(crate) condition: Option<Expr>,
}

/// Where COPY takes rows from.
#[derive(Debug)]
pub(crate) enum CopySource {
    /// Paths, patterns or addresses.
    Files(Vec<String>),
    Stdin,
    Query(Box<Query>),
}

/// COPY out of a table or a query.
#[derive(Debug)]
pub(crate) struct CopyTo {
    pub(crate) what: CopyWhat,
    pub(crate) target: CopyTarget,
    pub(crate) options: Vec<OptionItem>,
}

/// What COPY TO writes.
#[derive(Clone, Debug)]
pub(crate) enum CopyWhat {
    /// A table or a view; without columns, all of them.
    Table { name: String, columns: Vec<String> },
    /// The rows of a query.
    Query(Box<Query>),
}

/// Where COPY TO writes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CopyTarget {
    File(String),
    Stdout,
}

/// CREATE TABLE AS FROM.
#[derive(Debug)]
pub(crate) struct CreateFrom {
    pub(crate) table: String,
    pub(crate) or_replace: bool,
    pub(crate) if_not_exists: bool,
    /// Whether it is not UNLOGGED.
    pub(crate) is_logged: bool,
    /// Paths, patterns or addresses.
    pub(crate) files: Vec<String>,
    pub(crate) options: Vec<OptionItem>,
}

/// EXPORT DATABASE.
#[derive(Debug)]
pub(crate) struct ExportStatement {
    pub(crate) directory: String,
    pub(crate) options: Vec<OptionItem>,
}

/// IMPORT DATABASE.
#[derive(Debug)]
pub(crate) struct ImportStatement {
    pub(crate) directory: String,
}

/// Parses the statement if it is one of ours; otherwise the parser has not moved.
pub(crate) fn own_statement(parser: &mut Parser) -> Result<Option<Parsed>, Error> {
    if parser.parse_keyword(Keyword::COPY) {
        return copy(parser).map(Some);
    }
    if let Some(head) = parser.maybe_parse(create_from_head).map_err(syntax)? {
        return create_from(parser, head).map(Some);
    }
    if is_database_statement(parser, "EXPORT") {
        let directory = path(parser, "a directory")?;
        let options = option_list(parser)?;
        return Ok(Some(Parsed::Export(ExportStatement { directory, options })));
    }
    if is_database_statement(parser, "IMPORT") {
        let directory = path(parser, "a directory")?;
        return Ok(Some(Parsed::Import(ImportStatement { directory })));
    }
    Ok(None)
}

/// What stands before the files of CREATE TABLE AS FROM.
struct CreateFromHead {
    or_replace: bool,
    if_not_exists: bool,
    name: ObjectName,
}

fn create_from_head(parser: &mut Parser) -> Result<CreateFromHead, ParserError> {
    parser.expect_keyword(Keyword::CREATE)?;
    let or_replace = parser.parse_keywords(&[Keyword::OR, Keyword::REPLACE]);
    parser.expect_keyword(Keyword::TABLE)?;
    let if_not_exists = parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
    let name = parser.parse_object_name(false)?;
    parser.expect_keyword(Keyword::AS)?;
    parser.expect_keyword(Keyword::FROM)?;
    Ok(CreateFromHead { or_replace, if_not_exists, name })
}

fn create_from(parser: &mut Parser, head: CreateFromHead) -> Result<Parsed, Error> {
    let CreateFromHead { or_replace, if_not_exists, name } = head;
    let files = if parser.consume_token(&Token::LParen) { paths(parser)? } else { vec![path(parser, "a path")?] };
    let options = option_list(parser)?;
    let table = names::written(&name)?;
    Ok(Parsed::CreateFrom(Box::new(CreateFrom { table, or_replace, if_not_exists, is_logged: true, files, options })))
}

/// Moves over `verb DATABASE` if that is what comes.
pub(super) fn is_database_statement(parser: &mut Parser, verb: &str) -> bool {
    let found = is_word(&parser.peek_nth_token(0).token, verb) && is_word(&parser.peek_nth_token(1).token, "DATABASE");
    if found {
        parser.next_token();
        parser.next_token();
    }
    found
}

fn copy(parser: &mut Parser) -> Result<Parsed, Error> {
    let what = if parser.consume_token(&Token::LParen) {
        CopyWhat::Query(query(parser)?)
    } else {
        let name: ObjectName = parser.parse_object_name(false).map_err(syntax)?;
        let columns = if parser.consume_token(&Token::LParen) { column_names(parser)? } else { Vec::new() };
        CopyWhat::Table { name: names::written(&name)?, columns }
    };
    match (parser.parse_one_of_keywords(&[Keyword::FROM, Keyword::TO]), what) {
        (Some(Keyword::TO), what) => {
            let target = target(parser)?;
            let options = options(parser)?;
            if parser.peek_keyword(Keyword::WHERE) {
                return Err(Error::syntax(
                    "COPY TO takes no WHERE; write COPY (SELECT ... WHERE ...) TO what COPY table TO would write",
                ));
            }
            Ok(Parsed::CopyTo(Box::new(CopyTo { what, target, options })))
        }
        (Some(_), CopyWhat::Query(_)) => {
            Err(Error::syntax("COPY FROM loads a table, not a query; write COPY table FROM 'path'"))
        }
        (Some(_), CopyWhat::Table { name: table, columns }) => {
            let source = source(parser)?;
            let options = options(parser)?;
            let condition =
                if parser.parse_keyword(Keyword::WHERE) { Some(parser.parse_expr().map_err(syntax)?) } else { None };
            if condition.is_some() && matches!(source, CopySource::Query(_)) {
                return Err(Error::syntax(
                    "COPY FROM (query) takes no WHERE behind it; put the condition into the query",
                ));
            }
            Ok(Parsed::CopyFrom(Box::new(CopyFrom { table, columns, source, options, condition })))
        }
        (None, _) => Err(expected(parser, "FROM or TO")),
    }
}

/// `query)`
fn query(parser: &mut Parser) -> Result<Box<Query>, Error> {
    let query = parser.parse_query().map_err(syntax)?;
    parser.expect_token(&Token::RParen).map_err(syntax)?;
    Ok(query)
}

fn options(parser: &mut Parser) -> Result<Vec<OptionItem>, Error> {
    if option_list::comes(parser) { option_list(parser) } else { option_list::old_options(parser) }
}

fn source(parser: &mut Parser) -> Result<CopySource, Error> {
    if parser.parse_keyword(Keyword::PROGRAM) {
        return Err(Error::unsupported(
            "COPY FROM PROGRAM is not supported; pipe into longshore and use COPY FROM STDIN",
        ));
    }
    match parser.parse_one_of_keywords(&[Keyword::STDIN, Keyword::STDOUT]) {
        Some(Keyword::STDIN) => return Ok(CopySource::Stdin),
        Some(_) => return Err(Error::syntax("COPY reads FROM STDIN and writes TO STDOUT")),
        None => {}
    }
    if !peek_is(parser, &Token::LParen) {
        return Ok(CopySource::Files(vec![path(parser, "a path or STDIN")?]));
    }
    parser.next_token();
    let is_query = [Keyword::SELECT, Keyword::WITH, Keyword::VALUES, Keyword::TABLE];
    if peek_is(parser, &Token::LParen) || is_query.into_iter().any(|keyword| parser.peek_keyword(keyword)) {
        return Ok(CopySource::Query(query(parser)?));
    }
    Ok(CopySource::Files(paths(parser)?))
}

/// `'path', ...)`
pub(super) fn paths(parser: &mut Parser) -> Result<Vec<String>, Error> {
    let mut paths = vec![path(parser, "a query or a path")?];
    while parser.consume_token(&Token::Comma) {
        paths.push(path(parser, "a path")?);
    }
    if parser.consume_token(&Token::RParen) { Ok(paths) } else { Err(expected(parser, ", or )")) }
}

fn target(parser: &mut Parser) -> Result<CopyTarget, Error> {
    if parser.parse_keyword(Keyword::PROGRAM) {
        return Err(Error::unsupported(
            "COPY TO PROGRAM is not supported; use COPY TO STDOUT and pipe the output of longshore",
        ));
    }
    match parser.parse_one_of_keywords(&[Keyword::STDIN, Keyword::STDOUT]) {
        Some(Keyword::STDOUT) => Ok(CopyTarget::Stdout),
        Some(_) => Err(Error::syntax("COPY reads FROM STDIN and writes TO STDOUT")),
        None => Ok(CopyTarget::File(path(parser, "a path or STDOUT")?)),
    }
}

pub(super) fn path(parser: &mut Parser, what: &str) -> Result<String, Error> {
    let path = text(parser).ok_or_else(|| expected(parser, &format!("{what} (a path in single quotes)")))?;
    if path.is_empty() {
        return Err(Error::invalid("the path is empty; write a path in single quotes"));
    }
    if path.contains('\0') {
        return Err(Error::invalid("a path must not contain a zero byte"));
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::parse;

    fn copied(sql: &str) -> CopyFrom {
        match parse(sql) {
            Ok(Parsed::CopyFrom(copy)) => *copy,
            other => panic!("{sql}: {other:?}"),
        }
    }

    fn written(sql: &str) -> CopyTo {
        match parse(sql) {
            Ok(Parsed::CopyTo(copy)) => *copy,
            other => panic!("{sql}: {other:?}"),
        }
    }

    fn refused(sql: &str) -> String {
        parse(sql).map(|_| ()).expect_err(sql).to_string()
    }

    fn shown(options: &[OptionItem]) -> Vec<String> {
        options.iter().map(|option| format!("{} {:?}", option.name, option.value)).collect()
    }

    #[test]
    fn both_syntaxes_say_the_same() {
        let new = copied("COPY t FROM 'f' WITH (DELIMITER '|', NULL 'x', FORMAT csv, HEADER, FORCE_NULL (a, B))");
        let old = copied("copy T from 'f' delimiter as '|' null 'x' csv header force null a, B;");
        assert_eq!(shown(&new.options), shown(&old.options));
        assert!(matches!(new.source, CopySource::Files(paths) if paths == ["f"]));
    }

    #[test]
    fn values_of_every_kind() {
        let copy =
            written("COPY t (a, \"B\") TO STDOUT (FORCE_QUOTE *, THREADS 2, QUOTE none, NULL E'\\t', ESCAPE $$x$$)");
        assert_eq!(
            shown(&copy.options),
            [
                "FORCE_QUOTE All",
                "THREADS Number(\"2\")",
                "QUOTE Word(\"none\")",
                "NULL Text(\"\\t\")",
                "ESCAPE Text(\"x\")"
            ]
        );
        assert!(matches!(copy.what, CopyWhat::Table { name, columns } if name == "t" && columns == ["a", "B"]));
    }

    #[test]
    fn queries_are_copied_out_and_in() {
        assert!(matches!(written("COPY (SELECT ';') TO 'f'").what, CopyWhat::Query(_)));
        assert!(refused("COPY (SELECT 1) FROM 'f'").contains("not a query"));
        for query in ["SELECT 1", "(SELECT 1)", "WITH x AS (SELECT 1) SELECT * FROM x", "VALUES (1)"] {
            let copy = copied(&format!("COPY t (a) FROM ({query}) (MERGE copy)"));
            assert!(matches!(copy.source, CopySource::Query(_)) && copy.options.len() == 1, "{query}");
        }
    }

    #[test]
    fn files_come_alone_or_in_a_list_and_with_a_condition() {
        let copy = copied("COPY t FROM ('a', 'b') CSV HEADER WHERE x > 1 AND y = 'z'");
        assert!(matches!(copy.source, CopySource::Files(paths) if paths == ["a", "b"]));
        assert_eq!(copy.condition.map(|condition| condition.to_string()).as_deref(), Some("x > 1 AND y = 'z'"));
        assert!(copied("COPY t FROM STDIN (HEADER) WHERE x").condition.is_some());
        assert!(refused("COPY t TO 'f' WHERE x").contains("COPY (SELECT"));
        assert!(refused("COPY t FROM (SELECT 1) WHERE x").contains("into the query"));
        assert!(refused("COPY t FROM ('a', b)").contains("expected a path"));
    }

    #[test]
    fn databases_are_exported_and_imported() {
        assert!(matches!(parse("EXPORT DATABASE 'd' (FORMAT csv);"), Ok(Parsed::Export(e)) if e.options.len() == 1));
        assert!(matches!(parse("export database 'd'"), Ok(Parsed::Export(e)) if e.directory == "d"));
        assert!(matches!(parse("IMPORT DATABASE 'd'"), Ok(Parsed::Import(i)) if i.directory == "d"));
    }

    #[test]
    fn errors_point_at_the_token() {
        for (sql, part) in [
            ("COPY t", "expected FROM or TO, found the end"),
            ("COPY t FROM f", "line 1, column 13: expected a path or STDIN"),
            ("COPY t FROM ''", "the path is empty"),
            ("COPY t FROM 'f' (DELIMITER '|'", "expected , or ), found the end"),
            ("COPY t FROM 'f' (DELIMITER ~)", "line 1, column 28: expected the value"),
            ("COPY t FROM 'f' ()", "line 1, column 18: expected the name of an option"),
            ("COPY t FROM 'f' WITH DELIMITR '|'", "option DELIMITR at line 1, column 22"),
            ("COPY t FROM 'f' FORCE x", "expected QUOTE, NULL or NOT NULL"),
            ("COPY t FROM PROGRAM 'ls'", "pipe into longshore"),
            ("COPY t TO STDIN", "FROM STDIN"),
            ("COPY t FROM 'f' (FORMAT csv) WHERE", "syntax error"),
            ("COPY t () FROM 'f'", "line 1, column 9: expected the name of a column"),
            ("COPY other.s.t FROM 'f'", "cross-database"),
            ("EXPORT DATABASE", "expected a directory"),
            ("EXPORT DATABASE 'd' WITH FORMAT csv", "expected ("),
        ] {
            let message = refused(sql);
            assert!(message.contains(part), "{sql}: {message}");
        }
    }
}
