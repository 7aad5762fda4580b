//! What a predicate says of single columns: values that they may have, and bounds.
//!
//! Taken are comparisons of a column with a value of its type, IN lists, chains of OR over one column, and IS NULL; all
//! of them hold at once. Whatever is of another shape is left out, so that the constraints may be true where the predicate is
//! not, never the other way round. Not here: what is made of them (`reads`, `access`).

use std::ops::Bound;

use datafusion::arrow::array::ArrayRef;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, InListExpr, IsNullExpr, Literal};
use longshore_storage::{ColumnType, Datum, Schema};

use super::predicate::Predicate;
use crate::datafusion::datums::datum;

/// What is known of the values of a column.
pub(in crate::datafusion) struct ColumnConstraint {
    pub(in crate::datafusion) column: usize,
    pub(in crate::datafusion) column_type: ColumnType,
    /// It has one of these; each is an array of one value. `None` if nothing of the sort is said.
    points: Option<Vec<ArrayRef>>,
    low: Bound<ArrayRef>,
    high: Bound<ArrayRef>,
    pub(in crate::datafusion) is_null: bool,
}

impl ColumnConstraint {
    /// The values that it may have, if they are listed.
    pub(in crate::datafusion) fn points(&self) -> Option<Vec<Datum<'_>>> {
        let points = self.points.as_ref()?;
        Some(points.iter().map(|value| datum(value, self.column_type, 0)).collect())
    }

    /// Whether there is a bound.
    pub(in crate::datafusion) fn has_bounds(&self) -> bool {
        !matches!((&self.low, &self.high), (Bound::Unbounded, Bound::Unbounded))
    }

    /// The bounds of its values.
    pub(in crate::datafusion) fn bounds(&self) -> (Bound<Datum<'_>>, Bound<Datum<'_>>) {
        (
            self.low.as_ref().map(|low| datum(low, self.column_type, 0)),
            self.high.as_ref().map(|high| datum(high, self.column_type, 0)),
        )
    }
}

/// What `predicate` says of the columns that `schema` stores, each column once.
pub(in crate::datafusion) fn column_constraints(
    predicate: Option<&Predicate>,
    schema: &Schema,
) -> Vec<ColumnConstraint> {
    let mut constraints: Vec<ColumnConstraint> = Vec::new();
    for conjunct in predicate.into_iter().flat_map(Predicate::conjuncts) {
        let Some((column, said)) = said(conjunct.as_ref()) else { continue };
        let Some(column_type) = schema.columns().get(column).map(|described| described.column_type) else { continue };
        let arrow = column_type.arrow();
        let values = match &said {
            Said::IsNull => &[][..],
            Said::OneOf(values) => values.as_slice(),
            Said::Compared(_, value) => std::slice::from_ref(value),
        };
        // Types that Arrow has not do not compare as they are stored.
        let is_other = |value: &ArrayRef| *value.data_type() != arrow || column_type.unwrapped().is_some();
        if values.iter().any(is_other) {
            continue;
        }
        let at = constraints.iter().position(|constraint| constraint.column == column).unwrap_or_else(|| {
            let (low, high) = (Bound::Unbounded, Bound::Unbounded);
            constraints.push(ColumnConstraint { column, column_type, points: None, low, high, is_null: false });
            constraints.len() - 1
        });
        let constraint = &mut constraints[at];
        match said {
            Said::IsNull => constraint.is_null = true,
            Said::OneOf(values) => {
                if constraint.points.as_ref().is_none_or(|before| values.len() < before.len()) {
                    constraint.points = Some(values);
                }
            }
            Said::Compared(operator, value) => match operator {
                Operator::Eq => constraint.points = Some(vec![value]),
                // Of two halves of one range, as BETWEEN has them, each is a constraint of its own; of more, the first count.
                Operator::Lt if matches!(constraint.high, Bound::Unbounded) => constraint.high = Bound::Excluded(value),
                Operator::LtEq if matches!(constraint.high, Bound::Unbounded) => {
                    constraint.high = Bound::Included(value);
                }
                Operator::Gt if matches!(constraint.low, Bound::Unbounded) => constraint.low = Bound::Excluded(value),
                Operator::GtEq if matches!(constraint.low, Bound::Unbounded) => constraint.low = Bound::Included(value),
                _ => {}
            },
        }
    }
    constraints
}

enum Said {
    IsNull,
    /// Arrays of one value.
    OneOf(Vec<ArrayRef>),
    Compared(Operator, ArrayRef),
}

/// What a conjunct says of one column, if it is only about one.
fn said(conjunct: &dyn PhysicalExpr) -> Option<(usize, Said)> {
    if let Some(is_null) = conjunct.downcast_ref::<IsNullExpr>() {
        return Some((is_null.arg().downcast_ref::<Column>()?.index(), Said::IsNull));
    }
    if let Some(list) = conjunct.downcast_ref::<InListExpr>() {
        let column = list.expr().downcast_ref::<Column>().filter(|_| !list.negated())?.index();
        let mut values = Vec::with_capacity(list.len());
        for item in list.list() {
            let literal = item.downcast_ref::<Literal>()?.value();
            // No value equals NULL.
            if !literal.is_null() {
                values.push(literal.to_array().ok()?);
            }
        }
        return Some((column, Said::OneOf(values)));
    }
    let binary = conjunct.downcast_ref::<BinaryExpr>()?;
    if *binary.op() == Operator::Or {
        let sides = (said(binary.left().as_ref())?, said(binary.right().as_ref())?);
        let ((left, left_said), (right, right_said)) = sides;
        let mut values = listed(left_said)?;
        values.extend(listed(right_said)?);
        return (left == right).then_some((left, Said::OneOf(values)));
    }
    let (column, literal, operator) = if let Some(column) = binary.left().downcast_ref::<Column>() {
        (column, binary.right().downcast_ref::<Literal>()?, *binary.op())
    } else {
        (binary.right().downcast_ref::<Column>()?, binary.left().downcast_ref::<Literal>()?, binary.op().swap()?)
    };
    if literal.value().is_null() {
        return None;
    }
    Some((column.index(), Said::Compared(operator, literal.value().to_array().ok()?)))
}

/// The values of an equality or of a list of them.
fn listed(said: Said) -> Option<Vec<ArrayRef>> {
    match said {
        Said::OneOf(values) => Some(values),
        Said::Compared(Operator::Eq, value) => Some(vec![value]),
        Said::IsNull | Said::Compared(..) => None,
    }
}
