//! Predicates that a scan evaluates itself, so that no filter stands above it.
//!
//! Taken are comparisons, IN, LIKE, IS NULL and their combinations by AND, OR and NOT: they are cheap and cannot
//! fail, so it does not matter which rows of a batch they see. Of a table a scan also takes what else depends on one column
//! only, such as functions of it: on packed columns that is evaluated once per distinct value (`predicate/codes.rs`). Such a
//! conjunct may fail, so it comes behind all that cannot, and sees only rows that are left. Everything else stays in a
//! filter above the scan.
//! The conjuncts run cheapest first, and each sees only what the ones before it left once few rows are left. Those that say
//! of one column in which ranges it lies are one conjunct, as the halves of BETWEEN.
//! Not here: skipping whole chunks (`prune`), how predicates reach a scan (`pushdown`).

mod codes;
mod kinds;
mod ranges;

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use datafusion::arrow::compute::{and, prep_null_mask_filter};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::common::cast::as_boolean_array;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::{collect_columns, reassign_expr_columns};
use datafusion::physical_expr::{PhysicalExpr, conjunction};

pub(in crate::datafusion) use codes::{CodeAnswers, StoredRows};
pub(in crate::datafusion) use kinds::{is_of_one_column, is_simple};
use ranges::{Numbers, Ranges};

/// A later conjunct sees only the rows that are left once fewer than one in this many are.
const NARROW_RATIO: usize = 8;

/// So many parts of a predicate are put together at most because they are about one column.
const PARTS_MAX: usize = 8;

/// A conjunction of predicates over the columns of a table.
#[derive(Debug)]
pub(in crate::datafusion) struct Predicate {
    conjuncts: Vec<Conjunct>,
    columns: Vec<usize>,
}

#[derive(Debug)]
struct Conjunct {
    /// Over the schema of the table: what it was made of.
    parts: Vec<Arc<dyn PhysicalExpr>>,
    /// All of them over `schema`.
    local: Arc<dyn PhysicalExpr>,
    /// The columns of the table that it reads, in the order of `schema`.
    columns: Vec<usize>,
    schema: SchemaRef,
    /// The same as ranges of the one column that it reads, if it can be told so.
    ranges: Option<Ranges>,
    /// Whether there may be values on which it fails.
    may_fail: bool,
    cost: usize,
}

/// Rows of a batch that are seen, and left by the conjuncts that were evaluated before.
struct Candidates<'a> {
    /// Has no nulls; `None` if all are left.
    mask: Option<&'a BooleanArray>,
    count: usize,
}

/// Where a predicate finds the values of the rows that it is evaluated on.
pub(in crate::datafusion) trait Values {
    /// A column of the table. Rows that are not `wanted`, now or later, may have any value.
    fn array(&mut self, column: usize, wanted: Option<&BooleanArray>) -> ArrayRef;

    /// A column as it is stored, if that is what the rows have.
    fn stored(&self, column: usize) -> Option<StoredRows<'_>>;
}

/// Which rows of a batch a predicate keeps.
pub(in crate::datafusion) enum Selection {
    None,
    All,
    /// Has no nulls; at least one row is kept and one is not.
    Some(BooleanArray),
}

impl Predicate {
    /// The conjunction of `parts`, whose columns are those of `table`; `is_uuid` says which of them store UUIDs.
    pub(in crate::datafusion) fn new(
        parts: impl IntoIterator<Item = Arc<dyn PhysicalExpr>>,
        table: &SchemaRef,
        is_uuid: impl Fn(usize) -> bool + Copy,
    ) -> Result<Self> {
        let mut conjuncts: Vec<Conjunct> = Vec::new();
        for part in parts {
            let conjunct = Conjunct::new(vec![part], table, is_uuid)?;
            match conjuncts.iter_mut().find(|before| before.is_joined_by(&conjunct)) {
                Some(before) => {
                    let parts = before.parts.iter().chain(&conjunct.parts).map(Arc::clone).collect();
                    *before = Conjunct::new(parts, table, is_uuid)?;
                }
                None => conjuncts.push(conjunct),
            }
        }
        // Those that may fail keep their order.
        conjuncts.sort_by_key(|conjunct| (conjunct.may_fail, if conjunct.may_fail { 0 } else { conjunct.cost }));
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
        self.conjuncts.iter().flat_map(|conjunct| &conjunct.parts)
    }

    /// Those of `rows` rows that satisfy the predicate, among those that are `visible`, which has no nulls; `None` stands for
    /// all of them. `answers` are kept from batch to batch of one scan.
    pub(in crate::datafusion) fn select(
        &self,
        rows: usize,
        visible: Option<BooleanArray>,
        values: &mut impl Values,
        answers: &mut CodeAnswers,
    ) -> Result<Selection> {
        let mut selected = visible;
        for (number, conjunct) in self.conjuncts.iter().enumerate() {
            let count = selected.as_ref().map_or(rows, BooleanArray::true_count);
            if count == 0 {
                return Ok(Selection::None);
            }
            let candidates = Candidates { mask: selected.as_ref(), count };
            let mask = conjunct.evaluate(number, rows, &candidates, values, answers)?;
            selected = Some(match &selected {
                Some(before) => and(before, &mask)?,
                None => mask,
            });
        }
        Ok(Selection::of(rows, selected))
    }
}

impl Selection {
    /// Those of `rows` rows that are in `mask`, which has no nulls; `None` stands for all.
    pub(in crate::datafusion) fn of(rows: usize, mask: Option<BooleanArray>) -> Self {
        match mask.as_ref().map_or(rows, BooleanArray::true_count) {
            0 => Self::None,
            count => mask.filter(|_| count < rows).map_or(Self::All, Self::Some),
        }
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
    /// All of the `parts`, which read the same columns.
    fn new(parts: Vec<Arc<dyn PhysicalExpr>>, table: &SchemaRef, is_uuid: impl Fn(usize) -> bool) -> Result<Self> {
        let whole = conjunction(parts.iter().map(Arc::clone));
        let mut columns: Vec<usize> = collect_columns(&whole).iter().map(Column::index).collect();
        columns.sort_unstable();
        let schema: SchemaRef = Arc::new(table.project(&columns)?);
        let local = reassign_expr_columns(Arc::clone(&whole), &schema)?;
        let ranges = match (&schema.fields()[..], &columns[..]) {
            ([field], [column]) => {
                let numbers = Numbers { data_type: field.data_type(), is_uuid: is_uuid(*column) };
                Ranges::of(whole.as_ref(), numbers)
            }
            _ => None,
        };
        let (may_fail, cost) = (!is_simple(&whole), kinds::cost(&whole, table));
        Ok(Self { parts, local, columns, schema, ranges, may_fail, cost })
    }

    /// Whether both say in which ranges the same column lies.
    fn is_joined_by(&self, other: &Conjunct) -> bool {
        self.parts.len() < PARTS_MAX && self.ranges.is_some() && other.ranges.is_some() && self.columns == other.columns
    }

    /// Which of `rows` rows satisfy it, without nulls; rows that are no candidates need not be looked at, and are not if it
    /// may fail.
    fn evaluate(
        &self,
        number: usize,
        rows: usize,
        candidates: &Candidates<'_>,
        values: &mut impl Values,
        answers: &mut CodeAnswers,
    ) -> Result<BooleanArray> {
        if let [column] = self.columns[..]
            && let Some(stored) = values.stored(column)
            && let Some(mask) = self.on_stored(number, &stored, candidates, answers)?
        {
            return Ok(BooleanArray::new(mask, None));
        }
        let arrays = self.columns.iter().map(|&column| values.array(column, candidates.mask)).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options)?;
        let value = match candidates.mask {
            Some(mask) if self.may_fail || candidates.count * NARROW_RATIO < rows => {
                self.local.evaluate_selection(&batch, mask)?
            }
            _ => self.local.evaluate(&batch)?,
        };
        Ok(without_nulls(as_boolean_array(&value.into_array(rows)?)?))
    }
}

/// Nulls count as no.
pub(super) fn without_nulls(mask: &BooleanArray) -> BooleanArray {
    if mask.null_count() == 0 { mask.clone() } else { prep_null_mask_filter(mask) }
}
