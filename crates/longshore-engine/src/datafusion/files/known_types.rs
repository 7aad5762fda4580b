//! Batches of other programs in the types that columns of queries have.
//!
//! Integers without a sign take the next wider type, texts and bytes become views, dictionaries what they stand for, durations
//! intervals, and all times have microseconds. Columns of Arrow's extension type `arrow.uuid` are UUIDs. What would lose digits or
//! has no such type is refused.

use std::sync::Arc;

use arrow_schema::extension::EXTENSION_TYPE_NAME_KEY;
use datafusion::arrow::array::{ArrayRef, AsArray, RecordBatch, RecordBatchOptions, StringViewBuilder, new_null_array};
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::common::internal_datafusion_err;
use datafusion::error::DataFusionError;
use longshore_value::uuid::Uuid;

use crate::Error;
use crate::builtin_types::PG_TYPE;
use crate::datafusion::errors::from_datafusion;
use crate::datafusion::functions::time::kinds::Kind;
use crate::datafusion::functions::time::values::{Builder, Column};

/// The columns of `schema` as queries have them.
///
/// # Errors
/// When a column has a type that no query has.
pub(crate) fn known_schema(schema: &Schema) -> Result<SchemaRef, Error> {
    let field = |field: &Arc<Field>| {
        if is_uuid(field) {
            let metadata = [(PG_TYPE.to_owned(), "uuid".to_owned())].into();
            return Ok(Field::new(field.name(), DataType::Utf8View, true).with_metadata(metadata));
        }
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

/// Whether its values are UUIDs, of 16 bytes each.
fn is_uuid(field: &Field) -> bool {
    *field.data_type() == DataType::FixedSizeBinary(16)
        && field.metadata().get(EXTENSION_TYPE_NAME_KEY).is_some_and(|name| name == "arrow.uuid")
}

fn converted(array: &ArrayRef, to: &DataType) -> Result<ArrayRef, DataFusionError> {
    Ok(match array.data_type() {
        from if from == to => Arc::clone(array),
        DataType::Null => new_null_array(to, array.len()),
        DataType::FixedSizeBinary(_) if *to == DataType::Utf8View => {
            let mut texts = StringViewBuilder::with_capacity(array.len());
            for bytes in array.as_fixed_size_binary() {
                let text = bytes.map(|bytes| bytes.try_into().map(|bytes| Uuid(bytes).text())).transpose();
                let text = text.map_err(|_| internal_datafusion_err!("a UUID of other than 16 bytes"))?;
                texts
                    .append_option(text.as_ref().map(|text| str::from_utf8(text).expect("a UUID is written in ASCII")));
            }
            Arc::new(texts.finish())
        }
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
    use datafusion::arrow::array::{
        DictionaryArray, FixedSizeBinaryArray, StringArray, TimestampNanosecondArray, UInt64Array,
    };
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
    #[test]
    fn uuids_of_other_programs_are_uuids() {
        let values = FixedSizeBinaryArray::try_from_sparse_iter_with_size([Some([0xa0_u8; 16]), None].into_iter(), 16);
        let values: ArrayRef = Arc::new(values.expect("16 bytes each"));
        let read = |field: Field| {
            let batch =
                RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![Arc::clone(&values)]).expect("a batch");
            let schema = known_schema(batch.schema_ref()).expect("the type is known");
            known_batch(&batch, &schema).expect("the values fit")
        };
        let bytes = Field::new("u", DataType::FixedSizeBinary(16), true);
        assert_eq!(*read(bytes.clone()).column(0).data_type(), DataType::BinaryView);
        let metadata = [(EXTENSION_TYPE_NAME_KEY.to_owned(), "arrow.uuid".to_owned())];
        let known = read(bytes.with_metadata(metadata.into()));
        let texts: Vec<_> = known.column(0).as_string_view().iter().collect();
        assert_eq!(texts, [Some("a0a0a0a0-a0a0-a0a0-a0a0-a0a0a0a0a0a0"), None]);
        assert_eq!(known.schema().field(0).metadata().get(PG_TYPE).map(String::as_str), Some("uuid"));
    }
}
