//! The rows of a query as CSV, formatted by all workers as COPY TO formats them.

use std::io::Write;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, StringViewArray};
use arrow_schema::{DataType, Schema, SchemaRef};
use futures::StreamExt;
use longshore_load::{ColumnChoice, Control, Dialect, RowText, Target, UnloadOptions, unload_text};
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;

use super::RowStream;
use crate::{Error, panics};

/// Rows that one worker formats at a time.
const WRITTEN_ROWS: usize = 8192;

impl RowStream {
    /// Whether [`RowStream::write_csv`] writes all columns as they are shown elsewhere.
    #[must_use]
    pub fn has_plain_columns(&self) -> bool {
        let is_plain = |data_type: &DataType| {
            data_type.is_integer()
                || matches!(
                    data_type,
                    DataType::Boolean
                        | DataType::Float32
                        | DataType::Float64
                        | DataType::Decimal128(_, 0..)
                        | DataType::Utf8
                        | DataType::LargeUtf8
                        | DataType::Utf8View
                        | DataType::Date32
                        | DataType::Timestamp(_, None)
                )
        };
        self.schema.fields().iter().all(|field| is_plain(field.data_type()))
    }

    /// Writes all rows as CSV under a header, with `threads` workers; truth values are `true` and `false`. Returns their number.
    ///
    /// # Errors
    /// The error of the query, or of `out`.
    pub async fn write_csv(self, out: impl Write + Send + 'static, threads: usize) -> Result<u64, Error> {
        let schema = with_words(&self.schema);
        let runtime = Handle::current();
        let mut rows = self;
        // A query that fails at once writes nothing.
        let mut pending: Option<RecordBatch> = rows.next().await.transpose()?;
        let written = spawn_blocking(move || {
            // What the query failed with, which the writer only sees the text of.
            let mut failure = None;
            let to = Arc::clone(&schema);
            let batches = std::iter::from_fn(|| {
                let batch = match pending.take() {
                    Some(batch) => batch,
                    None => match runtime.block_on(rows.next())? {
                        Ok(batch) => batch,
                        Err(error) => {
                            failure = Some(error.clone());
                            return Some(Err(error));
                        }
                    },
                };
                let rows = batch.num_rows().min(WRITTEN_ROWS);
                pending = (rows < batch.num_rows()).then(|| batch.slice(rows, batch.num_rows() - rows));
                Some(words(&batch.slice(0, rows), &to))
            });
            let dialect = Dialect::new(b',', Some(b'"'), None).map_err(|error| Error::internal(error.to_string()))?;
            let options = UnloadOptions { dialect, null: String::new(), header: true, force_quote: ColumnChoice::None };
            let target = Target::Writer(Box::new(out));
            let unloaded =
                unload_text(batches, &schema, target, &RowText::Csv(options), None, threads, &Control::new());
            unloaded.map(|report| report.rows).map_err(|error| failure.unwrap_or_else(|| error.into()))
        });
        written.await.unwrap_or_else(|error| {
            Err(error.try_into_panic().map_or_else(|_| Error::cancelled(), |panic| panics::error(panic.as_ref())))
        })
    }
}

/// The schema with texts in place of truth values.
fn with_words(schema: &SchemaRef) -> SchemaRef {
    let fields = schema.fields().iter().map(|field| match field.data_type() {
        DataType::Boolean => Arc::new(field.as_ref().clone().with_data_type(DataType::Utf8View)),
        _ => Arc::clone(field),
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

fn words(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, Error> {
    let columns = batch.columns().iter().map(|column| match column.data_type() {
        DataType::Boolean => {
            let words = column.as_boolean().iter().map(|value| value.map(|value| if value { "true" } else { "false" }));
            Arc::new(words.collect::<StringViewArray>()) as ArrayRef
        }
        _ => Arc::clone(column),
    });
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns.collect(), &options)
        .map_err(|error| Error::internal(error.to_string()))
}
