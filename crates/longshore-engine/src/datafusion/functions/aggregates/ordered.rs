//! Aggregates over sorted values: `mode`, `percentile_cont`, `percentile_disc`, `median`, and the rank that a value would have
//! among others.
//!
//! `WITHIN GROUP (ORDER BY x)` makes `x` the first argument. Ranks have other names here than the window functions
//! (`sql::call_syntax`). All values are kept until the end; NULL counts for ranks only.

use std::cmp::Ordering;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions, new_empty_array};
use datafusion::arrow::compute::{cast, concat};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Float64Type, Schema, UInt64Type};
use datafusion::common::utils::SingleRowListArrayBuilder;
use datafusion::common::{DataFusionError, Result, ScalarValue, internal_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::{AggregateOrderSensitivity, format_state_name};
use datafusion::logical_expr::{Accumulator, AggregateUDFImpl, Signature, Volatility};

use super::pairs::doubles;
use super::sorted::{Sorted, equal_ranges};
use crate::datafusion::errors::external;
use crate::datafusion::functions::calls::udf::no_function;
use crate::datafusion::functions::nested::cast::cast_to;
use crate::datafusion::functions::nested::list_of;
use crate::datafusion::functions::numeric::is_numeric;
use crate::{Error, ErrorKind};

/// What is found among the sorted values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Measure {
    Mode,
    Median,
    Continuous,
    Discrete,
    Rank,
    DenseRank,
    PercentRank,
    CumulativeDistribution,
}

impl Measure {
    pub(super) const ALL: [Self; 8] = [
        Self::Mode,
        Self::Median,
        Self::Continuous,
        Self::Discrete,
        Self::Rank,
        Self::DenseRank,
        Self::PercentRank,
        Self::CumulativeDistribution,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Mode => "mode",
            Self::Median => "median",
            Self::Continuous => "percentile_cont",
            Self::Discrete => "percentile_disc",
            Self::Rank => "hypothetical_rank",
            Self::DenseRank => "hypothetical_dense_rank",
            Self::PercentRank => "hypothetical_percent_rank",
            Self::CumulativeDistribution => "hypothetical_cume_dist",
        }
    }

    fn aliases(self) -> Vec<String> {
        let aliases: &[&str] = match self {
            Self::Continuous => &["quantile_cont"],
            Self::Discrete => &["quantile_disc", "quantile"],
            _ => &[],
        };
        aliases.iter().map(|alias| (*alias).to_owned()).collect()
    }

    /// Whether a second argument says what is wanted.
    fn takes_two(self) -> bool {
        !matches!(self, Self::Mode | Self::Median)
    }

    fn is_of_doubles(self) -> bool {
        matches!(self, Self::Median | Self::Continuous)
    }

    /// The type of the values that are sorted, where those of this type are given.
    fn sorts(self, given: &DataType) -> DataType {
        if self.is_of_doubles() { DataType::Float64 } else { given.clone() }
    }

    fn is_rank(self) -> bool {
        matches!(self, Self::Rank | Self::DenseRank | Self::PercentRank | Self::CumulativeDistribution)
    }
}

/// An aggregate over sorted values.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Ordered {
    measure: Measure,
    aliases: Vec<String>,
    signature: Signature,
}

impl Ordered {
    pub(super) fn new(measure: Measure) -> Self {
        Self { measure, aliases: measure.aliases(), signature: Signature::user_defined(Volatility::Immutable) }
    }
}

impl AggregateUDFImpl for Ordered {
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
        let unknown = || no_function(self.name(), arg_types);
        let value = |data_type: &DataType| {
            let is_number = data_type.is_numeric() || data_type.is_null();
            match self.measure.is_of_doubles() {
                // No cast of Arrow's makes a double of it.
                true if is_numeric(data_type) => Ok(data_type.clone()),
                true if is_number => Ok(DataType::Float64),
                true => Err(unknown()),
                false => Ok(data_type.clone()),
            }
        };
        match arg_types {
            [of] if !self.measure.takes_two() => Ok(vec![value(of)?]),
            [of, _] if self.measure.is_rank() => Ok(vec![of.clone(), of.clone()]),
            // No cast of Arrow's makes doubles of them.
            [of, list @ DataType::List(fraction)] if self.measure.takes_two() && is_numeric(fraction.data_type()) => {
                Ok(vec![value(of)?, list.clone()])
            }
            [of, DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..)]
                if self.measure.takes_two() =>
            {
                Ok(vec![value(of)?, list_of(DataType::Float64)])
            }
            [of, fraction] if self.measure.takes_two() && (fraction.is_numeric() || fraction.is_null()) => {
                Ok(vec![value(of)?, DataType::Float64])
            }
            _ => Err(unknown()),
        }
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        Ok(match (self.measure, arg_types) {
            (Measure::Rank | Measure::DenseRank, _) => DataType::Int64,
            (Measure::PercentRank | Measure::CumulativeDistribution, _) => DataType::Float64,
            (measure, [of, DataType::List(_)]) => list_of(measure.sorts(of)),
            (measure, [of, ..]) => measure.sorts(of),
            (_, []) => return Err(no_function(self.name(), arg_types)),
        })
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let wanted = match args.exprs.get(1) {
            Some(expr) => {
                let schema = Arc::new(Schema::empty());
                let row = RecordBatchOptions::new().with_row_count(Some(1));
                let row = RecordBatch::try_new_with_options(schema, Vec::new(), &row)?;
                let value = expr.evaluate(&row).map_err(|_| {
                    external(Error::unsupported(format!("{}: the argument must be a constant", self.name())))
                })?;
                Some(value.to_array(1)?)
            }
            None => None,
        };
        let options = args.order_bys.first().map(|order| order.options).unwrap_or_default();
        let kept = Sorted::new(self.measure.sorts(args.expr_fields[0].data_type()), options, args.is_distinct);
        Ok(Box::new(Values { measure: self.measure, wanted, kept, returned: args.return_field.data_type().clone() }))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let of = self.measure.sorts(args.input_fields[0].data_type());
        Ok(vec![
            Arc::new(Field::new(format_state_name(args.name, "values"), list_of(of), true)),
            Arc::new(Field::new(format_state_name(args.name, "nulls"), DataType::UInt64, true)),
        ])
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }

    fn supports_within_group_clause(&self) -> bool {
        self.measure != Measure::Median
    }
}

/// The values of a group, and what is wanted of them.
#[derive(Debug)]
struct Values {
    measure: Measure,
    /// The second argument: one value.
    wanted: Option<ArrayRef>,
    kept: Sorted,
    returned: DataType,
}

impl Accumulator for Values {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        if self.measure.is_of_doubles() {
            let doubles: ArrayRef = Arc::new(doubles(&values[0])?);
            return self.kept.add(&doubles);
        }
        self.kept.add(&values[0])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        for list in states[0].as_list::<i32>().iter().flatten() {
            self.kept.add(&list)?;
        }
        self.kept.nulls += states[1].as_primitive::<UInt64Type>().iter().flatten().sum::<u64>() as usize;
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let values = SingleRowListArrayBuilder::new(self.kept.unsorted()?).build_list_scalar();
        Ok(vec![values, ScalarValue::from(self.kept.nulls as u64)])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        if self.measure.is_rank() {
            return self.rank();
        }
        let values = self.kept.sorted()?;
        match self.measure {
            Measure::Mode => most_frequent(&values, &self.returned),
            Measure::Median => at_fraction(&values, 0.5, true),
            measure => {
                let is_continuous = measure == Measure::Continuous;
                let Some(wanted) = &self.wanted else { return internal_err!("no fraction") };
                if wanted.is_null(0) || values.is_empty() {
                    return ScalarValue::try_from(&self.returned);
                }
                let Some(fractions) = wanted.as_list_opt::<i32>() else {
                    let fraction = cast(wanted, &DataType::Float64)?.as_primitive::<Float64Type>().value(0);
                    return at_fraction(&values, checked(fraction)?, is_continuous);
                };
                let fractions = cast_to(&fractions.value(0), &DataType::Float64)?;
                let mut found = Vec::with_capacity(fractions.len());
                for fraction in fractions.as_primitive::<Float64Type>() {
                    found.push(match fraction {
                        Some(fraction) => at_fraction(&values, checked(fraction)?, is_continuous)?.to_array()?,
                        None => ScalarValue::try_from(values.data_type())?.to_array()?,
                    });
                }
                let found: Vec<&dyn Array> = found.iter().map(AsRef::as_ref).collect();
                let found = if found.is_empty() { new_empty_array(values.data_type()) } else { concat(&found)? };
                Ok(SingleRowListArrayBuilder::new(found).build_list_scalar())
            }
        }
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.kept.bytes()
    }
}

impl Values {
    fn rank(&mut self) -> Result<ScalarValue> {
        let Some(wanted) = self.wanted.clone() else { return internal_err!("no value to rank") };
        let values = self.kept.unsorted()?;
        let rows = values.len() + self.kept.nulls;
        let places = self.kept.places(&values, &wanted)?;
        let nulls = self.kept.nulls_before();
        let before = places.iter().filter(|order| **order == Ordering::Less).count() + nulls;
        let equal = places.iter().filter(|order| **order == Ordering::Equal).count();
        Ok(match self.measure {
            Measure::Rank => ScalarValue::from(before as i64 + 1),
            Measure::DenseRank => {
                let before = self.kept.distinct_before(&values, &places)? + nulls.min(1);
                ScalarValue::from(before as i64 + 1)
            }
            Measure::PercentRank => ScalarValue::from(if rows == 0 { 0.0 } else { before as f64 / rows as f64 }),
            _ => ScalarValue::from((before + equal + 1) as f64 / (rows + 1) as f64),
        })
    }
}

fn checked(fraction: f64) -> Result<f64, DataFusionError> {
    if (0.0..=1.0).contains(&fraction) {
        return Ok(fraction);
    }
    let message = format!("percentile value {fraction} is not between 0 and 1");
    Err(external(Error::new(ErrorKind::OutOfRange, message)))
}

/// The value at a fraction of sorted ones; between two of them where it is continuous.
fn at_fraction(values: &ArrayRef, fraction: f64, is_continuous: bool) -> Result<ScalarValue> {
    if values.is_empty() {
        return ScalarValue::try_from(values.data_type());
    }
    if !is_continuous {
        let place = (fraction * values.len() as f64).ceil() as usize;
        return ScalarValue::try_from_array(values, place.max(1) - 1);
    }
    let doubles = values.as_primitive::<Float64Type>();
    let place = fraction * (values.len() - 1) as f64;
    let (low, high) = (doubles.value(place.floor() as usize), doubles.value(place.ceil() as usize));
    Ok(ScalarValue::from(if place.fract() == 0.0 { low } else { low + place.fract() * (high - low) }))
}

/// The value that is there most often; the first of several in their order.
fn most_frequent(values: &ArrayRef, of_type: &DataType) -> Result<ScalarValue> {
    if values.is_empty() {
        return ScalarValue::try_from(of_type);
    }
    let mut most = 0..0;
    for range in equal_ranges(values)? {
        if range.len() > most.len() {
            most = range;
        }
    }
    ScalarValue::try_from_array(values, most.start)
}
