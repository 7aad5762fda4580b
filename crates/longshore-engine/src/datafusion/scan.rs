//! The scan of a relation: chunks as morsels from a shared counter, arrays without copies, predicates inside.
//!
//! Partitions of the plan are workers, not shares of the data: each takes the next morsel when it has finished one,
//! so none waits for another. Chunks whose bounds exclude the predicate are left out before the scan starts; filters
//! of joins and of sorts, which become known later, are tried when a morsel is taken. Columns of the predicate come
//! first; the others are touched only in batches with survivors, and few survivors are gathered into full batches.
//! Where an index tells where the rows lie, only these places are morsels.
//! Not here: the predicate itself (`predicate`), the bounds (`prune`), indexes (`access`).

pub(super) mod access;
pub(super) mod column_constraints;
pub(super) mod enums;
pub(super) mod generic;
pub(super) mod join_keys;
pub(super) mod loads;
pub(super) mod morsels;
pub(super) mod predicate;
pub(super) mod prune;
pub(super) mod pushdown;
pub(super) mod reads;
pub(super) mod statistics;
pub(super) mod storage;
pub(super) mod stream;
pub(super) mod table;

use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock};

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics, internal_err};
use datafusion::datasource::source::{DataSource, DataSourceExec, OpenArgs};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::coop::cooperative;
use datafusion::physical_plan::execution_plan::SchedulingType;
use datafusion::physical_plan::filter_pushdown::FilterPushdownPropagation;
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet};
use datafusion::physical_plan::{DisplayFormatType, ExecutionPlan};
use longshore_storage::{ColumnType, Index, Snapshot, VisibleChunk};

use super::execution::memory::LimitCheck;
use access::Access;
use morsels::{BATCH_ROWS, MORSEL_ROWS, Morsels};
use predicate::Predicate;
use pushdown::{Offer, Projection, none_taken};
use reads::Reads;
use stream::ScanStream;

/// A scan of one snapshot of a relation.
#[derive(Clone)]
pub(super) struct RelationSource {
    pub(super) name: Arc<str>,
    pub(super) snapshot: Arc<Snapshot>,
    /// The schema of the whole table.
    pub(super) table: SchemaRef,
    pub(super) projection: Projection,
    /// What every row returned satisfies.
    pub(super) predicate: Option<Arc<Predicate>>,
    /// The rows to look at, where an index tells; all others do not satisfy the predicate.
    pub(super) access: Option<Arc<Access>>,
    /// Filters that are evaluated above; they skip chunks, and those of joins rows as well.
    pub(super) hints: Vec<Arc<dyn PhysicalExpr>>,
    /// Rows that are enough.
    pub(super) fetch: Option<usize>,
    /// Where what it reads is logged.
    reads: Reads,
    /// What is known of all columns, once someone asked.
    known: Arc<OnceLock<Statistics>>,
    partitions: usize,
    metrics: ExecutionPlanMetricsSet,
}

impl RelationSource {
    /// A scan of all rows of `snapshot`, with up to `threads` workers.
    pub(super) fn new(
        name: Arc<str>,
        snapshot: Arc<Snapshot>,
        table: SchemaRef,
        projection: Projection,
        fetch: Option<usize>,
        reads: Reads,
        threads: usize,
    ) -> Self {
        let rows: usize = snapshot.pieces().iter().map(VisibleChunk::rows).sum();
        let morsels = rows.div_ceil(MORSEL_ROWS);
        Self {
            name,
            snapshot,
            table,
            projection,
            predicate: None,
            access: None,
            hints: Vec::new(),
            fetch,
            reads,
            known: Arc::default(),
            partitions: morsels.clamp(1, threads),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    fn log(&self) {
        self.reads.log(self.predicate.as_deref(), &self.projection.columns);
    }

    /// The rows that it looks at, at most.
    fn rows_to_read(&self) -> usize {
        self.access.as_ref().map_or_else(|| self.snapshot.rows() as usize, |access| access.rows)
    }

    /// The indexes of the relation.
    pub(super) fn indexes(&self) -> Vec<Arc<Index>> {
        self.reads.relation().indexes()
    }

    /// These columns of the table, of all rows at once; it is for few. Nothing is logged.
    pub(super) fn read(&self, columns: &[usize]) -> Result<Vec<RecordBatch>> {
        let projection = Projection::new(&self.table, Some(&columns.to_vec()))?;
        Self { projection, ..self.clone() }.rows()
    }

    /// All rows at once, whatever is enough; it is for few. Nothing is logged, nor measured.
    pub(super) fn rows(&self) -> Result<Vec<RecordBatch>> {
        let metrics = BaselineMetrics::new(&ExecutionPlanMetricsSet::new(), 0);
        let morsels = Arc::new(Morsels::new(self));
        ScanStream::new(self, morsels, BATCH_ROWS, metrics, LimitCheck::none()).into_batches()
    }

    /// Leaves out rows for which one of `filters` is not true, which are over the table; an index may find those that are left.
    pub(super) fn filter(&mut self, filters: Vec<Arc<dyn PhysicalExpr>>) -> Result<()> {
        let before = self.predicate.iter().flat_map(|predicate| predicate.conjuncts().map(Arc::clone));
        let columns = self.snapshot.schema().all_columns();
        let is_uuid = |column: usize| columns[column].column_type == ColumnType::Uuid;
        let predicate = Predicate::new(before.chain(filters), &self.table, is_uuid)?;
        self.access = Access::choose(&self.reads, &self.snapshot, &predicate).map(Arc::new);
        if let Some(access) = &self.access {
            let rows: usize = access.runs.iter().map(|run| run.rows).sum();
            self.partitions = rows.div_ceil(MORSEL_ROWS).clamp(1, self.partitions);
        }
        self.predicate = Some(Arc::new(predicate));
        Ok(())
    }
}

/// Logs what the scans of a plan read, all at once and before the first row is asked for: the transaction may end before the
/// last one is. Scans that only come to be while the plan runs log it themselves.
pub(super) fn log_reads(plan: &Arc<dyn ExecutionPlan>) {
    let mut open = vec![plan];
    while let Some(node) = open.pop() {
        let source = node.downcast_ref::<DataSourceExec>().map(DataSourceExec::data_source);
        if let Some(source) = source.and_then(|source| source.downcast_ref::<RelationSource>()) {
            source.log();
        }
        open.extend(node.children());
    }
}

impl fmt::Debug for RelationSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RelationSource")
            .field("name", &self.name)
            .field("projection", &self.projection)
            .field("predicate", &self.predicate)
            .field("fetch", &self.fetch)
            .finish_non_exhaustive()
    }
}

impl DataSource for RelationSource {
    fn open(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.open_with_args(OpenArgs::new(partition, context))
    }

    fn create_sibling_state(&self, _config: &ConfigOptions) -> Option<Arc<dyn Any + Send + Sync>> {
        Some(Arc::new(Morsels::new(self)))
    }

    fn open_with_args(&self, args: OpenArgs) -> Result<SendableRecordBatchStream> {
        let morsels = args.sibling_state.and_then(|state| state.downcast::<Morsels>().ok());
        let Some(morsels) = morsels else {
            return internal_err!("the scan of {} was opened without its morsels", self.name);
        };
        self.log();
        let metrics = BaselineMetrics::new(&self.metrics, args.partition);
        let (batch_rows, limit) = (args.context.session_config().batch_size(), LimitCheck::new(&args.context));
        Ok(Box::pin(cooperative(ScanStream::new(self, morsels, batch_rows, metrics, limit))))
    }

    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tree = matches!(t, DisplayFormatType::TreeRender);
        let separator = if tree { "\n" } else { ", " };
        write!(f, "table={}", self.name)?;
        let columns: Vec<&str> = self.projection.schema.fields().iter().map(|f| f.name().as_str()).collect();
        write!(f, "{separator}columns=[{}]", columns.join(", "))?;
        write!(f, "{separator}chunks={}, rows={}", self.snapshot.pieces().len(), self.snapshot.rows())?;
        if let Some(predicate) = &self.predicate {
            write!(f, "{separator}predicate={predicate}")?;
        }
        if let Some(access) = &self.access {
            write!(f, "{separator}index={access}, found={}", access.rows)?;
        }
        for hint in &self.hints {
            write!(f, "{separator}prune={hint}")?;
        }
        if let Some(fetch) = self.fetch {
            write!(f, "{separator}fetch={fetch}")?;
        }
        if tree { writeln!(f) } else { Ok(()) }
    }

    fn output_partitioning(&self) -> Partitioning {
        Partitioning::UnknownPartitioning(self.partitions)
    }

    fn eq_properties(&self) -> EquivalenceProperties {
        EquivalenceProperties::new(Arc::clone(&self.projection.schema))
    }

    fn scheduling_type(&self) -> SchedulingType {
        SchedulingType::Cooperative
    }

    fn partition_statistics(&self, partition: Option<usize>) -> Result<Arc<Statistics>> {
        let whole = self.known.get_or_init(|| statistics::of_snapshot(&self.snapshot, &self.table));
        let whole = statistics::project(whole, &self.snapshot, &self.projection.columns);
        let share = partition.map(|_| self.partitions);
        let found = self.access.as_ref().map(|access| access.rows);
        let fetch = self.fetch.into_iter().chain(found).min();
        let of_scan = statistics::of_scan(whole, self.predicate.is_some(), fetch, share);
        // Answers taken from exact statistics would be reads that nobody logs.
        Ok(Arc::new(if self.reads.matter() { of_scan.to_inexact() } else { of_scan }))
    }

    fn with_fetch(&self, limit: Option<usize>) -> Option<Arc<dyn DataSource>> {
        Some(Arc::new(Self { fetch: limit, ..self.clone() }))
    }

    fn fetch(&self) -> Option<usize> {
        self.fetch
    }

    fn metrics(&self) -> ExecutionPlanMetricsSet {
        self.metrics.clone()
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
        let offer = Offer::of_columns(filters, &self.projection)?;
        let mut source = self.clone();
        if !offer.rows.is_empty() {
            source.filter(offer.rows)?;
        }
        source.hints.extend(offer.chunks);
        Ok(FilterPushdownPropagation::with_parent_pushdown_result(offer.answers)
            .with_updated_node(Arc::new(source) as Arc<dyn DataSource>))
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        let conjuncts = self.predicate.iter().flat_map(|predicate| predicate.conjuncts());
        let mut recursion = TreeNodeRecursion::Continue;
        for expr in conjuncts.chain(&self.hints) {
            recursion = f(expr)?;
            if recursion == TreeNodeRecursion::Stop {
                break;
            }
        }
        Ok(recursion)
    }
}
