//! `ROW(1, 'a')`: a row of values whose columns are called f1, f2 and so on, as PostgreSQL calls them.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, StructArray};
use datafusion::arrow::datatypes::{DataType, Field, Fields};
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::ScalarUDF;

use super::row_function::RowFunction;

/// The function.
pub(in crate::datafusion) fn functions() -> impl Iterator<Item = ScalarUDF> {
    [RowFunction::new("row", row_type, row)].map(RowFunction::function).into_iter()
}

fn row_type(types: &[DataType]) -> Result<DataType> {
    if types.is_empty() {
        return plan_err!("ROW() without a value is not supported");
    }
    let fields = types.iter().enumerate().map(|(at, data_type)| {
        // What has no type yet is a text.
        let data_type = if *data_type == DataType::Null { &DataType::Utf8View } else { data_type };
        Field::new(format!("f{}", at + 1), data_type.clone(), true)
    });
    Ok(DataType::Struct(Fields::from(fields.collect::<Vec<_>>())))
}

fn row(args: &[ArrayRef], to: &DataType) -> Result<ArrayRef> {
    let DataType::Struct(fields) = to else { return plan_err!("a row is wanted") };
    let columns = fields.iter().zip(args).map(|(field, arg)| super::nested::cast::cast_to(arg, field.data_type()));
    Ok(Arc::new(StructArray::try_new(fields.clone(), columns.collect::<Result<_>>()?, None)?))
}
