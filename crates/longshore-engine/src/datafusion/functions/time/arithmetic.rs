//! Sums, differences and products of dates, times, timestamps and intervals, and what is made of them.

use longshore_time::calendar::{self, is_finite, is_finite_date};
use longshore_time::error::{Result, TimeError};
use longshore_time::interval::Interval;
use longshore_time::moment::{self, TimeTz};
use longshore_time::settings::to_local;

use super::kinds::Kind::{
    self, Bool, Date, Float, Int4, Interval as IntervalKind, Time, TimeTz as TimeTzKind, Timestamp, TimestampTz,
};
use super::overloads::{Overload, overload};
use super::session::SessionTime;
use super::values::Value;

/// What the planner puts in the place of operators.
pub(super) const OPERATORS: &[(&str, &[Overload])] = &[("+", PLUS), ("-", MINUS), ("*", TIMES), ("/", DIVIDED)];

const PLUS: &[Overload] = &[
    overload(&[IntervalKind, IntervalKind], IntervalKind, |values, _| {
        let [left, right] = intervals(values);
        left.plus(right).map(Value::Interval)
    }),
    overload(&[Date, Int4], Date, |values, _| shifted(values, 1)),
    overload(&[Int4, Date], Date, |values, _| shifted(values, 1)),
    overload(&[Date, Time], Timestamp, date_and_time),
    overload(&[Time, Date], Timestamp, date_and_time),
    overload(&[Date, TimeTzKind], TimestampTz, date_and_timetz),
    overload(&[TimeTzKind, Date], TimestampTz, date_and_timetz),
    overload(&[Timestamp, IntervalKind], Timestamp, later),
    overload(&[IntervalKind, Timestamp], Timestamp, later),
    overload(&[TimestampTz, IntervalKind], TimestampTz, later),
    overload(&[IntervalKind, TimestampTz], TimestampTz, later),
    overload(&[Date, IntervalKind], Timestamp, later),
    overload(&[IntervalKind, Date], Timestamp, later),
    overload(&[Time, IntervalKind], Time, later),
    overload(&[IntervalKind, Time], Time, later),
    overload(&[TimeTzKind, IntervalKind], TimeTzKind, later),
    overload(&[IntervalKind, TimeTzKind], TimeTzKind, later),
];

const MINUS: &[Overload] = &[
    overload(&[IntervalKind, IntervalKind], IntervalKind, |values, _| {
        let [left, right] = intervals(values);
        left.minus(right).map(Value::Interval)
    }),
    overload(&[Date, Date], Int4, |values, _| match values {
        [Value::Date(left), Value::Date(right)] if is_finite_date(*left) && is_finite_date(*right) => {
            Ok(Value::Int(i64::from(*left) - i64::from(*right)))
        }
        _ => Err(TimeError::out_of_range("date").about("cannot subtract infinite dates")),
    }),
    overload(&[Date, Int4], Date, |values, _| shifted(values, -1)),
    overload(&[TimestampTz, TimestampTz], IntervalKind, difference),
    overload(&[Timestamp, Timestamp], IntervalKind, difference),
    overload(&[Time, Time], IntervalKind, |values, _| match values {
        [Value::Time(left), Value::Time(right)] => Ok(Value::Interval(Interval::new(0, 0, left - right))),
        _ => Ok(Value::Null),
    }),
    overload(&[Timestamp, IntervalKind], Timestamp, earlier),
    overload(&[TimestampTz, IntervalKind], TimestampTz, earlier),
    overload(&[Date, IntervalKind], Timestamp, earlier),
    overload(&[Time, IntervalKind], Time, earlier),
    overload(&[TimeTzKind, IntervalKind], TimeTzKind, earlier),
];

const TIMES: &[Overload] = &[
    overload(&[IntervalKind, Float], IntervalKind, |values, _| scaled(values, Interval::times)),
    overload(&[Float, IntervalKind], IntervalKind, |values, _| scaled(values, Interval::times)),
];

const DIVIDED: &[Overload] =
    &[overload(&[IntervalKind, Float], IntervalKind, |values, _| scaled(values, Interval::divided))];

/// Functions by their names.
pub(super) const FUNCTIONS: &[(&str, &[Overload])] = &[
    ("age", AGE),
    ("isfinite", IS_FINITE),
    ("justify_hours", &[overload(&[IntervalKind], IntervalKind, |values, _| of_one(values, Interval::justify_hours))]),
    ("justify_days", &[overload(&[IntervalKind], IntervalKind, |values, _| of_one(values, Interval::justify_days))]),
    (
        "justify_interval",
        &[overload(&[IntervalKind], IntervalKind, |values, _| of_one(values, Interval::justify_interval))],
    ),
    ("interval_negate", &[overload(&[IntervalKind], IntervalKind, |values, _| of_one(values, Interval::negated))]),
    ("overlaps", OVERLAPS),
];

const AGE: &[Overload] = &[
    overload(&[TimestampTz, TimestampTz], IntervalKind, |values, session| {
        let zone = &session.settings().zone;
        match values {
            [Value::TimestampTz(later), Value::TimestampTz(earlier)] => {
                if !is_finite(*later) || !is_finite(*earlier) {
                    return Err(TimeError::out_of_range("timestamp"));
                }
                moment::age(to_local(zone, *later), to_local(zone, *earlier)).map(Value::Interval)
            }
            _ => Ok(Value::Null),
        }
    }),
    overload(&[Timestamp, Timestamp], IntervalKind, |values, _| match values {
        [Value::Timestamp(later), Value::Timestamp(earlier)] => moment::age(*later, *earlier).map(Value::Interval),
        _ => Ok(Value::Null),
    }),
    overload(&[TimestampTz], IntervalKind, |values, session| match values {
        [Value::TimestampTz(earlier)] => since(to_local(&session.settings().zone, *earlier), session),
        _ => Ok(Value::Null),
    }),
    overload(&[Timestamp], IntervalKind, |values, session| match values {
        [Value::Timestamp(earlier)] => since(*earlier, session),
        _ => Ok(Value::Null),
    }),
];

/// The age of a local timestamp at the beginning of today.
fn since(earlier: i64, session: &SessionTime<'_>) -> Result<Value<'static>> {
    let today = calendar::split(to_local(&session.settings().zone, session.context().now)).0;
    moment::age(calendar::timestamp_of(today, 0)?, earlier).map(Value::Interval)
}

const IS_FINITE: &[Overload] = &[
    overload(&[TimestampTz], Bool, |values, _| Ok(finite(values))),
    overload(&[Timestamp], Bool, |values, _| Ok(finite(values))),
    overload(&[Date], Bool, |values, _| Ok(finite(values))),
    overload(&[IntervalKind], Bool, |values, _| Ok(finite(values))),
];

fn finite(values: &[Value<'_>]) -> Value<'static> {
    Value::Bool(match values {
        [Value::Date(days)] => is_finite_date(*days),
        [Value::Timestamp(micros) | Value::TimestampTz(micros)] => is_finite(*micros),
        _ => true,
    })
}

/// `OVERLAPS` of each type of moments, the second of a pair being the end or an interval.
const OVERLAPS: &[Overload] = &[
    nullable(&[TimestampTz, TimestampTz, TimestampTz, TimestampTz]),
    nullable(&[Timestamp, Timestamp, Timestamp, Timestamp]),
    nullable(&[Time, Time, Time, Time]),
    nullable(&[TimeTzKind, TimeTzKind, TimeTzKind, TimeTzKind]),
    nullable(&[TimestampTz, IntervalKind, TimestampTz, IntervalKind]),
    nullable(&[TimestampTz, TimestampTz, TimestampTz, IntervalKind]),
    nullable(&[TimestampTz, IntervalKind, TimestampTz, TimestampTz]),
    nullable(&[Timestamp, IntervalKind, Timestamp, IntervalKind]),
    nullable(&[Timestamp, Timestamp, Timestamp, IntervalKind]),
    nullable(&[Timestamp, IntervalKind, Timestamp, Timestamp]),
    nullable(&[Time, IntervalKind, Time, IntervalKind]),
    nullable(&[Time, Time, Time, IntervalKind]),
    nullable(&[Time, IntervalKind, Time, Time]),
];

const fn nullable(arguments: &'static [Kind]) -> Overload {
    Overload { arguments, result: Bool, compute: overlaps, takes_null: true }
}

fn overlaps(values: &[Value<'_>], session: &SessionTime<'_>) -> Result<Value<'static>> {
    let [start1, end1, start2, end2] = values else { return Ok(Value::Null) };
    let end = |start: &Value<'_>, end: &Value<'_>| -> Result<Option<i128>> {
        match (start, end) {
            (Value::Null, Value::Interval(_)) => Ok(None),
            (start, Value::Interval(_)) => {
                let ends = [start.clone(), end.clone()];
                later(&ends, session).map(|end| ordinal(&end))
            }
            (_, end) => Ok(ordinal(end)),
        }
    };
    let first = (ordinal(start1), end(start1, end1)?);
    let second = (ordinal(start2), end(start2, end2)?);
    Ok(moment::overlaps(first, second).map_or(Value::Null, Value::Bool))
}

/// A number that is in the order of moments.
fn ordinal(value: &Value<'_>) -> Option<i128> {
    match value {
        Value::Timestamp(micros) | Value::TimestampTz(micros) | Value::Time(micros) => Some(i128::from(*micros)),
        Value::TimeTz(TimeTz { micros, west }) => {
            let time = TimeTz { micros: *micros, west: *west };
            Some(i128::from(time.utc()) << 32 | i128::from(*west as u32))
        }
        _ => None,
    }
}

fn intervals(values: &[Value<'_>]) -> [Interval; 2] {
    let interval = |at: usize| match values.get(at) {
        Some(Value::Interval(interval)) => *interval,
        _ => Interval::default(),
    };
    [interval(0), interval(1)]
}

fn of_one(values: &[Value<'_>], compute: impl Fn(Interval) -> Result<Interval>) -> Result<Value<'static>> {
    compute(intervals(values)[0]).map(Value::Interval)
}

fn scaled(values: &[Value<'_>], compute: impl Fn(Interval, f64) -> Result<Interval>) -> Result<Value<'static>> {
    match values {
        [Value::Interval(interval), Value::Float(factor)] | [Value::Float(factor), Value::Interval(interval)] => {
            compute(*interval, *factor).map(Value::Interval)
        }
        _ => Ok(Value::Null),
    }
}

/// A date so many days later or earlier.
fn shifted(values: &[Value<'_>], sign: i64) -> Result<Value<'static>> {
    match values {
        [Value::Date(days), Value::Int(shift)] | [Value::Int(shift), Value::Date(days)] => {
            if !is_finite_date(*days) {
                return Ok(Value::Date(*days));
            }
            let days = shift.checked_mul(sign).and_then(|shift| i64::from(*days).checked_add(shift));
            days.ok_or_else(|| TimeError::out_of_range("date")).and_then(calendar::date).map(Value::Date)
        }
        _ => Ok(Value::Null),
    }
}

/// The moment of a date and a time.
pub(super) fn date_and_time(values: &[Value<'_>], _: &SessionTime<'_>) -> Result<Value<'static>> {
    match values {
        [Value::Date(days), Value::Time(micros)] | [Value::Time(micros), Value::Date(days)] => {
            let midnight = moment::midnight(*days)?;
            moment::plus(midnight, Interval::new(0, 0, *micros)).map(Value::Timestamp)
        }
        _ => Ok(Value::Null),
    }
}

/// The moment of a date and a time of a zone.
pub(super) fn date_and_timetz(values: &[Value<'_>], _: &SessionTime<'_>) -> Result<Value<'static>> {
    match values {
        [Value::Date(days), Value::TimeTz(time)] | [Value::TimeTz(time), Value::Date(days)] => {
            let midnight = moment::midnight(*days)?;
            moment::plus(midnight, Interval::new(0, 0, time.utc())).map(Value::TimestampTz)
        }
        _ => Ok(Value::Null),
    }
}

fn earlier(values: &[Value<'_>], session: &SessionTime<'_>) -> Result<Value<'static>> {
    match values {
        [moment, Value::Interval(interval)] => {
            let values = [moment.clone(), Value::Interval(interval.negated()?)];
            later(&values, session)
        }
        _ => Ok(Value::Null),
    }
}

/// A moment and an interval, in any order.
fn later(values: &[Value<'_>], session: &SessionTime<'_>) -> Result<Value<'static>> {
    let (moment, interval) = match values {
        [moment, Value::Interval(interval)] | [Value::Interval(interval), moment] => (moment, *interval),
        _ => return Ok(Value::Null),
    };
    Ok(match moment {
        Value::Date(days) => Value::Timestamp(moment::plus(moment::midnight(*days)?, interval)?),
        Value::Timestamp(micros) => Value::Timestamp(moment::plus(*micros, interval)?),
        Value::TimestampTz(micros) => Value::TimestampTz(moment::plus_in(&session.settings().zone, *micros, interval)?),
        Value::Time(micros) => Value::Time(moment::time_plus(*micros, interval)),
        Value::TimeTz(time) => {
            Value::TimeTz(TimeTz { micros: moment::time_plus(time.micros, interval), west: time.west })
        }
        _ => Value::Null,
    })
}

fn difference(values: &[Value<'_>], _: &SessionTime<'_>) -> Result<Value<'static>> {
    match values {
        [Value::Timestamp(left), Value::Timestamp(right)] | [Value::TimestampTz(left), Value::TimestampTz(right)] => {
            moment::minus(*left, *right).map(Value::Interval)
        }
        _ => Ok(Value::Null),
    }
}
