//! PostgreSQL's protocol over sessions of a [`Database`]: every program that can talk to PostgreSQL can work with it.
//!
//! Each connection is a task with a session of its own; nothing but the list of connections is shared. What a client sends is
//! read into one buffer and cut into messages there; what it gets is gathered in another, and sent when it is much or when the
//! server waits. Statements by key go from the message to the storage and back in the same task.
//!
//! The messages are our own (`protocol`): the crate `pgwire` panics where a message ends too early, reads on in the next one,
//! and replaces bytes that are no UTF-8.
//!
//! # Modules
//!
//! Lowest first; a module imports only from those before it (`cargo xtask imports` checks it).
//!
//! - `protocol`: messages as bytes
//! - `errors`: errors and notices as messages
//! - `values`: values of rows and parameters as bytes
//! - `scram`: proofs of passwords
//! - `origin`: where clients come from
//! - `attempts`: wrong passwords
//! - `tls`: certificates, and handshakes
//! - `stream`: sockets as messages
//! - `metrics`: what is counted
//! - `backends`: the connections that are there, and cancellation
//! - `connection`: what is done about each message
//! - `monitor`: metrics and health over HTTP

mod attempts;
mod backends;
mod connection;
mod errors;
mod metrics;
mod monitor;
mod origin;
mod protocol;
mod scram;
mod stream;
mod tls;
mod values;

use std::fs::Permissions;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures::{Stream, StreamExt};
use longshore_engine::Database;
use ring::rand::{SecureRandom, SystemRandom};
use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::watch;
use tokio::task::JoinSet;

use attempts::Attempts;
use backends::Backends;
use connection::startup::{send_away, serve};
use metrics::Metrics;
use origin::Origin;
use stream::{Socket, Wire};
use tls::Tls;

pub use monitor::{Monitor, Watched};
pub use tls::{Certificate, TlsConfig};

/// How a server is to be.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// What clients call the database.
    pub name: String,
    /// Addresses and ports to listen on.
    pub listen: Vec<SocketAddr>,
    /// The directory of the Unix socket, `.s.PGSQL.PORT` by the port of the first address.
    pub socket: Option<PathBuf>,
    /// Whether clients on this machine are let in as whom they say they are.
    pub trust: bool,
    /// Connections at a time, at most.
    pub connections_max: usize,
    /// How many of these are kept free for superusers.
    pub connections_reserved: usize,
    /// How long a client may take to sign in, TLS included.
    pub sign_in_time_max: Duration,
    /// How connections are encrypted; without, none is.
    pub tls: Option<TlsConfig>,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            name: "longshore".to_owned(),
            listen: vec![SocketAddr::from(([127, 0, 0, 1], 5432))],
            socket: None,
            trust: false,
            connections_max: 1000,
            connections_reserved: 3,
            sign_in_time_max: Duration::from_mins(1),
            tls: None,
        }
    }
}

/// What all connections share.
pub(crate) struct Shared {
    pub(crate) database: Arc<Database>,
    pub(crate) config: ServerConfig,
    pub(crate) backends: Arc<Backends>,
    pub(crate) attempts: Attempts,
    pub(crate) tls: Option<Arc<Tls>>,
    /// What the salts of roles that do not exist are made of.
    pub(crate) secret: [u8; 32],
    pub(crate) metrics: Metrics,
    pub(crate) started: SystemTime,
    /// How the server ends, once it does.
    pub(crate) ending: watch::Sender<Option<Shutdown>>,
}

/// How a server ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// No new client is let in; those that are there are sent away when they have no transaction open.
    Graceful,
    /// Statements are cancelled, transactions rolled back, connections closed.
    Fast,
}

/// A server that listens.
pub struct Server {
    shared: Arc<Shared>,
    tcp: Vec<TcpListener>,
    unix: Option<(UnixListener, PathBuf)>,
}

impl Server {
    /// Listens where `config` says. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// An address or a socket that cannot be listened on.
    pub async fn bind(database: Arc<Database>, config: ServerConfig) -> io::Result<Self> {
        let mut tcp = Vec::with_capacity(config.listen.len());
        for address in &config.listen {
            let listener = TcpListener::bind(address).await;
            tcp.push(listener.map_err(|error| about(&error, &format!("cannot listen on {address}")))?);
        }
        let unix = match &config.socket {
            Some(directory) => {
                let port = match tcp.first() {
                    Some(listener) => listener.local_addr()?.port(),
                    None => 5432,
                };
                let path = directory.join(format!(".s.PGSQL.{port}"));
                let listener = listen_unix(&path)
                    .map_err(|error| about(&error, &format!("cannot listen on {}", path.display())))?;
                Some((listener, path))
            }
            None => None,
        };
        let mut secret = [0; 32];
        SystemRandom::new().fill(&mut secret).map_err(|_| io::Error::other("the system gives no random numbers"))?;
        let tls = config.tls.clone().map(Tls::new).transpose()?.map(Arc::new);
        let (backends, attempts, ending) = (Arc::default(), Attempts::default(), watch::Sender::new(None));
        let (metrics, started) = (Metrics::default(), SystemTime::now());
        let shared = Arc::new(Shared { database, config, backends, attempts, tls, secret, metrics, started, ending });
        Ok(Self { shared, tcp, unix })
    }

    /// The addresses that it listens on.
    ///
    /// # Errors
    /// What the system says.
    pub fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        self.tcp.iter().map(TcpListener::local_addr).collect()
    }

    /// The Unix socket that it listens on.
    #[must_use]
    pub fn socket(&self) -> Option<&Path> {
        self.unix.as_ref().map(|(_, path)| path.as_path())
    }

    /// What reads the files of certificates again while the server runs.
    #[must_use]
    pub fn certificates(&self) -> Certificates {
        Certificates(self.shared.tls.clone())
    }

    /// Serves clients until `shutdown` gives a way to end, and then until that is done; a faster way may follow.
    pub async fn run(self, shutdown: impl Stream<Item = Shutdown>) {
        let Self { shared, tcp, unix } = self;
        let mut shutdown = pin!(shutdown);
        let mut connections = JoinSet::new();
        // Those that are signing in count as well. As in PostgreSQL there may be as many of them again.
        let open_max = shared.config.connections_max.saturating_mul(2).saturating_add(SIGNING_IN_MIN);
        let mut how = loop {
            let accepted = tokio::select! {
                how = shutdown.next() => break how.unwrap_or(Shutdown::Graceful),
                accepted = accept(&tcp) => accepted,
                accepted = accept_unix(unix.as_ref()) => accepted,
                Some(_) = connections.join_next() => continue,
            };
            match accepted {
                Ok((socket, origin)) if connections.len() >= open_max => {
                    connections.spawn(send_away(Wire::new(socket), Arc::clone(&shared), origin));
                }
                Ok((socket, origin)) => {
                    connections.spawn(serve(Wire::new(socket), Arc::clone(&shared), origin));
                }
                // No file descriptors are left, say: others may be given back.
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            }
        };
        drop(tcp);
        if let Some((listener, path)) = unix {
            drop(listener);
            // It may be gone already.
            let _ = std::fs::remove_file(path);
        }
        loop {
            shared.ending.send_replace(Some(how));
            if how == Shutdown::Fast {
                shared.backends.terminate_all();
                let until = tokio::time::Instant::now() + END_TIME_MAX;
                while let Ok(Some(_)) = tokio::time::timeout_at(until, connections.join_next()).await {}
                // What is left is dropped.
                return;
            }
            how = tokio::select! {
                () = async { while connections.join_next().await.is_some() {} } => return,
                Some(next) = shutdown.next() => next,
            };
        }
    }
}

/// The certificates of a server that runs.
pub struct Certificates(Option<Arc<Tls>>);

impl Certificates {
    /// Reads their files again. Connections that begin from now on use what the files hold now.
    ///
    /// # Errors
    /// Files that cannot be read or are wrong. The server goes on with what it had.
    pub fn reload(&self) -> io::Result<()> {
        self.0.as_ref().map_or(Ok(()), |tls| tls.reload())
    }
}

/// How long to wait after a connection that could not be taken.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Connections that may be signing in, at least.
const SIGNING_IN_MIN: usize = 16;
/// How long statements that were cancelled may take to undo what they have done.
const END_TIME_MAX: Duration = Duration::from_secs(10);

/// How long nothing comes from a client before it is asked whether it is there, how often, and how many times.
const KEEPALIVE_TIME: Duration = Duration::from_mins(1);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_RETRIES: u32 = 6;

async fn accept(listeners: &[TcpListener]) -> io::Result<(Socket, Origin)> {
    if listeners.is_empty() {
        return std::future::pending().await;
    }
    let accepting = listeners.iter().map(|listener| Box::pin(listener.accept()));
    let ((stream, peer), ..) = match futures::future::select_all(accepting).await {
        (Ok(accepted), index, _) => (accepted, index),
        (Err(error), ..) => return Err(error),
    };
    stream.set_nodelay(true)?;
    // A client whose machine has gone without a word is found out while nothing is under way.
    let keepalive = TcpKeepalive::new().with_time(KEEPALIVE_TIME).with_interval(KEEPALIVE_INTERVAL);
    SockRef::from(&stream).set_tcp_keepalive(&keepalive.with_retries(KEEPALIVE_RETRIES))?;
    Ok((Socket::Tcp(stream), Origin::Tcp(peer)))
}

async fn accept_unix(listener: Option<&(UnixListener, PathBuf)>) -> io::Result<(Socket, Origin)> {
    match listener {
        Some((listener, _)) => listener.accept().await.map(|(stream, _)| (Socket::Unix(stream), Origin::Socket)),
        None => std::future::pending().await,
    }
}

/// Listens on a socket; one that nobody listens on any more is taken over. As in PostgreSQL, everybody may connect who may
/// enter its directory.
fn listen_unix(path: &Path) -> io::Result<UnixListener> {
    let listener = match UnixListener::bind(path) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            if std::os::unix::net::UnixStream::connect(path).is_ok() {
                return Err(error);
            }
            std::fs::remove_file(path)?;
            UnixListener::bind(path)
        }
        listening => listening,
    }?;
    std::fs::set_permissions(path, Permissions::from_mode(0o777))?;
    Ok(listener)
}

fn about(error: &io::Error, what: &str) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}
