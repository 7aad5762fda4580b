//! `array_to_string`: the elements of an array with something between them.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringViewArray, StringViewBuilder};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::logical_expr::ScalarUDF;

use super::{array_type, as_list, range};
use crate::datafusion::functions::nested::{flattened, text_out};
use crate::datafusion::functions::row_function::RowFunction;

pub(super) fn functions() -> Vec<ScalarUDF> {
    [RowFunction::new("array_to_string", |types| array_type(types, 0).map(|_| DataType::Utf8View), to_string)]
        .map(RowFunction::function)
        .into()
}

/// `array_to_string(array, delimiter [, null])`
fn to_string(args: &[ArrayRef], _: &DataType) -> Result<ArrayRef> {
    let types: Vec<DataType> = args.iter().map(|arg| arg.data_type().clone()).collect();
    let lists: ArrayRef = Arc::new(as_list(&args[0], &array_type(&types, 0)?)?);
    let lists = flattened(&lists)?;
    let lists = lists.as_list::<i32>();
    let items = element_texts(lists.values())?;
    let delimiters = text_out::texts(&args[1])?;
    let nulls = args.get(2).map(text_out::texts).transpose()?;
    let mut builder = StringViewBuilder::with_capacity(lists.len());
    for row in 0..lists.len() {
        if lists.is_null(row) || delimiters.is_null(row) {
            builder.append_null();
            continue;
        }
        let null = nulls.as_ref().filter(|nulls| !nulls.is_null(row)).map(|nulls| nulls.value(row));
        let shown = range(lists, row).filter_map(|at| if items.is_null(at) { null } else { Some(items.value(at)) });
        builder.append_value(shown.collect::<Vec<_>>().join(delimiters.value(row)));
    }
    Ok(Arc::new(builder.finish()))
}

/// The texts of elements; those of booleans are short.
fn element_texts(values: &ArrayRef) -> Result<StringViewArray> {
    if values.data_type() == &DataType::Boolean {
        let texts = values.as_boolean().iter().map(|value| value.map(|value| if value { "t" } else { "f" }));
        return Ok(texts.collect());
    }
    text_out::texts(values)
}
