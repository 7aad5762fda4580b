//! Many sessions at READ COMMITTED at the same time: nothing is lost, nobody sees 40001, and every deadlock is told.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use longshore_engine::{Database, ErrorKind, Session};
use longshore_storage::Datum;
use longshore_testing::Random;

use super::{database, run};

/// Runs `work` in so many sessions at the same time.
fn sessions<F>(setup: &[&str], count: u64, work: impl Fn(Session, u64) -> F) -> Arc<Database>
where
    F: Future<Output = ()> + Send + 'static,
{
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(3).enable_all().build().unwrap();
    runtime.block_on(async {
        let database = database();
        let mut session = database.session();
        for sql in setup {
            run(&mut session, sql).await.unwrap();
        }
        let mut tasks = Vec::new();
        for number in 0..count {
            let mut session = database.session();
            run(&mut session, "SET default_transaction_isolation = 'read committed'").await.unwrap();
            tasks.push(tokio::spawn(work(session, number)));
        }
        let all = futures::future::join_all(tasks);
        let ended = tokio::time::timeout(Duration::from_secs(100), all).await.expect("nobody waits for ever");
        for ended in ended {
            ended.unwrap();
        }
        database
    })
}

fn answer(database: &Arc<Database>, sql: &str) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(run(&mut database.session(), sql)).unwrap()
}

#[test]
fn no_update_is_lost() {
    const ROUNDS: usize = 60;
    let database = sessions(
        &["CREATE TABLE t (id int PRIMARY KEY, v int)", "INSERT INTO t VALUES (1, 0), (2, 0)"],
        6,
        |mut session, number| async move {
            let prepared = session.prepare("UPDATE t SET v = v + $1 WHERE id = 1").unwrap();
            for round in 0..ROUNDS {
                let in_block = (round + number as usize).is_multiple_of(3);
                if in_block {
                    run(&mut session, "BEGIN").await.unwrap();
                    run(&mut session, "SELECT v FROM t WHERE id = 1").await.unwrap();
                }
                match round % 3 {
                    0 => drop(session.execute_prepared(&prepared, &[Datum::I32(1)]).await.unwrap()),
                    1 => drop(run(&mut session, "UPDATE t SET v = v + 1 WHERE id = 1").await.unwrap()),
                    // Through the planner.
                    _ => drop(run(&mut session, "UPDATE t SET v = v + 1 WHERE id < 2").await.unwrap()),
                }
                if in_block {
                    run(&mut session, "COMMIT").await.unwrap();
                }
            }
        },
    );
    assert_eq!(answer(&database, "SELECT v FROM t WHERE id = 1"), (6 * ROUNDS).to_string());
}

#[test]
fn transfers_in_any_order_keep_the_sum_and_deadlocks_are_told() {
    static DEADLOCKS: AtomicU64 = AtomicU64::new(0);
    static DONE: AtomicU64 = AtomicU64::new(0);
    let database = sessions(
        &[
            "CREATE TABLE t (id int PRIMARY KEY, v int)",
            "INSERT INTO t SELECT i, 100 FROM generate_series(0, 3) AS s(i)",
        ],
        6,
        |mut session, number| async move {
            let mut random = Random::new(number);
            for _ in 0..80 {
                let from = random.below(4);
                let to = (from + 1 + random.below(3)) % 4;
                run(&mut session, "BEGIN").await.unwrap();
                let mut failed = false;
                for sql in [
                    format!("UPDATE t SET v = v - 1 WHERE id = {from}"),
                    format!("UPDATE t SET v = v + 1 WHERE id = {to}"),
                ] {
                    tokio::task::yield_now().await;
                    if let Err(error) = run(&mut session, &sql).await {
                        assert_eq!(error.kind(), ErrorKind::Deadlock, "{error}");
                        DEADLOCKS.fetch_add(1, Ordering::Relaxed);
                        failed = true;
                        break;
                    }
                    tokio::time::sleep(Duration::from_micros(random.below(300) as u64)).await;
                }
                DONE.fetch_add(u64::from(!failed), Ordering::Relaxed);
                run(&mut session, "COMMIT").await.unwrap();
            }
        },
    );
    assert_eq!(answer(&database, "SELECT sum(v) FROM t"), "400");
    assert!(DEADLOCKS.load(Ordering::Relaxed) > 0, "none in {} transfers", DONE.load(Ordering::Relaxed));
    assert!(DONE.load(Ordering::Relaxed) > 100);
}

#[test]
fn tpc_b_keeps_its_sums() {
    let database = sessions(
        &[
            "CREATE TABLE branches (bid int PRIMARY KEY, balance int)",
            "CREATE TABLE tellers (tid int PRIMARY KEY, bid int, balance int)",
            "CREATE TABLE accounts (aid int PRIMARY KEY, bid int, balance int)",
            "CREATE TABLE history (tid int, bid int REFERENCES branches, aid int REFERENCES accounts, delta int)",
            "INSERT INTO branches VALUES (1, 0)",
            "INSERT INTO tellers SELECT i, 1, 0 FROM generate_series(1, 10) AS s(i)",
            "INSERT INTO accounts SELECT i, 1, 0 FROM generate_series(1, 1000) AS s(i)",
        ],
        8,
        |mut session, number| async move {
            let mut random = Random::new(number + 77);
            for _ in 0..40 {
                let (aid, tid, delta) = (random.below(1000) + 1, random.below(10) + 1, random.below(100));
                for sql in [
                    "BEGIN".to_owned(),
                    format!("UPDATE accounts SET balance = balance + {delta} WHERE aid = {aid}"),
                    format!("SELECT balance FROM accounts WHERE aid = {aid}"),
                    format!("UPDATE tellers SET balance = balance + {delta} WHERE tid = {tid}"),
                    format!("UPDATE branches SET balance = balance + {delta} WHERE bid = 1"),
                    format!("INSERT INTO history VALUES ({tid}, 1, {aid}, {delta})"),
                    "END".to_owned(),
                ] {
                    run(&mut session, &sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
                }
            }
        },
    );
    let sums = "SELECT (SELECT sum(balance) FROM branches) - sum(delta), (SELECT sum(balance) FROM tellers) - sum(delta), \
                (SELECT sum(balance) FROM accounts) - sum(delta), count(*) FROM history";
    assert_eq!(answer(&database, sums), "0 0 0 320");
}

/// At the default level, too, a statement of its own comes through where others are in the way for a moment.
#[test]
fn statements_of_their_own_are_tried_again() {
    let database = sessions(
        &["CREATE TABLE t (id int PRIMARY KEY, v int)", "INSERT INTO t VALUES (1, 0)"],
        4,
        |mut session, _| async move {
            run(&mut session, "SET default_transaction_isolation = 'serializable'").await.unwrap();
            for round in 0..50 {
                let sql = ["UPDATE t SET v = v + 1 WHERE id = 1", "UPDATE t SET v = v + 1 WHERE v >= 0"][round % 2];
                run(&mut session, sql).await.unwrap();
            }
        },
    );
    assert_eq!(answer(&database, "SELECT v FROM t"), "200");
}

#[test]
fn each_job_of_a_queue_is_taken_once() {
    const JOBS: u64 = 60;
    let database = sessions(
        &[
            "CREATE TABLE jobs (id int PRIMARY KEY, state text)",
            "CREATE TABLE done (job int, worker int)",
            "INSERT INTO jobs SELECT i, 'new' FROM generate_series(1, 60) AS s(i)",
        ],
        5,
        |mut session, number| async move {
            loop {
                let taken = if number % 2 == 0 {
                    run(&mut session, "BEGIN").await.unwrap();
                    let queue = "SELECT id FROM jobs WHERE state = 'new' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED";
                    let id = run(&mut session, queue).await.unwrap();
                    if !id.is_empty() {
                        run(&mut session, &format!("UPDATE jobs SET state = 'done' WHERE id = {id}")).await.unwrap();
                        run(&mut session, &format!("INSERT INTO done VALUES ({id}, {number})")).await.unwrap();
                    }
                    run(&mut session, "COMMIT").await.unwrap();
                    id
                } else {
                    let sql = "UPDATE jobs SET state = 'done' WHERE id = (SELECT id FROM jobs WHERE state = 'new' \
                               ORDER BY id FOR UPDATE SKIP LOCKED LIMIT 1) RETURNING id";
                    let id = run(&mut session, sql).await.unwrap();
                    if !id.is_empty() {
                        run(&mut session, &format!("INSERT INTO done VALUES ({id}, {number})")).await.unwrap();
                    }
                    id
                };
                if taken.is_empty() {
                    break;
                }
            }
        },
    );
    let found = answer(&database, "SELECT count(*), count(DISTINCT job) FROM done");
    assert_eq!(found, format!("{JOBS} {JOBS}"));
}
