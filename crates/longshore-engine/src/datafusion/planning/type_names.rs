//! Types that casts name, where Arrow has no type for them or `DataFusion` would take another one.
//!
//! A value of a type that Arrow has not is a struct whose only field has the type's name; a limit of the type goes with the
//! metadata of the field that a cast names. Not here: types of columns (`sql::types`), which have the same arrays.

use std::sync::Arc;

use datafusion::arrow::datatypes::{self as arrow, Field, FieldRef};
use datafusion::common::Result;
use datafusion::logical_expr::planner::TypePlanner;
use longshore_storage::ColumnType;
use longshore_value::numeric::Limit;
use sqlparser::ast::DataType;

use crate::datafusion::errors::external;
use crate::datafusion::functions::json_types::{json, jsonb, jsonpath};
use crate::sql::types::column_type;

/// Among the metadata of a field: the precision and the scale of a NUMERIC, with a comma between them.
const LIMIT: &str = "longshore.numeric";

/// Gives types to names.
#[derive(Debug)]
pub(in crate::datafusion) struct TypeNames;

impl TypePlanner for TypeNames {
    fn plan_type_field(&self, sql_type: &DataType) -> Result<Option<FieldRef>> {
        let numeric = match sql_type {
            DataType::Numeric(_) | DataType::Decimal(_) | DataType::Dec(_) => {
                column_type(sql_type).map_err(external)?
            }
            DataType::JSON => return Ok(wrapper(json())),
            DataType::JSONB => return Ok(wrapper(jsonb())),
            DataType::Custom(name, _) if name.to_string().eq_ignore_ascii_case("jsonpath") => {
                return Ok(wrapper(jsonpath()));
            }
            _ => return Ok(None),
        };
        let field = Field::new("", numeric.arrow(), true);
        Ok(Some(Arc::new(match numeric {
            ColumnType::Numeric(Some(Limit { precision, scale })) => {
                field.with_metadata([(LIMIT.to_owned(), format!("{precision},{scale}"))].into())
            }
            _ => field,
        })))
    }
}

fn wrapper(data_type: arrow::DataType) -> Option<FieldRef> {
    Some(Arc::new(Field::new("", data_type, true)))
}

/// The limit of a NUMERIC that a cast names.
pub(in crate::datafusion) fn limit(field: &Field) -> Option<Limit> {
    let (precision, scale) = field.metadata().get(LIMIT)?.split_once(',')?;
    Limit::new(precision.parse().ok()?, scale.parse().ok()?)
}
