//! What EXPLAIN says, without the line break behind each plan, which tables show as an empty line. It tells how many rows there
//! are, so it reads all of them.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringArray};
use datafusion::arrow::datatypes::DataType;
use futures::StreamExt;
use sqlparser::ast::Statement;

use super::Queries;
use crate::datafusion::errors::from_datafusion;
use crate::datafusion::request::ExecutionContext;
use crate::{Error, RowStream};

impl Queries {
    /// What EXPLAIN says.
    pub(crate) async fn explain(
        &self,
        statement: Statement,
        context: &ExecutionContext<'_>,
    ) -> Result<RowStream, Error> {
        let planner = self.planner(context);
        let names = Arc::clone(&planner.names);
        let rows = self.run_query(planner, statement, &ExecutionContext { parameters: None, ..*context }).await?;
        // A plan tells how many rows there are, and depends on what is in them.
        names.log_everything();
        Ok(trimmed(rows))
    }
}

/// The same rows without line breaks at the end of texts.
fn trimmed(rows: RowStream) -> RowStream {
    let schema = Arc::clone(rows.schema());
    RowStream::new(schema, rows.map(|batch| trimmed_batch(&batch?)))
}

fn trimmed_batch(batch: &RecordBatch) -> Result<RecordBatch, Error> {
    let column = |array: &ArrayRef| match array.data_type() {
        DataType::Utf8 => {
            let texts = array.as_string::<i32>().iter().map(|text| text.map(|text| text.trim_end_matches('\n')));
            Arc::new(texts.collect::<StringArray>()) as ArrayRef
        }
        _ => Arc::clone(array),
    };
    let columns = batch.columns().iter().map(column).collect();
    RecordBatch::try_new(batch.schema(), columns).map_err(|error| from_datafusion(error.into()))
}
