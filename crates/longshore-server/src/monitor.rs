//! `/metrics` for Prometheus and `/health` for whoever restarts and routes, on an address of their own.
//!
//! Only GET and HEAD of these paths are answered; heads are read by `httparse`. It listens before the database is opened, so
//! that it can tell that this is still going on. Whoever reaches the address may read all of it: it shows numbers, and
//! no names, statements or values.

mod exposition;

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use crate::{Server, Shared};

/// Bytes of the head of a request at most.
const HEAD_BYTES_MAX: usize = 8 << 10;
/// Headers of a request at most.
const HEADERS_MAX: usize = 64;
/// How long a client may take for a request, and be silent between two.
const REQUEST_TIME_MAX: Duration = Duration::from_secs(30);
/// Clients at a time; others wait.
const CLIENTS_MAX: usize = 32;
/// How long to wait after a connection that could not be taken.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Who tells how a server is.
pub struct Monitor {
    listener: TcpListener,
    watched: Watched,
}

/// The server that is told of, once it is there.
#[derive(Clone, Default)]
pub struct Watched(Arc<OnceLock<Arc<Shared>>>);

impl Monitor {
    /// Listens on an address.
    ///
    /// # Errors
    /// An address that cannot be listened on.
    pub async fn bind(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await;
        let about = |error: io::Error| io::Error::new(error.kind(), format!("cannot listen on {address}: {error}"));
        Ok(Self { listener: listener.map_err(about)?, watched: Watched::default() })
    }

    /// The address that it listens on.
    ///
    /// # Errors
    /// What the system says.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// By what a server is watched; until then it is not ready.
    #[must_use]
    pub fn watched(&self) -> Watched {
        self.watched.clone()
    }

    /// Answers for ever.
    pub async fn run(self) {
        let places = Arc::new(Semaphore::new(CLIENTS_MAX));
        loop {
            let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    let watched = self.watched.clone();
                    tokio::spawn(async move {
                        let _place = place;
                        // Who does not listen hears nothing.
                        let _ = serve(stream, &watched).await;
                    });
                }
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            }
        }
    }
}

impl Watched {
    /// The server is there.
    pub fn set(&self, server: &Server) {
        // There is one server.
        let _ = self.0.set(Arc::clone(&server.shared));
    }

    /// Whether clients are let in, or why not.
    fn ready(&self) -> Result<&Arc<Shared>, &'static str> {
        let shared = self.0.get().ok_or("starting")?;
        if shared.ending.borrow().is_some() { Err("shutting down") } else { Ok(shared) }
    }
}

/// What is answered.
struct Answer {
    status: &'static str,
    content_type: &'static str,
    body: String,
}

impl Answer {
    fn text(status: &'static str, body: &str) -> Self {
        Self { status, content_type: "text/plain; charset=utf-8", body: format!("{body}\n") }
    }
}

const OK: &str = "200 OK";

/// What a path gives.
fn answer(path: &str, watched: &Watched) -> Answer {
    match path.split('?').next().unwrap_or_default() {
        "/health" | "/health/ready" => match watched.ready() {
            Ok(_) => Answer::text(OK, "ready"),
            Err(why) => Answer::text("503 Service Unavailable", why),
        },
        "/health/live" => Answer::text(OK, "live"),
        "/metrics" => Answer {
            status: OK,
            content_type: "text/plain; version=0.0.4; charset=utf-8",
            body: exposition::text(watched.0.get(), watched.ready().is_ok()),
        },
        _ => Answer::text("404 Not Found", "there are /metrics, /health/live and /health/ready"),
    }
}

/// Answers one client until it goes.
async fn serve(mut stream: TcpStream, watched: &Watched) -> io::Result<()> {
    let mut read = Vec::with_capacity(1024);
    loop {
        let Ok(head) = tokio::time::timeout(REQUEST_TIME_MAX, head(&mut stream, &mut read)).await else {
            return Ok(());
        };
        let Some(end) = head? else { return Ok(()) };
        let (answer, is_head, goes_on) = understood(&read[..end], watched);
        read.drain(..end);
        let connection = if goes_on { "keep-alive" } else { "close" };
        let mut sent = format!(
            "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-store\r\nConnection: {connection}\r\n\r\n",
            answer.status,
            answer.content_type,
            answer.body.len()
        );
        if !is_head {
            sent.push_str(&answer.body);
        }
        match tokio::time::timeout(REQUEST_TIME_MAX, stream.write_all(sent.as_bytes())).await {
            Ok(written) => written?,
            Err(_) => return Ok(()),
        }
        if !goes_on {
            return stream.shutdown().await;
        }
    }
}

/// Reads up to the end of a head, and says where that is; `None` if the client has gone. One that is too long ends where it
/// is cut.
async fn head(stream: &mut TcpStream, read: &mut Vec<u8>) -> io::Result<Option<usize>> {
    loop {
        if let Some(at) = read.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            return Ok(Some(at + 4));
        }
        if read.len() >= HEAD_BYTES_MAX {
            return Ok(Some(read.len()));
        }
        let mut bytes = [0; 1024];
        match stream.read(&mut bytes).await? {
            0 => return Ok(None),
            count => read.extend_from_slice(&bytes[..count]),
        }
    }
}

/// What is answered to a request, whether only its head is wanted, and whether the client may send another one.
fn understood(head: &[u8], watched: &Watched) -> (Answer, bool, bool) {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    let is_whole = matches!(request.parse(head), Ok(httparse::Status::Complete(_)));
    let (Some(method), Some(path), true) = (request.method, request.path, is_whole) else {
        return (Answer::text("400 Bad Request", "this is no request that can be read"), false, false);
    };
    if method != "GET" && method != "HEAD" {
        return (Answer::text("405 Method Not Allowed", "only GET and HEAD are answered"), false, false);
    }
    let has = |name: &str, value: &str| {
        request.headers.iter().any(|header| {
            header.name.eq_ignore_ascii_case(name)
                && (value.is_empty() || header.value.eq_ignore_ascii_case(value.as_bytes()))
        })
    };
    // A body would be taken for the next request.
    let has_body = has("transfer-encoding", "") || (has("content-length", "") && !has("content-length", "0"));
    let goes_on = request.version == Some(1) && !has("connection", "close") && !has_body;
    (answer(path, watched), method == "HEAD", goes_on)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(head: &str) -> (&'static str, bool, bool) {
        let (answer, is_head, goes_on) = understood(head.as_bytes(), &Watched::default());
        (answer.status, is_head, goes_on)
    }

    #[test]
    fn requests_are_understood_or_refused() {
        let ok = (OK, false, true);
        for (head, expected) in [
            ("GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n", ok),
            ("GET /health/live?x=1 HTTP/1.1\r\n\r\n", ok),
            ("GET /health/live HTTP/1.1\r\nConnection: Close\r\n\r\n", (OK, false, false)),
            ("GET /health/live HTTP/1.0\r\n\r\n", (OK, false, false)),
            ("HEAD /metrics HTTP/1.1\r\n\r\n", (OK, true, true)),
            ("GET /health/ready HTTP/1.1\r\n\r\n", ("503 Service Unavailable", false, true)),
            ("GET / HTTP/1.1\r\n\r\n", ("404 Not Found", false, true)),
            ("POST /metrics HTTP/1.1\r\n\r\n", ("405 Method Not Allowed", false, false)),
            ("GET /health/live HTTP/1.1\r\nContent-Length: 5\r\n\r\n", (OK, false, false)),
            ("nonsense\r\n\r\n", ("400 Bad Request", false, false)),
            ("GET /metrics HT", ("400 Bad Request", false, false)),
            ("\r\n\r\n", ("400 Bad Request", false, false)),
        ] {
            assert_eq!(status(head), expected, "{head:?}");
        }
    }
}
