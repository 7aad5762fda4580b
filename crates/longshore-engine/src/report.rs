//! What a statement gives back.

mod csv;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use futures::stream::BoxStream;
use futures::{Stream, StreamExt, TryStreamExt};

use crate::{Error, TypeId, panics};

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
    /// The same, with what else is to be said.
    pub(crate) fn with_notices(self, notices: Vec<String>) -> Self {
        if notices.is_empty() {
            return self;
        }
        match self {
            Self::Rows(rows) => Self::Rows(RowStream { notice: Some(notices.join("\n")), ..rows }),
            Self::Done { tag, report, notice } => {
                let notice = notices.into_iter().chain(notice).collect::<Vec<_>>().join("\n");
                Self::Done { tag, report, notice: Some(notice) }
            }
        }
    }

    /// A statement that moved no rows worth a report.
    pub(crate) fn done(tag: impl Into<String>) -> Self {
        Self::Done { tag: tag.into(), report: Report::default(), notice: None }
    }
}

/// What a statement gives back, without `secrets` in its errors.
pub(crate) fn without(outcome: Result<Outcome, Error>, secrets: Vec<String>) -> Result<Outcome, Error> {
    if secrets.is_empty() {
        return outcome;
    }
    match outcome.map_err(|error| error.without(&secrets))? {
        Outcome::Rows(rows) => Ok(Outcome::Rows(rows.with_errors(move |error| error.without(&secrets)))),
        done @ Outcome::Done { .. } => Ok(done),
    }
}

/// What a prepared statement takes and gives.
#[derive(Clone, Debug)]
pub struct Description {
    /// The OIDs of the types of its parameters in `pg_type`.
    pub parameters: Vec<u32>,
    /// Its columns, unless it gives no rows.
    pub columns: Option<ResultColumns>,
}

/// The columns of rows.
#[derive(Clone, Debug)]
pub struct ResultColumns {
    /// Their names, and their types in memory.
    pub schema: SchemaRef,
    /// Their types as PostgreSQL's programs know them.
    pub types: Arc<[TypeId]>,
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

/// What rows of tables take of memory: bytes of values, validity bits and texts. Indexes and old versions are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableBytes {
    /// Bytes as they are kept.
    pub stored: u64,
    /// The same if all columns were plain.
    pub if_plain: u64,
}

/// A function that statements may call.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// `scalar`, `aggregate`, `window` or `table`.
    pub kind: &'static str,
}

/// The command of rows of which nothing else is said.
const SELECT: &str = "SELECT";

/// The rows of a query, in batches: a stream that does the work as it is polled.
pub struct RowStream {
    schema: SchemaRef,
    stream: BoxStream<'static, Result<RecordBatch, Error>>,
    notice: Option<String>,
    /// Where they are not just those of the schema.
    types: Option<Arc<[TypeId]>>,
    command: &'static str,
    is_binary: bool,
    /// What made them, with what it did, if that was kept.
    plan: Option<PlanText>,
}

/// Tells what a plan did.
type PlanText = Arc<dyn Fn() -> String + Send + Sync>;

impl RowStream {
    /// Rows that `stream` makes; every batch has `schema`.
    pub(crate) fn new(
        schema: SchemaRef,
        stream: impl Stream<Item = Result<RecordBatch, Error>> + Send + 'static,
    ) -> Self {
        Self {
            schema,
            stream: Box::pin(stream),
            notice: None,
            types: None,
            command: SELECT,
            is_binary: false,
            plan: None,
        }
    }

    /// Rows that are there already.
    pub(crate) fn from_batch(batch: RecordBatch) -> Self {
        Self::new(batch.schema(), futures::stream::iter([Ok(batch)]))
    }

    /// The same rows, once all of them are made.
    pub(crate) async fn made(self) -> Result<Self, Error> {
        let Self { schema, stream, notice, types, command, is_binary, plan } = self;
        let batches: Vec<RecordBatch> = stream.try_collect().await?;
        let made = Self::new(schema, futures::stream::iter(batches.into_iter().map(Ok)));
        Ok(Self { notice, types, command, is_binary, plan, ..made })
    }

    /// The same rows, whose columns have these types.
    pub(crate) fn with_types(self, types: Arc<[TypeId]>) -> Self {
        Self { types: Some(types), ..self }
    }

    /// The same rows as those that another command than SELECT gives.
    pub(crate) fn of_command(self, command: &'static str) -> Self {
        Self { command, ..self }
    }

    /// The same rows; errors are changed by `change`.
    pub(crate) fn with_errors(self, change: impl Fn(Error) -> Error + Send + 'static) -> Self {
        let Self { stream, .. } = self;
        let stream = stream.map(move |batch| batch.map_err(&change));
        Self { stream: Box::pin(stream), ..self }
    }

    /// The same rows with the columns of `schema`, which `convert` gives each batch.
    pub(crate) fn converted(
        self,
        schema: SchemaRef,
        convert: impl Fn(&RecordBatch) -> Result<RecordBatch, Error> + Send + 'static,
    ) -> Self {
        let types = self.types();
        let Self { stream, .. } = self;
        let stream = stream.map(move |batch| batch.and_then(|batch| convert(&batch)));
        Self { schema, stream: Box::pin(stream), types: Some(types), ..self }
    }

    /// The same rows, with what tells what has made them.
    pub(crate) fn with_plan(self, plan: PlanText) -> Self {
        Self { plan: Some(plan), ..self }
    }

    /// What has made the rows, with what each operator did so far, as `EXPLAIN ANALYZE` tells it. It is kept where
    /// `log_min_duration_statement` is set; `None` elsewhere, and where no planner was needed.
    #[must_use]
    pub fn explained(&self) -> Option<String> {
        self.plan.as_ref().map(|plan| plan())
    }

    /// What else is to be said, such as which records of a file were repaired.
    #[must_use]
    pub fn notice(&self) -> Option<&str> {
        self.notice.as_deref()
    }

    /// The types of the columns as PostgreSQL's programs know them: what Arrow has no type for, such as UUID, and limits of
    /// columns, such as the length of a VARCHAR, are told here and not in the schema.
    #[must_use]
    pub fn types(&self) -> Arc<[TypeId]> {
        let of_schema = || self.schema.fields().iter().map(|field| TypeId::of_values(field.data_type())).collect();
        self.types.clone().unwrap_or_else(of_schema)
    }

    /// The command that gives the rows, as its tag begins: `SELECT`, `INSERT 0`, `SHOW`.
    #[must_use]
    pub fn command(&self) -> &'static str {
        self.command
    }

    /// Whether they were asked for in PostgreSQL's binary format, as those of a binary cursor are.
    #[must_use]
    pub fn is_binary(&self) -> bool {
        self.is_binary
    }

    /// The same rows, asked for in PostgreSQL's binary format.
    pub(crate) fn in_binary(self) -> Self {
        Self { is_binary: true, ..self }
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
        let stream = &mut self.stream;
        match catch_unwind(AssertUnwindSafe(|| stream.as_mut().poll_next(context))) {
            Ok(polled) => polled,
            Err(panic) => {
                // What the panic left is not to be asked again.
                self.stream = Box::pin(futures::stream::empty());
                Poll::Ready(Some(Err(panics::error(panic.as_ref()))))
            }
        }
    }
}

impl fmt::Debug for RowStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowStream").field("schema", &self.schema).finish_non_exhaustive()
    }
}
