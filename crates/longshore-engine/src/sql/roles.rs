//! The parsers of statements about roles, which take more and other options than sqlparser knows:
//!
//! ```text
//! CREATE {ROLE | USER | GROUP} name [WITH] option ...
//! ALTER {ROLE | USER | GROUP} role {[WITH] option ... | RENAME TO name | {ADD | DROP} USER role, ...}
//! ALTER {{ROLE | USER} {role | ALL} [IN DATABASE name] | DATABASE name} {SET setting ... | RESET {setting | ALL}}
//! DROP {ROLE | USER | GROUP} [IF EXISTS] role, ...
//! DROP OWNED BY role, ... [CASCADE | RESTRICT]          REASSIGN OWNED BY role, ... TO role
//! ```
//! Not here: GRANT and REVOKE (`grants`), SET ROLE (`set_identity`), what the statements do (`statement::roles`).

use sqlparser::ast::{Expr, Ident};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::tokens::is_word;
use super::{names, syntax};
use crate::Error;

/// A role as a statement names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RoleSpec {
    Named(String),
    CurrentUser,
    SessionUser,
    Public,
}

/// An option of CREATE ROLE and ALTER ROLE.
#[derive(Clone, PartialEq)]
pub(crate) enum RoleOption {
    Superuser(bool),
    Inherit(bool),
    CreateRole(bool),
    CreateDatabase(bool),
    Login(bool),
    Replication(bool),
    BypassRowSecurity(bool),
    ConnectionLimit(i64),
    /// `None` takes it away.
    Password(Option<String>),
    ValidUntil(String),
    /// Of which roles it is a member.
    InRole(Vec<RoleSpec>),
    /// Who are its members.
    Role(Vec<RoleSpec>),
    /// The same, who may make others members.
    Admin(Vec<RoleSpec>),
}

impl std::fmt::Debug for RoleOption {
    /// Without the password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RoleOption")
    }
}

/// What becomes of a setting that sessions begin with.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SettingChange {
    /// No values: that of the session.
    Set(String, Option<Vec<Expr>>),
    Reset(String),
    ResetAll,
}

/// One of these statements; the first text of some is what was said: ROLE, USER or GROUP.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RoleStatement {
    Create(&'static str, String, Vec<RoleOption>),
    Alter(RoleSpec, Vec<RoleOption>),
    Rename(String, String),
    /// Members of a group come or go.
    Members {
        group: RoleSpec,
        is_added: bool,
        members: Vec<RoleSpec>,
    },
    /// The settings of a role, or of all, in a database or in any.
    Settings {
        role: Option<RoleSpec>,
        database: Option<String>,
        change: SettingChange,
    },
    Drop(Vec<RoleSpec>, bool),
    DropOwned(Vec<RoleSpec>, bool),
    ReassignOwned(Vec<RoleSpec>, RoleSpec),
}

/// The statement if it is one of these; otherwise the parser has not moved.
pub(super) fn statement(parser: &mut Parser) -> Result<Option<RoleStatement>, Error> {
    let is = |at: usize, word: &str| is_word(&parser.peek_nth_token_ref(at).token, word);
    let noun = |at: usize| ["ROLE", "USER", "GROUP"].into_iter().find(|noun| is(at, noun));
    if is(0, "create") || is(0, "drop") || is(0, "alter") {
        if is(0, "drop") && is(1, "owned") {
            return drop_owned(parser).map(Some).map_err(syntax);
        }
        if let Some(noun) = noun(1).filter(|_| !(is(1, "user") && is(2, "mapping"))) {
            let parse = if is(0, "create") {
                create
            } else if is(0, "drop") {
                drop_roles
            } else {
                alter
            };
            parser.advance_token();
            parser.advance_token();
            return parse(parser, noun).map(Some).map_err(syntax);
        }
        let is_setting = is(0, "alter") && is(1, "database") && (is(3, "set") || is(3, "reset"));
        if is_setting && !is(4, "tablespace") {
            return alter_database(parser).map(Some).map_err(syntax);
        }
    }
    if is(0, "reassign") && is(1, "owned") {
        return reassign_owned(parser).map(Some).map_err(syntax);
    }
    Ok(None)
}

pub(super) fn word(parser: &mut Parser, word: &str) -> bool {
    let is_it = is_word(&parser.peek_token_ref().token, word);
    if is_it {
        parser.advance_token();
    }
    is_it
}

pub(super) fn expect(parser: &mut Parser, text: &str) -> Result<(), ParserError> {
    if word(parser, text) { Ok(()) } else { parser.expected_ref(&text.to_uppercase(), parser.peek_token_ref()) }
}

fn name_of(ident: &Ident) -> Result<String, ParserError> {
    names::identifier(ident).map_err(|error| ParserError::ParserError(error.to_string()))
}

pub(super) fn name(parser: &mut Parser) -> Result<String, ParserError> {
    name_of(&parser.parse_identifier()?)
}

pub(super) fn role(parser: &mut Parser) -> Result<RoleSpec, ParserError> {
    let ident = parser.parse_identifier()?;
    Ok(match (ident.quote_style, ident.value.to_lowercase().as_str()) {
        (None, "current_user" | "current_role") => RoleSpec::CurrentUser,
        (None, "session_user") => RoleSpec::SessionUser,
        (None, "public") => RoleSpec::Public,
        _ => RoleSpec::Named(name_of(&ident)?),
    })
}

pub(super) fn roles(parser: &mut Parser) -> Result<Vec<RoleSpec>, ParserError> {
    parser.parse_comma_separated(role)
}

pub(super) fn cascade(parser: &mut Parser) -> bool {
    if word(parser, "cascade") {
        return true;
    }
    word(parser, "restrict");
    false
}

fn is_end(parser: &Parser) -> bool {
    matches!(parser.peek_token_ref().token, Token::EOF | Token::SemiColon)
}

fn create(parser: &mut Parser, noun: &'static str) -> Result<RoleStatement, ParserError> {
    let name = name(parser)?;
    word(parser, "with");
    Ok(RoleStatement::Create(noun, name, options(parser, true)?))
}

fn options(parser: &mut Parser, is_new: bool) -> Result<Vec<RoleOption>, ParserError> {
    let mut found = Vec::new();
    while !is_end(parser) {
        found.push(option(parser, is_new)?);
    }
    Ok(found)
}

fn option(parser: &mut Parser, is_new: bool) -> Result<RoleOption, ParserError> {
    type Attribute = (&'static str, fn(bool) -> RoleOption);
    const ATTRIBUTES: [Attribute; 7] = [
        ("superuser", RoleOption::Superuser),
        ("inherit", RoleOption::Inherit),
        ("createrole", RoleOption::CreateRole),
        ("createdb", RoleOption::CreateDatabase),
        ("login", RoleOption::Login),
        ("replication", RoleOption::Replication),
        ("bypassrls", RoleOption::BypassRowSecurity),
    ];
    for (attribute, option) in ATTRIBUTES {
        if word(parser, attribute) {
            return Ok(option(true));
        }
        if word(parser, &format!("no{attribute}")) {
            return Ok(option(false));
        }
    }
    if word(parser, "connection") {
        expect(parser, "limit")?;
        let sign = if parser.consume_token(&Token::Minus) { -1 } else { 1 };
        let number = parser.parse_literal_uint()?;
        return Ok(RoleOption::ConnectionLimit(sign * i64::try_from(number).unwrap_or(i64::MAX)));
    }
    word(parser, "encrypted");
    if word(parser, "password") {
        if parser.parse_keyword(Keyword::NULL) {
            return Ok(RoleOption::Password(None));
        }
        // What stands there instead may be the password.
        let text = text(parser)
            .ok_or_else(|| ParserError::ParserError("PASSWORD takes a text in quotes, or NULL".to_owned()))?;
        return Ok(RoleOption::Password(Some(text)));
    }
    if word(parser, "valid") {
        expect(parser, "until")?;
        let until = text(parser);
        return match until {
            Some(until) => Ok(RoleOption::ValidUntil(until)),
            None => parser.expected_ref("a text", parser.peek_token_ref()),
        };
    }
    if word(parser, "in") {
        if !word(parser, "group") {
            expect(parser, "role")?;
        }
        return Ok(RoleOption::InRole(roles(parser)?));
    }
    if is_new && word(parser, "sysid") {
        parser.parse_literal_uint()?;
        return Ok(RoleOption::Role(Vec::new()));
    }
    if word(parser, "role") || word(parser, "user") {
        return Ok(RoleOption::Role(roles(parser)?));
    }
    if is_new && word(parser, "admin") {
        return Ok(RoleOption::Admin(roles(parser)?));
    }
    parser.expected_ref("an option of a role", parser.peek_token_ref())
}

/// A text in quotes.
fn text(parser: &mut Parser) -> Option<String> {
    let text = match &parser.peek_token_ref().token {
        Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text) => text.clone(),
        Token::DollarQuotedString(text) => text.value.clone(),
        _ => return None,
    };
    parser.advance_token();
    Some(text)
}

fn alter(parser: &mut Parser, noun: &'static str) -> Result<RoleStatement, ParserError> {
    if noun != "GROUP" && word(parser, "all") {
        let database = in_database(parser)?;
        return Ok(RoleStatement::Settings { role: None, database, change: setting(parser)? });
    }
    let altered = role(parser)?;
    let is = |word: &str| is_word(&parser.peek_token_ref().token, word);
    if is("rename") {
        parser.advance_token();
        expect(parser, "to")?;
        let RoleSpec::Named(from) = altered else {
            return parser.expected_ref("the name of a role before RENAME", parser.peek_token_ref());
        };
        return Ok(RoleStatement::Rename(from, name(parser)?));
    }
    if noun == "GROUP" && (is("add") || is("drop")) {
        let is_added = is("add");
        parser.advance_token();
        expect(parser, "user")?;
        return Ok(RoleStatement::Members { group: altered, is_added, members: roles(parser)? });
    }
    if is("set") || is("reset") || is("in") && is_word(&parser.peek_nth_token_ref(1).token, "database") {
        let database = in_database(parser)?;
        return Ok(RoleStatement::Settings { role: Some(altered), database, change: setting(parser)? });
    }
    word(parser, "with");
    Ok(RoleStatement::Alter(altered, options(parser, false)?))
}

fn in_database(parser: &mut Parser) -> Result<Option<String>, ParserError> {
    if !word(parser, "in") {
        return Ok(None);
    }
    expect(parser, "database")?;
    name(parser).map(Some)
}

fn alter_database(parser: &mut Parser) -> Result<RoleStatement, ParserError> {
    parser.advance_token();
    parser.advance_token();
    let database = Some(name(parser)?);
    Ok(RoleStatement::Settings { role: None, database, change: setting(parser)? })
}

/// `SET setting {= | TO} {value, ... | DEFAULT}`, `SET setting FROM CURRENT`, or RESET.
fn setting(parser: &mut Parser) -> Result<SettingChange, ParserError> {
    if word(parser, "reset") {
        return Ok(if word(parser, "all") {
            SettingChange::ResetAll
        } else {
            SettingChange::Reset(setting_name(parser)?)
        });
    }
    expect(parser, "set")?;
    if is_word(&parser.peek_token_ref().token, "time") && is_word(&parser.peek_nth_token_ref(1).token, "zone") {
        parser.advance_token();
        parser.advance_token();
        return Ok(SettingChange::Set("timezone".to_owned(), Some(vec![parser.parse_expr()?])));
    }
    let name = setting_name(parser)?;
    if word(parser, "from") {
        expect(parser, "current")?;
        return Ok(SettingChange::Set(name, None));
    }
    if !parser.consume_token(&Token::Eq) {
        expect(parser, "to")?;
    }
    if word(parser, "default") {
        return Ok(SettingChange::Reset(name));
    }
    let value = |parser: &mut Parser| {
        // ON is no expression.
        if parser.parse_keyword(Keyword::ON) { Ok(Expr::Identifier(Ident::new("on"))) } else { parser.parse_expr() }
    };
    Ok(SettingChange::Set(name, Some(parser.parse_comma_separated(value)?)))
}

fn setting_name(parser: &mut Parser) -> Result<String, ParserError> {
    Ok(parser.parse_object_name(false)?.to_string().to_lowercase())
}

fn drop_roles(parser: &mut Parser, _: &'static str) -> Result<RoleStatement, ParserError> {
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    Ok(RoleStatement::Drop(roles(parser)?, if_exists))
}

fn drop_owned(parser: &mut Parser) -> Result<RoleStatement, ParserError> {
    parser.advance_token();
    parser.advance_token();
    expect(parser, "by")?;
    let of = roles(parser)?;
    Ok(RoleStatement::DropOwned(of, cascade(parser)))
}

fn reassign_owned(parser: &mut Parser) -> Result<RoleStatement, ParserError> {
    parser.advance_token();
    parser.advance_token();
    expect(parser, "by")?;
    let of = roles(parser)?;
    expect(parser, "to")?;
    Ok(RoleStatement::ReassignOwned(of, role(parser)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::{Parsed, parse};

    fn parsed(sql: &str) -> RoleStatement {
        match parse(sql) {
            Ok(Parsed::Role(statement)) => *statement,
            other => panic!("{sql}: {other:?}"),
        }
    }

    #[test]
    fn roles_have_options() {
        let RoleStatement::Create("USER", name, options) = parsed(
            "CREATE USER \"A b\" WITH SUPERUSER NOINHERIT CONNECTION LIMIT -1 PASSWORD 'x' IN ROLE a, b ADMIN c",
        ) else {
            panic!()
        };
        assert_eq!((name.as_str(), options.len()), ("A b", 6));
        assert!(parse("CREATE ROLE a BOGUS").is_err());
        let error = parse("CREATE ROLE a PASSWORD sesame").map(|_| ()).unwrap_err();
        assert!(!error.to_string().contains("sesame"), "{error}");
    }

    #[test]
    fn sessions_of_roles_begin_with_settings() {
        for (sql, expected) in [
            ("ALTER ROLE a SET x.y TO 'b', c", (true, false, "x.y")),
            ("ALTER ROLE ALL IN DATABASE d RESET z", (false, true, "z")),
            ("ALTER DATABASE d SET enable_sort = on", (false, true, "enable_sort")),
        ] {
            let RoleStatement::Settings { role, database, change } = parsed(sql) else { panic!("{sql}") };
            let (SettingChange::Set(name, _) | SettingChange::Reset(name)) = change else { panic!("{sql}") };
            assert_eq!((role.is_some(), database.is_some(), name.as_str()), expected, "{sql}");
        }
    }
}
