//! The rules of stored values, one by one.

use arrow_array::builder::StringViewBuilder;
use arrow_array::{Array, BinaryViewArray, Decimal128Array, Int32Array, Int64Array, StringViewArray};
use arrow_schema::{Field, Schema as ArrowSchema};

use super::*;
use crate::memory::Memory;

fn schema(column_type: ColumnType, nullable: bool) -> Arc<Schema> {
    Arc::new(Schema::new(vec![Column::new("c", column_type, nullable)]))
}

fn arena() -> Arena {
    Arena::new(Memory::new(None), 1 << 20)
}

fn batch(array: ArrayRef) -> RecordBatch {
    let field = Field::new("c", array.data_type().clone(), true);
    RecordBatch::try_new(Arc::new(ArrowSchema::new(vec![field])), vec![array]).unwrap()
}

/// What comes back of an array that is put into a column.
fn stored(column_type: ColumnType, nullable: bool, array: ArrayRef) -> Result<ArrayRef, AppendError> {
    let rows = array.len();
    let buffers = PartitionBuffer::from_batch(&schema(column_type, nullable), &batch(array), &mut arena())?;
    let chunk = buffers.into_iter().next().unwrap().seal();
    Ok(chunk.array(0, 0, rows))
}

fn stored_text(column_type: ColumnType, text: &str) -> Result<String, String> {
    let array = stored(column_type, true, Arc::new(StringViewArray::from(vec![text])));
    array.map(|array| array.as_string_view().value(0).to_owned()).map_err(|error| error.to_string())
}

#[test]
fn char_is_stored_without_trailing_blanks() {
    assert_eq!(stored_text(ColumnType::Char(3), "ab "), Ok("ab".to_owned()));
    assert_eq!(stored_text(ColumnType::Char(3), "ab       "), Ok("ab".to_owned()));
    assert_eq!(stored_text(ColumnType::Char(3), "äöü"), Ok("äöü".to_owned()));
    assert_eq!(
        stored_text(ColumnType::Char(3), "abcd "),
        Err("value too long for type character(3): column c, \"abcd \" (5 characters); shorten it or widen the column"
            .to_owned())
    );
}

#[test]
fn varchar_loses_only_blanks_that_are_too_many() {
    assert_eq!(stored_text(ColumnType::Varchar(3), "ab "), Ok("ab ".to_owned()));
    assert_eq!(stored_text(ColumnType::Varchar(3), "ab   "), Ok("ab ".to_owned()));
    assert_eq!(stored_text(ColumnType::Varchar(3), "äöü"), Ok("äöü".to_owned()));
    assert!(stored_text(ColumnType::Varchar(3), "äöüß").is_err());
    let long = "x".repeat(100);
    let message = stored_text(ColumnType::Varchar(3), &long).unwrap_err();
    assert!(message.contains(&format!("\"{}...\"", "x".repeat(40))) && message.contains("100 characters"), "{message}");
    assert_eq!(stored_text(ColumnType::Text, &long), Ok(long));
}

#[test]
fn a_uuid_is_stored_in_one_form() {
    // The last one is shorter than what is stored of it.
    for text in ["{A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11}", "a0eebc999c0b4ef8bb6d6bb9bd380a11"] {
        assert_eq!(stored_text(ColumnType::Uuid, text), Ok("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11".to_owned()));
    }
    assert!(stored_text(ColumnType::Uuid, "none").unwrap_err().contains("column c UUID: \"none\" is not"));
}

#[test]
fn decimals_have_no_more_digits_than_their_type() {
    for (precision, largest) in
        [(4, 9999_i128), (18, 10_i128.pow(18) - 1), (19, 10_i128.pow(19) - 1), (38, 10_i128.pow(38) - 1)]
    {
        let column_type = ColumnType::Decimal { precision, scale: 2 };
        let decimals = |values: Vec<Option<i128>>| -> ArrayRef {
            let array = Decimal128Array::from(values);
            Arc::new(array.with_data_type(column_type.arrow()))
        };
        let array = decimals(vec![Some(largest), None, Some(-largest)]);
        assert_eq!(&stored(column_type, true, Arc::clone(&array)).unwrap(), &array);
        for value in [largest + 1, -largest - 1] {
            let error = stored(column_type, true, decimals(vec![Some(0), Some(value)])).unwrap_err();
            assert!(matches!(error, AppendError::Invalid { row: 1, .. }), "{error}");
        }
    }
    let array = Decimal128Array::from(vec![123_456]);
    let array = array.with_data_type(ColumnType::Decimal { precision: 4, scale: 2 }.arrow());
    let error = stored(ColumnType::Decimal { precision: 4, scale: 2 }, true, Arc::new(array)).unwrap_err();
    assert!(error.to_string().contains("\"1234.56\""), "{error}");
}

#[test]
fn null_is_refused_where_the_column_is_not_null() {
    let array: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), Some(2), None]));
    assert_eq!(stored(ColumnType::Integer, true, Arc::clone(&array)).unwrap().null_count(), 1);
    let error = stored(ColumnType::Integer, false, array).unwrap_err();
    assert_eq!(error, AppendError::Null { column: "c".to_owned(), row: 2 });
    assert_eq!(error.to_string(), "column c: the value is NULL but the column is NOT NULL");
}

#[test]
fn values_behind_nulls_do_not_matter() {
    let nulls = NullBuffer::from(vec![false, true]);
    let array = Decimal128Array::new(vec![i128::MAX, 5].into(), Some(nulls.clone()));
    let column_type = ColumnType::Decimal { precision: 10, scale: 2 };
    assert_eq!(stored(column_type, true, Arc::new(array.with_data_type(column_type.arrow()))).unwrap().null_count(), 1);
    // A long text that is not there, in a heap too small for it.
    let mut builder = StringViewBuilder::new();
    builder.append_value("x".repeat(5000));
    builder.append_value("short");
    let texts = builder.finish();
    let array: ArrayRef =
        Arc::new(StringViewArray::new(texts.views().clone(), texts.data_buffers().to_vec(), Some(nulls)));
    let mut arena = arena();
    let mut buffer = PartitionBuffer::with_capacity(&schema(ColumnType::Text, true), 2, 0, &mut arena).unwrap();
    assert_eq!(buffer.append_batch(&batch(Arc::clone(&array)), 0..2), Ok(2));
    assert_eq!(buffer.heap_used(), 0);
    assert_eq!(&buffer.seal().array(0, 0, 2), &array);
}

#[test]
fn a_batch_of_other_columns_is_refused() {
    let array: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let error = stored(ColumnType::Integer, true, Arc::clone(&array)).unwrap_err();
    assert_eq!(error.to_string(), "column c: found a value of type Int64 where Int32 is expected; cast it");
    let two = Arc::new(Schema::new(vec![
        Column::new("a", ColumnType::BigInt, true),
        Column::new("b", ColumnType::BigInt, true),
    ]));
    let error = PartitionBuffer::from_batch(&two, &batch(array), &mut arena()).unwrap_err();
    assert_eq!(error, AppendError::ColumnCount { expected: 2, found: 1 });
}

#[test]
fn a_buffer_takes_what_fits() {
    let texts: Vec<String> = (0..10).map(|at| format!("a text of some length, number {at}")).collect();
    let array: ArrayRef = Arc::new(StringViewArray::from_iter_values(&texts));
    let bytes = texts[0].len();
    let mut arena = arena();
    let mut buffer =
        PartitionBuffer::with_capacity(&schema(ColumnType::Text, true), 8, 5 * bytes + 3, &mut arena).unwrap();
    let batch = batch(Arc::clone(&array));
    assert_eq!(buffer.append_batch(&batch, 1..3), Ok(2));
    assert_eq!(buffer.append_batch(&batch, 3..10), Ok(3));
    assert_eq!(buffer.append_batch(&batch, 6..10), Ok(0));
    assert_eq!((buffer.rows(), buffer.capacity(), buffer.heap_room()), (5, 8, 3));
    assert_eq!(&buffer.seal().array(0, 0, 5), &array.slice(1, 5));
}

#[test]
fn an_error_leaves_the_buffer_as_it_was() {
    let good: ArrayRef = Arc::new(StringViewArray::from(vec![Some("a"), None, Some("twelve bytes and more")]));
    let bad: ArrayRef =
        Arc::new(StringViewArray::from(vec![None, Some("also more than twelve"), Some(&*"x".repeat(31))]));
    let mut arena = arena();
    let mut buffer =
        PartitionBuffer::with_capacity(&schema(ColumnType::Varchar(30), true), 9, 300, &mut arena).unwrap();
    assert_eq!(buffer.append_batch(&batch(Arc::clone(&good)), 0..3), Ok(3));
    assert!(buffer.append_batch(&batch(bad), 0..3).is_err());
    assert_eq!((buffer.rows(), buffer.heap_used()), (3, 21));
    assert_eq!(buffer.append_batch(&batch(Arc::clone(&good)), 2..3), Ok(1));
    let array = buffer.seal().array(0, 0, 4);
    assert_eq!(&array.slice(0, 3), &good);
    assert_eq!(array.as_string_view().value(3), "twelve bytes and more");
}

#[test]
fn bytes_go_there_and_back() {
    let array: ArrayRef =
        Arc::new(BinaryViewArray::from_iter([Some(&b"\xFF\0"[..]), None, Some(&[7; 100]), Some(b"")]));
    assert_eq!(&stored(ColumnType::Bytea, true, Arc::clone(&array)).unwrap(), &array);
}
