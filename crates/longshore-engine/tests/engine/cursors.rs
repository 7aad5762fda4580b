//! What cursors keep in memory.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test")]

use longshore_engine::{Config, ErrorKind};

use crate::query_support::{ok, open, run};

const ROWS: usize = 400_000;

/// A query whose rows take about 50 MB.
fn query() -> String {
    format!("SELECT i, repeat('x', 100) || i FROM generate_series(1, {ROWS}) AS g (i)")
}

#[tokio::test(flavor = "multi_thread")]
async fn kept_rows_count_towards_the_limits() {
    let database = open(Config { threads: 2, memory_limit: Some(40 << 20), ..Config::default() });
    let mut session = database.session();
    let before = database.memory().used();
    // One that goes forward only keeps what lies ahead.
    ok(&mut session, "BEGIN").await;
    ok(&mut session, &format!("DECLARE forward NO SCROLL CURSOR FOR {}", query())).await;
    for _ in 0..ROWS / 8_000 {
        assert_eq!(run(&mut session, "FETCH 8000 FROM forward").await.unwrap().len(), 8_000);
    }
    ok(&mut session, "CLOSE forward").await;
    ok(&mut session, &format!("DECLARE both SCROLL CURSOR FOR {}", query())).await;
    let error = run(&mut session, "MOVE FORWARD ALL IN both").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Memory, "{error}");
    ok(&mut session, "ROLLBACK").await;
    ok(&mut session, "BEGIN").await;
    ok(&mut session, &format!("DECLARE held NO SCROLL CURSOR WITH HOLD FOR {}", query())).await;
    let error = run(&mut session, "COMMIT").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Memory, "{error}");
    // What one session may take.
    ok(&mut session, "SET query_memory_limit = '12MB'").await;
    let error = run(&mut session, &format!("DECLARE held SCROLL CURSOR WITH HOLD FOR {}", query())).await.unwrap_err();
    assert!(error.to_string().contains("query_memory_limit"), "{error}");
    ok(&mut session, "RESET query_memory_limit").await;
    ok(&mut session, "DECLARE held SCROLL CURSOR WITH HOLD FOR SELECT repeat('x', 1000) FROM generate_series(1, 1000)")
        .await;
    assert!(database.memory().used() >= before + 1_000_000, "they count");
    ok(&mut session, "CLOSE held").await;
    assert_eq!(database.memory().used(), before, "what was kept is given back");
}
