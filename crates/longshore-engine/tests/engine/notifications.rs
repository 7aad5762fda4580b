//! LISTEN and NOTIFY: who hears what, and when.

use std::sync::Arc;

use longshore_engine::{Config, Database, ErrorKind, Session};

use crate::query_support::{ok, open};

fn database() -> Arc<Database> {
    open(Config { threads: 2, ..Config::default() })
}

/// What a session was told since it was asked last, as `channel:payload`.
fn heard(session: &Session) -> Vec<String> {
    let told = session.activity().inbox().take();
    told.iter().map(|one| format!("{}:{}", one.channel, one.payload)).collect()
}

async fn each(session: &mut Session, statements: &[&str]) {
    for sql in statements {
        ok(session, sql).await;
    }
}

#[tokio::test]
async fn notifications_go_out_when_their_transaction_commits() {
    let database = database();
    let (mut says, mut hears, mut other) = (database.session(), database.session(), database.session());
    each(&mut hears, &["LISTEN News", "LISTEN \"News\""]).await;
    each(&mut says, &["NOTIFY news", "NOTIFY news, 'a text'", "NOTIFY other, 'x'", "NOTIFY \"News\", E'a\\nb'"]).await;
    assert_eq!(heard(&hears), ["news:", "news:a text", "News:a\nb"]);
    assert_eq!(heard(&other), Vec::<String>::new());
    each(&mut says, &["BEGIN", "NOTIFY news, '1'"]).await;
    assert_eq!(heard(&hears), Vec::<String>::new());
    ok(&mut other, "NOTIFY news, '2'").await;
    each(&mut says, &["NOTIFY news, $$3$$", "COMMIT"]).await;
    assert_eq!(heard(&hears), ["news:2", "news:1", "news:3"]);
    let pid = says.activity().pid();
    ok(&mut says, "SELECT pg_notify('news', 'by function')").await;
    assert!(hears.activity().inbox().take().iter().all(|one| one.pid == pid), "it says who has told");
    each(&mut says, &["BEGIN", "NOTIFY news", "ROLLBACK"]).await;
    each(&mut hears, &["UNLISTEN news"]).await;
    ok(&mut says, "NOTIFY news").await;
    assert_eq!(heard(&hears), Vec::<String>::new());
    ok(&mut says, "NOTIFY \"News\"").await;
    ok(&mut hears, "UNLISTEN *").await;
    assert_eq!(heard(&hears), Vec::<String>::new(), "nobody is told of what he does not listen to any more");
}

#[tokio::test]
async fn a_session_hears_itself_and_each_thing_once() {
    let mut session = database().session();
    let listening = "SELECT array_agg(c ORDER BY c)::text FROM pg_listening_channels() AS c";
    for level in ["SERIALIZABLE", "READ COMMITTED"] {
        each(&mut session, &["UNLISTEN *", &format!("BEGIN ISOLATION LEVEL {level}"), "NOTIFY a, '1'", "LISTEN a"])
            .await;
        assert_eq!(ok(&mut session, listening).await, ["-"], "nothing has taken effect");
        each(&mut session, &["NOTIFY a, '2'", "SELECT pg_notify('a', '1')", "SAVEPOINT s", "NOTIFY a, '3'"]).await;
        each(&mut session, &["LISTEN b", "NOTIFY a, '1'", "ROLLBACK TO s", "NOTIFY a, '4'", "NOTIFY a, '3'"]).await;
        each(&mut session, &["RELEASE s", "COMMIT"]).await;
        assert_eq!(heard(&session), ["a:1", "a:2", "a:4", "a:3"]);
        assert_eq!(ok(&mut session, listening).await, ["{a}"]);
    }
    each(&mut session, &["BEGIN", "UNLISTEN a", "NOTIFY a", "COMMIT"]).await;
    assert_eq!(heard(&session), Vec::<String>::new());
    ok(&mut session, "LISTEN c").await;
    assert_eq!(ok(&mut session, "SELECT pg_listening_channels()").await, ["c"]);
    ok(&mut session, "DISCARD ALL").await;
    assert_eq!(ok(&mut session, listening).await, ["-"]);
}

#[tokio::test]
async fn the_function_is_called_for_each_row() {
    let database = database();
    let (mut says, mut hears) = (database.session(), database.session());
    ok(&mut hears, "LISTEN c").await;
    each(&mut says, &["CREATE TABLE t (n int)", "INSERT INTO t VALUES (1), (2), (3)"]).await;
    ok(&mut says, "SELECT pg_notify('c', n::text) FROM t ORDER BY n").await;
    assert_eq!(heard(&hears), ["c:1", "c:2", "c:3"]);
    ok(&mut says, "SELECT pg_notify('c', 'x') FROM t WHERE n > 9").await;
    assert_eq!(heard(&hears), Vec::<String>::new());
    let prepared = says.prepare("SELECT pg_notify($1, $2)").unwrap();
    for text in ["one", "two", "three"] {
        let values = [longshore_engine::Datum::Text("c"), longshore_engine::Datum::Text(text)];
        says.execute_prepared(&prepared, &values).await.unwrap();
    }
    assert_eq!(heard(&hears), ["c:one", "c:two", "c:three"]);
    each(&mut says, &["WITH w AS (INSERT INTO t VALUES (4) RETURNING n) SELECT pg_notify('c', 'row ' || n) FROM w"])
        .await;
    ok(&mut says, "SELECT pg_notify('c', NULL)").await;
    assert_eq!(heard(&hears), ["c:row 4", "c:"]);
    each(&mut says, &["CREATE VIEW v AS SELECT pg_notify('c', 'view ' || n) FROM t WHERE n < 3", "SELECT * FROM v"])
        .await;
    assert_eq!(heard(&hears), ["c:view 1", "c:view 2"]);
    says.execute("SELECT pg_notify('c', 'lost'), 1 / (n - n) FROM t").await.map(|_| ()).unwrap_err();
    assert_eq!(heard(&hears), Vec::<String>::new());
}

#[tokio::test]
async fn too_much_is_refused_and_nothing_is_lost() {
    let database = database();
    let (mut says, mut hears) = (database.session(), database.session());
    each(&mut hears, &["CREATE TABLE t (n int)", "LISTEN c"]).await;
    let message = |channel: &str, payload: usize| format!("SELECT pg_notify('{channel}', repeat('x', {payload}))");
    for (channel, payload, problem) in [
        ("", 1, "channel name cannot be empty"),
        (&"c".repeat(64), 1, "channel name too long"),
        ("c", 8000, "payload string too long"),
    ] {
        let error = says.execute(&message(channel, payload)).await.map(|_| ()).unwrap_err();
        assert_eq!((error.kind(), error.to_string().contains(problem)), (ErrorKind::Invalid, true), "{error}");
    }
    ok(&mut says, &message("c", 7999)).await;
    assert_eq!(heard(&hears)[0].len(), 8001);
    let many =
        "INSERT INTO t SELECT n + length(pg_notify('c', n || repeat('x', 7000))) FROM generate_series(1, {n}) AS n";
    let error = says.execute(&many.replace("{n}", "20000")).await.map(|_| ()).unwrap_err();
    assert!(error.kind() == ErrorKind::TooLarge && error.to_string().contains("in one transaction"), "{error}");
    let mut done = 0;
    let error = loop {
        match says.execute(&many.replace("{n}", "2000")).await {
            Ok(_) => done += 1,
            Err(error) => break error,
        }
        assert!(done < 10, "what waits has an end");
    };
    assert!(error.kind() == ErrorKind::TooLarge && error.to_string().contains("has not taken"), "{error}");
    let usage = ok(&mut says, "SELECT pg_notification_queue_usage() > 0.5").await;
    assert_eq!(usage, ["true"]);
    assert_eq!(ok(&mut says, "SELECT count(*) FROM t").await, [(done * 2000).to_string()], "no row without its word");
    assert_eq!(heard(&hears).len(), done * 2000);
    ok(&mut says, &many.replace("{n}", "2000")).await;
    assert_eq!(heard(&hears).len(), 2000);
}

#[tokio::test]
async fn syntax_is_postgresql_s() {
    let mut session = database().session();
    for sql in
        ["LISTEN", "LISTEN a, b", "LISTEN *", "NOTIFY a b", "NOTIFY a, b", "NOTIFY a, \"b\"", "NOTIFY a, 1", "UNLISTEN"]
    {
        let error = session.execute(sql).await.map(|_| ()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Syntax, "{sql}: {error}");
    }
    each(&mut session, &["BEGIN READ ONLY", "LISTEN a", "NOTIFY a", "COMMIT"]).await;
    assert_eq!(heard(&session), ["a:"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn all_hear_the_same_in_the_same_order() {
    const TOLD: usize = 300;
    let database = database();
    let mut listeners: Vec<Session> = (0..3).map(|_| database.session()).collect();
    for listener in &mut listeners {
        ok(listener, "LISTEN c").await;
    }
    ok(&mut listeners[0], "CREATE TABLE last (n int)").await;
    let writers = (0..4).map(|writer| {
        let database = Arc::clone(&database);
        tokio::spawn(async move {
            let mut session = database.session();
            for n in 0..TOLD {
                let sql = format!("NOTIFY c, '{writer} {n}'");
                session.execute(&sql).await.unwrap();
            }
        })
    });
    let writers: Vec<_> = writers.collect();
    let mut all: Vec<Vec<String>> = vec![Vec::new(); listeners.len()];
    for (listener, heard_by) in listeners.iter().zip(&mut all) {
        while heard_by.len() < 4 * TOLD {
            listener.activity().inbox().arrival().await;
            heard_by.extend(heard(listener));
        }
    }
    for writer in writers {
        writer.await.unwrap();
    }
    assert!(all.iter().all(|heard_by| *heard_by == all[0]));
    for writer in 0..4 {
        let of_writer = all[0].iter().filter(|text| text.starts_with(&format!("c:{writer} ")));
        let expected: Vec<String> = (0..TOLD).map(|n| format!("c:{writer} {n}")).collect();
        assert!(of_writer.eq(expected.iter()), "in the order in which it was said");
    }
}
