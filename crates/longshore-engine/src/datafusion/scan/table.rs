//! Tables as `DataFusion` sees them.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::datasource::TableType;
use datafusion::datasource::source::DataSourceExec;
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::ExecutionPlan;
use longshore_storage::{Relation, Snapshot};

use super::RelationSource;
use super::enums::of_checks;
use super::pushdown::Projection;
use super::reads::Reads;
use crate::catalog::Table;
use crate::datafusion::functions::enums::Enumeration;
use crate::datafusion::hidden_names::ROW_COLUMN;
use crate::sql::names;
use crate::transaction::StatementTransaction;

/// One table in one statement: however often the statement names it, it sees the same rows.
#[derive(Clone)]
pub(in crate::datafusion) struct RelationTable {
    name: Arc<str>,
    /// What tells the table from all others ([`Table::identity`]).
    identity: i64,
    relation: Arc<Relation>,
    snapshot: Arc<Snapshot>,
    schema: SchemaRef,
    reads: Reads,
    /// The columns that are of an enumeration.
    enums: Arc<HashMap<usize, Arc<Enumeration>>>,
    /// What columns take that an INSERT names no value for.
    defaults: HashMap<String, Expr>,
}

impl RelationTable {
    /// The rows of `table` that `transaction` sees.
    pub(in crate::datafusion) fn new(table: &Table, transaction: &Arc<StatementTransaction>) -> Self {
        Self {
            name: names::shown_name(&table.name).into(),
            identity: table.identity(),
            relation: Arc::clone(&table.relation),
            snapshot: transaction.snapshot_to_query(&table.relation),
            schema: table.relation.schema().arrow(),
            reads: Reads::new(transaction, &table.relation),
            enums: Arc::new(of_checks(table.rules().checks.iter())),
            defaults: HashMap::new(),
        }
    }

    /// The same with the number of each row in a column behind the others.
    pub(in crate::datafusion) fn with_rows(table: &Table, transaction: &Arc<StatementTransaction>) -> Self {
        Self::new(table, transaction).numbered()
    }

    /// The same rows with the number of each in a column behind the others.
    pub(in crate::datafusion) fn numbered(&self) -> Self {
        let mut fields: Vec<_> = self.relation.schema().arrow().fields().iter().cloned().collect();
        fields.push(Arc::new(Field::new(ROW_COLUMN, DataType::UInt64, false)));
        Self { schema: Arc::new(Schema::new(fields)), ..self.clone() }
    }

    /// The same as the target of an INSERT, which puts `defaults` where it has no value. It takes NULL everywhere,
    /// because NOT NULL is checked when rows are appended, with a message that names the column.
    pub(in crate::datafusion) fn target(
        table: &Table,
        transaction: &Arc<StatementTransaction>,
        defaults: HashMap<String, Expr>,
    ) -> Self {
        let target = Self::new(table, transaction);
        let fields = target.schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
        Self { schema: Arc::new(Schema::new(fields.collect::<Vec<_>>())), defaults, ..target }
    }

    /// Logs that all its rows were read, whatever was read of them.
    pub(in crate::datafusion) fn log_everything(&self) {
        let columns: Vec<usize> = (0..self.relation.schema().columns().len()).collect();
        self.reads.log(None, &columns);
    }

    /// What it is called.
    pub(in crate::datafusion) fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// The number of rows that the transaction sees.
    pub(in crate::datafusion) fn rows(&self) -> usize {
        self.snapshot.rows() as usize
    }

    /// A scan of its rows, with up to `threads` workers.
    pub(super) fn source(&self, projection: Projection, fetch: Option<usize>, threads: usize) -> RelationSource {
        let (snapshot, schema) = (Arc::clone(&self.snapshot), Arc::clone(&self.schema));
        RelationSource::new(Arc::clone(&self.name), snapshot, schema, projection, fetch, self.reads.clone(), threads)
    }

    /// The columns that are of an enumeration.
    pub(in crate::datafusion) fn enums(&self) -> &HashMap<usize, Arc<Enumeration>> {
        &self.enums
    }

    /// What tells the table from all others.
    pub(in crate::datafusion) fn identity(&self) -> i64 {
        self.identity
    }

    /// The table, where INSERT appends.
    pub(in crate::datafusion) fn relation(&self) -> &Arc<Relation> {
        &self.relation
    }
}

impl fmt::Debug for RelationTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RelationTable").field("name", &self.name).finish_non_exhaustive()
    }
}

#[async_trait]
impl TableProvider for RelationTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn get_column_default(&self, column: &str) -> Option<&Expr> {
        self.defaults.get(column)
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let projection = Projection::new(&self.schema, projection)?;
        Ok(DataSourceExec::from_data_source(self.source(projection, limit, state.config().target_partitions())))
    }
}
