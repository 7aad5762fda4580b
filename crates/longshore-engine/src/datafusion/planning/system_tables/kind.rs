//! Types that system tables have beside those of other tables: `oid`, `name`, `regclass`, `int2vector` and their like.
//!
//! To Arrow they are numbers, texts and lists. The metadata of a field tells which one it is ([`PG_TYPE`]): so that a
//! `regclass` is compared as a number and shown as a name.

use std::collections::HashMap;

use datafusion::arrow::datatypes::{DataType, Field};
use longshore_storage::ColumnType;

use crate::builtin_types::PG_TYPE;
use crate::datafusion::functions::nested::list_of;

/// Types whose values are OIDs.
const NUMBERS: [&str; 13] = [
    "oid",
    "xid",
    "cid",
    "regclass",
    "regcollation",
    "regconfig",
    "regdictionary",
    "regnamespace",
    "regoper",
    "regoperator",
    "regproc",
    "regprocedure",
    "regrole",
];
/// The same for types.
const REGTYPE: &str = "regtype";

/// The name in `pg_type` of what a list of columns spells.
pub(super) fn type_name(spelled: &'static str) -> &'static str {
    match spelled {
        "bigint" => "int8",
        "integer" | "cardinal_number" => "int4",
        "smallint" => "int2",
        "boolean" => "bool",
        "real" => "float4",
        "double_precision" => "float8",
        "timestamp_with_time_zone" | "time_stamp" => "timestamptz",
        "\"char\"" => "char",
        "sql_identifier" => "name",
        "character_data" | "yes_or_no" => "varchar",
        "text[]" => "_text",
        "name[]" => "_name",
        "\"char\"[]" => "_char",
        "aclitem[]" => "_aclitem",
        "smallint[]" => "_int2",
        "oid[]" => "_oid",
        "real[]" => "_float4",
        "double_precision[]" => "_float8",
        "boolean[]" => "_bool",
        "regtype[]" => "_regtype",
        "pg_statistic[]" => "_pg_statistic",
        other => other,
    }
}

/// Whether values of a type are OIDs.
pub(super) fn is_number(type_name: &str) -> bool {
    NUMBERS.contains(&type_name) || type_name == REGTYPE
}

/// Arrow's type for one of `pg_type`.
pub(super) fn arrow(type_name: &str) -> DataType {
    match type_name {
        "int8" => DataType::Int64,
        "int4" => DataType::Int32,
        "int2" => DataType::Int16,
        "bool" => DataType::Boolean,
        "float4" => DataType::Float32,
        "float8" => DataType::Float64,
        "timestamptz" => ColumnType::TimestampTz.arrow(),
        "interval" => ColumnType::Interval.arrow(),
        "numeric" => ColumnType::Numeric(None).arrow(),
        "bytea" => DataType::BinaryView,
        "_int2" | "int2vector" => list_of(DataType::Int16),
        "oidvector" => list_of(DataType::Int64),
        "_float4" => list_of(DataType::Float32),
        "_float8" => list_of(DataType::Float64),
        "_bool" => list_of(DataType::Boolean),
        other if is_number(other) => DataType::Int64,
        other if other.strip_prefix('_').is_some_and(is_number) => list_of(DataType::Int64),
        other if other.starts_with('_') || other == "anyarray" => list_of(DataType::Utf8View),
        _ => DataType::Utf8View,
    }
}

/// What a field tells of a type, if Arrow's type does not tell it.
pub(super) fn told(type_name: &'static str) -> Option<&'static str> {
    const PLAIN: [&str; 16] = [
        "int8",
        "int4",
        "int2",
        "bool",
        "float4",
        "float8",
        "timestamptz",
        "interval",
        "numeric",
        "bytea",
        "text",
        "_text",
        "_int2",
        "_float4",
        "_float8",
        "_bool",
    ];
    (!PLAIN.contains(&type_name)).then_some(type_name)
}

/// The type that the metadata of a field tells, if its values are of that.
pub(in crate::datafusion) fn kind_of(field: &Field) -> Option<&str> {
    let told = field.metadata().get(PG_TYPE)?;
    // A cast may leave the metadata of what was cast.
    (arrow(told) == *field.data_type()).then_some(told.as_str())
}

/// A field that tells its type.
pub(in crate::datafusion) fn typed(name: &str, type_name: &str) -> Field {
    let metadata = HashMap::from([(PG_TYPE.to_owned(), type_name.to_owned())]);
    Field::new(name, arrow(type_name), true).with_metadata(metadata)
}
