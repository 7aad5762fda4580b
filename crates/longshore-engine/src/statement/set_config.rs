//! `SELECT set_config(name, value, is_local)`: SET as a function, as scripts of PostgreSQL use it, and by itself only.

use std::sync::Arc;

use arrow_array::{RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use sqlparser::ast::{
    ContextModifier, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName, ObjectNamePart,
    SelectItem, Set, SetExpr, Statement, Value,
};

use super::client_settings::{ROLE, Reach, SESSION_AUTHORIZATION};
use super::{SessionContext, follow_path, identity, rights, set};
use crate::sql::names;
use crate::sql::set_identity::SetIdentity;
use crate::{Error, Outcome, RowStream};

/// Executes `statement` if it is nothing but a call of the function.
pub(super) fn set_config(session: &mut SessionContext<'_>, statement: &Statement) -> Option<Result<Outcome, Error>> {
    let Statement::Query(query) = statement else { return None };
    let SetExpr::Select(select) = query.body.as_ref() else { return None };
    let [SelectItem::UnnamedExpr(Expr::Function(function))] = select.projection.as_slice() else { return None };
    let [ObjectNamePart::Identifier(name)] = function.name.0.as_slice() else { return None };
    if !select.from.is_empty() || !name.value.eq_ignore_ascii_case("set_config") {
        return None;
    }
    let FunctionArguments::List(list) = &function.args else { return None };
    let arguments = list.args.iter().map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value))) => Some(&value.value),
        _ => None,
    });
    let arguments: Option<Vec<&Value>> = arguments.collect();
    match arguments.as_deref() {
        Some([Value::SingleQuotedString(name), Value::SingleQuotedString(value), Value::Boolean(is_local)]) => {
            Some(run(session, name, value, *is_local))
        }
        _ => Some(Err(Error::unsupported("set_config takes two texts and true or false, as they are written"))),
    }
}

fn run(session: &mut SessionContext<'_>, name: &str, value: &str, is_local: bool) -> Result<Outcome, Error> {
    set_text(session, name, value, is_local)?;
    let schema = Schema::new(vec![Field::new("set_config", DataType::Utf8, true)]);
    let row = RecordBatch::try_new(Arc::new(schema), vec![Arc::new(StringArray::from(vec![value]))]);
    Ok(Outcome::Rows(RowStream::from_batch(row.map_err(|error| Error::internal(error.to_string()))?)))
}

/// Lets the session of a role begin with settings. What of them is no setting any more is left out.
pub(crate) fn begin_session(session: &mut SessionContext<'_>, settings: &[(String, String)]) {
    for (name, value) in settings {
        // Nobody is there yet to be told.
        let _ = set_text(session, name, value, false);
    }
    let _ = follow_path(session, Outcome::done(""));
}

/// Sets something to what a text says.
pub(super) fn set_text(session: &mut SessionContext<'_>, name: &str, value: &str, is_local: bool) -> Result<(), Error> {
    if session.block.numbers().checked_role(&session.database.catalog).is_some() {
        rights::check_set(name)?;
    }
    let is_session = name.eq_ignore_ascii_case(SESSION_AUTHORIZATION);
    if is_session || name.eq_ignore_ascii_case(ROLE) {
        let role = (is_session || value != "none").then(|| value.to_owned());
        let set = SetIdentity { is_session, is_local, role, is_reset: false };
        return identity::set(session, &set).map(|_| ());
    }
    if name.eq_ignore_ascii_case("search_path") {
        super::schemas::path_of(value)?;
        session.settings.keep("search_path", value, Reach::new(is_local, session.block.is_open()));
        follow_path(session, Outcome::done("SET"))?;
    } else {
        let values = vec![Expr::Value(Value::SingleQuotedString(value.to_owned()).into())];
        let variable = ObjectName::from(vec![Ident::new(name)]);
        let scope = is_local.then_some(ContextModifier::Local);
        let statement = Statement::Set(Set::SingleAssignment { scope, hivevar: false, variable, values });
        let unknown =
            || Err(Error::no_object(format!("unrecognized configuration parameter {}", names::literal(name))));
        let done = set(session, &statement).unwrap_or_else(unknown)?;
        follow_path(session, done)?;
    }
    Ok(())
}
