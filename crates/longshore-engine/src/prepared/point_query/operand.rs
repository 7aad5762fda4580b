//! Values as statements have them: parameters and literals.

use longshore_storage::{Datum, Relation};
use smallvec::SmallVec;
use sqlparser::ast::{Expr, UnaryOperator, Value};

use crate::sql::parameters::{fit, number_of};

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Operand {
    Parameter(usize),
    Null,
    Bool(bool),
    Integer(i64),
    Text(String),
    /// What came of the text of this number, of those that the statement has set aside to be read.
    Read(usize),
}

/// Values of a statement, which has few of them as a rule.
pub(super) type Few<T> = SmallVec<[T; 4]>;

/// What an execution gives.
#[derive(Clone, Copy)]
pub(super) struct Arguments<'s, 'a> {
    /// The values of parameters.
    pub(super) values: &'s [Datum<'a>],
    /// What was read of texts, as columns store it.
    pub(super) read: &'s [Datum<'a>],
}

/// What a column is set to.
#[derive(Debug)]
pub(super) struct NewValue {
    pub(super) operation: Operation,
    pub(super) operand: Operand,
}

/// What is done with a value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operation {
    Set,
    /// Added as an integer to the value before, or taken away from it.
    Add,
    Subtract,
}

impl Operand {
    pub(super) fn value<'a>(&'a self, arguments: Arguments<'_, 'a>) -> Datum<'a> {
        match self {
            Self::Parameter(number) => arguments.values[*number],
            Self::Read(number) => arguments.read[*number],
            Self::Null => Datum::Null,
            Self::Bool(value) => Datum::Bool(*value),
            Self::Integer(value) => Datum::I64(*value),
            Self::Text(value) => Datum::Text(value),
        }
    }

    pub(super) fn of(expr: &Expr) -> Option<Self> {
        Some(match expr {
            Expr::Nested(inner) => Self::of(inner)?,
            Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match Self::of(expr)? {
                Self::Integer(value) => Self::Integer(-value),
                _ => return None,
            },
            Expr::Value(value) => match &value.value {
                Value::Placeholder(name) => Self::Parameter(number_of(name).ok()?),
                Value::Null => Self::Null,
                Value::Boolean(value) => Self::Bool(*value),
                Value::Number(digits, false) => Self::Integer(digits.parse().ok()?),
                Value::SingleQuotedString(text) => Self::Text(text.clone()),
                _ => return None,
            },
            _ => return None,
        })
    }
}

/// A value as `column` stores it, where that is plain.
pub(super) fn given<'a>(
    operand: &'a Operand,
    column: usize,
    relation: &Relation,
    arguments: Arguments<'_, 'a>,
) -> Option<Datum<'a>> {
    match operand {
        Operand::Read(number) => Some(arguments.read[*number]),
        plain => fit(plain.value(arguments), relation.schema().columns()[column].column_type),
    }
}
