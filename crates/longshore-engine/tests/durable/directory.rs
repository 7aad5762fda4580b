//! Opening and closing, settings, sequences, and who may do what.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use longshore_engine::{Database, Durability, ErrorKind, Isolation, key};

use crate::described::rows;
use crate::support::{config, copy_all, open, open_read_only, run, runtime, value};

#[test]
fn one_at_a_time_opens_it_for_writing() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let missing = open_read_only(directory.path()).expect_err("there is none");
    assert_eq!(missing.kind(), ErrorKind::NotFound, "{missing}");
    let database = open(directory.path());
    assert!(database.is_durable());
    let error = Database::open_directory(directory.path(), config(), &Durability::default()).expect_err("it is open");
    assert!(error.to_string().contains(&format!("process {}", std::process::id())), "{error}");
    database.close().expect("nobody uses it");
    open(directory.path());
}

#[test]
fn a_database_in_use_is_not_closed() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let database = open(directory.path());
    let session = database.session();
    assert_eq!(database.close().expect_err("a session is left").kind(), ErrorKind::State);
    drop(session);
    open(directory.path()).close().expect("nobody uses it");
}

#[test]
fn what_is_only_read_does_not_change() {
    let runtime = runtime();
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let exported = directory.path().join("exported");
    let path = directory.path().join("database");
    let database = open(&path);
    runtime.block_on(async {
        run(
            &mut database.session(),
            &["CREATE TABLE t (a INTEGER PRIMARY KEY)", "CREATE SEQUENCE s", "INSERT INTO t VALUES (1)"],
        )
        .await;
        let seen = open_read_only(&path).expect("it opens");
        run(&mut database.session(), &["INSERT INTO t VALUES (2)"]).await;
        let mut session = seen.session();
        assert_eq!(value(&mut session, "SELECT count(*) FROM t").await, 1);
        for sql in [
            "INSERT INTO t VALUES (3)",
            "CREATE TABLE u (a INTEGER)",
            "DROP TABLE t",
            "CREATE INDEX i ON t (a)",
            "ALTER TABLE t ADD COLUMN b INTEGER",
            "CREATE SEQUENCE z",
            "VACUUM",
        ] {
            let error = session.execute(sql).await.expect_err(sql);
            assert_eq!(error.kind(), ErrorKind::ReadOnly, "{sql}: {error}");
        }
        run(&mut session, &["SET default_transaction_read_only = off", "BEGIN READ WRITE"]).await;
        assert_eq!(session.execute("DELETE FROM t").await.expect_err("it is only read").kind(), ErrorKind::ReadOnly);
        run(&mut session, &["ROLLBACK", &format!("EXPORT DATABASE '{}'", exported.display())]).await;
        let accounts = seen.table("t").expect("it is there");
        let mut t = seen.begin(Isolation::Snapshot);
        assert_eq!(t.insert(&accounts, key![5]).expect_err("it is only read").kind(), ErrorKind::ReadOnly);
    });
}

#[test]
fn sequences_give_no_number_twice() {
    let runtime = runtime();
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let (path, lost) = (directory.path().join("database"), directory.path().join("lost"));
    let database = open(&path);
    runtime.block_on(async {
        let mut session = database.session();
        run(
            &mut session,
            &[
                "CREATE SEQUENCE up",
                "CREATE SEQUENCE down INCREMENT -3 MINVALUE -1000",
                "CREATE SEQUENCE around MAXVALUE 4 CYCLE",
                "CREATE TABLE t (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, a INTEGER)",
            ],
        )
        .await;
        for round in 0..40 {
            let (up, down) = (
                value(&mut session, "SELECT nextval('up')").await,
                value(&mut session, "SELECT nextval('down')").await,
            );
            value(&mut session, "SELECT nextval('around')").await;
            run(&mut session, &["INSERT INTO t (a) SELECT g FROM generate_series(1, 10) AS s(g)"]).await;
            if round == 20 {
                run(&mut session, &["CHECKPOINT"]).await;
            }
            // As a crash would leave it: another process reads what is on disk by now.
            copy(&path, &lost);
            let crashed = open(&lost);
            let mut other = crashed.session();
            let (next, next_down) =
                (value(&mut other, "SELECT nextval('up')").await, value(&mut other, "SELECT nextval('down')").await);
            assert!(next > up && next <= up + 34, "{next} behind {up}");
            assert!(next_down < down && next_down >= down - 3 * 34, "{next_down} behind {down}");
            assert!((1..=4).contains(&value(&mut other, "SELECT nextval('around')").await));
            let most = value(&mut other, "SELECT max(id) FROM t").await;
            run(&mut other, &["INSERT INTO t (a) VALUES (0)"]).await;
            assert!(value(&mut other, "SELECT max(id) FROM t").await > most);
        }
        // Closed as it should be, it goes on where it was.
        let (up, identity) =
            (value(&mut session, "SELECT nextval('up')").await, value(&mut session, "SELECT max(id) FROM t").await);
        drop(session);
        database.close().expect("nobody uses it");
        let database = open(&path);
        let mut session = database.session();
        assert_eq!(value(&mut session, "SELECT nextval('up')").await, up + 1);
        run(&mut session, &["INSERT INTO t (a) VALUES (0)"]).await;
        assert_eq!(value(&mut session, "SELECT max(id) FROM t").await, identity + 1);
    });
}

/// Numbers that a query alone has taken are safe once they are seen.
#[test]
fn numbers_of_queries_are_safe() {
    let runtime = runtime();
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let (path, lost) = (directory.path().join("database"), directory.path().join("lost"));
    let durability = Durability { wal_writer_delay: Duration::from_hours(1), ..Durability::default() };
    let database = Database::open_directory(&path, config(), &durability).expect("it opens");
    runtime.block_on(async {
        let mut session = database.session();
        run(&mut session, &["CREATE SEQUENCE s"]).await;
        for number in 1..=40 {
            assert_eq!(value(&mut session, "SELECT nextval('s')").await, number);
            copy(&path, &lost);
            assert!(value(&mut open(&lost).session(), "SELECT nextval('s')").await > number);
        }
    });
}

#[test]
fn a_truncation_lets_sequences_begin_anew_with_its_commit() {
    let runtime = runtime();
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let (path, lost) = (directory.path().join("database"), directory.path().join("lost"));
    let database = open(&path);
    runtime.block_on(async {
        let mut session = database.session();
        run(
            &mut session,
            &[
                "CREATE TABLE t (id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, a INTEGER)",
                "INSERT INTO t (a) SELECT g FROM generate_series(1, 100) AS s(g)",
                "BEGIN",
                "TRUNCATE t RESTART IDENTITY",
                "INSERT INTO t (a) SELECT g FROM generate_series(1, 50) AS s(g)",
                "CHECKPOINT",
            ],
        )
        .await;
        // A crash now: the table has its 100 rows.
        copy(&path, &lost);
        let crashed = open(&lost);
        let mut other = crashed.session();
        run(&mut other, &["INSERT INTO t (a) VALUES (0)"]).await;
        assert_eq!(value(&mut other, "SELECT count(*) FROM t").await, 101);
        drop((other, crashed));
        run(&mut session, &["COMMIT", "INSERT INTO t (a) VALUES (0)"]).await;
        copy(&path, &lost);
        let crashed = open(&lost);
        let mut other = crashed.session();
        assert_eq!(rows(&mut other, "SELECT count(*), min(id), max(id) FROM t").await, "51|1|51\n");
        run(&mut other, &["INSERT INTO t (a) VALUES (0)"]).await;
        assert_eq!(value(&mut other, "SELECT count(*) FROM t").await, 52);
        drop((other, crashed));
        // What is rolled back goes on where it was.
        run(&mut session, &["BEGIN", "TRUNCATE t RESTART IDENTITY", "ROLLBACK", "INSERT INTO t (a) VALUES (0)"]).await;
        assert_eq!(value(&mut session, "SELECT max(id) FROM t").await, 52);
    });
}

#[test]
fn settings_are_shown_and_set() {
    let runtime = runtime();
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let database = open(directory.path());
    runtime.block_on(async {
        let mut session = database.session();
        let setting =
            async |session: &mut _, name: &str| rows(session, &format!("SHOW {name}")).await.trim().to_owned();
        assert_eq!(setting(&mut session, "max_wal_size").await, "1GB");
        assert_eq!(setting(&mut session, "checkpoint_timeout").await, "5min");
        assert_eq!(setting(&mut session, "wal_writer_delay").await, "200ms");
        assert_eq!(setting(&mut session, "synchronous_commit").await, "on");
        run(
            &mut session,
            &["SET max_wal_size = '256MB'", "SET checkpoint_timeout = '30s'", "SET synchronous_commit = off"],
        )
        .await;
        assert_eq!(setting(&mut session, "max_wal_size").await, "256MB");
        assert_eq!(setting(&mut session, "checkpoint_timeout").await, "30s");
        assert_eq!(setting(&mut session, "synchronous_commit").await, "off");
        run(&mut session, &["BEGIN", "SET LOCAL synchronous_commit = on"]).await;
        assert_eq!(setting(&mut session, "synchronous_commit").await, "on");
        run(&mut session, &["COMMIT"]).await;
        assert_eq!(setting(&mut session, "synchronous_commit").await, "off");
        assert_eq!(setting(&mut database.session(), "synchronous_commit").await, "on");
        for wrong in [
            "SET max_wal_size = '1kB'",
            "SET max_wal_size = 'much'",
            "SET checkpoint_timeout = 'soon'",
            "SET synchronous_commit = remote_apply",
        ] {
            assert!(session.execute(wrong).await.is_err(), "{wrong}");
        }
        let memory = Database::open(config()).expect("a database opens");
        assert!(memory.session().execute("SET max_wal_size = '256MB'").await.is_err());
    });
}

#[test]
fn what_is_not_waited_for_is_safe_soon() {
    let runtime = runtime();
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let database = open(directory.path());
    runtime.block_on(async {
        let mut session = database.session();
        run(&mut session, &["CREATE TABLE t (a INTEGER)", "SET synchronous_commit = off", "INSERT INTO t VALUES (1)"])
            .await;
        let begun = Instant::now();
        loop {
            let seen = open_read_only(directory.path()).expect("it opens");
            if value(&mut seen.session(), "SELECT count(*) FROM t").await == 1 {
                break;
            }
            assert!(begun.elapsed() < Duration::from_secs(20), "nothing was written");
        }
    });
}

#[test]
fn checkpoints_are_made_by_themselves() {
    let runtime = runtime();
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let durability = Durability { max_wal_size: Durability::MAX_WAL_SIZE_MIN, ..Durability::default() };
    let database = Database::open_directory(directory.path(), config(), &durability).expect("it opens");
    runtime.block_on(async {
        let mut session = database.session();
        run(
            &mut session,
            &[
                "CREATE TABLE t (a BIGINT PRIMARY KEY, b TEXT)",
                "INSERT INTO t SELECT g, repeat(md5(CAST(g AS TEXT)), 4) FROM generate_series(1, 30000) AS s(g)",
                "UPDATE t SET b = upper(b)",
            ],
        )
        .await;
        let manifest = directory.path().join("manifest");
        let before = std::fs::read(&manifest).expect("there is one");
        let begun = Instant::now();
        while std::fs::read(&manifest).expect("there is one") == before {
            assert!(begun.elapsed() < Duration::from_mins(1), "no checkpoint was made");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let seen = open_read_only(directory.path()).expect("it opens");
        assert_eq!(value(&mut seen.session(), "SELECT count(*) FROM t").await, 30_000);
    });
}

/// What a crash would leave of a database.
fn copy(from: &Path, to: &Path) {
    if to.exists() {
        std::fs::remove_dir_all(to).expect("it can be removed");
    }
    copy_all(from, to);
}

/// Sessions of several threads commit beside each other.
#[test]
fn beside_each_other() {
    let runtime = runtime();
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let database = open(directory.path());
    runtime.block_on(async {
        run(&mut database.session(), &["CREATE TABLE t (writer INTEGER, a INTEGER, PRIMARY KEY (writer, a))"]).await;
        let writers: Vec<_> = (0..8)
            .map(|writer| {
                let database = Arc::clone(&database);
                tokio::spawn(async move {
                    let mut session = database.session();
                    for a in 0..25 {
                        run(&mut session, &[&format!("INSERT INTO t VALUES ({writer}, {a})")]).await;
                    }
                })
            })
            .collect();
        for _ in 0..5 {
            run(&mut database.session(), &["CHECKPOINT"]).await;
        }
        for writer in writers {
            writer.await.expect("no writer fails");
        }
        let seen = open_read_only(directory.path()).expect("it opens");
        assert_eq!(value(&mut seen.session(), "SELECT count(*) FROM t").await, 200);
    });
}
