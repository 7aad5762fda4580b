//! The server, spoken to byte by byte: what clients of other languages cannot be made to send.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test")]

mod activity;
mod client;
mod hostile;
mod limits;
mod monitoring;
mod notifications;
mod parameters;
mod scram;
mod tls;

use std::net::SocketAddr;
use std::sync::Arc;

use client::{Client, bind, execute, field, kinds, message, parse, startup, values};
use longshore_engine::{Config, Database};
use longshore_server::{Certificates, Server, ServerConfig, Shutdown};
use longshore_testing::Random;
use scram::sign_in;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

struct Running {
    address: SocketAddr,
    database: Arc<Database>,
    certificates: Certificates,
    end: mpsc::UnboundedSender<Shutdown>,
    task: JoinHandle<()>,
}

/// A query that does not end by itself in any time.
const LONG_QUERY: &str =
    "SELECT count(*) FROM generate_series(1, 1000000) a(i), generate_series(1, 1000000) b(j) WHERE i + j = 3";

async fn serve(trust: bool) -> Running {
    serve_as(ServerConfig { trust, ..ServerConfig::default() }).await
}

/// Serves a database in memory at a port that is free.
async fn serve_as(config: ServerConfig) -> Running {
    let database = Database::open(Config { threads: 2, ..Config::default() }).unwrap();
    let config = ServerConfig { listen: vec![SocketAddr::from(([127, 0, 0, 1], 0))], ..config };
    let server = Server::bind(Arc::clone(&database), config).await.unwrap();
    let address = server.addresses().unwrap()[0];
    let certificates = server.certificates();
    let (end, mut ends) = mpsc::unbounded_channel();
    let task = tokio::spawn(server.run(futures::stream::poll_fn(move |context| ends.poll_recv(context))));
    Running { address, database, certificates, end, task }
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_and_errors_are_answered_in_order() {
    let server = serve(true).await;
    let mut client = Client::trusted(server.address).await;
    assert_eq!(kinds(&client.query("SELECT 1; SELECT 2").await), "TDCTDCZ");
    assert_eq!(kinds(&client.query("").await), "IZ");
    assert_eq!(kinds(&client.query("-- nothing").await), "IZ");
    let answers = client.query("SELECT 1; SELECT 1 / 0; SELECT 2").await;
    assert_eq!(kinds(&answers), "TDCTEZ");
    assert_eq!(field(&answers[4], 'C'), "22012");
    assert_eq!(answers[5].1, b"I", "what nobody has begun is over");
    let answers = client.query("BEGIN; SELECT 1 / 0").await;
    assert_eq!((kinds(&answers).as_str(), answers.last().unwrap().1.as_slice()), ("CTEZ", &b"E"[..]));
    let answers = client.query("ROLLBACK").await;
    assert_eq!(answers.last().unwrap().1, b"I");
}

#[tokio::test(flavor = "multi_thread")]
async fn characters_are_padded() {
    let server = serve(true).await;
    let mut client = Client::trusted(server.address).await;
    client.query("CREATE TABLE c (a char(5)); INSERT INTO c VALUES ('\u{e4}b ')").await;
    for (query, sent) in [
        ("SELECT a FROM c", "\u{e4}b   "),
        ("SELECT a FROM c WHERE a = '\u{e4}b'", "\u{e4}b   "),
        ("SELECT 'x'::char(3)", "x  "),
        ("SELECT a::text FROM c", "\u{e4}b"),
        ("SELECT a || '|' FROM c", "\u{e4}b|"),
    ] {
        assert_eq!(values(&client.query(query).await), [sent], "{query}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_extended_protocol_skips_to_sync() {
    let server = serve(true).await;
    let mut client = Client::trusted(server.address).await;
    client.query("CREATE TABLE t (k int PRIMARY KEY, v text)").await;
    // All at once: what stands between two Syncs is one transaction.
    let mut batch = parse("i", "INSERT INTO t VALUES ($1, $2)");
    for (key, value) in [("1", "a"), ("2", "b"), ("1", "c"), ("3", "d")] {
        batch.extend(bind("i", &[key, value]));
        batch.extend(execute(0));
    }
    batch.extend(message(b'S', b""));
    client.send(&batch).await;
    let answers = client.until_ready().await;
    assert_eq!(kinds(&answers), "12C2C2EZ");
    let error = &answers[6];
    assert_eq!((field(error, 'C').as_str(), field(error, 'n').as_str()), ("23505", "t_pkey"));
    assert_eq!(values(&client.query("SELECT count(*) FROM t").await), ["0"]);
    // A portal gives its rows in parts.
    let mut batch = parse("", "SELECT i FROM generate_series(1, 5) g(i)");
    batch.extend(bind("", &[]));
    for rows in [2, 2, 2] {
        batch.extend(execute(rows));
    }
    batch.extend(message(b'S', b""));
    client.send(&batch).await;
    let answers = client.until_ready().await;
    assert_eq!(kinds(&answers), "12DDsDDsDCZ");
    assert_eq!(values(&answers), ["1", "2", "3", "4", "5"]);
    // Names that are not there.
    for (bytes, code) in [
        (bind("nothing", &[]), "26000"),
        (message(b'E', b"nothing\0\0\0\0\0"), "34000"),
        (bind("i", &["1"]), "08P01"),
        (parse("i", "SELECT 1"), "42P05"),
        (parse("", "SELECT 1; SELECT 2"), "42601"),
    ] {
        client.send(&bytes).await;
        client.send(&message(b'S', b"")).await;
        let answers = client.until_ready().await;
        assert_eq!(field(&answers[0], 'C'), code);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_breaks_the_protocol_ends_its_connection_only() {
    let server = serve(true).await;
    let mut other = Client::trusted(server.address).await;
    for bytes in [&b"?\0\0\0\x04"[..], b"Q\0\0\0\x03", b"Q\0\0\0\x08abcd", b"B\0\0\0\x06\0\0", b"S\x7F\xFF\xFF\xFF"] {
        let mut client = Client::trusted(server.address).await;
        client.send(bytes).await;
        let answers = client.until_closed().await;
        assert_eq!(field(answers.last().unwrap(), 'C'), "08P01", "{bytes:?}");
    }
    for bytes in [&b"\0\0\0\x04"[..], b"\x7F\xFF\xFF\xFF\0\x03\0\0", b"\0\0\0\x08\0\x02\0\0", b"GET / HTTP/1.1\r\n\r\n"]
    {
        let mut client = Client::connect(server.address).await;
        client.send(bytes).await;
        assert!(client.until_closed().await.iter().all(|(kind, _)| *kind == 'E'), "{bytes:?}");
    }
    let mut random = Random::new(7);
    for _ in 0..50 {
        let mut client = Client::trusted(server.address).await;
        let bytes: Vec<u8> = (0..random.below(200)).map(|_| random.below(256) as u8).collect();
        client.send(&bytes).await;
    }
    assert_eq!(values(&other.query("SELECT 42").await), ["42"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_gets_in_without_the_password() {
    let server = serve(false).await;
    let mut session = server.database.session();
    session.execute("CREATE ROLE anna LOGIN PASSWORD 'right'").await.unwrap();
    session.execute("CREATE ROLE gone LOGIN PASSWORD 'right' VALID UNTIL '2001-01-01'").await.unwrap();
    session.execute("CREATE ROLE grp PASSWORD 'right'").await.unwrap();
    let sign_in =
        async |user, password| sign_in(&mut Client::connect(server.address).await, user, password, None).await;
    assert_eq!(sign_in("anna", "right").await, ('R', vec![0; 4]));
    for (user, password) in [("anna", "wrong"), ("anna", ""), ("nobody", "right"), ("gone", "right"), ("longshore", "")]
    {
        let refused = sign_in(user, password).await;
        assert_eq!((refused.0, field(&refused, 'C').as_str()), ('E', "28P01"), "{user}");
    }
    let mut client = Client::connect(server.address).await;
    client.send(&startup("anna", "longshore")).await;
    client.send(&message(b'Q', b"SELECT 1\0")).await;
    let answers = client.until_closed().await;
    assert_eq!(kinds(&answers), "RE", "a statement is no password");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_vanishes_leaves_nothing_behind() {
    let server = serve(true).await;
    let mut other = Client::trusted(server.address).await;
    other.query("CREATE TABLE t (k int PRIMARY KEY)").await;
    let mut client = Client::trusted(server.address).await;
    client.query("BEGIN; INSERT INTO t VALUES (1)").await;
    drop(client);
    // In the middle of a COPY.
    let mut client = Client::trusted(server.address).await;
    client.send(&message(b'Q', b"COPY t FROM STDIN\0")).await;
    assert_eq!(client.answer().await.unwrap().0, 'G');
    client.send(&message(b'd', b"2\n3\n")).await;
    drop(client);
    // In the middle of a long query.
    let mut client = Client::trusted(server.address).await;
    client.send(&message(b'Q', format!("{LONG_QUERY}\0").as_bytes())).await;
    drop(client);
    assert_eq!(values(&other.query("SELECT count(*) FROM t").await), ["0"]);
    // The server ends only when all of them have.
    drop(other);
    server.end.send(Shutdown::Graceful).unwrap();
    server.task.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_graceful_end_waits_for_transactions() {
    let server = serve(true).await;
    let mut idle = Client::trusted(server.address).await;
    let mut busy = Client::trusted(server.address).await;
    busy.query("CREATE TABLE t (k int); BEGIN").await;
    busy.query("INSERT INTO t VALUES (1)").await;
    server.end.send(Shutdown::Graceful).unwrap();
    let told = idle.until_closed().await;
    assert_eq!(field(&told[0], 'C'), "57P01");
    assert_eq!(kinds(&busy.query("COMMIT").await), "CZ");
    assert_eq!(field(&busy.until_closed().await[0], 'C'), "57P01");
    server.task.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fast_end_cancels_and_rolls_back() {
    let server = serve(true).await;
    let mut client = Client::trusted(server.address).await;
    client.query("BEGIN").await;
    client.send(&message(b'Q', format!("{LONG_QUERY}\0").as_bytes())).await;
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    server.end.send(Shutdown::Fast).unwrap();
    let told = client.until_closed().await;
    assert!(told.iter().any(|answer| field(answer, 'C') == "57P01"), "{told:?}");
    server.task.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_request_needs_the_key() {
    let server = serve(true).await;
    let mut client = Client::connect(server.address).await;
    client.send(&startup("longshore", "longshore")).await;
    let answers = client.until_ready().await;
    let (_, key) = answers.iter().find(|(kind, _)| *kind == 'K').unwrap();
    let cancel = async |key: &[u8]| {
        let mut bytes = (8 + key.len() as u32).to_be_bytes().to_vec();
        bytes.extend(80_877_102_u32.to_be_bytes());
        bytes.extend(key);
        let mut other = Client::connect(server.address).await;
        other.send(&bytes).await;
        assert!(other.until_closed().await.is_empty());
    };
    client.send(&message(b'Q', format!("{LONG_QUERY}\0").as_bytes())).await;
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    let mut wrong = key.clone();
    *wrong.last_mut().unwrap() ^= 1;
    cancel(&wrong).await;
    let early = tokio::time::timeout(std::time::Duration::from_millis(300), client.answer()).await;
    assert!(early.is_err(), "a wrong key cancels nothing");
    cancel(key).await;
    let answers = client.until_ready().await;
    assert!(answers.iter().any(|answer| field(answer, 'C') == "57014"));
    assert_eq!(values(&client.query("SELECT 1").await), ["1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn copy_out_streams_and_copy_in_may_fail() {
    let server = serve(true).await;
    let mut client = Client::trusted(server.address).await;
    client.query("CREATE TABLE t (k int, v text)").await;
    client.send(&message(b'Q', b"COPY t FROM STDIN\0")).await;
    assert_eq!(client.answer().await.unwrap(), ('G', vec![0, 0, 2, 0, 0, 0, 0]));
    // Lines may be cut anywhere.
    for part in [&b"1\ta"[..], b"b\n2", b"\t\\N\n"] {
        client.send(&message(b'd', part)).await;
    }
    client.send(&message(b'c', b"")).await;
    let answers = client.until_ready().await;
    assert_eq!(answers[0], ('C', b"COPY 2\0".to_vec()));
    let answers = client.query("COPY t TO STDOUT").await;
    assert_eq!(kinds(&answers), "HddcCZ");
    assert_eq!(answers[2].1, b"2\t\\N\n");
    assert_eq!(kinds(&client.query("COPY (SELECT 1 WHERE false) TO STDOUT").await), "HcCZ");
    // The statement fails before all of its data has come; what comes late is passed over.
    client.send(&message(b'Q', b"COPY t FROM STDIN\0")).await;
    assert_eq!(client.answer().await.unwrap().0, 'G');
    client.send(&message(b'f', b"changed my mind\0")).await;
    let answers = client.until_ready().await;
    assert_eq!(field(&answers[0], 'C'), "57014");
    assert!(field(&answers[0], 'M').contains("changed my mind"));
    client.send(&[message(b'd', b"3\tx\n"), message(b'c', b"")].concat()).await;
    assert_eq!(values(&client.query("SELECT count(*) FROM t").await), ["2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn there_are_as_many_connections_as_are_let_in() {
    let server = serve_as(ServerConfig { trust: true, connections_max: 200, ..ServerConfig::default() }).await;
    let address = server.address;
    let mut clients = Vec::new();
    for _ in 0..200 {
        clients.push(Client::trusted(address).await);
    }
    let mut client = Client::connect(address).await;
    client.send(&startup("longshore", "longshore")).await;
    assert_eq!(field(client.until_closed().await.last().unwrap(), 'C'), "53300");
    for client in &mut clients {
        assert_eq!(values(&client.query("SELECT 1").await), ["1"]);
    }
    clients.pop();
    let begun = std::time::Instant::now();
    loop {
        let mut client = Client::connect(address).await;
        client.send(&startup("longshore", "longshore")).await;
        let mut answers = Vec::new();
        while let Some(answer) = client.answer().await {
            answers.push(answer.0);
            if matches!(answer.0, 'Z' | 'E') {
                break;
            }
        }
        if answers.last() == Some(&'Z') {
            break;
        }
        assert!(begun.elapsed().as_secs() < 60, "a place is free again");
    }
}
