//! `string_agg` of BYTEA, and with delimiters that are computed for each value: `DataFusion` joins texts by one literal.
//!
//! What it has not collects pairs of a value and its delimiter as `array_agg` collects rows, and joins them in the end.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, StructArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Fields};
use datafusion::common::{Result, ScalarValue, exec_datafusion_err};
use datafusion::functions_aggregate::array_agg::array_agg_udaf;
use datafusion::functions_aggregate::string_agg::string_agg_udaf;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawAggregateExpr, RawWindowExpr};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Expr, GroupsAccumulator, Signature, Volatility,
    WindowFunctionDefinition,
};

use crate::datafusion::functions::calls::udf::no_function;
use crate::datafusion::functions::nested::list_of;

const NAME: &str = "string_agg";

/// Plans calls whose delimiter is no literal as such.
#[derive(Debug)]
pub(in crate::datafusion) struct ComputedDelimiters;

impl ExprPlanner for ComputedDelimiters {
    fn plan_aggregate(&self, mut raw: RawAggregateExpr) -> Result<PlannerResult<RawAggregateExpr>> {
        if is_computed(raw.func.name(), &raw.args) {
            raw.func = Arc::new(StringAgg::new(true).function());
        }
        Ok(PlannerResult::Original(raw))
    }

    fn plan_window(&self, mut raw: RawWindowExpr) -> Result<PlannerResult<RawWindowExpr>> {
        if is_computed(raw.func_def.name(), &raw.args) {
            let function = StringAgg::new(true).function();
            raw.func_def = WindowFunctionDefinition::AggregateUDF(Arc::new(function));
        }
        Ok(PlannerResult::Original(raw))
    }
}

fn is_computed(name: &str, args: &[Expr]) -> bool {
    let is_literal = |delimiter: &Expr| match delimiter {
        Expr::Literal(value, _) => value.is_null() || value.try_as_str().is_some(),
        Expr::Placeholder(_) => true,
        _ => false,
    };
    matches!(args, [_, delimiter] if name == NAME && !is_literal(delimiter))
}

/// The function.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct StringAgg {
    is_computed: bool,
    signature: Signature,
}

impl StringAgg {
    /// With delimiters that are computed, or with one that is a literal.
    pub(super) fn new(is_computed: bool) -> Self {
        Self { is_computed, signature: Signature::user_defined(Volatility::Immutable) }
    }

    pub(super) fn function(self) -> AggregateUDF {
        AggregateUDF::new_from_impl(self)
    }

    fn collects(&self, value: &Field) -> bool {
        self.is_computed || value.data_type().is_binary()
    }
}

impl AggregateUDFImpl for StringAgg {
    fn name(&self) -> &'static str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let [value, delimiter] = types else { return Err(no_function(NAME, types)) };
        if value.is_binary() {
            return Ok(vec![DataType::BinaryView; 2]);
        }
        // Texts stay as they are: DISTINCT knows its ORDER BY by the value, and a delimiter must stay a literal.
        let text = |known: &DataType| if known.is_string() { known.clone() } else { DataType::Utf8View };
        Ok(vec![text(value), if delimiter.is_null() { DataType::Null } else { text(delimiter) }])
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(if types[0].is_binary() { DataType::BinaryView } else { DataType::LargeUtf8 })
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        if !self.collects(&args.expr_fields[0]) {
            return string_agg_udaf().accumulator(args);
        }
        let pair = pair(args.expr_fields);
        let is_bytes = args.return_type().is_binary();
        let return_field = Arc::new(Field::new("pairs", list_of(pair.data_type().clone()), true));
        let args = AccumulatorArgs { return_field, expr_fields: &[Arc::clone(&pair)], ..args };
        Ok(Box::new(Joined { pairs: array_agg_udaf().accumulator(args)?, pair, is_bytes }))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        if !self.collects(&args.input_fields[0]) {
            return string_agg_udaf().state_fields(args);
        }
        array_agg_udaf().state_fields(StateFieldsArgs { input_fields: &[pair(args.input_fields)], ..args })
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        !self.collects(&args.expr_fields[0]) && string_agg_udaf().groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        string_agg_udaf().create_groups_accumulator(args)
    }
}

/// The row of a value and its delimiter.
fn pair(fields: &[FieldRef]) -> FieldRef {
    let parts = fields.iter().take(2).zip(["value", "delimiter"]);
    let parts: Fields = parts.map(|(field, name)| Field::new(name, field.data_type().clone(), true)).collect();
    Arc::new(Field::new("pair", DataType::Struct(parts), true))
}

/// The pairs so far.
#[derive(Debug)]
struct Joined {
    pairs: Box<dyn Accumulator>,
    pair: FieldRef,
    is_bytes: bool,
}

impl Accumulator for Joined {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let DataType::Struct(fields) = self.pair.data_type() else { return Ok(()) };
        let (args, behind) = values.split_at(2);
        let pairs = StructArray::try_new(fields.clone(), args.to_vec(), None)?;
        let all: Vec<ArrayRef> =
            std::iter::once(Arc::new(pairs) as ArrayRef).chain(behind.iter().map(Arc::clone)).collect();
        self.pairs.update_batch(&all)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.pairs.merge_batch(states)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.pairs.state()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let joined = match self.pairs.evaluate()? {
            ScalarValue::List(list) if list.is_valid(0) => joined(list.value(0).as_struct())?,
            _ => None,
        };
        if self.is_bytes {
            return Ok(ScalarValue::BinaryView(joined));
        }
        let text = joined.map(String::from_utf8).transpose();
        Ok(ScalarValue::LargeUtf8(text.map_err(|_| exec_datafusion_err!("texts that are no UTF-8"))?))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.pairs.size()
    }
}

/// The values that are not NULL, each but the first behind its delimiter; `None` if there are none.
fn joined(pairs: &StructArray) -> Result<Option<Vec<u8>>> {
    let values = cast(pairs.column(0), &DataType::BinaryView)?;
    let delimiters = cast(pairs.column(1), &DataType::BinaryView)?;
    let mut made: Option<Vec<u8>> = None;
    for (value, delimiter) in values.as_binary_view().iter().zip(delimiters.as_binary_view()) {
        let Some(value) = value else { continue };
        match &mut made {
            Some(made) => {
                made.extend(delimiter.unwrap_or_default());
                made.extend(value);
            }
            None => made = Some(value.to_vec()),
        }
    }
    Ok(made)
}
