//! COPY: text files to tables, tables and queries to text files.
//!
//! Both directions are all or nothing and run on blocking threads. Not here: parsing of the statement (`sql::copy`)
//! and of its options (`sql::options`), reading and writing of text (`longshore-load`).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use futures::StreamExt;
use longshore_load::{InputFile, Source, Target, copy_from, unload_csv};
use longshore_storage::{Relation, Schema, Snapshot};
use sqlparser::ast::Statement;

use crate::catalog::Entry;
use crate::session::Streams;
use crate::sql::copy::{CopyPlace, CopyStatement, CopyWhat};
use crate::sql::options::{Format, Options, Use};
use crate::sql::{self, Parsed, names};
use crate::statement::{Context, blocking, refuse};
use crate::{Error, Outcome, Report, RowStream};

/// Rows that one worker formats at a time.
const UNLOAD_ROWS: usize = 8192;

pub(crate) async fn copy(context: &Context<'_>, streams: &mut Streams, copy: CopyStatement) -> Result<Outcome, Error> {
    let reads = matches!(copy.place, CopyPlace::FromFile(_) | CopyPlace::FromStdin);
    let options = Options::new(&copy.options, if reads { Use::CopyFrom } else { Use::CopyTo })?;
    check_format(options.format, reads)?;
    let report = match (copy.what, reads) {
        (CopyWhat::Table { name, columns }, true) => {
            let source = match copy.place {
                CopyPlace::FromFile(path) => Input::File(path.into()),
                _ => Input::Stdin(streams.input.take().ok_or_else(|| {
                    Error::unsupported("COPY FROM STDIN: no standard input was given to this session; copy from a file")
                })?),
            };
            load(context, &name, &columns, source, options).await?
        }
        (CopyWhat::Query(_), true) => return Err(Error::internal("COPY FROM with a query")),
        (what, false) => {
            let target = match copy.place {
                CopyPlace::ToFile(path) => Target::File(path.into()),
                _ => Target::Writer(Box::new(streams.output.clone().ok_or_else(|| {
                    Error::unsupported("COPY TO STDOUT: no standard output was given to this session; copy to a file")
                })?)),
            };
            unload(context, what, target, &options).await?
        }
    };
    Ok(Outcome::Done { tag: format!("COPY {}", report.rows), report })
}

fn check_format(format: Option<Format>, reads: bool) -> Result<(), Error> {
    match format {
        None | Some(Format::Csv) => Ok(()),
        Some(other) => Err(Error::unsupported(format!(
            "COPY with FORMAT {} is not supported yet; use {} DATABASE, or FORMAT csv",
            other.name(),
            if reads { "IMPORT" } else { "EXPORT" }
        ))),
    }
}

/// What COPY FROM reads.
enum Input {
    File(PathBuf),
    Stdin(Box<dyn std::io::Read + Send>),
}

async fn load(
    context: &Context<'_>,
    name: &str,
    columns: &[String],
    input: Input,
    options: Options,
) -> Result<Report, Error> {
    let table = match context.database.catalog.get(name) {
        Some(Entry::Table(table)) => table,
        Some(Entry::View(_)) => return Err(Error::invalid(format!("{name} is a view; COPY FROM loads tables only"))),
        None => {
            return Err(Error::not_found(format!("table {name} does not exist; create it first")));
        }
    };
    let schema = Arc::clone(table.relation.schema());
    let fields = positions(name, &schema, columns)?;
    check_fields(name, &schema, &fields)?;
    check_named(&options, &fields.iter().map(|field| schema.columns()[*field].name.as_str()).collect::<Vec<_>>())?;
    run_load(context, Arc::clone(&table.relation), fields, input, options).await
}

/// Loads the file `path` into all columns of `relation`, for IMPORT DATABASE.
pub(crate) async fn load_file(
    context: &Context<'_>,
    relation: &Arc<Relation>,
    path: &Path,
    options: Options,
) -> Result<Report, Error> {
    let fields = (0..relation.schema().columns().len()).collect();
    run_load(context, Arc::clone(relation), fields, Input::File(path.to_owned()), options).await
}

async fn run_load(
    context: &Context<'_>,
    relation: Arc<Relation>,
    fields: Vec<usize>,
    input: Input,
    options: Options,
) -> Result<Report, Error> {
    let tuning = options.tuned(context.database.config.tuning());
    blocking::run(context.control, move |control| {
        let source = match input {
            Input::File(path) => Source::open(&path)?,
            Input::Stdin(reader) => Source::from_reader("STDIN", reader),
        };
        let loaded = copy_from(vec![InputFile::opened(source, &fields)], &relation, &options.csv(), &tuning, control)?;
        Ok(Report { rows: loaded.rows, bytes_read: loaded.bytes, seconds: loaded.seconds, ..Report::default() })
    })
    .await
}

/// The positions of `columns` in the table; all positions if no column is named.
fn positions(table: &str, schema: &Schema, columns: &[String]) -> Result<Vec<usize>, Error> {
    if columns.is_empty() {
        return Ok((0..schema.columns().len()).collect());
    }
    let mut found = Vec::with_capacity(columns.len());
    for column in columns {
        let Some(position) = schema.index_of(column) else {
            let known: Vec<&str> = schema.columns().iter().map(|column| column.name.as_str()).collect();
            return Err(Error::not_found(format!(
                "table {table} has no column {column}; its columns are {}",
                known.join(", ")
            )));
        };
        if found.contains(&position) {
            return Err(Error::invalid(format!("column {column} is named twice; name it once")));
        }
        found.push(position);
    }
    Ok(found)
}

/// A column that is not in the file becomes NULL, so it must be allowed to.
fn check_fields(table: &str, schema: &Schema, fields: &[usize]) -> Result<(), Error> {
    for (position, column) in schema.columns().iter().enumerate() {
        if !column.nullable && !fields.contains(&position) {
            return Err(Error::invalid(format!(
                "column {} of table {table} is NOT NULL, but it is not among the columns to load; name it",
                column.name
            )));
        }
    }
    Ok(())
}

/// Columns that options name must be among those that are copied.
fn check_named(options: &Options, copied: &[&str]) -> Result<(), Error> {
    for (option, column) in options.named_columns() {
        if !copied.contains(&column) {
            return Err(Error::not_found(format!(
                "option {option}: column {column} is not among the columns to copy, {}",
                copied.join(", ")
            )));
        }
    }
    Ok(())
}

async fn unload(context: &Context<'_>, what: CopyWhat, target: Target, options: &Options) -> Result<Report, Error> {
    let query = match what {
        CopyWhat::Query(query) => query,
        CopyWhat::Table { name, columns } => match context.database.catalog.get(&name) {
            Some(Entry::Table(table)) => {
                let projection = positions(&name, table.relation.schema(), &columns)?;
                let batches = TableBatches::new(table.relation.snapshot(), projection);
                return unload_table(context, batches, target, options).await;
            }
            Some(Entry::View(_)) => query_of_view(&name, &columns)?,
            None => return Err(Error::not_found(format!("table {name} does not exist"))),
        },
    };
    refuse::unless_reads_only(&query)?;
    let statement = Statement::Query(query);
    let rows = context.database.queries.query(statement, context.control).await?;
    unload_rows(context, rows, target, options).await
}

fn query_of_view(name: &str, columns: &[String]) -> Result<Box<sqlparser::ast::Query>, Error> {
    let columns: Vec<String> = columns.iter().map(|column| names::quoted(column)).collect();
    let columns = if columns.is_empty() { "*".to_owned() } else { columns.join(", ") };
    match sql::parse(&format!("SELECT {columns} FROM {}", names::quoted(name)))? {
        Parsed::Sql(statement) => match *statement {
            Statement::Query(query) => Ok(query),
            other => Err(Error::internal(format!("a query expected, found {other}"))),
        },
        other => Err(Error::internal(format!("a query expected, found {other:?}"))),
    }
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
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    check_named(options, &names)?;
    let threads = options.tuned(context.database.config.tuning()).threads;
    let unload = options.unload();
    blocking::run(context.control, move |control| {
        let written = unload_csv(batches, &schema, target, &unload, threads, control)?;
        Ok(Report { rows: written.rows, bytes_written: written.bytes, seconds: written.seconds, ..Report::default() })
    })
    .await
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
