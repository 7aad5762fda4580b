//! A private PostgreSQL server, and a connection to it.
//!
//! The server lives in a temporary folder and listens on a Unix socket there. It refuses to run as root, so then it runs
//! as `postgres` or `nobody`. A shell holds it, and stops it when the pipe to this process ends, however this process
//! ends. The client speaks the simple query protocol (PostgreSQL's documentation, chapter 55), which takes a screenful
//! of code; a library would bring dependencies and types that say less.

use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::rows::{Answer, Refusal, Value};

/// How long the server may take until it answers.
const START_SECONDS_MAX: u64 = 60;
/// The version 3.0 of the protocol.
const PROTOCOL: i32 = 196_608;

/// A server that ends with this value.
#[derive(Debug)]
pub struct Server {
    folder: TempDir,
    shell: Child,
}

/// A connection to a server.
#[derive(Debug)]
pub struct Client {
    stream: UnixStream,
}

/// What the server says to a statement that succeeds.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    /// Of a query, the names of its columns, and the numbers of their types in `pg_type`.
    pub columns: Option<Vec<(String, i32)>>,
    /// Of a query, its rows as text.
    pub rows: Vec<Vec<Option<String>>>,
    /// What it says that it has done, such as `INSERT 0 1`.
    pub tag: String,
    /// What it copies to standard output.
    pub copied: Vec<u8>,
}

impl Server {
    /// The folder with the programs of PostgreSQL, if this machine has them.
    #[must_use]
    pub fn programs() -> Option<PathBuf> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut folders: Vec<_> = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten().collect();
        folders.sort_by_key(std::fs::DirEntry::file_name);
        let debian = folders.into_iter().rev().map(|version| version.path().join("bin"));
        debian
            .chain(std::env::split_paths(&path))
            .find(|folder| ["initdb", "postgres"].iter().all(|program| folder.join(program).is_file()))
    }

    /// Starts a server with the programs in `programs`.
    ///
    /// # Errors
    /// What kept it from starting.
    pub fn start(programs: &Path) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("longshore-witness").tempdir()?;
        let user = if folder.path().metadata()?.uid() == 0 { Some(unprivileged()?) } else { None };
        if let Some((user, group)) = user {
            chown(folder.path(), Some(user), Some(group))?;
        }
        let command = |program: &Path| {
            let mut command = Command::new(program);
            command.current_dir(folder.path()).env_clear().env("LC_ALL", "C").env("PATH", "/usr/bin:/bin");
            if let Some((user, group)) = user {
                command.uid(user).gid(group);
            }
            command
        };
        let data = folder.path().join("data");
        let made = command(&programs.join("initdb"))
            .args([
                "--auth=trust",
                "--username=witness",
                "--locale=C",
                "--lc-ctype=C.UTF-8",
                "--encoding=UTF8",
                "--no-sync",
                "-D",
            ])
            .arg(&data)
            .output()?;
        if !made.status.success() {
            return Err(io::Error::other(format!("initdb failed: {}", String::from_utf8_lossy(&made.stderr))));
        }
        let script = "\"$0\" -D data -k \"$PWD\" -F -c listen_addresses= -c timezone=UTC -c datestyle=ISO \
                      -c jit=off -c statement_timeout=20s > log 2>&1 & server=$!; cat > /dev/null; kill -QUIT $server; wait";
        let shell = command(Path::new("/bin/sh"))
            .args(["-c", script])
            .arg(programs.join("postgres"))
            .stdin(Stdio::piped())
            .spawn()?;
        let server = Self { folder, shell };
        let started = Instant::now();
        loop {
            match server.connect() {
                Ok(_) => return Ok(server),
                Err(error) if started.elapsed() > Duration::from_secs(START_SECONDS_MAX) => {
                    let log = std::fs::read_to_string(server.folder.path().join("log")).unwrap_or_default();
                    return Err(io::Error::other(format!("the server does not answer: {error}\n{log}")));
                }
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    /// The folder where it listens.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A new connection.
    ///
    /// # Errors
    /// When the server does not answer.
    pub fn connect(&self) -> io::Result<Client> {
        self.connect_to("postgres")
    }

    /// A new connection to the database `name`.
    ///
    /// # Errors
    /// When the server does not answer, or has no such database.
    pub fn connect_to(&self, name: &str) -> io::Result<Client> {
        let stream = UnixStream::connect(self.folder.path().join(".s.PGSQL.5432"))?;
        let mut client = Client { stream };
        let mut start = PROTOCOL.to_be_bytes().to_vec();
        start.extend_from_slice(format!("user\0witness\0database\0{name}\0\0").as_bytes());
        client.send(None, &start)?;
        match client.reply(&[])? {
            Ok(_) => Ok(client),
            Err(refusal) => Err(io::Error::other(refusal.to_string())),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        // It is told to end; whether it does so well does not matter.
        let _ = self.shell.wait();
    }
}

/// User and group to run the server as instead of root.
fn unprivileged() -> io::Result<(u32, u32)> {
    let users = std::fs::read_to_string("/etc/passwd")?;
    for wanted in ["postgres", "nobody"] {
        for user in users.lines() {
            let fields: Vec<_> = user.split(':').collect();
            if let [name, _, user, group, ..] = fields[..]
                && name == wanted
                && let (Ok(user), Ok(group)) = (user.parse(), group.parse())
            {
                return Ok((user, group));
            }
        }
    }
    Err(io::Error::other("there is no user postgres or nobody to run the server as"))
}

impl Client {
    /// Runs a statement; of one that is no query the only value is what it says that it has done.
    ///
    /// # Errors
    /// Why it failed.
    ///
    /// # Panics
    /// When the server goes away.
    pub fn run(&mut self, sql: &str) -> Answer {
        let reply = self.ask(sql, &[]);
        reply.unwrap_or_else(|error| panic!("the server went away: {error}; it was asked {sql}")).map(Reply::values)
    }

    /// Runs a statement, with `input` as the standard input that it copies from.
    ///
    /// # Errors
    /// When the server goes away; within, why the statement failed.
    pub fn ask(&mut self, sql: &str, input: &[u8]) -> io::Result<Result<Reply, Refusal>> {
        let mut text = sql.as_bytes().to_vec();
        text.push(0);
        self.send(Some(b'Q'), &text)?;
        self.reply(input)
    }

    fn send(&mut self, kind: Option<u8>, body: &[u8]) -> io::Result<()> {
        let mut message: Vec<u8> = kind.into_iter().collect();
        message.extend_from_slice(&(body.len() as i32 + 4).to_be_bytes());
        message.extend_from_slice(body);
        self.stream.write_all(&message)
    }

    /// What the server says until it is ready again.
    fn reply(&mut self, input: &[u8]) -> io::Result<Result<Reply, Refusal>> {
        let (mut reply, mut refusal) = (Reply::default(), None);
        loop {
            let mut head = [0; 5];
            self.stream.read_exact(&mut head)?;
            let bytes = i32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize - 4;
            let mut body = vec![0; bytes];
            self.stream.read_exact(&mut body)?;
            let mut fields = Fields(&body);
            match head[0] {
                b'T' => reply.columns = Some((0..fields.short()).map(|_| fields.column()).collect()),
                b'D' => reply.rows.push((0..fields.short()).map(|_| fields.value()).collect()),
                b'C' => reply.tag = fields.text(),
                b'd' => reply.copied.extend_from_slice(&body),
                b'G' => {
                    self.send(Some(b'd'), input)?;
                    self.send(Some(b'c'), &[])?;
                }
                b'E' => refusal = Some(fields.error()),
                b'Z' => return Ok(refusal.map_or(Ok(reply), Err)),
                _ => {}
            }
        }
    }
}

impl Reply {
    /// Its rows; of what is no query, what it says that it has done.
    fn values(self) -> Vec<Vec<Value>> {
        let Some(columns) = self.columns else { return vec![vec![Value::Text(self.tag)]] };
        let row = |row: Vec<Option<String>>| {
            row.into_iter().zip(&columns).map(|(text, &(_, of))| text.map_or(Value::Null, |text| value(text, of)))
        };
        self.rows.into_iter().map(|values| row(values).collect()).collect()
    }
}

/// A value of the type with the number `of` in `pg_type`.
fn value(text: String, of: i32) -> Value {
    match of {
        16 => Value::Text(if text == "t" { "true" } else { "false" }.to_owned()),
        20 | 21 | 23 | 26 | 1700 => Value::number(&text),
        700 | 701 => text.parse().map_or(Value::Text(text), Value::Double),
        1083 | 1114 | 1184 => Value::time(&text),
        _ => Value::Text(text),
    }
}

/// What is left of a message.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn bytes(&mut self, count: usize) -> &[u8] {
        let (first, rest) = self.0.split_at(count);
        self.0 = rest;
        first
    }

    fn short(&mut self) -> i16 {
        let bytes = self.bytes(2);
        i16::from_be_bytes([bytes[0], bytes[1]])
    }

    fn long(&mut self) -> i32 {
        let bytes = self.bytes(4);
        i32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
    }

    fn text(&mut self) -> String {
        let end = self.0.iter().position(|&byte| byte == 0).unwrap_or(self.0.len());
        let text = String::from_utf8_lossy(self.bytes(end)).into_owned();
        self.bytes(1);
        text
    }

    /// Name and type of a column.
    fn column(&mut self) -> (String, i32) {
        let name = self.text();
        self.bytes(6);
        let of = self.long();
        self.bytes(8);
        (name, of)
    }

    fn value(&mut self) -> Option<String> {
        let bytes = usize::try_from(self.long()).ok()?;
        Some(String::from_utf8_lossy(self.bytes(bytes)).into_owned())
    }

    fn error(&mut self) -> Refusal {
        let mut refusal = Refusal { sqlstate: String::new(), message: String::new() };
        while let [kind, ..] = *self.0 {
            self.bytes(1);
            if kind == 0 {
                break;
            }
            let text = self.text();
            match kind {
                b'C' => refusal.sqlstate = text,
                b'M' => refusal.message = text,
                _ => {}
            }
        }
        refusal
    }
}
