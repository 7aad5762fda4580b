//! Literals without a type in VALUES and in set operations: they have the type that their column has elsewhere, as in
//! `VALUES (date '2024-01-01'), ('2024-01-02')`. A number of more digits than a decimal has makes a column NUMERIC. And those
//! that are a condition: `WHERE 'true'`.
//!
//! The planner takes a literal for a text, and refuses a text beside a date. So it gets the type before, where all that says
//! a type in the column says the same. Not here: types that are only known when the tree is planned (`common_types`).

use std::convert::Infallible;
use std::ops::ControlFlow;

use crate::sql::visit::VisitMut;
use sqlparser::ast::{
    DataType, ExactNumberInfo, Expr, JoinConstraint, JoinOperator, Query, Select, SelectItem, SetExpr, Statement,
    UnaryOperator, Value, VisitorMut,
};

use super::build;

/// Digits of a decimal, at most.
const DECIMAL_DIGITS_MAX: usize = 38;

/// Gives the literals of `statement` their types.
pub(crate) fn write_out(statement: &mut Statement) {
    let ControlFlow::Continue(()) = VisitMut::visit(statement, &mut Writer { is_inserted: false });
}

struct Writer {
    /// Whether the next query is what an INSERT inserts, whose types are those of the table.
    is_inserted: bool,
}

impl VisitorMut for Writer {
    type Break = Infallible;

    fn pre_visit_statement(&mut self, statement: &mut Statement) -> ControlFlow<Infallible> {
        self.is_inserted = matches!(statement, Statement::Insert(insert) if insert.source.is_some());
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Infallible> {
        select.selection.iter_mut().for_each(as_truth);
        for join in select.from.iter_mut().flat_map(|item| &mut item.joins) {
            if let Some(condition) = condition(&mut join.join_operator) {
                as_truth(condition);
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Infallible> {
        let is_list = matches!(query.body.as_ref(), SetExpr::Values(_) | SetExpr::SetOperation { .. });
        if !std::mem::take(&mut self.is_inserted) && is_list {
            let mut rows = Vec::new();
            if take_rows(&mut query.body, &mut rows) {
                give_types(rows);
            }
        }
        ControlFlow::Continue(())
    }
}

/// The condition of a join by ON.
fn condition(operator: &mut JoinOperator) -> Option<&mut Expr> {
    let (JoinOperator::Join(constraint)
    | JoinOperator::Inner(constraint)
    | JoinOperator::Left(constraint)
    | JoinOperator::LeftOuter(constraint)
    | JoinOperator::Right(constraint)
    | JoinOperator::RightOuter(constraint)
    | JoinOperator::FullOuter(constraint)) = operator
    else {
        return None;
    };
    if let JoinConstraint::On(condition) = constraint { Some(condition) } else { None }
}

/// A condition that is nothing but a literal without a type is a truth value: `WHERE ('true')`.
fn as_truth(condition: &mut Expr) {
    match condition {
        Expr::Nested(inner) => as_truth(inner),
        Expr::Value(value) if matches!(value.value, Value::SingleQuotedString(_)) => {
            let literal = std::mem::replace(condition, build::value(Value::Null));
            *condition = build::cast_as(literal, DataType::Boolean);
        }
        _ => {}
    }
}

/// The expressions of all rows; whether they are known.
fn take_rows<'a>(body: &'a mut SetExpr, rows: &mut Vec<Vec<&'a mut Expr>>) -> bool {
    match body {
        SetExpr::Values(values) => {
            rows.extend(values.rows.iter_mut().map(|row| row.iter_mut().collect()));
            true
        }
        SetExpr::Select(select) => {
            let exprs = select.projection.iter_mut().map(|item| match item {
                SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
                _ => None,
            });
            exprs.collect::<Option<Vec<_>>>().map(|row| rows.push(row)).is_some()
        }
        SetExpr::SetOperation { left, right, .. } => take_rows(left, rows) && take_rows(right, rows),
        SetExpr::Query(query) => take_rows(&mut query.body, rows),
        _ => false,
    }
}

fn give_types(rows: Vec<Vec<&mut Expr>>) {
    let width = rows.iter().map(Vec::len).min().unwrap_or(0);
    let types: Vec<Option<DataType>> = (0..width).map(|column| type_of(&rows, column)).collect();
    for row in rows {
        for (expr, data_type) in row.into_iter().zip(&types) {
            let Some(data_type) = data_type else { continue };
            if is_text(expr) || is_numeric(data_type) && is_number(expr) {
                let literal = std::mem::replace(expr, build::value(Value::Null));
                *expr = build::cast_as(literal, data_type.clone());
            }
        }
    }
}

/// The type that the rows say for a column, if they say one only. A length that a type has is not for other values.
fn type_of(rows: &[Vec<&mut Expr>], column: usize) -> Option<DataType> {
    let mut found: Option<&DataType> = None;
    for row in rows {
        let said = match &*row[column] {
            Expr::Cast { data_type, .. } => data_type,
            Expr::TypedString(typed) => &typed.data_type,
            _ => continue,
        };
        if found.is_some_and(|found| found != said) || said.to_string().contains('(') {
            return None;
        }
        found = Some(said);
    }
    let is_long = || rows.iter().any(|row| digits(row[column]) > DECIMAL_DIGITS_MAX);
    found.cloned().or_else(|| is_long().then_some(DataType::Numeric(ExactNumberInfo::None)))
}

/// The digits of a number that is written out.
fn digits(expr: &Expr) -> usize {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::Number(text, _) => text.bytes().filter(u8::is_ascii_digit).count(),
            _ => 0,
        },
        Expr::UnaryOp { op: UnaryOperator::Minus | UnaryOperator::Plus, expr } => digits(expr),
        _ => 0,
    }
}

fn is_text(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(value) if matches!(
        value.value,
        Value::SingleQuotedString(_) | Value::EscapedStringLiteral(_) | Value::DollarQuotedString(_)
    ))
}

fn is_number(expr: &Expr) -> bool {
    match expr {
        Expr::Value(value) => matches!(value.value, Value::Number(..)),
        Expr::UnaryOp { op: UnaryOperator::Minus | UnaryOperator::Plus, expr } => is_number(expr),
        _ => false,
    }
}

fn is_numeric(data_type: &DataType) -> bool {
    use DataType::{Dec, Decimal, Numeric};
    matches!(data_type, Numeric(ExactNumberInfo::None) | Decimal(ExactNumberInfo::None) | Dec(ExactNumberInfo::None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::{Parsed, parse};

    fn written(sql: &str) -> String {
        match parse(sql) {
            Ok(Parsed::Sql(mut statement)) => {
                write_out(&mut statement);
                statement.to_string()
            }
            other => panic!("{sql}: {other:?}"),
        }
    }

    #[test]
    fn literals_have_the_type_of_their_column() {
        for (sql, expected) in [
            ("VALUES (DATE 'x', 'a'), ('y', 'b')", "VALUES (DATE 'x', 'a'), (CAST('y' AS DATE), 'b')"),
            ("VALUES ('1'::NUMERIC), (-2), (NULL), (n)", "VALUES ('1'::NUMERIC), (CAST(-2 AS NUMERIC)), (NULL), (n)"),
            (
                "VALUES (1.5), (-0.123456789012345678901234567890123456789)",
                "VALUES (CAST(1.5 AS NUMERIC)), (CAST(-0.123456789012345678901234567890123456789 AS NUMERIC))",
            ),
            (
                "SELECT 'y' AS d UNION ALL (SELECT DATE 'x')",
                "SELECT CAST('y' AS DATE) AS d UNION ALL (SELECT DATE 'x')",
            ),
        ] {
            assert_eq!(written(sql), expected);
        }
        for sql in [
            "VALUES ('1'::CHAR(1)), ('ab')",
            "VALUES ('1'::INT), ('2'::TEXT), ('3')",
            "VALUES ('1'::INT), (2.5)",
            "INSERT INTO t VALUES ('1'::INT), ('x')",
            "SELECT DATE 'x' UNION ALL SELECT *, 'y' FROM t",
        ] {
            assert_eq!(written(sql), sql);
        }
    }
}
