//! Rows for programs that know Arrow and nothing of Longshore: what Arrow has no type for becomes texts, NUMERIC
//! decimals, where all values are known, and decimals doubles, for programs that want these.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, Decimal128Array, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Schema, SchemaRef};

use crate::datafusion::{PlainFor, doubles, plain_batch, plain_schema};
use crate::{BuiltinType, Error, RowStream, TypeId};

/// Digits of an Arrow decimal at most.
const DIGITS_MAX: usize = 38;

/// The same rows, whose columns have types that every program knows which reads Arrow: NUMERIC without a precision, JSON,
/// intervals and times with a zone are texts as PostgreSQL writes them. [`RowStream::types`] tells them apart.
///
/// # Errors
/// Never for columns that a query has.
pub fn plain_rows(rows: RowStream) -> Result<RowStream, Error> {
    let schema = plain_schema(rows.schema(), PlainFor::Columns)?;
    let to = Arc::clone(&schema);
    Ok(rows.converted(schema, move |batch| plain_batch(batch, &to, PlainFor::Columns)))
}

/// The same batches, in which NUMERIC columns that [`plain_rows`] made texts are decimals: of the largest scale that a value
/// has. A column with more than 38 digits, `NaN` or `Infinity` stays text.
///
/// # Errors
/// Never for what [`plain_rows`] made.
pub fn decimal_columns(
    schema: &SchemaRef,
    types: &[TypeId],
    batches: &[RecordBatch],
) -> Result<(SchemaRef, Vec<RecordBatch>), Error> {
    let numeric = BuiltinType::named("numeric").map(|builtin| builtin.oid);
    let is_numeric = |column: &usize| {
        types.get(*column).map(|type_id| type_id.oid) == numeric
            && *schema.field(*column).data_type() == DataType::Utf8View
    };
    let numeric: Vec<usize> = (0..schema.fields().len()).filter(is_numeric).collect();
    let rows: Vec<usize> = batches.iter().map(RecordBatch::num_rows).collect();
    let mut fields: Vec<_> = schema.fields().iter().map(|field| field.as_ref().clone()).collect();
    let mut columns: Vec<Vec<ArrayRef>> = batches.iter().map(|batch| batch.columns().to_vec()).collect();
    for column in numeric {
        let Some((precision, scale)) = digits(columns.iter().map(|of_batch| &of_batch[column])) else { continue };
        for of_batch in &mut columns {
            of_batch[column] = decimals(&of_batch[column], precision, scale)?;
        }
        fields[column].set_data_type(DataType::Decimal128(precision, scale));
    }
    let schema = Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()));
    let made = columns.into_iter().zip(rows).map(|(columns, rows)| {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&schema), columns, &options)
    });
    let made = made.collect::<Result<Vec<_>, _>>().map_err(|error| Error::internal(error.to_string()))?;
    Ok((schema, made))
}

/// The same columns, where decimals are doubles: what [`doubles_of_decimals`] makes of their batches.
#[must_use]
pub fn schema_with_doubles(schema: &Schema) -> SchemaRef {
    let fields = schema.fields().iter().map(|field| match field.data_type() {
        DataType::Decimal128(..) => Arc::new(field.as_ref().clone().with_data_type(DataType::Float64)),
        _ => Arc::clone(field),
    });
    Arc::new(Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone()))
}

/// The same batch, where decimals are the nearest doubles, with the columns of `schema`, which [`schema_with_doubles`] made: for
/// programs whose arrays have no decimals, such as those of NumPy.
///
/// # Errors
/// When `schema` is that of another batch.
pub fn doubles_of_decimals(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, Error> {
    let columns = batch.columns().iter().map(|column| match column.data_type() {
        DataType::Decimal128(..) => doubles(column),
        _ => Ok(Arc::clone(column)),
    });
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
        .map_err(|error| Error::internal(error.to_string()))
}

/// A text of digits, before and behind the point; `None` if it is none.
fn parts(text: &str) -> Option<(&str, &str)> {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    (!unsigned.is_empty() && are_digits(whole) && are_digits(fraction)).then_some((whole, fraction))
}

/// Precision and scale that all values of a column fit into, if there are some.
fn digits<'a>(arrays: impl Iterator<Item = &'a ArrayRef>) -> Option<(u8, i8)> {
    let (mut whole_max, mut scale) = (1, 0);
    for array in arrays {
        for text in array.as_string_view().iter().flatten() {
            let (whole, fraction) = parts(text)?;
            whole_max = whole_max.max(whole.trim_start_matches('0').len());
            scale = scale.max(fraction.len());
        }
    }
    let precision = whole_max + scale;
    (precision <= DIGITS_MAX).then_some((precision as u8, scale as i8))
}

fn decimals(array: &ArrayRef, precision: u8, scale: i8) -> Result<ArrayRef, Error> {
    let value = |text: &str| {
        let (whole, fraction) = parts(text)?;
        let zeros = usize::try_from(scale).ok()?.checked_sub(fraction.len())?;
        let digits = whole.bytes().chain(fraction.bytes()).chain(std::iter::repeat_n(b'0', zeros));
        let value = digits.fold(0_i128, |value, digit| value * 10 + i128::from(digit - b'0'));
        Some(if text.starts_with('-') { -value } else { value })
    };
    let values: Decimal128Array = array.as_string_view().iter().map(|text| text.and_then(value)).collect();
    let values = values.with_precision_and_scale(precision, scale);
    Ok(Arc::new(values.map_err(|error| Error::internal(error.to_string()))?))
}

#[cfg(test)]
mod tests {
    use arrow_array::types::Float64Type;
    use arrow_array::{Array, Int32Array, StringViewArray};
    use arrow_schema::Field;

    use super::*;

    fn made(texts: &[Option<&str>]) -> DataType {
        let schema = Arc::new(Schema::new(vec![Field::new("n", DataType::Utf8View, true)]));
        let array: ArrayRef = Arc::new(texts.iter().copied().collect::<StringViewArray>());
        let batch = RecordBatch::try_new(Arc::clone(&schema), vec![array]).expect("it fits");
        let types = [TypeId { oid: 1700, ..TypeId::of_values(&DataType::Utf8View) }];
        let (schema, batches) = decimal_columns(&schema, &types, &[batch]).expect("it is plain");
        for (row, text) in texts.iter().enumerate() {
            let array = batches[0].column(0);
            let shown = match array.data_type() {
                DataType::Decimal128(..) => {
                    let values = array.as_primitive::<arrow_array::types::Decimal128Type>();
                    (!values.is_null(row)).then(|| values.value_as_string(row))
                }
                _ => array.as_string_view().iter().nth(row).flatten().map(str::to_owned),
            };
            assert_eq!(shown.is_none(), text.is_none());
            if let (Some(shown), Some(text)) = (shown, text) {
                assert!(shown.starts_with(text), "{shown} is {text} with more zeros");
            }
        }
        schema.field(0).data_type().clone()
    }

    #[test]
    fn numbers_become_decimals_of_the_largest_scale() {
        assert_eq!(made(&[Some("1.5"), None, Some("-20.125")]), DataType::Decimal128(5, 3));
        assert_eq!(made(&[Some("0.001")]), DataType::Decimal128(4, 3));
        let nines = "9".repeat(38);
        assert_eq!(made(&[Some(nines.as_str())]), DataType::Decimal128(38, 0));
        assert_eq!(made(&[]), DataType::Decimal128(1, 0));
    }

    #[test]
    fn other_numbers_stay_texts() {
        let nines = "9".repeat(39);
        assert_eq!(made(&[Some(nines.as_str())]), DataType::Utf8View);
        assert_eq!(made(&[Some("NaN"), Some("1")]), DataType::Utf8View);
    }

    #[test]
    fn decimals_become_the_nearest_doubles() {
        let digits = [1, 3, 782_171_141_825_827, -9_007_199_254_740_993, 12_345_678_901_234_567_890_123_456_789];
        for scale in [0, 1, 2, 12, 25] {
            let decimals: Decimal128Array = digits.map(Some).into_iter().chain([None]).collect();
            let decimals: ArrayRef = Arc::new(decimals.with_precision_and_scale(38, scale).unwrap());
            let others: ArrayRef = Arc::new(Int32Array::from_iter_values(0..6));
            let batch = RecordBatch::try_from_iter([("d", decimals), ("n", others)]).unwrap();
            let schema = schema_with_doubles(batch.schema_ref());
            let made = doubles_of_decimals(&batch, &schema).unwrap();
            assert_eq!(made.schema(), schema);
            assert_eq!(made.column(1), batch.column(1));
            let doubles = made.column(0).as_primitive::<Float64Type>();
            assert!(doubles.is_null(5));
            for (at, digits) in digits.into_iter().enumerate() {
                let expected: f64 = format!("{digits}e-{scale}").parse().unwrap();
                assert_eq!(doubles.value(at).to_bits(), expected.to_bits(), "{digits}e-{scale}");
            }
        }
    }
}
