//! Comparisons of rows, written out by their parts: `(a, b) = (1, 2)`, `(a, b) < (c, d)`, `ROW(a, b) IS NULL`, `(a, b) IN
//! ((1, 2), (3, 4))`, `(a, b) IN (SELECT ...)` and its like with ANY and ALL.
//!
//! As in PostgreSQL, the first parts that differ decide what is less, a part that is NULL leaves open what nothing before it
//! has decided, and `IS NULL` says that all parts are NULL. A query that is compared with a row becomes one that compares
//! its columns, which has names for them that nobody can write.

use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, CaseWhen, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Query, Select,
    SelectItem, SetExpr, Statement, TableAlias, TableAliasColumnDef, TableFactor, UnaryOperator, Value, VisitorMut,
};

use crate::sql::build;
use crate::sql::expressions::flow;
use crate::sql::visit::{Visit, VisitMut};
use crate::{Error, ErrorKind};

/// What the query is called that is compared with a row.
const ROWS: &str = "rows (hidden)";
/// Functions that would be the query's, where the query around it is meant.
const AGGREGATES: [&str; 12] = [
    "sum",
    "count",
    "min",
    "max",
    "avg",
    "array_agg",
    "string_agg",
    "bool_and",
    "bool_or",
    "every",
    "stddev",
    "variance",
];

/// Whether a call is one of the usual aggregates.
pub(crate) fn is_aggregate(call: &Function) -> bool {
    AGGREGATES.contains(&call.name.to_string().to_lowercase().as_str())
}

/// Writes out the comparisons of rows in `statement`.
///
/// # Errors
/// Rows of different lengths.
pub(crate) fn write_out(statement: &mut Statement) -> Result<(), Error> {
    match VisitMut::visit(statement, &mut Rows) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// The parts of a row that is put together where it stands.
pub(crate) fn parts(expr: &Expr) -> Option<Vec<Expr>> {
    match expr {
        Expr::Tuple(parts) => Some(parts.clone()),
        Expr::Nested(inner) => parts(inner),
        Expr::Function(Function { name, args: FunctionArguments::List(list), over: None, .. })
            if name.to_string().eq_ignore_ascii_case("row") && list.clauses.is_empty() =>
        {
            let part = |arg: &FunctionArg| match arg {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
                _ => None,
            };
            list.args.iter().map(part).collect()
        }
        _ => None,
    }
}

/// The value of one column of a `query`, which has `columns`.
pub(crate) fn column_of(query: Query, column: usize, columns: usize) -> Expr {
    Expr::Subquery(Box::new(over(query, columns, |mut of| of.swap_remove(column))))
}

struct Rows;

impl VisitorMut for Rows {
    type Break = Error;

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        let mut conditions = select.selection.iter_mut().chain(&mut select.having);
        flow(conditions.try_for_each(condition))
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        // `array_agg((a, b))` is `array_agg(ROW(a, b))`.
        if let Expr::Function(Function { args: FunctionArguments::List(list), .. }) = expr {
            for argument in &mut list.args {
                if let FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Tuple(parts))) = argument {
                    let row = build::call("row", std::mem::take(parts));
                    *argument = FunctionArg::Unnamed(FunctionArgExpr::Expr(row));
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        flow(written_out(expr).map(|written| {
            if let Some(written) = written {
                *expr = Expr::Nested(Box::new(written));
            }
        }))
    }
}

/// Writes out `IN (SELECT ...)` in a condition, where NULL counts as false: the planner makes a better join of it.
fn condition(expr: &mut Expr) -> Result<(), Error> {
    match expr {
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            condition(left)?;
            condition(right)
        }
        Expr::Nested(inner) => condition(inner),
        Expr::InSubquery { expr: value, subquery, negated } => {
            let Some(row) = parts(value) else { return Ok(()) };
            check_no_aggregate(&row)?;
            let holds = |of: Vec<Expr>| compared(&row, &BinaryOperator::Eq, &of);
            let mut rows = over(subquery.as_ref().clone(), row.len(), |_| build::number(1));
            let equal = holds(columns(row.len()))?;
            if let SetExpr::Select(select) = rows.body.as_mut() {
                select.selection =
                    Some(if *negated { Expr::IsNotFalse(Box::new(Expr::Nested(Box::new(equal)))) } else { equal });
            }
            *expr = Expr::Exists { subquery: Box::new(rows), negated: *negated };
            Ok(())
        }
        _ => Ok(()),
    }
}

fn written_out(expr: &Expr) -> Result<Option<Expr>, Error> {
    Ok(match expr {
        Expr::BinaryOp { left, op, right } if is_comparison(op) => match (parts(left), parts(right)) {
            (Some(left), Some(right)) => Some(compared(&left, op, &right)?),
            (Some(row), None) => match right.as_ref() {
                Expr::Subquery(query) => Some(with_row_of(&row, op, query)?),
                _ => None,
            },
            (None, Some(row)) => match (left.as_ref(), op.clone()) {
                (Expr::Subquery(query), op) => Some(with_row_of(&row, &turned(op), query)?),
                _ => None,
            },
            (None, None) => None,
        },
        Expr::IsNull(row) => {
            parts(row).map(|row| build::all(row.into_iter().map(|part| Expr::IsNull(Box::new(part))).collect()))
        }
        Expr::IsNotNull(row) => {
            parts(row).map(|row| build::all(row.into_iter().map(|part| Expr::IsNotNull(Box::new(part))).collect()))
        }
        Expr::IsDistinctFrom(left, right) => match (parts(left), parts(right)) {
            (Some(left), Some(right)) => Some(negated(not_distinct(&left, &right)?)),
            _ => None,
        },
        Expr::IsNotDistinctFrom(left, right) => match (parts(left), parts(right)) {
            (Some(left), Some(right)) => Some(not_distinct(&left, &right)?),
            _ => None,
        },
        Expr::InList { expr: row, list, negated: is_negated } => {
            let Some(row) = parts(row) else { return Ok(None) };
            let equal = list.iter().map(|other| match parts(other) {
                Some(other) => compared(&row, &BinaryOperator::Eq, &other).map(nested),
                None => Err(Error::unsupported("a row can be IN a list of rows only; write each as (..., ...)")),
            });
            let equal = equal.collect::<Result<Vec<_>, Error>>()?;
            equal
                .into_iter()
                .reduce(|one, other| build::binary(one, BinaryOperator::Or, other))
                .map(|found| if *is_negated { negated(found) } else { found })
        }
        Expr::InSubquery { expr: row, subquery, negated: is_negated } => match parts(row) {
            Some(row) => {
                let found = quantified(&row, &BinaryOperator::Eq, subquery, true)?;
                Some(if *is_negated { negated(found) } else { found })
            }
            None => None,
        },
        Expr::AnyOp { left, compare_op, right, .. } => match (parts(left), right.as_ref()) {
            (Some(row), Expr::Subquery(query)) => Some(quantified(&row, compare_op, query, true)?),
            _ => None,
        },
        Expr::AllOp { left, compare_op, right } => match (parts(left), right.as_ref()) {
            (Some(row), Expr::Subquery(query)) => Some(quantified(&row, compare_op, query, false)?),
            _ => None,
        },
        Expr::Between { expr: row, negated: is_negated, low, high } => match (parts(row), parts(low), parts(high)) {
            (Some(row), Some(low), Some(high)) => {
                let low = nested(compared(&row, &BinaryOperator::GtEq, &low)?);
                let high = nested(compared(&row, &BinaryOperator::LtEq, &high)?);
                let within = build::binary(low, BinaryOperator::And, high);
                Some(if *is_negated { negated(within) } else { within })
            }
            _ => None,
        },
        _ => None,
    })
}

fn is_comparison(op: &BinaryOperator) -> bool {
    matches!(
        op,
        BinaryOperator::Eq
            | BinaryOperator::NotEq
            | BinaryOperator::Lt
            | BinaryOperator::LtEq
            | BinaryOperator::Gt
            | BinaryOperator::GtEq
    )
}

/// The operator for `b op a`, where `a op b` is meant.
fn turned(op: BinaryOperator) -> BinaryOperator {
    match op {
        BinaryOperator::Lt => BinaryOperator::Gt,
        BinaryOperator::LtEq => BinaryOperator::GtEq,
        BinaryOperator::Gt => BinaryOperator::Lt,
        BinaryOperator::GtEq => BinaryOperator::LtEq,
        other => other,
    }
}

fn check_lengths(left: &[Expr], right: &[Expr]) -> Result<(), Error> {
    if left.len() == right.len() {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Syntax, "unequal number of entries in row expressions"))
}

/// `left op right`, part by part.
fn compared(left: &[Expr], op: &BinaryOperator, right: &[Expr]) -> Result<Expr, Error> {
    check_lengths(left, right)?;
    let pairs = left.iter().cloned().zip(right.iter().cloned());
    let strict = match op {
        BinaryOperator::Eq => return Ok(build::all(pairs.map(|(left, right)| build::equal(left, right)).collect())),
        BinaryOperator::NotEq => return Ok(negated(compared(left, &BinaryOperator::Eq, right)?)),
        BinaryOperator::LtEq => BinaryOperator::Lt,
        BinaryOperator::GtEq => BinaryOperator::Gt,
        strict => strict.clone(),
    };
    let decided = pairs.rev().fold(None, |rest: Option<Expr>, (left, right)| {
        let Some(rest) = rest else { return Some(build::binary(left, op.clone(), right)) };
        let equal = build::equal(left.clone(), right.clone());
        let behind = nested(build::binary(equal, BinaryOperator::And, nested(rest)));
        Some(build::binary(build::binary(left, strict.clone(), right), BinaryOperator::Or, behind))
    });
    decided.ok_or_else(|| Error::unsupported("rows without columns cannot be compared"))
}

fn not_distinct(left: &[Expr], right: &[Expr]) -> Result<Expr, Error> {
    check_lengths(left, right)?;
    let pairs = left.iter().cloned().zip(right.iter().cloned());
    let same = pairs.map(|(left, right)| Expr::IsNotDistinctFrom(Box::new(left), Box::new(right)));
    Ok(build::all(same.collect()))
}

fn negated(expr: Expr) -> Expr {
    Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(nested(expr)) }
}

fn nested(expr: Expr) -> Expr {
    Expr::Nested(Box::new(expr))
}

/// `row op (query)`, where the query has one row.
fn with_row_of(row: &[Expr], op: &BinaryOperator, query: &Query) -> Result<Expr, Error> {
    check_no_aggregate(row)?;
    let value = compared(row, op, &columns(row.len()))?;
    Ok(Expr::Subquery(Box::new(over(query.clone(), row.len(), |_| value))))
}

/// `row op ANY (query)` or `row op ALL (query)`.
fn quantified(row: &[Expr], op: &BinaryOperator, query: &Query, is_any: bool) -> Result<Expr, Error> {
    check_no_aggregate(row)?;
    let holds = nested(compared(row, op, &columns(row.len()))?);
    let decides = if is_any { holds.clone() } else { negated(holds.clone()) };
    let unknown = Expr::IsNull(Box::new(holds));
    let boolean = |value| build::value(Value::Boolean(value));
    let when = |condition, result| CaseWhen { condition: build::call("bool_or", vec![condition]), result };
    let conditions = vec![when(decides, boolean(is_any)), when(unknown, build::value(Value::Null))];
    let value = build::case(conditions, Some(boolean(!is_any)));
    Ok(Expr::Subquery(Box::new(over(query.clone(), row.len(), |_| value))))
}

/// The row stands in a query of its own from now on, and so would its aggregates.
fn check_no_aggregate(row: &[Expr]) -> Result<(), Error> {
    struct Aggregates;
    impl sqlparser::ast::Visitor for Aggregates {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Function(call) if is_aggregate(call) => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }
    }
    if row.iter().any(|part| Visit::visit(part, &mut Aggregates).is_break()) {
        return Err(Error::unsupported(
            "a row of aggregates cannot be compared with a query; compute the aggregates in FROM first",
        ));
    }
    Ok(())
}

/// `SELECT value FROM (query) AS ...`, where `value` is computed of the `columns` of the query.
fn over(query: Query, columns: usize, value: impl FnOnce(Vec<Expr>) -> Expr) -> Query {
    let alias = Ident::with_quote('"', ROWS);
    let names = (1..=columns).map(|column| TableAliasColumnDef { name: column_name(column), data_type: None });
    let mut rows = build::derived(query, &alias);
    if let TableFactor::Derived { alias: Some(TableAlias { columns, .. }), .. } = &mut rows {
        columns.extend(names);
    }
    let value = SelectItem::UnnamedExpr(value(self::columns(columns)));
    build::query_of(build::select(vec![value], vec![build::alone(rows)]))
}

fn columns(number: usize) -> Vec<Expr> {
    (1..=number).map(|column| Expr::Identifier(column_name(column))).collect()
}

fn column_name(column: usize) -> Ident {
    Ident::with_quote('"', format!("row column {column} (hidden)"))
}
