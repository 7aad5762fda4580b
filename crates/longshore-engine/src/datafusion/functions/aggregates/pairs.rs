//! Aggregates of pairs of doubles: `corr`, `covar_pop`, `covar_samp` and those that begin with `regr_`.
//!
//! They are computed as PostgreSQL does it, by the sums of Youngs and Cramer: `DataFusion`'s take no NUMERIC, count pairs
//! that are to be DISTINCT twice, and its `corr` of groups subtracts large squares from each other.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Float64Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Float64Type};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{Accumulator, AggregateUDFImpl, Signature, Volatility};
use longshore_numeric::NumberError;

use crate::datafusion::functions::calls::udf::no_function;
use crate::datafusion::functions::numeric::convert::convert;
use crate::datafusion::functions::numeric::{failed, is_numeric};

/// What is computed of the pairs, whose first value is `y` and whose second one is `x`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Measure {
    Correlation,
    PopulationCovariance,
    SampleCovariance,
    AverageX,
    AverageY,
    Count,
    Intercept,
    Determination,
    Slope,
    SquaresX,
    Products,
    SquaresY,
}

impl Measure {
    pub(super) const ALL: [Self; 12] = [
        Self::Correlation,
        Self::PopulationCovariance,
        Self::SampleCovariance,
        Self::AverageX,
        Self::AverageY,
        Self::Count,
        Self::Intercept,
        Self::Determination,
        Self::Slope,
        Self::SquaresX,
        Self::Products,
        Self::SquaresY,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Correlation => "corr",
            Self::PopulationCovariance => "covar_pop",
            Self::SampleCovariance => "covar_samp",
            Self::AverageX => "regr_avgx",
            Self::AverageY => "regr_avgy",
            Self::Count => "regr_count",
            Self::Intercept => "regr_intercept",
            Self::Determination => "regr_r2",
            Self::Slope => "regr_slope",
            Self::SquaresX => "regr_sxx",
            Self::Products => "regr_sxy",
            Self::SquaresY => "regr_syy",
        }
    }

    fn aliases(self) -> Vec<String> {
        if self == Self::SampleCovariance { vec!["covar".to_owned()] } else { Vec::new() }
    }
}

/// An aggregate of pairs.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct OfPairs {
    measure: Measure,
    aliases: Vec<String>,
    signature: Signature,
}

impl OfPairs {
    pub(super) fn new(measure: Measure) -> Self {
        Self { measure, aliases: measure.aliases(), signature: Signature::user_defined(Volatility::Immutable) }
    }
}

impl AggregateUDFImpl for OfPairs {
    fn name(&self) -> &'static str {
        self.measure.name()
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        let value = |data_type: &DataType| match data_type {
            // No cast of Arrow's makes a double of it.
            own if is_numeric(own) => Ok(own.clone()),
            number if number.is_numeric() || number.is_null() => Ok(DataType::Float64),
            _ => Err(no_function(self.name(), arg_types)),
        };
        match arg_types {
            [y, x] => Ok(vec![value(y)?, value(x)?]),
            _ => Err(no_function(self.name(), arg_types)),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(if self.measure == Measure::Count { DataType::Int64 } else { DataType::Float64 })
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let seen = args.is_distinct.then(HashSet::new);
        Ok(Box::new(Pairs { measure: self.measure, sums: Sums::default(), seen }))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        Ok(vec![Arc::new(Field::new(format_state_name(args.name, "pairs"), DataType::Binary, true))])
    }

    fn default_value(&self, data_type: &DataType) -> Result<ScalarValue> {
        if self.measure == Measure::Count { Ok(ScalarValue::Int64(Some(0))) } else { ScalarValue::try_from(data_type) }
    }
}

/// Of some pairs: their number, the sums of both values, and those of the squares and products of their distances from the
/// average.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    count: f64,
    x: f64,
    xx: f64,
    y: f64,
    yy: f64,
    xy: f64,
}

impl Sums {
    fn add(&mut self, y: f64, x: f64) -> Result<()> {
        let before = *self;
        self.count += 1.0;
        self.x += x;
        self.y += y;
        if before.count > 0.0 {
            let (from_x, from_y) = (x * self.count - self.x, y * self.count - self.y);
            let scale = 1.0 / (self.count * before.count);
            self.xx += from_x * from_x * scale;
            self.yy += from_y * from_y * scale;
            self.xy += from_x * from_y * scale;
            return self.check(&before, x.is_finite(), y.is_finite());
        }
        if !x.is_finite() {
            (self.xx, self.xy) = (f64::NAN, f64::NAN);
        }
        if !y.is_finite() {
            (self.yy, self.xy) = (f64::NAN, f64::NAN);
        }
        Ok(())
    }

    /// Refuses what has become infinite of finite values; what has of infinite ones is not known.
    fn check(&mut self, before: &Self, x_is_finite: bool, y_is_finite: bool) -> Result<()> {
        let x_was_finite = x_is_finite && !before.x.is_infinite();
        let y_was_finite = y_is_finite && !before.y.is_infinite();
        let x_overflows = x_was_finite && (self.x.is_infinite() || self.xx.is_infinite());
        let y_overflows = y_was_finite && (self.y.is_infinite() || self.yy.is_infinite());
        if x_overflows || y_overflows || x_was_finite && y_was_finite && self.xy.is_infinite() {
            return Err(failed(NumberError::Range("value out of range: overflow")));
        }
        for sum in [&mut self.xx, &mut self.yy, &mut self.xy] {
            if sum.is_infinite() {
                *sum = f64::NAN;
            }
        }
        Ok(())
    }

    /// Takes a pair away that was added.
    fn remove(&mut self, y: f64, x: f64) {
        let before = *self;
        self.count -= 1.0;
        if self.count < 1.0 {
            *self = Self::default();
            return;
        }
        let (from_x, from_y) = (x * before.count - before.x, y * before.count - before.y);
        let scale = 1.0 / (self.count * before.count);
        self.x -= x;
        self.y -= y;
        self.xx -= from_x * from_x * scale;
        self.yy -= from_y * from_y * scale;
        self.xy -= from_x * from_y * scale;
        // Squares are not negative, and one pair has no distance from itself.
        let is_one = self.count < 2.0;
        for squares in [&mut self.xx, &mut self.yy] {
            if *squares < 0.0 || is_one && squares.is_finite() {
                *squares = 0.0;
            }
        }
        if is_one && self.xy.is_finite() {
            self.xy = 0.0;
        }
    }

    fn merge(&mut self, other: &Self) -> Result<()> {
        if self.count == 0.0 {
            *self = *other;
            return Ok(());
        }
        if other.count == 0.0 {
            return Ok(());
        }
        let before = *self;
        self.count += other.count;
        self.x += other.x;
        self.y += other.y;
        let (from_x, from_y) =
            (before.x / before.count - other.x / other.count, before.y / before.count - other.y / other.count);
        let scale = before.count * other.count / self.count;
        self.xx += other.xx + scale * from_x * from_x;
        self.yy += other.yy + scale * from_y * from_y;
        self.xy += other.xy + scale * from_x * from_y;
        self.check(&before, !other.x.is_infinite(), !other.y.is_infinite())
    }

    fn result(&self, measure: Measure) -> Option<f64> {
        if self.count < 1.0 {
            return None;
        }
        Some(match measure {
            Measure::Count => self.count,
            Measure::SquaresX => self.xx,
            Measure::SquaresY => self.yy,
            Measure::Products => self.xy,
            Measure::AverageX => self.x / self.count,
            Measure::AverageY => self.y / self.count,
            Measure::PopulationCovariance => self.xy / self.count,
            Measure::SampleCovariance if self.count < 2.0 => return None,
            Measure::SampleCovariance => self.xy / (self.count - 1.0),
            // A line that is horizontal or vertical has none.
            Measure::Correlation if self.xx == 0.0 || self.yy == 0.0 => return None,
            Measure::Correlation => (self.xy / self.deviations()).clamp(-1.0, 1.0),
            Measure::Determination | Measure::Slope | Measure::Intercept if self.xx == 0.0 => return None,
            Measure::Determination if self.yy == 0.0 => 1.0,
            Measure::Determination => (self.xy * self.xy) / (self.xx * self.yy),
            Measure::Slope => self.xy / self.xx,
            Measure::Intercept => (self.y - self.x * self.xy / self.xx) / self.count,
        })
    }

    /// The root of both sums of squares, also where their product is too large or too small.
    fn deviations(&self) -> f64 {
        let product = self.xx * self.yy;
        if product == 0.0 || product.is_infinite() { self.xx.sqrt() * self.yy.sqrt() } else { product.sqrt() }
    }

    fn numbers(&self) -> [f64; 6] {
        [self.count, self.x, self.xx, self.y, self.yy, self.xy]
    }
}

/// Gathers pairs.
#[derive(Debug)]
struct Pairs {
    measure: Measure,
    sums: Sums,
    /// The bits of the pairs that were seen, where each counts once.
    seen: Option<HashSet<[u64; 2]>>,
}

impl Pairs {
    fn add(&mut self, y: f64, x: f64) -> Result<()> {
        if let Some(seen) = &mut self.seen
            && !seen.insert([y, x].map(bits))
        {
            return Ok(());
        }
        self.sums.add(y, x)
    }
}

/// The same bits of numbers that are equal.
fn bits(value: f64) -> u64 {
    if value.is_nan() { f64::NAN.to_bits() } else { (value + 0.0).to_bits() }
}

/// The values of doubles, or of NUMERIC.
pub(super) fn doubles(array: &ArrayRef) -> Result<Float64Array> {
    let array =
        if is_numeric(array.data_type()) { convert(array, &DataType::Float64, None)? } else { Arc::clone(array) };
    Ok(array.as_primitive::<Float64Type>().clone())
}

/// The pairs of which both values are there.
fn pairs(values: &[ArrayRef]) -> Result<Vec<(f64, f64)>> {
    let [y, x] = values else { return internal_err!("{} values are no pair", values.len()) };
    let (y, x) = (doubles(y)?, doubles(x)?);
    Ok(y.iter().zip(&x).filter_map(|(y, x)| y.zip(x)).collect())
}

impl Accumulator for Pairs {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        pairs(values)?.into_iter().try_for_each(|(y, x)| self.add(y, x))
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for (y, x) in pairs(values)? {
            self.sums.remove(y, x);
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        self.seen.is_none()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let result = self.sums.result(self.measure);
        Ok(match self.measure {
            Measure::Count => ScalarValue::Int64(Some(result.map_or(0, |count| count as i64))),
            _ => ScalarValue::Float64(result),
        })
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.seen.as_ref().map_or(0, |seen| seen.capacity() * size_of::<[u64; 2]>())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let bytes = match &self.seen {
            Some(seen) => seen.iter().flatten().flat_map(|bits| bits.to_le_bytes()).collect(),
            None => self.sums.numbers().into_iter().flat_map(f64::to_le_bytes).collect(),
        };
        Ok(vec![ScalarValue::Binary(Some(bytes))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let states = cast(&states[0], &DataType::Binary)?;
        for state in states.as_binary::<i32>().iter().flatten() {
            let (numbers, _) = state.as_chunks::<8>();
            let numbers: Vec<f64> = numbers.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect();
            if self.seen.is_some() {
                for pair in numbers.chunks_exact(2) {
                    self.add(pair[0], pair[1])?;
                }
            } else {
                let [count, x, xx, y, yy, xy] = numbers[..] else { return internal_err!("no state of pairs") };
                self.sums.merge(&Sums { count, x, xx, y, yy, xy })?;
            }
        }
        Ok(())
    }
}
