//! `to_char` of dates, timestamps and times, with PostgreSQL's patterns. `DataFusion`'s takes those of another language,
//! and gives PostgreSQL's back as they are. Numbers and intervals are refused. Not here: patterns (`pattern`), what their
//! parts become (`fields`).

mod fields;
mod pattern;

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringBuilder};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, Date32Type, Time64MicrosecondType, TimeUnit, TimestampMicrosecondType, TimestampNanosecondType,
};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};

use crate::Error;
use crate::datafusion::errors::external;
use fields::{Kind, Moment};
use pattern::Pattern;

/// Nanoseconds of a microsecond.
const NANOS: i64 = 1000;

/// `to_char(value, pattern)`.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(in crate::datafusion) struct ToChar {
    signature: Signature,
}

impl ToChar {
    pub(in crate::datafusion) fn new() -> Self {
        Self { signature: Signature::user_defined(Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for ToChar {
    fn name(&self) -> &'static str {
        "to_char"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        let [value, _] = arg_types else {
            return Err(external(Error::invalid(format!("to_char takes two arguments, not {}", arg_types.len()))));
        };
        let value = match value {
            DataType::Timestamp(TimeUnit::Second | TimeUnit::Millisecond, zone) => {
                DataType::Timestamp(TimeUnit::Microsecond, zone.clone())
            }
            DataType::Date64 => DataType::Date32,
            DataType::Time32(_) | DataType::Time64(_) => DataType::Time64(TimeUnit::Microsecond),
            DataType::Null => DataType::Timestamp(TimeUnit::Microsecond, None),
            other => other.clone(),
        };
        Ok(vec![value, DataType::Utf8View])
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        let what = match arg_types.first() {
            None
            | Some(
                DataType::Date32
                | DataType::Date64
                | DataType::Time32(_)
                | DataType::Time64(_)
                | DataType::Timestamp(..)
                | DataType::Null,
            ) => return Ok(DataType::Utf8),
            Some(other) if other.is_numeric() => "numbers",
            Some(other) if other.is_string() => "texts; cast it to a timestamp",
            Some(_) => "intervals",
        };
        let message = format!("to_char is there for dates, times and timestamps, not for {what}");
        Err(external(Error::unsupported(message)))
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [value, pattern] = args.args.as_slice() else { return internal_err!("to_char takes two arguments") };
        let is_scalar = matches!((value, pattern), (ColumnarValue::Scalar(_), ColumnarValue::Scalar(_)));
        let rows = if is_scalar { 1 } else { args.number_rows };
        let values = value.to_array(rows)?;
        let mut texts = StringBuilder::with_capacity(rows, rows * 20);
        match pattern {
            ColumnarValue::Scalar(pattern) => match pattern.try_as_str().flatten() {
                Some(pattern) => {
                    let pattern = Pattern::new(pattern);
                    write(&values, &mut texts, |_| Some(&pattern))?;
                }
                None => (0..rows).for_each(|_| texts.append_null()),
            },
            ColumnarValue::Array(patterns) => {
                let patterns = cast(patterns, &DataType::Utf8View)?;
                let parsed: Vec<Option<Pattern>> =
                    patterns.as_string_view().iter().map(|text| text.map(Pattern::new)).collect();
                write(&values, &mut texts, |row| parsed[row].as_ref())?;
            }
        }
        let texts: ArrayRef = Arc::new(texts.finish());
        if is_scalar {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&texts, 0)?));
        }
        Ok(ColumnarValue::Array(texts))
    }
}

fn write<'a>(
    values: &ArrayRef,
    texts: &mut StringBuilder,
    pattern: impl Fn(usize) -> Option<&'a Pattern>,
) -> Result<()> {
    let kind = match values.data_type() {
        DataType::Time64(_) => Kind::Time,
        DataType::Timestamp(_, None) => Kind::Timestamp,
        DataType::Timestamp(_, Some(zone)) if !matches!(zone.as_ref(), "UTC" | "+00:00" | "+00" | "Z") => {
            return Err(external(Error::unsupported(format!("to_char in the time zone {zone} is not supported"))));
        }
        _ => Kind::TimestampTz,
    };
    let mut text = String::new();
    for row in 0..values.len() {
        let Some(pattern) = pattern(row).filter(|_| values.is_valid(row)) else {
            texts.append_null();
            continue;
        };
        let moment = match values.data_type() {
            DataType::Date32 => Moment::of_day(values.as_primitive::<Date32Type>().value(row).into()),
            DataType::Time64(_) => Moment::of_micros(values.as_primitive::<Time64MicrosecondType>().value(row)),
            DataType::Timestamp(TimeUnit::Nanosecond, _) => {
                Moment::of_micros(values.as_primitive::<TimestampNanosecondType>().value(row).div_euclid(NANOS))
            }
            _ => Moment::of_micros(values.as_primitive::<TimestampMicrosecondType>().value(row)),
        };
        text.clear();
        pattern.write(&moment, kind, &mut text).map_err(external)?;
        texts.append_value(&text);
    }
    Ok(())
}
