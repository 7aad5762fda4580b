//! Literals as columns store them, where that is plain; all others are left to the planner.
//!
//! Not here: where literals stand in statements (`sql/shape`).

use longshore_storage::{ColumnType, Datum};

use crate::sql::shape::Literal;

/// Whole numbers up to this one, and down to its negative, are doubles as they are.
const DOUBLE_WHOLE_MAX: u64 = 1 << 53;

/// `literal` as a value that `fit` takes for a column of this type; without a type, a number of rows.
pub(super) fn datum<'a>(literal: &'a Literal<'_>, column_type: Option<ColumnType>) -> Option<Datum<'a>> {
    let Some(column_type) = column_type else {
        return match literal {
            Literal::Integer(value) => Some(Datum::I64(*value)),
            _ => None,
        };
    };
    match literal {
        Literal::Null => Some(Datum::Null),
        Literal::Bool(value) => (column_type == ColumnType::Boolean).then_some(Datum::Bool(*value)),
        Literal::Integer(value) => match column_type {
            ColumnType::SmallInt | ColumnType::Integer | ColumnType::BigInt | ColumnType::Decimal { .. } => {
                Some(Datum::I64(*value))
            }
            ColumnType::Double if value.unsigned_abs() <= DOUBLE_WHOLE_MAX => Some(Datum::F64(*value as f64)),
            _ => None,
        },
        Literal::Decimal(text) => match column_type {
            ColumnType::Decimal { .. } => Some(Datum::Text(text)),
            ColumnType::Double => text.parse().ok().filter(|value: &f64| value.is_normal()).map(Datum::F64),
            _ => None,
        },
        // `fit` leaves texts that are not plainly values of the column to the planner.
        Literal::Text(text) => Some(Datum::Text(text)),
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use longshore_storage::Uuid;

    use super::*;
    use crate::sql::parameters::fit;

    const UUID: &str = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11";

    #[test]
    fn plain_literals_fit_their_columns_and_no_others() {
        let text = |text: &'static str| Literal::Text(Cow::Borrowed(text));
        let decimal = ColumnType::Decimal { precision: 9, scale: 2 };
        let uuid = Uuid::parse(UUID.as_bytes()).ok().map(Datum::Uuid);
        for (literal, column_type, expected) in [
            (Literal::Null, ColumnType::Date, Some(Datum::Null)),
            (Literal::Bool(true), ColumnType::Boolean, Some(Datum::Bool(true))),
            (Literal::Bool(true), ColumnType::Integer, None),
            (Literal::Integer(5), ColumnType::SmallInt, Some(Datum::I16(5))),
            (Literal::Integer(5), decimal, Some(Datum::I64(500))),
            (Literal::Integer(5), ColumnType::Double, Some(Datum::F64(5.0))),
            (Literal::Integer((1 << 53) + 1), ColumnType::Double, None),
            (Literal::Integer(5), ColumnType::Text, None),
            (Literal::Integer(5), ColumnType::Timestamp, None),
            (Literal::Decimal("1.5"), decimal, Some(Datum::I64(150))),
            (Literal::Decimal("1.5"), ColumnType::Double, Some(Datum::F64(1.5))),
            (Literal::Decimal("1e400"), ColumnType::Double, None),
            (Literal::Decimal("1.5"), ColumnType::Integer, None),
            (Literal::Decimal("1.5"), ColumnType::Text, None),
            (text("a"), ColumnType::Varchar(3), Some(Datum::Text("a"))),
            (text("1970-01-02"), ColumnType::Date, Some(Datum::I32(1))),
            (text("1970-02-30"), ColumnType::Date, None),
            (text("1970-1-2"), ColumnType::Date, None),
            (text("1970-01-01 00:00:01"), ColumnType::Timestamp, Some(Datum::I64(1_000_000))),
            (text("1970-01-01 00:00:01.5"), ColumnType::Timestamp, Some(Datum::I64(1_500_000))),
            (text("1970-01-01 00:00:01+01"), ColumnType::Timestamp, None),
            (text("1970-01-01 00:00:01."), ColumnType::Timestamp, None),
            (text("1970-01-01 00:00:01"), ColumnType::TimestampTz, None),
            (text("5"), ColumnType::Integer, Some(Datum::I32(5))),
            (text("-32769"), ColumnType::SmallInt, None),
            (text("+5"), ColumnType::BigInt, None),
            (text("1.0"), ColumnType::Integer, None),
            (text("t"), ColumnType::Boolean, Some(Datum::Bool(true))),
            (text("yes"), ColumnType::Boolean, None),
            (text("1.5"), ColumnType::Double, Some(Datum::F64(1.5))),
            (text("1e-400"), ColumnType::Double, None),
            (text("inf"), ColumnType::Double, None),
            (text(UUID), ColumnType::Uuid, uuid),
            (text("{A0EEBC999C0B4EF8BB6D6BB9BD380A11}"), ColumnType::Uuid, uuid),
            (text("A0EEBC99-9C0B-4EF8-BB6D"), ColumnType::Uuid, None),
        ] {
            let fitted = datum(&literal, Some(column_type)).and_then(|value| fit(value, column_type));
            assert_eq!(fitted, expected, "{literal:?} as {column_type:?}");
        }
        assert_eq!(datum(&Literal::Integer(5), None), Some(Datum::I64(5)));
        assert_eq!(datum(&text("5"), None), None);
    }
}
