//! Arrays as bytes: how a column stores them, since all its values lie in one heap.
//!
//! The bytes of an array are the number of its elements (4 bytes), a bit for each that is not NULL, and the elements: those of
//! one width behind each other, all others each behind its length (4 bytes). An array within an array is such bytes again.
//! Bytes that are no array, which only damage or rows that nobody wants can have, are taken for an empty one.

use std::sync::Arc;

use arrow_array::builder::{BinaryViewBuilder, StringViewBuilder};
use arrow_array::{
    Array, ArrayRef, BinaryViewArray, BooleanArray, ListArray, RecordBatch, RecordBatchOptions, StringViewArray,
    StructArray, make_array,
};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field, Schema};

/// The bytes of each array of `lists`.
#[must_use]
pub fn encode(lists: &ListArray) -> BinaryViewArray {
    let elements = Elements::new(lists.values());
    let mut builder = BinaryViewBuilder::with_capacity(lists.len());
    for row in 0..lists.len() {
        if lists.is_null(row) {
            builder.append_null();
            continue;
        }
        let range = lists.value_offsets()[row] as usize..lists.value_offsets()[row + 1] as usize;
        let mut bytes = (range.len() as u32).to_le_bytes().to_vec();
        let bitmap = bytes.len();
        bytes.resize(bitmap + range.len().div_ceil(8), 0);
        for (place, at) in range.enumerate() {
            if lists.values().is_valid(at) {
                bytes[bitmap + place / 8] |= 1 << (place % 8);
            }
            elements.write(at, &mut bytes);
        }
        builder.append_value(bytes);
    }
    builder.finish()
}

/// `batch` with its arrays as their bytes.
///
/// # Panics
///
/// Never: each column has as many rows as before.
#[must_use]
pub fn encode_batch(batch: &RecordBatch) -> RecordBatch {
    let is_list = |field: &Arc<Field>| matches!(field.data_type(), DataType::List(_));
    if !batch.schema_ref().fields().iter().any(is_list) {
        return batch.clone();
    }
    let columns: Vec<ArrayRef> = batch.columns().iter().map(encode_array).collect();
    let fields = batch.schema_ref().fields().iter().zip(&columns);
    let fields = fields.map(|(field, column)| field.as_ref().clone().with_data_type(column.data_type().clone()));
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    RecordBatch::try_new_with_options(schema, columns, &options).expect("each column has as many rows as before")
}

/// An array of arrays as their bytes, and any other as it is.
#[must_use]
pub fn encode_array(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::List(_) => Arc::new(encode(&ListArray::from(array.to_data()))),
        _ => Arc::clone(array),
    }
}

/// The elements of arrays, ready to be written.
enum Elements {
    /// Of one width.
    Fixed(Buffer, usize),
    Booleans(BooleanArray),
    Texts(StringViewArray),
    Bytes(BinaryViewArray),
}

impl Elements {
    fn new(values: &ArrayRef) -> Self {
        match values.data_type() {
            DataType::Boolean => Self::Booleans(values.to_data().into()),
            DataType::Utf8View => Self::Texts(values.to_data().into()),
            DataType::BinaryView => Self::Bytes(values.to_data().into()),
            DataType::List(_) => Self::Bytes(encode(&ListArray::from(values.to_data()))),
            DataType::Struct(_) => {
                let wrapped = StructArray::from(values.to_data());
                Self::new(wrapped.column(0))
            }
            data_type => {
                let width = data_type.primitive_width().unwrap_or(0);
                let data = values.to_data();
                let values = data.buffers().first().map(|buffer| buffer.slice(data.offset() * width));
                Self::Fixed(values.unwrap_or_default(), width)
            }
        }
    }

    fn write(&self, at: usize, out: &mut Vec<u8>) {
        let mut with_length = |bytes: &[u8]| {
            out.extend((bytes.len() as u32).to_le_bytes());
            out.extend(bytes);
        };
        match self {
            Self::Texts(values) => with_length(if values.is_null(at) { b"" } else { values.value(at).as_bytes() }),
            Self::Bytes(values) => with_length(if values.is_null(at) { b"" } else { values.value(at) }),
            Self::Booleans(values) => out.push(u8::from(values.is_valid(at) && values.value(at))),
            Self::Fixed(values, width) => out.extend(&values.as_slice()[at * width..(at + 1) * width]),
        }
    }
}

/// The arrays that `bytes` are, as lists of the type `list`.
#[must_use]
pub fn decode(bytes: &BinaryViewArray, list: &DataType) -> ArrayRef {
    let DataType::List(item) = list else { return Arc::new(bytes.clone()) };
    let mut parts = Parts::default();
    let mut lengths = Vec::with_capacity(bytes.len());
    for row in 0..bytes.len() {
        let value = if bytes.is_null(row) { &[] } else { bytes.value(row) };
        lengths.push(parts.read(value, item.data_type()).unwrap_or(0));
    }
    let values = parts.finish(item.data_type());
    Arc::new(ListArray::new(Arc::clone(item), OffsetBuffer::from_lengths(lengths), values, bytes.nulls().cloned()))
}

/// Whether `bytes` are an array of elements of this type.
#[must_use]
pub fn is_sound(bytes: &[u8], item: &DataType) -> bool {
    let mut parts = Parts::default();
    parts.read(bytes, item).is_some()
        && match item {
            DataType::List(inner) => parts.views.iter().flatten().all(|bytes| is_sound(bytes, inner.data_type())),
            DataType::Utf8View => parts.views.iter().flatten().all(|bytes| simdutf8::basic::from_utf8(bytes).is_ok()),
            _ => true,
        }
}

/// The elements that were read.
#[derive(Default)]
struct Parts {
    valid: Vec<bool>,
    fixed: Vec<u8>,
    views: Vec<Option<Vec<u8>>>,
}

impl Parts {
    /// Takes the elements of one array: says how many there are, or takes none of bytes that are no array.
    fn read(&mut self, bytes: &[u8], item: &DataType) -> Option<usize> {
        let (count, rest) = bytes.split_first_chunk::<4>()?;
        let count = u32::from_le_bytes(*count) as usize;
        let (bitmap, mut rest) = rest.split_at_checked(count.div_ceil(8))?;
        let is_valid = |place: usize| bitmap[place / 8] & (1 << (place % 8)) != 0;
        if let Some(width) = width(item) {
            if rest.len() != count.checked_mul(width)? {
                return None;
            }
            self.fixed.extend(rest);
        } else {
            let start = self.views.len();
            for place in 0..count {
                let element = rest
                    .split_first_chunk::<4>()
                    .and_then(|(length, tail)| tail.split_at_checked(u32::from_le_bytes(*length) as usize));
                let Some((element, tail)) = element else {
                    self.views.truncate(start);
                    return None;
                };
                self.views.push(is_valid(place).then(|| element.to_vec()));
                rest = tail;
            }
            if !rest.is_empty() {
                self.views.truncate(start);
                return None;
            }
        }
        self.valid.extend((0..count).map(is_valid));
        Some(count)
    }

    fn finish(self, item: &DataType) -> ArrayRef {
        let Self { valid, fixed, views } = self;
        let nulls = NullBuffer::from(valid);
        match item {
            DataType::Boolean => {
                let values = fixed.iter().map(|byte| *byte != 0).collect::<Vec<_>>();
                Arc::new(BooleanArray::new(values.into(), Some(nulls)))
            }
            DataType::Utf8View => {
                let mut texts = StringViewBuilder::with_capacity(views.len());
                for view in &views {
                    texts.append_option(view.as_ref().map(|bytes| String::from_utf8_lossy(bytes)));
                }
                Arc::new(texts.finish())
            }
            DataType::List(_) => decode(&views.into_iter().collect::<BinaryViewArray>(), item),
            DataType::Struct(fields) => {
                let inner = Self { valid: nulls.iter().collect(), fixed: Vec::new(), views };
                let values = fields.iter().map(|field| inner.clone_as().finish(field.data_type())).collect();
                Arc::new(StructArray::new(fields.clone(), values, Some(nulls)))
            }
            DataType::BinaryView => Arc::new(views.into_iter().collect::<BinaryViewArray>()),
            data_type => {
                let rows = nulls.len();
                let data = ArrayData::builder(data_type.clone()).len(rows).add_buffer(Buffer::from(fixed));
                let data = data.nulls(Some(nulls)).align_buffers(true).build();
                // The buffer has as many values of the type's width as there are.
                data.map_or_else(|_| arrow_array::new_null_array(data_type, rows), make_array)
            }
        }
    }

    fn clone_as(&self) -> Self {
        Self { valid: self.valid.clone(), fixed: self.fixed.clone(), views: self.views.clone() }
    }
}

/// Bytes of an element, where all have as many.
fn width(item: &DataType) -> Option<usize> {
    match item {
        DataType::Boolean => Some(1),
        data_type => data_type.primitive_width(),
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::builder::{Decimal128Builder, Int32Builder, ListBuilder};

    use super::*;

    fn comes_back(lists: &ListArray) {
        let bytes = encode(lists);
        assert_eq!(decode(&bytes, lists.data_type()).to_data(), lists.to_data());
        let item = lists.value_type();
        for bytes in bytes.iter().flatten() {
            assert!(is_sound(bytes, &item));
            for end in 0..bytes.len() {
                assert!(!is_sound(&bytes[..end], &item), "{end} of {bytes:?}");
            }
        }
    }

    #[test]
    fn arrays_come_back_from_their_bytes() {
        let mut numbers = ListBuilder::new(Int32Builder::new());
        numbers.append_value([Some(1), None, Some(3)]);
        numbers.append_null();
        numbers.append_value([]);
        comes_back(&numbers.finish());
        let mut texts = ListBuilder::new(StringViewBuilder::new());
        texts.append_value([Some("a"), None, Some("a text that is longer than twelve bytes"), Some("")]);
        comes_back(&texts.finish());
        let mut decimals = ListBuilder::new(Decimal128Builder::new());
        decimals.append_value([Some(-5), None]);
        comes_back(&decimals.finish());
        let mut nested = ListBuilder::new(ListBuilder::new(Int32Builder::new()));
        nested.values().append_value([Some(1), Some(2)]);
        nested.values().append_null();
        nested.append(true);
        comes_back(&nested.finish());
    }
}
