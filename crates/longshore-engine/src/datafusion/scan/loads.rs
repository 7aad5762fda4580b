//! What `longshore_loads` shows: every load of files that the transaction sees in the ledger, and those that run.
//!
//! The rows are made when the plan is about to run. Tables are called what they are called now, as long as they are there.
//! Not here: the ledger (`catalog`).

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use datafusion::arrow::array::{
    ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray,
};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::catalog::memory::MemorySourceConfig;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::datasource::TableType;
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::ExecutionPlan;
use longshore_load::Control;

use crate::catalog::{Catalog, Entry, LoadRecord};
use crate::datafusion::errors::external;
use crate::transaction::StatementTransaction;
use crate::{Error, blocking};

/// The zone of times.
const ZONE: &str = "UTC";

/// Names and types of the columns.
static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
    let time = DataType::Timestamp(TimeUnit::Microsecond, Some(ZONE.into()));
    Arc::new(Schema::new(vec![
        Field::new("load", DataType::Int64, false),
        Field::new("table_name", DataType::Utf8, false),
        Field::new("file", DataType::Utf8, false),
        Field::new("status", DataType::Utf8, false),
        Field::new("rows", DataType::Int64, true),
        Field::new("rejects", DataType::Int64, true),
        Field::new("bytes", DataType::Int64, true),
        Field::new("size", DataType::Int64, true),
        Field::new("modified", time.clone(), true),
        Field::new("version", DataType::Utf8, true),
        Field::new("hash", DataType::Utf8, true),
        Field::new("started", time, false),
        Field::new("seconds", DataType::Float64, false),
        Field::new("error", DataType::Utf8, true),
    ]))
});

/// The names and types of the columns of `longshore_loads`, and whether they may be NULL.
pub(crate) fn loads_schema() -> SchemaRef {
    Arc::clone(&SCHEMA)
}

/// All loads as rows.
pub(in crate::datafusion) struct LoadsTable {
    catalog: Arc<Catalog>,
    transaction: Arc<StatementTransaction>,
}

impl LoadsTable {
    /// The loads of the database whose catalog this is.
    pub(in crate::datafusion) fn new(catalog: &Arc<Catalog>, transaction: &Arc<StatementTransaction>) -> Self {
        Self { catalog: Arc::clone(catalog), transaction: Arc::clone(transaction) }
    }

    /// What there is to show, in the order of the loads.
    fn records(&self) -> Result<Vec<LoadRecord>, Error> {
        // Before the ledger: what ends meanwhile is seen in one of them at least.
        let running = self.catalog.loads.records();
        let mut records = match self.catalog.ledger() {
            Some(ledger) => self.transaction.with(|transaction| ledger.records(transaction))?,
            None => Vec::new(),
        };
        let mut names: HashMap<i64, String> = HashMap::new();
        for entry in self.catalog.entries() {
            if let Entry::Table(table) = self.transaction.seen(&self.catalog, entry) {
                names.insert(table.number(), table.name.clone());
            }
        }
        let is_running = |record: &LoadRecord| !records.iter().any(|noted: &LoadRecord| noted.load == record.load);
        let running: Vec<LoadRecord> = running.into_iter().filter(is_running).collect();
        records.extend(running);
        for record in &mut records {
            if let Some(name) = names.get(&record.table) {
                record.table_name.clone_from(name);
            }
        }
        records.sort_by(|a, b| (a.load, &a.file).cmp(&(b.load, &b.file)));
        Ok(records)
    }
}

impl fmt::Debug for LoadsTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadsTable").finish_non_exhaustive()
    }
}

#[async_trait]
impl TableProvider for LoadsTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&SCHEMA)
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }

    async fn scan(
        &self,
        _state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let table = Self::new(&self.catalog, &self.transaction);
        // There may be many; who gives the query up waits for none of them.
        let control = Arc::new(Control::new());
        let made = blocking::run_abandonable(&control, move || rows(&table.records()?));
        let rows = made.await.map_err(external)?;
        Ok(MemorySourceConfig::try_new_exec(&[vec![rows]], Arc::clone(&SCHEMA), projection.cloned())?)
    }
}

fn rows(records: &[LoadRecord]) -> Result<RecordBatch, Error> {
    let numbers = |number: &dyn Fn(&LoadRecord) -> Option<i64>| -> ArrayRef {
        Arc::new(records.iter().map(number).collect::<Int64Array>())
    };
    let times = |time: &dyn Fn(&LoadRecord) -> Option<i64>| -> ArrayRef {
        Arc::new(records.iter().map(time).collect::<TimestampMicrosecondArray>().with_timezone(ZONE))
    };
    let texts = |text: &dyn for<'r> Fn(&'r LoadRecord) -> Option<&'r str>| -> ArrayRef {
        Arc::new(records.iter().map(text).collect::<StringArray>())
    };
    let arrays: Vec<ArrayRef> = vec![
        numbers(&|record| Some(record.load)),
        texts(&|record| Some(&record.table_name)),
        texts(&|record| Some(&record.file)),
        texts(&|record| Some(record.status.name())),
        numbers(&|record| record.rows),
        numbers(&|record| record.rejects),
        numbers(&|record| record.bytes),
        numbers(&|record| record.size),
        times(&|record| record.modified),
        texts(&|record| record.version.as_deref()),
        texts(&|record| record.hash.as_deref()),
        times(&|record| Some(record.started)),
        Arc::new(records.iter().map(|record| record.seconds).collect::<Float64Array>()),
        texts(&|record| record.error.as_deref()),
    ];
    RecordBatch::try_new(Arc::clone(&SCHEMA), arrays).map_err(|error| Error::internal(error.to_string()))
}
