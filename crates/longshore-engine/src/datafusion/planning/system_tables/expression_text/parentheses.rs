//! Which parentheses an expression needs as a part of another one, as PostgreSQL sees it.

use sqlparser::ast::{BinaryOperator, Expr, UnaryOperator};

/// What an expression is part of, which decides whether it needs parentheses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parent<'a> {
    Junction(&'a BinaryOperator),
    Not,
    /// An operator, and whether the part is its first operand.
    Operator(&'a BinaryOperator, bool),
    /// IS NULL and its like.
    Test,
    Cast,
}

/// Whether an expression needs no parentheses as a part of another one.
pub(super) fn is_simple(expr: &Expr, parent: Parent<'_>) -> bool {
    match expr {
        Expr::BinaryOp { op: own @ (BinaryOperator::And | BinaryOperator::Or), .. } => match parent {
            Parent::Junction(op) => *own == BinaryOperator::And || own == op,
            _ => false,
        },
        Expr::Between { .. } | Expr::UnaryOp { op: UnaryOperator::Not, .. } => matches!(parent, Parent::Junction(_)),
        Expr::BinaryOp { op, .. } => match parent {
            Parent::Junction(_) | Parent::Not => true,
            Parent::Operator(outer, is_first) => match (rank(op), rank(outer)) {
                (Some(own), Some(outer)) => own > outer || own == outer && is_first,
                _ => false,
            },
            Parent::Test | Parent::Cast => false,
        },
        Expr::IsNull(_)
        | Expr::IsNotNull(_)
        | Expr::IsTrue(_)
        | Expr::IsNotTrue(_)
        | Expr::IsFalse(_)
        | Expr::IsNotFalse(_)
        | Expr::IsDistinctFrom(..)
        | Expr::Like { .. }
        | Expr::ILike { .. } => matches!(parent, Parent::Junction(_) | Parent::Not),
        Expr::InList { list, .. } if list.len() > 1 => false,
        Expr::AnyOp { .. } | Expr::AllOp { .. } => false,
        Expr::InList { .. } => matches!(parent, Parent::Junction(_) | Parent::Not),
        _ => true,
    }
}

/// How tightly an arithmetic operator binds.
fn rank(op: &BinaryOperator) -> Option<u8> {
    match op {
        BinaryOperator::Plus | BinaryOperator::Minus => Some(1),
        BinaryOperator::Multiply | BinaryOperator::Divide | BinaryOperator::Modulo => Some(2),
        _ => None,
    }
}
