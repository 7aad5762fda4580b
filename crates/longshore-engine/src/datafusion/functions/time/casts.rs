//! Casts between dates, times, timestamps, intervals and texts.
//!
//! They stand in the place of `DataFusion`'s, which know one form of text and no session. A type's precision, as in
//! `timestamp(3)`, comes with the cast ([`Modifier`]).

use std::borrow::Cow;
use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{DataFusionError, Result, internal_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use longshore_time::calendar::{MICROS_PER_DAY, MICROS_PER_SECOND, is_finite, split, timestamp};
use longshore_time::interval::{Interval, IntervalField, IntervalType};
use longshore_time::moment::{TimeTz, date_of, midnight, to_utc};
use longshore_time::settings::to_local;
use longshore_time::{error, read, write};
use longshore_value::times;

use super::kinds::Kind;
use super::session::{SessionTime, time_error};
use super::values::{Builder, Column, Value};
use crate::datafusion::errors::external;
use crate::datafusion::functions::element_wise::map_values;
use crate::{Error, ErrorKind};

/// What a type says beside its name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(in crate::datafusion) enum Modifier {
    #[default]
    None,
    /// Digits of fractions of a second.
    Precision(u8),
    /// The fields of an interval.
    Fields(IntervalType),
}

/// Among the metadata of a type that is cast to: its name with what it says beside that.
pub(in crate::datafusion) const MODIFIER: &str = "longshore.time_modifier";

const FIELDS: [(&str, IntervalField); 6] = [
    ("year", IntervalField::Year),
    ("month", IntervalField::Month),
    ("day", IntervalField::Day),
    ("hour", IntervalField::Hour),
    ("minute", IntervalField::Minute),
    ("second", IntervalField::Second),
];

impl Modifier {
    /// What the type of a cast says beside its name.
    pub(super) fn of(field: &Field) -> Self {
        field.metadata().get(MODIFIER).map_or(Self::None, |name| Self::of_name(name))
    }

    /// The modifier in the name of a type: `timestamp(3)`, `interval day to second(2)`.
    fn of_name(name: &str) -> Self {
        let precision = name.split_once('(').and_then(|(_, rest)| rest.split(')').next()?.trim().parse::<u8>().ok());
        let Some(rest) = name.strip_prefix("interval") else {
            return precision.map_or(Self::None, |digits| Self::Precision(digits.min(6)));
        };
        let words: Vec<&str> = rest.split(|c: char| !c.is_ascii_alphabetic()).filter(|word| !word.is_empty()).collect();
        let field = |word: &str| FIELDS.iter().find(|(known, _)| *known == word).map(|(_, field)| *field);
        let fields = match words.as_slice() {
            [one] => field(one).map(|field| (field, field)),
            [first, "to", last] => field(first).zip(field(last)),
            _ => None,
        };
        let precision = precision.map(|digits| digits.min(6));
        if fields.is_none() && precision.is_none() {
            Self::None
        } else {
            Self::Fields(IntervalType { fields, precision })
        }
    }

    fn interval(self) -> IntervalType {
        if let Self::Fields(fields) = self { fields } else { IntervalType::default() }
    }

    fn precision(self) -> u8 {
        if let Self::Precision(digits) = self { digits } else { 6 }
    }
}

/// Whether a cast from one type to another is one of these.
pub(in crate::datafusion) fn is_ours(from: &DataType, to: &DataType) -> bool {
    let (Some(from), Some(to)) = (Kind::of(from), Kind::of(to)) else { return false };
    (from.is_time() || to.is_time()) && (from != to)
}

/// The cast of `expr` to `to`, which is a type of time or text.
pub(in crate::datafusion) fn cast_time(expr: Expr, to: Kind, modifier: Modifier) -> Expr {
    let function = Arc::new(ScalarUDF::new_from_impl(TimeCast::new(to, modifier)));
    Expr::ScalarFunction(ScalarFunction::new_udf(function, vec![expr]))
}

/// A cast to a type.
#[derive(Debug, PartialEq, Eq, Hash)]
struct TimeCast {
    to: Kind,
    modifier: Modifier,
    name: String,
    signature: Signature,
}

impl TimeCast {
    fn new(to: Kind, modifier: Modifier) -> Self {
        let name = format!("cast_to_{}", to.name().replace(' ', "_"));
        Self { to, modifier, name, signature: Signature::any(1, Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for TimeCast {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(self.to.data_type())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(Field::new(&self.name, self.to.data_type(), nullable)))
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [value] = args.args.as_slice() else { return internal_err!("{} takes one argument", self.name) };
        let session = SessionTime::of(&args.config_options);
        map_values(value, |array| convert(array, self.to, self.modifier, &session))
    }
}

/// The values of an array in another type.
pub(in crate::datafusion) fn convert(
    array: &ArrayRef,
    to: Kind,
    modifier: Modifier,
    session: &SessionTime<'_>,
) -> Result<ArrayRef> {
    let column = Column::new(array)?;
    let mut result = Builder::new(to, array.len());
    for row in 0..array.len() {
        let value = match column.value(row) {
            Value::Null => Value::Null,
            value => match one(&value, to, modifier, session) {
                Some(value) => value.map_err(|error| time_error(&error))?,
                None => return Err(impossible(array.data_type(), to)),
            },
        };
        result.append(value)?;
    }
    Ok(result.finish())
}

fn impossible(from: &DataType, to: Kind) -> DataFusionError {
    let from = Kind::of(from).map_or_else(|| from.to_string(), |kind| kind.name().to_owned());
    let message = format!("cannot cast type {from} to {}", to.name());
    external(Error::new(ErrorKind::Coded("42846"), message))
}

/// A value in another type; `None` if there is no such cast.
fn one(
    value: &Value<'_>,
    to: Kind,
    modifier: Modifier,
    session: &SessionTime<'_>,
) -> Option<error::Result<Value<'static>>> {
    let settings = session.settings();
    let zone = &settings.zone;
    let digits = modifier.precision();
    let timestamp = |micros: error::Result<i64>| {
        micros.and_then(|micros| rounded(micros, digits)).map(|micros| match to {
            Kind::Timestamp => Value::Timestamp(micros),
            _ => Value::TimestampTz(micros),
        })
    };
    let time = |micros: i64| Value::Time(times::rounded(micros, digits).unwrap_or(micros));
    let timetz = |micros: i64, west: i32| {
        Value::TimeTz(TimeTz { micros: times::rounded(micros, digits).unwrap_or(micros), west })
    };
    Some(match (value, to) {
        (Value::Text(text), _) => return of_text(text, to, modifier, session),
        (_, Kind::Text) => Ok(Value::Text(Cow::Owned(text_of(value, session)?))),
        (Value::Date(days), Kind::Date) => Ok(Value::Date(*days)),
        (Value::Date(days), Kind::Timestamp) => timestamp(midnight(*days)),
        (Value::Date(days), Kind::TimestampTz) => timestamp(midnight(*days).and_then(|local| to_utc(zone, local))),
        (Value::Timestamp(micros), Kind::Timestamp) | (Value::TimestampTz(micros), Kind::TimestampTz) => {
            timestamp(Ok(*micros))
        }
        (Value::Timestamp(micros), Kind::TimestampTz) => timestamp(to_utc(zone, *micros)),
        (Value::TimestampTz(micros), Kind::Timestamp) => timestamp(Ok(to_local(zone, *micros))),
        (Value::Timestamp(micros), Kind::Date) => date_of(*micros).map(Value::Date),
        (Value::TimestampTz(micros), Kind::Date) => date_of(to_local(zone, *micros)).map(Value::Date),
        // Infinite ones have no time of day.
        (Value::Timestamp(micros) | Value::TimestampTz(micros), Kind::Time | Kind::TimeTz) if !is_finite(*micros) => {
            Ok(Value::Null)
        }
        (Value::Timestamp(micros), Kind::Time) => Ok(time(split(*micros).1)),
        (Value::TimestampTz(micros), Kind::Time) => Ok(time(split(to_local(zone, *micros)).1)),
        (Value::TimestampTz(micros), Kind::TimeTz) => {
            let east = zone.offset(micros.div_euclid(MICROS_PER_SECOND));
            Ok(timetz(split(to_local(zone, *micros)).1, -east))
        }
        (Value::Time(micros), Kind::Time) => Ok(time(*micros)),
        (Value::Time(micros), Kind::Interval) => {
            modifier.interval().adjusted(Interval::new(0, 0, *micros)).map(Value::Interval)
        }
        (Value::Time(micros), Kind::TimeTz) => {
            let today = split(to_local(zone, session.context().now)).0;
            let local = (today * MICROS_PER_DAY + micros).div_euclid(MICROS_PER_SECOND);
            Ok(timetz(*micros, -zone.offset_of_local(local)))
        }
        (Value::TimeTz(value), Kind::Time) => Ok(time(value.micros)),
        (Value::TimeTz(value), Kind::TimeTz) => Ok(timetz(value.micros, value.west)),
        (Value::Interval(interval), Kind::Time) => Ok(time(interval.micros.rem_euclid(MICROS_PER_DAY))),
        (Value::Interval(interval), Kind::Interval) => modifier.interval().adjusted(*interval).map(Value::Interval),
        _ => return None,
    })
}

fn of_text(
    text: &str,
    to: Kind,
    modifier: Modifier,
    session: &SessionTime<'_>,
) -> Option<error::Result<Value<'static>>> {
    let context = session.context();
    let digits = modifier.precision();
    let timestamp = |read: error::Result<i64>| read.and_then(|micros| rounded(micros, digits));
    let time = |micros: i64| times::rounded(micros, digits).unwrap_or(micros);
    Some(match to {
        Kind::Date => read::date(text, &context).map(Value::Date),
        Kind::Timestamp => timestamp(read::timestamp(text, &context)).map(Value::Timestamp),
        Kind::TimestampTz => timestamp(read::timestamptz(text, &context)).map(Value::TimestampTz),
        Kind::Time => read::time(text, &context).map(|micros| Value::Time(time(micros))),
        Kind::TimeTz => read::timetz(text, &context)
            .map(|value| Value::TimeTz(TimeTz { micros: time(value.micros), west: value.west })),
        Kind::Interval => {
            read::interval(text, modifier.interval(), session.settings().interval_style).map(Value::Interval)
        }
        Kind::Text => Ok(Value::Text(Cow::Owned(text.to_owned()))),
        _ => return None,
    })
}

/// A timestamp with so many digits of fractions of a second.
fn rounded(micros: i64, digits: u8) -> error::Result<i64> {
    if digits >= 6 || !is_finite(micros) {
        return Ok(micros);
    }
    let rounded =
        times::rounded_timestamp(micros, digits).ok_or_else(|| error::TimeError::out_of_range("timestamp"))?;
    timestamp(rounded.into())
}

/// The text of a value of time.
fn text_of(value: &Value<'_>, session: &SessionTime<'_>) -> Option<String> {
    let settings = session.settings();
    let mut text = String::new();
    match value {
        Value::Date(days) => write::date(&mut text, *days, settings),
        Value::Time(micros) => write::time(&mut text, *micros),
        Value::TimeTz(value) => write::timetz(&mut text, *value),
        Value::Timestamp(micros) => write::timestamp(&mut text, *micros, settings),
        Value::TimestampTz(micros) => write::timestamptz(&mut text, *micros, settings),
        Value::Interval(interval) => write::interval(&mut text, *interval, settings.interval_style),
        _ => return None,
    }
    Some(text)
}
