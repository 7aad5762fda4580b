//! SQL text to syntax trees.
//!
//! What sqlparser reads, it reads, in PostgreSQL's dialect ([`dialect`], [`precedence`]); COPY, EXPORT DATABASE and IMPORT DATABASE
//! have a parser of their own ([`copy`]), because their options are ours and an error shall point at the option, and
//! so have sequences ([`sequence`]), whose options come in any order.
//! Not here: what a statement means (`statement`).

pub(crate) mod alter;
pub(crate) mod arrays;
pub(crate) mod assigned;
pub(crate) mod backup;
pub(crate) mod build;
pub(crate) mod call_syntax;
pub(crate) mod cast_names;
pub(crate) mod check_option;
pub(crate) mod conflict_target;
pub(crate) mod copy;
pub(crate) mod copy_text;
mod create_as;
pub(crate) mod cursors;
pub(crate) mod declared_types;
pub(crate) mod deferrable;
mod depth;
pub(crate) mod dialect;
pub(crate) mod domain;
pub(crate) mod enum_types;
pub(crate) mod expansion;
pub(crate) mod explain;
pub(crate) mod expressions;
pub(crate) mod frames;
pub(crate) mod grants;
mod grouping;
pub(crate) mod headings;
pub(crate) mod in_text;
pub(crate) mod lateral_names;
pub(crate) mod like;
mod merge;
pub(crate) mod named_arguments;
pub(crate) mod names;
pub(crate) mod normalized;
pub(crate) mod notifications;
pub(crate) mod numbers;
pub(crate) mod objects;
pub(crate) mod oid_casts;
mod option_list;
pub(crate) mod options;
mod ordering;
pub(crate) mod overriding;
pub(crate) mod parameters;
pub(crate) mod persistence;
pub(crate) mod pivot;
pub(crate) mod placeholders;
mod precedence;
pub(crate) mod recursive;
mod recursive_view;
pub(crate) mod references;
pub(crate) mod repeated;
pub(crate) mod roles;
pub(crate) mod row_locks;
pub(crate) mod rows;
pub(crate) mod schema_elements;
pub(crate) mod secrets;
pub(crate) mod sequence;
pub(crate) mod set_constraints;
pub(crate) mod set_functions;
pub(crate) mod set_identity;
pub(crate) mod set_returning;
mod set_returning_order;
pub(crate) mod shape;
mod shorthand;
pub(crate) mod slips;
pub(crate) mod split;
pub(crate) mod subscripts;
mod summarize;
mod synonyms;
mod syntax_errors;
mod table;
pub(crate) mod time_syntax;
mod tokens;
pub(crate) mod types;
pub(crate) mod unicode_escapes;
pub(crate) mod unnamed;
pub(crate) mod untyped;
pub(crate) mod values_lists;
pub(crate) mod visit;
pub(crate) mod windows;
pub(crate) mod with_scopes;
mod without_effect;

use sqlparser::ast;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use crate::Error;
use alter::{Action, AlterTable};
use backup::BackupStatement;
use copy::{CopyFrom, CopySource, CopyTo, CopyWhat, CreateFrom, ExportStatement, ImportStatement};
use create_as::WithData;
use cursors::CursorStatement;
use dialect::LongshoreDialect;
use domain::DomainStatement;
use grants::PrivilegeStatement;
use notifications::NotificationStatement;
use objects::ObjectStatement;
use options::shown_place;
use pivot::PivotStatement;
use roles::RoleStatement;
use schema_elements::SchemaElements;
use sequence::SequenceStatement;
use set_constraints::SetConstraints;
use set_identity::SetIdentity;
pub(crate) use syntax_errors::syntax;

/// One statement, parsed.
#[derive(Debug)]
pub(crate) enum Parsed {
    /// White space and comments.
    Empty,
    /// What sqlparser reads.
    Sql(Box<ast::Statement>),
    /// COPY into a table.
    CopyFrom(Box<CopyFrom>),
    /// COPY out of a table or a query.
    CopyTo(Box<CopyTo>),
    /// CREATE TABLE AS FROM.
    CreateFrom(Box<CreateFrom>),
    /// EXPORT DATABASE.
    Export(ExportStatement),
    /// IMPORT DATABASE.
    Import(ImportStatement),
    /// CREATE SEQUENCE and ALTER SEQUENCE.
    Sequence(SequenceStatement),
    /// ALTER TABLE.
    AlterTable(Box<AlterTable>),
    /// What is said of objects as wholes.
    Object(Box<ObjectStatement>),
    /// CREATE DOMAIN and ALTER DOMAIN.
    Domain(Box<DomainStatement>),
    /// CHECKPOINT.
    Checkpoint,
    /// BACKUP DATABASE.
    Backup(BackupStatement),
    /// SUMMARIZE of a query.
    Summarize(Box<ast::Query>),
    /// PIVOT and UNPIVOT.
    Pivot(Box<PivotStatement>),
    /// CREATE SCHEMA with what is made in it.
    SchemaElements(SchemaElements),
    /// SET CONSTRAINTS.
    SetConstraints(SetConstraints),
    /// LISTEN, UNLISTEN and NOTIFY.
    Notification(NotificationStatement),
    /// What there is to say of roles.
    Role(Box<RoleStatement>),
    /// SET ROLE and SET SESSION AUTHORIZATION.
    Identity(SetIdentity),
    /// GRANT, REVOKE and ALTER DEFAULT PRIVILEGES.
    Privilege(Box<PrivilegeStatement>),
    /// DECLARE, FETCH, MOVE and CLOSE.
    Cursor(Box<CursorStatement>),
}

/// Parses exactly one statement, with or without a semicolon behind it.
pub(crate) fn parse(sql: &str) -> Result<Parsed, Error> {
    depth::with_stack(sql, || parse_limited(sql))
}

/// The cursor from which a statement fetches, if it is a FETCH.
pub(crate) fn fetched_cursor(sql: &str) -> Option<String> {
    match parse(sql).ok()? {
        Parsed::Cursor(statement) => match *statement {
            CursorStatement::Fetch(fetch) if !fetch.is_move => Some(fetch.name),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a statement may ask for settings: by `current_setting` or `pg_settings`.
pub(crate) fn asks_for_settings(sql: &str) -> bool {
    const WORD: &[u8] = b"_setting";
    /// What lies behind is data.
    const LOOKED_AT: usize = 1 << 16;
    let looked_at = &sql.as_bytes()[..sql.len().min(LOOKED_AT)];
    looked_at.windows(WORD.len()).any(|part| part.eq_ignore_ascii_case(WORD))
}

/// Parses exactly one query, of a view also with the words of its check option behind it.
pub(crate) fn parse_query(sql: &str) -> Result<Box<ast::Query>, Error> {
    match parse(check_option::CheckOption::of_text(sql).0)? {
        Parsed::Sql(statement) => match *statement {
            ast::Statement::Query(query) => Ok(query),
            // What SELECT INTO is.
            ast::Statement::CreateTable(_) => Err(Error::unsupported("views must not contain SELECT INTO")),
            other => Err(Error::internal(format!("a query expected, found {other}"))),
        },
        other => Err(Error::internal(format!("a query expected, found {other:?}"))),
    }
}

/// Parses one expression as it stands in the list of a SELECT.
pub(crate) fn parse_expression(text: &str) -> Result<ast::Expr, Error> {
    let query = parse_query(&format!("SELECT {text}"))?;
    match *query.body {
        ast::SetExpr::Select(mut select) => match (select.projection.pop(), select.projection.is_empty()) {
            (Some(ast::SelectItem::UnnamedExpr(expr)), true) => Ok(expr),
            _ => Err(Error::internal(format!("an expression expected, found {text}"))),
        },
        other => Err(Error::internal(format!("an expression expected, found {other}"))),
    }
}

/// The tokens of a text.
fn tokens_of(sql: &str) -> Result<Vec<TokenWithSpan>, Error> {
    let tokens = Tokenizer::new(&LongshoreDialect, sql).tokenize_with_location();
    let tokens = tokens.map_err(|error| syntax(error.into()))?;
    numbers::refuse_hexadecimal(sql, &tokens)?;
    numbers::refuse_junk(&tokens)?;
    Ok(tokens)
}

fn parse_limited(sql: &str) -> Result<Parsed, Error> {
    let sql = &*unicode_escapes::written_out(sql)?;
    let mut tokens = tokens_of(sql)?;
    if let Some(parts) = schema_elements::split(sql, &tokens)? {
        return Ok(Parsed::SchemaElements(parts));
    }
    if let Some(cursor) = cursors::statement(sql, &tokens)? {
        return Ok(Parsed::Cursor(Box::new(cursor)));
    }
    cursors::refuse_current_of(&tokens)?;
    synonyms::spell_out(&mut tokens);
    like::read_tokens(&mut tokens);
    let has_conflict_targets = conflict_target::read_tokens(&mut tokens);
    let has_subscripts = subscripts::read_tokens(&mut tokens);
    without_effect::leave_out(&mut tokens);
    recursive_view::spell_out(&mut tokens);
    table::spell_out(&mut tokens);
    set_returning::read_tokens(&mut tokens);
    frames::spell_out(&mut tokens);
    ordering::spell_out(&mut tokens);
    grouping::flatten(&mut tokens);
    row_locks::spell_out(&mut tokens);
    let deferrable = deferrable::take(&mut tokens);
    let overriding = overriding::take(&mut tokens);
    let is_unlogged = persistence::take(&mut tokens);
    let is_without_data = create_as::take_with_data(&mut tokens) == Some(WithData::No);
    let check_option = check_option::take(&mut tokens);
    let has_shorthand = shorthand::may_stand_in(&tokens);
    let has_call_syntax = call_syntax::may_stand_in(&tokens);
    depth::check_tokens(&tokens)?;
    let mut parser =
        Parser::new(&LongshoreDialect).with_recursion_limit(depth::NESTING_MAX).with_tokens_with_locations(tokens);
    let mut parsed = parse_one(&mut parser)?;
    if is_unlogged {
        persistence::put(&mut parsed);
    }
    if is_without_data {
        create_as::put_no_data(&mut parsed)?;
    }
    if has_conflict_targets {
        conflict_target::put(&mut parsed);
    }
    match &mut parsed {
        Parsed::Sql(statement) => {
            depth::limit_depth(statement.as_mut())?;
            if has_subscripts {
                subscripts::write_out(statement.as_mut())?;
            }
            if has_call_syntax {
                call_syntax::write_out(statement.as_mut())?;
            }
            if has_shorthand {
                shorthand::write_out(statement.as_mut())?;
            }
            if let Some(overriding) = overriding {
                overriding::put(overriding, statement);
            }
            if let Some(is_deferrable) = deferrable {
                deferrable::put(is_deferrable, statement);
            }
            if let Some(check_option) = check_option {
                check_option::put(check_option, statement);
            }
            shorthand::select_into(statement);
        }
        other => write_out_parts(other)?,
    }
    Ok(parsed)
}

/// Writes out what the queries and expressions of a statement of our own syntax have of it.
fn write_out_parts(parsed: &mut Parsed) -> Result<(), Error> {
    match parsed {
        Parsed::CopyFrom(copy) => {
            if let CopySource::Query(query) = &mut copy.source {
                write_out_query(query)?;
            }
            if let Some(condition) = &mut copy.condition {
                depth::limit_depth(condition)?;
                call_syntax::write_out(condition)?;
            }
        }
        Parsed::CopyTo(copy) => {
            if let CopyWhat::Query(query) = &mut copy.what {
                write_out_query(query)?;
            }
        }
        Parsed::Summarize(query) => {
            write_out_query(query)?;
        }
        Parsed::AlterTable(alter) => {
            for action in &mut alter.actions {
                if let Action::Plain(operation) = action {
                    depth::limit_depth(operation.as_mut())?;
                    call_syntax::write_out(operation.as_mut())?;
                }
            }
        }
        Parsed::Domain(domain) => {
            for expr in domain.expressions() {
                depth::limit_depth(expr)?;
                call_syntax::write_out(expr)?;
            }
        }
        Parsed::Empty
        | Parsed::Sql(_)
        | Parsed::CreateFrom(_)
        | Parsed::Export(_)
        | Parsed::Import(_)
        | Parsed::Sequence(_)
        | Parsed::Object(_)
        | Parsed::Checkpoint
        | Parsed::Backup(_)
        | Parsed::Pivot(_)
        | Parsed::SchemaElements(_)
        | Parsed::SetConstraints(_)
        | Parsed::Notification(_)
        | Parsed::Role(_)
        | Parsed::Identity(_)
        | Parsed::Privilege(_)
        | Parsed::Cursor(_) => {}
    }
    Ok(())
}

/// Writes out what a query that stands in another statement has of our own syntax.
fn write_out_query(query: &mut ast::Query) -> Result<(), Error> {
    depth::limit_depth(query)?;
    call_syntax::write_out(query)?;
    shorthand::write_out(query)
}

fn parse_one(parser: &mut Parser) -> Result<Parsed, Error> {
    while parser.consume_token(&Token::SemiColon) {}
    if parser.peek_token_ref().token == Token::EOF {
        return Ok(Parsed::Empty);
    }
    let parsed = if let Some(parsed) = copy::own_statement(parser)? {
        parsed
    } else if let Some(statement) = sequence::statement(parser)? {
        Parsed::Sequence(statement)
    } else if let Some(backup) = backup::statement(parser)? {
        Parsed::Backup(backup)
    } else if backup::is_checkpoint(parser) {
        parser.advance_token();
        Parsed::Checkpoint
    } else if let Some(query) = summarize::summarized(parser)? {
        Parsed::Summarize(query)
    } else if let Some(pivot) = pivot::statement(parser)? {
        Parsed::Pivot(Box::new(pivot))
    } else if let Some(create) = create_as::create_table_as(parser)? {
        Parsed::Sql(Box::new(create))
    } else if let Some(statement) = roles::statement(parser)? {
        Parsed::Role(Box::new(statement))
    } else if let Some(set) = set_identity::statement(parser)? {
        Parsed::Identity(set)
    } else if let Some(statement) = grants::statement(parser)? {
        Parsed::Privilege(Box::new(statement))
    } else if let Some(alter) = alter::statement(parser)? {
        Parsed::AlterTable(Box::new(alter))
    } else if let Some(statement) = objects::statement(parser)? {
        Parsed::Object(Box::new(statement))
    } else if let Some(statement) = set_constraints::statement(parser)? {
        Parsed::SetConstraints(statement)
    } else if let Some(statement) = notifications::statement(parser)? {
        Parsed::Notification(statement)
    } else if let Some(statement) = domain::statement(parser)? {
        Parsed::Domain(Box::new(statement))
    } else {
        Parsed::Sql(Box::new(parser.parse_statement().map_err(syntax)?))
    };
    let mut ended = false;
    while parser.consume_token(&Token::SemiColon) {
        ended = true;
    }
    let next = parser.peek_token();
    if next.token == Token::EOF {
        return Ok(parsed);
    }
    Err(Error::syntax(if ended {
        format!(
            "one statement at a time is expected, but another one begins with {} at {}",
            names::shown(&next.token),
            shown_place(next.span.start)
        )
    } else {
        format!("the statement should end before {} at {}", names::shown(&next.token), shown_place(next.span.start))
    }))
}

/// Whether a query is WITH before a statement that changes rows.
pub(crate) fn is_change(query: &ast::Query) -> bool {
    matches!(
        *query.body,
        ast::SetExpr::Insert(_) | ast::SetExpr::Update(_) | ast::SetExpr::Delete(_) | ast::SetExpr::Merge(_)
    )
}

#[cfg(test)]
mod tests;
