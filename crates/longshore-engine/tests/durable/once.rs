//! Loads with ONCE: whatever happens on the way, every row of every file is there exactly once in the end, and the ledger says
//! what is there.
//!
//! The files are real ones; what crashes is the simulated disk that the database is on. Not here: a process that is killed
//! (`longshore-cli/tests/binary/once.rs`), what each option does (`tests/sql/copy/once.slt`).

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use longshore_engine::{Database, Error, ErrorKind, Outcome, Session};
use longshore_simdisk::SimDisk;
use longshore_testing::{Random, share};

use crate::described::rows;
use crate::support::{config, open, open_simulated, run, runtime, value};

/// How many rows the files have: of the largest, enough for a block file of their own.
const FILES: [usize; 5] = [3, 6000, 1, 40, 2];

/// Writes the first `count` of the files, whose rows have numbers without gaps.
fn write_files(directory: &Path, count: usize) {
    let mut next = 0;
    for (at, rows) in FILES.iter().enumerate() {
        let mut text = String::from("number,note\n");
        for number in next..next + rows {
            writeln!(text, "{number},note {}", number % 7).expect("a text takes everything");
        }
        next += rows;
        if at < count {
            std::fs::write(directory.join(format!("{at}.csv")), text).expect("it can be written");
        }
    }
}

/// Loads what there is, as a script would that is run again and again.
async fn nightly(database: &Arc<Database>, inbox: &Path) -> Result<(), Error> {
    let mut session = database.session();
    let inbox = inbox.display();
    for sql in [
        "CREATE TABLE IF NOT EXISTS t (number INTEGER, note TEXT)",
        &format!("COPY t FROM '{inbox}/[01].csv' (HEADER, ONCE)"),
        "CHECKPOINT",
        "BEGIN",
        &format!("COPY t FROM '{inbox}/2.csv' (HEADER, ONCE)"),
        &format!("COPY t FROM '{inbox}/[23].csv' (HEADER, ONCE)"),
        "COMMIT",
        &format!("COPY t FROM '{inbox}' (HEADER, ONCE)"),
    ] {
        session.execute(sql).await?;
    }
    Ok(())
}

/// Whether the ledger says what is there: it has the rows of each file, and none by halves.
async fn check_ledger(session: &mut Session, context: &str) {
    let tables = rows(session, "SHOW TABLES").await;
    if tables.is_empty() {
        return;
    }
    let noted = value(session, "SELECT coalesce(sum(rows), 0) FROM longshore_loads WHERE status = 'loaded'").await;
    assert_eq!(value(session, "SELECT count(*) FROM t").await, noted, "{context}");
    assert_eq!(value(session, "SELECT count(DISTINCT number) FROM t").await, noted, "{context}: rows are there twice");
    let others = "SELECT count(*) FROM longshore_loads WHERE status NOT IN ('loaded', 'failed')";
    assert_eq!(value(session, others).await, 0, "{context}: a load runs");
}

#[test]
fn a_crash_at_any_change_loses_and_doubles_nothing() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    write_files(directory.path(), FILES.len());
    let inbox = directory.path();
    runtime().block_on(async {
        let times = std::env::var("LONGSHORE_CRASHES").map_or(1, |times| times.parse().expect("a number"));
        let disk = SimDisk::new(1);
        nightly(&open_simulated(&disk, 1).expect("it opens"), inbox).await.expect("nothing fails");
        let changes = disk.changes();
        let step = 1 + changes / share(120) as u64;
        let mut crashes = 0;
        // Each seed keeps and loses other parts of what was not synchronised.
        for (seed, change) in (0..times).flat_map(|seed| (0..changes).step_by(step as usize).map(move |at| (seed, at)))
        {
            let seed = seed * changes + change;
            let mut random = Random::new(seed);
            let mut disk = SimDisk::new(seed);
            disk.crash_at(change);
            // Until a night in which nothing happens.
            let mut nights = 0;
            loop {
                nights += 1;
                if let Ok(database) = open_simulated(&disk, 1) {
                    let done = nightly(&database, inbox).await;
                    if !disk.has_crashed() {
                        done.unwrap_or_else(|error| panic!("change {change}, night {nights}: {error}"));
                        break;
                    }
                }
                crashes += 1;
                disk = disk.restart();
                let context = format!("seed {seed}, change {change}, night {nights}");
                let database = open_simulated(&disk, 1).unwrap_or_else(|error| panic!("{context}: {error}"));
                check_ledger(&mut database.session(), &context).await;
                drop(database);
                disk = disk.restart();
                if nights < 4 {
                    disk.crash_at(disk.changes() + random.below(changes as usize) as u64);
                }
            }
            let database = open_simulated(&disk.restart(), 1).expect("it opens");
            let mut session = database.session();
            check_ledger(&mut session, &format!("change {change}, in the end")).await;
            let all = FILES.iter().sum::<usize>() as i64;
            assert_eq!(value(&mut session, "SELECT count(*) FROM t").await, all, "change {change}");
        }
        println!("{crashes} crashes");
    });
}

/// Executes a statement until no other session is in its way; says what else is wrong.
async fn until_done(session: &mut Session, sql: &str, conflicts: &AtomicU64) -> Result<(), Error> {
    loop {
        match session.execute(sql).await {
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::Conflict => {
                conflicts.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            Err(error) => return Err(error),
        }
    }
}

#[test]
fn sessions_at_the_same_time_load_a_file_once() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let inbox = directory.path().join("inbox");
    std::fs::create_dir(&inbox).expect("a directory can be made");
    write_files(&inbox, FILES.len());
    runtime().block_on(async {
        let durable = open(&directory.path().join("database"));
        for database in [Database::open(config()).expect("it opens"), durable] {
            run(&mut database.session(), &["CREATE TABLE t (number INTEGER, note TEXT)"]).await;
            let conflicts = Arc::new(AtomicU64::new(0));
            let tasks: Vec<_> = (0..6)
                .map(|at| {
                    let (database, conflicts) = (Arc::clone(&database), Arc::clone(&conflicts));
                    let files = inbox.display().to_string();
                    tokio::spawn(async move {
                        let mut session = database.session();
                        if at % 2 == 1 {
                            let level = "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ";
                            session.execute(level).await.expect("it is a level");
                        }
                        let sql = format!("COPY t FROM '{files}' (HEADER, ONCE)");
                        until_done(&mut session, &sql, &conflicts).await.expect("nothing else is in the way");
                    })
                })
                .collect();
            for task in tasks {
                task.await.expect("it ends");
            }
            let mut session = database.session();
            check_ledger(&mut session, "of several sessions").await;
            assert_eq!(value(&mut session, "SELECT count(*) FROM t").await, FILES.iter().sum::<usize>() as i64);
            println!("{} conflicts", conflicts.load(Ordering::Relaxed));
        }
    });
}

#[test]
fn of_two_blocks_one_loads() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    write_files(directory.path(), 3);
    let copy = format!("COPY t FROM '{}' (HEADER, ONCE)", directory.path().display());
    runtime().block_on(async {
        for level in ["SERIALIZABLE", "REPEATABLE READ"] {
            let database = Database::open(config()).expect("it opens");
            let (mut first, mut second) = (database.session(), database.session());
            let begin = format!("BEGIN ISOLATION LEVEL {level}");
            run(&mut first, &["CREATE TABLE t (number INTEGER, note TEXT)", &begin, &copy]).await;
            // The other one has not committed.
            let error = second.execute(&copy).await.expect_err("one of them loads");
            assert_eq!(error.kind(), ErrorKind::Conflict, "{level}: {error}");
            assert!(error.to_string().contains("another session has loaded it into t"), "{level}: {error}");
            // This one does not see what is committed behind its first statement.
            run(&mut second, &[&begin]).await;
            assert_eq!(value(&mut second, "SELECT count(*) FROM t").await, 0);
            run(&mut first, &["COMMIT"]).await;
            let error = second.execute(&copy).await.expect_err("one of them loads");
            assert_eq!(error.kind(), ErrorKind::Conflict, "{level}: {error}");
            run(&mut second, &["ROLLBACK", &copy]).await;
            check_ledger(&mut second, level).await;
            assert_eq!(value(&mut second, "SELECT count(*) FROM t").await, 6004);
        }
    });
}

#[test]
fn a_file_that_grows_all_the_while_is_loaded_once() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("log.csv");
    std::fs::write(&path, "number\n").expect("it can be written");
    let is_written = Arc::new(AtomicBool::new(false));
    let writer = std::thread::spawn({
        let (path, is_written) = (path.clone(), Arc::clone(&is_written));
        move || {
            let mut file = std::fs::OpenOptions::new().append(true).open(path).expect("it can be opened");
            let mut next = 0;
            for lines in 1..120 {
                let mut text = String::new();
                for number in next..next + lines {
                    writeln!(text, "{number}").expect("a text takes everything");
                }
                next += lines;
                file.write_all(text.as_bytes()).expect("it can be written");
                std::thread::sleep(Duration::from_millis(2));
            }
            is_written.store(true, Ordering::Release);
            next
        }
    });
    runtime().block_on(async {
        let database = open(&directory.path().join("database"));
        let mut session = database.session();
        run(&mut session, &["CREATE TABLE t (number INTEGER)"]).await;
        let copy = format!("COPY t FROM '{}' (HEADER, ONCE, ON_CHANGE continue)", path.display());
        let mut loads = 0;
        loop {
            let was_last = is_written.load(Ordering::Acquire);
            match session.execute(&copy).await {
                Ok(_) => loads += 1,
                Err(error) => {
                    assert!(error.to_string().contains("it was changed while it was loaded"), "{error}");
                    assert!(!was_last, "{error}");
                    continue;
                }
            }
            if was_last {
                break;
            }
        }
        let lines = i64::from(writer.join().expect("it writes all"));
        check_ledger(&mut session, "a file that grows").await;
        assert_eq!(value(&mut session, "SELECT count(*) FROM t").await, lines);
        assert_eq!(value(&mut session, "SELECT max(number) + 1 FROM t").await, lines);
        println!("{loads} loads");
    });
}

#[test]
fn what_runs_is_shown() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().expect("there is mkfifo").success());
    runtime().block_on(async {
        let database = Database::open(config()).expect("it opens");
        let (mut loader, mut watcher) = (database.session(), database.session());
        run(&mut loader, &["CREATE TABLE t (a INTEGER)"]).await;
        let refused = loader.execute(&format!("COPY t FROM '{}' (ONCE)", path.display())).await;
        assert!(refused.expect_err("it cannot be known again").to_string().contains("it is no regular file"));
        let copy = format!("COPY t FROM '{}'", path.display());
        let load = tokio::spawn(async move { loader.execute(&copy).await });
        let file = path.clone();
        let opened = tokio::task::spawn_blocking(move || std::fs::OpenOptions::new().write(true).open(file));
        let mut pipe = opened.await.expect("it ends").expect("somebody reads");
        let mut text = String::new();
        (0..200_000).for_each(|number| writeln!(text, "{number}").expect("a text takes everything"));
        let writer = tokio::task::spawn_blocking(move || {
            pipe.write_all(text.as_bytes()).expect("it is read");
            pipe
        });
        let pipe = writer.await.expect("it ends");
        let running = "SELECT table_name, file LIKE '%/pipe', status, rows >= 0, bytes >= 0, rejects FROM longshore_loads \
                       WHERE status <> 'failed'";
        assert_eq!(rows(&mut watcher, running).await, "t|true|running|true|true|NULL\n");
        drop(pipe);
        assert!(matches!(load.await.expect("it ends"), Ok(Outcome::Done { .. })));
        let loaded = "SELECT status, rows, size, hash FROM longshore_loads WHERE status <> 'failed'";
        assert_eq!(rows(&mut watcher, loaded).await, "loaded|200000|NULL|NULL\n");
    });
}

#[test]
fn a_thousand_failures_are_kept() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("database");
    std::fs::write(directory.path().join("bad.csv"), "1\nx\n").expect("it can be written");
    runtime().block_on(async {
        let database = open(&path);
        let mut session = database.session();
        run(&mut session, &["CREATE TABLE t (a INTEGER)", "SET synchronous_commit = off"]).await;
        let copy = format!("COPY t FROM '{}/bad.csv'", directory.path().display());
        for _ in 0..1003 {
            session.execute(&copy).await.expect_err("it is bad");
        }
        drop(session);
        database.close().expect("it closes");
        let database = open(&path);
        let mut session = database.session();
        let failed = "SELECT count(*), min(load), max(load), min(error) LIKE '%bad.csv: line 2, byte 2, column a%', \
                      count(DISTINCT status) FROM longshore_loads";
        assert_eq!(rows(&mut session, failed).await, "1000|4|1003|true|1\n");
        // Numbers go on.
        std::fs::write(directory.path().join("bad.csv"), "1\n").expect("it can be written");
        run(&mut session, &[&copy]).await;
        assert_eq!(value(&mut session, "SELECT max(load) FROM longshore_loads").await, 1004);
    });
}

#[test]
fn notices_say_what_was_left_out() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    write_files(directory.path(), 2);
    let copy = format!("COPY t FROM '{}' (HEADER, ONCE, ON_CHANGE ignore)", directory.path().display());
    runtime().block_on(async {
        let database = Database::open(config()).expect("it opens");
        let mut session = database.session();
        run(&mut session, &["CREATE TABLE t (number INTEGER, note TEXT)"]).await;
        let mut notices = Vec::new();
        for step in 0..4 {
            match step {
                2 => write_files(directory.path(), 3),
                3 => std::fs::write(directory.path().join("1.csv"), "number,note\n").expect("it can be written"),
                _ => {}
            }
            match session.execute(&copy).await {
                Ok(Outcome::Done { tag, notice, .. }) => notices.push(format!("{tag}: {}", notice.unwrap_or_default())),
                other => panic!("{other:?}"),
            }
        }
        let expected = [
            "COPY 6003: 2 files were loaded",
            "COPY 0: 0 files were loaded; 2 files were loaded before and left out",
            "COPY 1: 1 file was loaded; 2 files were loaded before and left out",
            "COPY 0: 0 files were loaded; 2 files were loaded before and left out; 1 file has changed and was ignored",
        ];
        assert_eq!(notices, expected);
    });
}
