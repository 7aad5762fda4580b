//! Tables made of files: `CREATE TABLE t AS FROM 'file'` and `COPY t FROM 'file' (AUTO)`.
//!
//! What is read to find the columns out is kept, so that a file of text is read once. Not here: finding out
//! (`datafusion::in_situ::infer`, `longshore-load`).

use std::path::PathBuf;
use std::sync::Arc;

use longshore_load::load_inferred;
use longshore_storage::Relation;

use crate::datafusion::{FileKind, Finder, TextInput, Texts, check_exists, find_files};
use crate::session::Streams;
use crate::sql::copy::{CopyFrom, CopySource, CreateFrom};
use crate::sql::names;
use crate::sql::options::{ErrorChoice, Options, Use};
use crate::sql::{self, Parsed};
use crate::statement::create::Replace;
use crate::statement::{Context, blocking, copy, execute_tree};
use crate::{Error, Outcome, Report};

/// `CREATE TABLE t AS FROM ...`
pub(crate) async fn create_from(context: &Context<'_>, create: CreateFrom) -> Result<Outcome, Error> {
    let options = Options::new(&create.options, Use::CopyFrom)?;
    let replace = Replace { or_replace: create.or_replace, if_not_exists: create.if_not_exists };
    if replace.is_done(&context.database.catalog, &create.table)? {
        return Ok(Outcome::done("CREATE TABLE"));
    }
    let paths = find_files(&create.files.into_iter().map(PathBuf::from).collect::<Vec<_>>())?;
    make(context, &create.table, Texts::Files(paths), options, replace).await
}

/// `COPY t FROM ... (AUTO)` where there is no table.
pub(crate) async fn copy_auto(
    context: &Context<'_>,
    streams: &mut Streams,
    copy: CopyFrom,
    options: Options,
) -> Result<Outcome, Error> {
    if !copy.columns.is_empty() || copy.condition.is_some() {
        return Err(Error::unsupported(
            "COPY ... (AUTO) into a table that does not exist takes neither columns nor WHERE; write CREATE TABLE ... AS \
             SELECT ... FROM the file",
        ));
    }
    let texts = match copy.source {
        CopySource::Files(files) => {
            Texts::Files(find_files(&files.into_iter().map(PathBuf::from).collect::<Vec<_>>())?)
        }
        CopySource::Stdin => Texts::Reader(
            "STDIN".to_owned(),
            streams.input.take().ok_or_else(|| {
                Error::unsupported("COPY FROM STDIN: no standard input was given to this session; copy from a file")
            })?,
        ),
        CopySource::Query(_) => return Err(Error::internal("AUTO with a query")),
    };
    let replace = Replace { or_replace: false, if_not_exists: false };
    make(context, &copy.table, texts, options, replace).await
}

async fn make(
    context: &Context<'_>,
    name: &str,
    texts: Texts,
    options: Options,
    replace: Replace,
) -> Result<Outcome, Error> {
    if options.rejects.on_error != ErrorChoice::Stop || options.rejects.dry_run {
        return Err(Error::unsupported(
            "ON_ERROR and DRY_RUN need a table with its columns: types that are found out fit every record; make the \
             table first, for instance from DESCRIBE 'file'",
        ));
    }
    if let Texts::Files(paths) = &texts {
        for path in paths {
            check_exists(path)?;
            let kind = if path.is_file() { FileKind::of(path)? } else { FileKind::Text };
            copy::check_format(&options, kind, &path.display().to_string())?;
            if kind != FileKind::Text {
                options.check_columnar()?;
                return from_columnar(context, name, paths, replace).await;
            }
        }
    }
    let memory = Arc::clone(context.database.memory());
    let tuning = options.tuned(context.database.config.tuning());
    let (relation, report) = blocking::run(context.control, move |control| {
        let finder = Finder { options: &options, types: &options.types, tuning, memory: &memory, control };
        load(&finder, texts)
    })
    .await?;
    replace.insert(&context.database.catalog, name, Arc::new(relation))?;
    Ok(Outcome::Done { tag: format!("COPY {}", report.rows), report, notice: None })
}

/// Finds the columns out and loads.
fn load(finder: &Finder<'_>, texts: Texts) -> Result<(Relation, Report), Error> {
    let head = texts.head(finder.options)?;
    let request = finder.request(&head)?;
    let inputs = texts.all_inputs(finder.options);
    let files = inputs.iter().map(TextInput::file).collect();
    let (relation, _, loaded) =
        load_inferred(files, &request, finder.control).map_err(|error| Finder::explained(error, &head, &request))?;
    let report = Report { rows: loaded.rows, bytes_read: loaded.bytes, seconds: loaded.seconds, ..Report::default() };
    Ok((relation, report))
}

/// Parquet and Arrow files know their columns.
async fn from_columnar(
    context: &Context<'_>,
    name: &str,
    paths: &[PathBuf],
    replace: Replace,
) -> Result<Outcome, Error> {
    let paths: Vec<String> = paths.iter().map(|path| names::literal(&path.display().to_string())).collect();
    let or_replace = if replace.or_replace { "OR REPLACE " } else { "" };
    let sql = format!(
        "CREATE {or_replace}TABLE {} AS SELECT * FROM read_parquet([{}])",
        names::quoted(name),
        paths.join(", ")
    );
    match sql::parse(&sql)? {
        Parsed::Sql(statement) => match Box::pin(execute_tree(context, *statement)).await? {
            Outcome::Done { report, .. } => {
                Ok(Outcome::Done { tag: format!("COPY {}", report.rows), report, notice: None })
            }
            rows @ Outcome::Rows(_) => Ok(rows),
        },
        other => Err(Error::internal(format!("a statement expected, found {other:?}"))),
    }
}
