//! `row_number`, `rank`, `dense_rank` and `ntile` of PostgreSQL's types.
//!
//! `DataFusion` gives numbers without a sign, which PostgreSQL does not have, and makes decimals of them where they meet
//! others: `1 / row_number() OVER ()` was 0.5 in the second row.

use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::compute::{SortOptions, cast};
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::FunctionRegistry;
use datafusion::logical_expr::function::{
    ExpressionArgs, PartitionEvaluatorArgs, WindowFunctionSimplification, WindowUDFFieldArgs,
};
use datafusion::logical_expr::window_state::WindowAggState;
use datafusion::logical_expr::{
    Documentation, LimitEffect, PartitionEvaluator, ReversedUDWF, Signature, WindowUDF, WindowUDFImpl,
};
use datafusion::physical_expr::PhysicalExpr;

/// The functions, and the types that they have.
const RANKS: [(&str, DataType); 4] = [
    ("row_number", DataType::Int64),
    ("rank", DataType::Int64),
    ("dense_rank", DataType::Int64),
    ("ntile", DataType::Int32),
];

/// Gives the functions of `registry` their types.
///
/// # Errors
/// The registry has none of this name, or takes none.
pub(in crate::datafusion) fn register(registry: &mut dyn FunctionRegistry) -> Result<()> {
    for (name, data_type) in RANKS {
        let rank = Rank { function: registry.udwf(name)?, data_type };
        registry.register_udwf(Arc::new(WindowUDF::new_from_impl(rank)))?;
    }
    Ok(())
}

/// A window function whose values are cast.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Rank {
    function: Arc<WindowUDF>,
    data_type: DataType,
}

impl WindowUDFImpl for Rank {
    fn name(&self) -> &str {
        self.function.name()
    }

    fn aliases(&self) -> &[String] {
        self.function.aliases()
    }

    fn signature(&self) -> &Signature {
        self.function.signature()
    }

    fn expressions(&self, arguments: ExpressionArgs) -> Vec<Arc<dyn PhysicalExpr>> {
        self.function.expressions(arguments)
    }

    fn partition_evaluator(&self, arguments: PartitionEvaluatorArgs) -> Result<Box<dyn PartitionEvaluator>> {
        let evaluator = self.function.partition_evaluator_factory(arguments)?;
        Ok(Box::new(RankEvaluator { evaluator, data_type: self.data_type.clone() }))
    }

    fn simplify(&self) -> Option<WindowFunctionSimplification> {
        self.function.simplify()
    }

    fn field(&self, arguments: WindowUDFFieldArgs) -> Result<FieldRef> {
        let field = self.function.field(arguments)?;
        Ok(Arc::new(field.as_ref().clone().with_data_type(self.data_type.clone())))
    }

    fn sort_options(&self) -> Option<SortOptions> {
        self.function.sort_options()
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.function.coerce_types(types)
    }

    fn reverse_expr(&self) -> ReversedUDWF {
        self.function.reverse_expr()
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.function.documentation()
    }

    fn limit_effect(&self, arguments: &[Arc<dyn PhysicalExpr>]) -> LimitEffect {
        self.function.inner().limit_effect(arguments)
    }
}

#[derive(Debug)]
struct RankEvaluator {
    evaluator: Box<dyn PartitionEvaluator>,
    data_type: DataType,
}

impl PartitionEvaluator for RankEvaluator {
    fn memoize(&mut self, state: &mut WindowAggState) -> Result<()> {
        self.evaluator.memoize(state)
    }

    fn get_range(&self, row: usize, rows: usize) -> Result<Range<usize>> {
        self.evaluator.get_range(row, rows)
    }

    fn is_causal(&self) -> bool {
        self.evaluator.is_causal()
    }

    fn evaluate_all(&mut self, values: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        Ok(cast(&self.evaluator.evaluate_all(values, rows)?, &self.data_type)?)
    }

    fn evaluate(&mut self, values: &[ArrayRef], range: &Range<usize>) -> Result<ScalarValue> {
        self.evaluator.evaluate(values, range)?.cast_to(&self.data_type)
    }

    fn evaluate_all_with_rank(&self, rows: usize, ranks: &[Range<usize>]) -> Result<ArrayRef> {
        Ok(cast(&self.evaluator.evaluate_all_with_rank(rows, ranks)?, &self.data_type)?)
    }

    fn supports_bounded_execution(&self) -> bool {
        self.evaluator.supports_bounded_execution()
    }

    fn uses_window_frame(&self) -> bool {
        self.evaluator.uses_window_frame()
    }

    fn include_rank(&self) -> bool {
        self.evaluator.include_rank()
    }
}
