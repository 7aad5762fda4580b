//! What PostgreSQL calls a type.

use datafusion::arrow::datatypes::{DataType, IntervalUnit};

/// What PostgreSQL calls a type.
pub(in crate::datafusion) fn type_name(data_type: &DataType) -> String {
    match data_type {
        DataType::Null => "unknown",
        DataType::Boolean => "boolean",
        DataType::Int8 | DataType::UInt8 | DataType::Int16 => "smallint",
        DataType::UInt16 | DataType::Int32 => "integer",
        DataType::UInt32 | DataType::Int64 => "bigint",
        DataType::UInt64
        | DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..) => "numeric",
        DataType::Float16 | DataType::Float32 => "real",
        DataType::Float64 => "double precision",
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "text",
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => "bytea",
        DataType::Date32 => "date",
        DataType::Date64 | DataType::Timestamp(_, None) => "timestamp without time zone",
        DataType::Timestamp(_, Some(_)) => "timestamp with time zone",
        DataType::Time32(_) | DataType::Time64(_) => "time without time zone",
        DataType::Interval(IntervalUnit::YearMonth | IntervalUnit::DayTime | IntervalUnit::MonthDayNano)
        | DataType::Duration(_) => "interval",
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _) => {
            return format!("{}[]", type_name(field.data_type()));
        }
        DataType::Dictionary(_, values) => return type_name(values),
        // Of a type that Arrow has not, the field has the name.
        DataType::Struct(fields) => match fields.as_ref() {
            [field] if field.name() == "$timetz" => "time with time zone",
            [field] => field.name().strip_prefix('$').unwrap_or("record"),
            _ => "record",
        },
        other => return other.to_string(),
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_called_as_in_postgresql() {
        for (data_type, expected) in [
            (DataType::Int32, "integer"),
            (DataType::Decimal128(10, 2), "numeric"),
            (DataType::Utf8View, "text"),
            (DataType::new_list(DataType::Int64, true), "bigint[]"),
            (DataType::Null, "unknown"),
        ] {
            assert_eq!(type_name(&data_type), expected);
        }
    }
}
