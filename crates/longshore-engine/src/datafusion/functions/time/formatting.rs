//! `to_char`, `to_date`, `to_timestamp` and `to_number`.

use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;

use longshore_time::error::Result;
use longshore_time::pattern::number::{Number, NumberPattern, to_number};
use longshore_time::pattern::{Pattern, to_date, to_timestamp};

use super::constructors::of_epoch;
use super::kinds::Kind::{Date, Decimal, Float, Interval, Text, Timestamp, TimestampTz};
use super::overloads::{Overload, overload};
use super::session::SessionTime;
use super::values::Value;

/// Functions by their names.
pub(super) const FUNCTIONS: &[(&str, &[Overload])] = &[
    (
        "to_char",
        &[
            overload(&[TimestampTz, Text], Text, to_char),
            overload(&[Timestamp, Text], Text, to_char),
            overload(&[Interval, Text], Text, to_char),
            overload(&[Decimal, Text], Text, to_char),
            overload(&[Float, Text], Text, to_char),
        ],
    ),
    (
        "to_date",
        &[overload(&[Text, Text], Date, |values, _| match values {
            [Value::Text(text), Value::Text(pattern)] => to_date(text, pattern).map(Value::Date),
            _ => Ok(Value::Null),
        })],
    ),
    (
        "to_timestamp",
        &[
            overload(&[Text, Text], TimestampTz, |values, session| match values {
                [Value::Text(text), Value::Text(pattern)] => {
                    to_timestamp(text, pattern, session.settings()).map(Value::TimestampTz)
                }
                _ => Ok(Value::Null),
            }),
            overload(&[Float], TimestampTz, |values, _| match values {
                [Value::Float(seconds)] => of_epoch(*seconds).map(Value::TimestampTz),
                _ => Ok(Value::Null),
            }),
        ],
    ),
    (
        // What `to_number` gives before it is a number.
        "to_number_text",
        &[overload(&[Text, Text], Text, |values, _| match values {
            [Value::Text(text), Value::Text(pattern)] => {
                let pattern = number_pattern(pattern)?;
                Ok(text_or_null(to_number(text, &pattern)?))
            }
            _ => Ok(Value::Null),
        })],
    ),
];

thread_local! {
    /// The patterns of the last calls: most have one for all rows.
    static LAST: RefCell<Option<(String, Rc<Pattern>)>> = const { RefCell::new(None) };
    static LAST_NUMBER: RefCell<Option<(String, Rc<NumberPattern>)>> = const { RefCell::new(None) };
}

fn pattern(text: &str) -> Rc<Pattern> {
    LAST.with_borrow_mut(|last| match last {
        Some((known, pattern)) if known == text => Rc::clone(pattern),
        _ => {
            let pattern = Rc::new(Pattern::new(text));
            *last = Some((text.to_owned(), Rc::clone(&pattern)));
            pattern
        }
    })
}

fn number_pattern(text: &str) -> Result<Rc<NumberPattern>> {
    LAST_NUMBER.with_borrow_mut(|last| match last {
        Some((known, pattern)) if known == text => Ok(Rc::clone(pattern)),
        _ => {
            let pattern = Rc::new(NumberPattern::new(text)?);
            *last = Some((text.to_owned(), Rc::clone(&pattern)));
            Ok(pattern)
        }
    })
}

fn text_or_null(text: Option<String>) -> Value<'static> {
    text.map_or(Value::Null, |text| Value::Text(Cow::Owned(text)))
}

fn to_char(values: &[Value<'_>], session: &SessionTime<'_>) -> Result<Value<'static>> {
    let [value, Value::Text(format)] = values else { return Ok(Value::Null) };
    Ok(text_or_null(match value {
        Value::TimestampTz(micros) => pattern(format).of_timestamptz(*micros, session.settings())?,
        Value::Timestamp(micros) => pattern(format).of_timestamp(*micros)?,
        Value::Interval(interval) => pattern(format).of_interval(*interval)?,
        Value::Text(digits) => Some(number_pattern(format)?.write(Number::Decimal(digits))),
        Value::Float(number) => Some(number_pattern(format)?.write(Number::Float(*number))),
        _ => None,
    }))
}
