//! How predicates and projections reach the leaf of a plan.
//!
//! Filters are taken from the physical plan, where dynamic filters (of joins and of sorts with a limit) come by the
//! same way. Simple static ones are evaluated in the scan and vanish from the plan, and so do, of tables, static ones of one
//! column. All others prune chunks. To evaluate dynamic ones row by row was slower than not doing so: `join_keys` looks their
//! answers up, where it can.

use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::datasource::source::DataSource;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::{DynamicFilterTracking, PhysicalExpr};
use datafusion::physical_plan::filter_pushdown::{FilterPushdownPropagation, PushedDown};

use super::predicate::{is_of_one_column, is_simple};

/// Which columns of a table a leaf returns, and in what order.
#[derive(Clone, Debug)]
pub(in crate::datafusion) struct Projection {
    pub(in crate::datafusion) columns: Arc<[usize]>,
    /// The schema of what is returned.
    pub(in crate::datafusion) schema: SchemaRef,
}

impl Projection {
    /// The columns `columns` of `table`; `None` stands for all.
    pub(in crate::datafusion) fn new(table: &SchemaRef, columns: Option<&Vec<usize>>) -> Result<Self> {
        let columns: Arc<[usize]> = match columns {
            Some(columns) => columns.as_slice().into(),
            None => (0..table.fields().len()).collect(),
        };
        let schema = Arc::new(table.project(&columns)?);
        Ok(Self { columns, schema })
    }

    /// This projection followed by `outer`; `None` if that computes or renames something.
    pub(in crate::datafusion) fn then(&self, outer: &ProjectionExprs, table: &SchemaRef) -> Result<Option<Self>> {
        let mut columns = Vec::new();
        for item in outer.iter() {
            match item.expr.downcast_ref::<Column>() {
                Some(column) if column.name() == item.alias => {
                    columns.push(self.columns[column.index()]);
                }
                _ => return Ok(None),
            }
        }
        Self::new(table, Some(&columns)).map(Some)
    }

    /// `expr` over what is returned, as an expression over the table.
    pub(super) fn unproject(&self, expr: Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
        let transformed = expr.transform(|node| {
            Ok(match node.downcast_ref::<Column>() {
                Some(column) => {
                    let of_table = Column::new(column.name(), self.columns[column.index()]);
                    Transformed::yes(Arc::new(of_table) as Arc<dyn PhysicalExpr>)
                }
                None => Transformed::no(node),
            })
        })?;
        Ok(transformed.data)
    }
}

/// The answer of a leaf that takes none of so many filters: one above a limit must not choose which rows the limit sees.
pub(in crate::datafusion) fn none_taken(filters: usize) -> FilterPushdownPropagation<Arc<dyn DataSource>> {
    FilterPushdownPropagation::with_parent_pushdown_result(vec![PushedDown::No; filters])
}

/// What a leaf makes of the filters that are offered to it; expressions are over the table.
pub(in crate::datafusion) struct Offer {
    /// To be evaluated by the leaf.
    pub(in crate::datafusion) rows: Vec<Arc<dyn PhysicalExpr>>,
    /// Only fit to skip chunks.
    pub(in crate::datafusion) chunks: Vec<Arc<dyn PhysicalExpr>>,
    /// What to answer, one for each filter offered.
    pub(in crate::datafusion) answers: Vec<PushedDown>,
}

impl Offer {
    /// Sorts the `filters` over what `projection` returns. All that are to be evaluated are simple.
    pub(in crate::datafusion) fn of_simple(
        filters: Vec<Arc<dyn PhysicalExpr>>,
        projection: &Projection,
    ) -> Result<Self> {
        Self::new(filters, projection, |_| false)
    }

    /// The same for a leaf that can also evaluate filters of one column on just those rows that others have left. Such a
    /// filter may fail, and one before it may keep it from that; so behind one that stays above, all that may fail stay
    /// there.
    pub(in crate::datafusion) fn of_columns(
        filters: Vec<Arc<dyn PhysicalExpr>>,
        projection: &Projection,
    ) -> Result<Self> {
        Self::new(filters, projection, is_of_one_column)
    }

    fn new(
        filters: Vec<Arc<dyn PhysicalExpr>>,
        projection: &Projection,
        takes: fn(&Arc<dyn PhysicalExpr>) -> bool,
    ) -> Result<Self> {
        let mut offer = Self { rows: Vec::new(), chunks: Vec::new(), answers: Vec::with_capacity(filters.len()) };
        let mut has_left = false;
        for filter in filters {
            let dynamic = DynamicFilterTracking::classify(&filter).contains_dynamic_filter();
            let taken = !dynamic && (is_simple(&filter) || !has_left && takes(&filter));
            has_left |= !taken && !dynamic;
            let filter = projection.unproject(filter)?;
            if taken {
                offer.rows.push(filter);
                offer.answers.push(PushedDown::Yes);
            } else {
                offer.chunks.push(filter);
                offer.answers.push(PushedDown::No);
            }
        }
        Ok(offer)
    }
}
