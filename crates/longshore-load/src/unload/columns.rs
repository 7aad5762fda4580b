//! The text of one column of a batch, value by value.
//!
//! Texts are quoted where needed as they are written. Everything else is written as it is, and looked at again only
//! where the dialect or the null text makes it possible that quotes are needed.

use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, Time64MicrosecondType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, BooleanArray, LargeBinaryArray, LargeStringArray, PrimitiveArray,
    RecordBatch, StringArray, StringViewArray, StructArray,
};
use arrow_buffer::NullBuffer;
use arrow_data::MAX_INLINE_VIEW_LEN;
use arrow_schema::{DataType, TimeUnit};
use longshore_csv::decode::ValueType;
use longshore_csv::write;
use longshore_csv::write::{Quoting, Unquotable};
use longshore_storage::ColumnType;
use longshore_value::numeric::Numeric;

use std::io::Write as _;

use super::UnloadOptions;
use crate::error::LoadError;

/// Appends the rows of a batch; `forced` says of each column whether its values are always quoted.
///
/// Generic over nothing, so that it is compiled here, in one piece with what it calls.
///
/// # Errors
/// When a column has a type that CSV cannot hold, or a value must be quoted and the dialect has no quote.
pub(super) fn write_rows(
    batch: &RecordBatch,
    forced: &[bool],
    options: &UnloadOptions,
    out: &mut Vec<u8>,
) -> Result<(), LoadError> {
    let schema = batch.schema_ref();
    let columns = batch
        .columns()
        .iter()
        .zip(schema.fields())
        .zip(forced)
        .map(|((array, field), &forced)| ColumnText::new(array, field.name(), forced, options))
        .collect::<Result<Vec<_>, _>>()?;
    for row in 0..batch.num_rows() {
        for (index, column) in columns.iter().enumerate() {
            if index > 0 {
                out.push(options.dialect.delimiter());
            }
            column
                .write(row, out)
                .map_err(|error| LoadError::Query(format!("column {}: {error}", schema.field(index).name())))?;
        }
        out.push(b'\n');
    }
    Ok(())
}

/// One column of a batch, ready to be written row by row.
pub(super) struct ColumnText<'a> {
    nulls: Option<&'a NullBuffer>,
    null: &'a [u8],
    quoting: Quoting<'a>,
    /// Whether the values never need quotes.
    safe: bool,
    values: Values<'a>,
}

pub(super) enum Values<'a> {
    /// All values are NULL.
    Null,
    Boolean(&'a BooleanArray),
    Int8(&'a [i8]),
    Int16(&'a [i16]),
    Int32(&'a [i32]),
    Int64(&'a [i64]),
    UInt8(&'a [u8]),
    UInt16(&'a [u16]),
    UInt32(&'a [u32]),
    UInt64(&'a [u64]),
    Float32(&'a [f32]),
    Float64(&'a [f64]),
    Decimal128(&'a [i128], u8),
    Date(&'a [i32]),
    Time(&'a [i64]),
    Timestamp {
        values: &'a [i64],
        unit: TimeUnit,
        zoned: bool,
    },
    Text(&'a StringArray),
    LargeText(&'a LargeStringArray),
    TextView(&'a StringViewArray),
    Bytes(&'a BinaryArray),
    LargeBytes(&'a LargeBinaryArray),
    BytesView(&'a BinaryViewArray),
    Numeric(&'a BinaryViewArray),
}

impl<'a> ColumnText<'a> {
    /// Prepares the column `name`; `forced` quotes every value.
    pub(super) fn new(
        array: &'a ArrayRef,
        name: &str,
        forced: bool,
        options: &'a UnloadOptions,
    ) -> Result<Self, LoadError> {
        let values = values(array).ok_or_else(|| {
            LoadError::Query(format!(
                "column {name}: values of type {} have no CSV text here; cast the column to TEXT in the query",
                array.data_type()
            ))
        })?;
        let null = options.null.as_bytes();
        let quoting = Quoting::new(&options.dialect, null, forced);
        let safe = values.value_type().is_some_and(|values| quoting.is_safe(values));
        let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
        Ok(Self { nulls, null, quoting, safe, values })
    }

    /// Appends the value of a row.
    ///
    /// # Errors
    /// When the value must be quoted and the dialect has no quote.
    #[inline]
    pub(super) fn write(&self, row: usize, out: &mut Vec<u8>) -> Result<(), Unquotable> {
        if self.nulls.is_some_and(|nulls| nulls.is_null(row)) {
            out.extend_from_slice(self.null);
            return Ok(());
        }
        let start = out.len();
        match &self.values {
            Values::Null => {
                out.extend_from_slice(self.null);
                return Ok(());
            }
            Values::Text(texts) => return self.quoting.text(out, texts.value(row).as_bytes()),
            Values::LargeText(texts) => return self.quoting.text(out, texts.value(row).as_bytes()),
            Values::TextView(texts) => return self.write_view(texts, row, out),
            values => values.write(row, out),
        }
        if self.safe { Ok(()) } else { self.quoting.protect(out, start) }
    }

    /// Appends a text that is given as a view, a short one straight from it.
    #[inline]
    fn write_view(&self, texts: &StringViewArray, row: usize, out: &mut Vec<u8>) -> Result<(), Unquotable> {
        let view = texts.views()[row];
        let len = view as u32;
        if len <= MAX_INLINE_VIEW_LEN {
            // The length comes first, then the text and zeros.
            self.quoting.short_text(out, (view >> 32).to_le_bytes(), len as usize)
        } else {
            self.quoting.text(out, texts.value(row).as_bytes())
        }
    }
}

impl Values<'_> {
    /// Appends the value of a row, without quotes around a text; nothing for NULL.
    #[inline]
    pub(super) fn write(&self, row: usize, out: &mut Vec<u8>) {
        match self {
            Self::Null => {}
            Self::Text(texts) => out.extend_from_slice(texts.value(row).as_bytes()),
            Self::LargeText(texts) => out.extend_from_slice(texts.value(row).as_bytes()),
            Self::TextView(texts) => out.extend_from_slice(texts.value(row).as_bytes()),
            Self::Boolean(values) => write::boolean(out, values.value(row)),
            Self::Int8(values) => write::integer(out, values[row].into()),
            Self::Int16(values) => write::integer(out, values[row].into()),
            Self::Int32(values) => write::integer(out, values[row].into()),
            Self::Int64(values) => write::integer(out, values[row]),
            Self::UInt8(values) => write::unsigned(out, values[row].into()),
            Self::UInt16(values) => write::unsigned(out, values[row].into()),
            Self::UInt32(values) => write::unsigned(out, values[row].into()),
            Self::UInt64(values) => write::unsigned(out, values[row]),
            Self::Float32(values) => write::float32(out, values[row]),
            Self::Float64(values) => write::float64(out, values[row]),
            Self::Decimal128(values, scale) => write::decimal(out, values[row], *scale),
            Self::Date(values) => write::date(out, values[row]),
            Self::Time(values) => write::time(out, values[row]),
            Self::Timestamp { values, unit, zoned: true } => {
                write::timestamptz(out, to_microseconds(values[row], *unit));
            }
            Self::Timestamp { values, unit, zoned: false } => {
                write::timestamp(out, to_microseconds(values[row], *unit));
            }
            Self::Bytes(values) => write::bytea(out, values.value(row)),
            Self::LargeBytes(values) => write::bytea(out, values.value(row)),
            Self::BytesView(values) => write::bytea(out, values.value(row)),
            Self::Numeric(values) => {
                if let Some(value) = Numeric::of(values.value(row)) {
                    // Writing to memory cannot fail.
                    let _ = write!(out, "{value}");
                }
            }
        }
    }

    /// The type that these values are written like; `None` for texts and NULL.
    fn value_type(&self) -> Option<ValueType> {
        Some(match self {
            Self::Null | Self::Text(_) | Self::LargeText(_) | Self::TextView(_) => return None,
            Self::Boolean(_) => ValueType::Boolean,
            Self::Int8(_)
            | Self::Int16(_)
            | Self::Int32(_)
            | Self::Int64(_)
            | Self::UInt8(_)
            | Self::UInt16(_)
            | Self::UInt32(_)
            | Self::UInt64(_) => ValueType::Int64,
            Self::Float32(_) | Self::Float64(_) => ValueType::Float64,
            Self::Decimal128(..) => ValueType::Decimal128 { precision: 38, scale: 0 },
            Self::Date(_) => ValueType::Date,
            Self::Time(_) => ValueType::Time,
            Self::Timestamp { .. } => ValueType::TimestampTz,
            Self::Bytes(_) | Self::LargeBytes(_) | Self::BytesView(_) => ValueType::Bytea,
            Self::Numeric(_) => ValueType::Numeric(None),
        })
    }
}

fn to_microseconds(value: i64, unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => value.saturating_mul(1_000_000),
        TimeUnit::Millisecond => value.saturating_mul(1_000),
        TimeUnit::Microsecond => value,
        TimeUnit::Nanosecond => value.div_euclid(1_000),
    }
}

/// The values of a column; `None` for types that have no text here.
pub(super) fn values(array: &ArrayRef) -> Option<Values<'_>> {
    Some(match array.data_type() {
        DataType::Null => Values::Null,
        DataType::Boolean => Values::Boolean(array.as_any().downcast_ref()?),
        DataType::Int8 => Values::Int8(primitive::<Int8Type>(array)?),
        DataType::Int16 => Values::Int16(primitive::<Int16Type>(array)?),
        DataType::Int32 => Values::Int32(primitive::<Int32Type>(array)?),
        DataType::Int64 => Values::Int64(primitive::<Int64Type>(array)?),
        DataType::UInt8 => Values::UInt8(primitive::<UInt8Type>(array)?),
        DataType::UInt16 => Values::UInt16(primitive::<UInt16Type>(array)?),
        DataType::UInt32 => Values::UInt32(primitive::<UInt32Type>(array)?),
        DataType::UInt64 => Values::UInt64(primitive::<UInt64Type>(array)?),
        DataType::Float32 => Values::Float32(primitive::<Float32Type>(array)?),
        DataType::Float64 => Values::Float64(primitive::<Float64Type>(array)?),
        DataType::Decimal128(_, scale) => {
            Values::Decimal128(primitive::<Decimal128Type>(array)?, u8::try_from(*scale).ok()?)
        }
        DataType::Date32 => Values::Date(primitive::<Date32Type>(array)?),
        DataType::Time64(TimeUnit::Microsecond) => Values::Time(primitive::<Time64MicrosecondType>(array)?),
        DataType::Timestamp(unit, zone) => Values::Timestamp {
            values: match unit {
                TimeUnit::Second => primitive::<TimestampSecondType>(array)?,
                TimeUnit::Millisecond => primitive::<TimestampMillisecondType>(array)?,
                TimeUnit::Microsecond => primitive::<TimestampMicrosecondType>(array)?,
                TimeUnit::Nanosecond => primitive::<TimestampNanosecondType>(array)?,
            },
            unit: *unit,
            zoned: zone.is_some(),
        },
        DataType::Utf8 => Values::Text(array.as_any().downcast_ref()?),
        DataType::LargeUtf8 => Values::LargeText(array.as_any().downcast_ref()?),
        DataType::Utf8View => Values::TextView(array.as_any().downcast_ref()?),
        DataType::Binary => Values::Bytes(array.as_any().downcast_ref()?),
        DataType::LargeBinary => Values::LargeBytes(array.as_any().downcast_ref()?),
        DataType::BinaryView => Values::BytesView(array.as_any().downcast_ref()?),
        data_type @ DataType::Struct(_) if ColumnType::from_arrow(data_type) == Some(ColumnType::Numeric(None)) => {
            let values: &StructArray = array.as_any().downcast_ref()?;
            Values::Numeric(values.column(0).as_any().downcast_ref()?)
        }
        _ => return None,
    })
}

fn primitive<T: ArrowPrimitiveType>(array: &ArrayRef) -> Option<&[T::Native]> {
    Some(array.as_any().downcast_ref::<PrimitiveArray<T>>()?.values())
}
