//! Which queries cursors may have.

use sqlparser::ast::{SetExpr, Statement};

use super::with_changes;
use crate::sql::cursors::Declaration;
use crate::sql::{self, Parsed};
use crate::{Error, ErrorKind};

/// Refuses queries that no cursor is for.
pub(super) fn check_query(declaration: &Declaration) -> Result<(), Error> {
    let Parsed::Sql(statement) = sql::parse(&declaration.query)? else {
        return Err(Error::syntax("DECLARE CURSOR is for queries"));
    };
    let Statement::Query(query) = statement.as_ref() else {
        return Err(Error::new(ErrorKind::Coded("42P11"), "cannot open SELECT INTO as a cursor"));
    };
    if with_changes::has_changes(query) || sql::is_change(query) {
        return Err(Error::unsupported("DECLARE CURSOR must not contain data-modifying statements in WITH"));
    }
    let locks =
        !query.locks.is_empty() || matches!(query.body.as_ref(), SetExpr::Query(inner) if !inner.locks.is_empty());
    for (is_asked, what) in [
        (declaration.is_holdable, "DECLARE CURSOR WITH HOLD ... FOR UPDATE"),
        (declaration.scroll == Some(true), "DECLARE SCROLL CURSOR ... FOR UPDATE"),
        (declaration.is_insensitive, "DECLARE INSENSITIVE CURSOR ... FOR UPDATE"),
    ] {
        if locks && is_asked {
            return Err(Error::unsupported(format!("{what} is not supported")));
        }
    }
    Ok(())
}
