//! Number literals on their way to the planner, which gives them the types that PostgreSQL gives them.
//!
//! The planner takes every whole number for a BIGINT, and loses digits of numbers with an exponent. So numbers are marked
//! in the tree of a statement before it is planned; the planner hands what is marked to `datafusion::literals`, which
//! makes values of it. Left as they are: numbers that are no values but count something (LIMIT, ORDER BY 1, GROUP BY 1,
//! frames of windows, the fields of an INTERVAL, arguments of table functions), and plain numbers in the rows of an
//! INSERT, which become what their column is.

use std::convert::Infallible;
use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Distinct, Expr, Function, FunctionArguments, GroupByExpr, Insert, OrderByKind, Query, Select,
    SetExpr, Statement, TableFactor, UnaryOperator, Value, VisitorMut, WindowType,
};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use longshore_storage::ColumnType;

use crate::Error;
use crate::sql::build;
use crate::sql::visit::VisitMut;

/// Digits of whole numbers up to which the planner makes BIGINTs of them, whatever they are.
const PLAIN_DIGITS_MAX: usize = 18;

/// Operators that the planner plans itself, without asking us: they get names under which it asks.
pub(crate) const DISTINCT: &str = "is distinct from";
pub(crate) const NOT_DISTINCT: &str = "is not distinct from";
pub(crate) const NEGATIVE: &str = "negative";
pub(crate) const POSITIVE: &str = "positive";

fn named(op: &str) -> BinaryOperator {
    BinaryOperator::PGCustomBinaryOperator(vec![op.to_owned()])
}

/// The operator that marks a number: no text is read as it.
pub(crate) fn mark() -> BinaryOperator {
    BinaryOperator::PGCustomBinaryOperator(Vec::new())
}

/// Whether it marks a number.
pub(crate) fn is_mark(op: &BinaryOperator) -> bool {
    matches!(op, BinaryOperator::PGCustomBinaryOperator(name) if name.is_empty())
}

/// Refuses `0x1F`, as PostgreSQL 15 does. The tokenizer takes it for the bytes `X'1F'`.
pub(super) fn refuse_hexadecimal(sql: &str, tokens: &[TokenWithSpan]) -> Result<(), Error> {
    for token in tokens {
        let Token::HexStringLiteral(digits) = &token.token else { continue };
        let place = token.span.start;
        let line = sql.split('\n').nth((place.line as usize).saturating_sub(1)).unwrap_or_default();
        if line.chars().nth((place.column as usize).saturating_sub(1)) == Some('0') {
            return Err(Error::syntax(format!(
                "syntax error: trailing junk after numeric literal at \"0x{digits}\"{place}; write the number in decimal, or \
                 X'{digits}' for bytes"
            )));
        }
    }
    Ok(())
}

/// Refuses `123abc`, as PostgreSQL 15 does: somebody who writes it means neither a number nor a name behind it.
pub(super) fn refuse_junk(tokens: &[TokenWithSpan]) -> Result<(), Error> {
    for pair in tokens.windows(2) {
        if let [TokenWithSpan { token: Token::Number(number, _), span }, TokenWithSpan { token: Token::Word(word), .. }] =
            pair
            && word.quote_style.is_none()
        {
            let at = span.start;
            return Err(Error::syntax(format!(
                "syntax error: trailing junk after numeric literal at \"{number}{}\"{at}; put a space between them",
                word.value
            )));
        }
    }
    Ok(())
}

/// Marks the numbers of `statement`.
pub(crate) fn mark_statement(statement: &mut Statement) {
    if let Statement::Insert(Insert { source: Some(source), .. }) = statement
        && source.with.is_none()
        && let SetExpr::Values(values) = source.body.as_mut()
    {
        let mut rows = std::mem::take(&mut values.rows);
        rows.iter_mut().flat_map(|row| row.content.iter_mut()).for_each(mark_value);
        marked(statement);
        if let Statement::Insert(Insert { source: Some(source), .. }) = statement
            && let SetExpr::Values(values) = source.body.as_mut()
        {
            values.rows = rows;
        }
        return;
    }
    marked(statement);
}

/// Marks the numbers of an expression.
pub(crate) fn mark_expression(expr: &mut Expr) {
    marked(expr);
}

fn marked(tree: &mut impl VisitMut) {
    let (ControlFlow::Continue(()) | ControlFlow::Break(_)) = tree.visit(&mut Marker);
}

/// Takes the marks away again.
fn unmarked(tree: &mut impl VisitMut) {
    let (ControlFlow::Continue(()) | ControlFlow::Break(_)) = tree.visit(&mut Unmarker);
}

/// Marks the numbers of a value of an INSERT, where the planner would not read them as they are.
fn mark_value(expr: &mut Expr) {
    let number = match &*expr {
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => expr.as_ref(),
        expr => expr,
    };
    let is_plain = match number {
        Expr::Value(value) => match &value.value {
            Value::Number(text, _) => !text.contains(['e', 'E']) && text.len() <= PLAIN_DIGITS_MAX,
            _ => true,
        },
        _ => false,
    };
    if !is_plain {
        marked(expr);
    }
}

fn number(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::Number(text, _) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// The mark around a number, which may have a minus in front.
fn wrapped(text: String) -> Expr {
    Expr::BinaryOp {
        left: Box::new(Expr::Value(Value::SingleQuotedString(text).into())),
        op: mark(),
        right: Box::new(Expr::Value(Value::Null.into())),
    }
}

struct Marker;

impl VisitorMut for Marker {
    type Break = Infallible;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        if let Expr::UnaryOp { op: UnaryOperator::Minus, expr: inner } = &*expr
            && let Some(text) = number(inner)
        {
            *expr = wrapped(format!("-{text}"));
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        let is_negated = matches!(expr, Expr::IsNotDistinctFrom(..));
        match expr {
            Expr::Value(value) => {
                if let Value::Number(text, _) = &mut value.value {
                    *expr = wrapped(std::mem::take(text));
                }
            }
            Expr::IsDistinctFrom(left, right) | Expr::IsNotDistinctFrom(left, right) => {
                let [left, right] = [left, right].map(|side| std::mem::replace(side.as_mut(), build::number(0)));
                let op = if is_negated { NOT_DISTINCT } else { DISTINCT };
                *expr = build::binary(left, named(op), right);
            }
            Expr::UnaryOp { op: op @ (UnaryOperator::Minus | UnaryOperator::Plus), expr: operand } => {
                let sign = if *op == UnaryOperator::Minus { NEGATIVE } else { POSITIVE };
                let operand = std::mem::replace(operand.as_mut(), build::number(0));
                *expr = build::binary(operand, named(sign), build::value(Value::Null));
            }
            Expr::UnaryOp { op, expr: operand } => {
                if let Some(function) = function_of(*op) {
                    let operand = std::mem::replace(operand.as_mut(), build::number(0));
                    let operand = if function == "abs" { operand } else { build::cast(operand, ColumnType::Double) };
                    *expr = build::call(function, vec![operand]);
                } else if *op == UnaryOperator::BitwiseNot {
                    let operand = std::mem::replace(operand.as_mut(), build::number(0));
                    *expr = build::binary(operand, BinaryOperator::PGBitwiseXor, wrapped("-1".to_owned()));
                }
            }
            Expr::Interval(interval) => unmarked(&mut interval.value),
            Expr::Function(function) => unmark_counts(function),
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Infallible> {
        match factor {
            TableFactor::Table { args, sample, .. } => {
                if let Some(args) = args {
                    unmarked(&mut args.args);
                }
                unmarked(sample);
            }
            TableFactor::Derived { sample, .. } => unmarked(sample),
            TableFactor::TableFunction { expr, .. } => unmarked(expr),
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<Infallible> {
        if let GroupByExpr::Expressions(exprs, _) = &mut select.group_by {
            exprs.iter_mut().for_each(unmark_position);
        }
        if let Some(Distinct::On(exprs)) = &mut select.distinct {
            exprs.iter_mut().for_each(unmark_position);
        }
        unmarked(&mut select.top);
        for window in &mut select.named_window {
            if let sqlparser::ast::NamedWindowExpr::WindowSpec(spec) = &mut window.1 {
                unmarked(&mut spec.window_frame);
            }
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<Infallible> {
        unmarked(&mut query.limit_clause);
        unmarked(&mut query.fetch);
        if let Some(order_by) = &mut query.order_by
            && let OrderByKind::Expressions(exprs) = &mut order_by.kind
        {
            for by in exprs {
                unmark_position(&mut by.expr);
            }
        }
        ControlFlow::Continue(())
    }
}

/// The function that a prefix operator stands for.
fn function_of(op: UnaryOperator) -> Option<&'static str> {
    match op {
        UnaryOperator::PGAbs => Some("abs"),
        UnaryOperator::PGSquareRoot => Some("sqrt"),
        UnaryOperator::PGCubeRoot => Some("cbrt"),
        _ => None,
    }
}

/// Takes marks away where a function counts: in the frame of its window, and in `count(1)`, which counts rows.
fn unmark_counts(function: &mut Function) {
    if let Some(WindowType::WindowSpec(spec)) = &mut function.over {
        unmarked(&mut spec.window_frame);
    }
    if let FunctionArguments::List(list) = &mut function.args
        && function.name.to_string().eq_ignore_ascii_case("count")
    {
        for argument in &mut list.args {
            if let sqlparser::ast::FunctionArg::Unnamed(sqlparser::ast::FunctionArgExpr::Expr(expr)) = argument {
                unmark_position(expr);
            }
        }
    }
}

/// Takes the mark away from an expression that is a number and nothing else.
fn unmark_position(expr: &mut Expr) {
    if let Expr::BinaryOp { left, op, .. } = expr
        && is_mark(op)
        && let Expr::Value(value) = left.as_mut()
        && let Value::SingleQuotedString(text) = &mut value.value
    {
        let text = std::mem::take(text);
        let number = |text: String| Expr::Value(Value::Number(text, false).into());
        *expr = match text.strip_prefix('-') {
            Some(text) => Expr::UnaryOp { op: UnaryOperator::Minus, expr: Box::new(number(text.to_owned())) },
            None => number(text),
        };
    }
}

struct Unmarker;

impl VisitorMut for Unmarker {
    type Break = Infallible;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        unmark_position(expr);
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::{Parsed, parse};

    fn marked_text(sql: &str) -> String {
        let Ok(Parsed::Sql(mut statement)) = parse(sql) else { panic!("{sql}") };
        mark_statement(&mut statement);
        statement.to_string().replace(" OPERATOR() NULL", "")
    }

    #[test]
    fn values_are_marked_and_counts_are_not() {
        for (sql, expected) in [
            ("SELECT 1, -2, - (3), a[4]", "SELECT '1', '-2', ('3') OPERATOR(negative) NULL, a['4']"),
            (
                "SELECT a FROM t ORDER BY 1, a + 2 LIMIT 3 OFFSET 4",
                "SELECT a FROM t ORDER BY 1, a + '2' LIMIT 3 OFFSET 4",
            ),
            ("SELECT a FROM t GROUP BY 1, a + 1", "SELECT a FROM t GROUP BY 1, a + '1'"),
            ("SELECT count(1), max(1)", "SELECT count(1), max('1')"),
            ("SELECT * FROM generate_series(1, -2)", "SELECT * FROM generate_series(1, -2)"),
            (
                "SELECT sum(1) OVER (ORDER BY a + 1 ROWS BETWEEN 2 PRECEDING AND 3 FOLLOWING)",
                "SELECT sum('1') OVER (ORDER BY a + '1' ROWS BETWEEN 2 PRECEDING AND 3 FOLLOWING)",
            ),
            (
                "INSERT INTO t VALUES (1, 1e3, -2.5, -1e3, 1 + 2)",
                "INSERT INTO t VALUES (1, '1e3', -2.5, '-1e3', '1' + '2')",
            ),
            ("INSERT INTO t SELECT 1", "INSERT INTO t SELECT '1'"),
            ("SELECT INTERVAL 1 DAY", "SELECT INTERVAL 1 DAY"),
        ] {
            assert_eq!(marked_text(sql), expected, "{sql}");
        }
    }
}
