//! NOTIFY to clients: between their statements, and never within their transactions.

use crate::client::{Client, bind, execute, kinds, message, parse, startup};
use crate::serve;

/// Channel and payload of a notification.
fn told(body: &[u8]) -> String {
    String::from_utf8_lossy(&body[4..]).replace('\0', " ").trim_end().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_are_told_between_their_statements() {
    let server = serve(true).await;
    let (mut hears, mut says) = (Client::connect(server.address).await, Client::connect(server.address).await);
    for client in [&mut hears, &mut says] {
        client.send(&startup("longshore", "longshore")).await;
        client.until_ready().await;
    }
    assert_eq!(kinds(&hears.query("LISTEN jobs").await), "CZ");
    // What a client tells itself comes before it is ready again.
    let own = hears.query("NOTIFY jobs, 'own'").await;
    assert_eq!((kinds(&own).as_str(), told(&own[1].1).as_str()), ("CAZ", "jobs own"));
    let own = hears.query("NOTIFY jobs, 'a'; NOTIFY jobs, 'b'").await;
    assert_eq!(kinds(&own), "CCAAZ");
    // Others reach it while it waits.
    says.query("NOTIFY jobs, 'other'").await;
    let (kind, body) = hears.answer().await.unwrap();
    assert_eq!((kind, told(&body).as_str()), ('A', "jobs other"));
    // Not in its transaction.
    hears.query("BEGIN").await;
    says.query("NOTIFY jobs, 'late'").await;
    assert_eq!(kinds(&hears.query("SELECT 1").await), "TDCZ");
    assert_eq!(kinds(&hears.query("COMMIT").await), "CAZ");
    hears.query("BEGIN").await;
    says.query("NOTIFY jobs, 'late'").await;
    assert!(!kinds(&hears.query("SELECT 1 / 0").await).contains('A'));
    assert_eq!(kinds(&hears.query("ROLLBACK").await), "CAZ");
    // In a pipeline, at its end.
    let pipeline: Vec<u8> = [
        parse("", "SELECT pg_notify($1, $2)"),
        bind("", &["jobs", "piped"]),
        execute(0),
        parse("", "NOTIFY jobs"),
        bind("", &[]),
        execute(0),
        message(b'S', b""),
    ]
    .concat();
    hears.send(&pipeline).await;
    assert_eq!(kinds(&hears.until_ready().await), "12DC12CAAZ");
    // A large backlog comes whole.
    hears.query("BEGIN").await;
    says.query("SELECT pg_notify('jobs', repeat('x', 5000) || n) FROM generate_series(1, 5000) AS n").await;
    let backlog = hears.query("COMMIT").await;
    assert_eq!(kinds(&backlog), format!("C{}Z", "A".repeat(5000)));
    drop(hears);
    assert_eq!(kinds(&says.query("NOTIFY jobs, 'nobody'").await), "CZ");
}
