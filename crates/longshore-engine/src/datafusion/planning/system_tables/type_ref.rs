//! The type of a column as system tables tell it: an OID and a modifier.

use datafusion::arrow::datatypes::Field;
use longshore_storage::ColumnType;
use sqlparser::ast::DataType;

use super::kind::kind_of;
use crate::builtin_types::{BuiltinType, TypeId};
use crate::sql::types;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::datafusion::planning) struct TypeRef {
    pub(in crate::datafusion::planning) oid: u32,
    /// Bytes of a value, or -1.
    pub(in crate::datafusion::planning) length: i16,
    /// `atttypmod`.
    pub(in crate::datafusion::planning) modifier: i32,
    /// Dimensions of an array, or 0.
    pub(in crate::datafusion::planning) dimensions: i32,
}

/// The type of a column of a table.
pub(in crate::datafusion::planning) fn of_column(column_type: ColumnType) -> TypeRef {
    let TypeId { oid, length, modifier, .. } = TypeId::of_column(column_type);
    let dimensions = if let ColumnType::Array(_, dimensions) = column_type { dimensions.into() } else { 0 };
    TypeRef { oid, length, modifier, dimensions }
}

/// The type of a column of a view.
pub(in crate::datafusion::planning) fn of_field(field: &Field) -> TypeRef {
    let told = kind_of(field).and_then(BuiltinType::named);
    if let Some(told) = told {
        return TypeRef { oid: told.oid, length: told.length, modifier: -1, dimensions: 0 };
    }
    let TypeId { oid, length, modifier, .. } = TypeId::of_field(field);
    TypeRef { oid, length, modifier, dimensions: 0 }
}

/// The type that SQL spells so, as a domain is over it.
pub(in crate::datafusion::planning) fn of_sql(data_type: &DataType) -> TypeRef {
    types::column_type(data_type).map_or(TypeRef { oid: 0, length: -1, modifier: -1, dimensions: 0 }, of_column)
}
