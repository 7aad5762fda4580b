//! What a WHERE clause says of single columns: a conjunction of tests, of which an index takes those that find rows by it.
//!
//! Not here: how a clause is read (`named_table`), how rows are found (`lookup`), how the rest is asked of them (`residual`).

use std::cmp::Ordering;
use std::ops::Bound;

use sqlparser::ast::BinaryOperator;

use super::operand::Operand;

/// A condition on one column.
#[derive(Clone, Debug)]
pub(super) struct Condition {
    pub(super) column: usize,
    pub(super) test: Test,
}

/// What is asked of a value.
#[derive(Clone, Debug)]
pub(super) enum Test {
    /// That it compares so with this one.
    Compared(Comparison, Operand),
    /// That it is equal to one of these.
    In(Vec<Operand>),
    /// Whether it is NULL.
    IsNull(bool),
}

/// How two values compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    pub(super) fn new(operator: &BinaryOperator) -> Option<Self> {
        Some(match operator {
            BinaryOperator::Eq => Self::Equal,
            BinaryOperator::NotEq => Self::NotEqual,
            BinaryOperator::Lt => Self::Less,
            BinaryOperator::LtEq => Self::LessOrEqual,
            BinaryOperator::Gt => Self::Greater,
            BinaryOperator::GtEq => Self::GreaterOrEqual,
            _ => return None,
        })
    }

    /// The same, said of the other value.
    pub(super) fn swapped(self) -> Self {
        match self {
            Self::Equal | Self::NotEqual => self,
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
        }
    }

    pub(super) fn accepts(self, ordering: Ordering) -> bool {
        match self {
            Self::Equal => ordering.is_eq(),
            Self::NotEqual => ordering.is_ne(),
            Self::Less => ordering.is_lt(),
            Self::LessOrEqual => ordering.is_le(),
            Self::Greater => ordering.is_gt(),
            Self::GreaterOrEqual => ordering.is_ge(),
        }
    }
}

impl Test {
    /// Whether the order of values matters to it.
    pub(super) fn is_of_order(&self) -> bool {
        matches!(self, Self::Compared(how, _) if !matches!(how, Comparison::Equal | Comparison::NotEqual))
    }
}

/// What a conjunction says of columns.
#[derive(Default)]
pub(super) struct Conditions(Vec<Condition>);

/// Conditions that an index has taken, by their places.
pub(super) type Taken = Vec<usize>;

impl Conditions {
    pub(super) fn add(&mut self, column: usize, test: Test) {
        self.0.push(Condition { column, test });
    }

    /// Whether nothing is said.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it is said which value a column has.
    pub(super) fn has_value(&self, column: usize) -> bool {
        self.compared(column, &[Comparison::Equal]).is_some()
    }

    /// Whether a column has bounds.
    pub(super) fn has_bounds(&self, column: usize) -> bool {
        self.0.iter().any(|condition| condition.column == column && condition.test.is_of_order())
    }

    /// The first comparison of a column that is one of these: its place, and with what.
    fn compared(&self, column: usize, how: &[Comparison]) -> Option<(usize, Comparison, &Operand)> {
        self.0.iter().enumerate().find_map(|(place, condition)| match &condition.test {
            Test::Compared(of, value) if condition.column == column && how.contains(of) => Some((place, *of, value)),
            _ => None,
        })
    }

    /// Takes the values of `columns`, if all of them have one.
    pub(super) fn values(&self, columns: &[usize], taken: &mut Taken) -> Option<Vec<Operand>> {
        let values = columns.iter().map(|column| {
            let (place, _, value) = self.compared(*column, &[Comparison::Equal])?;
            taken.push(place);
            Some(value.clone())
        });
        values.collect()
    }

    /// Takes the lower and the upper bound of a column.
    pub(super) fn bounds(&self, column: usize, taken: &mut Taken) -> (Bound<Operand>, Bound<Operand>) {
        let mut bound = |excluded, included| match self.compared(column, &[excluded, included]) {
            Some((place, how, value)) => {
                taken.push(place);
                if how == included { Bound::Included(value.clone()) } else { Bound::Excluded(value.clone()) }
            }
            None => Bound::Unbounded,
        };
        let low = bound(Comparison::Greater, Comparison::GreaterOrEqual);
        (low, bound(Comparison::Less, Comparison::LessOrEqual))
    }

    /// Those that were not taken.
    pub(super) fn left(&self, taken: &Taken) -> Vec<Condition> {
        let left = self.0.iter().enumerate().filter(|(place, _)| !taken.contains(place));
        left.map(|(_, condition)| condition.clone()).collect()
    }
}
