//! The session's own interface: tags and reports, streams, cancellation, futures that are dropped.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use longshore_engine::{Config, Database, Error, ErrorDetails, ErrorKind, Outcome, Session, split};

fn session() -> Session {
    let config = Config { threads: 2, ..Config::default() };
    Database::open(config).expect("a database opens").session()
}

/// The tag of a statement, or the number of its rows.
async fn run(session: &mut Session, sql: &str) -> Result<String, Error> {
    match session.execute(sql).await? {
        Outcome::Done { tag, .. } => Ok(tag),
        Outcome::Rows(mut rows) => {
            let mut count = 0;
            while let Some(batch) = rows.next().await {
                count += batch?.num_rows();
            }
            Ok(format!("{count} rows"))
        }
    }
}

#[tokio::test]
async fn tags_are_those_of_postgresql() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("t.csv");
    let file = file.display();
    let export = directory.path().join("export");
    let export = export.display();
    let mut session = session();
    for (sql, tag) in [
        ("", ""),
        ("-- nothing", ""),
        ("CREATE TABLE t (a int)", "CREATE TABLE"),
        ("INSERT INTO t VALUES (1), (2);", "INSERT 0 2"),
        ("SELECT * FROM t", "2 rows"),
        ("CREATE TABLE u AS SELECT * FROM t WHERE a > 1", "SELECT 1"),
        ("CREATE VIEW v AS SELECT * FROM t", "CREATE VIEW"),
        ("SHOW TABLES", "3 rows"),
        (&format!("COPY t TO '{file}'"), "COPY 2"),
        (&format!("COPY t FROM '{file}'"), "COPY 2"),
        ("EXPLAIN SELECT a FROM t", "2 rows"),
        ("DROP VIEW v", "DROP VIEW"),
        ("TRUNCATE t", "TRUNCATE TABLE"),
        (&format!("EXPORT DATABASE '{export}'"), "EXPORT DATABASE"),
        ("DROP TABLE t, u", "DROP TABLE"),
        (&format!("IMPORT DATABASE '{export}'"), "IMPORT DATABASE"),
    ] {
        assert_eq!(run(&mut session, sql).await.unwrap_or_else(|error| panic!("{sql}: {error}")), tag, "{sql}");
    }
}

#[tokio::test]
async fn errors_say_what_they_are_about() {
    /// File, line, byte, table, column, constraint and value.
    type About<'a> = (Option<&'a str>, Option<u64>, Option<u64>, [Option<&'a str>; 4]);
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let (bad, twice, orphan) = (file("bad", "1,2\n2,x\n"), file("twice", "1,2\n1,3\n"), file("orphan", "9,8\n"));
    let mut session = session();
    for sql in [
        "CREATE TABLE p (k int PRIMARY KEY)",
        "CREATE TABLE t (a int PRIMARY KEY, b int CONSTRAINT small CHECK (b < 10))",
        "CREATE TABLE c (a int, k int REFERENCES p)",
        "CREATE TABLE n (a int NOT NULL, s varchar(2))",
        "INSERT INTO t VALUES (5, 5)",
    ] {
        run(&mut session, sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    let about = |error: &Error| {
        let ErrorDetails { file, line, byte, table, column, constraint, value, .. } = error.details().clone();
        (file, line, byte, [table, column, constraint, value])
    };
    let no = (None, None, None);
    let cases: Vec<(String, ErrorKind, About<'_>)> = vec![
        (
            format!("COPY t FROM '{bad}'"),
            ErrorKind::InvalidText,
            (Some(&bad), Some(2), Some(6), [None, Some("b"), None, Some("x")]),
        ),
        (
            format!("COPY t FROM '{twice}'"),
            ErrorKind::Duplicate,
            (Some(&twice), Some(2), Some(4), [Some("t"), None, Some("t_pkey"), Some("(1)")]),
        ),
        (
            format!("COPY c FROM '{orphan}'"),
            ErrorKind::ForeignKey,
            (Some(&orphan), Some(1), Some(0), [Some("c"), None, Some("c_k_fkey"), Some("9,8")]),
        ),
        (
            "INSERT INTO t VALUES (5, 6)".to_owned(),
            ErrorKind::Duplicate,
            (no.0, no.1, no.2, [Some("t"), None, Some("t_pkey"), Some("(5)")]),
        ),
        (
            "INSERT INTO t VALUES (6, 60)".to_owned(),
            ErrorKind::Check,
            (no.0, no.1, no.2, [Some("t"), None, Some("small"), None]),
        ),
        (
            "INSERT INTO c VALUES (1, 1)".to_owned(),
            ErrorKind::ForeignKey,
            (no.0, no.1, no.2, [Some("c"), None, Some("c_k_fkey"), None]),
        ),
        ("SELECT x FROM t".to_owned(), ErrorKind::NoColumn, (no.0, no.1, no.2, [None; 4])),
    ];
    for (sql, kind, expected) in cases {
        let error = run(&mut session, &sql).await.expect_err(&sql);
        assert_eq!(error.kind(), kind, "{sql}: {error}");
        let (file, line, byte, texts) = about(&error);
        let texts = texts.each_ref().map(Option::as_deref);
        assert_eq!((file.as_deref(), line, byte, texts), expected, "{sql}: {error}");
    }
}

#[tokio::test]
async fn reports_count_rows_and_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("t.csv");
    let mut session = session();
    run(&mut session, "CREATE TABLE t (a int, b text)").await.unwrap();
    run(&mut session, "INSERT INTO t VALUES (1, 'x'), (2, 'y')").await.unwrap();
    let Outcome::Done { report, .. } = session.execute(&format!("COPY t TO '{}'", file.display())).await.unwrap()
    else {
        panic!("COPY gives no rows");
    };
    assert_eq!((report.rows, report.bytes_written, report.bytes_read), (2, 8, 0));
    let control = session.control();
    let sql = format!("COPY t FROM '{}'", file.display());
    let Outcome::Done { report, .. } = session.execute(&sql).await.unwrap() else {
        panic!("COPY gives no rows");
    };
    assert_eq!((report.rows, report.bytes_written, report.bytes_read), (2, 0, 8));
    assert_eq!((control.progress.bytes_total(), control.progress.bytes_done()), (8, 8));
    assert_eq!(session.database().table_names(), ["t"]);
    assert_eq!(session.database().column_names("t"), ["a", "b"]);
    assert_eq!(session.database().checksum("t").unwrap().rows, 4);
}

/// A writer that others can look into.
#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no test panics with the lock").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn standard_streams_are_those_of_the_session() {
    let mut session = session();
    let output = Sink::default();
    run(&mut session, "CREATE TABLE t (a int, b text)").await.unwrap();
    session.set_input(&b"1,\"x\ny\"\n2,\n"[..]);
    session.set_output(output.clone());
    assert_eq!(run(&mut session, "COPY t FROM STDIN").await.unwrap(), "COPY 2");
    assert_eq!(run(&mut session, "COPY t TO STDOUT").await.unwrap(), "COPY 2");
    assert_eq!(run(&mut session, "COPY (SELECT 3) TO STDOUT (HEADER false)").await.unwrap(), "COPY 1");
    assert_eq!(String::from_utf8(output.0.lock().unwrap().clone()).unwrap(), "1,\"x\ny\"\n2,\n3\n");
    let error = run(&mut session, "COPY t FROM STDIN").await.unwrap_err();
    assert!(error.to_string().contains("no standard input"), "{error}");
}

/// Lines without an end, until someone says stop.
struct Endless(Arc<AtomicBool>);

impl Read for Endless {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        std::thread::sleep(Duration::from_millis(1));
        if self.0.load(Ordering::Relaxed) {
            return Ok(0);
        }
        let line = b"1\n";
        let whole = bytes.len() / line.len() * line.len();
        bytes[..whole].copy_from_slice(&line.repeat(whole / line.len()));
        Ok(whole)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_is_cancelled_from_elsewhere() {
    let mut session = session();
    run(&mut session, "CREATE TABLE t (a int)").await.unwrap();
    session.set_input(Endless(Arc::default()));
    let control = session.control();
    let watcher = tokio::spawn(async move {
        while control.progress.rows() == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        control.cancel();
    });
    let error = run(&mut session, "COPY t FROM STDIN").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
    watcher.await.unwrap();
    assert_eq!(session.database().checksum("t").unwrap().rows, 0);
    assert_eq!(run(&mut session, "SELECT * FROM t").await.unwrap(), "0 rows");
}

/// Says when it is no longer read.
struct Watched(Endless, Arc<AtomicBool>);

impl Read for Watched {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(bytes)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.1.store(true, Ordering::Relaxed);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_that_is_dropped_stops() {
    let mut session = session();
    let stopped = Arc::new(AtomicBool::new(false));
    run(&mut session, "CREATE TABLE t (a int)").await.unwrap();
    session.set_input(Watched(Endless(Arc::default()), Arc::clone(&stopped)));
    let load = tokio::time::timeout(Duration::from_millis(50), run(&mut session, "COPY t FROM STDIN"));
    assert!(load.await.is_err());
    for _ in 0..5000 {
        if stopped.load(Ordering::Relaxed) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert!(stopped.load(Ordering::Relaxed), "the load goes on");
    assert_eq!(run(&mut session, "SELECT * FROM t").await.unwrap(), "0 rows");
}

/// A named pipe to which numbers are written until nobody reads them.
fn endless_pipe(directory: &std::path::Path, name: &str) -> (String, std::thread::JoinHandle<()>) {
    let path = directory.join(name);
    let made = std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo runs");
    assert!(made.success());
    let shown = path.display().to_string();
    let writer = std::thread::spawn(move || {
        let mut pipe = std::fs::OpenOptions::new().write(true).open(path).expect("a reader comes");
        while pipe.write_all(&b"1,2\n".repeat(1000)).is_ok() {}
    });
    (shown, writer)
}

/// Rejects that can no longer be kept undo their load, whatever it is.
#[tokio::test(flavor = "multi_thread")]
async fn a_table_of_rejects_that_becomes_something_else_undoes_the_load() {
    let directory = tempfile::tempdir().unwrap();
    let database = Database::open(Config { threads: 2, ..Config::default() }).expect("a database opens");
    let (mut loading, mut other) = (database.session(), database.session());
    run(&mut loading, "CREATE TABLE t (a INTEGER, b INTEGER)").await.unwrap();
    let copy = "COPY t FROM '$FILE' (ON_ERROR table 'r')";
    for (turn, sql) in [
        copy,
        "COPY t FROM '$FILE' (ON_ERROR table 'r') WHERE a > 0",
        "CREATE TABLE made AS FROM '$FILE' (ON_ERROR table 'r', TYPES (column1 INTEGER, column2 INTEGER))",
    ]
    .into_iter()
    .enumerate()
    {
        for (kind, change) in [("view", "CREATE VIEW r AS SELECT 1 AS x"), ("table", "CREATE TABLE r (x INTEGER)")] {
            let path = directory.path().join(format!("{turn}{kind}"));
            let made = std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo runs");
            assert!(made.success());
            let sql = sql.replace("$FILE", &path.display().to_string());
            let feeding = async {
                // Somebody reads the pipe: the load has begun.
                let opened = tokio::task::spawn_blocking(move || std::fs::OpenOptions::new().write(true).open(path));
                let mut pipe = opened.await.unwrap().unwrap();
                run(&mut other, change).await.unwrap();
                pipe.write_all(b"1,2\n3,x\n").unwrap();
            };
            let (outcome, ()) = tokio::join!(run(&mut loading, &sql), feeding);
            let error = outcome.unwrap_err().to_string();
            let expected = format!("r became a {kind} of other columns during the load, so that 1 reject could not");
            assert!(error.contains(&expected) && error.contains("nothing was loaded"), "{sql}: {error}");
            assert_eq!(run(&mut loading, "SELECT * FROM t").await.unwrap(), "0 rows", "{sql}");
            run(&mut other, &format!("DROP {kind} r")).await.unwrap();
            assert_eq!(database.table_names(), ["t"], "{sql}");
        }
    }
    // One that is dropped is made again.
    let path = directory.path().join("dropped");
    let made = std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo runs");
    assert!(made.success());
    let good = directory.path().join("bad.csv");
    std::fs::write(&good, "x,1\n").unwrap();
    run(&mut loading, &copy.replace("$FILE", &good.display().to_string())).await.unwrap();
    let sql = copy.replace("$FILE", &path.display().to_string());
    let feeding = async {
        let opened = tokio::task::spawn_blocking(move || std::fs::OpenOptions::new().write(true).open(path));
        let mut pipe = opened.await.unwrap().unwrap();
        run(&mut other, "DROP TABLE r").await.unwrap();
        pipe.write_all(b"1,2\n3,x\n").unwrap();
    };
    let (outcome, ()) = tokio::join!(run(&mut loading, &sql), feeding);
    assert_eq!(outcome.unwrap(), "COPY 1");
    assert_eq!(run(&mut loading, "SELECT * FROM r").await.unwrap(), "1 rows");
}

/// On one thread: whoever waits for the statement is not kept from anything else while columns are found out.
#[tokio::test]
async fn finding_columns_out_can_be_dropped_and_cancelled() {
    let directory = tempfile::tempdir().unwrap();
    let mut session = session();
    for (name, sql) in [
        ("a", "SELECT count(*) FROM sniff_csv('$FILE')"),
        ("b", "CREATE TABLE t AS FROM '$FILE'"),
        ("c", "COPY t FROM '$FILE' (AUTO)"),
        ("d", "DESCRIBE '$FILE'"),
        ("e", "CREATE VIEW t AS SELECT * FROM sniff_csv('$FILE')"),
        ("f", "CREATE TABLE t AS SELECT * FROM sniff_csv('$FILE')"),
        ("g", "CREATE TABLE t AS FROM '$FILE' (ON_ERROR table 'rejects')"),
    ] {
        for cancel in [false, true] {
            let (path, writer) = endless_pipe(directory.path(), &format!("{name}{cancel}"));
            let sql = sql.replace("$FILE", &path);
            let control = session.control();
            let statement = run(&mut session, &sql);
            if cancel {
                let cancelling = async {
                    tokio::time::sleep(Duration::from_millis(30)).await;
                    control.cancel();
                };
                let (outcome, ()) = tokio::join!(statement, cancelling);
                let error = outcome.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Cancelled, "{sql}: {error}");
            } else {
                assert!(tokio::time::timeout(Duration::from_millis(30), statement).await.is_err(), "{sql}");
            }
            // The pipe is let go of, and nothing is left.
            tokio::task::spawn_blocking(|| writer.join()).await.unwrap().unwrap();
            assert!(session.database().table_names().is_empty(), "{sql}");
            assert_eq!(run(&mut session, "SHOW TABLES").await.unwrap(), "0 rows", "{sql}");
        }
    }
}

#[tokio::test]
async fn a_cancelled_control_stops_what_comes_next_only() {
    let mut session = session();
    session.control().cancel();
    let error = run(&mut session, "SELECT * FROM generate_series(1, 10)").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
    assert_eq!(run(&mut session, "SELECT 1").await.unwrap(), "1 rows");
}

#[tokio::test]
async fn sessions_share_tables() {
    let mut one = session();
    let mut two = one.database().session();
    run(&mut one, "CREATE TABLE t (a int)").await.unwrap();
    run(&mut two, "INSERT INTO t VALUES (1)").await.unwrap();
    assert_eq!(run(&mut one, "SELECT * FROM t").await.unwrap(), "1 rows");
}

#[tokio::test]
async fn memory_that_runs_out_is_an_error() {
    let config = Config { threads: 1, memory_limit: Some(4 << 20), ..Config::default() };
    let mut session = Database::open(config).unwrap().session();
    run(&mut session, "CREATE TABLE t (a bigint, b text)").await.unwrap();
    let text = "1,a text that does not fit into sixteen bytes\n".repeat(400_000);
    session.set_input(std::io::Cursor::new(text));
    let error = run(&mut session, "COPY t FROM STDIN").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Memory, "{error}");
    assert_eq!(run(&mut session, "SELECT * FROM t").await.unwrap(), "0 rows");
    assert!(Database::open(Config { threads: 0, ..Config::default() }).is_err());
}

#[test]
fn what_split_finds_is_what_executes() {
    let found = split("CREATE TABLE t (a text); COPY t FROM 'a;b.csv'; SELECT ");
    assert_eq!(found.statements, ["CREATE TABLE t (a text)", "COPY t FROM 'a;b.csv'"]);
    assert_eq!(found.rest, "SELECT");
}

/// Several chunks, every kind of storage, NULL and long texts.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_exported_is_what_is_imported() {
    let directory = tempfile::tempdir().unwrap();
    let mut session = session();
    let create = "CREATE TABLE t AS SELECT i, CAST(i % 2 = 0 AS boolean) AS b, CAST(i % 100 AS smallint) AS s, \
        CASE WHEN i % 7 > 0 THEN 'a, \"text\" of row ' || i END AS x, CAST(i / 3.0 AS decimal(30,5)) AS d, \
        CAST(i / 3.0 AS double precision) AS f, DATE '2020-01-01' + CAST(i % 1000 AS integer) AS t \
        FROM generate_series(1, 200000) AS g(i)";
    assert_eq!(run(&mut session, create).await.unwrap(), "SELECT 200000");
    run(&mut session, "CREATE TABLE p WITH (storage = plain) AS SELECT i, x FROM t").await.unwrap();
    // The texts are compressed.
    run(&mut session, "VACUUM t").await.unwrap();
    run(&mut session, "CREATE TABLE empty (a int) WITH (storage = plain)").await.unwrap();
    let expected = session.database().checksum("t").unwrap();
    for (format, options) in [("native", ""), ("csv", ", DELIMITER '|', FORCE_QUOTE *"), ("parquet", "")] {
        let path = directory.path().join(format);
        let path = path.display();
        let export = format!("EXPORT DATABASE '{path}' (FORMAT {format}{options})");
        run(&mut session, &export).await.unwrap_or_else(|error| panic!("{export}: {error}"));
        let mut other = self::session();
        let import = format!("IMPORT DATABASE '{path}'");
        run(&mut other, &import).await.unwrap_or_else(|error| panic!("{import}: {error}"));
        assert_eq!(other.database().checksum("t").unwrap(), expected, "{format}");
        let again = directory.path().join(format!("{format}-again"));
        run(&mut other, &format!("EXPORT DATABASE '{}'", again.display())).await.unwrap();
        let schema = |directory: &Path| fs::read_to_string(directory.join("schema.sql")).unwrap();
        let first = schema(&directory.path().join(format));
        assert_eq!(schema(&again), first, "{format}");
        assert_eq!(first.matches("WITH (storage = plain)").count(), 2, "{first}");
    }
}
