//! A client that sends and reads messages byte by byte.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

/// How long an answer may take, on a machine that is busy.
const PATIENCE: Duration = Duration::from_mins(1);

/// A client over TCP, or over what encrypts it.
pub(crate) struct Client<S = TcpStream> {
    pub(crate) stream: S,
}

/// A message of the server: its kind and its body.
pub(crate) type Answer = (char, Vec<u8>);

/// A message: its kind, its length, its body.
pub(crate) fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind];
    bytes.extend((body.len() as u32 + 4).to_be_bytes());
    bytes.extend(body);
    bytes
}

/// The first message of a client.
pub(crate) fn startup(user: &str, database: &str) -> Vec<u8> {
    let mut body = 196_608_u32.to_be_bytes().to_vec();
    for text in ["user", user, "database", database, ""] {
        body.extend(text.as_bytes());
        body.push(0);
    }
    let mut bytes = (body.len() as u32 + 4).to_be_bytes().to_vec();
    bytes.extend(body);
    bytes
}

pub(crate) fn parse(name: &str, sql: &str) -> Vec<u8> {
    message(b'P', format!("{name}\0{sql}\0\0\0").as_bytes())
}

/// Bind of the unnamed portal to values as text.
pub(crate) fn bind(statement: &str, values: &[&str]) -> Vec<u8> {
    let mut body = format!("\0{statement}\0\0\0").into_bytes();
    body.extend((values.len() as u16).to_be_bytes());
    for value in values {
        body.extend((value.len() as u32).to_be_bytes());
        body.extend(value.as_bytes());
    }
    body.extend([0, 0]);
    message(b'B', &body)
}

pub(crate) fn execute(rows_max: u32) -> Vec<u8> {
    let mut body = vec![0];
    body.extend(rows_max.to_be_bytes());
    message(b'E', &body)
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        Self { stream: TcpStream::connect(address).await.expect("the server listens") }
    }

    /// One that has signed in without a password.
    pub(crate) async fn trusted(address: SocketAddr) -> Self {
        let mut client = Self::connect(address).await;
        client.begin("longshore").await;
        client
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Client<S> {
    /// Begins a session without a password; what the server tells.
    pub(crate) async fn begin(&mut self, user: &str) -> Vec<Answer> {
        self.send(&startup(user, "longshore")).await;
        let answers = self.until_ready().await;
        assert_eq!(answers[0], ('R', vec![0; 4]), "it is let in");
        answers
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.expect("the server reads");
    }

    /// The next message; `None` if the server has closed the connection.
    pub(crate) async fn answer(&mut self) -> Option<Answer> {
        let read = async {
            let kind = self.stream.read_u8().await.ok()?;
            let length = self.stream.read_u32().await.ok()?;
            let mut body = vec![0; length as usize - 4];
            self.stream.read_exact(&mut body).await.ok()?;
            Some((char::from(kind), body))
        };
        tokio::time::timeout(PATIENCE, read).await.expect("an answer comes")
    }

    /// All messages up to the next one that says that the server is ready, which is the last of them.
    pub(crate) async fn until_ready(&mut self) -> Vec<Answer> {
        let mut answers = Vec::new();
        loop {
            let answer = self.answer().await.expect("the server is there");
            let is_ready = answer.0 == 'Z';
            answers.push(answer);
            if is_ready {
                return answers;
            }
        }
    }

    /// All messages up to the end of the connection.
    pub(crate) async fn until_closed(&mut self) -> Vec<Answer> {
        let mut answers = Vec::new();
        while let Some(answer) = self.answer().await {
            answers.push(answer);
        }
        answers
    }

    /// What a statement gives, as the simple protocol tells it.
    pub(crate) async fn query(&mut self, sql: &str) -> Vec<Answer> {
        self.send(&message(b'Q', format!("{sql}\0").as_bytes())).await;
        self.until_ready().await
    }
}

/// The kinds of messages, one letter each.
pub(crate) fn kinds(answers: &[Answer]) -> String {
    answers.iter().map(|(kind, _)| kind).collect()
}

/// A field of an error.
pub(crate) fn field(answer: &Answer, kind: char) -> String {
    let mut fields = answer.1.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    fields.find_map(|field| field.strip_prefix(kind).map(str::to_owned)).unwrap_or_default()
}

/// The values of the first column of all rows, as text.
pub(crate) fn values(answers: &[Answer]) -> Vec<String> {
    let rows = answers.iter().filter(|(kind, _)| *kind == 'D');
    rows.map(|(_, body)| {
        let length = u32::from_be_bytes(body[2..6].try_into().expect("four bytes")) as usize;
        String::from_utf8_lossy(&body[6..6 + length]).into_owned()
    })
    .collect()
}
