//! Predicates that a scan evaluates itself, so that no filter stands above it.
//!
//! Taken are comparisons, IN, LIKE, IS NULL and their combinations by AND, OR and NOT: they are cheap and cannot
//! fail, so it does not matter which rows of a batch they see. Everything else stays in a filter above the scan.
//! The conjuncts run cheapest first, and each sees only what the ones before it left once few rows are left.
//! Not here: skipping whole chunks (`prune`), how predicates reach a scan (`pushdown`).

mod comparison;

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use datafusion::arrow::compute::{and, prep_null_mask_filter};
use datafusion::arrow::datatypes::{DataType, Schema, SchemaRef};
use datafusion::common::Result;
use datafusion::common::cast::as_boolean_array;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{
    BinaryExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, LikeExpr, Literal, NotExpr,
};
use datafusion::physical_expr::utils::{collect_columns, reassign_expr_columns};

use comparison::Comparison;
pub(in crate::datafusion) use comparison::{StoredRows, StoredValues};

/// A later conjunct sees only the rows that are left once fewer than one in this many are.
const NARROW_RATIO: usize = 8;

/// A conjunction of simple predicates over the columns of a table.
#[derive(Debug)]
pub(in crate::datafusion) struct Predicate {
    conjuncts: Vec<Conjunct>,
    columns: Vec<usize>,
}

#[derive(Debug)]
struct Conjunct {
    /// Over the schema of the table.
    whole: Arc<dyn PhysicalExpr>,
    /// The same over `schema`.
    local: Arc<dyn PhysicalExpr>,
    /// The columns of the table that it reads, in the order of `schema`.
    columns: Vec<usize>,
    schema: SchemaRef,
    /// The same on stored values, where it can be so evaluated.
    comparison: Option<Comparison>,
    cost: usize,
}

/// Where a predicate finds the values of the rows that it is evaluated on.
pub(in crate::datafusion) trait Values {
    /// A column of the table.
    fn array(&mut self, column: usize) -> ArrayRef;

    /// A column as it is stored, if comparisons can be evaluated on that.
    fn stored(&self, column: usize) -> Option<StoredRows<'_>>;
}

/// Which rows of a batch a predicate keeps.
pub(in crate::datafusion) enum Selection {
    None,
    All,
    /// Has no nulls; at least one row is kept and one is not.
    Some(BooleanArray),
}

impl Selection {
    /// Those of the rows that are in `mask` as well, which has no nulls.
    pub(in crate::datafusion) fn and(self, mask: &BooleanArray) -> Result<Self> {
        let both = match self {
            Self::None => return Ok(Self::None),
            Self::All => mask.clone(),
            Self::Some(selected) => and(&selected, mask)?,
        };
        Ok(match both.true_count() {
            0 => Self::None,
            count if count == both.len() => Self::All,
            _ => Self::Some(both),
        })
    }
}

impl Predicate {
    /// The conjunction of `conjuncts`, whose columns are those of `table`.
    pub(in crate::datafusion) fn new(
        conjuncts: impl IntoIterator<Item = Arc<dyn PhysicalExpr>>,
        table: &SchemaRef,
    ) -> Result<Self> {
        let mut conjuncts =
            conjuncts.into_iter().map(|whole| Conjunct::new(whole, table)).collect::<Result<Vec<_>>>()?;
        conjuncts.sort_by_key(|conjunct| conjunct.cost);
        let mut columns: Vec<usize> = conjuncts.iter().flat_map(|c| c.columns.iter().copied()).collect();
        columns.sort_unstable();
        columns.dedup();
        Ok(Self { conjuncts, columns })
    }

    /// The columns of the table that the predicate reads, ascending.
    pub(in crate::datafusion) fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// The conjuncts over the schema of the table.
    pub(in crate::datafusion) fn conjuncts(&self) -> impl Iterator<Item = &Arc<dyn PhysicalExpr>> {
        self.conjuncts.iter().map(|conjunct| &conjunct.whole)
    }

    /// Evaluates the predicate on `rows` rows.
    pub(in crate::datafusion) fn select(&self, rows: usize, values: &mut impl Values) -> Result<Selection> {
        let mut selected: Option<BooleanArray> = None;
        let mut left = rows;
        for conjunct in &self.conjuncts {
            let few = selected.as_ref().filter(|_| left * NARROW_RATIO < rows);
            let mask = conjunct.evaluate(rows, few, values)?;
            let mask = match &selected {
                Some(before) => and(before, &mask)?,
                None => mask,
            };
            left = mask.true_count();
            if left == 0 {
                return Ok(Selection::None);
            }
            selected = Some(mask);
        }
        Ok(match selected {
            Some(mask) if left < rows => Selection::Some(mask),
            _ if rows == 0 => Selection::None,
            _ => Selection::All,
        })
    }
}

impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, conjunct) in self.conjuncts().enumerate() {
            if position > 0 {
                f.write_str(" AND ")?;
            }
            write!(f, "{conjunct}")?;
        }
        Ok(())
    }
}

impl Conjunct {
    fn new(whole: Arc<dyn PhysicalExpr>, table: &SchemaRef) -> Result<Self> {
        let mut columns: Vec<usize> = collect_columns(&whole).iter().map(Column::index).collect();
        columns.sort_unstable();
        let schema: SchemaRef = Arc::new(table.project(&columns)?);
        let local = reassign_expr_columns(Arc::clone(&whole), &schema)?;
        let comparison = Comparison::of(whole.as_ref(), |index| table.field(index).data_type().clone());
        let cost = cost(&whole, table);
        Ok(Self { whole, local, columns, schema, comparison, cost })
    }

    /// Which of `rows` rows satisfy it, without nulls; rows that are not among the `few` need not be looked at.
    fn evaluate(&self, rows: usize, few: Option<&BooleanArray>, values: &mut impl Values) -> Result<BooleanArray> {
        if let Some(comparison) = &self.comparison
            && let Some(mask) = values.stored(comparison.column).and_then(|stored| comparison.evaluate(&stored))
        {
            return Ok(mask);
        }
        let arrays = self.columns.iter().map(|&column| values.array(column)).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options)?;
        let value = match few {
            Some(mask) => self.local.evaluate_selection(&batch, mask)?,
            None => self.local.evaluate(&batch)?,
        };
        Ok(without_nulls(as_boolean_array(&value.into_array(rows)?)?))
    }
}

/// Nulls count as no.
fn without_nulls(mask: &BooleanArray) -> BooleanArray {
    if mask.null_count() == 0 { mask.clone() } else { prep_null_mask_filter(mask) }
}

/// Whether a scan takes `expr`: it is cheap, and it cannot fail on any row.
pub(in crate::datafusion) fn is_simple(expr: &Arc<dyn PhysicalExpr>) -> bool {
    if expr.is::<Column>() || expr.is::<Literal>() {
        return true;
    }
    let known = expr.is::<NotExpr>()
        || expr.is::<IsNullExpr>()
        || expr.is::<IsNotNullExpr>()
        || expr.is::<InListExpr>()
        || expr.is::<LikeExpr>()
        || expr.downcast_ref::<BinaryExpr>().is_some_and(|binary| is_simple_operator(*binary.op()));
    known && expr.children().into_iter().all(is_simple)
}

fn is_simple_operator(operator: Operator) -> bool {
    matches!(
        operator,
        Operator::Eq
            | Operator::NotEq
            | Operator::Lt
            | Operator::LtEq
            | Operator::Gt
            | Operator::GtEq
            | Operator::And
            | Operator::Or
            | Operator::IsDistinctFrom
            | Operator::IsNotDistinctFrom
    )
}

/// A rough order of evaluation: fixed-width comparisons before strings, strings before patterns.
fn cost(expr: &Arc<dyn PhysicalExpr>, table: &Schema) -> usize {
    let own = if expr.is::<LikeExpr>() {
        16
    } else if let Some(column) = expr.downcast_ref::<Column>() {
        match table.field(column.index()).data_type() {
            DataType::Utf8View | DataType::BinaryView => 4,
            DataType::Decimal128(..) => 2,
            _ => 1,
        }
    } else {
        0
    };
    own + expr.children().into_iter().map(|child| cost(child, table)).sum::<usize>()
}
