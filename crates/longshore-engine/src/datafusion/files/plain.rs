//! Columns as every reader of a file knows them: values of types that Arrow has not, which lie in structs here, become texts.
//!
//! Texts are lossless, and `COPY FROM` reads them back. In JSON, numbers stay numbers and JSON stays JSON
//! (`longshore_load::unload_text`).

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, ListArray, RecordBatch, RecordBatchOptions, StructArray, new_empty_array,
};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::error::{DataFusionError, Result};
use longshore_storage::ColumnType;

use crate::Error;
use crate::datafusion::errors::from_datafusion;
use crate::datafusion::functions::casts::numeric::convert;
use crate::datafusion::functions::json_types::name_of;
use crate::datafusion::functions::nested::cast::cast_to;
use crate::datafusion::functions::shown_times::{is_shown_as_text, time_texts};

/// What columns are made plain for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlainFor {
    /// JSON, whose writer knows exact numbers and JSON.
    Json,
    /// Files of columns.
    Columns,
}

/// The columns of `schema` as they are written.
///
/// # Errors
/// Never for columns that a query or a table has.
pub(crate) fn plain_schema(schema: &SchemaRef, purpose: PlainFor) -> Result<SchemaRef, Error> {
    let fields = schema.fields().iter().map(|field| {
        let array = plain(&new_empty_array(field.data_type()), schema.metadata(), purpose)?;
        Ok(field.as_ref().clone().with_data_type(array.data_type().clone()))
    });
    let fields = fields.collect::<Result<Vec<Field>>>().map_err(from_datafusion)?;
    Ok(Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone())))
}

/// A batch with the columns of `schema`, which [`plain_schema`] made.
///
/// # Errors
/// When a value has no text.
pub(crate) fn plain_batch(batch: &RecordBatch, schema: &SchemaRef, purpose: PlainFor) -> Result<RecordBatch, Error> {
    if batch.schema_ref().fields() == schema.fields() {
        return Ok(batch.clone());
    }
    let columns = batch.columns().iter().map(|column| plain(column, schema.metadata(), purpose));
    let columns = columns.collect::<Result<Vec<ArrayRef>>>().map_err(from_datafusion)?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
        .map_err(|error| from_datafusion(DataFusionError::from(error)))
}

/// Decimals as the nearest doubles.
///
/// # Errors
/// Never for an array of decimals.
pub(crate) fn doubles(decimals: &ArrayRef) -> Result<ArrayRef, Error> {
    convert(decimals, &DataType::Float64).map_err(from_datafusion)
}

fn plain(array: &ArrayRef, metadata: &HashMap<String, String>, purpose: PlainFor) -> Result<ArrayRef> {
    Ok(match array.data_type() {
        DataType::List(_) => {
            let lists = array.as_list::<i32>();
            let values = plain(lists.values(), metadata, purpose)?;
            let item = Arc::new(Field::new_list_field(values.data_type().clone(), true));
            Arc::new(ListArray::try_new(item, lists.offsets().clone(), values, lists.nulls().cloned())?)
        }
        data_type @ DataType::Struct(fields) => {
            if is_shown_as_text(data_type, metadata) {
                return Ok(time_texts(array, metadata)?);
            }
            let is_own = matches!(ColumnType::from_arrow(data_type), Some(ColumnType::Numeric(_)));
            if is_own || name_of(data_type).is_some() {
                let is_known = purpose == PlainFor::Json && ColumnType::from_arrow(data_type).is_some();
                return if is_known { Ok(Arc::clone(array)) } else { cast_to(array, &DataType::Utf8View) };
            }
            let rows = array.as_struct();
            let columns = rows.columns().iter().map(|column| plain(column, metadata, purpose));
            let columns = columns.collect::<Result<Vec<ArrayRef>>>()?;
            let field = |(field, column): (&Arc<Field>, &ArrayRef)| {
                field.as_ref().clone().with_data_type(column.data_type().clone()).with_nullable(true)
            };
            let fields: Vec<Field> = fields.iter().zip(&columns).map(field).collect();
            Arc::new(StructArray::try_new_with_length(fields.into(), columns, rows.nulls().cloned(), rows.len())?)
        }
        _ => Arc::clone(array),
    })
}
