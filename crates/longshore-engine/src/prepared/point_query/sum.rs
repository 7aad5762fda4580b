//! Sums of a stored value and a given one.

use longshore_storage::{Datum, Relation, RowId, Transaction, TransactionError};

/// The value of a column and another one, added or taken away as integers; `None` where that is not plain.
pub(super) fn sum(
    transaction: &mut Transaction,
    relation: &Relation,
    row: RowId,
    column: usize,
    other: Datum<'_>,
    operation: fn(i64, i64) -> Option<i64>,
) -> Result<Option<Datum<'static>>, TransactionError> {
    transaction.get_datum(relation, row, column, |value| match (value, other) {
        (Datum::Null, _) | (_, Datum::Null) => Some(Datum::Null),
        (Datum::I64(left), Datum::I64(right)) => operation(left, right).map(Datum::I64),
        (Datum::I32(left), Datum::I32(right)) => {
            operation(left.into(), right.into()).and_then(|sum| i32::try_from(sum).ok()).map(Datum::I32)
        }
        (Datum::I16(left), Datum::I16(right)) => {
            operation(left.into(), right.into()).and_then(|sum| i16::try_from(sum).ok()).map(Datum::I16)
        }
        _ => None,
    })
}
