//! Types that programs declare for parameters by their OIDs.

use sqlparser::ast::{ArrayElemTypeDef, DataType};
use sqlparser::parser::Parser;

use super::dialect::LongshoreDialect;
use super::types::column_type;
use crate::BuiltinType;

/// The built-in type of this OID; `None` if there is none, or none that a value here can have.
pub(crate) fn of_oid(oid: u32) -> Option<DataType> {
    let (builtin, is_array) = BuiltinType::of_oid(oid)?;
    let element = match builtin.name {
        // Of any length.
        "bpchar" | "name" => DataType::Text,
        _ => Parser::new(&LongshoreDialect).try_with_sql(builtin.sql_name).ok()?.parse_data_type().ok()?,
    };
    column_type(&element).ok()?;
    Some(if is_array { DataType::Array(ArrayElemTypeDef::SquareBracket(Box::new(element), None)) } else { element })
}
