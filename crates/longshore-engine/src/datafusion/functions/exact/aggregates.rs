//! Sums, averages, variances and standard deviations of exact numbers, exact as PostgreSQL's; averages of floats are
//! `DataFusion`'s. Not here: variances of floats (`spreads`).
//!
//! An average of exact numbers is never computed as such: it is planned as a sum divided by a count
//! (`planning::exact_numbers`), which other aggregates of the same values share.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{DataFusionError, Result, ScalarValue, internal_err};
use datafusion::functions_aggregate::average::avg_udaf;
use datafusion::functions_aggregate::stddev::{stddev_pop_udaf, stddev_udaf};
use datafusion::functions_aggregate::variance::{var_pop_udaf, var_samp_udaf};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, Signature, Volatility};
use longshore_numeric::{Moments, Number, Spread};

use super::spreads::{FloatSpread, FloatSpreads};
use crate::datafusion::errors::external;
use crate::datafusion::functions::numeric::values::{Numbers, NumericBuilder};
use crate::datafusion::functions::numeric::{data_type, failed, is_exact};
use crate::datafusion::functions::time::aggregates::{self as intervals, IntervalAccumulator, is_interval};
use crate::datafusion::type_name::type_name;
use crate::{Error, ErrorKind};

/// The aggregates that take the place of `DataFusion`'s.
pub(in crate::datafusion) fn functions() -> Vec<AggregateUDF> {
    let spread = |theirs, sample, root| Kind::Spread { theirs, spread: Spread { sample, root } };
    let kinds = [
        (Kind::Average(avg_udaf()), vec!["mean"]),
        (spread(var_samp_udaf(), true, false), vec!["var_samp", "var_sample", "variance"]),
        (spread(var_pop_udaf(), false, false), vec!["var_population"]),
        (spread(stddev_udaf(), true, true), vec!["stddev_samp"]),
        (spread(stddev_pop_udaf(), false, true), vec![]),
    ];
    let function = |(kind, aliases): (Kind, Vec<&'static str>)| {
        AggregateUDF::new_from_impl(ExactAggregate::new(kind)).with_aliases(aliases)
    };
    kinds.into_iter().map(function).collect()
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Average(Arc<AggregateUDF>),
    Spread { theirs: Arc<AggregateUDF>, spread: Spread },
}

/// An aggregate that is exact where its argument is.
#[derive(Debug, PartialEq, Eq, Hash)]
struct ExactAggregate {
    kind: Kind,
    signature: Signature,
}

impl ExactAggregate {
    fn new(kind: Kind) -> Self {
        Self { kind, signature: Signature::user_defined(Volatility::Immutable) }
    }

    fn theirs(&self) -> &dyn AggregateUDFImpl {
        match &self.kind {
            Kind::Average(theirs) | Kind::Spread { theirs, .. } => theirs.inner().as_ref(),
        }
    }
}

impl AggregateUDFImpl for ExactAggregate {
    fn name(&self) -> &str {
        self.theirs().name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [known] if is_exact(known) => Ok(types.to_vec()),
            [known] if known.is_floating() || known.is_null() => Ok(vec![DataType::Float64]),
            [DataType::Duration(_) | DataType::Interval(_)] if matches!(self.kind, Kind::Average(_)) => {
                Ok(types.to_vec())
            }
            [known] if is_interval(known) && matches!(self.kind, Kind::Average(_)) => Ok(types.to_vec()),
            _ => Err(missing(self.name(), types)),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [known] if is_exact(known) => Ok(data_type()),
            [known] if is_interval(known) => Ok(known.clone()),
            _ => self.theirs().return_type(types),
        }
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        match &self.kind {
            Kind::Average(_) if is_interval(args.return_type()) => {
                Ok(Box::new(IntervalAccumulator::average(args.is_distinct)))
            }
            Kind::Spread { spread, .. } if args.return_type() != &data_type() && !args.is_distinct => {
                Ok(Box::new(FloatSpread::new(*spread)))
            }
            _ if args.return_type() != &data_type() => self.theirs().accumulator(args),
            Kind::Average(_) => internal_err!("an average of exact numbers is a quotient"),
            Kind::Spread { spread, .. } => {
                Ok(Box::new(MomentsAccumulator::new(Wanted::Spread(*spread), args.is_distinct)))
            }
        }
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        match args.return_type() {
            own if *own == data_type() => Ok(state_fields(&args)),
            own if is_interval(own) => Ok(intervals::state_fields(&args)),
            _ => self.theirs().state_fields(args),
        }
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        args.return_type() != &data_type()
            && !is_interval(args.return_type())
            && match &self.kind {
                Kind::Spread { .. } => !args.is_distinct,
                Kind::Average(theirs) => theirs.inner().groups_accumulator_supported(args),
            }
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        match &self.kind {
            Kind::Spread { spread, .. } => Ok(Box::new(FloatSpreads::new(*spread))),
            Kind::Average(theirs) => theirs.inner().create_groups_accumulator(args),
        }
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        if args.return_type() == &data_type() || is_interval(args.return_type()) {
            self.accumulator(args)
        } else {
            self.theirs().create_sliding_accumulator(args)
        }
    }
}

/// That there is no such function of these types.
pub(in crate::datafusion) fn missing(name: &str, types: &[DataType]) -> DataFusionError {
    let shown: Vec<String> = types.iter().map(type_name).collect();
    external(Error::new(ErrorKind::NoFunction, format!("function {name}({}) does not exist", shown.join(", "))))
}

/// The fields of what a [`MomentsAccumulator`] hands on.
pub(in crate::datafusion) fn state_fields(args: &StateFieldsArgs) -> Vec<FieldRef> {
    vec![Arc::new(Field::new(format_state_name(args.name, "moments"), DataType::Binary, true))]
}

/// What is wanted of the values.
#[derive(Clone, Copy, Debug)]
pub(in crate::datafusion) enum Wanted {
    Sum,
    Spread(Spread),
}

/// Gathers exact numbers.
#[derive(Debug)]
pub(in crate::datafusion) struct MomentsAccumulator {
    wanted: Wanted,
    moments: Moments,
    /// The keys of values that were seen, where each counts once; their bytes are what is handed on.
    seen: Option<(HashSet<Vec<u8>>, Vec<u8>)>,
}

impl MomentsAccumulator {
    pub(in crate::datafusion) fn new(wanted: Wanted, is_distinct: bool) -> Self {
        Self { wanted, moments: Moments::default(), seen: is_distinct.then(Default::default) }
    }

    fn has_squares(&self) -> bool {
        matches!(self.wanted, Wanted::Spread(_))
    }

    fn add(&mut self, number: &Number) {
        if let Some((keys, bytes)) = &mut self.seen {
            let mut value = Vec::new();
            number.push_bytes(&mut value);
            if !keys.insert(longshore_value::numeric::key(&value).to_vec()) {
                return;
            }
            bytes.extend((value.len() as u32).to_le_bytes());
            bytes.extend(&value);
        }
        let squares = self.has_squares();
        self.moments.add(number, squares);
    }
}

impl Accumulator for MomentsAccumulator {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let numbers = Numbers::of(&values[0])?;
        for row in 0..numbers.len() {
            if let Some(number) = numbers.get(row)? {
                self.add(&number);
            }
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let (numbers, squares) = (Numbers::of(&values[0])?, self.has_squares());
        for row in 0..numbers.len() {
            if let Some(number) = numbers.get(row)? {
                self.moments.remove(&number, squares);
            }
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        self.seen.is_none()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let value = match self.wanted {
            Wanted::Sum => self.moments.sum(),
            Wanted::Spread(spread) => self.moments.spread(spread),
        };
        let mut builder = NumericBuilder::with_capacity(1);
        builder.append(value.map_err(failed)?.as_ref());
        ScalarValue::try_from_array(&builder.finish(), 0)
    }

    fn size(&self) -> usize {
        let seen =
            self.seen.as_ref().map_or(0, |(keys, bytes)| keys.capacity() * size_of::<Vec<u8>>() + 2 * bytes.capacity());
        size_of::<Self>() + seen
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let bytes = match &self.seen {
            Some((_, bytes)) => bytes.clone(),
            None => self.moments.state(),
        };
        Ok(vec![ScalarValue::Binary(Some(bytes))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let states = cast(&states[0], &DataType::Binary)?;
        for state in states.as_binary::<i32>().iter().flatten() {
            if self.seen.is_none() {
                let Some(moments) = Moments::of_state(state) else { return internal_err!("no state of a sum") };
                self.moments.merge(&moments);
                continue;
            }
            let mut rest = state;
            while let Some((length, behind)) = rest.split_first_chunk() {
                let Some((value, behind)) = behind.split_at_checked(u32::from_le_bytes(*length) as usize) else {
                    return internal_err!("no state of a sum");
                };
                rest = behind;
                if let Some(number) = Number::from_bytes(value) {
                    self.add(&number);
                }
            }
        }
        Ok(())
    }
}
