//! Runs every `tests/sql/<area>/*.slt`, each on a database of its own, which all connections of the file share.
//!
//! In SQL and in shell commands (`system ok`), `$DIR` is an empty directory that lasts as long as the file, and
//! `$CSV` is `tests/csv`. `SLT=part cargo test -p longshore-engine --test engine slt` runs only files whose path has `part`.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::DataType;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use futures::StreamExt;
use longshore_engine::{Config, Database, Durability, Error, Outcome, Session, nested_texts, shown_times};
use longshore_storage::ColumnType;
use longshore_testing::{is_in_share, parts};
use longshore_value::numeric::Numeric;
use sqllogictest::{AsyncDB, DBOutput, DefaultColumnType, Runner};
use tokio::runtime::Runtime;

use crate::forms::{self, Answer};

const TESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests");

thread_local! {
    /// The directory of the file that runs on this thread: shell commands are run without a connection.
    static DIRECTORY: RefCell<PathBuf> = const { RefCell::new(PathBuf::new()) };
}

/// The name of a durable database, and of what a file has for `$DIR`, beside each other.
const DURABLE: &str = "database";
const FILES: &str = "files";

/// A session on the database of a file, which has a directory of its own.
struct Connection {
    session: Session,
    directory: PathBuf,
    /// Whether queries are asked in other forms, too.
    in_all_forms: bool,
}

impl Connection {
    fn open(database: &Arc<Database>, directory: &Path, in_all_forms: bool) -> Self {
        Self { session: database.session(), directory: directory.to_owned(), in_all_forms }
    }

    fn with_paths(&self, sql: &str) -> String {
        sql.replace("$DIR", &self.directory.display().to_string()).replace("$CSV", &format!("{TESTS}/csv"))
    }

    fn without_paths(&self, text: &str) -> String {
        text.replace(&self.directory.display().to_string(), "$DIR").replace(&format!("{TESTS}/csv"), "$CSV")
    }
}

/// An error whose paths are written as in the test.
#[derive(Debug)]
struct Failure(String);

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}

#[async_trait::async_trait]
impl AsyncDB for Connection {
    type Error = Failure;
    type ColumnType = DefaultColumnType;

    async fn run(&mut self, sql: &str) -> Result<DBOutput<DefaultColumnType>, Failure> {
        let sql = self.with_paths(sql);
        let output = run(&mut self.session, &sql).await;
        if self.in_all_forms && output.is_ok() && forms::may_be_repeated(&sql) && !self.session.is_in_transaction() {
            let answer = match self.session.execute(&sql).await {
                Ok(outcome) => Answer::of(outcome).await,
                Err(error) => Err(error),
            };
            let answer = answer.map_err(|error| Failure(format!("once more: {error}")))?;
            if let Some(answer) = answer
                && let Some(difference) = forms::difference(&mut self.session, &sql, &answer).await
            {
                return Err(Failure(self.without_paths(&difference)));
            }
        }
        match output {
            Ok(DBOutput::Rows { types, rows }) => {
                let rows = rows.iter().map(|row| row.iter().map(|value| self.without_paths(value)).collect());
                Ok(DBOutput::Rows { types, rows: rows.collect() })
            }
            Ok(output) => Ok(output),
            Err(error) => Err(Failure(self.without_paths(&error.to_string()))),
        }
    }

    async fn shutdown(&mut self) {}

    fn engine_name(&self) -> &'static str {
        "longshore"
    }

    async fn run_command(mut command: Command) -> std::io::Result<Output> {
        let directory = DIRECTORY.with_borrow(PathBuf::clone);
        command.env("DIR", directory).env("CSV", format!("{TESTS}/csv")).output()
    }
}

async fn run(session: &mut Session, sql: &str) -> Result<DBOutput<DefaultColumnType>, Error> {
    match session.execute(sql).await? {
        Outcome::Done { report, .. } => Ok(DBOutput::StatementComplete(report.rows)),
        Outcome::Rows(mut stream) => {
            let types = stream.schema().fields().iter().map(|field| column_type(field.data_type())).collect();
            let mut rows = Vec::new();
            while let Some(batch) = stream.next().await {
                rows.extend(shown(&batch?));
            }
            Ok(DBOutput::Rows { types, rows })
        }
    }
}

fn column_type(data_type: &DataType) -> DefaultColumnType {
    if data_type.is_integer() {
        DefaultColumnType::Integer
    } else if data_type.is_numeric() || is_numeric(data_type) {
        DefaultColumnType::FloatingPoint
    } else {
        DefaultColumnType::Text
    }
}

/// Whether it is NUMERIC, for which Arrow has no type.
fn is_numeric(data_type: &DataType) -> bool {
    ColumnType::from_arrow(data_type) == Some(ColumnType::Numeric(None))
}

/// The values of a batch as tests write them.
pub(crate) fn shown(batch: &RecordBatch) -> Vec<Vec<String>> {
    let options = FormatOptions::default();
    let value = |column: &dyn Array, row: usize| {
        if column.is_null(row) {
            return "NULL".to_owned();
        }
        if is_numeric(column.data_type()) {
            let bytes = column.as_struct().column(0).as_binary_view().value(row);
            return Numeric::of(bytes).expect("the bytes of a number").to_string();
        }
        let formatter = ArrayFormatter::try_new(column, &options).expect("every type has a format");
        match formatter.value(row).to_string() {
            empty if empty.is_empty() => "(empty)".to_owned(),
            text => text.replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t"),
        }
    };
    // As the session wants it, if it has said so.
    let set = !batch.schema().metadata().is_empty();
    let times = if set { shown_times(batch).expect("times have texts") } else { None };
    let batch = times.as_ref().unwrap_or(batch);
    // Arrays, rows and JSON as the shell shows them.
    let shown = |column: &ArrayRef| match nested_texts(column) {
        Some(texts) => Arc::new(texts) as ArrayRef,
        None => Arc::clone(column),
    };
    let columns: Vec<ArrayRef> = batch.columns().iter().map(shown).collect();
    let rows = 0..batch.num_rows();
    rows.map(|row| columns.iter().map(|column| value(column, row)).collect()).collect()
}

fn files_below(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).expect("the tests are there") {
        let path = entry.expect("the directory can be read").path();
        if path.is_dir() {
            files_below(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "slt") {
            files.push(path);
        }
    }
}

/// What queries answer: by all rules of the optimizer, and by those alone without which there is no plan.
const QUERIES: [&str; 8] =
    ["aggregates", "joins", "prepared", "set_operations", "subqueries", "views", "windows", "with"];

/// Of these, a share is enough: all of them run on durable databases below.
#[test]
fn all_files() {
    run_files(&Config { threads: 2, ..Config::default() }, |at, _| is_in_share(at as u64));
}

#[test]
fn queries_in_all_forms() {
    let open = |config, _: &Path| Database::open(config).expect("a database opens");
    let config = Config { threads: 2, ..Config::default() };
    run_files_then(&config, true, |at, _| is_in_share(at as u64), open, |_, _, _| Ok(()));
}

#[test]
fn queries_without_the_optimizer() {
    let is_one = |_, path: &Path| path.components().any(|part| QUERIES.iter().any(|area| part.as_os_str() == *area));
    run_files(&Config { threads: 2, optimizer: false, ..Config::default() }, is_one);
}

/// What the files leave comes back from disk: tables with their rows, keys, constraints and indexes, views, sequences. First
/// from the log, which is read while the database is open; then from the checkpoint that closes it. All files, unless few are wanted.
#[test]
fn what_is_durable_comes_back() {
    // The log is read to the end of its last segment, which is as long as this lets it be.
    let durability =
        |read_only| Durability { read_only, max_wal_size: Durability::MAX_WAL_SIZE_MIN, ..Durability::default() };
    run_files_then(
        &Config { threads: 2, ..Config::default() },
        false,
        |at, _| parts() < 10 || is_in_share(at as u64),
        |config, path| {
            let database = Database::open_directory(&path.with_file_name(DURABLE), config, &durability(false));
            database.expect("a database opens")
        },
        |database, path, runtime| {
            let (before, config) = (runtime.block_on(described(&database, path)), database.config().clone());
            let reopened = |read_only, how: &str| {
                let directory = path.with_file_name(DURABLE);
                let reopened = Database::open_directory(&directory, config.clone(), &durability(read_only));
                let reopened = reopened.map_err(|error| format!("it does not come back {how}: {error}"))?;
                let after = runtime.block_on(described(&reopened, path));
                crate::described::difference(&before, &after)
                    .map_or(Ok(()), |difference| Err(format!("{how}: {difference}")))
            };
            reopened(true, "from the log")?;
            database.close().map_err(|error| format!("it does not close: {error}"))?;
            reopened(false, "from the checkpoint")
        },
    );
}

/// All that can be asked of a database, with what was loaded.
async fn described(database: &Arc<Database>, directory: &Path) -> String {
    let loads = "SELECT load, table_name, file, status, rows, rejects, bytes, size, modified, hash, started, error FROM \
                 longshore_loads ORDER BY load, file";
    let loads = crate::described::rows(&mut database.session(), loads).await;
    crate::described::described(database, directory).await + &loads
}

fn run_files(config: &Config, is_wanted: impl Fn(usize, &Path) -> bool) {
    let open = |config, _: &Path| Database::open(config).expect("a database opens");
    run_files_then(config, false, is_wanted, open, |_, _, _| Ok(()));
}

/// Runs files, which are chosen by number and path, on databases that `open` opens, queries also in other forms where that is said,
/// and then lets `check` look at them.
fn run_files_then(
    config: &Config,
    in_all_forms: bool,
    is_wanted: impl Fn(usize, &Path) -> bool,
    open: impl Fn(Config, &Path) -> Arc<Database>,
    check: impl Fn(Arc<Database>, &Path, &Runtime) -> Result<(), String>,
) {
    let root = PathBuf::from(format!("{TESTS}/sql"));
    let mut files = Vec::new();
    files_below(&root, &mut files);
    files.sort();
    let wanted = std::env::var("SLT").unwrap_or_default();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("a runtime starts");
    let mut failures = Vec::new();
    files.retain(|file| file.display().to_string().contains(&wanted));
    for (_, file) in files.iter().enumerate().filter(|(at, file)| is_wanted(*at, file)) {
        let directory = tempfile::tempdir().expect("a temporary directory can be made");
        let path = directory.path().join(FILES);
        std::fs::create_dir(&path).expect("a directory can be made");
        DIRECTORY.set(path.clone());
        let database = open(config.clone(), &path);
        let mut runner = Runner::new(|| async { Ok(Connection::open(&database, &path, in_all_forms)) });
        if let Err(error) = runtime.block_on(runner.run_file_async(file)) {
            failures.push(format!("{error}"));
        }
        drop(runner);
        if let Err(error) = check(database, &path, &runtime) {
            failures.push(format!("{}: {error}", file.display()));
        }
    }
    assert!(!files.is_empty(), "there are no tests below {}", root.display());
    assert!(failures.is_empty(), "{} of {} files failed:\n\n{}", failures.len(), files.len(), failures.join("\n\n"));
}
