//! Arrays of `CHAR(n)` and `VARCHAR(n)` on their way into a table: their elements are cut where that loses blanks only, and
//! refused where they are too long. (Storage looks at texts that are columns.)

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, ListArray, RecordBatch, StringViewArray};
use datafusion::arrow::datatypes::DataType;
use longshore_storage::ColumnType;
use longshore_value::text::{fit_char, fit_varchar};

use crate::datafusion::errors::from_datafusion;
use crate::{Error, ErrorKind};

/// The rows of `batch` with arrays as columns of these types take them; `types` names columns by their places.
pub(super) fn fitted(
    batch: RecordBatch,
    types: impl Iterator<Item = (usize, ColumnType)>,
) -> Result<RecordBatch, Error> {
    let mut arrays: Option<Vec<ArrayRef>> = None;
    for (at, column_type) in types {
        if let ColumnType::Array(element @ (ColumnType::Char(_) | ColumnType::Varchar(_)), _) = column_type {
            let fitted = fit(batch.column(at), *element)?;
            arrays.get_or_insert_with(|| batch.columns().to_vec())[at] = fitted;
        }
    }
    match arrays {
        Some(arrays) => RecordBatch::try_new(batch.schema(), arrays).map_err(|error| from_datafusion(error.into())),
        None => Ok(batch),
    }
}

fn fit(array: &ArrayRef, element: ColumnType) -> Result<ArrayRef, Error> {
    if let (DataType::List(item), Some(lists)) = (array.data_type(), array.as_list_opt::<i32>()) {
        let values = fit(lists.values(), element)?;
        let (offsets, nulls) = (lists.offsets().clone(), lists.nulls().cloned());
        let fitted = ListArray::try_new(Arc::clone(item), offsets, values, nulls);
        return Ok(Arc::new(fitted.map_err(|error| from_datafusion(error.into()))?));
    }
    let Some(texts) = array.as_string_view_opt() else { return Ok(Arc::clone(array)) };
    let fit_one = |text| match element {
        ColumnType::Char(length) => fit_char(text, length).ok_or_else(|| too_long("character", length)),
        ColumnType::Varchar(length) => fit_varchar(text, length).ok_or_else(|| too_long("character varying", length)),
        _ => Ok(text),
    };
    let fitted = texts.iter().map(|text| text.map(fit_one).transpose()).collect::<Result<StringViewArray, Error>>()?;
    Ok(Arc::new(fitted))
}

fn too_long(name: &str, length: u32) -> Error {
    Error::new(ErrorKind::TooLong, format!("value too long for type {name}({length})"))
}
