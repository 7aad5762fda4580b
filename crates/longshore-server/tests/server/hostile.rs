//! Clients that send what is wrong, send too slowly, read nothing, or vanish.

use std::time::{Duration, Instant};

use longshore_server::{ServerConfig, Shutdown};
use longshore_testing::Random;
use tokio::io::AsyncWriteExt;

use super::client::{Client, bind, execute, field, kinds, message, parse, startup, values};
use super::{LONG_QUERY, serve, serve_as};

/// How long the server may take to see that a client has gone.
const PATIENCE: Duration = Duration::from_mins(1);

/// The messages of a client, one of each kind.
fn messages() -> Vec<Vec<u8>> {
    vec![
        message(b'Q', b"SELECT 1\0"),
        parse("s", "SELECT $1::int"),
        bind("s", &["7"]),
        message(b'D', b"Ss\0"),
        message(b'D', b"P\0"),
        execute(0),
        message(b'C', b"Ss\0"),
        message(b'H', b""),
        message(b'S', b""),
        message(b'd', b"1\tx\n"),
        message(b'c', b""),
        message(b'f', b"no more\0"),
        message(b'F', b"\0\0\0\x01\0\0\0\0\0\0"),
        message(b'p', b"password\0"),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn each_message_may_be_cut_anywhere() {
    let server = serve(true).await;
    for whole in messages() {
        // Its client leaves in the middle of it.
        for length in 1..whole.len() {
            let mut client = Client::trusted(server.address).await;
            client.send(&whole[..length]).await;
            client.stream.shutdown().await.unwrap();
            let answers = client.until_closed().await;
            assert!(!kinds(&answers).contains('Z'), "{:?} is no whole message", &whole[..length]);
        }
    }
    let mut client = Client::trusted(server.address).await;
    assert_eq!(values(&client.query("SELECT 1").await), ["1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn lengths_that_cannot_be_are_refused_at_once() {
    let server = serve(true).await;
    for kind in b"QPBDECHSdcfFpX?\0\xFF" {
        for length in [0_u32, 3, 0x4000_0000, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF] {
            let mut client = Client::trusted(server.address).await;
            client.send(&[&[*kind][..], &length.to_be_bytes()].concat()).await;
            let refused = client.until_closed().await;
            assert_eq!(field(&refused[0], 'C'), "08P01", "{} of {length} bytes", char::from(*kind));
        }
    }
    for length in [0_u32, 7, 10_001, 0x7FFF_FFFF, 0xFFFF_FFFF] {
        let mut client = Client::connect(server.address).await;
        client.send(&length.to_be_bytes()).await;
        assert_eq!(field(&client.until_closed().await[0], 'C'), "08P01", "a beginning of {length} bytes");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_with_any_byte_changed_end_nothing_but_their_connection() {
    let server = serve(true).await;
    let (messages, mut random) = (messages(), Random::new(3));
    for _ in 0..300 {
        let mut bytes = Vec::new();
        for _ in 0..=random.below(6) {
            let mut message = messages[random.below(messages.len())].clone();
            if random.below(2) == 0 {
                // Not of the length, or most would wait for more.
                let at = 5 + random.below(message.len());
                if let Some(byte) = message.get_mut(at) {
                    *byte = random.below(256) as u8;
                }
            }
            bytes.extend(message);
        }
        let mut client = Client::trusted(server.address).await;
        client.send(&bytes).await;
        let _ = client.stream.shutdown().await;
        client.until_closed().await;
    }
    let mut client = Client::trusted(server.address).await;
    assert_eq!(values(&client.query("SELECT 1").await), ["1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_sign_in_is_left() {
    let config = ServerConfig { trust: true, sign_in_time_max: Duration::from_millis(500), ..ServerConfig::default() };
    let server = serve_as(config).await;
    let mut silent = Client::connect(server.address).await;
    let mut half = Client::connect(server.address).await;
    half.send(&startup("longshore", "longshore")[..20]).await;
    let begun = Instant::now();
    assert!(silent.until_closed().await.is_empty() && half.until_closed().await.is_empty());
    assert!(begun.elapsed() >= Duration::from_millis(300), "there is time to sign in");
    // Who has signed in may be silent for ever.
    let mut client = Client::trusted(server.address).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(values(&client.query("SELECT 1").await), ["1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_that_do_not_sign_in_do_not_fill_the_server() {
    let server = serve_as(ServerConfig { trust: true, connections_max: 4, ..ServerConfig::default() }).await;
    let mut silent = Vec::new();
    for _ in 0..24 {
        silent.push(Client::connect(server.address).await);
    }
    let mut client = Client::connect(server.address).await;
    assert_eq!(field(&client.until_closed().await[0], 'C'), "53300", "it need not even ask");
    silent.clear();
    let begun = Instant::now();
    loop {
        let mut client = Client::connect(server.address).await;
        client.stream.write_all(&startup("longshore", "longshore")).await.unwrap();
        if client.answer().await.is_some_and(|(kind, _)| kind == 'R') {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "there is room again");
    }
}

/// What a statement that runs holds while its client reads nothing is bounded: the rows wait, not the memory.
#[tokio::test(flavor = "multi_thread")]
async fn rows_wait_for_a_client_that_reads_nothing() {
    // A terabyte, which the writer of a COPY works on in parts of many megabytes.
    for sql in [
        "SELECT repeat('x', 1000) FROM generate_series(1, 1000000000)",
        "COPY (SELECT repeat('x', 1000) FROM generate_series(1, 1000000000)) TO STDOUT",
    ] {
        let (server, before) = (serve(true).await, resident_bytes());
        let mut client = Client::trusted(server.address).await;
        client.send(&message(b'Q', format!("{sql}\0").as_bytes())).await;
        tokio::time::sleep(Duration::from_secs(3)).await;
        let grown = resident_bytes().saturating_sub(before);
        assert!(grown < 1 << 30, "{grown} bytes more for {sql}");
        // The statement ends with its client.
        drop(client);
        server.end.send(Shutdown::Graceful).unwrap();
        tokio::time::timeout(PATIENCE, server.task).await.expect("nobody is left").unwrap();
    }
}

/// Memory of this process, in which the server runs.
fn resident_bytes() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

/// Locks and rows of a client that vanishes are gone, whatever it was doing.
#[tokio::test(flavor = "multi_thread")]
async fn locks_go_with_their_client() {
    let server = serve(true).await;
    let mut other = Client::trusted(server.address).await;
    other.query("CREATE TABLE t (k int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 0)").await;
    other.query("SET default_transaction_isolation = 'read committed'; SET lock_timeout = '60s'").await;
    let copying = [message(b'Q', b"COPY t FROM STDIN\0"), message(b'd', b"2\t0\n3\t0\n"), message(b'd', b"4")].concat();
    let querying = message(b'Q', format!("{LONG_QUERY}\0").as_bytes());
    let piped = [parse("", "INSERT INTO t VALUES (2, 0)"), bind("", &[]), execute(0), message(b'H', b"")].concat();
    for then in [Vec::new(), copying, querying, piped, b"Q\0\0".to_vec()] {
        for does_reset in [false, true] {
            let mut client = Client::trusted(server.address).await;
            client.query("SET default_transaction_isolation = 'read committed'").await;
            client.query("BEGIN; UPDATE t SET v = v + 1 WHERE k = 1; LOCK TABLE t IN ROW EXCLUSIVE MODE").await;
            client.query("SELECT pg_advisory_lock(7)").await;
            client.send(&then).await;
            tokio::time::sleep(Duration::from_millis(100)).await;
            if does_reset {
                // As if its process had been killed with bytes unread: the system sends a reset.
                client.stream.set_zero_linger().unwrap();
            }
            drop(client);
            // It waits for the lock until the other transaction has gone.
            let answers = other.query("UPDATE t SET v = v WHERE k = 1").await;
            assert_eq!(kinds(&answers), "CZ", "{answers:?}");
            assert_eq!(values(&other.query("SELECT k || ':' || v FROM t").await), ["1:0"]);
            let taken = other.query("SELECT pg_advisory_lock(7), pg_advisory_unlock(7)").await;
            assert_eq!(kinds(&taken), "TDCZ");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fast_end_does_not_wait_for_who_reads_nothing() {
    let server = serve(true).await;
    let mut client = Client::trusted(server.address).await;
    client.send(&message(b'Q', b"SELECT repeat('x', 1000) FROM generate_series(1, 1000000000)\0")).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let begun = Instant::now();
    server.end.send(Shutdown::Fast).unwrap();
    server.task.await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(8), "its connection need not be cut off: {:?}", begun.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn who_reads_nothing_can_be_sent_away() {
    let server = serve(true).await;
    let mut other = Client::trusted(server.address).await;
    let mut clients = Vec::new();
    for sql in [
        "SELECT repeat('x', 1000) FROM generate_series(1, 1000000000)",
        "COPY (SELECT repeat('x', 1000) FROM generate_series(1, 1000000000)) TO STDOUT",
    ] {
        let mut client = Client::connect(server.address).await;
        let answers = client.begin("longshore").await;
        let (_, key) = answers.iter().find(|(kind, _)| *kind == 'K').unwrap();
        let process = u32::from_be_bytes(key[..4].try_into().unwrap());
        client.send(&message(b'Q', format!("{sql}\0").as_bytes())).await;
        clients.push((process, client));
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    for (process, _) in &clients {
        let answers = other.query(&format!("SELECT pg_terminate_backend({process})")).await;
        assert_eq!(values(&answers), ["t"]);
    }
    drop(other);
    server.end.send(Shutdown::Graceful).unwrap();
    tokio::time::timeout(PATIENCE, server.task).await.expect("nobody is left").unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_passwords_wait() {
    let server = serve(false).await;
    let mut session = server.database.session();
    session.execute("CREATE ROLE anna LOGIN PASSWORD 'right'").await.unwrap();
    session.execute("CREATE ROLE bert LOGIN PASSWORD 'right'").await.unwrap();
    let try_as = async |user: &str, password: &str| {
        let begun = Instant::now();
        let answer = super::sign_in(&mut Client::connect(server.address).await, user, password, None).await;
        (answer.0, begun.elapsed())
    };
    assert_eq!(try_as("anna", "wrong").await.0, 'E');
    // Also the right one: how long it takes tells nothing. Others do not wait.
    let ((first, waited), (other, other_waited)) = tokio::join!(try_as("anna", "right"), try_as("bert", "right"));
    assert_eq!((first, other), ('R', 'R'));
    assert!(waited >= Duration::from_millis(900) && other_waited < waited, "{waited:?}, {other_waited:?}");
    // Many at a time are no faster than one after the other.
    let begun = Instant::now();
    assert_eq!(try_as("anna", "wrong").await.0, 'E');
    tokio::join!(try_as("anna", "wrong"), try_as("anna", "wrong"));
    assert!(begun.elapsed() >= Duration::from_millis(2900), "{:?}", begun.elapsed());
}
