//! `CREATE TABLE t (LIKE u [INCLUDING DEFAULTS])`: the columns of `u` with their types and NOT NULL, and on demand their
//! defaults. Keys, checks and numbers of identity columns stay with `u`, as in PostgreSQL.

use std::fmt::Write as _;

use sqlparser::ast::{CreateTable, CreateTableLikeDefaults, CreateTableLikeKind, Statement};

use crate::Error;
use crate::catalog::{Entry, Origin};
use crate::sql::{self, Parsed, names};
use crate::statement::Context;

/// `create` with the columns that LIKE stands for.
pub(super) fn written_out(context: &Context<'_>, mut create: CreateTable) -> Result<CreateTable, Error> {
    let parenthesized = |like: &mut CreateTableLikeKind| matches!(like, CreateTableLikeKind::Parenthesized(_));
    let Some(CreateTableLikeKind::Parenthesized(like)) = create.like.take_if(parenthesized) else { return Ok(create) };
    let name = names::relation(&like.name)?;
    let table = match context.entry(&name) {
        None => return Err(Error::not_found(format!("table {name} does not exist"))),
        Some(Entry::View(_)) => {
            return Err(Error::unsupported(format!(
                "LIKE takes a table, and {name} is a view; write CREATE TABLE ... AS SELECT * FROM {name} LIMIT 0"
            )));
        }
        Some(Entry::Table(table)) => table,
    };
    let rules = table.rules();
    let has_defaults = like.defaults == Some(CreateTableLikeDefaults::Including);
    let columns = table.relation.schema().columns().iter().enumerate().map(|(index, column)| {
        let mut text = format!("{} {}", names::quoted(&column.name), column.column_type);
        if !column.nullable {
            text.push_str(" NOT NULL");
        }
        if let (true, Origin::Default(default)) = (has_defaults, rules.origin(index)) {
            let _ = write!(text, " DEFAULT ({default})");
        }
        text
    });
    let text = format!("CREATE TABLE t ({})", columns.collect::<Vec<_>>().join(", "));
    if let Parsed::Sql(statement) = sql::parse(&text)?
        && let Statement::CreateTable(table) = *statement
    {
        create.columns = table.columns;
        return Ok(create);
    }
    Err(Error::internal(format!("CREATE TABLE expected: {text}")))
}
