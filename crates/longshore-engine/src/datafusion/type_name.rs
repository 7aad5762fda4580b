//! What PostgreSQL calls a type.

use datafusion::arrow::datatypes::DataType;

use crate::BuiltinType;

/// What PostgreSQL calls a type.
pub(in crate::datafusion) fn type_name(data_type: &DataType) -> String {
    match data_type {
        DataType::Null => "unknown".to_owned(),
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _) => format!("{}[]", type_name(field.data_type())),
        DataType::Dictionary(_, values) => type_name(values),
        other => match BuiltinType::of_scalars(other) {
            Some(known) => known.sql_name.to_owned(),
            None => other.to_string(),
        },
    }
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
