//! The parsers of GRANT, REVOKE and ALTER DEFAULT PRIVILEGES.
//!
//! ```text
//! GRANT {privilege [(column, ...)], ... | ALL [PRIVILEGES] [(column, ...)]} ON object TO role, ... [WITH GRANT OPTION]
//! REVOKE [GRANT OPTION FOR] {...} ON object FROM role, ... [CASCADE | RESTRICT]
//! GRANT role, ... TO role, ... [WITH ADMIN OPTION]      REVOKE [ADMIN OPTION FOR] role, ... FROM role, ...
//! ALTER DEFAULT PRIVILEGES [FOR ROLE role, ...] [IN SCHEMA schema, ...] {GRANT ... | REVOKE ...}
//! ```
//! each with `[GRANTED BY role]`. Not here: what they do (`statement::grants`).

use sqlparser::ast::{Ident, ObjectName};
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::roles::{RoleSpec, cascade, expect, name, roles, word};
use super::syntax;
use super::tokens::is_word;
use crate::Error;

/// A privilege by its name, on columns or on the whole.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NamedPrivilege {
    /// `None` for all that there are.
    pub(crate) name: Option<String>,
    pub(crate) columns: Vec<Ident>,
}

/// What privileges are on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Target {
    Tables(Vec<ObjectName>),
    Sequences(Vec<ObjectName>),
    Types(Vec<ObjectName>),
    Schemas(Vec<String>),
    Databases(Vec<String>),
    TablesIn(Vec<String>),
    SequencesIn(Vec<String>),
    /// There are none here.
    Other(String),
}

/// GRANT or REVOKE of privileges.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GrantStatement<T = Target> {
    pub(crate) is_grant: bool,
    pub(crate) privileges: Vec<NamedPrivilege>,
    pub(crate) on: T,
    pub(crate) roles: Vec<RoleSpec>,
    /// WITH GRANT OPTION, or GRANT OPTION FOR.
    pub(crate) option: bool,
    pub(crate) granted_by: Option<RoleSpec>,
    pub(crate) cascade: bool,
}

/// GRANT or REVOKE of roles.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MembershipStatement {
    pub(crate) is_grant: bool,
    pub(crate) of: Vec<String>,
    pub(crate) members: Vec<RoleSpec>,
    /// WITH ADMIN OPTION, or ADMIN OPTION FOR.
    pub(crate) admin: bool,
    pub(crate) granted_by: Option<RoleSpec>,
}

/// ALTER DEFAULT PRIVILEGES.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DefaultsStatement {
    pub(crate) creators: Vec<RoleSpec>,
    pub(crate) schemas: Vec<String>,
    /// On TABLES, SEQUENCES, ...
    pub(crate) grant: GrantStatement<String>,
}

/// One of these statements.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PrivilegeStatement {
    Grant(GrantStatement),
    Membership(MembershipStatement),
    Defaults(DefaultsStatement),
}

/// The statement if it is one of these; otherwise the parser has not moved.
pub(super) fn statement(parser: &mut Parser) -> Result<Option<PrivilegeStatement>, Error> {
    let is = |at: usize, word: &str| is_word(&parser.peek_nth_token_ref(at).token, word);
    if is(0, "grant") || is(0, "revoke") {
        return grant_or_revoke(parser).map(Some).map_err(syntax);
    }
    if is(0, "alter") && is(1, "default") && is(2, "privileges") {
        return defaults(parser).map(|statement| Some(PrivilegeStatement::Defaults(statement))).map_err(syntax);
    }
    Ok(None)
}

fn grant_or_revoke(parser: &mut Parser) -> Result<PrivilegeStatement, ParserError> {
    let is_grant = verb(parser)?;
    let (option, admin) = if is_grant { (false, false) } else { option_for(parser)? };
    let privileges = privileges(parser)?;
    if word(parser, "on") {
        let on = target(parser)?;
        return rest(parser, is_grant, privileges, on, option).map(PrivilegeStatement::Grant);
    }
    let of = privileges.into_iter().map(|privilege| privilege.name.filter(|_| privilege.columns.is_empty()));
    let Some(of) = of.collect::<Option<Vec<String>>>() else {
        return parser.expected_ref("ON", parser.peek_token_ref());
    };
    expect(parser, if is_grant { "to" } else { "from" })?;
    let members = roles(parser)?;
    let mut admin = admin;
    if is_grant && word(parser, "with") {
        expect(parser, "admin")?;
        expect(parser, "option")?;
        admin = true;
    }
    let granted_by = granted_by(parser)?;
    cascade(parser);
    let membership = MembershipStatement { is_grant, of, members, admin, granted_by };
    Ok(PrivilegeStatement::Membership(membership))
}

fn verb(parser: &mut Parser) -> Result<bool, ParserError> {
    let is_grant = word(parser, "grant");
    if !is_grant {
        expect(parser, "revoke")?;
    }
    Ok(is_grant)
}

/// `GRANT OPTION FOR`, `ADMIN OPTION FOR`: which of them is said.
fn option_for(parser: &mut Parser) -> Result<(bool, bool), ParserError> {
    let (first, is_option) = (parser.peek_token_ref(), is_word(&parser.peek_nth_token_ref(1).token, "option"));
    let (grant, admin) = (is_word(&first.token, "grant"), is_word(&first.token, "admin"));
    if !is_option || !(grant || admin) {
        return Ok((false, false));
    }
    parser.advance_token();
    parser.advance_token();
    expect(parser, "for")?;
    Ok((grant, admin))
}

fn privileges(parser: &mut Parser) -> Result<Vec<NamedPrivilege>, ParserError> {
    parser.parse_comma_separated(|parser| {
        let said = if word(parser, "all") {
            word(parser, "privileges");
            None
        } else {
            Some(name(parser)?)
        };
        let mut columns = Vec::new();
        if parser.consume_token(&Token::LParen) {
            columns = parser.parse_comma_separated(Parser::parse_identifier)?;
            parser.expect_token(&Token::RParen)?;
        }
        Ok(NamedPrivilege { name: said, columns })
    })
}

fn object_names(parser: &mut Parser) -> Result<Vec<ObjectName>, ParserError> {
    parser.parse_comma_separated(|parser| parser.parse_object_name(false))
}

fn target(parser: &mut Parser) -> Result<Target, ParserError> {
    if word(parser, "all") {
        let kind = name(parser)?;
        expect(parser, "in")?;
        expect(parser, "schema")?;
        let schemas = parser.parse_comma_separated(name)?;
        return Ok(match kind.as_str() {
            "tables" => Target::TablesIn(schemas),
            "sequences" => Target::SequencesIn(schemas),
            _ => Target::Other(kind),
        });
    }
    // A table may be called as kinds of objects are.
    let is_kind = matches!(parser.peek_nth_token_ref(1).token, Token::Word(_))
        && !is_word(&parser.peek_nth_token_ref(1).token, "to")
        && !is_word(&parser.peek_nth_token_ref(1).token, "from");
    if !is_kind {
        return Ok(Target::Tables(object_names(parser)?));
    }
    let kind = name(parser)?;
    Ok(match kind.as_str() {
        "table" => Target::Tables(object_names(parser)?),
        "sequence" => Target::Sequences(object_names(parser)?),
        "type" | "domain" => Target::Types(object_names(parser)?),
        "schema" => Target::Schemas(parser.parse_comma_separated(name)?),
        "database" => Target::Databases(parser.parse_comma_separated(name)?),
        _ => {
            while !matches!(parser.peek_token_ref().token, Token::EOF | Token::SemiColon)
                && !is_word(&parser.peek_token_ref().token, "to")
                && !is_word(&parser.peek_token_ref().token, "from")
            {
                parser.advance_token();
            }
            Target::Other(kind)
        }
    })
}

fn granted_by(parser: &mut Parser) -> Result<Option<RoleSpec>, ParserError> {
    if !word(parser, "granted") {
        return Ok(None);
    }
    expect(parser, "by")?;
    super::roles::role(parser).map(Some)
}

/// What follows the object.
fn rest<T>(
    parser: &mut Parser,
    is_grant: bool,
    privileges: Vec<NamedPrivilege>,
    on: T,
    mut option: bool,
) -> Result<GrantStatement<T>, ParserError> {
    expect(parser, if is_grant { "to" } else { "from" })?;
    word(parser, "group");
    let roles = roles(parser)?;
    if is_grant && word(parser, "with") {
        expect(parser, "grant")?;
        expect(parser, "option")?;
        option = true;
    }
    let granted_by = granted_by(parser)?;
    let cascade = cascade(parser);
    Ok(GrantStatement { is_grant, privileges, on, roles, option, granted_by, cascade })
}

fn defaults(parser: &mut Parser) -> Result<DefaultsStatement, ParserError> {
    (0..3).for_each(|_| parser.advance_token());
    let (mut creators, mut schemas) = (Vec::new(), Vec::new());
    loop {
        if word(parser, "for") {
            if !word(parser, "user") {
                expect(parser, "role")?;
            }
            creators = roles(parser)?;
        } else if word(parser, "in") {
            expect(parser, "schema")?;
            schemas = parser.parse_comma_separated(name)?;
        } else {
            break;
        }
    }
    let is_grant = verb(parser)?;
    let (option, _) = if is_grant { (false, false) } else { option_for(parser)? };
    let privileges = privileges(parser)?;
    expect(parser, "on")?;
    let on = name(parser)?;
    Ok(DefaultsStatement { creators, schemas, grant: rest(parser, is_grant, privileges, on, option)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::{Parsed, parse};

    fn parsed(sql: &str) -> PrivilegeStatement {
        match parse(sql) {
            Ok(Parsed::Privilege(statement)) => *statement,
            other => panic!("{sql}: {other:?}"),
        }
    }

    #[test]
    fn privileges_are_on_objects() {
        let PrivilegeStatement::Grant(grant) = parsed(
            "GRANT SELECT (a, b), INSERT ON TABLE s.t, u TO r, PUBLIC, CURRENT_USER WITH GRANT OPTION GRANTED BY o",
        ) else {
            panic!()
        };
        assert_eq!((grant.privileges.len(), grant.privileges[0].columns.len(), grant.roles.len()), (2, 2, 3));
        assert!(matches!(grant.on, Target::Tables(names) if names.len() == 2));
        assert!(grant.option && grant.granted_by.is_some());
        let PrivilegeStatement::Grant(revoke) =
            parsed("REVOKE GRANT OPTION FOR ALL PRIVILEGES ON ALL TABLES IN SCHEMA a, b FROM r CASCADE")
        else {
            panic!()
        };
        assert_eq!((revoke.on, revoke.option, revoke.cascade), {
            (Target::TablesIn(vec!["a".to_owned(), "b".to_owned()]), true, true)
        });
        for (sql, on) in [
            ("GRANT USAGE ON SCHEMA s TO r", Target::Schemas(vec!["s".to_owned()])),
            ("GRANT CONNECT, TEMP ON DATABASE d TO r", Target::Databases(vec!["d".to_owned()])),
            ("GRANT EXECUTE ON FUNCTION f(integer) TO r", Target::Other("function".to_owned())),
        ] {
            let PrivilegeStatement::Grant(grant) = parsed(sql) else { panic!("{sql}") };
            assert_eq!(grant.on, on, "{sql}");
        }
    }

    #[test]
    fn roles_are_granted_to_roles() {
        let PrivilegeStatement::Membership(grant) = parsed("GRANT a, b TO c WITH ADMIN OPTION") else { panic!() };
        assert_eq!((grant.of.len(), grant.members.len(), grant.admin), (2, 1, true));
        let PrivilegeStatement::Membership(revoke) = parsed("REVOKE ADMIN OPTION FOR a FROM c, d CASCADE") else {
            panic!()
        };
        assert_eq!((revoke.is_grant, revoke.admin, revoke.members.len()), (false, true, 2));
    }

    #[test]
    fn new_objects_have_default_privileges() {
        let PrivilegeStatement::Defaults(defaults) =
            parsed("ALTER DEFAULT PRIVILEGES FOR ROLE a IN SCHEMA s GRANT SELECT ON TABLES TO r")
        else {
            panic!()
        };
        assert_eq!((defaults.creators.len(), defaults.schemas.len(), defaults.grant.on.as_str()), (1, 1, "tables"));
    }
}
