//! What is said of arrays, written out as calls of functions: subscripts, slices, `= ANY (array)`, `ARRAY(SELECT ...)`.
//!
//! The planner reads subscripts one by one, which tells it nothing of the dimensions that are meant, and takes ANY for
//! something else. The functions have names that nobody writes.

use std::convert::Infallible;
use std::ops::ControlFlow;

use sqlparser::ast::{
    AccessExpr, ArrayElemTypeDef, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Query,
    Statement, Subscript, TableAliasColumnDef, TableFactor, Value, VisitorMut,
};

use crate::sql::visit::VisitMut;
use crate::sql::{build, headings, names};

/// The element of an array at subscripts.
pub(crate) const SUBSCRIPT: &str = "array element at";
/// The part of an array between bounds.
pub(crate) const SLICE: &str = "array slice";
/// A field of a row, with its name as a text.
pub(crate) const FIELD: &str = "field of row";
/// `x op ANY (array)`, with the operator first.
pub(crate) const ANY_OF: &str = "any of array";
/// `x op ALL (array)`.
pub(crate) const ALL_OF: &str = "all of array";
/// An array, or an empty one for NULL.
const OR_EMPTY: &str = "array or empty";

/// Functions in FROM that read files: what they are told is read as it is written (`datafusion::files`).
const OF_FILES: [&str; 6] = ["read_arrow", "read_csv", "read_json", "read_parquet", "read_text", "sniff_csv"];

/// Dimensions of an array, at most; as in PostgreSQL.
pub(crate) const DIMENSIONS_MAX: usize = 6;

/// Writes what `statement` says of arrays out.
pub(crate) fn write_out(statement: &mut Statement) {
    let ControlFlow::Continue(()) = VisitMut::visit(statement, &mut Writer { kept: 0 });
}

struct Writer {
    /// Calls around that take arrays as they are written.
    kept: usize,
}

impl VisitorMut for Writer {
    type Break = Infallible;

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Infallible> {
        self.kept += usize::from(reads_files(factor));
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Infallible> {
        self.kept -= usize::from(reads_files(factor));
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        self.kept += usize::from(headings::columns_call(expr).is_some());
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        if headings::columns_call(expr).is_some() {
            self.kept -= 1;
        } else if self.kept == 0
            && let Some(other) = written_out(expr)
        {
            *expr = other;
        }
        ControlFlow::Continue(())
    }
}

fn reads_files(factor: &TableFactor) -> bool {
    match factor {
        TableFactor::Table { name, args: Some(_), .. } => {
            OF_FILES.contains(&name.to_string().to_ascii_lowercase().replace('"', "").as_str())
        }
        _ => false,
    }
}

fn written_out(expr: &mut Expr) -> Option<Expr> {
    match expr {
        // The planner knows no columns of outer queries in the literal.
        Expr::Array(array) => Some(build::call("make_array", std::mem::take(&mut array.elem))),
        Expr::CompoundFieldAccess { root, access_chain } => accessed(root, access_chain),
        Expr::Function(call) if call.name.to_string().eq_ignore_ascii_case("array_fill") => filled(call),
        Expr::AnyOp { left, compare_op, right, .. } if is_array(right) => {
            let op = text(&compare_op.to_string());
            Some(build::call(ANY_OF, vec![op, left.as_ref().clone(), right.as_ref().clone()]))
        }
        Expr::AllOp { left, compare_op, right } if is_array(right) => {
            let op = text(&compare_op.to_string());
            Some(build::call(ALL_OF, vec![op, left.as_ref().clone(), right.as_ref().clone()]))
        }
        Expr::Function(Function { name, args: FunctionArguments::Subquery(query), .. })
            if name.to_string().eq_ignore_ascii_case("array") =>
        {
            Some(collected(query.as_ref().clone()))
        }
        Expr::Cast { expr: value, data_type, .. } => {
            forget_sizes(data_type);
            let Expr::Value(literal) = value.as_ref() else { return None };
            let Value::SingleQuotedString(array) = &literal.value else { return None };
            let DataType::Array(_) = data_type else { return None };
            let depth = array.trim_start().bytes().filter(|byte| !byte.is_ascii_whitespace());
            let depth = depth.take_while(|byte| *byte == b'{').count().min(DIMENSIONS_MAX);
            for _ in dimensions(data_type)..depth {
                let inner = std::mem::replace(data_type, DataType::Boolean);
                *data_type = DataType::Array(ArrayElemTypeDef::SquareBracket(Box::new(inner), None));
            }
            None
        }
        _ => None,
    }
}

/// How many elements an array is declared with does not count.
fn forget_sizes(data_type: &mut DataType) {
    if let DataType::Array(ArrayElemTypeDef::SquareBracket(inner, size)) = data_type {
        *size = None;
        forget_sizes(inner);
    }
}

/// How many dimensions an array of this type has.
fn dimensions(data_type: &DataType) -> usize {
    match data_type {
        DataType::Array(
            ArrayElemTypeDef::SquareBracket(inner, _)
            | ArrayElemTypeDef::AngleBracket(inner)
            | ArrayElemTypeDef::Parenthesis(inner),
        ) => 1 + dimensions(inner),
        _ => 0,
    }
}

/// Whether what ANY takes is an array, and no query.
fn is_array(right: &Expr) -> bool {
    match right {
        Expr::Subquery(_) => false,
        Expr::Nested(inner) => is_array(inner),
        _ => true,
    }
}

/// `array_fill(x, ARRAY[2, 3])` as an array of arrays: the type of what is given depends on the number of dimensions.
fn filled(call: &Function) -> Option<Expr> {
    let [value, dimensions] = arguments(call)?[..] else { return None };
    let Expr::Function(lengths) = dimensions else { return None };
    if lengths.name.to_string() != "make_array" {
        return None;
    }
    let lengths = arguments(lengths).filter(|lengths| lengths.len() > 1)?;
    let one = |length: &Expr| build::call("make_array", vec![length.clone()]);
    let fill = |inner, length: &&Expr| build::call("array_fill", vec![inner, one(length)]);
    Some(lengths.iter().rev().fold(value.clone(), fill))
}

fn arguments(call: &Function) -> Option<Vec<&Expr>> {
    let FunctionArguments::List(list) = &call.args else { return None };
    let arguments = list.args.iter().map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    });
    arguments.collect()
}

/// Subscripts and fields.
fn accessed(root: &Expr, chain: &[AccessExpr]) -> Option<Expr> {
    let mut root = root.clone();
    let mut chain = chain.iter().peekable();
    // `t.a[1]` is read as a field of `t`.
    if let Expr::Identifier(table) = &root {
        let mut parts = vec![table.clone()];
        while let Some(AccessExpr::Dot(Expr::Identifier(part))) = chain.peek() {
            parts.push(part.clone());
            chain.next();
        }
        if parts.len() > 1 {
            root = Expr::CompoundIdentifier(parts);
        }
    }
    let mut value = root;
    while let Some(access) = chain.next() {
        value = match access {
            AccessExpr::Dot(Expr::Identifier(field)) => {
                let name = names::identifier(field).ok()?;
                build::call(FIELD, vec![value, text(&name)])
            }
            AccessExpr::Dot(_) => return None,
            AccessExpr::Subscript(first) => {
                let mut all = vec![first];
                while let Some(AccessExpr::Subscript(subscript)) = chain.peek() {
                    all.push(subscript);
                    chain.next();
                }
                subscripts(value, &all)?
            }
        };
    }
    Some(value)
}

/// Subscripts, of which one may be a slice, which makes all of them slices.
fn subscripts(root: Expr, subscripts: &[&Subscript]) -> Option<Expr> {
    let is_slice = subscripts.iter().any(|subscript| matches!(subscript, Subscript::Slice { .. }));
    let mut args = vec![root];
    for subscript in subscripts {
        match subscript {
            Subscript::Index { index } if is_slice => args.extend([build::number(1), index.clone()]),
            Subscript::Index { index } => args.push(index.clone()),
            Subscript::Slice { lower_bound, upper_bound, stride: None } => {
                args.push(lower_bound.clone().unwrap_or_else(|| build::number(1)));
                args.push(upper_bound.clone().unwrap_or_else(|| build::number(i32::MAX as usize)));
            }
            Subscript::Slice { .. } => return None,
        }
    }
    Some(build::call(if is_slice { SLICE } else { SUBSCRIPT }, args))
}

/// `ARRAY(SELECT ...)` as a query that collects the rows of the other one.
fn collected(query: Query) -> Expr {
    let column = build::quoted("element");
    let collect = build::call("array_agg", vec![Expr::Identifier(column.clone())]);
    let mut rows = build::derived(query, &build::quoted("elements"));
    if let TableFactor::Derived { alias: Some(alias), .. } = &mut rows {
        alias.columns = vec![TableAliasColumnDef { name: column, data_type: None }];
    }
    let list = vec![build::named(collect, "array")];
    let array = Expr::Subquery(Box::new(build::query_of(build::select(list, vec![build::alone(rows)]))));
    build::call(OR_EMPTY, vec![array])
}

fn text(text: &str) -> Expr {
    Expr::Value(Value::SingleQuotedString(text.to_owned()).into())
}
