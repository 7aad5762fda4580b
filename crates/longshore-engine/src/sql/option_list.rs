//! The parser of option lists: `(name [value], ...)`, and the options from before PostgreSQL 9.0, without parentheses.
//!
//! Not here: which options there are and what they mean (`sql::options`).

use sqlparser::ast::Ident;
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Location, Token};

use crate::Error;
use crate::sql::options::{OptionItem, OptionValue, shown_place};
use crate::sql::{names, syntax};

/// Whether `(` or `WITH (` comes.
pub(super) fn comes(parser: &Parser) -> bool {
    peek_is(parser, &Token::LParen)
        || (parser.peek_keyword(Keyword::WITH) && parser.peek_nth_token(1).token == Token::LParen)
}

pub(super) fn peek_is(parser: &Parser, token: &Token) -> bool {
    parser.peek_token_ref().token == *token
}

/// `[WITH] [(option [value], ...)]`
pub(super) fn option_list(parser: &mut Parser) -> Result<Vec<OptionItem>, Error> {
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
        let value = match name.as_str() {
            "TYPES" => types(parser)?,
            "ON_CONFLICT" => words(parser)?,
            _ => option_value(parser)?,
        };
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
            in_parentheses(parser)?
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
            let word = word.value.to_ascii_lowercase();
            match text(parser) {
                Some(text) => OptionValue::Named(word, text),
                None => OptionValue::Word(word),
            }
        }
        _ => OptionValue::Text(text(parser).ok_or_else(|| expected(parser, "the value of the option"))?),
    })
}

/// A value that may be of several words: `keep first`.
fn words(parser: &mut Parser) -> Result<OptionValue, Error> {
    let mut value = option_value(parser)?;
    while let (OptionValue::Word(words), Token::Word(next)) = (&mut value, &parser.peek_token_ref().token) {
        words.push(' ');
        words.push_str(&next.value.to_ascii_lowercase());
        parser.next_token();
    }
    Ok(value)
}

/// What stands in parentheses: columns, texts, or columns with a value each.
fn in_parentheses(parser: &mut Parser) -> Result<OptionValue, Error> {
    if !matches!(parser.peek_token_ref().token, Token::Word(_)) {
        return texts(parser).map(OptionValue::TextSources);
    }
    if matches!(parser.peek_nth_token(1).token, Token::Comma | Token::RParen) {
        return column_names(parser).map(OptionValue::Names);
    }
    let mut columns: Vec<(String, OptionValue)> = Vec::new();
    loop {
        let name = column_name(parser)?;
        if columns.iter().any(|(earlier, _)| *earlier == name) {
            return Err(Error::invalid(format!("column {name} is named twice in an option; name it once")));
        }
        let value = option_value(parser)?;
        columns.push((name, value));
        if parser.consume_token(&Token::RParen) {
            return Ok(OptionValue::PerColumn(columns));
        }
        if !parser.consume_token(&Token::Comma) {
            return Err(expected(parser, ", or )"));
        }
    }
}

/// `(a INTEGER, b DATE)`
fn types(parser: &mut Parser) -> Result<OptionValue, Error> {
    if !parser.consume_token(&Token::LParen) {
        return Err(expected(parser, "columns with their types, as in (a INTEGER, b DATE)"));
    }
    let mut columns = Vec::new();
    loop {
        let name = column_name(parser)?;
        let data_type = parser.parse_data_type().map_err(syntax)?;
        columns.push((name, OptionValue::Text(data_type.to_string())));
        if parser.consume_token(&Token::RParen) {
            return Ok(OptionValue::PerColumn(columns));
        }
        if !parser.consume_token(&Token::Comma) {
            return Err(expected(parser, ", or )"));
        }
    }
}

/// `'text', ...)`
fn texts(parser: &mut Parser) -> Result<Vec<String>, Error> {
    let mut texts = Vec::new();
    loop {
        texts.push(text(parser).ok_or_else(|| expected(parser, "the name of a column or a text in quotes"))?);
        if parser.consume_token(&Token::RParen) {
            return Ok(texts);
        }
        if !parser.consume_token(&Token::Comma) {
            return Err(expected(parser, ", or )"));
        }
    }
}

/// Options without parentheses, from before PostgreSQL 9.0.
pub(super) fn old_options(parser: &mut Parser) -> Result<Vec<OptionItem>, Error> {
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
                     BINARY, HEADER, QUOTE, ESCAPE, ENCODING and FORCE; all options are known in WITH (...)",
                    shown_place(at)
                )));
            }
        };
        options.push(OptionItem { name, value, at });
    }
}

/// `column, ...)`
pub(super) fn column_names(parser: &mut Parser) -> Result<Vec<String>, Error> {
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

/// The text literal that comes next, if one does.
pub(super) fn text(parser: &mut Parser) -> Option<String> {
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

pub(super) fn expected(parser: &Parser, what: &str) -> Error {
    let found = parser.peek_token_ref();
    let shown = names::shown(&found.token);
    Error::syntax(if found.token == Token::EOF {
        format!("syntax error: expected {what}, found {shown}")
    } else {
        format!("syntax error at {}: expected {what}, found {shown}", shown_place(found.span.start))
    })
}
