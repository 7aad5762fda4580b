//! The parser of COPY, EXPORT DATABASE and IMPORT DATABASE.
//!
//! ```text
//! COPY table [(column, ...)] FROM 'path' | STDIN   [WITH] [(option [value], ...)] | old options
//! COPY table [(column, ...)] | (query) TO 'path' | STDOUT   likewise
//! EXPORT DATABASE 'directory' [WITH] [(option [value], ...)]
//! IMPORT DATABASE 'directory'
//! ```
//! The old options are those before PostgreSQL 9.0, without parentheses: `COPY t FROM 'f' DELIMITER '|' CSV HEADER`.
//! sqlparser reads COPY as well, but knows a fixed set of options and no way to say where a wrong one stands.
//! Not here: what options mean (`sql::options`).

use sqlparser::ast::{Ident, ObjectName, Query};
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Location, Token};

use crate::Error;
use crate::sql::names;
use crate::sql::options::{OptionItem, OptionValue};
use crate::sql::{Parsed, syntax};

/// COPY in either direction.
#[derive(Debug)]
pub(crate) struct CopyStatement {
    pub(crate) what: CopyWhat,
    pub(crate) place: CopyPlace,
    pub(crate) options: Vec<OptionItem>,
}

/// What COPY moves.
#[derive(Debug)]
pub(crate) enum CopyWhat {
    /// A table; without columns, all of them.
    Table { name: String, columns: Vec<String> },
    /// The rows of a query; only ever with a place to copy to.
    Query(Box<Query>),
}

/// Where COPY moves it from or to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CopyPlace {
    FromFile(String),
    FromStdin,
    ToFile(String),
    ToStdout,
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
        return copy(parser).map(|copy| Some(Parsed::Copy(Box::new(copy))));
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

/// Moves over `verb DATABASE` if that is what comes.
fn is_database_statement(parser: &mut Parser, verb: &str) -> bool {
    let is_word = |token: &Token, word: &str| matches!(token, Token::Word(w) if w.quote_style.is_none() && w.value.eq_ignore_ascii_case(word));
    let found = is_word(&parser.peek_nth_token(0).token, verb) && is_word(&parser.peek_nth_token(1).token, "DATABASE");
    if found {
        parser.next_token();
        parser.next_token();
    }
    found
}

fn copy(parser: &mut Parser) -> Result<CopyStatement, Error> {
    let what = if parser.consume_token(&Token::LParen) {
        let query = parser.parse_query().map_err(syntax)?;
        parser.expect_token(&Token::RParen).map_err(syntax)?;
        CopyWhat::Query(query)
    } else {
        let name: ObjectName = parser.parse_object_name(false).map_err(syntax)?;
        let columns = if parser.consume_token(&Token::LParen) { column_names(parser)? } else { Vec::new() };
        let name = names::relation(&name)?;
        CopyWhat::Table { name, columns }
    };
    let place = place(parser, &what)?;
    let options = if peek_is(parser, &Token::LParen) || peeks_with_list(parser) {
        option_list(parser)?
    } else {
        old_options(parser)?
    };
    if parser.peek_keyword(Keyword::WHERE) {
        return Err(Error::unsupported(
            "COPY ... FROM ... WHERE is not supported; use INSERT INTO t SELECT ... FROM read_csv(...) WHERE ...",
        ));
    }
    Ok(CopyStatement { what, place, options })
}

fn place(parser: &mut Parser, what: &CopyWhat) -> Result<CopyPlace, Error> {
    let to = match parser.parse_one_of_keywords(&[Keyword::FROM, Keyword::TO]) {
        Some(Keyword::TO) => true,
        Some(_) if matches!(what, CopyWhat::Query(_)) => {
            return Err(Error::syntax("COPY FROM loads a table, not a query; write COPY table FROM 'path'"));
        }
        Some(_) => false,
        None => return Err(expected(parser, "FROM or TO")),
    };
    if parser.parse_keyword(Keyword::PROGRAM) {
        return Err(Error::unsupported(if to {
            "COPY TO PROGRAM is not supported; use COPY TO STDOUT and pipe the output of longshore"
        } else {
            "COPY FROM PROGRAM is not supported; pipe into longshore and use COPY FROM STDIN"
        }));
    }
    match parser.parse_one_of_keywords(&[Keyword::STDIN, Keyword::STDOUT]) {
        Some(Keyword::STDIN) if !to => Ok(CopyPlace::FromStdin),
        Some(Keyword::STDOUT) if to => Ok(CopyPlace::ToStdout),
        Some(_) => Err(Error::syntax("COPY reads FROM STDIN and writes TO STDOUT")),
        None if to => Ok(CopyPlace::ToFile(path(parser, "a path or STDOUT")?)),
        None => Ok(CopyPlace::FromFile(path(parser, "a path or STDIN")?)),
    }
}

fn peek_is(parser: &Parser, token: &Token) -> bool {
    parser.peek_token_ref().token == *token
}

/// Whether `WITH (` comes.
fn peeks_with_list(parser: &Parser) -> bool {
    parser.peek_keyword(Keyword::WITH) && parser.peek_nth_token(1).token == Token::LParen
}

/// `[WITH] [(option [value], ...)]`
fn option_list(parser: &mut Parser) -> Result<Vec<OptionItem>, Error> {
    let mut options = Vec::new();
    if !parser.parse_keyword(Keyword::WITH) && !peek_is(parser, &Token::LParen) {
        return Ok(options);
    }
    if !parser.consume_token(&Token::LParen) {
        return Err(expected(parser, "("));
    }
    loop {
        let at = here(parser);
        let name = option_name(parser)?;
        let value = option_value(parser)?;
        options.push(OptionItem { name, value, at });
        if parser.consume_token(&Token::RParen) {
            return Ok(options);
        }
        if !parser.consume_token(&Token::Comma) {
            return Err(expected(parser, ", or )"));
        }
    }
}

fn option_name(parser: &mut Parser) -> Result<String, Error> {
    match &parser.peek_token_ref().token {
        Token::Word(word) if word.quote_style.is_none() => {
            let name = word.value.to_ascii_uppercase();
            parser.next_token();
            Ok(name)
        }
        _ => Err(expected(parser, "the name of an option")),
    }
}

fn option_value(parser: &mut Parser) -> Result<OptionValue, Error> {
    let next = parser.peek_token();
    Ok(match next.token {
        Token::Comma | Token::RParen => OptionValue::None,
        Token::LParen => {
            parser.next_token();
            OptionValue::Names(column_names(parser)?)
        }
        Token::Mul => {
            parser.next_token();
            OptionValue::All
        }
        Token::Number(digits, false) => {
            parser.next_token();
            OptionValue::Number(digits)
        }
        Token::Word(word) if word.quote_style.is_none() => {
            parser.next_token();
            OptionValue::Word(word.value.to_ascii_lowercase())
        }
        _ => OptionValue::Text(text(parser).ok_or_else(|| expected(parser, "the value of the option"))?),
    })
}

/// Options without parentheses, from before PostgreSQL 9.0.
fn old_options(parser: &mut Parser) -> Result<Vec<OptionItem>, Error> {
    let _ = parser.parse_keyword(Keyword::WITH);
    let mut options = Vec::new();
    loop {
        let at = here(parser);
        if matches!(parser.peek_token_ref().token, Token::EOF | Token::SemiColon) || parser.peek_keyword(Keyword::WHERE)
        {
            return Ok(options);
        }
        let mut name = option_name(parser)?;
        let value = match name.as_str() {
            "CSV" | "BINARY" => {
                let format = name.to_ascii_lowercase();
                "FORMAT".clone_into(&mut name);
                OptionValue::Word(format)
            }
            "HEADER" => OptionValue::None,
            "DELIMITER" | "NULL" | "QUOTE" | "ESCAPE" | "ENCODING" => {
                let _ = parser.parse_keyword(Keyword::AS);
                OptionValue::Text(text(parser).ok_or_else(|| expected(parser, "a text in quotes"))?)
            }
            "FORCE" => {
                let force = if parser.parse_keyword(Keyword::QUOTE) {
                    "FORCE_QUOTE"
                } else if parser.parse_keywords(&[Keyword::NOT, Keyword::NULL]) {
                    "FORCE_NOT_NULL"
                } else if parser.parse_keyword(Keyword::NULL) {
                    "FORCE_NULL"
                } else {
                    return Err(expected(parser, "QUOTE, NULL or NOT NULL"));
                };
                force.clone_into(&mut name);
                if parser.consume_token(&Token::Mul) {
                    OptionValue::All
                } else {
                    let mut columns = vec![column_name(parser)?];
                    while parser.consume_token(&Token::Comma) {
                        columns.push(column_name(parser)?);
                    }
                    OptionValue::Names(columns)
                }
            }
            _ => {
                return Err(Error::syntax(format!(
                    "option {name} at {} is not known here; without parentheses the options are DELIMITER, NULL, CSV, \
                     HEADER, QUOTE, ESCAPE, ENCODING and FORCE; all options are known in WITH (...)",
                    shown_place(at)
                )));
            }
        };
        options.push(OptionItem { name, value, at });
    }
}

/// `column, ...)`
fn column_names(parser: &mut Parser) -> Result<Vec<String>, Error> {
    let mut columns = vec![column_name(parser)?];
    while parser.consume_token(&Token::Comma) {
        columns.push(column_name(parser)?);
    }
    if parser.consume_token(&Token::RParen) { Ok(columns) } else { Err(expected(parser, ", or )")) }
}

fn column_name(parser: &mut Parser) -> Result<String, Error> {
    match &parser.peek_token_ref().token {
        Token::Word(_) => {
            let ident: Ident = parser.parse_identifier().map_err(syntax)?;
            names::identifier(&ident)
        }
        _ => Err(expected(parser, "the name of a column")),
    }
}

fn path(parser: &mut Parser, what: &str) -> Result<String, Error> {
    let path = text(parser).ok_or_else(|| expected(parser, &format!("{what} (a path in single quotes)")))?;
    if path.is_empty() {
        return Err(Error::invalid("the path is empty; write a path in single quotes"));
    }
    if path.contains('\0') {
        return Err(Error::invalid("a path must not contain a zero byte"));
    }
    Ok(path)
}

/// The text literal that comes next, if one does.
fn text(parser: &mut Parser) -> Option<String> {
    let value = match &parser.peek_token_ref().token {
        Token::SingleQuotedString(value) | Token::EscapedStringLiteral(value) | Token::UnicodeStringLiteral(value) => {
            value.clone()
        }
        Token::DollarQuotedString(dollar) => dollar.value.clone(),
        _ => return None,
    };
    parser.next_token();
    Some(value)
}

fn here(parser: &Parser) -> Location {
    parser.peek_token_ref().span.start
}

/// "line 1, column 14".
pub(crate) fn shown_place(at: Location) -> String {
    format!("line {}, column {}", at.line, at.column)
}

fn expected(parser: &Parser, what: &str) -> Error {
    let found = parser.peek_token_ref();
    let shown = names::shown(&found.token);
    Error::syntax(if found.token == Token::EOF {
        format!("syntax error: expected {what}, found {shown}")
    } else {
        format!("syntax error at {}: expected {what}, found {shown}", shown_place(found.span.start))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::parse;

    fn copied(sql: &str) -> CopyStatement {
        match parse(sql) {
            Ok(Parsed::Copy(copy)) => *copy,
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
        assert_eq!(new.place, CopyPlace::FromFile("f".into()));
    }

    #[test]
    fn values_of_every_kind() {
        let copy =
            copied("COPY t (a, \"B\") TO STDOUT (FORCE_QUOTE *, THREADS 2, QUOTE none, NULL E'\\t', ESCAPE $$x$$)");
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
    fn queries_are_copied_out_only() {
        assert!(matches!(copied("COPY (SELECT ';') TO 'f'").what, CopyWhat::Query(_)));
        assert!(refused("COPY (SELECT 1) FROM 'f'").contains("not a query"));
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
            ("COPY t FROM 'f' (FORMAT csv) WHERE a > 1", "read_csv"),
            ("COPY t () FROM 'f'", "line 1, column 9: expected the name of a column"),
            ("COPY other.t FROM 'f'", "schemas"),
            ("EXPORT DATABASE", "expected a directory"),
            ("EXPORT DATABASE 'd' WITH FORMAT csv", "expected ("),
        ] {
            let message = refused(sql);
            assert!(message.contains(part), "{sql}: {message}");
        }
    }
}
