//! Functions that give rows of numbers or times, as arrays: `generate_series`, `generate_subscripts`.

use std::cmp::Ordering;
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Int32Builder, Int64Builder, ListArray, ListBuilder, TimestampMicrosecondBuilder,
};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, FieldRef, Int32Type, Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType, IntervalUnit, TimeUnit,
    TimestampMicrosecondType,
};
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::ScalarUDF;
use longshore_numeric::Number;

use super::measure::dimensions;
use super::{array_type, as_list};
use crate::datafusion::errors::external;
use crate::datafusion::functions::calls::udf::no_function;
use crate::datafusion::functions::nested::list_of;
use crate::datafusion::functions::numeric::values::{Numbers, NumericBuilder};
use crate::datafusion::functions::numeric::{data_type as numeric_type, failed, is_numeric};
use crate::datafusion::functions::row_function::RowFunction;
use crate::{Error, ErrorKind};

/// Values of one series that is kept as an array, at most.
const VALUES_MAX: usize = 100_000_000;

pub(super) fn functions() -> Vec<ScalarUDF> {
    [
        RowFunction::new("generate_series", |types| Ok(list_of(series_type(types)?)), series),
        RowFunction::new(
            "generate_subscripts",
            |types| array_type(types, 0).map(|_| list_of(DataType::Int32)),
            subscripts,
        ),
    ]
    .map(RowFunction::function)
    .into()
}

/// The type of the values of a series.
fn series_type(types: &[DataType]) -> Result<DataType> {
    let (Some(start), Some(stop)) = (types.first(), types.get(1)) else {
        return plan_err!("generate_series takes a start, a stop and maybe a step");
    };
    let bounds = [start, stop];
    let all: Vec<&DataType> = types.iter().collect();
    if let Some(timestamp) = bounds.iter().find(|bound| matches!(bound, DataType::Timestamp(_, Some(_)))) {
        let DataType::Timestamp(_, zone) = timestamp else { return plan_err!("a timestamp is wanted") };
        return Ok(DataType::Timestamp(TimeUnit::Microsecond, zone.clone()));
    }
    if bounds.iter().any(|bound| bound.is_temporal()) {
        // Dates become timestamps with a time zone in PostgreSQL.
        let is_date = bounds.iter().all(|bound| matches!(bound, DataType::Date32 | DataType::Null));
        return Ok(DataType::Timestamp(TimeUnit::Microsecond, is_date.then(|| "UTC".into())));
    }
    if all.iter().any(|data_type| data_type.is_floating()) {
        return Err(no_function("generate_series", types));
    }
    if all.iter().any(|data_type| data_type.is_decimal() || is_numeric(data_type)) {
        return Ok(numeric_type());
    }
    let is_small = |data_type: &&&DataType| {
        matches!(data_type, DataType::Int32 | DataType::Int16 | DataType::Int8 | DataType::Null)
    };
    Ok(if all.iter().all(|data_type| is_small(&data_type)) { DataType::Int32 } else { DataType::Int64 })
}

fn series(args: &[ArrayRef], to: &DataType) -> Result<ArrayRef> {
    let DataType::List(item) = to else { return plan_err!("a series is an array") };
    match item.data_type() {
        DataType::Int32 => {
            let mut lists = ListBuilder::new(Int32Builder::new()).with_field(Arc::clone(item));
            integers(args, |values| match values {
                Some(values) => {
                    for value in values {
                        lists.values().append_value(value as i32);
                    }
                    lists.append(true);
                }
                None => lists.append(false),
            })?;
            Ok(Arc::new(lists.finish()))
        }
        DataType::Int64 => {
            let mut lists = ListBuilder::new(Int64Builder::new()).with_field(Arc::clone(item));
            integers(args, |values| match values {
                Some(values) => {
                    for value in values {
                        lists.values().append_value(value);
                    }
                    lists.append(true);
                }
                None => lists.append(false),
            })?;
            Ok(Arc::new(lists.finish()))
        }
        DataType::Struct(_) => numbers(args, item),
        _ => timestamps(args, item),
    }
}

fn no_step() -> datafusion::common::DataFusionError {
    external(Error::new(ErrorKind::Invalid, "step size cannot equal zero"))
}

fn too_long() -> datafusion::common::DataFusionError {
    external(Error::new(ErrorKind::TooLarge, format!("generate_series has more than {VALUES_MAX} values here")))
}

fn integers(args: &[ArrayRef], mut take: impl FnMut(Option<Vec<i64>>)) -> Result<()> {
    let args = args.iter().map(|arg| cast(arg, &DataType::Int64)).collect::<Result<Vec<_>, _>>()?;
    let get = |at: usize, row: usize| match args.get(at) {
        Some(arg) => (!arg.is_null(row)).then(|| arg.as_primitive::<Int64Type>().value(row)),
        None => Some(1),
    };
    for row in 0..args[0].len() {
        let (Some(start), Some(stop), Some(step)) = (get(0, row), get(1, row), get(2, row)) else {
            take(None);
            continue;
        };
        if step == 0 {
            return Err(no_step());
        }
        let mut values = Vec::new();
        let mut next = Some(start);
        while let Some(value) = next.filter(|value| if step > 0 { *value <= stop } else { *value >= stop }) {
            values.push(value);
            if values.len() > VALUES_MAX {
                return Err(too_long());
            }
            next = value.checked_add(step);
        }
        take(Some(values));
    }
    Ok(())
}

/// Numbers of any digits: each is the one before plus the step, and has the greater scale of both.
fn numbers(args: &[ArrayRef], item: &FieldRef) -> Result<ArrayRef> {
    let names = ["start value", "stop value", "step size"];
    let args = args.iter().zip(names).map(|(arg, name)| Ok((Numbers::of(arg)?, name))).collect::<Result<Vec<_>>>()?;
    let get = |at: usize, row: usize| {
        let Some((arg, name)) = args.get(at) else { return Ok(Some(Number::new(1, 0))) };
        let number = arg.get(row)?;
        let problem = match number {
            Some(Number::NaN) => "NaN",
            Some(Number::Infinity { .. }) => "infinity",
            _ => return Ok(number),
        };
        Err(external(Error::new(ErrorKind::Invalid, format!("{name} cannot be {problem}"))))
    };
    let rows = args.first().map_or(0, |(arg, _)| arg.len());
    let (mut values, mut lengths, mut nulls) = (NumericBuilder::with_capacity(rows), Vec::new(), Vec::new());
    for row in 0..rows {
        let (start, stop, step) = (get(0, row)?, get(1, row)?, get(2, row)?);
        let (Some(start), Some(stop), Some(step)) = (start, stop, step) else {
            lengths.push(0);
            nulls.push(false);
            continue;
        };
        let beyond = match step.sign() {
            0 => return Err(no_step()),
            1 => Ordering::Greater,
            _ => Ordering::Less,
        };
        let (mut next, mut count) = (start, 0);
        while next.compared(&stop) != beyond {
            values.append(Some(&next));
            count += 1;
            if count > VALUES_MAX {
                return Err(too_long());
            }
            next = next.plus(&step).map_err(failed)?;
        }
        lengths.push(count);
        nulls.push(true);
    }
    let (offsets, nulls) = (OffsetBuffer::from_lengths(lengths), NullBuffer::from(nulls));
    Ok(Arc::new(ListArray::try_new(Arc::clone(item), offsets, values.finish(), Some(nulls))?))
}

/// Timestamps, by an interval, whose months keep the day of the month where there is one.
fn timestamps(args: &[ArrayRef], item: &FieldRef) -> Result<ArrayRef> {
    let [start, stop, step] = args else { return plan_err!("a series of timestamps takes a start, a stop and a step") };
    let (start, stop) = (cast(start, item.data_type())?, cast(stop, item.data_type())?);
    let step = cast(step, &DataType::Interval(IntervalUnit::MonthDayNano))?;
    let (starts, stops) =
        (start.as_primitive::<TimestampMicrosecondType>(), stop.as_primitive::<TimestampMicrosecondType>());
    let steps = step.as_primitive::<IntervalMonthDayNanoType>();
    let values = TimestampMicrosecondBuilder::new().with_data_type(item.data_type().clone());
    let mut lists = ListBuilder::new(values).with_field(Arc::clone(item));
    for row in 0..starts.len() {
        if starts.is_null(row) || stops.is_null(row) || steps.is_null(row) {
            lists.append(false);
            continue;
        }
        let (stop, step) = (stops.value(row), steps.value(row));
        let direction =
            i128::from(step.months) * 30 * DAY + i128::from(step.days) * DAY + i128::from(step.nanoseconds) / 1000;
        if direction == 0 {
            return Err(no_step());
        }
        let (mut next, mut count) = (Some(starts.value(row)), 0);
        while let Some(value) = next.filter(|value| if direction > 0 { *value <= stop } else { *value >= stop }) {
            lists.values().append_value(value);
            count += 1;
            if count > VALUES_MAX {
                return Err(too_long());
            }
            next = later(value, step);
        }
        lists.append(true);
    }
    Ok(Arc::new(lists.finish()))
}

/// Microseconds of a day.
const DAY: i128 = 86_400_000_000;

fn later(timestamp: i64, step: IntervalMonthDayNano) -> Option<i64> {
    let timestamp = if step.months == 0 {
        timestamp
    } else {
        TimestampMicrosecondType::add_month_day_nano(
            timestamp,
            IntervalMonthDayNano::new(step.months, 0, 0),
            "UTC".parse().ok()?,
        )?
    };
    let more = i128::from(step.days) * DAY + i128::from(step.nanoseconds) / 1000;
    i64::try_from(i128::from(timestamp) + more).ok()
}

/// `generate_subscripts(array, dimension [, reverse])`
fn subscripts(args: &[ArrayRef], _: &DataType) -> Result<ArrayRef> {
    let lists = as_list(&args[0], &array_type(&[args[0].data_type().clone()], 0)?)?;
    let wanted = cast(&args[1], &DataType::Int32)?;
    let wanted = wanted.as_primitive::<Int32Type>();
    let reversed = args.get(2).map(|reversed| reversed.as_boolean().clone());
    let mut found = ListBuilder::new(Int32Builder::new());
    for row in 0..lists.len() {
        let at = usize::try_from(wanted.value(row)).ok().and_then(|wanted| wanted.checked_sub(1));
        let length = at.and_then(|at| dimensions(&lists, row).get(at).copied()).unwrap_or(0);
        let is_reversed = reversed.as_ref().is_some_and(|reversed| reversed.is_valid(row) && reversed.value(row));
        for number in 1..=length {
            found.values().append_value(if is_reversed { length + 1 - number } else { number });
        }
        found.append(!lists.is_null(row) && !wanted.is_null(row));
    }
    Ok(Arc::new(found.finish()))
}
