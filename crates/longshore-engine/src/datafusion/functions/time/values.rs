//! Single values of arrays, and arrays of single values.

use std::borrow::Cow;
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BinaryViewArray, BinaryViewBuilder, BooleanArray, BooleanBuilder, PrimitiveArray,
    PrimitiveBuilder, StringViewArray, StringViewBuilder, StructArray,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, Date32Type, Float64Type, Int32Type, Int64Type, IntervalMonthDayNanoType, IntervalUnit,
    Time64MicrosecondType, TimeUnit, TimestampMicrosecondType,
};
use datafusion::common::{Result, internal_err};
use longshore_time::interval::Interval;
use longshore_time::moment::TimeTz;

use super::kinds::Kind;
use crate::datafusion::functions::numeric::{self, is_numeric};

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::datafusion) enum Value<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Cow<'a, str>),
    Date(i32),
    Time(i64),
    TimeTz(TimeTz),
    Timestamp(i64),
    TimestampTz(i64),
    Interval(Interval),
}

/// An array whose values can be taken one by one.
pub(in crate::datafusion) struct Column(Values);

enum Values {
    Null,
    Bool(BooleanArray),
    Int(PrimitiveArray<Int64Type>),
    Float(PrimitiveArray<Float64Type>),
    Text(StringViewArray),
    Date(PrimitiveArray<Date32Type>),
    Time(PrimitiveArray<Time64MicrosecondType>),
    TimeTz(BinaryViewArray, ArrayRef),
    Timestamp(PrimitiveArray<TimestampMicrosecondType>),
    TimestampTz(PrimitiveArray<TimestampMicrosecondType>),
    Interval(BinaryViewArray, ArrayRef),
    ArrowInterval(PrimitiveArray<IntervalMonthDayNanoType>),
}

/// An array in another type, as Arrow casts it, or the numbers of NUMERIC.
pub(in crate::datafusion) fn in_type(array: &ArrayRef, data_type: &DataType) -> Result<ArrayRef> {
    if is_numeric(array.data_type()) {
        return numeric::convert::convert(array, data_type, None);
    }
    Ok(cast(array, data_type)?)
}

impl Column {
    /// Readies an array of a type that [`Kind::of`] knows.
    pub(in crate::datafusion) fn new(array: &ArrayRef) -> Result<Self> {
        let data_type = array.data_type();
        if *data_type == DataType::Null {
            return Ok(Self(Values::Null));
        }
        let Some(kind) = Kind::of(data_type) else { return internal_err!("{data_type} is no type of time") };
        let as_type = |data_type: &DataType| in_type(array, data_type);
        let in_micros = |zone: &Option<Arc<str>>| as_type(&DataType::Timestamp(TimeUnit::Microsecond, zone.clone()));
        Ok(Self(match kind {
            Kind::Bool => Values::Bool(array.as_boolean().clone()),
            Kind::Int4 | Kind::Int => Values::Int(as_type(&DataType::Int64)?.as_primitive().clone()),
            Kind::Float => Values::Float(as_type(&DataType::Float64)?.as_primitive().clone()),
            Kind::Text | Kind::Decimal => Values::Text(as_type(&DataType::Utf8View)?.as_string_view().clone()),
            Kind::Date => Values::Date(as_type(&DataType::Date32)?.as_primitive().clone()),
            Kind::Time => Values::Time(as_type(&DataType::Time64(TimeUnit::Microsecond))?.as_primitive().clone()),
            Kind::Timestamp => Values::Timestamp(in_micros(&None)?.as_primitive().clone()),
            Kind::TimestampTz => Values::TimestampTz(in_micros(&Some(Arc::from("UTC")))?.as_primitive().clone()),
            Kind::TimeTz => Values::TimeTz(inner(array), Arc::clone(array)),
            Kind::Interval if matches!(data_type, DataType::Struct(_)) => {
                Values::Interval(inner(array), Arc::clone(array))
            }
            Kind::Interval => {
                let intervals = as_type(&DataType::Interval(IntervalUnit::MonthDayNano))?;
                Values::ArrowInterval(intervals.as_primitive().clone())
            }
        }))
    }

    /// The value of a row.
    pub(in crate::datafusion) fn value(&self, row: usize) -> Value<'_> {
        macro_rules! of {
            ($array:expr, $value:expr) => {
                if $array.is_null(row) { Value::Null } else { $value }
            };
        }
        match &self.0 {
            Values::Bool(array) => of!(array, Value::Bool(array.value(row))),
            Values::Int(array) => of!(array, Value::Int(array.value(row))),
            Values::Float(array) => of!(array, Value::Float(array.value(row))),
            Values::Text(array) => of!(array, Value::Text(Cow::Borrowed(array.value(row)))),
            Values::Date(array) => of!(array, Value::Date(array.value(row))),
            Values::Time(array) => of!(array, Value::Time(array.value(row))),
            Values::Timestamp(array) => of!(array, Value::Timestamp(array.value(row))),
            Values::TimestampTz(array) => of!(array, Value::TimestampTz(array.value(row))),
            Values::TimeTz(array, outer) if outer.is_valid(row) && array.is_valid(row) => {
                TimeTz::of_key(array.value(row)).map_or(Value::Null, Value::TimeTz)
            }
            Values::Interval(array, outer) if outer.is_valid(row) && array.is_valid(row) => {
                Interval::of_key(array.value(row)).map_or(Value::Null, Value::Interval)
            }
            Values::Null | Values::TimeTz(..) | Values::Interval(..) => Value::Null,
            Values::ArrowInterval(array) => of!(array, {
                let interval = array.value(row);
                Value::Interval(Interval::new(interval.months, interval.days, interval.nanoseconds / 1000))
            }),
        }
    }
}

fn inner(array: &ArrayRef) -> BinaryViewArray {
    array.as_struct().column(0).as_binary_view().clone()
}

/// An array that grows value by value.
pub(in crate::datafusion) enum Builder {
    Bool(BooleanBuilder),
    Int4(PrimitiveBuilder<Int32Type>),
    Int(PrimitiveBuilder<Int64Type>),
    Float(PrimitiveBuilder<Float64Type>),
    Text(StringViewBuilder),
    Date(PrimitiveBuilder<Date32Type>),
    Time(PrimitiveBuilder<Time64MicrosecondType>),
    Timestamp(PrimitiveBuilder<TimestampMicrosecondType>, Kind),
    Wrapped(BinaryViewBuilder, Kind),
}

impl Builder {
    pub(in crate::datafusion) fn new(kind: Kind, rows: usize) -> Self {
        match kind {
            Kind::Bool => Self::Bool(BooleanBuilder::with_capacity(rows)),
            Kind::Int4 => Self::Int4(PrimitiveBuilder::with_capacity(rows)),
            Kind::Int => Self::Int(PrimitiveBuilder::with_capacity(rows)),
            Kind::Float => Self::Float(PrimitiveBuilder::with_capacity(rows)),
            Kind::Text | Kind::Decimal => Self::Text(StringViewBuilder::with_capacity(rows)),
            Kind::Date => Self::Date(PrimitiveBuilder::with_capacity(rows)),
            Kind::Time => Self::Time(PrimitiveBuilder::with_capacity(rows)),
            Kind::Timestamp | Kind::TimestampTz => Self::Timestamp(PrimitiveBuilder::with_capacity(rows), kind),
            Kind::TimeTz | Kind::Interval => Self::Wrapped(BinaryViewBuilder::with_capacity(rows), kind),
        }
    }

    /// Appends a value of the builder's kind.
    pub(in crate::datafusion) fn append(&mut self, value: Value<'_>) -> Result<()> {
        match (self, value) {
            (Self::Bool(builder), Value::Bool(value)) => builder.append_value(value),
            (Self::Int4(builder), Value::Int(value)) => builder.append_option(i32::try_from(value).ok()),
            (Self::Int(builder), Value::Int(value)) => builder.append_value(value),
            (Self::Float(builder), Value::Float(value)) => builder.append_value(value),
            (Self::Text(builder), Value::Text(value)) => builder.append_value(value),
            (Self::Date(builder), Value::Date(value)) => builder.append_value(value),
            (Self::Time(builder), Value::Time(value)) => builder.append_value(value),
            (Self::Timestamp(builder, _), Value::Timestamp(value) | Value::TimestampTz(value)) => {
                builder.append_value(value);
            }
            (Self::Wrapped(builder, _), Value::Interval(value)) => builder.append_value(value.to_key()),
            (Self::Wrapped(builder, _), Value::TimeTz(value)) => builder.append_value(value.to_key()),
            (builder, Value::Null) => builder.append_null(),
            (_, value) => return internal_err!("a function of time gave {value:?}, which is of another type"),
        }
        Ok(())
    }

    fn append_null(&mut self) {
        match self {
            Self::Bool(builder) => builder.append_null(),
            Self::Int4(builder) => builder.append_null(),
            Self::Int(builder) => builder.append_null(),
            Self::Float(builder) => builder.append_null(),
            Self::Text(builder) => builder.append_null(),
            Self::Date(builder) => builder.append_null(),
            Self::Time(builder) => builder.append_null(),
            Self::Timestamp(builder, _) => builder.append_null(),
            Self::Wrapped(builder, _) => builder.append_null(),
        }
    }

    pub(in crate::datafusion) fn finish(self) -> ArrayRef {
        match self {
            Self::Bool(mut builder) => Arc::new(builder.finish()),
            Self::Int4(mut builder) => Arc::new(builder.finish()),
            Self::Int(mut builder) => Arc::new(builder.finish()),
            Self::Float(mut builder) => Arc::new(builder.finish()),
            Self::Text(mut builder) => Arc::new(builder.finish()),
            Self::Date(mut builder) => Arc::new(builder.finish()),
            Self::Time(mut builder) => Arc::new(builder.finish()),
            Self::Timestamp(mut builder, kind) => Arc::new(builder.finish().with_data_type(kind.data_type())),
            Self::Wrapped(mut builder, kind) => {
                let inner = builder.finish();
                let nulls = inner.nulls().cloned();
                Arc::new(StructArray::new(kind.fields(), vec![Arc::new(inner)], nulls))
            }
        }
    }
}
