//! The scan of a generic plan: what it reads is settled anew each time the plan is run.
//!
//! Its filters hold parameters. Before the plan is run, each of its scans is bound to the rows that the transaction sees,
//! with values in the place of parameters, and by an index where one serves. One that would read many rows is not bound:
//! with them, a plan that is made for the values is the better one.
//! Not here: the plans (`planning/plan_cache/generic_plan.rs`).

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::config::ConfigOptions;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, ScalarValue, Statistics, internal_err};
use datafusion::datasource::TableType;
use datafusion::datasource::source::{DataSource, DataSourceExec, OpenArgs};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::Expr;
use datafusion::physical_expr::expressions::lit;
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::simplifier::PhysicalExprSimplifier;
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::execution_plan::SchedulingType;
use datafusion::physical_plan::filter_pushdown::{FilterPushdownPropagation, PushedDown};
use datafusion::physical_plan::{DisplayFormatType, ExecutionPlan};
use longshore_storage::Relation;

use super::RelationSource;
use super::morsels::Morsels;
use super::predicate::{is_of_one_column, is_simple};
use super::pushdown::{Offer, Projection, none_taken};
use super::table::RelationTable;

/// More rows are left to a plan that is made for them.
const ROWS_MAX: usize = 1024;
/// The rows that a scan with a filter is planned for.
const ROWS_EXPECTED: usize = 16;

/// The value that a parameter has now; `None` of any other expression.
pub(in crate::datafusion) type ValueOf = fn(&Arc<dyn PhysicalExpr>) -> Option<ScalarValue>;

/// What the scans of one plan are bound to, by their numbers.
#[derive(Default)]
pub(in crate::datafusion) struct BoundScans(Mutex<Scans>);

enum Scans {
    /// Scans that are still to read.
    Sources(HashMap<usize, RelationSource>),
    /// What each of them returns.
    Rows(Vec<RecordBatch>),
}

impl Default for Scans {
    fn default() -> Self {
        Self::Rows(Vec::new())
    }
}

impl fmt::Debug for BoundScans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoundScans").finish_non_exhaustive()
    }
}

impl BoundScans {
    fn scans(&self) -> MutexGuard<'_, Scans> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn source<R>(&self, number: usize, act: impl FnOnce(&RelationSource) -> R) -> Option<R> {
        match &*self.scans() {
            Scans::Sources(sources) => sources.get(&number).map(act),
            Scans::Rows(_) => None,
        }
    }

    /// Binds them; false where one is to read too many rows.
    pub(in crate::datafusion) fn set(&self, sources: HashMap<usize, RelationSource>) -> bool {
        let is_served = sources.values().all(|source| source.rows_to_read() <= ROWS_MAX);
        if is_served {
            *self.scans() = Scans::Sources(sources);
        }
        is_served
    }

    /// Binds them to what they return, which was read, and logged, already.
    pub(in crate::datafusion) fn set_rows(&self, rows: Vec<RecordBatch>) {
        *self.scans() = Scans::Rows(rows);
    }

    /// All rows of the scan of this number.
    pub(in crate::datafusion) fn read(&self, number: usize) -> Result<Vec<RecordBatch>> {
        if let Scans::Rows(rows) = &*self.scans()
            && let Some(rows) = rows.get(number)
        {
            return Ok(vec![rows.clone()]);
        }
        let rows = self.source(number, RelationSource::rows);
        rows.unwrap_or_else(|| internal_err!("a scan was run before it was bound"))
    }

    /// Logs what all of them are going to read.
    pub(in crate::datafusion) fn log(&self) {
        if let Scans::Sources(sources) = &*self.scans() {
            sources.values().for_each(RelationSource::log);
        }
    }

    /// Lets go of the rows.
    pub(in crate::datafusion) fn clear(&self) {
        *self.scans() = Scans::default();
    }
}

/// A table of a generic plan, while the plan is made.
#[derive(Debug)]
pub(in crate::datafusion) struct GenericTable {
    /// Which of the plan's scans it is.
    number: usize,
    name: Arc<str>,
    schema: SchemaRef,
    rows: usize,
    relation: Weak<Relation>,
    bound: Arc<BoundScans>,
    value_of: ValueOf,
}

impl GenericTable {
    /// In the place of `table`.
    pub(in crate::datafusion) fn new(
        number: usize,
        table: &RelationTable,
        bound: &Arc<BoundScans>,
        value_of: ValueOf,
    ) -> Self {
        Self {
            number,
            name: Arc::clone(table.name()),
            schema: table.schema(),
            rows: table.rows(),
            relation: Arc::downgrade(table.relation()),
            bound: Arc::clone(bound),
            value_of,
        }
    }
}

#[async_trait]
impl TableProvider for GenericTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(DataSourceExec::from_data_source(GenericSource {
            number: self.number,
            name: Arc::clone(&self.name),
            table: Arc::clone(&self.schema),
            projection: Projection::new(&self.schema, projection)?,
            filters: Vec::new(),
            fetch: limit,
            rows: self.rows,
            relation: Weak::clone(&self.relation),
            bound: Arc::clone(&self.bound),
            value_of: self.value_of,
        }))
    }
}

/// A scan that is to be bound.
#[derive(Clone, Debug)]
pub(in crate::datafusion) struct GenericSource {
    number: usize,
    name: Arc<str>,
    /// The schema of the whole table.
    table: SchemaRef,
    projection: Projection,
    /// What every row returned satisfies, over the table, with parameters.
    filters: Vec<Arc<dyn PhysicalExpr>>,
    fetch: Option<usize>,
    /// Those of the table when the plan was made.
    rows: usize,
    relation: Weak<Relation>,
    bound: Arc<BoundScans>,
    value_of: ValueOf,
}

impl GenericSource {
    /// Which of the plan's scans it is.
    pub(in crate::datafusion) fn number(&self) -> usize {
        self.number
    }

    /// What it returns.
    pub(in crate::datafusion) fn projection(&self) -> &Projection {
        &self.projection
    }

    /// What every row returned satisfies, over the table, with parameters.
    pub(in crate::datafusion) fn filters(&self) -> &[Arc<dyn PhysicalExpr>] {
        &self.filters
    }

    /// The schema of the whole table.
    pub(in crate::datafusion) fn table(&self) -> &SchemaRef {
        &self.table
    }

    /// The table that it was made for.
    pub(in crate::datafusion) fn relation(&self) -> &Weak<Relation> {
        &self.relation
    }

    /// Whether some of its rows are enough.
    pub(in crate::datafusion) fn is_limited(&self) -> bool {
        self.fetch.is_some()
    }

    /// The scan of the rows of `table` with the values that parameters have now; `None` where it is another table now, or a
    /// filter is none for a scan with these values.
    pub(in crate::datafusion) fn with_rows(&self, table: &RelationTable) -> Result<Option<RelationSource>> {
        let is_same = self.relation.upgrade().is_some_and(|relation| Arc::ptr_eq(&relation, table.relation()));
        if !is_same || table.schema() != self.table {
            return Ok(None);
        }
        let mut source = table.source(self.projection.clone(), self.fetch, 1);
        if !self.filters.is_empty() {
            let filters =
                self.filters.iter().map(|filter| self.with_values(filter, &self.table)).collect::<Result<Vec<_>>>()?;
            // What a scan takes of one value, it may not of another.
            if !filters.iter().all(|filter| is_simple(filter) || is_of_one_column(filter)) {
                return Ok(None);
            }
            source.filter(filters)?;
        }
        Ok(Some(source))
    }

    /// `filter`, which is over columns of this `schema`, with the values that its parameters have now.
    fn with_values(&self, filter: &Arc<dyn PhysicalExpr>, schema: &SchemaRef) -> Result<Arc<dyn PhysicalExpr>> {
        let filter = Arc::clone(filter).transform_up(|part| {
            Ok((self.value_of)(&part).map_or_else(|| Transformed::no(part), |value| Transformed::yes(lit(value))))
        })?;
        // What is computed of parameters is a value, which an index can be asked for.
        if is_simple(&filter.data) {
            Ok(filter.data)
        } else {
            PhysicalExprSimplifier::new(schema).simplify(filter.data)
        }
    }
}

impl DataSource for GenericSource {
    fn open(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let Some(source) = self.bound.source(self.number, RelationSource::clone) else {
            return internal_err!("the scan of {} was opened before it was bound", self.name);
        };
        let morsels = Arc::new(Morsels::new(&source));
        source.open_with_args(OpenArgs::new(partition, context).with_shared_state(Some(morsels)))
    }

    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "table={}, generic", self.name)
    }

    fn output_partitioning(&self) -> Partitioning {
        Partitioning::UnknownPartitioning(1)
    }

    fn eq_properties(&self) -> EquivalenceProperties {
        EquivalenceProperties::new(Arc::clone(&self.projection.schema))
    }

    fn scheduling_type(&self) -> SchedulingType {
        SchedulingType::Cooperative
    }

    fn partition_statistics(&self, _: Option<usize>) -> Result<Arc<Statistics>> {
        let expected = if self.filters.is_empty() { self.rows } else { self.rows.min(ROWS_EXPECTED) };
        let rows = self.fetch.map_or(expected, |fetch| fetch.min(expected));
        let unknown = Statistics::new_unknown(&self.projection.schema);
        Ok(Arc::new(Statistics { num_rows: Precision::Inexact(rows), ..unknown }))
    }

    fn with_fetch(&self, limit: Option<usize>) -> Option<Arc<dyn DataSource>> {
        Some(Arc::new(Self { fetch: limit, ..self.clone() }))
    }

    fn fetch(&self) -> Option<usize> {
        self.fetch
    }

    fn try_swapping_with_projection(&self, projection: &ProjectionExprs) -> Result<Option<Arc<dyn DataSource>>> {
        let projection = self.projection.then(projection, &self.table)?;
        Ok(projection.map(|projection| Arc::new(Self { projection, ..self.clone() }) as Arc<dyn DataSource>))
    }

    fn try_pushdown_filters(
        &self,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        _config: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn DataSource>>> {
        if self.fetch.is_some() || filters.is_empty() {
            return Ok(none_taken(filters.len()));
        }
        // What the scan takes is decided by the values that the plan is made with, and looked at again for others.
        let with_values = filters
            .iter()
            .map(|filter| self.with_values(filter, &self.projection.schema))
            .collect::<Result<Vec<_>>>()?;
        let answers = Offer::of_columns(with_values, &self.projection)?.answers;
        let mut source = self.clone();
        for (filter, answer) in filters.into_iter().zip(&answers) {
            if matches!(answer, PushedDown::Yes) {
                source.filters.push(self.projection.unproject(filter)?);
            }
        }
        Ok(FilterPushdownPropagation::with_parent_pushdown_result(answers)
            .with_updated_node(Arc::new(source) as Arc<dyn DataSource>))
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        let mut recursion = TreeNodeRecursion::Continue;
        for expr in &self.filters {
            recursion = f(expr)?;
            if recursion == TreeNodeRecursion::Stop {
                break;
            }
        }
        Ok(recursion)
    }
}
