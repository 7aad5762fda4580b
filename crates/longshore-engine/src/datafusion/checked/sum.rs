//! `sum` of BIGINT that fails where `DataFusion`'s would wrap around silently.
//!
//! It is `DataFusion`'s own `sum`, but 64-bit integers are added up in 128 bits, and the result is checked to fit.
//! Left as it is: `sum(DISTINCT ...)` of BIGINT, and every other type, none of which can wrap in practice.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray};
use datafusion::arrow::compute::{CastOptions, cast, cast_with_options};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{DataFusionError, Result, ScalarValue, exec_datafusion_err, exec_err};
use datafusion::functions_aggregate::sum::sum_udaf;
use datafusion::logical_expr::expr::{AggregateFunction, AggregateFunctionParams};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Documentation, EmitTo, Expr, GroupsAccumulator, Operator,
    ReversedUDAF, SetMonotonicity, Signature, StatisticsArgs,
};

/// The type in which 64-bit integers are added up.
const WIDE: DataType = DataType::Decimal128(38, 0);

/// `sum` with checked 64-bit integers.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(in crate::datafusion) struct CheckedSum {
    unchecked: Arc<AggregateUDF>,
}

impl CheckedSum {
    pub(in crate::datafusion) fn new() -> Self {
        Self { unchecked: sum_udaf() }
    }

    fn inner(&self) -> &dyn AggregateUDFImpl {
        self.unchecked.inner().as_ref()
    }
}

fn is_wide(return_type: &DataType, is_distinct: bool) -> bool {
    *return_type == DataType::Int64 && !is_distinct
}

fn wide_field(field: &Field) -> FieldRef {
    Arc::new(field.clone().with_data_type(WIDE))
}

fn widened(values: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
    values.iter().map(|array| Ok(cast(array, &WIDE)?)).collect()
}

fn overflow() -> DataFusionError {
    exec_datafusion_err!(
        "overflow: the sum of a BIGINT needs more than 64 bits; sum it as a decimal, with CAST(... AS DECIMAL(38,0))"
    )
}

impl AggregateUDFImpl for CheckedSum {
    fn name(&self) -> &'static str {
        "sum"
    }

    fn signature(&self) -> &Signature {
        self.inner().signature()
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        self.inner().return_type(arg_types)
    }

    fn is_nullable(&self) -> bool {
        self.inner().is_nullable()
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        if !is_wide(args.return_type(), args.is_distinct) {
            return self.inner().accumulator(args);
        }
        let return_field = wide_field(&args.return_field);
        let wide = self.inner().accumulator(AccumulatorArgs { return_field, ..args })?;
        Ok(Box::new(Narrowing { wide }))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        if !is_wide(args.return_type(), args.is_distinct) {
            return self.inner().state_fields(args);
        }
        let return_field = wide_field(&args.return_field);
        self.inner().state_fields(StateFieldsArgs { return_field, ..args })
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        self.inner().groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        if !is_wide(args.return_type(), args.is_distinct) {
            return self.inner().create_groups_accumulator(args);
        }
        let return_field = wide_field(&args.return_field);
        let wide = self.inner().create_groups_accumulator(AccumulatorArgs { return_field, ..args })?;
        Ok(Box::new(NarrowingGroups { wide }))
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        if !is_wide(args.return_type(), args.is_distinct) {
            return self.inner().create_sliding_accumulator(args);
        }
        let return_field = wide_field(&args.return_field);
        let wide = self.inner().create_sliding_accumulator(AccumulatorArgs { return_field, ..args })?;
        Ok(Box::new(Narrowing { wide }))
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

    fn simplify_expr_op_literal(
        &self,
        function: &AggregateFunction,
        arg: &Expr,
        op: Operator,
        lit: &Expr,
        arg_is_left: bool,
    ) -> Result<Option<Expr>> {
        self.inner().simplify_expr_op_literal(function, arg, op, lit, arg_is_left)
    }

    fn value_from_stats(&self, args: &StatisticsArgs) -> Option<ScalarValue> {
        self.inner().value_from_stats(args)
    }

    fn schema_name(&self, params: &AggregateFunctionParams) -> Result<String> {
        self.inner().schema_name(params)
    }
}

/// A sum in 128 bits that gives 64.
#[derive(Debug)]
struct Narrowing {
    wide: Box<dyn Accumulator>,
}

impl Accumulator for Narrowing {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.wide.update_batch(&widened(values)?)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        match self.wide.evaluate()? {
            ScalarValue::Decimal128(None, ..) => Ok(ScalarValue::Int64(None)),
            ScalarValue::Decimal128(Some(sum), ..) => {
                i64::try_from(sum).map(|sum| ScalarValue::Int64(Some(sum))).map_err(|_| overflow())
            }
            other => exec_err!("a wide sum cannot be a {}", other.data_type()),
        }
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.wide.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.wide.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.wide.merge_batch(states)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.wide.retract_batch(&widened(values)?)
    }

    fn supports_retract_batch(&self) -> bool {
        self.wide.supports_retract_batch()
    }
}

/// The same for many groups.
struct NarrowingGroups {
    wide: Box<dyn GroupsAccumulator>,
}

impl GroupsAccumulator for NarrowingGroups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        filter: Option<&BooleanArray>,
        groups: usize,
    ) -> Result<()> {
        self.wide.update_batch(&widened(values)?, group_indices, filter, groups)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let sums = self.wide.evaluate(emit_to)?;
        let options = CastOptions { safe: false, ..CastOptions::default() };
        cast_with_options(&sums, &DataType::Int64, &options).map_err(|_| overflow())
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        self.wide.state(emit_to)
    }

    fn merge_batch(&mut self, values: &[ArrayRef], group_indices: &[usize], groups: usize) -> Result<()> {
        self.wide.merge_batch(values, group_indices, groups)
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        self.wide.convert_to_state(&widened(values)?, filter)
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.wide.size()
    }
}
