//! A system table as a query reads it: its rows are made when the plan is.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::catalog::memory::MemorySourceConfig;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;

use super::definition::Definition;
use super::rows::Rows;
use super::{Fill, SystemCatalog, fixed};

/// A system table.
#[derive(Debug)]
pub(super) struct SystemTable {
    definition: &'static Definition,
    catalog: Arc<SystemCatalog>,
    /// What fills it, beside what is fixed.
    fill: Option<Fill>,
}

impl SystemTable {
    pub(super) fn new(definition: &'static Definition, catalog: &Arc<SystemCatalog>, fill: Option<Fill>) -> Self {
        Self { definition, catalog: Arc::clone(catalog), fill }
    }

    /// The columns at these places.
    fn rows(&self, wanted: Vec<usize>, schema: &SchemaRef) -> Result<RecordBatch> {
        let mut rows = Rows::new(self.definition, wanted);
        for row in fixed::rows(self.definition) {
            rows.whole(row);
        }
        if let Some(fill) = self.fill {
            fill(&self.catalog, &mut rows);
        }
        let count = rows.count();
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        Ok(RecordBatch::try_new_with_options(Arc::clone(schema), rows.finish(), &options)?)
    }
}

#[async_trait]
impl TableProvider for SystemTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.definition.arrow)
    }

    fn table_type(&self) -> TableType {
        TableType::View
    }

    async fn scan(
        &self,
        _state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let wanted = projection.cloned().unwrap_or_else(|| (0..self.definition.columns.len()).collect());
        let fields: Vec<_> = wanted.iter().map(|at| Arc::clone(&self.definition.arrow.fields()[*at])).collect();
        let schema: SchemaRef = Arc::new(Schema::new(fields));
        let rows = self.rows(wanted, &schema)?;
        Ok(MemorySourceConfig::try_new_exec(&[vec![rows]], schema, None)?)
    }
}
