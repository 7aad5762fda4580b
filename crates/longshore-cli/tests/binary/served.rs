//! `longshore serve`: what a service manager is told, and kills at random moments while clients commit. What the server has
//! acknowledged is there when it starts again, whole, and nothing else but what was under way.
//!
//! `LONGSHORE_SERVER_KILLS` sets how often it is killed; a usual run does it ten times.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use longshore_testing::Random;

use crate::run::{command, longshore_in};

const KILLS: &str = "LONGSHORE_SERVER_KILLS";
const KILLS_USUAL: usize = 10;

const CLIENTS: usize = 4;
const ACCOUNTS: usize = 50;
/// Rows of one COPY.
const BATCH: usize = 500;
/// How long clients work before the server is killed, at most.
const WORK_MILLIS: usize = 400;

const TABLES: &str = "\
CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
INSERT INTO account SELECT i, 0 FROM generate_series(0, 49) g(i);
CREATE TABLE history (client int, number int, source int, target int, amount int, PRIMARY KEY (client, number));
CREATE TABLE batch (client int, number int, row int)";

/// A server, which is killed when it is dropped.
struct Served {
    child: Child,
    port: u16,
}

impl Served {
    fn start(directory: &Path) -> Self {
        let mut child = command(directory)
            .args(["serve", "shop", "--trust", "--listen", "127.0.0.1:0", "--threads", "2"])
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let (told, port) = mpsc::channel();
        let errors = BufReader::new(child.stderr.take().expect("a pipe"));
        // To its end: a server whose messages nobody takes would wait.
        std::thread::spawn(move || {
            for line in errors.lines().map_while(Result::ok) {
                match line.strip_prefix("listening on 127.0.0.1:") {
                    Some(port) => drop(told.send(port.parse().expect("a port"))),
                    None => println!("{line}"),
                }
            }
        });
        let port = port.recv_timeout(Duration::from_mins(1)).expect("it listens");
        Self { child, port }
    }

    fn kill(mut self) {
        self.child.kill().expect("it is there");
        self.child.wait().expect("it has gone");
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

/// A client of the simple protocol.
struct Client(BufReader<TcpStream>);

/// What came of a query: the first column of its rows, or the SQLSTATE.
type Answer = Result<Vec<String>, String>;

impl Client {
    fn connect(port: u16) -> io::Result<Self> {
        let mut client = Self(BufReader::new(TcpStream::connect(("127.0.0.1", port))?));
        client.0.get_ref().set_read_timeout(Some(Duration::from_mins(1)))?;
        let body = b"\0\x03\0\0user\0longshore\0database\0longshore\0\0";
        client.0.get_mut().write_all(&[&(body.len() as u32 + 4).to_be_bytes()[..], body].concat())?;
        client.answer()?.expect("it is let in");
        Ok(client)
    }

    fn send(&mut self, kind: u8, body: &[u8]) -> io::Result<()> {
        let message = [&[kind][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat();
        self.0.get_mut().write_all(&message)
    }

    fn query(&mut self, sql: &str) -> io::Result<Answer> {
        self.send(b'Q', format!("{sql}\0").as_bytes())?;
        self.answer()
    }

    /// Sends rows by COPY.
    fn copy(&mut self, table: &str, rows: &str) -> io::Result<Answer> {
        self.send(b'Q', format!("COPY {table} FROM STDIN\0").as_bytes())?;
        for part in rows.as_bytes().chunks(1000) {
            self.send(b'd', part)?;
        }
        self.send(b'c', b"")?;
        self.answer()
    }

    fn answer(&mut self) -> io::Result<Answer> {
        let mut answer = Ok(Vec::new());
        loop {
            let mut head = [0; 5];
            self.0.read_exact(&mut head)?;
            let length = u32::from_be_bytes(head[1..].try_into().expect("four bytes"));
            let mut body = vec![0; length as usize - 4];
            self.0.read_exact(&mut body)?;
            match (head[0], &mut answer) {
                (b'Z', _) => return Ok(answer),
                (b'E', answer) => {
                    let fields = String::from_utf8_lossy(&body).into_owned();
                    let code = fields.split('\0').find_map(|field| field.strip_prefix('C')).unwrap_or_default();
                    *answer = Err(code.to_owned());
                }
                (b'D', Ok(rows)) => {
                    let length = u32::from_be_bytes(body[2..6].try_into().expect("four bytes"));
                    rows.push(String::from_utf8_lossy(&body[6..6 + length as usize]).into_owned());
                }
                _ => {}
            }
        }
    }
}

/// What a client has done: the numbers of its transactions begin at 0 and have no gap.
#[derive(Clone, Copy, Debug, Default)]
struct Done {
    transfers: usize,
    batches: usize,
}

/// Works until the server has gone; what was acknowledged.
fn work(port: u16, number: usize, mut done: Done, mut random: Random) -> Done {
    let mut work = || -> io::Result<()> {
        let mut client = Client::connect(port)?;
        loop {
            match random.below(10) {
                0 => {
                    let line = |row| format!("{number}\t{}\t{row}\n", done.batches);
                    let rows: String = (0..BATCH).map(line).collect();
                    client.copy("batch", &rows)?.expect("rows are right");
                    done.batches += 1;
                }
                1 if number == 0 => drop(client.query("CHECKPOINT")?.expect("a checkpoint is made")),
                _ => {
                    let (source, target, amount) = (random.below(ACCOUNTS), random.below(ACCOUNTS), random.below(100));
                    let statements = [
                        "BEGIN".to_owned(),
                        format!("UPDATE account SET balance = balance - {amount} WHERE id = {source}"),
                        format!("UPDATE account SET balance = balance + {amount} WHERE id = {target}"),
                        format!(
                            "INSERT INTO history VALUES ({number}, {}, {source}, {target}, {amount})",
                            done.transfers
                        ),
                    ];
                    let mut all = Ok(Vec::new());
                    for sql in &statements {
                        all = client.query(sql)?;
                        if all.is_err() {
                            break;
                        }
                    }
                    let end = if all.is_ok() { client.query("COMMIT")? } else { all };
                    match end {
                        Ok(_) => done.transfers += 1,
                        // Another one was first.
                        Err(code) if code == "40001" => drop(client.query("ROLLBACK")?),
                        Err(code) => panic!("{code}"),
                    }
                }
            }
        }
    };
    let gone = work().expect_err("it works until the server has gone");
    assert!(gone.kind() != io::ErrorKind::WouldBlock && gone.kind() != io::ErrorKind::TimedOut, "the server hangs");
    done
}

/// Whether everything is there that was acknowledged, and no more than what each client had under way; how far each has come.
fn check(client: &mut Client, acknowledged: &[Done]) -> Vec<Done> {
    let mut one = |sql: &str| -> usize {
        let rows = client.query(sql).expect("the server is there").expect("it is right");
        rows[0].parse().unwrap_or_else(|_| panic!("{sql}: {rows:?}"))
    };
    let unequal = one("SELECT count(*) FROM account a WHERE balance <> \
         (SELECT coalesce(sum(amount), 0) FROM history WHERE target = a.id) \
         - (SELECT coalesce(sum(amount), 0) FROM history WHERE source = a.id)");
    assert_eq!(unequal, 0, "no transfer is there in part");
    let clients = acknowledged.iter().enumerate().map(|(number, told)| {
        let transfers = one(&format!("SELECT count(*) FROM history WHERE client = {number}"));
        let batches = one(&format!("SELECT count(DISTINCT number) FROM batch WHERE client = {number}"));
        let rows = one(&format!("SELECT count(*) FROM batch WHERE client = {number}"));
        let extra = one(&format!("SELECT count(*) FROM history WHERE client = {number} AND number >= {transfers}"));
        assert_eq!((rows, extra), (batches * BATCH, 0), "batches are whole, and no transfer is missing in between");
        assert!(transfers >= told.transfers && batches >= told.batches, "{number}: {told:?} was acknowledged");
        let more = transfers - told.transfers + batches - told.batches;
        assert!(more <= 1, "{number}: one at most was under way");
        Done { transfers, batches }
    });
    clients.collect()
}

#[test]
fn the_service_manager_is_told() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("notify");
    let socket = UnixDatagram::bind(&path).expect("a socket");
    socket.set_read_timeout(Some(Duration::from_mins(1))).expect("not zero");
    let told = || {
        let mut text = [0; 100];
        let length = socket.recv(&mut text).expect("it is told");
        String::from_utf8_lossy(&text[..length]).into_owned()
    };
    let mut server = command(directory.path())
        .args(["serve", "shop", "--listen", "127.0.0.1:0", "--tls-self-signed"])
        .env("NOTIFY_SOCKET", &path)
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary starts");
    assert_eq!(told(), "READY=1");
    for signal in ["-HUP", "-INT"] {
        let sent = Command::new("kill").args([signal, &server.id().to_string()]).status().expect("there is kill");
        assert!(sent.success());
    }
    assert_eq!(told(), "STOPPING=1");
    assert!(server.wait().expect("it is a child").success());
}

#[test]
fn options_of_tls_belong_together() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for (options, told) in [
        (&["--require-tls"][..], "need --tls-cert or --tls-self-signed"),
        (&["--tls-client-ca", "ca.crt"], "need --tls-cert or --tls-self-signed"),
        (&["--tls-cert", "server.crt"], "--tls-key"),
        (&["--tls-cert", "no.crt", "--tls-key", "no.key"], "could not load certificate file \"no.crt\""),
    ] {
        let run = longshore_in(directory.path(), &[&["serve", "--listen", "127.0.0.1:0"], options].concat(), "");
        assert!(run.status != 0 && run.err.contains(told), "{options:?}: {}", run.err);
    }
}

#[test]
fn what_a_killed_server_has_acknowledged_is_there() {
    let kills = std::env::var(KILLS).map_or(KILLS_USUAL, |kills| kills.parse().expect("a number"));
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut random = Random::new(kills as u64);
    let mut server = Served::start(directory.path());
    let mut client = Client::connect(server.port).expect("it listens");
    client.query(TABLES).expect("it is there").expect("the tables are made");
    let mut done = vec![Done::default(); CLIENTS];
    for kill in 0..kills {
        let port = server.port;
        let workers: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let (done, random) = (done[number], Random::new((kill * CLIENTS + number) as u64));
                std::thread::spawn(move || work(port, number, done, random))
            })
            .collect();
        std::thread::sleep(Duration::from_millis(random.below(WORK_MILLIS) as u64));
        server.kill();
        let acknowledged: Vec<Done> =
            workers.into_iter().map(|worker| worker.join().expect("no client panics")).collect();
        server = Served::start(directory.path());
        let mut client = Client::connect(server.port).expect("it listens");
        done = check(&mut client, &acknowledged);
    }
    assert!(done.iter().map(|done| done.transfers + done.batches).sum::<usize>() > kills, "they have worked");
    let _ = client.0.get_ref().shutdown(Shutdown::Both);
}
