//! `information_schema._pg_truetypid(a.*, t.*)` and `_pg_truetypmod`: the type below a column, from its row of `pg_attribute`
//! and that of its type.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, StringViewArray, StructArray};
use datafusion::arrow::compute::kernels::zip::zip;
use datafusion::arrow::compute::{cast, kernels::cmp::eq};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, plan_datafusion_err};
use datafusion::logical_expr::ScalarUDF;

use crate::datafusion::functions::row_function::RowFunction;

/// The function of this name.
pub(super) fn function(name: &str) -> Option<Arc<ScalarUDF>> {
    let function = match name {
        "_pg_truetypid" => RowFunction::new(
            "_pg_truetypid",
            |_| Ok(DataType::Int64),
            |args, to| below(args, ["typbasetype", "atttypid"], to),
        ),
        "_pg_truetypmod" => RowFunction::new(
            "_pg_truetypmod",
            |_| Ok(DataType::Int32),
            |args, to| below(args, ["typtypmod", "atttypmod"], to),
        ),
        _ => return None,
    };
    Some(Arc::new(function.function()))
}

/// What the type tells if it is a domain, else what the column tells.
fn below(args: &[ArrayRef], [of_domain, of_column]: [&str; 2], to: &DataType) -> Result<ArrayRef> {
    let [column, of_type] = args else {
        return Err(plan_datafusion_err!("a row of pg_attribute and one of pg_type are wanted"));
    };
    let kinds = cast(&field(of_type, "typtype")?, &DataType::Utf8View)?;
    let is_domain = eq(&kinds, &StringViewArray::new_scalar("d"))?;
    let (own, below) = (cast(&field(column, of_column)?, to)?, cast(&field(of_type, of_domain)?, to)?);
    Ok(zip(&is_domain, &below, &own)?)
}

fn field(rows: &ArrayRef, name: &str) -> Result<ArrayRef> {
    let rows: Option<&StructArray> = rows.as_struct_opt();
    let column = rows.and_then(|rows| rows.column_by_name(name));
    column.cloned().ok_or_else(|| plan_datafusion_err!("a row with a column {name} is wanted"))
}
