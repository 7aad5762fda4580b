//! Values that a statement assigns to columns, marked so that the planner sees which are of types that no column of that type
//! takes.
//!
//! Not here: which types those are (`datafusion::planning::cast_types`).

use longshore_storage::{Column, ColumnType};
use sqlparser::ast::{BinaryOperator, Expr, UnaryOperator, Value};

use super::build;

/// The operator that marks a value: the column's name is its second name, and NULL of the column's type stands at its right.
pub(crate) const ASSIGNED: &str = "assigned";

/// `value`, marked as one that is assigned to `column`.
pub(crate) fn assigned(value: Expr, column: &Column) -> Expr {
    if is_plain(&value, column.column_type) {
        return value;
    }
    let mark = BinaryOperator::PGCustomBinaryOperator(vec![ASSIGNED.to_owned(), column.name.clone()]);
    build::binary(value, mark, build::cast(build::value(Value::Null), column.column_type))
}

/// Whether a value can be assigned at sight: one without a type, a number to a number, anything to a text.
fn is_plain(value: &Expr, to: ColumnType) -> bool {
    let is_text = matches!(to, ColumnType::Char(_) | ColumnType::Varchar(_) | ColumnType::Text);
    match value {
        Expr::Value(value) => match value.value {
            Value::Number(..) => is_text || is_number(to),
            Value::Boolean(_) => is_text || to == ColumnType::Boolean,
            _ => true,
        },
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => is_plain(expr, to),
        _ => false,
    }
}

/// Whether values of a type are numbers.
pub(crate) fn is_number(column_type: ColumnType) -> bool {
    matches!(
        column_type,
        ColumnType::SmallInt
            | ColumnType::Integer
            | ColumnType::BigInt
            | ColumnType::Real
            | ColumnType::Double
            | ColumnType::Decimal { .. }
            | ColumnType::Numeric(_)
    )
}
