//! What a client sends to a session: messages in any order, cut, joined and with any byte changed. The server neither panics nor
//! hangs, what it answers is messages again, and it serves the next client.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use crate::Choices;
use longshore_engine::{Config, Database};
use longshore_server::{Server, ServerConfig};

/// How long a client that has sent all waits for more before it says so.
const SILENCE: Duration = Duration::from_millis(50);
/// How long a connection may take to end.
const END_TIME_MAX: Duration = Duration::from_secs(15);
/// Messages of one client, at most.
const MESSAGES_MAX: usize = 24;

/// Who may write no files.
const SCHEMA: [&str; 5] = [
    "CREATE ROLE fuzz LOGIN",
    "CREATE TABLE t (k int PRIMARY KEY, v text, n numeric(10, 2), d date, a int[])",
    "CREATE TABLE c (k int REFERENCES t)",
    "GRANT ALL ON t, c TO fuzz",
    "INSERT INTO t SELECT i, 'row ' || i, i / 7.0, DATE '2024-01-01' + i::int, ARRAY[i::int] FROM generate_series(1, 100) g(i)",
];

const STATEMENTS: [&str; 26] = [
    "SELECT * FROM t WHERE k = $1",
    "SELECT v, n FROM t WHERE k < $1 ORDER BY k",
    "SELECT $1::text, $2::numeric, $3::date",
    "SELECT count(*) FROM t, c WHERE t.k = c.k",
    "INSERT INTO t VALUES ($1, $2)",
    "INSERT INTO c VALUES ($1)",
    "UPDATE t SET v = $2 WHERE k = $1",
    "DELETE FROM t WHERE k = $1",
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
    "SAVEPOINT s",
    "ROLLBACK TO s",
    "COPY t FROM STDIN",
    "COPY t FROM STDIN (FORMAT csv)",
    "COPY t TO STDOUT",
    "SELECT 1 / 0",
    "SELECT 1; SELECT 2",
    "SET DateStyle = 'German'; SHOW DateStyle",
    "SET default_transaction_isolation = 'read committed'",
    "PREPARE p AS SELECT $1::int; EXECUTE p(1)",
    "TRUNCATE t, c",
    "DISCARD ALL",
    "LISTEN c; NOTIFY c, 'x'",
    "SELECT pg_notify($1, $2)",
    "",
];

static SOCKET: LazyLock<PathBuf> = LazyLock::new(|| {
    let directory = tempfile::tempdir().expect("a directory").keep();
    let config = Config { threads: 2, memory_limit: Some(1 << 28), ..Config::default() };
    let (told, socket) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        runtime.expect("threads").block_on(async move {
            let database = Database::open(config).expect("memory");
            let mut session = database.session();
            for sql in SCHEMA {
                session.execute(sql).await.expect("it is right");
            }
            let config =
                ServerConfig { listen: Vec::new(), socket: Some(directory), trust: true, ..ServerConfig::default() };
            let server = Server::bind(database, config).await.expect("a socket");
            told.send(server.socket().expect("it has one").to_owned()).expect("somebody waits");
            server.run(futures::stream::pending()).await;
        });
    });
    socket.recv().expect("it listens")
});

/// What must hold for any bytes.
///
/// # Panics
///
/// When it does not.
pub fn check_input(input: &[u8]) {
    let mut choices = Choices::new(input);
    let mut sent = startup(&mut choices);
    for _ in 0..MESSAGES_MAX {
        if choices.is_done() {
            break;
        }
        message(&mut sent, &mut choices);
    }
    for _ in 0..choices.below(4) {
        if sent.is_empty() {
            break;
        }
        let at = choices.below(sent.len().min(1 << 16));
        match choices.byte() % 4 {
            0 => sent[at] = choices.byte(),
            1 => drop(sent.remove(at)),
            2 => sent.insert(at, choices.byte()),
            _ => sent.truncate(at.max(1)),
        }
    }
    let answers = exchange(&sent);
    check(&answers);
}

/// Sends all at once; what comes back until the server ends the connection.
fn exchange(sent: &[u8]) -> Vec<u8> {
    let mut stream = UnixStream::connect(&*SOCKET).expect("the server listens");
    let begun = Instant::now();
    // A server that has ended the connection takes no more.
    let is_there = stream.write_all(sent).is_ok();
    stream.set_read_timeout(Some(SILENCE)).expect("not zero");
    let (mut answers, mut part, mut is_silent) = (Vec::new(), vec![0; 1 << 16], !is_there);
    loop {
        match stream.read(&mut part) {
            Ok(0) => return answers,
            Ok(length) => answers.extend_from_slice(&part[..length]),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                // It may wait for the rest of a message, or work.
                if !std::mem::replace(&mut is_silent, true) {
                    let _ = stream.shutdown(Shutdown::Write);
                }
                assert!(begun.elapsed() < END_TIME_MAX, "the server hangs");
            }
            Err(_) => return answers,
        }
    }
}

/// Whether bytes are messages; the first may be the answer to a wish for encryption, the last may be cut.
fn check(answers: &[u8]) {
    let mut rest = answers;
    while let Some(b"N") = rest.get(..1).filter(|_| !rest.get(1..5).is_some_and(is_length)) {
        rest = &rest[1..];
    }
    while rest.len() >= 5 {
        assert!(b"RSKZTDCENItnsv123GHdcA".contains(&rest[0]), "a message of kind {}", rest[0]);
        let length = u32::from_be_bytes(rest[1..5].try_into().expect("four bytes")) as usize;
        assert!(length >= 4, "a message of {length} bytes");
        rest = rest.get(1 + length..).unwrap_or_default();
    }
}

/// Whether bytes may be the length of a notice.
fn is_length(bytes: &[u8]) -> bool {
    bytes[0] == 0 && bytes[1] == 0
}

fn startup(choices: &mut Choices<'_>) -> Vec<u8> {
    let mut body = match choices.byte() {
        // What comes before a beginning.
        0 => return b"\0\0\0\x08\x04\xD2\x16\x2F".to_vec(),
        1 => return b"\0\0\0\x08\x04\xD2\x16\x30".to_vec(),
        2 => return b"\0\0\0\x10\x04\xD2\x16\x2E\0\0\0\x01\0\0\0\0".to_vec(),
        3 => b"\0\x03\0\x02".to_vec(),
        4 => b"\0\x02\0\0".to_vec(),
        _ => b"\0\x03\0\0".to_vec(),
    };
    for text in ["user", "fuzz", "database", "longshore", "options", "-c statement_timeout=2s", ""] {
        body.extend_from_slice(text.as_bytes());
        body.push(0);
    }
    let mut sent = (body.len() as u32 + 4).to_be_bytes().to_vec();
    sent.extend(body);
    sent
}

/// Appends a message.
fn message(sent: &mut Vec<u8>, choices: &mut Choices<'_>) {
    let mut body = Vec::new();
    let kind = choices.pick(b"QQPPBBBDEEECHSSSdcfFpX");
    let name = |body: &mut Vec<u8>, choices: &mut Choices<'_>| {
        body.extend_from_slice(choices.pick(&["", "", "s", "p"]).as_bytes());
        body.push(0);
    };
    match kind {
        b'Q' => body.extend(statement(choices)),
        b'P' => {
            name(&mut body, choices);
            body.extend(statement(choices));
            let types = choices.byte() % 4;
            body.extend([0, types]);
            for _ in 0..types {
                // int4, text, numeric, date, bytea, an array, and one that is not known.
                body.extend(choices.pick(&[0_u32, 23, 25, 1700, 1082, 17, 1007, 99_999]).to_be_bytes());
            }
        }
        b'B' => {
            name(&mut body, choices);
            name(&mut body, choices);
            let formats = choices.byte() % 3;
            body.extend([0, formats]);
            (0..formats).for_each(|_| body.extend([0, choices.byte() % 3]));
            let values = choices.byte() % 4;
            body.extend([0, values]);
            for _ in 0..values {
                let value =
                    choices.pick(&[&b"7"[..], b"", b"2024-02-30", b"\0\0\0\x07", b"NaN", b"{1,2}", b"\xFF\xFE"]);
                let length = if choices.byte().is_multiple_of(8) { u32::MAX } else { value.len() as u32 };
                body.extend(length.to_be_bytes());
                if length != u32::MAX {
                    body.extend_from_slice(value);
                }
            }
            body.extend([0, 1, 0, choices.byte() % 2]);
        }
        b'D' | b'C' => {
            body.push(choices.pick(b"SPX"));
            name(&mut body, choices);
        }
        b'E' => {
            name(&mut body, choices);
            body.extend([0, 0, 0, choices.byte() % 4]);
        }
        b'd' => body.extend_from_slice(choices.pick(&[&b"200\tx\n"[..], b"201,y\n", b"\\.\n", b"\"", b"1\t\\N\t1"])),
        b'f' => body.extend_from_slice(b"no more\0"),
        b'p' | b'F' => (0..choices.byte() % 16).for_each(|_| body.push(choices.byte())),
        _ => {}
    }
    sent.push(kind);
    sent.extend((body.len() as u32 + 4).to_be_bytes());
    sent.extend(body);
}

/// A statement that ends with NUL, now and then with another byte somewhere.
fn statement(choices: &mut Choices<'_>) -> Vec<u8> {
    let mut sql = choices.pick(&STATEMENTS).as_bytes().to_vec();
    if choices.byte() % 4 == 1 && !sql.is_empty() {
        let at = choices.below(sql.len());
        sql[at] = choices.byte();
    }
    sql.push(0);
    sql
}
