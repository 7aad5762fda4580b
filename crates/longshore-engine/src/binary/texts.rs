//! Values in the text format: as PostgreSQL's output functions write them.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimestampMicrosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, BooleanArray, LargeBinaryArray, LargeStringArray, PrimitiveArray,
    StringArray, StringViewArray,
};
use arrow_schema::{DataType, TimeUnit};
use longshore_csv::write;
use longshore_value::text::blanks_behind;

use crate::TypeId;
use crate::datafusion::nested_texts;

/// A column of a batch whose values can be written as text.
pub struct Texts<'a> {
    kind: Kind<'a>,
    /// To how many characters they are padded.
    width: usize,
}

enum Kind<'a> {
    Boolean(&'a BooleanArray),
    I8(&'a PrimitiveArray<Int8Type>),
    I16(&'a PrimitiveArray<Int16Type>),
    I32(&'a PrimitiveArray<Int32Type>),
    I64(&'a PrimitiveArray<Int64Type>),
    U8(&'a PrimitiveArray<UInt8Type>),
    U16(&'a PrimitiveArray<UInt16Type>),
    U32(&'a PrimitiveArray<UInt32Type>),
    U64(&'a PrimitiveArray<UInt64Type>),
    F32(&'a PrimitiveArray<Float32Type>),
    F64(&'a PrimitiveArray<Float64Type>),
    Decimal(&'a PrimitiveArray<Decimal128Type>, u8),
    Text(&'a StringArray),
    LargeText(&'a LargeStringArray),
    TextView(&'a StringViewArray),
    Bytes(&'a BinaryArray),
    LargeBytes(&'a LargeBinaryArray),
    BytesView(&'a BinaryViewArray),
    Date(&'a PrimitiveArray<Date32Type>),
    Time(&'a PrimitiveArray<Time64MicrosecondType>),
    Timestamp(&'a PrimitiveArray<TimestampMicrosecondType>, bool),
    Made(StringViewArray),
    Null,
}

impl<'a> Texts<'a> {
    /// Readies `array`; `None` if its type is none that results have.
    #[must_use]
    pub fn new(array: &'a ArrayRef) -> Option<Self> {
        Kind::new(array).map(|kind| Self { kind, width: 0 })
    }

    /// The same of values that are of a type: those of CHAR(n) are padded.
    #[must_use]
    pub fn of_type(self, id: &TypeId) -> Self {
        Self { width: id.char_width(), ..self }
    }

    /// A value that is a text itself, which is not NULL.
    #[inline]
    pub(super) fn as_they_are(&self, row: usize) -> Option<&[u8]> {
        let text = match &self.kind {
            Kind::TextView(array) => array.value(row),
            Kind::Text(array) => array.value(row),
            Kind::LargeText(array) => array.value(row),
            Kind::Made(texts) => texts.value(row),
            _ => return None,
        };
        Some(text.as_bytes())
    }

    /// Appends the text of a value that is not NULL.
    #[inline]
    pub fn write(&self, row: usize, out: &mut Vec<u8>) {
        let start = out.len();
        self.kind.write(row, out);
        if self.width > 0 {
            pad(out, start, self.width);
        }
    }
}

/// Appends the blanks of a CHAR(n) whose text begins at `start`.
#[inline]
fn pad(out: &mut Vec<u8>, start: usize, width: usize) {
    let blanks = blanks_behind(&out[start..], width);
    out.resize(out.len() + blanks, b' ');
}

impl<'a> Kind<'a> {
    fn new(array: &'a ArrayRef) -> Option<Self> {
        Some(match array.data_type() {
            DataType::Null => Self::Null,
            DataType::Boolean => Self::Boolean(array.as_boolean()),
            DataType::Int8 => Self::I8(array.as_primitive()),
            DataType::Int16 => Self::I16(array.as_primitive()),
            DataType::Int32 => Self::I32(array.as_primitive()),
            DataType::Int64 => Self::I64(array.as_primitive()),
            DataType::UInt8 => Self::U8(array.as_primitive()),
            DataType::UInt16 => Self::U16(array.as_primitive()),
            DataType::UInt32 => Self::U32(array.as_primitive()),
            DataType::UInt64 => Self::U64(array.as_primitive()),
            DataType::Float32 => Self::F32(array.as_primitive()),
            DataType::Float64 => Self::F64(array.as_primitive()),
            DataType::Decimal128(_, scale @ 0..) => Self::Decimal(array.as_primitive(), scale.unsigned_abs()),
            DataType::Utf8 => Self::Text(array.as_string()),
            DataType::LargeUtf8 => Self::LargeText(array.as_string()),
            DataType::Utf8View => Self::TextView(array.as_string_view()),
            DataType::Binary => Self::Bytes(array.as_binary()),
            DataType::LargeBinary => Self::LargeBytes(array.as_binary()),
            DataType::BinaryView => Self::BytesView(array.as_binary_view()),
            DataType::Date32 => Self::Date(array.as_primitive()),
            DataType::Time64(TimeUnit::Microsecond) => Self::Time(array.as_primitive()),
            DataType::Timestamp(TimeUnit::Microsecond, zone) => Self::Timestamp(array.as_primitive(), zone.is_some()),
            _ => Self::Made(nested_texts(array)?),
        })
    }

    #[inline]
    fn write(&self, row: usize, out: &mut Vec<u8>) {
        match self {
            Self::Boolean(array) => write::boolean(out, array.value(row)),
            Self::I8(array) => write::integer(out, array.value(row).into()),
            Self::I16(array) => write::integer(out, array.value(row).into()),
            Self::I32(array) => write::integer(out, array.value(row).into()),
            Self::I64(array) => write::integer(out, array.value(row)),
            Self::U8(array) => write::unsigned(out, array.value(row).into()),
            Self::U16(array) => write::unsigned(out, array.value(row).into()),
            Self::U32(array) => write::unsigned(out, array.value(row).into()),
            Self::U64(array) => write::unsigned(out, array.value(row)),
            Self::F32(array) => write::float32(out, array.value(row)),
            Self::F64(array) => write::float64(out, array.value(row)),
            Self::Decimal(array, scale) => write::decimal(out, array.value(row), *scale),
            Self::Text(array) => out.extend_from_slice(array.value(row).as_bytes()),
            Self::LargeText(array) => out.extend_from_slice(array.value(row).as_bytes()),
            Self::TextView(array) => out.extend_from_slice(array.value(row).as_bytes()),
            Self::Bytes(array) => write::bytea(out, array.value(row)),
            Self::LargeBytes(array) => write::bytea(out, array.value(row)),
            Self::BytesView(array) => write::bytea(out, array.value(row)),
            Self::Date(array) => write::date(out, array.value(row)),
            Self::Time(array) => write::time(out, array.value(row)),
            Self::Timestamp(array, false) => write::timestamp(out, array.value(row)),
            Self::Timestamp(array, true) => write::timestamptz(out, array.value(row)),
            Self::Made(texts) => out.extend_from_slice(texts.value(row).as_bytes()),
            Self::Null => {}
        }
    }
}

/// Whether a value is NULL.
#[must_use]
pub fn is_null(array: &ArrayRef, row: usize) -> bool {
    // Arrays of type Null have no bitmap.
    array.is_null(row) || *array.data_type() == DataType::Null
}
