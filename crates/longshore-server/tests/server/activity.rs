//! What sessions see of each other: `pg_stat_activity`, `pg_locks`, progress; and how one ends another.

use std::time::{Duration, Instant};

use crate::client::{Client, field, kinds, message, startup, values};
use crate::{Running, serve};

/// A statement that takes long.
const LONG: &str =
    "SELECT count(*) FROM generate_series(1, 1000000) a(i), generate_series(1, 1000000) b(j) WHERE i + j = 3";

/// A client, and the number of its session.
async fn client(server: &Running, user: &str) -> (Client, String) {
    let mut client = Client::connect(server.address).await;
    client.send(&startup(user, "longshore")).await;
    client.until_ready().await;
    let pid = one(&mut client, "SELECT pg_backend_pid()").await;
    (client, pid)
}

/// The only value of a statement.
async fn one(client: &mut Client, sql: &str) -> String {
    values(&client.query(sql).await).join(",")
}

/// Asks until the answer is what it should become.
async fn until(client: &mut Client, sql: &str, expected: &str) {
    let begun = Instant::now();
    loop {
        let answer = one(client, sql).await;
        if answer == expected {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "{sql}: {answer}, not {expected}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn state_of(pid: &str) -> String {
    format!(
        "SELECT concat_ws('|', state, coalesce(wait_event_type, '-'), coalesce(wait_event, '-'), query) \
         FROM pg_stat_activity WHERE pid = {pid}"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_tell_what_they_do() {
    let server = serve(true).await;
    let (mut asks, own) = client(&server, "longshore").await;
    let (mut other, pid) = client(&server, "longshore").await;
    let last = "idle|Client|ClientRead|SELECT pg_backend_pid()";
    assert_eq!(one(&mut asks, &state_of(&pid)).await, last);
    other.query("SET application_name = 'nightly'").await;
    let facts = format!(
        "SELECT concat_ws('|', usename, application_name, client_addr, client_port > 0, backend_start <= query_start, \
         xact_start IS NULL, state_change >= query_start, backend_type) FROM pg_stat_activity WHERE pid = {pid}"
    );
    assert_eq!(one(&mut asks, &facts).await, "longshore|nightly|127.0.0.1|t|t|t|t|client backend");
    assert_eq!(one(&mut asks, &state_of(&own)).await, format!("active|-|-|{}", state_of(&own)));
    other.query("BEGIN").await;
    assert_eq!(one(&mut asks, &state_of(&pid)).await, "idle in transaction|Client|ClientRead|BEGIN");
    other.query("SELECT 1 / 0").await;
    let failed = "idle in transaction (aborted)|Client|ClientRead|SELECT 1 / 0";
    assert_eq!(one(&mut asks, &state_of(&pid)).await, failed);
    other.query("ROLLBACK").await;
    other.query("ALTER ROLE longshore PASSWORD 'hidden'").await;
    assert!(!one(&mut asks, &state_of(&pid)).await.contains("hidden"), "no password is shown");
    let long = "x".repeat(2000);
    other.query(&format!("SELECT '{long}'")).await;
    let length = format!("SELECT length(query) FROM pg_stat_activity WHERE pid = {pid}");
    assert_eq!(one(&mut asks, &length).await, "1023");
    drop(other);
    until(&mut asks, &format!("SELECT count(*) FROM pg_stat_activity WHERE pid = {pid}"), "0").await;
    assert_eq!(one(&mut asks, "SELECT numbackends FROM pg_stat_database").await, "1");
}

#[tokio::test(flavor = "multi_thread")]
async fn locks_and_who_waits_for_them_are_shown() {
    let server = serve(true).await;
    let (mut asks, _) = client(&server, "longshore").await;
    asks.query("CREATE TABLE t (k int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 1), (2, 2)").await;
    let (mut holder, holds) = client(&server, "longshore").await;
    let (mut waiter, waits) = client(&server, "longshore").await;
    for client in [&mut holder, &mut waiter] {
        client.query("SET default_transaction_isolation = 'read committed'").await;
    }
    holder.query("BEGIN; UPDATE t SET v = 5 WHERE k = 1").await;
    waiter.send(&message(b'Q', b"UPDATE t SET v = 6 WHERE k = 1\0")).await;
    until(&mut asks, &state_of(&waits), "active|Lock|transactionid|UPDATE t SET v = 6 WHERE k = 1").await;
    assert_eq!(one(&mut asks, &format!("SELECT pg_blocking_pids({waits})")).await, format!("{{{holds}}}"));
    assert_eq!(one(&mut asks, &format!("SELECT pg_blocking_pids({holds})")).await, "{}");
    let pair = format!(
        "SELECT waits.pid || ' for ' || holds.pid FROM pg_locks waits JOIN pg_locks holds USING (locktype, transactionid) \
         WHERE NOT waits.granted AND holds.granted AND waits.mode = 'ShareLock' AND holds.pid = {holds}"
    );
    assert_eq!(one(&mut asks, &pair).await, format!("{waits} for {holds}"));
    assert_eq!(one(&mut asks, &format!("SELECT pg_cancel_backend({waits})")).await, "t");
    assert_eq!(field(&waiter.until_ready().await[0], 'C'), "57014");
    holder.query("LOCK TABLE t IN SHARE MODE").await;
    holder.query("SELECT * FROM t WHERE k = 2 FOR UPDATE").await;
    holder.query("SELECT pg_advisory_lock(4294967303)").await;
    holder.query("SELECT pg_advisory_lock_shared(1, -1)").await;
    let held = format!(
        "SELECT concat_ws('|', locktype, relation::regclass::text, page, tuple, classid, objid, objsubid, mode) FROM pg_locks \
         WHERE pid = {holds} AND granted ORDER BY 1"
    );
    assert_eq!(
        values(&asks.query(&held).await),
        [
            "advisory|1|4294967295|2|ShareLock",
            "advisory|1|7|1|ExclusiveLock",
            "relation|t|ShareLock",
            "transactionid|ExclusiveLock",
            "tuple|t|0|1|AccessExclusiveLock",
        ]
    );
    holder.query("ROLLBACK").await;
    holder.query("SELECT pg_advisory_unlock_all()").await;
    assert_eq!(one(&mut asks, &format!("SELECT count(*) FROM pg_locks WHERE pid = {holds}")).await, "0");
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_cancelled_and_ended_by_who_may() {
    let server = serve(true).await;
    let (mut boss, own) = client(&server, "longshore").await;
    boss.query("CREATE ROLE anna LOGIN; CREATE ROLE ben LOGIN; CREATE ROLE carl LOGIN IN ROLE pg_signal_backend").await;
    boss.query("CREATE ROLE dora LOGIN IN ROLE pg_monitor").await;
    let (mut anna, pid) = client(&server, "anna").await;
    let (mut ben, _) = client(&server, "ben").await;
    let (mut carl, _) = client(&server, "carl").await;
    let hidden =
        format!("SELECT concat_ws('|', usename, state, client_addr, query) FROM pg_stat_activity WHERE pid = {pid}");
    assert_eq!(one(&mut ben, &hidden).await, "anna|<insufficient privilege>");
    let (mut dora, _) = client(&server, "dora").await;
    assert_eq!(one(&mut dora, &hidden).await, "anna|idle|127.0.0.1|SELECT pg_backend_pid()");
    for (client, of, said) in [
        (&mut ben, &pid, "must be a member of the role whose query is being canceled or member of pg_signal_backend"),
        (&mut carl, &own, "must be a superuser to cancel superuser query"),
    ] {
        let refused = client.query(&format!("SELECT pg_cancel_backend({of})")).await;
        let error = refused.iter().find(|(kind, _)| *kind == 'E').expect("it is refused");
        assert_eq!((field(error, 'C').as_str(), field(error, 'M').as_str()), ("42501", said));
    }
    assert_eq!(one(&mut boss, "SELECT pg_cancel_backend(123456), pg_terminate_backend(123456)").await, "f");
    anna.send(&message(b'Q', format!("{LONG}\0").as_bytes())).await;
    until(&mut boss, &format!("SELECT state FROM pg_stat_activity WHERE pid = {pid}"), "active").await;
    assert_eq!(one(&mut carl, &format!("SELECT pg_cancel_backend({pid})")).await, "t");
    assert!(anna.until_ready().await.iter().any(|answer| field(answer, 'C') == "57014"));
    // While it works, and while it waits for its client.
    anna.send(&message(b'Q', format!("{LONG}\0").as_bytes())).await;
    until(&mut boss, &format!("SELECT state FROM pg_stat_activity WHERE pid = {pid}"), "active").await;
    assert_eq!(one(&mut boss, &format!("SELECT pg_terminate_backend({pid})")).await, "t");
    let last = anna.until_closed().await;
    assert_eq!(field(last.last().expect("it is told why"), 'C'), "57P01");
    let (mut anna, pid) = client(&server, "anna").await;
    assert_eq!(one(&mut ben, "SELECT pg_backend_pid() > 0").await, "t");
    assert_eq!(one(&mut boss, &format!("SELECT pg_terminate_backend({pid})")).await, "t");
    let told = anna.until_closed().await;
    assert_eq!((kinds(&told).as_str(), field(&told[0], 'C').as_str()), ("E", "57P01"));
    boss.send(&message(b'Q', b"SELECT pg_terminate_backend(pg_backend_pid())\0")).await;
    let told = boss.until_closed().await;
    assert_eq!(field(told.last().expect("it is told why"), 'C'), "57P01");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_tells_how_far_it_is() {
    let server = serve(true).await;
    let (mut asks, _) = client(&server, "longshore").await;
    let (mut loads, pid) = client(&server, "longshore").await;
    loads.query("CREATE TABLE t (k int, v text)").await;
    loads.send(&message(b'Q', b"COPY t FROM STDIN\0")).await;
    assert_eq!(loads.answer().await.expect("it begins").0, 'G');
    let progress = format!(
        "SELECT concat_ws('|', relid::regclass::text, command, type, bytes_processed > 0, tuples_processed > 0, bytes_total) \
         FROM pg_stat_progress_copy WHERE pid = {pid}"
    );
    let lines = "1\tsome text\n".repeat(4000);
    let begun = Instant::now();
    while one(&mut asks, &progress).await != "t|COPY FROM|PIPE|t|t|0" {
        loads.send(&message(b'd', lines.as_bytes())).await;
        assert!(begun.elapsed() < Duration::from_mins(1), "it tells what it has done");
    }
    loads.send(&message(b'c', b"")).await;
    loads.until_ready().await;
    assert_eq!(one(&mut asks, "SELECT count(*) FROM pg_stat_progress_copy").await, "0");
}

#[tokio::test(flavor = "multi_thread")]
async fn transactions_are_counted() {
    let server = serve(true).await;
    let (mut asks, _) = client(&server, "longshore").await;
    let counts = "SELECT xact_commit || ' ' || xact_rollback || ' ' || deadlocks FROM pg_stat_database";
    let numbers = async |client: &mut Client| -> Vec<i64> {
        one(client, counts).await.split(' ').map(|number| number.parse().expect("a number")).collect()
    };
    asks.query("CREATE TABLE t (k int PRIMARY KEY)").await;
    let before = numbers(&mut asks).await;
    asks.query("INSERT INTO t VALUES (1)").await;
    asks.query("BEGIN; INSERT INTO t VALUES (2); COMMIT").await;
    asks.query("BEGIN; INSERT INTO t VALUES (3); ROLLBACK").await;
    asks.query("INSERT INTO t VALUES (1)").await;
    let after = numbers(&mut asks).await;
    // The look at the counts is a transaction, too.
    assert_eq!([after[0] - before[0], after[1] - before[1], after[2]], [3, 2, 0]);
}
