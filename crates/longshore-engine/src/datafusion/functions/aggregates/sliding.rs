//! Aggregates over frames that slide of functions that `DataFusion` has no inverse of: `bool_and`, `bool_or`, `bit_and`,
//! `bit_or`. They are computed anew for each row, of the rows in its frame.

use std::collections::VecDeque;

use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, ReversedUDAF, SetMonotonicity, Signature,
};

/// Their names.
pub(super) const NAMES: [&str; 4] = ["bool_and", "bool_or", "bit_and", "bit_or"];

/// Such a function.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Sliding(pub(super) AggregateUDF);

impl AggregateUDFImpl for Sliding {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn aliases(&self) -> &[String] {
        self.0.aliases()
    }

    fn signature(&self) -> &Signature {
        self.0.signature()
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.0.coerce_types(types)
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.0.return_type(types)
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        self.0.accumulator(args)
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        self.0.state_fields(args)
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        self.0.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        self.0.create_groups_accumulator(args)
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let function = self.0.clone();
        let (schema, fields) = (args.schema.clone(), args.expr_fields.to_vec());
        let (return_field, exprs) = (args.return_field.clone(), args.exprs.to_vec());
        let fresh = move || {
            function.accumulator(AccumulatorArgs {
                return_field: return_field.clone(),
                schema: &schema,
                ignore_nulls: false,
                order_bys: &[],
                is_reversed: false,
                name: "",
                is_distinct: false,
                exprs: &exprs,
                expr_fields: &fields,
            })
        };
        Ok(Box::new(Frame { rows: VecDeque::new(), fresh: Box::new(fresh) }))
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.0.order_sensitivity()
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }

    fn default_value(&self, data_type: &DataType) -> Result<ScalarValue> {
        self.0.default_value(data_type)
    }

    fn set_monotonicity(&self, data_type: &DataType) -> SetMonotonicity {
        self.0.inner().set_monotonicity(data_type)
    }
}

/// The rows of a frame, in parts in which they came.
struct Frame {
    rows: VecDeque<ArrayRef>,
    /// An accumulator of no rows.
    fresh: Box<dyn Fn() -> Result<Box<dyn Accumulator>> + Send + Sync>,
}

impl std::fmt::Debug for Frame {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Frame").field("rows", &self.rows).finish_non_exhaustive()
    }
}

impl Accumulator for Frame {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.rows.extend(values.first().filter(|values| !values.is_empty()).cloned());
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let mut left = values.first().map_or(0, Array::len);
        while left > 0 {
            let Some(first) = self.rows.pop_front() else {
                return internal_err!("rows leave a frame that were not in it");
            };
            if first.len() > left {
                self.rows.push_front(first.slice(left, first.len() - left));
                break;
            }
            left -= first.len();
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let mut fresh = (self.fresh)()?;
        for rows in &self.rows {
            fresh.update_batch(std::slice::from_ref(rows))?;
        }
        fresh.evaluate()
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.rows.iter().map(Array::get_array_memory_size).sum::<usize>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        internal_err!("the rows of a frame are not merged with others")
    }

    fn merge_batch(&mut self, _states: &[ArrayRef]) -> Result<()> {
        internal_err!("the rows of a frame are not merged with others")
    }
}
