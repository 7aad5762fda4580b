//! COPY TO: tables and queries to text files.
//!
//! All or nothing, on blocking threads. Not here: parsing of the statement (`sql::copy`) and of its options
//! (`sql::options`), writing of text (`longshore-load`).

use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, new_empty_array};
use arrow_schema::{DataType, Schema, SchemaRef};
use futures::StreamExt;
use longshore_load::{Target, unload_csv};
use longshore_storage::Snapshot;
use sqlparser::ast::{Expr, Query, SelectItem, Statement, WildcardAdditionalOptions};

use crate::catalog::Entry;
use crate::datafusion::nested_texts;
use crate::sql::copy::{CopyTarget, CopyTo, CopyWhat};
use crate::sql::options::{Format, Options, Use};
use crate::sql::{build, repeated};
use crate::statement::copy::{check_named, copied_positions};
use crate::statement::{Context, Streams, refuse};
use crate::{Error, Outcome, Report, RowStream, blocking};

/// Rows that one worker formats at a time.
const UNLOAD_ROWS: usize = 8192;

pub(crate) async fn copy_to(context: &Context<'_>, streams: &mut Streams, copy: CopyTo) -> Result<Outcome, Error> {
    let options = Options::new(&copy.options, Use::CopyTo)?;
    if let Some(other) = options.format.filter(|format| *format != Format::Csv) {
        return Err(Error::unsupported(format!(
            "COPY TO with FORMAT {} is not supported yet; use EXPORT DATABASE, or FORMAT csv",
            other.name()
        )));
    }
    let target = match copy.target {
        CopyTarget::File(path) => {
            if options.format.is_none() {
                refuse_ending(&path, options.is_given("DELIMITER"))?;
            }
            Target::File(path.into())
        }
        CopyTarget::Stdout => Target::Writer(Box::new(streams.output.clone().ok_or_else(|| {
            Error::unsupported("COPY TO STDOUT: no standard output was given to this session; copy to a file")
        })?)),
    };
    let report = unload(context, copy.what, target, &options).await?;
    Ok(Outcome::Done { tag: format!("COPY {}", report.rows), report, notice: None })
}

/// Endings of files that are no CSV, and what there is instead.
const OTHER_FILES: [(&[&str], &str); 5] = [
    (&["parquet", "pq"], "EXPORT DATABASE '...' (FORMAT parquet) writes tables as Parquet"),
    (
        &["gz", "gzip", "tgz", "zst", "zstd", "bz2", "xz", "lz4", "zip", "br", "sz", "snappy", "7z", "tar"],
        "compress the file when it is written, or COPY ... TO STDOUT into a program that compresses",
    ),
    (&["json", "jsonl", "ndjson"], "the shell prints queries with --format json"),
    (&["longshore"], "EXPORT DATABASE '...' writes tables so that they load fastest"),
    (
        &["arrow", "feather", "ipc", "orc", "avro", "xls", "xlsx", "ods", "db", "sqlite", "duckdb"],
        "EXPORT DATABASE '...' (FORMAT parquet) writes tables as Parquet",
    ),
];

/// Refuses to write CSV into a file whose name says that it is something else.
fn refuse_ending(path: &str, has_delimiter: bool) -> Result<(), Error> {
    let Some(ending) = Path::new(path).extension().and_then(|ending| ending.to_str()) else { return Ok(()) };
    let ending = ending.to_ascii_lowercase();
    if ending == "tsv" && !has_delimiter {
        return Err(Error::unsupported(format!(
            "COPY TO '{path}' would write commas into a file whose name ends in .tsv; add DELIMITER E'\\t', or FORMAT csv"
        )));
    }
    match OTHER_FILES.iter().find(|(endings, _)| endings.contains(&ending.as_str())) {
        Some((_, instead)) => Err(Error::unsupported(format!(
            "COPY TO '{path}' writes CSV, and the name ends in .{ending}: {instead}; name the file .csv, or add FORMAT csv \
             to write CSV under this name"
        ))),
        None => Ok(()),
    }
}

async fn unload(context: &Context<'_>, what: CopyWhat, target: Target, options: &Options) -> Result<Report, Error> {
    let query = match what {
        CopyWhat::Query(mut query) => {
            repeated::name_apart(&mut query);
            query
        }
        CopyWhat::Table { name, columns } => match context.entry(&name) {
            Some(Entry::Table(table)) => {
                let projection = copied_positions(&table, &columns)?;
                context.transaction.log_scan(&table.relation, &[], &projection);
                let batches = TableBatches::new(context.transaction.snapshot(&table.relation), projection);
                return unload_table(context, batches, target, options).await;
            }
            Some(Entry::View(_)) => query_of_view(&name, &columns),
            None => return Err(Error::not_found(format!("table {name} does not exist"))),
        },
    };
    refuse::unless_reads_only(&query)?;
    let statement = Statement::Query(query);
    let rows = context.database.queries.query(statement, &context.execution()).await?;
    unload_rows(context, rows, target, options).await
}

fn query_of_view(name: &str, columns: &[String]) -> Box<Query> {
    let column = |name: &String| SelectItem::UnnamedExpr(Expr::Identifier(build::quoted(name)));
    let mut list: Vec<SelectItem> = columns.iter().map(column).collect();
    if list.is_empty() {
        list.push(SelectItem::Wildcard(WildcardAdditionalOptions::default()));
    }
    Box::new(build::query_of(build::select(list, vec![build::alone(build::table(name, None))])))
}

/// Writes rows of a table as text, in their order.
pub(crate) async fn unload_table(
    context: &Context<'_>,
    batches: TableBatches,
    target: Target,
    options: &Options,
) -> Result<Report, Error> {
    let schema = batches.schema();
    write(context, batches.map(Ok::<_, Error>), schema, target, options).await
}

/// Writes the rows of a query as text, in their order.
async fn unload_rows(
    context: &Context<'_>,
    mut rows: RowStream,
    target: Target,
    options: &Options,
) -> Result<Report, Error> {
    let schema = Arc::clone(rows.schema());
    let runtime = tokio::runtime::Handle::current();
    let batches = std::iter::from_fn(move || runtime.block_on(rows.next()));
    write(context, batches, schema, target, options).await
}

async fn write(
    context: &Context<'_>,
    batches: impl Iterator<Item = Result<RecordBatch, Error>> + Send + 'static,
    schema: SchemaRef,
    target: Target,
    options: &Options,
) -> Result<Report, Error> {
    let schema = with_texts(&schema);
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    check_named(options, &names)?;
    let threads = options.tuned(context.database.config.tuning()).threads;
    let unload = options.unload()?;
    // What the query failed with, which the writer only sees the text of.
    let mut failure = None;
    blocking::run(context.control, move |control| {
        let batches = batches.map(|batch| batch.and_then(|batch| texts_of(&batch, &schema)));
        let batches = batches.map(|batch| batch.inspect_err(|error| failure = Some(error.clone())));
        let written = unload_csv(batches, &schema, target, &unload, threads, control);
        let written = written.map_err(|error| failure.unwrap_or_else(|| error.into()))?;
        Ok(Report { rows: written.rows, bytes_written: written.bytes, seconds: written.seconds, ..Report::default() })
    })
    .await
}

/// Arrays, rows and JSON are written as texts.
fn with_texts(schema: &SchemaRef) -> SchemaRef {
    let fields = schema.fields().iter().map(|field| {
        let is_nested = nested_texts(&new_empty_array(field.data_type())).is_some();
        if is_nested { Arc::new(field.as_ref().clone().with_data_type(DataType::Utf8View)) } else { Arc::clone(field) }
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

fn texts_of(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, Error> {
    if batch.schema_ref() == schema {
        return Ok(batch.clone());
    }
    let columns = batch.columns().iter().map(|column| match nested_texts(column) {
        Some(texts) => Arc::new(texts) as ArrayRef,
        None => Arc::clone(column),
    });
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns.collect(), &options)
        .map_err(|error| Error::internal(error.to_string()))
}

/// The rows of a snapshot in their order, in batches, without copying.
pub(crate) struct TableBatches {
    snapshot: Arc<Snapshot>,
    projection: Vec<usize>,
    chunk: usize,
    row: usize,
}

impl TableBatches {
    pub(crate) fn new(snapshot: Arc<Snapshot>, projection: Vec<usize>) -> Self {
        Self { snapshot, projection, chunk: 0, row: 0 }
    }

    fn schema(&self) -> SchemaRef {
        let arrow = self.snapshot.schema().arrow();
        let fields = self.projection.iter().map(|column| Arc::clone(&arrow.fields()[*column]));
        Arc::new(arrow_schema::Schema::new(fields.collect::<Vec<_>>()))
    }
}

impl Iterator for TableBatches {
    type Item = RecordBatch;

    fn next(&mut self) -> Option<RecordBatch> {
        loop {
            let chunk = self.snapshot.chunks().get(self.chunk)?;
            let rows = UNLOAD_ROWS.min(chunk.rows() - self.row);
            if rows > 0 {
                let batch = chunk.batch(&self.projection, self.row, rows);
                self.row += rows;
                return Some(batch);
            }
            self.chunk += 1;
            self.row = 0;
        }
    }
}
