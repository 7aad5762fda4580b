//! Skipping chunks whose values cannot satisfy a predicate, by the bounds gathered when they were loaded.
//!
//! `DataFusion` turns a predicate over columns into one over their minima and maxima; here it gets these of our
//! chunks. Bounds of texts may be shortened to prefixes: they are still bounds, only not reached.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray, UInt64Array};
use datafusion::arrow::datatypes::{Field, SchemaRef};
use datafusion::common::pruning::PruningStatistics;
use datafusion::common::{Column, Result, ScalarValue};
use datafusion::physical_expr::{DynamicFilterTracker, DynamicFilterTracking, PhysicalExpr, conjunction};
use datafusion::physical_optimizer::pruning::{PruningPredicate, PruningPredicateBuilder};
use longshore_storage::VisibleChunk;

use super::statistics::{Side, bound};

/// The bounds of some chunks of a table.
struct ZoneMap<'a> {
    chunks: &'a [VisibleChunk],
    schema: &'a SchemaRef,
}

impl ZoneMap<'_> {
    /// The position and the field of a column that the chunks store; the numbers of rows are not.
    fn stored(&self, column: &Column) -> Option<(usize, &Field)> {
        let (index, field) = self.schema.column_with_name(column.name())?;
        let chunk = self.chunks.first()?;
        (index < chunk.chunk().schema().columns().len()).then_some((index, field))
    }

    fn bounds(&self, column: &Column, side: Side) -> Option<ArrayRef> {
        let (index, field) = self.stored(column)?;
        let null = ScalarValue::try_from(field.data_type()).ok()?;
        let bounds = self.chunks.iter().map(|chunk| {
            bound(&chunk.statistics(index), side, field.data_type()).map_or_else(|| null.clone(), |b| b.value)
        });
        ScalarValue::iter_to_array(bounds).ok()
    }
}

impl PruningStatistics for ZoneMap<'_> {
    fn min_values(&self, column: &Column) -> Option<ArrayRef> {
        self.bounds(column, Side::Min)
    }

    fn max_values(&self, column: &Column) -> Option<ArrayRef> {
        self.bounds(column, Side::Max)
    }

    fn num_containers(&self) -> usize {
        self.chunks.len()
    }

    fn null_counts(&self, column: &Column) -> Option<ArrayRef> {
        let (index, _) = self.stored(column)?;
        let counts = self.chunks.iter().map(|chunk| chunk.statistics(index).null_count);
        Some(Arc::new(UInt64Array::from_iter_values(counts)))
    }

    fn row_counts(&self) -> Option<ArrayRef> {
        let counts = self.chunks.iter().map(|chunk| chunk.visible_rows() as u64);
        Some(Arc::new(UInt64Array::from_iter_values(counts)))
    }

    fn contained(&self, _column: &Column, _values: &HashSet<ScalarValue>) -> Option<BooleanArray> {
        None
    }
}

/// Which of `chunks` may hold a row that satisfies all of `filters`.
pub(in crate::datafusion) fn live(
    chunks: &[VisibleChunk],
    schema: &SchemaRef,
    filters: impl IntoIterator<Item = Arc<dyn PhysicalExpr>>,
) -> Result<Vec<bool>> {
    match compile(filters, schema) {
        Some(predicate) => predicate.prune(&ZoneMap { chunks, schema }),
        None => Ok(vec![true; chunks.len()]),
    }
}

/// `None` if no chunk could ever be skipped.
fn compile(
    filters: impl IntoIterator<Item = Arc<dyn PhysicalExpr>>,
    schema: &SchemaRef,
) -> Option<Arc<PruningPredicate>> {
    PruningPredicateBuilder::new().with_file_schema(Arc::clone(schema)).build(conjunction(filters))
}

/// Skips chunks by filters that become known, or tighter, while the scan runs.
pub(in crate::datafusion) struct Pruner {
    filters: Vec<Arc<dyn PhysicalExpr>>,
    schema: SchemaRef,
    tracking: DynamicFilterTracking,
    compiled: Option<Arc<PruningPredicate>>,
    started: bool,
    /// The chunk that was looked at last, and what came of it.
    last: Option<(usize, bool)>,
}

impl Pruner {
    /// A pruner for `filters` over `schema`.
    pub(in crate::datafusion) fn new(filters: &[Arc<dyn PhysicalExpr>], schema: &SchemaRef) -> Self {
        Self {
            filters: filters.to_vec(),
            schema: Arc::clone(schema),
            tracking: DynamicFilterTracking::classify(&conjunction(filters.to_vec())),
            compiled: None,
            started: false,
            last: None,
        }
    }

    /// Whether chunk number `index` may hold a row that satisfies the filters as they are now.
    pub(in crate::datafusion) fn is_live(&mut self, index: usize, chunk: &VisibleChunk) -> Result<bool> {
        if self.filters.is_empty() {
            return Ok(true);
        }
        let changed = self.tracking.watcher().is_some_and(DynamicFilterTracker::changed);
        if changed || !self.started {
            self.started = true;
            self.compiled = compile(self.filters.iter().map(Arc::clone), &self.schema);
            self.last = None;
        }
        let Some(predicate) = &self.compiled else {
            return Ok(true);
        };
        if let Some((last, live)) = self.last
            && last == index
        {
            return Ok(live);
        }
        let zone = ZoneMap { chunks: std::slice::from_ref(chunk), schema: &self.schema };
        let live = predicate.prune(&zone)?.into_iter().all(|live| live);
        self.last = Some((index, live));
        Ok(live)
    }
}
