//! `date_trunc` and `date_bin`.

use longshore_time::error::TimeError;
use longshore_time::part::Source;
use longshore_time::truncate;
use longshore_time::zone::Zone;

use super::kinds::Kind::{Interval as IntervalKind, Text, Timestamp, TimestampTz};
use super::overloads::{Overload, overload};
use super::values::Value;

/// Functions by their names.
pub(super) const FUNCTIONS: &[(&str, &[Overload])] = &[
    (
        "date_trunc",
        &[
            overload(&[Text, TimestampTz], TimestampTz, |values, session| match values {
                [Value::Text(unit), Value::TimestampTz(micros)] => {
                    let unit = truncate::unit(unit, Source::TimestampTz)?;
                    truncate::of_timestamptz(unit, *micros, &session.settings().zone).map(Value::TimestampTz)
                }
                _ => Ok(Value::Null),
            }),
            overload(&[Text, Timestamp], Timestamp, |values, _| match values {
                [Value::Text(unit), Value::Timestamp(micros)] => {
                    let unit = truncate::unit(unit, Source::Timestamp)?;
                    truncate::of_timestamp(unit, *micros).map(Value::Timestamp)
                }
                _ => Ok(Value::Null),
            }),
            overload(&[Text, IntervalKind], IntervalKind, |values, _| match values {
                [Value::Text(unit), Value::Interval(interval)] => {
                    let unit = truncate::unit(unit, Source::Interval)?;
                    truncate::of_interval(unit, *interval).map(Value::Interval)
                }
                _ => Ok(Value::Null),
            }),
            overload(&[Text, TimestampTz, Text], TimestampTz, |values, _| match values {
                [Value::Text(unit), Value::TimestampTz(micros), Value::Text(zone)] => {
                    let named = Zone::named(zone).or_else(|| Zone::of_abbreviation(zone));
                    let zone = named
                        .ok_or_else(|| TimeError::invalid_parameter(format!("time zone \"{zone}\" not recognized")))?;
                    let unit = truncate::unit(unit, Source::TimestampTz)?;
                    truncate::of_timestamptz(unit, *micros, &zone).map(Value::TimestampTz)
                }
                _ => Ok(Value::Null),
            }),
        ],
    ),
    (
        "date_bin",
        &[
            overload(&[IntervalKind, TimestampTz, TimestampTz], TimestampTz, |values, _| match values {
                [Value::Interval(stride), Value::TimestampTz(micros), Value::TimestampTz(origin)] => {
                    truncate::bin(*stride, *micros, *origin).map(Value::TimestampTz)
                }
                _ => Ok(Value::Null),
            }),
            overload(&[IntervalKind, Timestamp, Timestamp], Timestamp, |values, _| match values {
                [Value::Interval(stride), Value::Timestamp(micros), Value::Timestamp(origin)] => {
                    truncate::bin(*stride, *micros, *origin).map(Value::Timestamp)
                }
                _ => Ok(Value::Null),
            }),
        ],
    ),
];
