//! What a statement gives back.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use futures::stream::BoxStream;
use futures::{Stream, StreamExt};

use crate::Error;

/// What a statement gives back.
#[derive(Debug)]
pub enum Outcome {
    /// Rows, made while they are read.
    Rows(RowStream),
    /// The statement is done.
    Done {
        /// What was done, as PostgreSQL says it: `CREATE TABLE`, `COPY 42`. Empty for an empty statement.
        tag: String,
        /// How much was done, and in what time.
        report: Report,
        /// What else is to be said, such as how many records were left out.
        notice: Option<String>,
    },
}

impl Outcome {
    /// A statement that moved no rows worth a report.
    pub(crate) fn done(tag: impl Into<String>) -> Self {
        Self::Done { tag: tag.into(), report: Report::default(), notice: None }
    }
}

/// How much a statement did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Report {
    /// Rows inserted, loaded or written.
    pub rows: u64,
    /// Bytes of files read.
    pub bytes_read: u64,
    /// Bytes of files written.
    pub bytes_written: u64,
    /// Wall-clock time.
    pub seconds: f64,
}

/// The rows of a query, in batches: a stream that does the work as it is polled.
pub struct RowStream {
    schema: SchemaRef,
    stream: BoxStream<'static, Result<RecordBatch, Error>>,
}

impl RowStream {
    /// Rows that `stream` makes; every batch has `schema`.
    pub(crate) fn new(
        schema: SchemaRef,
        stream: impl Stream<Item = Result<RecordBatch, Error>> + Send + 'static,
    ) -> Self {
        Self { schema, stream: Box::pin(stream) }
    }

    /// Rows that are there already.
    pub(crate) fn from_batch(batch: RecordBatch) -> Self {
        Self::new(batch.schema(), futures::stream::iter([Ok(batch)]))
    }

    /// The same rows; errors are changed by `change`.
    pub(crate) fn with_errors(self, change: impl Fn(Error) -> Error + Send + 'static) -> Self {
        let stream = self.stream.map(move |batch| batch.map_err(&change));
        Self { schema: self.schema, stream: Box::pin(stream) }
    }

    /// Names and types of the columns.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }
}

impl Stream for RowStream {
    type Item = Result<RecordBatch, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.stream.as_mut().poll_next(context)
    }
}

impl fmt::Debug for RowStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowStream").field("schema", &self.schema).finish_non_exhaustive()
    }
}
