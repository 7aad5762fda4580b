//! COPY FROM: files, standard input and queries to tables.
//!
//! All or nothing. Text without a condition goes straight into the table (`longshore-load`); whatever computes or
//! leaves out rows, and Parquet and Arrow files, goes through the planner as an INSERT would. Not here: parsing of the
//! statement (`sql::copy`) and of its options (`sql::options`), COPY TO (`unload`).

mod conflict;
mod copied;
mod files;
mod insert;
mod load;
mod noted_name;
mod once;
mod plan;
mod progress;
mod rules;
mod settings;
mod target;

use std::path::Path;
use std::sync::Arc;

use longshore_storage::Relation;

use files::FilesCopy;
use plan::CopyPlan;
use rules::LoadRules;
use target::Target;
pub(crate) use target::{check_named, copied_positions};

use crate::activity::{CopyKind, PipedFrom};
use crate::binary::BinarySource;
use crate::catalog::{Entry, Table};
use crate::sql::copy::{CopyFrom, CopySource};
use crate::sql::options::{Format, Options, Use};
use crate::statement::{Context, CopyBegin, Streams, create_from};
use crate::text::{ColumnMapping, FileKind, TextSources, find_files};
use crate::{Error, Outcome, Report};

pub(crate) async fn copy_from(
    context: &Context<'_>,
    streams: &mut Streams,
    mut copy: CopyFrom,
) -> Result<Outcome, Error> {
    if matches!(copy.source, CopySource::Stdin) {
        copy.options = streams.with_format(copy.options);
    }
    let is_query = matches!(copy.source, CopySource::Query(_));
    let options = Options::new(&copy.options, if is_query { Use::CopyQuery } else { Use::CopyFrom })?;
    if options.auto && context.database.catalog.get(&copy.table).is_none() {
        options.once.check_table_exists(&copy.table)?;
        if options.format == Some(Format::Binary) {
            return Err(Error::unsupported(format!(
                "option AUTO: the binary format does not tell the columns of table {}; create it first",
                copy.table
            )));
        }
        return create_from::copy_auto(context, streams, copy, options).await;
    }
    let table = table_of(context, &copy.table)?;
    check_named(&options, &copied(&table, &copy.columns)?)?;
    options.check_known_columns(&copy.table)?;
    let by = match &copy.source {
        CopySource::Query(_) => PipedFrom::Query,
        CopySource::Stdin => PipedFrom::Client,
        CopySource::Files(_) => PipedFrom::File,
    };
    let _copying = context.copies(Some(table.identity()), CopyKind::From, by);
    let (report, notice) = match copy.source {
        CopySource::Query(query) => {
            let target = Target::new(table, &copy.columns, &options, Vec::new())?;
            let copied = CopyPlan::of_query(context, target, query, &options)?.run(context).await?;
            (copied.report, copied.notice)
        }
        CopySource::Stdin if let Some(rows) = streams.rows.take() => {
            let target = Target::new(table, &copy.columns, &options, Vec::new())?;
            let plan = CopyPlan::of_rows(context, target, rows, &options, copy.condition)?;
            let copied = plan.run(context).await?;
            (copied.report, copied.notice)
        }
        CopySource::Stdin => {
            if options.once.once {
                return Err(Error::unsupported(
                    "option ONCE is about files, which are known again; STDIN has no name: leave ONCE out",
                ));
            }
            let is_binary = options.format == Some(Format::Binary);
            if !is_binary {
                FileKind::Text.check(options.format, "STDIN")?;
            }
            let reader = streams.input.take().ok_or_else(|| {
                Error::unsupported("COPY FROM STDIN: no standard input was given to this session; copy from a file")
            })?;
            let columns = copied(&table, &copy.columns)?.len();
            let plan = if is_binary {
                options.check_columnar("the binary format")?;
                let target = Target::new(table, &copy.columns, &options, Vec::new())?;
                let source = BinarySource::Reader("STDIN".to_owned(), reader);
                CopyPlan::of_binary(context, target, vec![source], &options, copy.condition)?
            } else {
                let texts = TextSources::Reader("STDIN".to_owned(), reader);
                let target = Target::new(table, &copy.columns, &options, texts.further_columns(&options)?)?;
                CopyPlan::of_text(context, target, texts, &options, copy.condition)?
            };
            streams.begin(CopyBegin::In { columns, is_binary });
            let copied = plan.run(context).await?;
            (copied.report, copied.notice)
        }
        CopySource::Files(names) => {
            let files = FilesCopy { table, columns: copy.columns, names, condition: copy.condition };
            files.run(context, &options).await?
        }
    };
    Ok(Outcome::Done { tag: format!("COPY {}", report.rows), report, notice })
}

/// Loads the file `path` into all columns of `relation`, for IMPORT DATABASE.
pub(crate) async fn load_file(
    context: &Context<'_>,
    relation: &Arc<Relation>,
    path: &Path,
    options: &Options,
) -> Result<Report, Error> {
    if relation.schema().columns().iter().any(|column| column.column_type.is_inserted()) {
        return Err(Error::unsupported(
            "tables with columns of JSON, JSONB, TIMETZ, INTERVAL or arrays are imported from native files; export them WITH \
             (FORMAT native)",
        ));
    }
    let fields: Vec<usize> = (0..relation.schema().columns().len()).collect();
    let texts = TextSources::Files(find_files(&[path.display().to_string()], &options.source)?);
    let columns = relation.schema().columns().iter().collect();
    let mapping = ColumnMapping { columns, places: &fields, computed: &[], are_listed: false };
    let plan = CopyPlan::of_load(context, relation, &mapping, texts, options, LoadRules::default(), None)?;
    plan.run(context).await.map(|copied| copied.report)
}

/// The table that COPY loads.
fn table_of(context: &Context<'_>, name: &str) -> Result<Arc<Table>, Error> {
    match context.entry(name) {
        Some(Entry::Table(table)) => Ok(table),
        Some(Entry::View(_)) => Err(Error::invalid(format!("{name} is a view; COPY FROM loads tables only"))),
        None => Err(Error::not_found(format!("table {name} does not exist; create it first"))),
    }
}

/// The names of the columns that a statement copies: all if it names none.
fn copied<'a>(table: &'a Table, columns: &[String]) -> Result<Vec<&'a str>, Error> {
    let schema = table.relation.schema();
    let places = copied_positions(table, columns)?;
    Ok(places.into_iter().map(|place| schema.columns()[place].name.as_str()).collect())
}
