//! `sum` that fails where `DataFusion`'s would wrap around silently.
//!
//! It is `DataFusion`'s own `sum` of floats and of decimals of so few digits that no number of rows makes them overflow.
//! 64-bit integers are added up in 128 bits, and the result is checked to fit; other decimals and Arrow's intervals are added
//! up step by step ([`exact`]); INTERVAL has its own sum (`functions::time`). Of DISTINCT values, decimals are added up in 256 bits.

mod exact;

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray};
use datafusion::arrow::compute::{CastOptions, cast, cast_with_options};
use datafusion::arrow::datatypes::{
    DataType, Decimal128Type, DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType,
    DurationSecondType, Field, FieldRef, IntervalMonthDayNanoType, IntervalUnit, TimeUnit,
};
use datafusion::common::{DataFusionError, Result, ScalarValue, exec_err, internal_err};
use datafusion::functions_aggregate::sum::sum_udaf;
use datafusion::logical_expr::expr::AggregateFunctionParams;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Documentation, EmitTo, GroupsAccumulator, ReversedUDAF,
    SetMonotonicity, Signature, StatisticsArgs, Volatility,
};

use crate::datafusion::errors::external;
use crate::datafusion::functions::exact::aggregates::{MomentsAccumulator, Wanted, missing, state_fields};
use crate::datafusion::functions::numeric::{data_type, is_numeric};
use crate::datafusion::functions::time::aggregates::{self as intervals, IntervalAccumulator, is_interval};
use crate::{Error, ErrorKind};
use exact::{DecimalGroups, ExactGroups, ExactSum};

/// The type in which 64-bit integers are added up.
const WIDE: DataType = DataType::Decimal128(38, 0);

/// Digits of the decimals whose sum may overflow, as `DataFusion` gives it 10 digits more than they have.
const FULL: u8 = 38;

/// Digits of the widest decimals; those that are added up leave ten of them for the sum.
const WIDEST: u8 = 76;

/// How values of one type are added up.
enum SumKind {
    /// As `DataFusion` does it.
    Theirs,
    /// In another type, and made the type of the sum in the end.
    Wide(DataType),
    /// Step by step.
    Exact,
    /// As numbers of any digits.
    Numeric,
    /// As intervals, part by part.
    Interval,
}

impl SumKind {
    fn of(sum: &DataType, is_distinct: bool) -> Self {
        match sum {
            DataType::Int64 => Self::Wide(WIDE),
            DataType::Float32 => Self::Wide(DataType::Float64),
            sum if is_numeric(sum) => Self::Numeric,
            sum if is_interval(sum) => Self::Interval,
            DataType::Decimal128(FULL, scale) if is_distinct => Self::Wide(DataType::Decimal256(WIDEST, *scale)),
            DataType::Decimal128(FULL, _) | DataType::Duration(_) | DataType::Interval(IntervalUnit::MonthDayNano)
                if !is_distinct =>
            {
                Self::Exact
            }
            _ => Self::Theirs,
        }
    }
}

/// Calls `$make::<T>($data_type)` for the type of Arrow that is added up step by step.
macro_rules! exact {
    ($make:ident, $data_type:expr) => {{
        let data_type: &DataType = $data_type;
        match data_type {
            DataType::Decimal128(..) => Ok(Box::new($make::<Decimal128Type>::new(data_type.clone())) as _),
            DataType::Duration(TimeUnit::Second) => {
                Ok(Box::new($make::<DurationSecondType>::new(data_type.clone())) as _)
            }
            DataType::Duration(TimeUnit::Millisecond) => {
                Ok(Box::new($make::<DurationMillisecondType>::new(data_type.clone())) as _)
            }
            DataType::Duration(TimeUnit::Microsecond) => {
                Ok(Box::new($make::<DurationMicrosecondType>::new(data_type.clone())) as _)
            }
            DataType::Duration(TimeUnit::Nanosecond) => {
                Ok(Box::new($make::<DurationNanosecondType>::new(data_type.clone())) as _)
            }
            DataType::Interval(IntervalUnit::MonthDayNano) => {
                Ok(Box::new($make::<IntervalMonthDayNanoType>::new(data_type.clone())) as _)
            }
            other => exec_err!("a sum cannot be a {other}"),
        }
    }};
}

/// `sum` that is checked.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(in crate::datafusion) struct CheckedSum {
    unchecked: Arc<AggregateUDF>,
    signature: Signature,
}

impl CheckedSum {
    pub(in crate::datafusion) fn new() -> Self {
        Self { unchecked: sum_udaf(), signature: Signature::user_defined(Volatility::Immutable) }
    }

    fn inner(&self) -> &dyn AggregateUDFImpl {
        self.unchecked.inner().as_ref()
    }
}

fn with_type(field: &Field, data_type: DataType) -> FieldRef {
    Arc::new(field.clone().with_data_type(data_type))
}

fn in_type(values: &[ArrayRef], wide: &DataType) -> Result<Vec<ArrayRef>> {
    values.iter().map(|array| Ok(cast(array, wide)?)).collect()
}

fn overflow(sum: &DataType) -> DataFusionError {
    let what = match sum {
        DataType::Int64 => "bigint out of range",
        DataType::Float32 => "value out of range: overflow",
        _ => "overflow: the sum needs more than the 38 digits that a decimal has",
    };
    external(Error::new(ErrorKind::OutOfRange, what))
}

impl AggregateUDFImpl for CheckedSum {
    fn name(&self) -> &'static str {
        "sum"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    /// As PostgreSQL has it: INTEGER and SMALLINT give BIGINT, BIGINT gives a number of more digits.
    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        let [known] = arg_types else { return Err(missing("sum", arg_types)) };
        Ok(vec![match known {
            // Asked again about what it made of types, it makes the same of them.
            DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::UInt8 | DataType::UInt16 => DataType::Int32,
            DataType::Int64 | DataType::UInt32 => DataType::Decimal128(19, 0),
            DataType::UInt64 => DataType::Decimal128(20, 0),
            DataType::Decimal32(precision, scale) | DataType::Decimal64(precision, scale) => {
                DataType::Decimal128(*precision, *scale)
            }
            DataType::Float16 => DataType::Float32,
            DataType::Null => DataType::Float64,
            known if known.is_decimal() || known.is_floating() || is_numeric(known) => known.clone(),
            DataType::Duration(_) | DataType::Interval(_) => known.clone(),
            known if is_interval(known) => known.clone(),
            _ => return Err(missing("sum", arg_types)),
        }])
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        match arg_types {
            [DataType::Decimal256(digits, _)] if digits + 10 > WIDEST => {
                let message = format!("sum of decimals of {digits} digits; they may have {}", WIDEST - 10);
                Err(external(Error::new(ErrorKind::OutOfRange, message)))
            }
            [DataType::Float32] => Ok(DataType::Float32),
            [DataType::Int32] => Ok(DataType::Int64),
            [known] if is_numeric(known) => Ok(data_type()),
            [known] if is_interval(known) => Ok(known.clone()),
            types => self.inner().return_type(types),
        }
    }

    fn is_nullable(&self) -> bool {
        self.inner().is_nullable()
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let sum = args.return_type().clone();
        match SumKind::of(&sum, args.is_distinct) {
            SumKind::Theirs => self.inner().accumulator(args),
            SumKind::Exact => exact!(ExactSum, &sum),
            SumKind::Numeric => Ok(Box::new(MomentsAccumulator::new(Wanted::Sum, args.is_distinct))),
            SumKind::Interval => Ok(Box::new(IntervalAccumulator::sum(args.is_distinct))),
            SumKind::Wide(wide) => {
                let return_field = with_type(&args.return_field, wide.clone());
                let inner = self.inner().accumulator(AccumulatorArgs { return_field, ..args })?;
                Ok(Box::new(Narrowing { inner, wide, sum }))
            }
        }
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        match SumKind::of(args.return_type(), args.is_distinct) {
            SumKind::Theirs | SumKind::Exact => self.inner().state_fields(args),
            SumKind::Numeric => Ok(state_fields(&args)),
            SumKind::Interval => Ok(intervals::state_fields(&args)),
            SumKind::Wide(wide) => {
                let return_field = with_type(&args.return_field, wide);
                self.inner().state_fields(StateFieldsArgs { return_field, ..args })
            }
        }
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        !is_numeric(args.return_type())
            && !is_interval(args.return_type())
            && self.inner().groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        let sum = args.return_type().clone();
        match SumKind::of(&sum, args.is_distinct) {
            SumKind::Theirs => self.inner().create_groups_accumulator(args),
            SumKind::Exact if sum.is_decimal() => {
                Ok(Box::new(DecimalGroups::new(self.inner().create_groups_accumulator(args)?, sum)))
            }
            SumKind::Exact => exact!(ExactGroups, &sum),
            SumKind::Numeric | SumKind::Interval => internal_err!("sums of NUMERIC and INTERVAL know no groups"),
            SumKind::Wide(wide) => {
                let return_field = with_type(&args.return_field, wide.clone());
                let inner = self.inner().create_groups_accumulator(AccumulatorArgs { return_field, ..args })?;
                Ok(Box::new(NarrowingGroups { inner, wide, sum }))
            }
        }
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let sum = args.return_type().clone();
        match SumKind::of(&sum, args.is_distinct) {
            _ if args.is_distinct => Err(external(Error::unsupported(
                "sum(DISTINCT ...) over a frame that moves is not supported; use a frame of the whole partition",
            ))),
            SumKind::Theirs => self.inner().create_sliding_accumulator(args),
            SumKind::Exact => exact!(ExactSum, &sum),
            SumKind::Numeric => Ok(Box::new(MomentsAccumulator::new(Wanted::Sum, false))),
            SumKind::Interval => Ok(Box::new(IntervalAccumulator::sum(false))),
            SumKind::Wide(wide) => {
                let return_field = with_type(&args.return_field, wide.clone());
                let inner = self.inner().create_sliding_accumulator(AccumulatorArgs { return_field, ..args })?;
                Ok(Box::new(Narrowing { inner, wide, sum }))
            }
        }
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        self.inner().reverse_expr()
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.inner().order_sensitivity()
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner().documentation()
    }

    fn set_monotonicity(&self, data_type: &DataType) -> SetMonotonicity {
        self.inner().set_monotonicity(data_type)
    }

    fn value_from_stats(&self, args: &StatisticsArgs) -> Option<ScalarValue> {
        self.inner().value_from_stats(args)
    }

    fn schema_name(&self, params: &AggregateFunctionParams) -> Result<String> {
        self.inner().schema_name(params)
    }
}

/// A sum in a wider type.
#[derive(Debug)]
struct Narrowing {
    inner: Box<dyn Accumulator>,
    wide: DataType,
    sum: DataType,
}

impl Accumulator for Narrowing {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.update_batch(&in_type(values, &self.wide)?)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let sum = self.inner.evaluate()?.to_array()?;
        ScalarValue::try_from_array(&narrowed(&sum, &self.sum)?, 0)
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.inner.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.inner.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.inner.merge_batch(states)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.retract_batch(&in_type(values, &self.wide)?)
    }

    fn supports_retract_batch(&self) -> bool {
        self.inner.supports_retract_batch()
    }
}

fn narrowed(sums: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    let options = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(sums, to, &options).map_err(|_| overflow(to))
}

/// The same for many groups.
struct NarrowingGroups {
    inner: Box<dyn GroupsAccumulator>,
    wide: DataType,
    sum: DataType,
}

impl GroupsAccumulator for NarrowingGroups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        filter: Option<&BooleanArray>,
        groups: usize,
    ) -> Result<()> {
        self.inner.update_batch(&in_type(values, &self.wide)?, group_indices, filter, groups)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        narrowed(&self.inner.evaluate(emit_to)?, &self.sum)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        self.inner.state(emit_to)
    }

    fn merge_batch(&mut self, values: &[ArrayRef], group_indices: &[usize], groups: usize) -> Result<()> {
        self.inner.merge_batch(values, group_indices, groups)
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        self.inner.convert_to_state(&in_type(values, &self.wide)?, filter)
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.inner.size()
    }
}
