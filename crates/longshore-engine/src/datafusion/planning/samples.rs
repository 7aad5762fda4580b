//! `FROM t TABLESAMPLE BERNOULLI (10) REPEATABLE (7)`: some rows of a table, drawn by chance.
//!
//! As in PostgreSQL, BERNOULLI draws row by row and SYSTEM block by block, each with the given chance, so how many rows
//! there are varies. A draw is a hash of the number of the row or block and of the seed: with REPEATABLE it is the same
//! every time, as long as the table is. What is drawn from is a table by its name; views, queries and files have no rows
//! of their own. The scan reads, and logs, all rows.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::mem;
use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray, BooleanArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, UInt64Type};
use datafusion::common::{Result, not_impl_err, plan_err};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::logical_expr::planner::{PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning};
use datafusion::logical_expr::{
    ColumnarValue, Expr, LogicalPlan, LogicalPlanBuilder, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use sqlparser::ast::{self, TableFactor, TableSample, TableSampleKind, TableSampleMethod, TableSampleModifier, Value};

use crate::datafusion::errors::external;
use crate::datafusion::hidden_names::ROW_COLUMN;
use crate::datafusion::scan::table::RelationTable;
use crate::{Error, ErrorKind};

/// Rows that SYSTEM draws together.
const BLOCK_ROWS: u64 = 1024;

/// Plans TABLESAMPLE.
#[derive(Debug)]
pub(in crate::datafusion) struct Samples;

impl RelationPlanner for Samples {
    fn plan_relation(
        &self,
        mut relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        let sample = match &mut relation {
            TableFactor::Table { sample, .. } => mem::take(sample),
            TableFactor::Derived { sample, .. } if sample.is_some() => return not_a_table(),
            _ => None,
        };
        let Some(TableSampleKind::BeforeTableAlias(sample) | TableSampleKind::AfterTableAlias(sample)) = sample else {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        };
        let draw = Draw::of(&sample)?;
        let TableFactor::Table { alias, .. } = &mut relation else { return not_a_table() };
        let alias = alias.take();
        let LogicalPlan::TableScan(scan) = context.plan(relation)? else { return not_a_table() };
        let provider = source_as_provider(&scan.source)?;
        let Some(table) = provider.downcast_ref::<RelationTable>() else { return not_a_table() };
        let columns: Vec<Expr> = scan.projected_schema.columns().into_iter().map(Expr::Column).collect();
        let numbered = provider_as_source(Arc::new(table.numbered()));
        let rows = LogicalPlanBuilder::scan(scan.table_name, numbered, None)?;
        let drawn = ScalarUDF::new_from_impl(draw).call(vec![datafusion::prelude::ident(ROW_COLUMN)]);
        let plan = rows.filter(drawn)?.project(columns)?.build()?;
        Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(plan, alias))))
    }
}

fn not_a_table<R>() -> Result<R> {
    not_impl_err!("TABLESAMPLE draws rows of a table; load a file, or the rows of a view or query, into one first")
}

/// A function from the number of a row to whether it is drawn.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Draw {
    /// Rows with the same quotient are drawn together.
    together: u64,
    seed: u64,
    /// Hashes below are drawn; out of 2^64.
    below: u128,
    signature: Signature,
}

impl Draw {
    fn of(sample: &TableSample) -> Result<Self> {
        let TableSample { modifier, name, quantity, seed, bucket, offset } = sample;
        let together = match name {
            Some(TableSampleMethod::Bernoulli) => 1,
            Some(TableSampleMethod::System) => BLOCK_ROWS,
            _ => {
                return not_impl_err!(
                    "rows are sampled by TABLESAMPLE BERNOULLI (percent) or TABLESAMPLE SYSTEM (percent)"
                );
            }
        };
        let (TableSampleModifier::TableSample, Some(quantity), None, None) = (modifier, quantity, bucket, offset)
        else {
            return not_impl_err!("TABLESAMPLE takes a percentage in parentheses, and REPEATABLE (seed)");
        };
        if quantity.unit.is_some() {
            return not_impl_err!("TABLESAMPLE takes a percentage without a unit");
        }
        let percent = number(&quantity.value)?;
        if !(0.0..=100.0).contains(&percent) {
            let message = format!("sample percentage must be between 0 and 100, and is {percent}");
            return Err(external(Error::new(ErrorKind::SAMPLE_SHARE, message)));
        }
        let seed = match seed {
            Some(seed) => number(&ast::Expr::Value(seed.value.clone()))?.to_bits(),
            None => RandomState::new().hash_one(()),
        };
        let below = (percent / 100.0 * 2_f64.powi(64)) as u128;
        // Stable: a plan that is kept would draw the same rows ever after.
        let signature = Signature::any(1, Volatility::Stable);
        Ok(Self { together, seed, below, signature })
    }

    fn draws(&self, row: u64) -> bool {
        u128::from(mixed(mixed(row / self.together) ^ self.seed)) < self.below
    }
}

/// A number that is written as one.
fn number(expr: &ast::Expr) -> Result<f64> {
    let parsed = match expr {
        ast::Expr::Value(value) => match &value.value {
            Value::Number(text, _) => text.parse().ok(),
            _ => None,
        },
        ast::Expr::Nested(inner) => return number(inner),
        ast::Expr::UnaryOp { op: ast::UnaryOperator::Minus, expr } => return number(expr).map(|number| -number),
        _ => None,
    };
    if let Some(number) = parsed { Ok(number) } else { plan_err!("TABLESAMPLE takes numbers, and not {expr}") }
}

/// The finalizer of `SplitMix64`: every bit of the result depends on all bits of `value`.
fn mixed(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

impl ScalarUDFImpl for Draw {
    fn name(&self) -> &'static str {
        if self.together == 1 { "drawn" } else { "block_drawn" }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = ColumnarValue::values_to_arrays(&args.args)?;
        let rows = cast(&rows[0], &DataType::UInt64)?;
        let drawn = rows.as_primitive::<UInt64Type>().values().iter().map(|row| Some(self.draws(*row)));
        debug_assert!(rows.null_count() == 0, "every row has a number");
        Ok(ColumnarValue::Array(Arc::new(drawn.collect::<BooleanArray>())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(percent: f64, together: u64, seed: u64) -> Vec<u64> {
        let below = (percent / 100.0 * 2_f64.powi(64)) as u128;
        let draw = Draw { together, seed, below, signature: Signature::any(1, Volatility::Stable) };
        (0..100_000).filter(|row| draw.draws(*row)).collect()
    }

    #[test]
    fn about_as_many_rows_are_drawn_as_asked_for() {
        for percent in [1.0, 10.0, 50.0, 99.0] {
            let rows = drawn(percent, 1, 7).len() as f64;
            assert!((rows - percent * 1000.0).abs() < 700.0, "{percent} %: {rows} rows");
        }
        assert_eq!((drawn(0.0, 1, 7).len(), drawn(100.0, 1, 7).len()), (0, 100_000));
        assert_eq!(drawn(10.0, 1, 7), drawn(10.0, 1, 7));
        assert_ne!(drawn(10.0, 1, 7), drawn(10.0, 1, 8));
    }

    #[test]
    fn blocks_are_drawn_whole() {
        let rows = drawn(50.0, BLOCK_ROWS, 3);
        assert!(!rows.is_empty() && rows.len() < 100_000);
        for block in rows.chunk_by(|one, next| one / BLOCK_ROWS == next / BLOCK_ROWS) {
            assert!(block.len() as u64 == BLOCK_ROWS || block[0] / BLOCK_ROWS == 100_000 / BLOCK_ROWS);
        }
    }
}
