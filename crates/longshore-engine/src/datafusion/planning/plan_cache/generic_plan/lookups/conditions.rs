//! What the filters of a generic scan say of single columns: what they are equal to, and bounds.

use std::ops::Bound;
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{BinaryExpr, InListExpr};
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr_common::physical_expr::is_volatile;
use longshore_storage::Relation;

use super::Expression;
use crate::datafusion::optimizer::found_keys::plain_column;
use crate::datafusion::scan::access::has_plain_order;
use crate::datafusion::scan::generic::GenericSource;

/// A scan, and what its filters say.
pub(super) struct Conditions<'a> {
    pub(super) source: &'a GenericSource,
    pub(super) relation: Arc<Relation>,
    said: Vec<Said>,
}

/// What a filter, by its place, says of a column.
struct Said {
    filter: usize,
    column: usize,
    what: What,
}

enum What {
    OneOf(Vec<Expression>),
    Compared(Operator, Expression),
}

impl<'a> Conditions<'a> {
    /// `None` where the table is gone.
    pub(super) fn of(source: &'a GenericSource) -> Option<Self> {
        let relation = source.relation().upgrade()?;
        let mut conditions = Self { source, relation, said: Vec::new() };
        let said = source.filters().iter().enumerate().filter_map(|(filter, expr)| {
            let (column, what) = said(expr, source.table())?;
            conditions.is_stored_so(column, &what).then_some(Said { filter, column, what })
        });
        conditions.said = said.collect();
        Some(conditions)
    }

    /// The filter that says what a column is equal to, and the values.
    pub(super) fn equal(&self, column: usize) -> Option<(usize, &[Expression])> {
        self.said.iter().filter(|said| said.column == column).find_map(|said| match &said.what {
            What::OneOf(values) => Some((said.filter, values.as_slice())),
            What::Compared(..) => None,
        })
    }

    /// Whether there are bounds of a column.
    pub(super) fn has_bounds(&self, column: usize) -> bool {
        self.said.iter().any(|said| said.column == column && matches!(said.what, What::Compared(..)))
    }

    /// The lower bound of a column.
    pub(super) fn low(&self, column: usize) -> Bound<Expression> {
        self.bound(column, [Operator::GtEq, Operator::Gt])
    }

    /// The upper bound of a column.
    pub(super) fn high(&self, column: usize) -> Bound<Expression> {
        self.bound(column, [Operator::LtEq, Operator::Lt])
    }

    fn bound(&self, column: usize, [included, excluded]: [Operator; 2]) -> Bound<Expression> {
        for said in self.said.iter().filter(|said| said.column == column) {
            let What::Compared(operator, value) = &said.what else { continue };
            if *operator == included || *operator == excluded {
                let value = Arc::clone(value);
                return if *operator == included { Bound::Included(value) } else { Bound::Excluded(value) };
            }
        }
        Bound::Unbounded
    }

    /// Whether a column may be looked up by its being equal to values of this type.
    pub(super) fn can_equal(&self, column: usize, values: &DataType) -> bool {
        let Some(stored) = self.relation.schema().columns().get(column) else { return false };
        let of_column = self.source.table().field(column).data_type();
        let are_whole = of_column.is_signed_integer() && values.is_signed_integer();
        // Equal floating-point numbers may have several forms; what Arrow has no type for does not compare as it is stored.
        (of_column == values || are_whole) && !of_column.is_floating() && stored.column_type.unwrapped().is_none()
    }

    /// Whether an index finds what a filter says.
    fn is_stored_so(&self, column: usize, what: &What) -> bool {
        let table = self.source.table();
        let is_of_type = |value: &Expression| value.data_type(table).is_ok_and(|of| self.can_equal(column, &of));
        match what {
            What::OneOf(values) => values.iter().all(is_of_type),
            What::Compared(_, value) => {
                let same = value.data_type(table).is_ok_and(|of| of == *table.field(column).data_type());
                let stored = self.relation.schema().columns().get(column);
                same && is_of_type(value) && stored.is_some_and(|stored| has_plain_order(stored.column_type))
            }
        }
    }
}

/// The column that a filter is about, and what it says of it.
fn said(filter: &Expression, table: &Schema) -> Option<(usize, What)> {
    if let Some(list) = filter.downcast_ref::<InListExpr>() {
        let column = plain_column(list.expr(), table).filter(|_| !list.negated())?;
        let are_values = list.list().iter().all(is_value);
        return are_values.then(|| (column, What::OneOf(list.list().to_vec())));
    }
    let binary = filter.downcast_ref::<BinaryExpr>()?;
    if *binary.op() == Operator::Or {
        let ((left, What::OneOf(mut values)), (right, What::OneOf(others))) =
            (said(binary.left(), table)?, said(binary.right(), table)?)
        else {
            return None;
        };
        values.extend(others);
        return (left == right).then_some((left, What::OneOf(values)));
    }
    let (column, value, operator) = if is_value(binary.right()) {
        (plain_column(binary.left(), table)?, binary.right(), *binary.op())
    } else {
        (plain_column(binary.right(), table).filter(|_| is_value(binary.left()))?, binary.left(), binary.op().swap()?)
    };
    let value = Arc::clone(value);
    match operator {
        Operator::Eq => Some((column, What::OneOf(vec![value]))),
        Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq => {
            Some((column, What::Compared(operator, value)))
        }
        _ => None,
    }
}

/// Whether an expression has one value while the plan runs once.
fn is_value(expr: &Expression) -> bool {
    collect_columns(expr).is_empty() && !is_volatile(expr)
}
