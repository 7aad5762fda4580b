//! `current_setting(name [, missing_ok])` in a statement: settings belong to the session, which the planner does not know. So a
//! call is done before the statement is planned, and its result stands in its place. Not here: `set_config`.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Statement, Value, VisitMut, VisitorMut,
};

use crate::sql::expressions::flow;
use crate::statement::ClientSettings;
use crate::{Error, ErrorKind};

/// Does the calls in `statement`, whose text is `sql`.
///
/// # Errors
/// For a setting that does not exist, or does not take the value.
pub(super) fn done(sql: &str, statement: &mut Statement, settings: &ClientSettings) -> Result<(), Error> {
    if !sql.to_ascii_lowercase().contains("current_setting") {
        return Ok(());
    }
    match VisitMut::visit(statement, &mut Calls(settings)) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Calls<'a>(&'a ClientSettings);

impl VisitorMut for Calls<'_> {
    type Break = Error;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        let Expr::Function(function) = expr else { return ControlFlow::Continue(()) };
        if !function.name.to_string().eq_ignore_ascii_case("current_setting") {
            return ControlFlow::Continue(());
        }
        flow(shown(self.0, function).map(|value| *expr = Expr::Value(value.into())))
    }
}

/// The arguments, which are constants.
fn arguments(function: &Function) -> Result<Vec<&Value>, Error> {
    let FunctionArguments::List(list) = &function.args else { return Ok(Vec::new()) };
    let constants = list.args.iter().map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value))) => Ok(&value.value),
        _ => Err(Error::unsupported(format!("{}: the arguments must be constants", function.name))),
    });
    constants.collect()
}

fn value_of(settings: &ClientSettings, name: &str) -> Option<String> {
    settings.shown().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

fn unknown(name: &str) -> Error {
    Error::new(ErrorKind::NoObject, format!("unrecognized configuration parameter \"{name}\""))
}

fn shown(settings: &ClientSettings, function: &Function) -> Result<Value, Error> {
    let (name, may_miss) = match arguments(function)?.as_slice() {
        [Value::SingleQuotedString(name)] => (name, false),
        [Value::SingleQuotedString(name), Value::Boolean(may_miss)] => (name, *may_miss),
        _ => return Err(Error::invalid("current_setting takes the name of a setting, and whether it may be missing")),
    };
    match value_of(settings, name) {
        Some(value) => Ok(Value::SingleQuotedString(value)),
        None if may_miss => Ok(Value::Null),
        None => Err(unknown(name)),
    }
}
