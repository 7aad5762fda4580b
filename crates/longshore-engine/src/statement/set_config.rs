//! `SELECT set_config(name, value, is_local)`: SET as a function, as scripts and programs of PostgreSQL use it:
//! by itself, or beside `current_setting`.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use sqlparser::ast::{
    ContextModifier, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName,
    ObjectNamePart, SelectItem, Set, SetExpr, Statement, Value,
};

use super::client_settings::{ROLE, Reach, SESSION_AUTHORIZATION};
use super::settings::bool_of;
use super::{SessionContext, follow_path, identity, rights, set, show};
use crate::sql::names;
use crate::sql::parameters::number_of;
use crate::sql::set_identity::SetIdentity;
use crate::{Description, Error, Outcome, ResultColumns, RowStream, TypeId};

/// Executes `statement` if it does nothing but call the function, once or several times, perhaps beside `current_setting`.
pub(super) fn set_config(session: &mut SessionContext<'_>, statement: &Statement) -> Option<Result<Outcome, Error>> {
    calls(statement).map(|calls| run(session, &calls))
}

/// Whether a statement does nothing else.
pub(super) fn calls_it(statement: &Statement) -> bool {
    calls(statement).is_some()
}

/// What such a statement takes, so many parameters, and gives.
pub(super) fn describe(statement: &Statement, parameters: usize) -> Description {
    const BOOL: u32 = 16;
    const TEXT: u32 = 25;
    let mut types = vec![TEXT; parameters];
    let calls = calls(statement).unwrap_or_default();
    for (call, _) in &calls {
        if let Call::Set(function) = call
            && let Some([_, _, Value::Placeholder(name)]) = arguments(function).as_deref()
            && let Some(of_parameter) = number_of(name).ok().and_then(|number| types.get_mut(number))
        {
            *of_parameter = BOOL;
        }
    }
    let fields = calls.iter().map(|(_, heading)| Field::new(heading, DataType::Utf8, true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let columns = schema.fields().iter().map(|field| TypeId::of_values(field.data_type())).collect();
    Description { parameters: types, columns: Some(ResultColumns { schema, types: columns }) }
}

/// The calls that a statement consists of, if one of them is of this function.
fn calls(statement: &Statement) -> Option<Vec<(Call<'_>, String)>> {
    let Statement::Query(query) = statement else { return None };
    let SetExpr::Select(select) = query.body.as_ref() else { return None };
    let calls: Option<Vec<(Call<'_>, String)>> = select.projection.iter().map(call).collect();
    let calls = calls.filter(|_| select.from.is_empty() && select.selection.is_none())?;
    calls.iter().any(|(call, _)| matches!(call, Call::Set(_))).then_some(calls)
}

/// A call in the list of a SELECT.
enum Call<'a> {
    Set(&'a Function),
    /// The name of a setting that is asked for.
    Current(&'a str),
}

/// A call and its heading, if an item is one of these.
fn call(item: &SelectItem) -> Option<(Call<'_>, String)> {
    let (expr, alias) = match item {
        SelectItem::UnnamedExpr(expr) => (expr, None),
        SelectItem::ExprWithAlias { expr, alias } => (expr, Some(names::identifier(alias).ok()?)),
        _ => return None,
    };
    let Expr::Function(function) = expr else { return None };
    let Some(ObjectNamePart::Identifier(name)) = function.name.0.last() else { return None };
    let name = name.value.to_ascii_lowercase();
    let call = match (name.as_str(), arguments(function).as_deref()) {
        ("set_config", _) => Call::Set(function),
        ("current_setting", Some([Value::SingleQuotedString(setting)])) => Call::Current(setting),
        _ => return None,
    };
    Some((call, alias.unwrap_or(name)))
}

/// The arguments of a call, if all are literals.
fn arguments(function: &Function) -> Option<Vec<&Value>> {
    let FunctionArguments::List(list) = &function.args else { return None };
    let arguments = list.args.iter().map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) => literal(argument),
        _ => None,
    });
    arguments.collect()
}

/// A literal or a parameter, perhaps with its type: `$2::text`.
fn literal(expr: &Expr) -> Option<&Value> {
    match expr {
        Expr::Value(value) => Some(&value.value),
        Expr::Nested(inner) | Expr::Cast { expr: inner, .. } => literal(inner),
        _ => None,
    }
}

fn run(session: &mut SessionContext<'_>, calls: &[(Call<'_>, String)]) -> Result<Outcome, Error> {
    let mut values = Vec::with_capacity(calls.len());
    for (call, _) in calls {
        values.push(match call {
            Call::Set(function) => set_as_called(session, function)?,
            Call::Current(name) => {
                let all = show::all_settings(session.database, session.block, session.settings);
                let found = all.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
                found.map(|(_, value)| value).ok_or_else(|| unknown(name))?
            }
        });
    }
    let fields = calls.iter().map(|(_, heading)| Field::new(heading, DataType::Utf8, true));
    let schema = Schema::new(fields.collect::<Vec<_>>());
    let columns = values.into_iter().map(|value| Arc::new(StringArray::from(vec![value])) as ArrayRef);
    let row = RecordBatch::try_new(Arc::new(schema), columns.collect());
    Ok(Outcome::Rows(RowStream::from_batch(row.map_err(|error| Error::internal(error.to_string()))?)))
}

/// Sets what a call asks for; returns the value.
fn set_as_called(session: &mut SessionContext<'_>, function: &Function) -> Result<String, Error> {
    let refused = || Error::unsupported("set_config takes two texts and true or false, as they are written");
    let arguments = arguments(function).ok_or_else(refused)?;
    let [Value::SingleQuotedString(name), value, is_local] = arguments.as_slice() else { return Err(refused()) };
    let is_local = match is_local {
        Value::Boolean(is_local) => *is_local,
        Value::SingleQuotedString(word) => bool_of(&word.to_lowercase()).ok_or_else(refused)?,
        Value::Null => false,
        _ => return Err(refused()),
    };
    let value = match value {
        Value::SingleQuotedString(value) | Value::Number(value, _) => value.clone(),
        Value::Boolean(value) => value.to_string(),
        _ => return Err(refused()),
    };
    set_text(session, name, &value, is_local)?;
    Ok(value)
}

fn unknown(name: &str) -> Error {
    Error::no_object(format!("unrecognized configuration parameter {}", names::literal(name)))
}

/// Lets the session of a role begin with settings. What of them is no setting any more is left out.
pub(crate) fn begin_session(session: &mut SessionContext<'_>, settings: &[(String, String)]) {
    for (name, value) in settings {
        // Nobody is there yet to be told.
        let _ = put_text(session, name, value, false);
    }
    let _ = follow_path(session, Outcome::done(""));
}

/// Sets something to what a text says.
pub(super) fn set_text(session: &mut SessionContext<'_>, name: &str, value: &str, is_local: bool) -> Result<(), Error> {
    if session.block.numbers().checked_role(&session.database.catalog).is_some() {
        rights::check_set(name)?;
    }
    put_text(session, name, value, is_local)
}

/// The same for whom that was allowed before.
fn put_text(session: &mut SessionContext<'_>, name: &str, value: &str, is_local: bool) -> Result<(), Error> {
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
        let done = set(session, &statement).unwrap_or_else(|| Err(unknown(name)))?;
        follow_path(session, done)?;
    }
    Ok(())
}
