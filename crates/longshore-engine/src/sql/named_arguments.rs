//! Arguments by name that stand behind others which are left out: `jsonb_path_query(j, p, silent => true)`.
//!
//! What is written `silent := true` means the same. The planner wants all arguments before the last one, so those that are
//! left out get their defaults. Not here: functions of one argument more or less.

use std::convert::Infallible;
use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgOperator, FunctionArguments, Ident,
    Statement, Value, VisitorMut,
};

use crate::sql::build;
use crate::sql::visit::VisitMut;

/// The beginnings of names of functions, and the parameters that have defaults.
const DEFAULTS: [(&str, &[(&str, Default)]); 2] = [
    ("jsonb_path_", &[("vars", Default::Text("{}")), ("silent", Default::Flag(false))]),
    (
        "jsonb_set_lax",
        &[("create_if_missing", Default::Flag(true)), ("null_value_treatment", Default::Text("use_json_null"))],
    ),
];

#[derive(Clone, Copy)]
enum Default {
    Text(&'static str),
    Flag(bool),
}

/// Writes out what is left out in calls of `statement`.
pub(crate) fn write_out(statement: &mut Statement) {
    let ControlFlow::Continue(()) = VisitMut::visit(statement, &mut Writer);
}

struct Writer;

impl VisitorMut for Writer {
    type Break = Infallible;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        if let Expr::Function(Function { args: FunctionArguments::List(list), .. }) = expr {
            list.args.iter_mut().for_each(assigned);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        if let Expr::Function(Function { name, args: FunctionArguments::List(list), .. }) = expr
            && list.args.iter().any(|arg| named(arg).is_some())
        {
            complete(&name.to_string().to_lowercase(), &mut list.args);
        }
        ControlFlow::Continue(())
    }
}

/// Takes `name := value`, which is parsed as an operator, for what it is.
fn assigned(arg: &mut FunctionArg) {
    if let FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::BinaryOp { left, op: BinaryOperator::Assignment, right })) =
        arg
        && let Expr::Identifier(name) = left.as_ref()
    {
        let value = std::mem::replace(right.as_mut(), Expr::Value(Value::Null.into()));
        *arg = FunctionArg::Named {
            name: name.clone(),
            arg: FunctionArgExpr::Expr(value),
            operator: FunctionArgOperator::RightArrow,
        };
    }
}

fn named(arg: &FunctionArg) -> Option<String> {
    match arg {
        FunctionArg::Named { name, .. } | FunctionArg::ExprNamed { name: Expr::Identifier(name), .. } => {
            Some(name.value.to_lowercase())
        }
        _ => None,
    }
}

fn complete(function: &str, args: &mut Vec<FunctionArg>) {
    let Some((_, defaults)) = DEFAULTS.iter().find(|(start, _)| function.starts_with(start)) else { return };
    let given: Vec<String> = args.iter().filter_map(named).collect();
    let last = defaults.iter().rposition(|(name, _)| given.iter().any(|given| given == name));
    // Two arguments come before those of paths, three before those of jsonb_set_lax.
    let positional = args.iter().filter(|arg| named(arg).is_none()).count();
    let before = if function.starts_with("jsonb_set") { 3 } else { 2 };
    for (place, (name, default)) in defaults.iter().enumerate().take(last.unwrap_or(0)) {
        let is_given = given.iter().any(|given| given == name) || positional > before + place;
        if !is_given {
            let value = match default {
                Default::Text(text) => Value::SingleQuotedString((*text).to_owned()),
                Default::Flag(flag) => Value::Boolean(*flag),
            };
            args.push(FunctionArg::Named {
                name: Ident::new(*name),
                arg: FunctionArgExpr::Expr(build::value(value)),
                operator: FunctionArgOperator::RightArrow,
            });
        }
    }
}
