//! The scan of a CSV file in a query: text to batches, with projection, predicate and limit in the parse.
//!
//! The workers of one pass share the file as those of a load do: each partition of the plan is a worker that parses
//! when it is asked for rows, so no more is in memory than what the workers hold in hand.

use std::any::Any;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use async_trait::async_trait;
use datafusion::arrow::array::{BooleanArray, RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::config::ConfigOptions;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result, Statistics, internal_err};
use datafusion::datasource::TableType;
use datafusion::datasource::source::{DataSource, DataSourceExec, OpenArgs};
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::Expr;
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::coop::cooperative;
use datafusion::physical_plan::execution_plan::SchedulingType;
use datafusion::physical_plan::filter_pushdown::FilterPushdownPropagation;
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet};
use datafusion::physical_plan::{DisplayFormatType, EmptyRecordBatchStream, ExecutionPlan};
use futures::Stream;
use longshore_load::{Control, InputFile, LoadError, RowFilter, ScanRequest, ScanWorker, TextScan, Tuning};

use super::prune;
use super::prune::Fields;
use super::text_table::TextTable;
use crate::Error;
use crate::datafusion::errors::external;
use crate::datafusion::execution::memory::LimitCheck;
use crate::datafusion::scan::predicate::{CodeAnswers, Predicate, Selection};
use crate::datafusion::scan::pushdown::{Offer, Projection, none_taken};
use crate::text::{TextInput, named_by_inputs};

/// A limit without a predicate up to this many rows is left to one worker, so that the first rows are returned.
const SERIAL_ROWS_MAX: usize = 65_536;
/// Bytes of text that a value is assumed to take when rows must be estimated from the size of a file.
const VALUE_BYTES_GUESS: u64 = 8;

/// Bytes of a part whose rows wait for those of the parts before it.
const PART_BYTES_MIN: u64 = 64 << 10;
const PART_BYTES_MAX: u64 = 2 << 20;
/// Such parts of a file that each worker gets at least, so that they finish together.
const PARTS_PER_WORKER_MIN: u64 = 4;

/// A scan of one file.
#[derive(Clone)]
pub(in crate::datafusion) struct TextSource {
    table: Arc<TextTable>,
    projection: Projection,
    /// What every row returned satisfies.
    predicate: Option<Arc<Predicate>>,
    /// Rows that are enough.
    fetch: Option<usize>,
    metrics: ExecutionPlanMetricsSet,
}

/// What the workers of one execution share: the pass over the file, begun by the first of them.
struct Pass(OnceLock<Result<Arc<TextScan>, Error>>);

impl TextSource {
    pub(super) fn new(table: Arc<TextTable>, projection: Projection, fetch: Option<usize>) -> Self {
        Self { table, projection, predicate: None, fetch, metrics: ExecutionPlanMetricsSet::new() }
    }

    /// Whether one worker shall read alone.
    fn is_serial(&self) -> bool {
        self.predicate.is_none() && self.fetch.is_some_and(|fetch| fetch <= SERIAL_ROWS_MAX)
    }

    /// Whether only some of the rows are returned.
    pub(in crate::datafusion) fn filters(&self) -> bool {
        self.predicate.is_some()
    }

    /// How many workers there are.
    pub(in crate::datafusion) fn threads(&self) -> usize {
        self.table.tuning.threads
    }

    /// Rows that each worker returns at most.
    pub(in crate::datafusion) fn rows_max(&self) -> Option<usize> {
        self.fetch
    }

    /// How many workers read it.
    pub(in crate::datafusion) fn workers(&self) -> usize {
        if self.is_serial() { 1 } else { self.table.tuning.threads }
    }

    /// Begins a pass over the file in parts of which those that are done wait for those before them.
    pub(in crate::datafusion) fn begin_in_parts(&self, control: Arc<Control>) -> Result<Arc<TextScan>, Error> {
        let mut tuning = self.table.tuning.clone();
        let even =
            self.table.bytes().map_or(PART_BYTES_MAX, |bytes| bytes / (tuning.threads as u64 * PARTS_PER_WORKER_MIN));
        tuning.span_bytes.get_or_insert(even.clamp(PART_BYTES_MIN, PART_BYTES_MAX) as usize);
        self.begin_tuned(tuning, control)
    }

    /// Begins a pass over the file.
    pub(in crate::datafusion) fn begin(&self, control: Arc<Control>) -> Result<Arc<TextScan>, Error> {
        self.begin_tuned(self.table.tuning.clone(), control)
    }

    fn begin_tuned(&self, mut tuning: Tuning, control: Arc<Control>) -> Result<Arc<TextScan>, Error> {
        let table = &self.table;
        if self.is_serial() {
            tuning.threads = 1;
        }
        let filter = self
            .predicate
            .as_ref()
            .map(|predicate| Arc::new(Filter { predicate: Arc::clone(predicate) }) as Arc<dyn RowFilter>);
        let request = ScanRequest {
            schema: Arc::clone(&table.schema),
            projection: self.projection.columns.to_vec(),
            filter,
            limit: self.fetch,
            options: table.options.clone(),
            tuning,
            memory: Arc::clone(&table.memory),
            control,
        };
        let files = table.files(self.predicate.as_deref()).map_err(crate::datafusion::errors::from_datafusion)?;
        TextScan::new(files, request).map_err(|error| named_by_inputs(error, &table.inputs))
    }
}

impl TextSource {
    /// `error` of a worker of the scan.
    pub(in crate::datafusion) fn named(&self, error: LoadError) -> Error {
        named_by_inputs(error, &self.table.inputs)
    }

    /// The rows of `batch` under the schema of the plan, which may differ in names of fields only.
    pub(in crate::datafusion) fn with_schema(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        under_schema(batch, &self.projection.schema)
    }
}

fn under_schema(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let columns = batch.columns().to_vec();
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options).map_err(DataFusionError::from)
}

impl fmt::Debug for TextSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextSource")
            .field("name", &self.table.name)
            .field("projection", &self.projection)
            .field("predicate", &self.predicate)
            .field("fetch", &self.fetch)
            .finish_non_exhaustive()
    }
}

impl DataSource for TextSource {
    fn open(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.open_with_args(OpenArgs::new(partition, context))
    }

    fn create_sibling_state(&self, _config: &ConfigOptions) -> Option<Arc<dyn Any + Send + Sync>> {
        Some(Arc::new(Pass(OnceLock::new())))
    }

    fn open_with_args(&self, args: OpenArgs) -> Result<SendableRecordBatchStream> {
        let schema = Arc::clone(&self.projection.schema);
        if args.partition > 0 && self.is_serial() {
            return Ok(Box::pin(EmptyRecordBatchStream::new(schema)));
        }
        let session = args.context.session_config();
        let (Some(pass), Some(control)) =
            (args.sibling_state.and_then(|state| state.downcast::<Pass>().ok()), session.get_extension::<Control>())
        else {
            return internal_err!("the scan of {} was opened without its pass", self.table.name);
        };
        let scan = pass.0.get_or_init(|| self.begin(control));
        let scan = scan.as_ref().map_err(|error| external(error.clone()))?;
        let metrics = BaselineMetrics::new(&self.metrics, args.partition);
        Ok(Box::pin(cooperative(TextStream {
            worker: Some(scan.worker()),
            table: Arc::clone(&self.table),
            schema,
            metrics,
            limit: LimitCheck::new(&args.context),
        })))
    }

    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tree = matches!(t, DisplayFormatType::TreeRender);
        let separator = if tree { "\n" } else { ", " };
        write!(f, "file={}", self.table.name)?;
        let columns: Vec<&str> = self.projection.schema.fields().iter().map(|f| f.name().as_str()).collect();
        write!(f, "{separator}columns=[{}]", columns.join(", "))?;
        if let Some(predicate) = &self.predicate {
            write!(f, "{separator}predicate={predicate}")?;
        }
        if let Some(fetch) = self.fetch {
            write!(f, "{separator}fetch={fetch}")?;
        }
        if tree { writeln!(f) } else { Ok(()) }
    }

    fn output_partitioning(&self) -> Partitioning {
        Partitioning::UnknownPartitioning(self.table.tuning.threads)
    }

    fn eq_properties(&self) -> EquivalenceProperties {
        EquivalenceProperties::new(Arc::clone(&self.projection.schema))
    }

    fn scheduling_type(&self) -> SchedulingType {
        SchedulingType::Cooperative
    }

    fn partition_statistics(&self, partition: Option<usize>) -> Result<Arc<Statistics>> {
        let mut statistics = Statistics::new_unknown(&self.projection.schema);
        if let Some(bytes) = self.table.bytes() {
            let values = VALUE_BYTES_GUESS * self.table.arrow.fields().len() as u64;
            let workers = partition.map_or(1, |_| self.table.tuning.threads);
            let rows = bytes as usize / values as usize / workers;
            let rows = self.fetch.map_or(rows, |fetch| rows.min(fetch));
            statistics.num_rows = Precision::Inexact(rows);
            statistics.total_byte_size =
                Precision::Inexact(rows * VALUE_BYTES_GUESS as usize * self.projection.columns.len());
        }
        Ok(Arc::new(statistics))
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
        let projection = self.projection.then(projection, &self.table.arrow)?;
        Ok(projection.map(|projection| Arc::new(Self { projection, ..self.clone() }) as Arc<dyn DataSource>))
    }

    fn try_pushdown_filters(
        &self,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        _config: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn DataSource>>> {
        if self.fetch.is_some() || self.table.checks_all {
            return Ok(none_taken(filters.len()));
        }
        let offer = Offer::of_simple(filters, &self.projection)?;
        let propagation = FilterPushdownPropagation::with_parent_pushdown_result(offer.answers);
        if offer.rows.is_empty() {
            return Ok(propagation);
        }
        let before = self.predicate.iter().flat_map(|p| p.conjuncts().map(Arc::clone));
        let predicate = Predicate::new(before.chain(offer.rows), &self.table.arrow, |_| false)?;
        Ok(propagation.with_updated_node(Arc::new(Self { predicate: Some(Arc::new(predicate)), ..self.clone() })))
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        for expr in self.predicate.iter().flat_map(|predicate| predicate.conjuncts()) {
            if f(expr)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }
}

/// The predicate of a query as the parser of the file asks for it.
struct Filter {
    predicate: Arc<Predicate>,
}

impl RowFilter for Filter {
    fn columns(&self) -> &[usize] {
        self.predicate.columns()
    }

    fn select(&self, batch: &RecordBatch) -> Result<BooleanArray, String> {
        let rows = batch.num_rows();
        let mut values = Fields { columns: self.predicate.columns(), batch };
        match self.predicate.select(rows, None, &mut values, &mut CodeAnswers::default()) {
            Ok(Selection::Some(mask)) => Ok(mask),
            Ok(Selection::All) => Ok(BooleanArray::from(vec![true; rows])),
            Ok(Selection::None) => Ok(BooleanArray::from(vec![false; rows])),
            Err(error) => Err(error.strip_backtrace()),
        }
    }
}

/// The batches of one worker.
struct TextStream {
    /// `None` once the worker has ended.
    worker: Option<ScanWorker>,
    table: Arc<TextTable>,
    schema: SchemaRef,
    metrics: BaselineMetrics,
    limit: LimitCheck,
}

impl TextStream {
    fn next_batch(&mut self) -> Option<Result<RecordBatch>> {
        let elapsed = self.metrics.elapsed_compute().clone();
        let _timer = elapsed.timer();
        let worker = self.worker.as_mut()?;
        if let Err(error) = self.limit.check() {
            self.worker = None;
            return Some(Err(error));
        }
        let batch = worker.next();
        if !matches!(batch, Some(Ok(_))) {
            self.worker = None;
        }
        let batch = batch?.map_err(|error| external(named_by_inputs(error, &self.table.inputs)));
        Some(batch.and_then(|batch| under_schema(&batch, &self.schema)))
    }
}

impl Stream for TextStream {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let batch = self.next_batch();
        self.metrics.record_poll(Poll::Ready(batch))
    }
}

impl RecordBatchStream for TextStream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

impl TextTable {
    /// The texts for one pass, without those that have no row for which `predicate` is true; all where bad records are
    /// told of.
    pub(super) fn files(&self, predicate: Option<&Predicate>) -> Result<Vec<InputFile>> {
        let inputs = match predicate {
            Some(predicate) if self.options.on_error.stops() => {
                prune::files_left(&self.inputs, predicate, &self.arrow)?
            }
            _ => self.inputs.iter().collect(),
        };
        Ok(inputs.into_iter().map(TextInput::file).collect())
    }
}

#[async_trait]
impl TableProvider for TextTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.arrow)
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }

    async fn scan(
        &self,
        _state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let projection = Projection::new(&self.arrow, projection)?;
        Ok(DataSourceExec::from_data_source(TextSource::new(Arc::new(self.clone()), projection, limit)))
    }
}
