//! Aggregates, `first_value`, `last_value` and `nth_value` over frames that leave rows out (EXCLUDE).
//!
//! The function is computed anew for each row, over the two or three stretches that are left of its frame.
//! Not here: how a call gets such a function (`planning/frames`).

use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::compute::{cast, partition};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion::common::{Result, ScalarValue, exec_err, plan_err};
use datafusion::logical_expr::function::{AccumulatorArgs, PartitionEvaluatorArgs, WindowUDFFieldArgs};
use datafusion::logical_expr::type_coercion::functions::fields_with_udf;
use datafusion::logical_expr::{
    AggregateUDF, LimitEffect, PartitionEvaluator, Signature, Volatility, WindowUDF, WindowUDFImpl,
};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;

use crate::sql::frames::Exclusion;

/// What is computed of the rows that are left.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Function {
    Aggregate(Arc<AggregateUDF>),
    First,
    Last,
    Nth,
}

/// The function that a name of ours means, where `aggregate` knows aggregates.
pub(in crate::datafusion) fn named(
    name: &str,
    aggregate: impl Fn(&str) -> Option<Arc<AggregateUDF>>,
) -> Option<Arc<WindowUDF>> {
    let (function, exclusion) = Exclusion::of_name(name)?;
    let function = match function {
        "first_value" => Function::First,
        "last_value" => Function::Last,
        "nth_value" => Function::Nth,
        function => Function::Aggregate(aggregate(function)?),
    };
    let name = name.to_owned();
    let excluding = Excluding { name, function, exclusion, signature: Signature::variadic_any(Volatility::Immutable) };
    Some(Arc::new(WindowUDF::new_from_impl(excluding)))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Excluding {
    name: String,
    function: Function,
    exclusion: Exclusion,
    signature: Signature,
}

impl Excluding {
    /// The arguments of an aggregate as it takes them.
    fn coerced(function: &AggregateUDF, fields: &[FieldRef]) -> Result<Vec<FieldRef>> {
        if fields.is_empty() { Ok(Vec::new()) } else { fields_with_udf(fields, function) }
    }
}

impl WindowUDFImpl for Excluding {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn field(&self, arguments: WindowUDFFieldArgs) -> Result<FieldRef> {
        let fields = arguments.input_fields();
        let field = match &self.function {
            Function::Aggregate(function) => {
                let fields = Self::coerced(function, fields)?;
                function.return_field(&fields)?.as_ref().clone().with_name(arguments.name())
            }
            _ => match fields.first() {
                Some(field) => Field::new(arguments.name(), field.data_type().clone(), true),
                None => return plan_err!("{} takes a value", self.name),
            },
        };
        Ok(Arc::new(field))
    }

    fn partition_evaluator(&self, arguments: PartitionEvaluatorArgs) -> Result<Box<dyn PartitionEvaluator>> {
        let fields = arguments.input_fields().to_vec();
        let fields = match &self.function {
            Function::Aggregate(function) => Self::coerced(function, &fields)?,
            _ => fields,
        };
        Ok(Box::new(Evaluator {
            function: self.function.clone(),
            exclusion: self.exclusion,
            fields,
            row: 0,
            peers: None,
        }))
    }

    fn limit_effect(&self, _arguments: &[Arc<dyn PhysicalExpr>]) -> LimitEffect {
        LimitEffect::Unknown
    }
}

#[derive(Debug)]
struct Evaluator {
    function: Function,
    exclusion: Exclusion,
    fields: Vec<FieldRef>,
    /// The row that comes next.
    row: usize,
    /// The stretches of rows that are level in the order.
    peers: Option<Vec<Range<usize>>>,
}

impl PartitionEvaluator for Evaluator {
    /// `values` are the arguments, and behind them what the rows are ordered by, for the whole partition.
    fn evaluate(&mut self, values: &[ArrayRef], range: &Range<usize>) -> Result<ScalarValue> {
        let row = self.row;
        self.row += 1;
        let (arguments, order) = values.split_at(self.fields.len());
        if self.peers.is_none() {
            self.peers = Some(if order.is_empty() { Vec::new() } else { partition(order)?.ranges() });
        }
        let peers = self.peers.iter().flatten().find(|peers| peers.contains(&row)).cloned();
        let stretches = self.left_of(range, row, peers);
        match &self.function {
            Function::Aggregate(function) => self.aggregate(function, arguments, &stretches),
            Function::First => value_at(arguments, stretches.first().map(|first| first.start)),
            Function::Last => value_at(arguments, stretches.last().map(|last| last.end - 1)),
            Function::Nth => {
                let wanted = match arguments.get(1) {
                    Some(wanted) => ScalarValue::try_from_array(wanted, row)?.cast_to(&DataType::Int64)?,
                    None => return exec_err!("nth_value takes a value and a number"),
                };
                let ScalarValue::Int64(wanted) = wanted else { return value_at(arguments, None) };
                match wanted.map(usize::try_from) {
                    Some(Ok(wanted)) if wanted > 0 => {
                        value_at(arguments, stretches.iter().cloned().flatten().nth(wanted - 1))
                    }
                    Some(_) => exec_err!("argument of nth_value must be greater than zero"),
                    None => value_at(arguments, None),
                }
            }
        }
    }

    fn uses_window_frame(&self) -> bool {
        true
    }
}

impl Evaluator {
    /// The stretches of the frame of a row without those that are left out; `peers` are the rows that are level with it,
    /// all of them if there is no order.
    fn left_of(&self, frame: &Range<usize>, row: usize, peers: Option<Range<usize>>) -> Vec<Range<usize>> {
        let peers = peers.unwrap_or(0..usize::MAX);
        let (out, kept) = match self.exclusion {
            Exclusion::CurrentRow => (row..row + 1, None),
            Exclusion::Group => (peers, None),
            Exclusion::Ties => (peers, Some(row).filter(|row| frame.contains(row))),
        };
        let before = frame.start..frame.end.min(out.start);
        let behind = frame.start.max(out.end)..frame.end;
        let kept = kept.map(|row| row..row + 1);
        [Some(before), kept, Some(behind)].into_iter().flatten().filter(|stretch| !stretch.is_empty()).collect()
    }

    fn aggregate(
        &self,
        function: &AggregateUDF,
        arguments: &[ArrayRef],
        stretches: &[Range<usize>],
    ) -> Result<ScalarValue> {
        let schema = Schema::new(self.fields.clone());
        let exprs: Vec<Arc<dyn PhysicalExpr>> = (self.fields.iter().enumerate())
            .map(|(at, field)| Arc::new(Column::new(field.name(), at)) as Arc<dyn PhysicalExpr>)
            .collect();
        let mut accumulator = function.accumulator(AccumulatorArgs {
            return_field: function.return_field(&self.fields)?,
            schema: &schema,
            ignore_nulls: false,
            order_bys: &[],
            is_reversed: false,
            name: function.name(),
            is_distinct: false,
            exprs: &exprs,
            expr_fields: &self.fields,
        })?;
        for stretch in stretches {
            let values = arguments
                .iter()
                .zip(&self.fields)
                .map(|(values, field)| Ok(cast(&values.slice(stretch.start, stretch.len()), field.data_type())?));
            accumulator.update_batch(&values.collect::<Result<Vec<_>>>()?)?;
        }
        accumulator.evaluate()
    }
}

fn value_at(arguments: &[ArrayRef], row: Option<usize>) -> Result<ScalarValue> {
    match (arguments.first(), row) {
        (Some(values), Some(row)) => ScalarValue::try_from_array(values, row),
        (Some(values), None) => ScalarValue::try_from(values.data_type()),
        (None, _) => exec_err!("a value is expected"),
    }
}
