//! How types are spelled, stored, and found from Arrow's.

use super::*;

const ALL: [(ColumnType, &str); 20] = [
    (ColumnType::Boolean, "BOOLEAN"),
    (ColumnType::SmallInt, "SMALLINT"),
    (ColumnType::Integer, "INTEGER"),
    (ColumnType::BigInt, "BIGINT"),
    (ColumnType::Real, "REAL"),
    (ColumnType::Double, "DOUBLE PRECISION"),
    (ColumnType::Decimal { precision: 18, scale: 2 }, "DECIMAL(18,2)"),
    (ColumnType::Decimal { precision: 19, scale: 0 }, "DECIMAL(19,0)"),
    (ColumnType::Char(10), "CHAR(10)"),
    (ColumnType::Varchar(44), "VARCHAR(44)"),
    (ColumnType::Text, "TEXT"),
    (ColumnType::Date, "DATE"),
    (ColumnType::Time, "TIME"),
    (ColumnType::Timestamp, "TIMESTAMP"),
    (ColumnType::TimestampTz, "TIMESTAMP WITH TIME ZONE"),
    (ColumnType::Uuid, "UUID"),
    (ColumnType::Bytea, "BYTEA"),
    (ColumnType::Numeric(None), "NUMERIC"),
    (ColumnType::TimeTz, "TIME WITH TIME ZONE"),
    (ColumnType::Interval, "INTERVAL"),
];

#[test]
fn types_are_displayed_as_sql_spells_them() {
    for (column_type, spelling) in ALL {
        assert_eq!(column_type.to_string(), spelling);
    }
}

#[test]
fn a_precision_is_part_of_the_type() {
    for (of, spelling) in [
        (TimeType::Time, "TIME(2)"),
        (TimeType::TimeTz, "TIME(2) WITH TIME ZONE"),
        (TimeType::Timestamp, "TIMESTAMP(2)"),
        (TimeType::TimestampTz, "TIMESTAMP(2) WITH TIME ZONE"),
        (TimeType::Interval, "INTERVAL(2)"),
    ] {
        let (rounded, whole) = (of.rounded(2), of.rounded(6));
        assert_eq!(rounded.to_string(), spelling);
        assert_eq!(
            (rounded.unrounded(), rounded.time_type(), whole.time_type()),
            (whole, Some((of, 2)), Some((of, 6)))
        );
        assert_eq!((rounded.arrow(), rounded.physical()), (whole.arrow(), whole.physical()));
    }
}

#[test]
fn arrow_types_lead_back_to_the_type_or_to_text() {
    for (column_type, spelling) in ALL {
        let back = ColumnType::from_arrow(&column_type.arrow());
        let expected = match column_type {
            ColumnType::Char(_) | ColumnType::Varchar(_) | ColumnType::Uuid => ColumnType::Text,
            other => other,
        };
        assert_eq!(back, Some(expected), "{spelling}");
    }
}

#[test]
fn every_value_of_an_arrow_type_has_room() {
    let decimal = |precision, scale| Some(ColumnType::Decimal { precision, scale });
    for (data_type, expected) in [
        (DataType::UInt8, Some(ColumnType::SmallInt)),
        (DataType::UInt16, Some(ColumnType::Integer)),
        (DataType::UInt32, Some(ColumnType::BigInt)),
        (DataType::UInt64, decimal(20, 0)),
        (DataType::Decimal256(38, 3), decimal(38, 3)),
        (DataType::Decimal256(39, 3), None),
        (DataType::Decimal128(10, -2), None),
        (DataType::Null, Some(ColumnType::Text)),
        (DataType::Date64, Some(ColumnType::Timestamp)),
        (DataType::Timestamp(TimeUnit::Nanosecond, Some("+02:00".into())), Some(ColumnType::TimestampTz)),
        (DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::LargeUtf8)), Some(ColumnType::Text)),
        (DataType::Duration(TimeUnit::Second), None),
    ] {
        assert_eq!(ColumnType::from_arrow(&data_type), expected, "{data_type}");
    }
}

#[test]
fn short_decimals_take_64_bits() {
    let widths = ALL.map(|(column_type, _)| column_type.physical().width());
    assert_eq!(widths, [1, 2, 4, 8, 4, 8, 8, 16, 16, 16, 16, 4, 8, 8, 8, 16, 16, 16, 16, 16]);
}

#[test]
fn fields_say_what_may_be_null() {
    let schema =
        Schema::new(vec![Column::new("a", ColumnType::TimestampTz, false), Column::new("b", ColumnType::Uuid, true)]);
    assert_eq!(schema.index_of("b"), Some(1));
    assert_eq!(schema.index_of("B"), None);
    let arrow = schema.arrow();
    assert_eq!(arrow.field(0).data_type(), &DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())));
    assert_eq!((arrow.field(0).is_nullable(), arrow.field(1).is_nullable()), (false, true));
}

#[test]
fn uuids_are_stored_as_nothing_else_is() {
    for (other, spelling) in ALL {
        let is_uuid = other == ColumnType::Uuid;
        let both = (ColumnType::Uuid.is_stored_as(other), other.is_stored_as(ColumnType::Uuid));
        assert_eq!(both, (is_uuid, is_uuid), "{spelling}");
    }
}
