//! Types that casts name, where Arrow has no type for them or `DataFusion` would take another one.
//!
//! A value of a type that Arrow has not is a struct whose only field has the type's name; a limit of the type goes with the
//! metadata of the field that a cast names, and so does the length of a text ([`CAST`]), by which the cast is found that cuts
//! (`functions::casts`), and an enumeration ([`ENUM`]); of an array, what its elements have. Not here: types of columns (`sql::types`), which have the same arrays.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::datatypes::{self as arrow, Field, FieldRef};
use datafusion::common::Result;
use datafusion::logical_expr::planner::TypePlanner;
use longshore_storage::ColumnType;
use sqlparser::ast::{ArrayElemTypeDef, DataType, ObjectNamePart};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

use super::system_tables::typed;
use super::time_types::time_type;
use crate::builtin_types::{MODIFIER_OFFSET, PG_MODIFIER, PG_TYPE, modifier};
use crate::datafusion::errors::external;
use crate::datafusion::functions::casts::lengths::{CAST, Length};
use crate::datafusion::functions::enums::{ENUM, Enumeration};
use crate::datafusion::functions::json_types::{json, jsonb, jsonpath};
use crate::datafusion::functions::nested::list_of;
use crate::datafusion::functions::numeric::with_limit;
use crate::sql::dialect::LongshoreDialect;
use crate::sql::enum_types;
use crate::sql::types::{character_length, column_type};

/// Gives types to names.
#[derive(Debug)]
pub(in crate::datafusion) struct TypeNames;

impl TypePlanner for TypeNames {
    fn plan_type_field(&self, sql_type: &DataType) -> Result<Option<FieldRef>> {
        let numeric = match sql_type {
            DataType::Numeric(_) | DataType::Decimal(_) | DataType::Dec(_) => {
                column_type(sql_type).map_err(external)?
            }
            DataType::JSON => return Ok(Some(wrapper(json()))),
            DataType::JSONB => return Ok(Some(wrapper(jsonb()))),
            DataType::Custom(name, _) if name.to_string().eq_ignore_ascii_case("jsonpath") => {
                return Ok(Some(wrapper(jsonpath())));
            }
            DataType::Array(ArrayElemTypeDef::SquareBracket(element, _)) => {
                let Some(element) = self.plan_type_field(element)? else { return Ok(None) };
                let mut metadata = element.metadata().clone();
                metadata.retain(|key, _| [CAST, ENUM, PG_TYPE, PG_MODIFIER].contains(&key.as_str()));
                if let Some(name) = metadata.get_mut(PG_TYPE)
                    && !name.starts_with('_')
                {
                    name.insert(0, '_');
                }
                let list = Field::new("", list_of(element.data_type().clone()), true);
                return Ok((!metadata.is_empty()).then(|| Arc::new(list.with_metadata(metadata))));
            }
            other => {
                if let Some((name, labels)) = enum_types::labels(other) {
                    let metadata = [(ENUM.to_owned(), Enumeration { name, labels }.as_metadata())].into();
                    let field = Field::new("", arrow::DataType::Utf8View, true).with_metadata(metadata);
                    return Ok(Some(Arc::new(field)));
                }
                match text(other)?.or_else(|| time_type(other)).or_else(|| oid_type(other)) {
                    Some(field) => return Ok(Some(field)),
                    None => match array_by_name(other) {
                        Some(array) => column_type(&array).map_err(external)?,
                        // A name that nothing else has taken.
                        None if matches!(other, DataType::Custom(..)) => column_type(other).map_err(external)?,
                        None => return Ok(None),
                    },
                }
            }
        };
        let field = Field::new("", numeric.arrow(), true);
        Ok(Some(Arc::new(match numeric {
            ColumnType::Numeric(Some(limit)) => with_limit(field, limit),
            _ => field,
        })))
    }
}

/// The array that PostgreSQL's name for it means, which is that of its elements behind an underscore: `_int4`.
fn array_by_name(sql_type: &DataType) -> Option<DataType> {
    let DataType::Custom(name, modifiers) = sql_type else { return None };
    let [ObjectNamePart::Identifier(name)] = name.0.as_slice() else { return None };
    let element = name.value.strip_prefix('_').filter(|_| modifiers.is_empty())?;
    let mut parser = Parser::new(&LongshoreDialect).try_with_sql(element).ok()?;
    let element = parser.parse_data_type().ok()?;
    let is_known = !matches!(element, DataType::Custom(..)) && parser.peek_token_ref().token == Token::EOF;
    is_known.then(|| DataType::Array(ArrayElemTypeDef::SquareBracket(Box::new(element), None)))
}

/// A text, with its length if it has one.
fn text(sql_type: &DataType) -> Result<Option<FieldRef>> {
    let length = match sql_type {
        DataType::Varchar(length)
        | DataType::CharacterVarying(length)
        | DataType::CharVarying(length)
        | DataType::Nvarchar(length) => {
            character_length(sql_type, length.as_ref()).map_err(external)?.map(Length::Varchar)
        }
        DataType::Char(length) | DataType::Character(length) => {
            Some(Length::Char(character_length(sql_type, length.as_ref()).map_err(external)?.unwrap_or(1)))
        }
        DataType::Custom(name, modifiers) => match (name.0.as_slice(), modifiers.as_slice()) {
            ([.., ObjectNamePart::Identifier(name)], []) if name.value.eq_ignore_ascii_case("name") => {
                Some(Length::Name)
            }
            ([.., ObjectNamePart::Identifier(name)], []) if name.value.eq_ignore_ascii_case("bpchar") => {
                Some(Length::Char(u32::MAX))
            }
            ([.., ObjectNamePart::Identifier(name)], []) if name.value == "char" => Some(Length::InternalChar),
            _ => return Ok(None),
        },
        _ => return Ok(None),
    };
    let metadata: HashMap<_, _> = length.into_iter().flat_map(told).collect();
    Ok(Some(Arc::new(Field::new("", arrow::DataType::Utf8View, true).with_metadata(metadata))))
}

/// CHAR, which does not cut and is told with this length.
pub(super) fn bpchar(shown: Option<i32>) -> FieldRef {
    let mut metadata: HashMap<_, _> = told(Length::Char(u32::MAX)).into_iter().collect();
    metadata.extend(shown.map(|length| (PG_MODIFIER.to_owned(), (length + MODIFIER_OFFSET).to_string())));
    Arc::new(Field::new("", arrow::DataType::Utf8View, true).with_metadata(metadata))
}

/// What the field of a cast to a type with a length tells: the length, and the type as PostgreSQL knows it.
fn told(length: Length) -> Vec<(String, String)> {
    let (type_name, column_type) = match length {
        Length::Varchar(characters) => ("varchar", Some(ColumnType::Varchar(characters))),
        Length::Char(u32::MAX) => ("bpchar", None),
        Length::Char(characters) => ("bpchar", Some(ColumnType::Char(characters))),
        Length::Name => ("name", None),
        Length::InternalChar => ("char", None),
    };
    let mut told = vec![(CAST.to_owned(), length.to_string()), (PG_TYPE.to_owned(), type_name.to_owned())];
    told.extend(column_type.map(|column_type| (PG_MODIFIER.to_owned(), modifier(column_type).to_string())));
    told
}

/// A type whose values are OIDs, as elements of an array; casts to it are calls (`sql::oid_casts`).
fn oid_type(sql_type: &DataType) -> Option<FieldRef> {
    let name = crate::sql::oid_casts::known(sql_type)?;
    Some(Arc::new(typed("", name)))
}

fn wrapper(data_type: arrow::DataType) -> FieldRef {
    Arc::new(Field::new("", data_type, true))
}
