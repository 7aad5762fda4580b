//! Batches of other programs in the types that columns of queries have.
//!
//! Integers without a sign take the next wider type, texts and bytes become views, dictionaries what they stand for, durations
//! intervals, and all times have microseconds. What would lose digits or has no such type is refused.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::error::DataFusionError;

use crate::Error;
use crate::datafusion::errors::from_datafusion;
use crate::datafusion::functions::time::kinds::Kind;
use crate::datafusion::functions::time::values::{Builder, Column};

/// The columns of `schema` as queries have them.
///
/// # Errors
/// When a column has a type that no query has.
pub(crate) fn known_schema(schema: &Schema) -> Result<SchemaRef, Error> {
    let field = |field: &Arc<Field>| {
        let known = known_type(field.data_type()).ok_or_else(|| {
            Error::unsupported(format!(
                "column {}: values of Arrow's type {} cannot be read; cast them to another type before",
                field.name(),
                field.data_type()
            ))
        })?;
        Ok(Field::new(field.name(), known, true))
    };
    Ok(Arc::new(Schema::new(schema.fields().iter().map(field).collect::<Result<Vec<_>, Error>>()?)))
}

/// `batch` with the columns of `schema`, which [`known_schema`] made.
///
/// # Errors
/// When a value has no place in its column's type.
pub(crate) fn known_batch(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, Error> {
    let columns = batch.columns().iter().zip(schema.fields());
    let columns = columns.map(|(array, field)| converted(array, field.data_type()));
    let columns = columns.collect::<Result<Vec<_>, _>>().map_err(from_datafusion)?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
        .map_err(|error| from_datafusion(error.into()))
}

fn converted(array: &ArrayRef, to: &DataType) -> Result<ArrayRef, DataFusionError> {
    Ok(match array.data_type() {
        from if from == to => Arc::clone(array),
        DataType::Null => new_null_array(to, array.len()),
        DataType::Duration(_) | DataType::Interval(_) => {
            let (spans, mut known) = (Column::new(array)?, Builder::new(Kind::Interval, array.len()));
            for row in 0..array.len() {
                known.append(spans.value(row))?;
            }
            known.finish()
        }
        _ => cast_with_options(array, to, &CastOptions { safe: false, ..CastOptions::default() })?,
    })
}

/// The type that values of a type have in queries; `None` if there is none.
fn known_type(data_type: &DataType) -> Option<DataType> {
    Some(match data_type {
        DataType::Boolean
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::Float32
        | DataType::Float64
        | DataType::Date32
        | DataType::Decimal128(..)
        | DataType::Utf8View
        | DataType::BinaryView => data_type.clone(),
        DataType::Int8 | DataType::UInt8 => DataType::Int16,
        DataType::UInt16 => DataType::Int32,
        DataType::UInt32 => DataType::Int64,
        DataType::UInt64 => DataType::Decimal128(20, 0),
        DataType::Float16 => DataType::Float32,
        DataType::Decimal32(precision, scale) | DataType::Decimal64(precision, scale) => {
            DataType::Decimal128(*precision, *scale)
        }
        DataType::Decimal256(precision, scale) if *precision <= 38 => DataType::Decimal128(*precision, *scale),
        DataType::Null | DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
        DataType::Binary | DataType::LargeBinary | DataType::FixedSizeBinary(_) => DataType::BinaryView,
        DataType::Time32(_) | DataType::Time64(_) => DataType::Time64(TimeUnit::Microsecond),
        DataType::Date64 | DataType::Timestamp(_, None) => DataType::Timestamp(TimeUnit::Microsecond, None),
        DataType::Timestamp(_, Some(_)) => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        DataType::Duration(_) | DataType::Interval(_) => Kind::Interval.data_type(),
        DataType::Dictionary(_, values) => known_type(values)?,
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            DataType::List(Arc::new(Field::new_list_field(known_type(item.data_type())?, true)))
        }
        DataType::Struct(fields) => {
            let known = fields.iter().map(|field| Some(Field::new(field.name(), known_type(field.data_type())?, true)));
            DataType::Struct(known.collect::<Option<Vec<_>>>()?.into())
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::{AsArray, DictionaryArray, StringArray, TimestampNanosecondArray, UInt64Array};
    use datafusion::arrow::datatypes::{Decimal128Type, Int8Type, TimestampMicrosecondType};

    use super::*;

    #[test]
    fn values_keep_their_meaning() {
        let words: DictionaryArray<Int8Type> = [Some("a"), None, Some("a")].into_iter().collect();
        let batch = RecordBatch::try_from_iter([
            ("u", Arc::new(UInt64Array::from(vec![u64::MAX, 0, 1])) as ArrayRef),
            ("d", Arc::new(words)),
            ("t", Arc::new(TimestampNanosecondArray::from(vec![1_500, -1_000, 0]))),
            ("s", Arc::new(StringArray::from(vec!["x", "y", "z"]))),
        ]);
        let batch = batch.expect("the columns have one length");
        let schema = known_schema(batch.schema_ref()).expect("the types are known");
        let known = known_batch(&batch, &schema).expect("the values fit");
        assert_eq!(known.column(0).as_primitive::<Decimal128Type>().value(0), i128::from(u64::MAX));
        assert_eq!(known.column(1).as_string_view().iter().collect::<Vec<_>>(), [Some("a"), None, Some("a")]);
        assert_eq!(known.column(2).as_primitive::<TimestampMicrosecondType>().values(), &[1, -1, 0]);
        assert_eq!(known.column(3).as_string_view().value(2), "z");
    }
}
