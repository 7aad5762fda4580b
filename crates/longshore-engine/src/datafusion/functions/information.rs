//! What a session is told of itself: `version()`, `current_user`, `current_database()`, `pg_typeof(value)` and their like.
//! There is one user, one database and one schema.

use datafusion::arrow::datatypes::{DataType, IntervalUnit};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};

use super::json_types;
use crate::datafusion::functions::numeric::is_numeric;
use crate::sql::names::{CATALOG, SCHEMA, USER};

/// Functions without arguments, and what they give.
const TOLD: [(&str, &str); 8] = [
    ("version", concat!("Longshore ", env!("CARGO_PKG_VERSION"))),
    ("current_user", USER),
    ("session_user", USER),
    ("current_role", USER),
    ("user", USER),
    ("current_catalog", CATALOG),
    ("current_database", CATALOG),
    ("current_schema", SCHEMA),
];

/// All these functions.
pub(in crate::datafusion) fn functions() -> impl Iterator<Item = ScalarUDF> {
    let told = TOLD.map(|(name, value)| {
        ScalarUDF::new_from_impl(Told { name, value, signature: Signature::nullary(Volatility::Immutable) })
    });
    told.into_iter().chain([ScalarUDF::new_from_impl(TypeOf { signature: Signature::any(1, Volatility::Immutable) })])
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Told {
    name: &'static str,
    value: &'static str,
    signature: Signature,
}

impl ScalarUDFImpl for Told {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Ok(ColumnarValue::Scalar(ScalarValue::from(self.value)))
    }
}

/// `pg_typeof(value)`: the name of its type.
#[derive(Debug, PartialEq, Eq, Hash)]
struct TypeOf {
    signature: Signature,
}

impl ScalarUDFImpl for TypeOf {
    fn name(&self) -> &'static str {
        "pg_typeof"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [value] = args.args.as_slice() else { return internal_err!("pg_typeof takes one argument") };
        Ok(ColumnarValue::Scalar(ScalarValue::Utf8(Some(type_name(&value.data_type())))))
    }
}

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
        numeric if is_numeric(numeric) => "numeric",
        DataType::Struct(_) => json_types::name_of(data_type).unwrap_or("record"),
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
