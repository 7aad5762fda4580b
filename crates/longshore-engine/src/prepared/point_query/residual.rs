//! Conditions that no index serves: they are asked of the rows that an index has found, one by one.
//!
//! `WHERE id = $1 AND version = $2`, `... AND deleted_at IS NULL`, `... AND state IN ('new', 'taken')`. Not here: the conditions by
//! which rows are found (`lookup`).

#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::slice;

use longshore_storage::{ColumnType, Datum, Relation, RowId, Transaction, TransactionError};

use super::conditions::{Condition, Test};
use super::operand::{Arguments, Few, Operand, given};

/// Conditions that all rows must satisfy.
#[derive(Debug, Default)]
pub(super) struct Residual(Vec<Condition>);

impl Residual {
    /// `None` where a value compares with another in other ways than what is stored.
    pub(super) fn new(conditions: Vec<Condition>, type_of: impl Fn(usize) -> ColumnType) -> Option<Self> {
        let can_be_asked = |condition: &Condition| match condition.test {
            Test::IsNull(_) => true,
            Test::Compared(..) | Test::In(_) => compares_plainly(type_of(condition.column)),
        };
        conditions.iter().all(can_be_asked).then_some(Self(conditions))
    }

    /// Whether it asks nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Tells `take` each value that is compared with, and its column.
    pub(super) fn operands(&self, take: &mut impl FnMut(&Operand, Option<usize>)) {
        for condition in &self.0 {
            let values = match &condition.test {
                Test::Compared(_, value) => slice::from_ref(value),
                Test::In(values) => values,
                Test::IsNull(_) => &[],
            };
            for value in values {
                take(value, Some(condition.column));
            }
        }
    }

    /// Those of `rows` that satisfy it; `None` where a value is none that its column plainly takes.
    pub(super) fn kept(
        &self,
        transaction: &mut Transaction,
        relation: &Relation,
        mut rows: Few<RowId>,
        arguments: Arguments<'_, '_>,
    ) -> Result<Option<Few<RowId>>, TransactionError> {
        for Condition { column, test } in &self.0 {
            let mut result = Ok(());
            let mut keep = |test: &dyn Fn(Datum<'_>) -> bool| {
                rows.retain(|row| match transaction.get_datum(relation, *row, *column, test) {
                    Ok(is_kept) => is_kept,
                    Err(error) => {
                        result = Err(error);
                        false
                    }
                });
            };
            match test {
                Test::IsNull(is_null) => keep(&|value| (value == Datum::Null) == *is_null),
                Test::Compared(how, operand) => {
                    let Some(given) = given(operand, *column, relation, arguments) else { return Ok(None) };
                    keep(&|value| compared(value, given).is_some_and(|ordering| how.accepts(ordering)));
                }
                Test::In(operands) => {
                    let given = operands.iter().map(|operand| given(operand, *column, relation, arguments));
                    let Some(given) = given.collect::<Option<Few<Datum<'_>>>>() else { return Ok(None) };
                    keep(&|value| given.iter().any(|given| compared(value, *given).is_some_and(Ordering::is_eq)));
                }
            }
            result?;
        }
        Ok(Some(rows))
    }
}

/// Whether values of this type compare as what is stored of them does. The blanks of `CHAR(n)`, NaN and -0 do not.
fn compares_plainly(column_type: ColumnType) -> bool {
    matches!(
        column_type,
        ColumnType::SmallInt
            | ColumnType::Integer
            | ColumnType::BigInt
            | ColumnType::Decimal { .. }
            | ColumnType::Boolean
            | ColumnType::Date
            | ColumnType::Time
            | ColumnType::Timestamp
            | ColumnType::TimestampTz
            | ColumnType::Varchar(_)
            | ColumnType::Text
            | ColumnType::Uuid
    )
}

/// How two values of such a type compare; not at all where one is NULL.
fn compared(left: Datum<'_>, right: Datum<'_>) -> Option<Ordering> {
    Some(match (left, right) {
        (Datum::I16(left), Datum::I16(right)) => left.cmp(&right),
        (Datum::I32(left), Datum::I32(right)) => left.cmp(&right),
        (Datum::I64(left), Datum::I64(right)) => left.cmp(&right),
        (Datum::I128(left), Datum::I128(right)) => left.cmp(&right),
        (Datum::Bool(left), Datum::Bool(right)) => left.cmp(&right),
        (Datum::Text(left), Datum::Text(right)) => left.cmp(right),
        (Datum::Uuid(left), Datum::Uuid(right)) => left.cmp(&right),
        _ => return None,
    })
}
