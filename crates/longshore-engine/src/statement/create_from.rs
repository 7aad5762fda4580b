//! Tables made of files: `CREATE TABLE t AS FROM 'file'` and `COPY t FROM 'file' (AUTO)`.
//!
//! What is read to find the columns out is kept, so that a file of text is read once. Not here: finding out
//! (`text::infer`, `longshore-load`).

use std::sync::Arc;

use longshore_load::{LoadReport, dry_run_inferred, load_inferred};
use longshore_source::FoundFile;
use longshore_storage::{Relation, Storage};
use sqlparser::ast::{SelectItem, Statement, WildcardAdditionalOptions};

use crate::catalog::{Rules, Table};
use crate::datafusion::{Columnar, NamedInputs, NamedSource};
use crate::sql::copy::{CopyFrom, CopySource, CreateFrom};
use crate::sql::options::{ConflictChoice, ErrorChoice, Options, Use};
use crate::sql::{build, names};
use crate::statement::create::{self, Replace};
use crate::statement::rejects::{self, Rejects};
use crate::statement::storage::TableStorage;
use crate::statement::{Context, Streams};
use crate::text::{FileKind, Finder, TextInput, TextSources, find_files, kind_of, tell_found};
use crate::{Error, Outcome, Report, blocking};

/// `CREATE TABLE t AS FROM ...`
pub(crate) async fn create_from(context: &Context<'_>, create: CreateFrom) -> Result<Outcome, Error> {
    let options = Options::new(&create.options, Use::CopyFrom)?;
    options.once.check_table_exists(&create.table)?;
    let replace = Replace { or_replace: create.or_replace, if_not_exists: create.if_not_exists };
    if replace.is_done(&context.database.catalog, &create.table)? {
        return Ok(Outcome::done("CREATE TABLE"));
    }
    let files = find_files(&create.files, &options.source)?;
    let storage = TableStorage { is_logged: create.is_logged, ..TableStorage::default() };
    make(context, &create.table, TextSources::Files(files), options, (storage, replace)).await
}

/// `COPY t FROM ... (AUTO)` where there is no table.
pub(crate) async fn copy_auto(
    context: &Context<'_>,
    streams: &mut Streams,
    copy: CopyFrom,
    options: Options,
) -> Result<Outcome, Error> {
    if !copy.columns.is_empty() || copy.condition.is_some() {
        let names = |columns: &[String]| columns.iter().map(|name| names::quoted(name)).collect::<Vec<_>>().join(", ");
        let columns = if copy.columns.is_empty() { "*".to_owned() } else { names(&copy.columns) };
        let file = match &copy.source {
            CopySource::Files(files) => files.first().map_or_else(|| "'file'".to_owned(), |file| names::literal(file)),
            _ => "'file'".to_owned(),
        };
        return Err(Error::unsupported(format!(
            "COPY ... (AUTO) into a table that does not exist takes neither columns nor WHERE; write CREATE TABLE {} AS \
             SELECT {columns} FROM {file}{}",
            names::quoted(&copy.table),
            copy.condition.map_or_else(String::new, |condition| format!(" WHERE {condition}"))
        )));
    }
    if options.conflict.key.is_some()
        || matches!(options.conflict.choice, ConflictChoice::KeepLast | ConflictChoice::Update)
    {
        return Err(Error::invalid(format!(
            "option ON_CONFLICT: {} is about a key, and table {} does not exist yet; create it with its key first",
            options.conflict.choice.name(),
            copy.table
        )));
    }
    let texts = match copy.source {
        CopySource::Files(files) => TextSources::Files(find_files(&files, &options.source)?),
        CopySource::Stdin => TextSources::Reader(
            "STDIN".to_owned(),
            streams.input.take().ok_or_else(|| {
                Error::unsupported("COPY FROM STDIN: no standard input was given to this session; copy from a file")
            })?,
        ),
        CopySource::Query(_) => return Err(Error::internal("AUTO with a query")),
    };
    let replace = Replace { or_replace: false, if_not_exists: false };
    make(context, &copy.table, texts, options, (TableStorage::default(), replace)).await
}

async fn make(
    context: &Context<'_>,
    name: &str,
    texts: TextSources,
    options: Options,
    (storage, replace): (TableStorage, Replace),
) -> Result<Outcome, Error> {
    if options.rejects.on_error == ErrorChoice::Table(name.to_owned()) {
        return Err(Error::invalid(format!(
            "option ON_ERROR: {name} is the table to be made; name another one for the records that are left out"
        )));
    }
    if let TextSources::Files(files) = &texts {
        rejects::check_file(&options, files)?;
        for file in files {
            let kind = kind_of(file, options.format)?;
            kind.check(options.format, &file.location.to_string())?;
            if kind != FileKind::Text {
                options.check_columnar("a Parquet or Arrow file")?;
                if options.rejects.dry_run {
                    return Err(Error::unsupported(
                        "option DRY_RUN: a Parquet or Arrow file says its columns itself; DESCRIBE shows them, and COPY into a \
                         table that exists checks the values",
                    ));
                }
                return from_columnar(context, name, files, &options, (storage, replace)).await;
            }
        }
    }
    let memory = Arc::clone(context.database.memory());
    let tuning = options.tuned(context.database.config.tuning());
    let rejects = Rejects::new(context, &options.rejects)?;
    let (told, of_file) = (options.rejects.clone(), rejects.of_file(&options.rejects));
    let (relation, loaded) = blocking::run(context.control, move |control| {
        let (types, rejects) = (&options.types, of_file.as_ref());
        let storage = Storage::default();
        load_found(&Finder { options: &options, types, tuning, memory: &memory, control, rejects, storage }, texts)
    })
    .await?;
    let mut report = Report { bytes_read: loaded.bytes, seconds: loaded.seconds, ..Report::default() };
    rejects.keep(context)?;
    if let Some(relation) = relation {
        let (database, of_table) = (Arc::clone(context.database), name.to_owned());
        storage.apply(&relation);
        let relation = blocking::run(context.control, move |_| database.adopt(&of_table, relation)).await?;
        let table = Table::new(name, Arc::new(relation), Rules::default())?;
        replace.insert(context, table, Vec::new(), &None)?;
        report.rows = loaded.rows;
    }
    let notice = rejects::notice(&loaded.rejects, &told, loaded.rows, None);
    Ok(Outcome::Done { tag: format!("COPY {}", report.rows), report, notice })
}

/// Finds the columns out and loads; in a dry run there is no relation.
pub(crate) fn load_found(finder: &Finder<'_>, mut texts: TextSources) -> Result<(Option<Relation>, LoadReport), Error> {
    let head = texts.head(finder.options, finder.control)?;
    let name = texts.name();
    let further = texts.further_columns(finder.options)?;
    let request = finder.request(&head, &further)?;
    if request.by_name {
        texts.check_read_again()?;
    }
    let inputs = texts.all_inputs(finder.options, &further);
    let files = inputs.iter().map(TextInput::file).collect();
    let loaded = if finder.options.rejects.dry_run {
        dry_run_inferred(files, &request, finder.control).map(|(found, report)| (None, found, report))
    } else {
        load_inferred(files, &request, finder.control).map(|(relation, found, report)| (Some(relation), found, report))
    };
    let (relation, found, report) = loaded.map_err(|error| Finder::explained(error, &inputs, &head, &request))?;
    tell_found(&found, &name, finder.control);
    let names: Vec<&str> = found.schema.columns().iter().map(|column| column.name.as_str()).collect();
    finder.options.check_found(&name, &names)?;
    Ok((relation, report))
}

/// Parquet and Arrow files know their columns.
async fn from_columnar(
    context: &Context<'_>,
    name: &str,
    files: &[FoundFile],
    options: &Options,
    storage: (TableStorage, Replace),
) -> Result<Outcome, Error> {
    let in_file = |error: Error| match files {
        [only] => error.of_file(&only.location.to_string()),
        _ => error,
    };
    let source = "the files (hidden)";
    let read = Columnar::open(files, &options.source.open.store, context.database.memory()).map_err(in_file)?;
    let everything = SelectItem::Wildcard(WildcardAdditionalOptions::default());
    let select = build::select(vec![everything], vec![build::alone(build::table(source, None))]);
    let query = Statement::Query(Box::new(build::query_of(select)));
    let read = Some((source.to_owned(), NamedSource::Columnar(read)));
    let inputs = NamedInputs { source: read, ..NamedInputs::default() };
    let execution = context.execution();
    let rows = context.database.queries.query_with(query, inputs, &execution);
    let report = Box::pin(create::create_of(context, name, Vec::new(), storage, rows)).await.map_err(in_file)?;
    Ok(Outcome::Done { tag: format!("COPY {}", report.rows), report, notice: None })
}
