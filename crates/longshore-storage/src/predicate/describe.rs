//! Predicates as text, for the error that a conflict becomes.

use std::fmt::Write;

use longshore_value::uuid::Uuid;

use super::{Attribute, Restriction, Span, summary};
use crate::show::{Date, Decimal};
use crate::types::{ColumnType, Physical, Schema};

/// Of a UUID the characters that its summary knows.
const UUID_CHARACTERS_SHOWN: usize = 13;

/// The predicate as SQL would put it, as far as summaries allow: hashed texts and rounded numbers are left out.
pub(crate) fn describe(restrictions: &[Restriction], schema: &Schema) -> String {
    let mut text = String::new();
    for &Restriction { attribute, span } in restrictions {
        if !text.is_empty() {
            text.push_str(" AND ");
        }
        let column = &schema.all_columns()[attribute.column()];
        describe_one(&mut text, &column.name, column.column_type, attribute, span);
    }
    if text.is_empty() {
        text.push_str("all rows");
    }
    text
}

fn describe_one(text: &mut String, name: &str, column_type: ColumnType, attribute: Attribute, span: Span) {
    let value = |summary: u64| value(column_type, summary);
    // Writing to a string does not fail.
    let _ = match span {
        _ if attribute.is_hash() && column_type == ColumnType::Uuid => write!(text, "{name} = a UUID"),
        _ if attribute.is_hash() => write!(text, "{name} = a text"),
        Span::NULL => write!(text, "{name} IS NULL"),
        _ if span.low > span.high => write!(text, "{name} IN ()"),
        Span { low: 0, high: u64::MAX, .. } => write!(text, "{name} IS NOT NULL"),
        Span { low, high, .. } if low == high => write!(text, "{name} = {}", value(low)),
        Span { low, high: u64::MAX, .. } => write!(text, "{name} >= {}", value(low)),
        Span { low: 0, high, .. } => write!(text, "{name} <= {}", value(high)),
        Span { low, high, .. } => write!(text, "{name} BETWEEN {} AND {}", value(low), value(high)),
    };
}

fn value(column_type: ColumnType, summary: u64) -> String {
    match (column_type, column_type.physical()) {
        (ColumnType::Date, _) => format!("DATE '{}'", Date(summary::integer_of(summary))),
        (ColumnType::Decimal { scale, .. }, Physical::I64) => {
            Decimal(summary::integer_of(summary).into(), scale).to_string()
        }
        (ColumnType::Decimal { scale, .. }, _) => Decimal(summary::wide_of(summary), scale).to_string(),
        // The digits that the summary keeps.
        (ColumnType::Uuid, _) => {
            let text = Uuid::of_stored(summary::wide_of(summary)).to_string();
            format!("'{}...'", &text[..UUID_CHARACTERS_SHOWN])
        }
        (_, Physical::U8) => (summary::integer_of(summary) != 0).to_string(),
        (_, Physical::F32 | Physical::F64) => summary::float_of(summary).to_string(),
        (_, Physical::View) => prefix(summary),
        _ => summary::integer_of(summary).to_string(),
    }
}

/// The first bytes of a text, as those of a BYTEA where they are no UTF-8.
fn prefix(summary: u64) -> String {
    let bytes = summary.to_be_bytes();
    let length = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    let more = if length == bytes.len() { "..." } else { "" };
    format!("'{}{more}'", bytes[..length].escape_ascii())
}

#[cfg(test)]
mod tests {
    use std::ops::Bound;

    use super::*;
    use crate::predicate::Comparand;
    use crate::types::Column;

    #[test]
    fn predicates_read_like_sql() {
        let schema = Schema::new(vec![
            Column::new("id", ColumnType::Integer, false),
            Column::new("price", ColumnType::Decimal { precision: 15, scale: 2 }, false),
            Column::new("name", ColumnType::Text, true),
            Column::new("day", ColumnType::Date, true),
            Column::new("ratio", ColumnType::Double, true),
            Column::new("paid", ColumnType::Boolean, true),
            Column::new("total", ColumnType::Decimal { precision: 30, scale: 1 }, true),
        ]);
        let integer = |value| Bound::Included(Comparand::Integer(value));
        let equal = Restriction::equal;
        let cases: [(&[Restriction], &str); 8] = [
            (&[], "all rows"),
            (&[equal(0, Comparand::Integer(-5)), Restriction::is_null(3)], "id = -5 AND day IS NULL"),
            (&[Restriction::range(1, integer(-105), integer(5))], "price BETWEEN -1.05 AND 0.05"),
            (&[equal(2, Comparand::Bytes(b"x")), Restriction::is_not_null(3)], "name = a text AND day IS NOT NULL"),
            (
                &[Restriction::range(2, Bound::Included(Comparand::Bytes(b"customer#12")), Bound::Unbounded)],
                "name >= 'customer...'",
            ),
            (
                &[Restriction::range(3, integer(-1), integer(11_016))],
                "day BETWEEN DATE '1969-12-31' AND DATE '2000-02-29'",
            ),
            (&[equal(4, Comparand::Float(-0.5)), equal(5, Comparand::Integer(1))], "ratio = -0.5 AND paid = true"),
            (&[equal(6, Comparand::Wide(-1_234_567))], "total = -123456.7"),
        ];
        for (restrictions, expected) in cases {
            assert_eq!(describe(restrictions, &schema), expected);
        }
    }
}
