//! COPY TO: tables and queries to files, in the format that is asked for or that the name of the file says.
//!
//! All or nothing, on blocking threads. Not here: parsing of the statement (`sql::copy`) and of its options
//! (`sql::options`), which format it is (`format`), folders by value (`partitions`), writing of text (`longshore-load`) and of
//! columns (`datafusion::files::written`).

mod format;
mod partitions;

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, new_empty_array};
use arrow_schema::{DataType, Schema, SchemaRef};
use futures::StreamExt;
use longshore_load::{Control, Target, TextCompression, WIDTH, unload_text};
use longshore_storage::Snapshot;
use sqlparser::ast::{Expr, Query, SelectItem, Statement, WildcardAdditionalOptions};

use crate::activity::{CopyKind, PipedFrom};
use crate::catalog::Entry;
use crate::datafusion::{is_shown_as_text, nested_texts, plain_batch, plain_schema, time_texts, write_columnar};
use crate::sql::copy::{CopyTarget, CopyTo, CopyWhat};
use crate::sql::options::{Format, Options, Use};
use crate::sql::{build, names, parse_query, repeated};
use crate::statement::copy::{check_named, copied_positions};
use crate::statement::{Context, CopyBegin, Streams, refuse};
use crate::{Error, Outcome, Report, RowStream, TypeId, blocking};
use format::Written;
use partitions::Partitioned;

/// Rows that one worker formats at a time.
const UNLOAD_ROWS: usize = 8192;

/// Rows that are on their way out.
type Batches = Box<dyn Iterator<Item = Result<RecordBatch, Error>> + Send>;

pub(crate) async fn copy_to(context: &Context<'_>, streams: &mut Streams, mut copy: CopyTo) -> Result<Outcome, Error> {
    if copy.target == CopyTarget::Stdout {
        copy.options = streams.with_format(copy.options);
    }
    let options = Options::new(&copy.options, Use::CopyTo)?;
    let path = match &copy.target {
        CopyTarget::File(path) => Some(path.as_str()),
        CopyTarget::Stdout => None,
    };
    if !options.partition_by.is_empty() {
        return copy_to_folders(context, copy, &options).await;
    }
    if options.overwrite {
        return Err(Error::invalid(
            "option OVERWRITE has a meaning with PARTITION_BY only; a file is replaced in any case",
        ));
    }
    let written = Written::chosen(&options, path)?;
    let (table, by) = match &copy.what {
        CopyWhat::Query(_) => (None, PipedFrom::Query),
        CopyWhat::Table { name, .. } => (context.entry(name), PipedFrom::File),
    };
    let by = if path.is_none() { PipedFrom::Client } else { by };
    let table = table.and_then(|entry| if let Entry::Table(table) = entry { Some(table.identity()) } else { None });
    let _copying = context.copies(table, CopyKind::To, by);
    let target = match copy.target {
        CopyTarget::File(path) => Target::File(path.into()),
        CopyTarget::Stdout => Target::Writer(Box::new(streams.output.clone().ok_or_else(|| {
            Error::unsupported("COPY TO STDOUT: no standard output was given to this session; copy to a file")
        })?)),
    };
    let is_stdout = matches!(target, Target::Writer(_));
    let is_binary = matches!(written, Written::Binary);
    let Copied { batches, schema, types } = rows_of(context, copy.what).await?;
    let schema = if written.is_of_texts() { with_widths(&schema, &types) } else { schema };
    let written = if is_binary { Written::of_types(types) } else { written };
    if is_stdout {
        streams.begin(CopyBegin::Out { columns: schema.fields().len(), is_binary });
    }
    let report = write(context, batches, schema, target, written, &options).await?;
    Ok(Outcome::Done { tag: format!("COPY {}", report.rows), report, notice: None })
}

/// COPY TO with `PARTITION_BY`.
async fn copy_to_folders(context: &Context<'_>, copy: CopyTo, options: &Options) -> Result<Outcome, Error> {
    let CopyTarget::File(path) = copy.target else {
        return Err(Error::invalid("COPY TO STDOUT takes no PARTITION_BY, which writes a folder"));
    };
    let format = options.format.unwrap_or(Format::Csv);
    let written = Written::of(format, options, None)?;
    if matches!(written, Written::Binary) {
        return Err(Error::unsupported("option PARTITION_BY: folders are written in the other formats, not in binary"));
    }
    let Copied { schema, .. } = rows_of(context, copy.what.clone()).await?;
    let keys = &options.partition_by;
    let is_key = |name: &String| keys.contains(name);
    if let Some(unknown) = keys.iter().find(|key| !schema.fields().iter().any(|field| field.name() == *key)) {
        return Err(Error::no_column(format!("option PARTITION_BY: there is no column {unknown}")));
    }
    let others: Vec<usize> =
        (0..schema.fields().len()).filter(|column| !is_key(schema.field(*column).name())).collect();
    if others.is_empty() {
        return Err(Error::invalid("option PARTITION_BY names all columns, so that none is left for the files"));
    }
    let text = |key: &String| format!("CAST({} AS TEXT)", names::quoted(key));
    let texts: Vec<String> =
        keys.iter().enumerate().map(|(at, key)| format!("{} AS partition_key_{at}", text(key))).collect();
    let order: Vec<String> = keys.iter().map(text).collect();
    let from = match copy.what {
        CopyWhat::Query(query) => format!("({query}) AS written"),
        CopyWhat::Table { name, columns } => format!("({}) AS written", query_of_view(&name, &columns)),
    };
    let query = parse_query(&format!("SELECT *, {} FROM {from} ORDER BY {}", texts.join(", "), order.join(", ")))?;
    let Copied { batches, schema, .. } = rows_of(context, CopyWhat::Query(query)).await?;
    let partitioned = Partitioned {
        keys: keys.len(),
        names: keys.clone(),
        others,
        written,
        threads: options.tuned(context.database.config.tuning()).threads,
        overwrite: options.overwrite,
    };
    let path = PathBuf::from(path);
    let report =
        blocking::run(context.control, move |control| partitioned.write(&path, batches, &schema, control)).await?;
    Ok(Outcome::Done { tag: format!("COPY {}", report.rows), report, notice: None })
}

/// What COPY TO writes: rows, and their columns.
struct Copied {
    batches: Batches,
    schema: SchemaRef,
    types: Arc<[TypeId]>,
}

async fn rows_of(context: &Context<'_>, what: CopyWhat) -> Result<Copied, Error> {
    let query = match what {
        CopyWhat::Query(mut query) => {
            repeated::number_apart(&mut query);
            query
        }
        CopyWhat::Table { name, columns } => match context.entry(&name) {
            Some(Entry::Table(table)) => {
                let projection = copied_positions(&table, &columns)?;
                context.transaction.log_scan(&table.relation, &[], &projection);
                let columns = table.relation.schema().columns();
                let types = projection.iter().map(|column| TypeId::of_column(columns[*column].column_type)).collect();
                let batches = TableBatches::new(context.transaction.snapshot(&table.relation), projection);
                let schema = batches.schema();
                return Ok(Copied { batches: Box::new(batches.map(Ok)), schema, types });
            }
            Some(Entry::View(_)) => query_of_view(&name, &columns),
            None => return Err(Error::not_found(format!("table {name} does not exist"))),
        },
    };
    refuse::unless_reads_only(&query)?;
    let statement = Statement::Query(query);
    let mut rows: RowStream = context.database.queries.query(statement, &context.execution()).await?;
    let (schema, types) = (Arc::clone(rows.schema()), rows.types());
    let runtime = tokio::runtime::Handle::current();
    let batches = Box::new(std::iter::from_fn(move || runtime.block_on(rows.next())));
    Ok(Copied { batches, schema, types })
}

fn query_of_view(name: &str, columns: &[String]) -> Box<Query> {
    let column = |name: &String| SelectItem::UnnamedExpr(Expr::Identifier(build::quoted(name)));
    let mut list: Vec<SelectItem> = columns.iter().map(column).collect();
    if list.is_empty() {
        list.push(SelectItem::Wildcard(WildcardAdditionalOptions::default()));
    }
    Box::new(build::query_of(build::select(list, vec![build::alone(build::table(name, None))])))
}

/// What CSV is compressed with, as the options say.
pub(crate) fn compression(options: &Options) -> Result<Option<TextCompression>, Error> {
    format::of_text(options, None)
}

/// Writes rows of a table as CSV, in their order, perhaps compressed.
pub(crate) async fn unload_table(
    context: &Context<'_>,
    batches: TableBatches,
    target: Target,
    options: &Options,
) -> Result<Report, Error> {
    let schema = batches.schema();
    let written = Written::of(Format::Csv, options, None)?;
    write(context, Box::new(batches.map(Ok)), schema, target, written, options).await
}

async fn write(
    context: &Context<'_>,
    mut batches: Batches,
    schema: SchemaRef,
    target: Target,
    written: Written,
    options: &Options,
) -> Result<Report, Error> {
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    check_named(options, &names)?;
    let threads = options.tuned(context.database.config.tuning()).threads;
    blocking::run(context.control, move |control| {
        write_batches(&mut batches, &schema, target, &written, threads, control)
    })
    .await
}

/// The columns as they are written: in the types that the format has.
fn written_schema(schema: &SchemaRef, written: &Written) -> Result<SchemaRef, Error> {
    match written.purpose() {
        None if written.keeps_values() => Ok(Arc::clone(schema)),
        None => Ok(with_texts(schema)),
        Some(purpose) => plain_schema(schema, purpose),
    }
}

fn written_batch(batch: &RecordBatch, schema: &SchemaRef, written: &Written) -> Result<RecordBatch, Error> {
    match written.purpose() {
        None if written.keeps_values() => Ok(batch.clone()),
        None => texts_of(batch, schema),
        Some(purpose) => plain_batch(batch, schema, purpose),
    }
}

/// The columns with the widths of those of CHAR(n).
fn with_widths(schema: &SchemaRef, types: &[TypeId]) -> SchemaRef {
    let fields = schema.fields().iter().zip(types).map(|(field, id)| match id.char_width() {
        0 => Arc::clone(field),
        width => {
            let mut metadata = field.metadata().clone();
            metadata.insert(WIDTH.to_owned(), width.to_string());
            Arc::new(field.as_ref().clone().with_metadata(metadata))
        }
    });
    Arc::new(Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone()))
}

/// Arrays, rows and JSON are written as texts.
fn with_texts(schema: &SchemaRef) -> SchemaRef {
    let fields = schema.fields().iter().map(|field| {
        let is_nested = nested_texts(&new_empty_array(field.data_type())).is_some();
        if is_nested || is_shown_as_text(field.data_type(), schema.metadata()) {
            Arc::new(field.as_ref().clone().with_data_type(DataType::Utf8View))
        } else {
            Arc::clone(field)
        }
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

fn texts_of(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, Error> {
    if batch.schema_ref() == schema {
        return Ok(batch.clone());
    }
    let metadata = batch.schema_ref().metadata();
    let columns = batch.columns().iter().map(|column| {
        if is_shown_as_text(column.data_type(), metadata) {
            return time_texts(column, metadata).map_err(|error| Error::internal(error.to_string()));
        }
        Ok(nested_texts(column).map_or_else(|| Arc::clone(column), |texts| Arc::new(texts) as ArrayRef))
    });
    let columns: Vec<ArrayRef> = columns.collect::<Result<_, Error>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
        .map_err(|error| Error::internal(error.to_string()))
}

/// Writes rows, in their order.
fn write_batches(
    batches: &mut (dyn Iterator<Item = Result<RecordBatch, Error>> + Send),
    schema: &SchemaRef,
    target: Target,
    written: &Written,
    threads: usize,
    control: &Control,
) -> Result<Report, Error> {
    let schema = &written_schema(schema, written)?;
    let mut batches = batches.map(|batch| batch.and_then(|batch| written_batch(&batch, schema, written)));
    let (text, compression) = match written {
        Written::Columns(format) => return write_columnar(&mut batches, schema, target, *format, threads, control),
        Written::Text(text, compression) => (text, *compression),
        Written::Binary => return Err(Error::internal("the binary format needs the types of columns")),
    };
    // What the query failed with, which the writer only sees the text of.
    let mut failure = None;
    let batches = batches.map(|batch| batch.inspect_err(|error| failure = Some(error.clone())));
    let unloaded = unload_text(batches, schema, target, text, compression, threads, control);
    let unloaded = unloaded.map_err(|error| failure.unwrap_or_else(|| error.into()))?;
    let longshore_load::UnloadReport { rows, bytes: bytes_written, seconds } = unloaded;
    Ok(Report { rows, bytes_written, seconds, ..Report::default() })
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
