//! Rows that come once, one batch after the other, as a table of a query.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::TableProvider;
use datafusion::catalog::streaming::StreamingTable;
use datafusion::common::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchReceiverStream;
use datafusion::physical_plan::streaming::PartitionStream;

use crate::Error;
use crate::datafusion::errors::external;

/// Batches that are ready before they are asked for.
const BATCHES_AHEAD: usize = 2;

/// What makes the rows; it may block.
type Batches = Box<dyn Iterator<Item = Result<RecordBatch, Error>> + Send>;

/// Rows that come once.
pub(crate) struct RowsOnce {
    schema: SchemaRef,
    /// `None` once they are read.
    batches: Mutex<Option<Batches>>,
}

impl RowsOnce {
    pub(crate) fn new(
        schema: SchemaRef,
        batches: impl Iterator<Item = Result<RecordBatch, Error>> + Send + 'static,
    ) -> Self {
        Self { schema, batches: Mutex::new(Some(Box::new(batches))) }
    }

    /// Names and types of the columns.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    pub(in crate::datafusion) fn table(self) -> Result<Arc<dyn TableProvider>> {
        let schema = Arc::clone(&self.schema);
        Ok(Arc::new(StreamingTable::try_new(schema, vec![Arc::new(self)])?))
    }
}

impl fmt::Debug for RowsOnce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowsOnce").field("schema", &self.schema).finish_non_exhaustive()
    }
}

impl PartitionStream for RowsOnce {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let batches = self.batches.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut rows = RecordBatchReceiverStream::builder(Arc::clone(&self.schema), BATCHES_AHEAD);
        let sender = rows.tx();
        rows.spawn_blocking(move || {
            let Some(batches) = batches else {
                return Err(external(Error::unsupported("these rows come once, and were read already")));
            };
            for batch in batches {
                if sender.blocking_send(batch.map_err(external)).is_err() {
                    // Nobody wants more.
                    break;
                }
            }
            Ok(())
        });
        rows.build()
    }
}
