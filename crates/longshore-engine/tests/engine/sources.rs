//! Texts from everywhere, in every statement that reads one: pipes, streams, folders, Arrow files; what a cancelled or
//! failed statement leaves behind, which is nothing; and memory limits, which end a statement and nothing else.
//!
//! Not here: compressed files (`tests/sql/options/compression.slt`), remote ones (`longshore-cli`, `binary/remote.rs`).

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{ArrayRef, Int32Array, RecordBatch, StringArray};
use arrow::ipc::writer::{FileWriter, StreamWriter};
use futures::StreamExt;
use longshore_engine::{Config, Database, Error, ErrorKind, Outcome, Session};

fn session(memory_limit: Option<usize>) -> Session {
    let config = Config { threads: 2, memory_limit, ..Config::default() };
    Database::open(config).expect("a database opens").session()
}

/// The rows of a statement as text, or its tag.
async fn run(session: &mut Session, sql: &str) -> Result<String, Error> {
    match session.execute(sql).await? {
        Outcome::Done { tag, .. } => Ok(tag),
        Outcome::Rows(mut rows) => {
            let mut text = String::new();
            while let Some(batch) = rows.next().await {
                let batch = batch?;
                for row in 0..batch.num_rows() {
                    let cell = |column: &ArrayRef| arrow::util::display::array_value_to_string(column, row);
                    let cells: Result<Vec<_>, _> = batch.columns().iter().map(cell).collect();
                    text += &(cells.expect("every value has a text").join(",") + "\n");
                }
            }
            Ok(text)
        }
    }
}

async fn done(session: &mut Session, sql: &str) -> String {
    run(session, sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"))
}

async fn refused(session: &mut Session, sql: &str) -> Error {
    match run(session, sql).await {
        Ok(rows) => panic!("{sql}: {rows}"),
        Err(error) => error,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn arrow_files_and_streams_are_loaded_and_queried() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).display().to_string();
    let batch = RecordBatch::try_from_iter([
        ("a", Arc::new(Int32Array::from(vec![Some(1), None, Some(3)])) as ArrayRef),
        ("b", Arc::new(StringArray::from(vec![Some("x"), Some(""), None])) as ArrayRef),
    ])
    .expect("a batch");
    let mut file =
        FileWriter::try_new(File::create(path("file.csv")).expect("a file"), &batch.schema()).expect("a writer");
    file.write(&batch).and_then(|()| file.finish()).expect("an Arrow file");
    let mut stream =
        StreamWriter::try_new(File::create(path("stream")).expect("a file"), &batch.schema()).expect("a writer");
    stream.write(&batch).and_then(|()| stream.finish()).expect("an Arrow stream");
    let mut session = session(None);
    done(&mut session, "CREATE TABLE t (a int, b text)").await;
    for name in ["file.csv", "stream"] {
        let name = path(name);
        assert_eq!(done(&mut session, &format!("SELECT * FROM '{name}'")).await, "1,x\n,\n3,\n");
        assert_eq!(done(&mut session, &format!("COPY t FROM '{name}' (FORMAT arrow)")).await, "COPY 3");
        assert_eq!(done(&mut session, &format!("CREATE OR REPLACE TABLE u AS FROM '{name}'")).await, "COPY 3");
        assert_eq!(done(&mut session, "SELECT sum(a), count(b) FROM u").await, "4,2\n");
        assert_eq!(done(&mut session, &format!("SELECT count(*) FROM read_arrow('{name}')")).await, "3\n");
        let error = refused(&mut session, &format!("COPY t FROM '{name}' (FORMAT csv)")).await;
        assert!(error.to_string().contains("FORMAT csv was given, but this is an Arrow"), "{error}");
    }
    assert_eq!(done(&mut session, "SELECT count(*), count(a), count(b) FROM t").await, "6,4,4\n");
    // Cut off in its middle, it is no table at all.
    for name in ["file.csv", "stream"] {
        let bytes = fs::read(path(name)).expect("the file");
        fs::write(path("cut"), &bytes[..bytes.len() * 2 / 3]).expect("a file");
        let cut = path("cut");
        let error = refused(&mut session, &format!("COPY t FROM '{cut}'")).await;
        assert!(error.to_string().contains("cut"), "{name}: {error}");
    }
    assert_eq!(done(&mut session, "SELECT count(*) FROM t").await, "6\n");
}

fn pipe(path: &Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status().expect("mkfifo is there");
    assert!(made.success());
}

/// Writes `text` into the pipe once someone reads it.
fn feed(path: &Path, text: Vec<u8>) -> std::thread::JoinHandle<io::Result<()>> {
    let path = path.to_owned();
    std::thread::spawn(move || fs::OpenOptions::new().write(true).open(path)?.write_all(&text))
}

#[tokio::test(flavor = "multi_thread")]
async fn named_pipes_are_read_once() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("pipe");
    pipe(&path);
    let shown = path.display();
    let text: Vec<u8> = (0..100_000).flat_map(|row| format!("{row},row {row}\n").into_bytes()).collect();
    let mut session = session(None);
    done(&mut session, "CREATE TABLE t (a bigint, b text)").await;
    for sql in [
        format!("COPY t FROM '{shown}'"),
        format!("SELECT count(*), sum(a) FROM read_csv('{shown}', table => t)"),
        format!("CREATE TABLE u AS FROM '{shown}'"),
        format!("COPY v FROM '{shown}' (AUTO)"),
    ] {
        let writer = feed(&path, text.clone());
        let result = done(&mut session, &sql).await;
        assert!(["COPY 100000", "100000,4999950000\n"].contains(&result.as_str()), "{sql}: {result}");
        writer.join().expect("the writer ends").expect("all was read");
    }
    assert_eq!(done(&mut session, "SELECT sum(column1) FROM u").await, "4999950000\n");
    // A writer that goes away in the middle of a record: a line end may be missing, a field may not.
    let writer = feed(&path, b"1,x\n2".to_vec());
    let error = refused(&mut session, &format!("COPY t FROM '{shown}'")).await;
    assert!(error.to_string().contains("pipe: line 2, byte 4"), "{error}");
    writer.join().expect("the writer ends").expect("all was read");
}

/// A query over a pipe whose columns are found out would have to read it twice.
#[tokio::test(flavor = "multi_thread")]
async fn a_pipe_is_not_waited_for_twice() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("pipe");
    pipe(&path);
    let writer = feed(&path, b"a,b\n1,x\n".to_vec());
    let mut session = session(None);
    let sql = format!("SELECT * FROM '{}'", path.display());
    let rows = tokio::time::timeout(Duration::from_secs(20), done(&mut session, &sql)).await;
    assert_eq!(rows.expect("an answer"), "1,x\n");
    writer.join().expect("the writer ends").expect("all is written");
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_are_read_like_files() {
    let mut session = session(None);
    for (text, options, rows) in [
        ("id;name\n1;x\n2;y\n", "AUTO", "1,x\n2,y\n"),
        (" [{\"a\": 1, \"b\": \"x\"}, {\"a\": 2}]", "FORMAT json, AUTO", "1,x\n2,\n"),
        ("{\"a\": 1, \"b\": \"x\"}\n{\"a\": 2}\n", "AUTO", "1,x\n2,\n"),
    ] {
        session.set_input(io::Cursor::new(text));
        done(&mut session, &format!("COPY s FROM STDIN ({options})")).await;
        assert_eq!(done(&mut session, "SELECT * FROM s").await, rows, "{text}");
        done(&mut session, "DROP TABLE s").await;
    }
    done(&mut session, "CREATE TABLE t (a int, b text)").await;
    for text in [" [{\"a\": 1, \"b\": \"x\"}, {\"a\": 2}]", "{\"a\": 1, \"b\": \"x\"}\n{\"a\": 2}\n"] {
        session.set_input(io::Cursor::new(text));
        assert_eq!(done(&mut session, "COPY t FROM STDIN (FORMAT json)").await, "COPY 2", "{text}");
    }
    assert_eq!(done(&mut session, "SELECT count(*), sum(a), count(b) FROM t").await, "4,6,2\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn folders_patterns_and_lists() {
    let directory = tempfile::tempdir().expect("a directory");
    let root = directory.path().display();
    for (name, text) in
        [("d/1.csv", "1\n"), ("d/2.csv", "2\n"), ("d/e/3.csv", "3\n"), ("d/.hidden.csv", "x\n"), ("d/_log", "x\n")]
    {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    fs::create_dir(directory.path().join("d/dir.csv")).expect("a folder");
    fs::create_dir(directory.path().join("empty")).expect("a folder");
    let mut session = session(None);
    done(&mut session, "CREATE TABLE t (a int)").await;
    for (from, sum) in [
        (format!("'{root}/d/*.csv'"), 3),
        (format!("'{root}/d'"), 6),
        (format!("'{root}/d/'"), 6),
        (format!("'{root}/d/**/*.csv'"), 6),
        (format!("'{root}/d/{{1,2}}.csv'"), 3),
        (format!("('{root}/d/e/3.csv', '{root}/d/[12].csv')"), 6),
    ] {
        done(&mut session, "TRUNCATE t").await;
        done(&mut session, &format!("COPY t FROM {from}")).await;
        assert_eq!(done(&mut session, "SELECT sum(a) FROM t").await, format!("{sum}\n"), "{from}");
        done(&mut session, &format!("CREATE OR REPLACE TABLE u AS FROM {from}")).await;
        assert_eq!(done(&mut session, "SELECT sum(column1) FROM u").await, format!("{sum}\n"), "{from}");
        if !from.starts_with('(') {
            assert_eq!(done(&mut session, &format!("SELECT sum(column1) FROM {from}")).await, format!("{sum}\n"));
        }
    }
    for (from, part) in [
        (format!("'{root}/d/*.txt'"), "no file fits this pattern"),
        (format!("'{root}/empty'"), "no file"),
        (format!("'{root}/nowhere/*.csv'"), "nowhere"),
        (format!("('{root}/d/1.csv', '{root}/d/none.csv')"), "none.csv"),
        (format!("'{root}/d/[.csv'"), "d/[.csv"),
    ] {
        for sql in [format!("COPY t FROM {from}"), format!("CREATE TABLE v AS FROM {from}")] {
            let error = refused(&mut session, &sql).await.to_string();
            assert!(error.contains(part) && error.contains(&root.to_string()), "{sql}: {error}");
        }
    }
    assert_eq!(done(&mut session, "SHOW TABLES").await.lines().count(), 2);
}

/// Threads of this process that load, decompress or fetch.
fn threads() -> Vec<String> {
    let tasks = fs::read_dir("/proc/self/task").expect("threads are listed").flatten();
    let names = tasks.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
    let is_ours = |name: &String| !["tokio", "remote", "cancelled"].iter().any(|known| name.contains(known));
    names.map(|name| name.trim().to_owned()).filter(is_ours).collect()
}

/// Rows without an end, of text that no type but TEXT fits.
struct Endless;

impl Read for Endless {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        std::thread::sleep(Duration::from_millis(1));
        let line = b"1,x\n";
        let whole = bytes.len() / line.len() * line.len();
        bytes[..whole].copy_from_slice(&line.repeat(whole / line.len()));
        Ok(whole)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_cancelled_leaves_nothing_behind() {
    let directory = tempfile::tempdir().expect("a directory");
    let root = directory.path().display();
    // 600 MB of text in few megabytes, so that nobody is done before it is cancelled.
    let made = std::process::Command::new("sh")
        .args(["-c", &format!("yes '1,a text that is repeated' | head -c 600000000 | gzip -1 > '{root}/f.csv.gz'")])
        .status()
        .expect("a shell");
    assert!(made.success());
    let mut session = session(None);
    done(&mut session, "CREATE TABLE t (a int, b text)").await;
    let before = threads().len();
    for sql in [
        "COPY u FROM STDIN (AUTO)".to_owned(),
        "COPY t FROM STDIN".to_owned(),
        "COPY t FROM STDIN WHERE a > 1".to_owned(),
        format!("COPY t FROM STDIN (ON_ERROR file '{root}/rejects.csv')"),
        "COPY t FROM STDIN (ON_ERROR table 'rejects')".to_owned(),
        format!("COPY t FROM '{root}/f.csv.gz'"),
        format!("CREATE TABLE u AS FROM '{root}/f.csv.gz'"),
        format!("CREATE OR REPLACE TABLE t AS FROM '{root}/f.csv.gz'"),
        format!("SELECT max(column2) FROM '{root}/f.csv.gz'"),
        format!("CREATE TABLE u AS SELECT * FROM read_csv('{root}/f.csv.gz', table => t)"),
        format!("COPY (SELECT * FROM read_csv('{root}/f.csv.gz', table => t)) TO '{root}/out.csv'"),
    ] {
        session.set_input(Endless);
        let control = session.control();
        let canceller = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            control.cancel();
        });
        let begin = Instant::now();
        let error = refused(&mut session, &sql).await;
        assert_eq!(error.kind(), ErrorKind::Cancelled, "{sql}: {error}");
        assert!(begin.elapsed() < Duration::from_secs(20), "{sql}: {:?}", begin.elapsed());
        canceller.join().expect("the canceller ends");
        assert_eq!(session.database().table_names(), ["t"], "{sql}");
        assert_eq!(session.database().checksum("t").expect("a table").rows, 0, "{sql}");
        let files: Vec<_> =
            fs::read_dir(directory.path()).expect("a folder").flatten().map(|file| file.file_name()).collect();
        assert_eq!(files, ["f.csv.gz"], "{sql}");
        let patience = Instant::now() + Duration::from_secs(10);
        while threads().len() > before && Instant::now() < patience {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(threads().len() <= before, "{sql} left threads: {:?}", threads());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_that_runs_out_ends_the_statement_and_nothing_else() {
    let directory = tempfile::tempdir().expect("a directory");
    let root = directory.path().display();
    let lines = |line: &dyn Fn(usize) -> String| (0..150_000).map(line).collect::<String>();
    let rows = lines(&|row| format!("{row},a text of more than sixteen bytes {row}\n"));
    fs::write(directory.path().join("f.csv"), &rows).expect("a file");
    let objects = lines(&|row| format!("{{\"a\": {row}, \"b\": \"a text of more than sixteen bytes {row}\"}}\n"));
    fs::write(directory.path().join("f.json"), objects).expect("a file");
    fs::write(directory.path().join("one.csv"), format!("1,\"{rows}\"\n")).expect("a file");
    let made = std::process::Command::new("gzip").arg("-k").arg(directory.path().join("f.csv")).status().expect("gzip");
    assert!(made.success());
    let mut session = session(Some(6 << 20));
    done(&mut session, "CREATE TABLE t (a bigint, b text)").await;
    for sql in [
        format!("COPY t FROM '{root}/f.csv'"),
        format!("COPY t FROM '{root}/f.csv' (MERGE insert)"),
        format!("COPY t FROM '{root}/f.csv' (SHORT_RECORDS pad)"),
        format!("COPY t FROM '{root}/f.csv.gz'"),
        format!("COPY t FROM '{root}/f.json' (FORMAT json)"),
        format!("COPY t FROM '{root}/one.csv'"),
        format!("COPY t FROM '{root}/f.csv' WHERE a >= 0"),
        format!("COPY t FROM (SELECT a, b FROM read_csv('{root}/f.csv', table => t))"),
        format!("COPY t FROM '{root}/f.csv' (DATE_FORMAT us, ON_ERROR table 'r', NULL 'x')"),
        format!("CREATE TABLE u AS FROM '{root}/f.csv'"),
        format!("CREATE TABLE u AS FROM '{root}/f.json'"),
        format!("CREATE TABLE u AS FROM '{root}/f.csv.gz'"),
        format!("SELECT array_length(array_agg(b)) FROM read_csv('{root}/f.csv', table => t)"),
    ] {
        let error = refused(&mut session, &sql).await;
        assert_eq!(error.kind(), ErrorKind::Memory, "{sql}: {error}");
        assert!(!session.database().table_names().contains(&"u".to_owned()), "{sql}");
        assert_eq!(session.database().checksum("t").expect("a table").rows, 0, "{sql}");
    }
    fs::write(directory.path().join("small.csv"), "1,x\n").expect("a file");
    assert_eq!(done(&mut session, &format!("COPY t FROM '{root}/small.csv'")).await, "COPY 1");
    // What stays bounded is read however long it is, beside nothing else: the workers' buffers take half of the limit.
    done(&mut session, "DROP TABLE t").await;
    let sql = format!("SELECT max(a) FROM '{root}/f.csv' AS f (a bigint, b text)");
    assert_eq!(done(&mut session, &sql).await, "149999\n");
}
