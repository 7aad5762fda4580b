//! What was changed and left alone is packed again, beside those who work on it, until the database is gone.

use std::sync::Arc;
use std::time::{Duration, Instant};

use longshore_engine::{Config, Database, Naptime, Session};

use crate::run;

fn database(naptime: Duration) -> Arc<Database> {
    let autovacuum_naptime = Naptime::new(naptime);
    Database::open(Config { threads: 2, autovacuum_naptime, ..Config::default() }).unwrap()
}

/// Bytes of a table.
async fn bytes_of(session: &mut Session, table: &str) -> u64 {
    let asked = format!("SELECT sum(bytes) FROM storage('{table}')");
    run(session, &asked).await.unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_left_alone_is_packed_again() {
    let database = database(Duration::from_millis(30));
    let mut session = database.session();
    run(&mut session, "CREATE TABLE t AS SELECT i::bigint % 100 AS i FROM generate_series(1, 400000) AS g(i)")
        .await
        .unwrap();
    let packed = bytes_of(&mut session, "t").await;
    run(&mut session, "UPDATE t SET i = i + 1").await.unwrap();
    let started = Instant::now();
    // A few rows at the end may be too few to be packed.
    while bytes_of(&mut session, "t").await > 2 * packed {
        assert!(started.elapsed() < Duration::from_mins(1), "it is packed again");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(run(&mut session, "SELECT sum(i), count(*) FROM t").await.unwrap(), "20200000 400000");
    run(&mut session, "CREATE TABLE p WITH (storage = plain) AS SELECT * FROM t").await.unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(bytes_of(&mut session, "p").await > 4 * packed, "its storage is plain");
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_and_readers_beside_it_see_what_they_should() {
    let database = database(Duration::from_millis(1));
    let mut session = database.session();
    let create = "CREATE TABLE t AS SELECT i AS id, i % 10 AS a, 'text of row ' || (i % 50) AS x \
        FROM generate_series(1, 100000) AS g(i)";
    run(&mut session, create).await.unwrap();
    let mut reader = database.session();
    run(&mut reader, "BEGIN ISOLATION LEVEL REPEATABLE READ").await.unwrap();
    let looks = "SELECT sum(a), count(DISTINCT x), min(id), max(id) FROM t";
    let before = run(&mut reader, looks).await.unwrap();
    for round in 0..40 {
        let from = round * 2000;
        let update = format!("UPDATE t SET a = a + 1, x = x || '!' WHERE id > {from} AND id <= {from} + 20000");
        run(&mut session, &update).await.unwrap();
        assert_eq!(run(&mut reader, looks).await.unwrap(), before, "round {round}");
        tokio::time::sleep(Duration::from_millis(round % 5)).await;
    }
    assert_eq!(before, "450000 50 1 100000");
    assert_eq!(run(&mut session, "SELECT sum(a) FROM t").await.unwrap(), (450_000 + 40 * 20_000).to_string());
    run(&mut reader, "COMMIT").await.unwrap();
    assert_eq!(
        run(&mut reader, "SELECT sum(length(x)) - sum(length(replace(x, '!', ''))) FROM t").await.unwrap(),
        "800000"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_turn_it_off_and_on() {
    let autovacuum_naptime = Naptime::new(Duration::from_millis(20));
    let config = Config { threads: 2, autovacuum: false, autovacuum_naptime, ..Config::default() };
    let database = Database::open(config).unwrap();
    let (mut session, mut other) = (database.session(), database.session());
    run(&mut session, "CREATE TABLE t AS SELECT i % 100 AS i FROM generate_series(1, 200000) AS g(i)").await.unwrap();
    let packed = bytes_of(&mut session, "t").await;
    run(&mut session, "UPDATE t SET i = i + 1").await.unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    let plain = bytes_of(&mut session, "t").await;
    assert!(plain > 2 * packed, "it is off");

    // A transaction that is rolled back does not take it back.
    for sql in ["BEGIN", "SET autovacuum = on", "ROLLBACK"] {
        run(&mut other, sql).await.unwrap();
    }
    assert_eq!(run(&mut session, "SHOW autovacuum").await.unwrap(), "on");
    let started = Instant::now();
    while bytes_of(&mut session, "t").await > 2 * packed {
        assert!(started.elapsed() < Duration::from_mins(1), "it is on");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }

    run(&mut session, "SET autovacuum_naptime = '1d'").await.unwrap();
    assert_eq!(run(&mut other, "SHOW autovacuum_naptime").await.unwrap(), "1d");
    run(&mut session, "UPDATE t SET i = i + 1").await.unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(bytes_of(&mut session, "t").await, plain, "the thread of before has ended");
    run(&mut session, "SET autovacuum_naptime TO DEFAULT").await.unwrap();
    assert_eq!(run(&mut other, "SHOW autovacuum_naptime").await.unwrap(), "20ms");
    run(&mut session, "SET autovacuum TO DEFAULT").await.unwrap();
    assert_eq!(run(&mut other, "SHOW autovacuum").await.unwrap(), "off");
}

#[tokio::test]
async fn the_thread_does_not_keep_the_database() {
    let database = database(Duration::from_millis(1));
    let mut session = database.session();
    run(&mut session, "CREATE TABLE t AS SELECT i FROM generate_series(1, 100000) AS g(i)").await.unwrap();
    let memory = Arc::clone(database.memory());
    assert!(memory.used() > 0);
    drop((session, database));
    let started = Instant::now();
    while memory.used() > 0 {
        assert!(started.elapsed() < Duration::from_mins(1), "all memory is given back");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
