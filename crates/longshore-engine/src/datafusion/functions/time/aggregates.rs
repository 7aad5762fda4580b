//! Sums and averages of intervals, of which months, days and microseconds are added up each on their own.
//!
//! They stand behind `sum` (`functions::checked`) and `avg` (`functions::exact::aggregates`). A sum counts only when it is
//! complete: what is out of range on the way to it does no harm.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::Accumulator;
use datafusion::logical_expr::function::StateFieldsArgs;
use datafusion::logical_expr::utils::format_state_name;
use longshore_time::interval::Interval;
use longshore_value::times::INTERVAL_BYTES;

use super::kinds::{Kind, time_kind};
use super::session::time_error;
use super::values::{Builder, Column, Value};

/// Bytes of a number of a state.
const NUMBER_BYTES: usize = size_of::<i128>();

/// Whether it is the type of INTERVAL.
pub(in crate::datafusion) fn is_interval(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Struct(_)) && time_kind(data_type) == Some(Kind::Interval)
}

/// The fields of what an [`IntervalAccumulator`] hands on.
pub(in crate::datafusion) fn state_fields(args: &StateFieldsArgs) -> Vec<FieldRef> {
    vec![Arc::new(Field::new(format_state_name(args.name, "intervals"), DataType::Binary, true))]
}

/// Gathers intervals.
#[derive(Debug)]
pub(in crate::datafusion) struct IntervalAccumulator {
    is_average: bool,
    /// Months, days, microseconds, and the number of intervals.
    sums: [i128; 4],
    /// The lengths that were seen, where each counts once, and the keys of their intervals, which are handed on.
    seen: Option<(HashSet<i128>, Vec<u8>)>,
}

impl IntervalAccumulator {
    pub(in crate::datafusion) fn sum(is_distinct: bool) -> Self {
        Self { is_average: false, sums: [0; 4], seen: is_distinct.then(Default::default) }
    }

    pub(in crate::datafusion) fn average(is_distinct: bool) -> Self {
        Self { is_average: true, ..Self::sum(is_distinct) }
    }

    fn add(&mut self, interval: Interval) {
        if let Some((lengths, keys)) = &mut self.seen {
            if !lengths.insert(interval.total()) {
                return;
            }
            keys.extend(interval.to_key());
        }
        for (sum, part) in self.sums.iter_mut().zip(parts(interval)) {
            *sum += part;
        }
    }
}

/// What an interval adds to the sums.
fn parts(interval: Interval) -> [i128; 4] {
    [interval.months.into(), interval.days.into(), interval.micros.into(), 1]
}

/// The intervals of an array.
fn intervals(array: &ArrayRef, mut each: impl FnMut(Interval)) -> Result<()> {
    let column = Column::new(array)?;
    for row in 0..array.len() {
        if let Value::Interval(interval) = column.value(row) {
            each(interval);
        }
    }
    Ok(())
}

impl Accumulator for IntervalAccumulator {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        intervals(&values[0], |interval| self.add(interval))
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        intervals(&values[0], |interval| {
            for (sum, part) in self.sums.iter_mut().zip(parts(interval)) {
                *sum -= part;
            }
        })
    }

    fn supports_retract_batch(&self) -> bool {
        self.seen.is_none()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let [months, days, micros, count] = self.sums;
        let value = if count == 0 {
            Value::Null
        } else {
            let sum = Interval::of_wide(months, days, micros);
            let result = if self.is_average { sum.and_then(|sum| sum.divided(count as f64)) } else { sum };
            Value::Interval(result.map_err(|error| time_error(&error))?)
        };
        let mut builder = Builder::new(Kind::Interval, 1);
        builder.append(value)?;
        ScalarValue::try_from_array(&builder.finish(), 0)
    }

    fn size(&self) -> usize {
        let seen = self.seen.as_ref().map_or(0, |(lengths, keys)| lengths.capacity() * NUMBER_BYTES + keys.capacity());
        size_of::<Self>() + seen
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let bytes = match &self.seen {
            Some((_, keys)) => keys.clone(),
            None => self.sums.iter().flat_map(|sum| sum.to_le_bytes()).collect(),
        };
        Ok(vec![ScalarValue::Binary(Some(bytes))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let states = cast(&states[0], &DataType::Binary)?;
        for state in states.as_binary::<i32>().iter().flatten() {
            if self.seen.is_some() {
                let (keys, _) = state.as_chunks::<INTERVAL_BYTES>();
                keys.iter().filter_map(|key| Interval::of_key(key)).for_each(|interval| self.add(interval));
                continue;
            }
            let (numbers, rest) = state.as_chunks::<NUMBER_BYTES>();
            if numbers.len() != self.sums.len() || !rest.is_empty() {
                return internal_err!("no state of a sum of intervals");
            }
            for (sum, number) in self.sums.iter_mut().zip(numbers) {
                *sum += i128::from_le_bytes(*number);
            }
        }
        Ok(())
    }
}
