//! `min` and `max` of arrays: `DataFusion` compares arrays of one dimension alone.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::row::{OwnedRow, RowConverter, SortField};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Expr, ExprSchemable, Signature, Volatility,
};

use crate::datafusion::functions::nested::innermost;

/// Puts these aggregates in the place of `DataFusion`'s.
#[derive(Debug)]
pub(in crate::datafusion) struct ArrayExtremes;

impl FunctionRewrite for ArrayExtremes {
    fn name(&self) -> &'static str {
        "array_extremes"
    }

    fn rewrite(&self, expr: Expr, schema: &DFSchema, _config: &ConfigOptions) -> Result<Transformed<Expr>> {
        let Expr::AggregateFunction(AggregateFunction { func, params }) = expr else {
            return Ok(Transformed::no(expr));
        };
        let is_ours = match (func.name(), params.args.as_slice()) {
            ("min" | "max", [argument]) if func.inner().downcast_ref::<ArrayExtreme>().is_none() => {
                is_compared_by_rows(&argument.get_type(schema)?)
            }
            _ => false,
        };
        if !is_ours {
            return Ok(Transformed::no(Expr::AggregateFunction(AggregateFunction { func, params })));
        }
        let extreme =
            ArrayExtreme { is_greatest: func.name() == "max", signature: Signature::any(1, Volatility::Immutable) };
        let func = Arc::new(AggregateUDF::new_from_impl(extreme));
        Ok(Transformed::yes(Expr::AggregateFunction(AggregateFunction { func, params })))
    }
}

/// Whether values are arrays whose elements Arrow's rows put in their order.
fn is_compared_by_rows(data_type: &DataType) -> bool {
    matches!(data_type, DataType::List(_)) && !matches!(innermost(data_type), DataType::Struct(_))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ArrayExtreme {
    is_greatest: bool,
    signature: Signature,
}

impl AggregateUDFImpl for ArrayExtreme {
    fn name(&self) -> &'static str {
        if self.is_greatest { "max" } else { "min" }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(types.first().cloned().unwrap_or(DataType::Null))
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let data_type = args.expr_fields[0].data_type();
        let options = SortOptions { descending: false, nulls_first: false };
        let converter = RowConverter::new(vec![SortField::new_with_options(data_type.clone(), options)])?;
        let value = ScalarValue::try_from(data_type)?;
        Ok(Box::new(Best { is_greatest: self.is_greatest, converter, row: None, value }))
    }
}

/// The least or greatest array so far.
#[derive(Debug)]
struct Best {
    is_greatest: bool,
    converter: RowConverter,
    /// What it is compared by.
    row: Option<OwnedRow>,
    value: ScalarValue,
}

impl Accumulator for Best {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let [arrays] = values else { return Ok(()) };
        let rows = self.converter.convert_columns(values)?;
        let known = (0..arrays.len()).filter(|at| arrays.is_valid(*at));
        let best = if self.is_greatest {
            known.max_by(|a, b| rows.row(*a).cmp(&rows.row(*b)))
        } else {
            known.min_by(|a, b| rows.row(*a).cmp(&rows.row(*b)))
        };
        let Some(best) = best else { return Ok(()) };
        let found = rows.row(best);
        let is_better =
            self.row.as_ref().is_none_or(|row| if self.is_greatest { found > row.row() } else { found < row.row() });
        if is_better {
            self.row = Some(found.owned());
            self.value = ScalarValue::try_from_array(arrays, best)?.compacted();
        }
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.value.clone()])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(self.value.clone())
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.converter.size() + self.value.size()
    }
}
