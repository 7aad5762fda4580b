//! Values that an execution gives, in the types of a plan's placeholders: those of its parameters, and the time of its
//! transaction.
//!
//! A value that would be another one there, or that means something else to a session, is none: such an execution is planned
//! as if nothing had been prepared.

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::Placeholder;
use longshore_storage::{ColumnType, Datum, Uuid};
use longshore_value::decimal;
use longshore_value::text::trim_char;

use super::text_readers::TextReaders;
use crate::datafusion::functions::time::clock;
use crate::datafusion::planning::compared_texts::TextForm;
use crate::sql::parameters;
use crate::transaction::StatementTime;

/// What an execution gives for placeholders.
pub(super) struct Given<'a> {
    values: &'a [Datum<'a>],
    readers: &'a TextReaders,
    time: StatementTime,
    /// Whether a time without a zone is one in UTC.
    is_utc: bool,
}

impl<'a> Given<'a> {
    /// Values for parameters of a plan with these `readers`, in a statement that knows this of time.
    pub(super) fn new(values: &'a [Datum<'a>], readers: &'a TextReaders, time: StatementTime) -> Self {
        let is_utc = time.settings.zone.fixed_offset() == Some(0);
        Self { values, readers, time, is_utc }
    }

    /// The value of a placeholder; `None` if it is not the same value in its type.
    pub(super) fn value_of(&self, placeholder: &Placeholder) -> Option<ScalarValue> {
        let name = placeholder.id.strip_prefix('$')?;
        let Ok(number) = name.parse::<usize>() else { return clock::value_in(name, &self.time) };
        let data_type = placeholder.field.as_ref()?.data_type();
        match *self.values.get(number.checked_sub(1)?)? {
            Datum::Text(text) => match TextForm::of_parameter(placeholder) {
                Some(TextForm::Char) => scalar(Datum::Text(trim_char(text)), data_type),
                Some(TextForm::Uuid) => scalar(Datum::Uuid(Uuid::parse(text.as_bytes()).ok()?), data_type),
                None if let DataType::Timestamp(_, Some(zone)) = data_type => instant(text, zone).or_else(|| {
                    // Read in UTC, it would be another instant.
                    if self.is_utc { scalar(Datum::Text(text), data_type) } else { None }
                }),
                None => scalar(Datum::Text(text), data_type).or_else(|| self.readers.read(text, data_type)),
            },
            value => scalar(value, data_type),
        }
    }
}

/// A text that says how far it is from UTC, as a value of a column with this zone.
fn instant(text: &str, zone: &Arc<str>) -> Option<ScalarValue> {
    match parameters::fit(Datum::Text(text), ColumnType::TimestampTz)? {
        Datum::I64(micros) => Some(ScalarValue::TimestampMicrosecond(Some(micros), Some(Arc::clone(zone)))),
        _ => None,
    }
}

/// Whether a text is a date, or a date and a time, in a form that means the same to whatever reads it.
fn is_plain_moment(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'-' | b':' | b'.' | b' ');
    matches!(text.as_bytes(), [_, _, _, _, b'-', _, _, b'-', ..]) && text.bytes().all(is_plain)
}

/// A value in the type of a placeholder, if it is the same value there.
fn scalar(value: Datum<'_>, data_type: &DataType) -> Option<ScalarValue> {
    let whole = match value {
        Datum::I16(value) => Some(i64::from(value)),
        Datum::I32(value) => Some(i64::from(value)),
        Datum::I64(value) => Some(value),
        Datum::Text(value) => parameters::whole_number(value),
        _ => None,
    };
    match (value, data_type) {
        (Datum::Null, _) => ScalarValue::try_from(data_type).ok(),
        (Datum::Bool(value), DataType::Boolean) => Some(ScalarValue::Boolean(Some(value))),
        (Datum::F64(value), DataType::Float64) => Some(ScalarValue::Float64(Some(value))),
        (Datum::F32(value), DataType::Float32) => Some(ScalarValue::Float32(Some(value))),
        (Datum::Text(value), DataType::Boolean) => Some(ScalarValue::Boolean(Some(parameters::truth(value)?))),
        (Datum::Text(value), DataType::Float64) => Some(ScalarValue::Float64(Some(parameters::float(value)?))),
        (Datum::Bytes(value), DataType::BinaryView) => Some(ScalarValue::BinaryView(Some(value.to_owned()))),
        (Datum::Uuid(value), DataType::Utf8View) => Some(ScalarValue::Utf8View(Some(value.to_string()))),
        (Datum::Text(value), DataType::Utf8View) => Some(ScalarValue::Utf8View(Some(value.to_owned()))),
        (Datum::Text(value), DataType::Utf8) => Some(ScalarValue::Utf8(Some(value.to_owned()))),
        (Datum::Text(value), DataType::Decimal128(precision, scale @ 0..)) => {
            let digits = decimal::plain_long(value, *precision, scale.unsigned_abs())?;
            Some(ScalarValue::Decimal128(Some(digits), *precision, *scale))
        }
        (Datum::Text(value), DataType::Date32 | DataType::Timestamp(..)) if is_plain_moment(value) => {
            ScalarValue::Utf8(Some(value.to_owned())).cast_to(data_type).ok().filter(|value| !value.is_null())
        }
        (_, DataType::Int16) => Some(ScalarValue::Int16(Some(whole?.try_into().ok()?))),
        (_, DataType::Int32) => Some(ScalarValue::Int32(Some(whole?.try_into().ok()?))),
        (_, DataType::Int64) => Some(ScalarValue::Int64(Some(whole?))),
        (_, DataType::Decimal128(..)) => {
            let value = ScalarValue::Int64(Some(whole?));
            value.cast_to(data_type).ok().filter(|value| !value.is_null())
        }
        _ => None,
    }
}
