//! Variances and standard deviations of floats by the algorithm of Youngs and Cramer, as PostgreSQL computes them: a count, a sum,
//! and the sum of the squared differences from the average, which is as exact for values far from zero.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Float64Array, UInt64Array};
use datafusion::arrow::datatypes::{Float64Type, UInt64Type};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::{Accumulator, EmitTo, GroupsAccumulator};
use longshore_numeric::Spread;

use crate::datafusion::errors::external;
use crate::{Error, ErrorKind};

/// What is known of some values.
#[derive(Clone, Copy, Debug, Default)]
struct Moments {
    count: u64,
    sum: f64,
    /// The sum of the squared differences from the average.
    squares: f64,
}

impl Moments {
    fn add(&mut self, value: f64) -> Result<()> {
        let before = *self;
        self.count += 1;
        self.sum += value;
        if before.count == 0 {
            if !value.is_finite() {
                self.squares = f64::NAN;
            }
            return Ok(());
        }
        let count = self.count as f64;
        let difference = value * count - self.sum;
        self.squares += difference * difference / (count * before.count as f64);
        self.settle(before.sum.is_infinite() || value.is_infinite())
    }

    fn merge(&mut self, other: Self) -> Result<()> {
        if other.count == 0 {
            return Ok(());
        }
        if self.count == 0 {
            *self = other;
            return Ok(());
        }
        let (one, two) = (self.count as f64, other.count as f64);
        let difference = self.sum / one - other.sum / two;
        let is_infinite = self.sum.is_infinite() || other.sum.is_infinite();
        self.count += other.count;
        self.sum += other.sum;
        self.squares += other.squares + one * two * difference * difference / (one + two);
        self.settle(is_infinite)
    }

    /// There is no difference from an infinite average; `is_infinite` says that it comes from an infinite value.
    fn settle(&mut self, is_infinite: bool) -> Result<()> {
        if !self.sum.is_infinite() && !self.squares.is_infinite() {
            return Ok(());
        }
        if !is_infinite {
            return Err(external(Error::new(ErrorKind::OutOfRange, "value out of range: overflow")));
        }
        self.squares = f64::NAN;
        Ok(())
    }

    /// What is wanted of the values; `None` if they are too few.
    fn spread(self, Spread { sample, root }: Spread) -> Option<f64> {
        let count = self.count.checked_sub(u64::from(sample)).filter(|count| *count > 0)?;
        let variance = self.squares / count as f64;
        Some(if root { variance.sqrt() } else { variance })
    }
}

/// The parts of moments, each as a column.
fn columns(moments: &[Moments]) -> Vec<ArrayRef> {
    let floats = |part: fn(&Moments) -> f64| Arc::new(moments.iter().map(part).map(Some).collect::<Float64Array>());
    let counts: UInt64Array = moments.iter().map(|moments| Some(moments.count)).collect();
    vec![Arc::new(counts), floats(|moments| moments.sum), floats(|moments| moments.squares)]
}

/// The moments that such columns hold.
fn moments(columns: &[ArrayRef]) -> Result<impl Iterator<Item = Moments>> {
    let [counts, sums, squares] = columns else { return internal_err!("moments have three parts") };
    let (counts, sums) = (counts.as_primitive::<UInt64Type>(), sums.as_primitive::<Float64Type>());
    let squares = squares.as_primitive::<Float64Type>();
    let moments = counts.values().iter().zip(sums.values()).zip(squares.values());
    Ok(moments.map(|((&count, &sum), &squares)| Moments { count, sum, squares }))
}

/// Of all values together.
#[derive(Debug)]
pub(super) struct FloatSpread {
    spread: Spread,
    moments: Moments,
}

impl FloatSpread {
    pub(super) fn new(spread: Spread) -> Self {
        Self { spread, moments: Moments::default() }
    }
}

impl Accumulator for FloatSpread {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let [values] = values else { return internal_err!("one argument expected") };
        values.as_primitive::<Float64Type>().iter().flatten().try_for_each(|value| self.moments.add(value))
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        moments(states)?.try_for_each(|part| self.moments.merge(part))
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        columns(&[self.moments]).iter().map(|column| ScalarValue::try_from_array(column, 0)).collect()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Float64(self.moments.spread(self.spread)))
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }
}

/// Of the values of each group.
#[derive(Debug)]
pub(super) struct FloatSpreads {
    spread: Spread,
    groups: Vec<Moments>,
}

impl FloatSpreads {
    pub(super) fn new(spread: Spread) -> Self {
        Self { spread, groups: Vec::new() }
    }
}

impl GroupsAccumulator for FloatSpreads {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        filter: Option<&BooleanArray>,
        groups: usize,
    ) -> Result<()> {
        let [values] = values else { return internal_err!("one argument expected") };
        self.groups.resize(groups, Moments::default());
        let values = values.as_primitive::<Float64Type>();
        let counts = |row: usize| values.is_valid(row) && passes(filter, row);
        for (row, &group) in group_indices.iter().enumerate().filter(|(row, _)| counts(*row)) {
            self.groups[group].add(values.value(row))?;
        }
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let groups = emit_to.take_needed(&mut self.groups);
        Ok(Arc::new(groups.iter().map(|moments| moments.spread(self.spread)).collect::<Float64Array>()))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(columns(&emit_to.take_needed(&mut self.groups)))
    }

    fn merge_batch(&mut self, states: &[ArrayRef], group_indices: &[usize], groups: usize) -> Result<()> {
        self.groups.resize(groups, Moments::default());
        group_indices.iter().zip(moments(states)?).try_for_each(|(&group, part)| self.groups[group].merge(part))
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let [values] = values else { return internal_err!("one argument expected") };
        let values = values.as_primitive::<Float64Type>();
        let rows = (0..values.len()).map(|row| {
            let mut moments = Moments::default();
            if values.is_valid(row) && passes(filter, row) {
                moments.add(values.value(row))?;
            }
            Ok(moments)
        });
        Ok(columns(&rows.collect::<Result<Vec<_>>>()?))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.groups.capacity() * size_of::<Moments>()
    }
}

/// Whether a row is one that counts.
fn passes(filter: Option<&BooleanArray>, row: usize) -> bool {
    filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row))
}

#[cfg(test)]
mod tests {
    use super::*;

    const POPULATION: Spread = Spread { sample: false, root: false };

    fn of(values: &[f64]) -> Moments {
        let mut moments = Moments::default();
        for value in values {
            moments.add(*value).unwrap();
        }
        moments
    }

    #[test]
    fn they_are_exact_far_from_zero() {
        let values = [100_000_003.0, 100_000_004.0, 100_000_006.0, 100_000_007.0];
        assert_eq!(of(&values).spread(POPULATION), Some(2.5));
        let mut merged = of(&values[..1]);
        merged.merge(of(&values[1..])).unwrap();
        merged.merge(Moments::default()).unwrap();
        // The averages of the parts are rounded, as in PostgreSQL.
        assert!(merged.spread(POPULATION).is_some_and(|spread| (spread - 2.5).abs() < 1e-7));
    }

    #[test]
    fn what_is_not_finite_has_none() {
        let nan = |values: &[f64]| of(values).spread(POPULATION).is_some_and(f64::is_nan);
        assert!(
            nan(&[f64::INFINITY]) && nan(&[f64::NAN]) && nan(&[1.0, f64::NEG_INFINITY]) && nan(&[f64::INFINITY, 1.0])
        );
        assert_eq!(of(&[f64::INFINITY]).spread(Spread { sample: true, root: false }), None);
        assert_eq!(of(&[]).spread(POPULATION), None);
        assert!(of(&[f64::MAX]).add(f64::MIN).is_err());
    }
}
