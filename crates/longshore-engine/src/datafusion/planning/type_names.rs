//! Types that the planner does not know by their names.

use std::sync::Arc;

use datafusion::arrow::datatypes::{Field, FieldRef};
use datafusion::common::Result;
use datafusion::logical_expr::planner::TypePlanner;
use sqlparser::ast;

use crate::datafusion::functions::json::types::{json, jsonb, jsonpath};

/// Makes types of names.
#[derive(Debug)]
pub(in crate::datafusion) struct TypeNames;

impl TypePlanner for TypeNames {
    fn plan_type_field(&self, sql_type: &ast::DataType) -> Result<Option<FieldRef>> {
        let data_type = match sql_type {
            ast::DataType::JSON => json(),
            ast::DataType::JSONB => jsonb(),
            ast::DataType::Custom(name, _) if name.to_string().eq_ignore_ascii_case("jsonpath") => jsonpath(),
            _ => return Ok(None),
        };
        Ok(Some(Arc::new(Field::new("", data_type, true))))
    }
}
