//! `'t'::regclass`, `1::oid` and their like as calls of functions, which know what the session sees.
//!
//! `nextval('s'::regclass)` is `nextval('s')`, since that function finds sequences by their names.

use std::convert::Infallible;
use std::ops::ControlFlow;

use crate::sql::visit::VisitMut;
use sqlparser::ast::{
    Array, ArrayElemTypeDef, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectNamePart,
    Statement, Value, VisitorMut,
};

use super::build;

/// Types whose values are OIDs, each with a function of its name.
const TYPES: [&str; 10] = [
    "oid",
    "xid",
    "regclass",
    "regnamespace",
    "regoper",
    "regoperator",
    "regproc",
    "regprocedure",
    "regrole",
    "regtype",
];

/// Functions that find sequences by their names.
const OF_SEQUENCES: [&str; 3] = ["nextval", "currval", "setval"];

/// Writes such casts of `statement` as calls.
pub(crate) fn write_out(statement: &mut Statement) {
    let ControlFlow::Continue(()) = VisitMut::visit(statement, &mut Writer);
}

struct Writer;

/// The type of OIDs that it is.
pub(crate) fn known(data_type: &DataType) -> Option<&'static str> {
    let name = match data_type {
        DataType::Regclass => "regclass",
        DataType::Custom(name, modifiers) if modifiers.is_empty() => match name.0.as_slice() {
            [ObjectNamePart::Identifier(name)] => name.value.as_str(),
            _ => return None,
        },
        _ => return None,
    };
    named(name)
}

/// The type of OIDs of this name.
pub(crate) fn named(name: &str) -> Option<&'static str> {
    TYPES.into_iter().find(|known| known.eq_ignore_ascii_case(name))
}

impl VisitorMut for Writer {
    type Break = Infallible;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        if let Expr::Function(Function { name, args: FunctionArguments::List(list), .. }) = expr
            && let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))) = list.args.first_mut()
            && let Expr::Cast { expr: inner, data_type, .. } = argument
            && matches!(inner.as_ref(), Expr::Value(_))
            && known(data_type) == Some("regclass")
            && OF_SEQUENCES.iter().any(|known| name.to_string().eq_ignore_ascii_case(known))
        {
            *argument = std::mem::replace(inner, build::value(Value::Null));
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        match expr {
            Expr::Cast { expr: inner, data_type, .. } => {
                if let DataType::Array(of) = data_type
                    && let ArrayElemTypeDef::SquareBracket(of, _) = of
                    && let Some(name) = known(of)
                    && let Some(elements) = elements(inner)
                {
                    let read = elements.into_iter().map(|element| build::call(name, vec![element]));
                    *expr = Expr::Array(Array { elem: read.collect(), named: true });
                } else if let Some(name) = known(data_type) {
                    let inner = std::mem::replace(inner.as_mut(), build::value(Value::Null));
                    *expr = build::call(name, vec![inner]);
                }
            }
            Expr::TypedString(typed) => {
                if let Some(name) = known(&typed.data_type) {
                    *expr = build::call(name, vec![Expr::Value(typed.value.clone())]);
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// The elements of an array that is written out, as a literal or by ARRAY; `None` if it is empty or anything else.
fn elements(array: &Expr) -> Option<Vec<Expr>> {
    match array {
        Expr::Array(Array { elem, .. }) if !elem.is_empty() => Some(elem.clone()),
        Expr::Value(value) => {
            let Value::SingleQuotedString(text) = &value.value else { return None };
            let inner = text.trim().strip_prefix('{')?.strip_suffix('}')?;
            if inner.trim().is_empty() || inner.contains(['{', '\\']) {
                return None;
            }
            Some(split(inner).into_iter().map(build::value).collect())
        }
        Expr::Nested(inner) => elements(inner),
        _ => None,
    }
}

/// The texts between the commas that are not in quotes, without these quotes; NULL is none without them.
fn split(list: &str) -> Vec<Value> {
    let (mut all, mut quoted) = (vec![(String::new(), false)], false);
    for character in list.chars() {
        match (character, all.last_mut()) {
            ('"', Some((_, has_quotes))) => {
                quoted = !quoted;
                *has_quotes = true;
            }
            (',', _) if !quoted => all.push((String::new(), false)),
            (_, Some((last, _))) => last.push(character),
            (_, None) => {}
        }
    }
    let value = |(text, has_quotes): (String, bool)| match text.trim() {
        text if !has_quotes && text.eq_ignore_ascii_case("null") => Value::Null,
        text => Value::SingleQuotedString(text.to_owned()),
    };
    all.into_iter().map(value).collect()
}
