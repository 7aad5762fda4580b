//! `arg_min(value, by)` and `arg_max(value, by)`, as in `DuckDB`: the value in the row where another one is least or greatest.

use std::cmp::Ordering;
use std::sync::Arc;

use datafusion::arrow::array::{Array as _, ArrayRef, make_comparator};
use datafusion::arrow::compute::{SortOptions, sort_to_indices};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{Accumulator, AggregateUDFImpl, Signature, Volatility};

use super::sorted::sort_keys;
use crate::datafusion::functions::calls::udf::no_function;

/// The aggregate.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Extreme {
    is_greatest: bool,
    aliases: Vec<String>,
    signature: Signature,
}

impl Extreme {
    pub(super) fn new(is_greatest: bool) -> Self {
        let aliases = if is_greatest { ["max_by", "argmax"] } else { ["min_by", "argmin"] };
        let aliases = aliases.iter().map(|alias| (*alias).to_owned()).collect();
        Self { is_greatest, aliases, signature: Signature::any(2, Volatility::Immutable) }
    }
}

impl AggregateUDFImpl for Extreme {
    fn name(&self) -> &'static str {
        if self.is_greatest { "arg_max" } else { "arg_min" }
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        arg_types.first().cloned().ok_or_else(|| no_function(self.name(), arg_types))
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Best {
            is_greatest: self.is_greatest,
            value: ScalarValue::try_from(args.expr_fields[0].data_type())?,
            by: ScalarValue::try_from(args.expr_fields[1].data_type())?,
        }))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let state = ["value", "by"].into_iter().zip(args.input_fields);
        let fields = state.map(|(name, field)| {
            Arc::new(Field::new(format_state_name(args.name, name), field.data_type().clone(), true))
        });
        Ok(fields.collect())
    }
}

/// The best row so far.
#[derive(Debug)]
struct Best {
    is_greatest: bool,
    value: ScalarValue,
    by: ScalarValue,
}

impl Accumulator for Best {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let [value, by] = values else { return Ok(()) };
        let order = SortOptions { descending: self.is_greatest, nulls_first: false };
        let keys = sort_keys(by)?;
        let first = sort_to_indices(&keys, Some(order), Some(1))?;
        let Some(row) = first.values().first().map(|row| *row as usize) else { return Ok(()) };
        if keys.is_null(row) {
            return Ok(());
        }
        let is_better = || {
            let best = sort_keys(&self.by.to_array()?)?;
            Ok::<_, DataFusionError>(make_comparator(&keys, &best, order)?(row, 0) == Ordering::Less)
        };
        if self.by.is_null() || is_better()? {
            self.value = ScalarValue::try_from_array(value, row)?;
            self.by = ScalarValue::try_from_array(by, row)?;
        }
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.value.clone(), self.by.clone()])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(self.value.clone())
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.value.size() + self.by.size()
    }
}
