//! How a connection begins: version, sign-in, settings.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use longshore_engine::Client;

use super::refusal::{Ended, fatal};
use super::{Connection, sign_in};
use crate::Shared;
use crate::errors::Told;
use crate::metrics::add;
use crate::protocol::backend;
use crate::protocol::frontend::Opening;
use crate::protocol::{MAJOR, MINOR};
use crate::stream::Wire;

/// How long a client may take to sign in.
const SIGN_IN_TIME_MAX: Duration = Duration::from_mins(1);
/// What stands before the names of options of the protocol.
const PROTOCOL_OPTION: &str = "_pq_.";
/// The first minor version with keys for cancellation of any length.
const LONG_KEYS_MINOR: u16 = 2;

/// Where a client comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A Unix socket.
    Socket,
    /// The machine itself, over TCP.
    Loopback,
    Network,
}

/// Serves a client from its first message to its last.
pub(crate) async fn serve(mut wire: Wire, shared: Arc<Shared>, origin: Origin, peer: Option<SocketAddr>) {
    let begun = tokio::time::timeout(SIGN_IN_TIME_MAX, begin(&mut wire, &shared, origin)).await;
    let signed_in = match begun {
        Ok(Ok(Some(signed_in))) => signed_in,
        // Nothing more to do, or nobody to hear of it.
        Ok(Ok(None) | Err(Ended::Gone)) | Err(_) => return,
        Ok(Err(Ended::Told(told))) => {
            refused(&shared, peer, &told);
            told.write(&mut wire.out);
            let _ = wire.flush().await;
            return;
        }
    };
    let SignedIn { user, parameters, has_long_key } = signed_in;
    let mut session = match shared.database.session_as(&user) {
        Ok(session) => session,
        Err(error) => {
            let told = Told::fatal(error.kind().sqlstate(), error.to_string());
            refused(&shared, peer, &told);
            told.write(&mut wire.out);
            let _ = wire.flush().await;
            return;
        }
    };
    let is_superuser = session.is_superuser();
    let reserved = if is_superuser { 0 } else { shared.config.connections_reserved };
    let places = shared.config.connections_max.saturating_sub(reserved);
    let Some(registered) = shared.backends.register(session.activity().pid(), has_long_key, places) else {
        let message = if is_superuser || shared.backends.count() >= shared.config.connections_max {
            "sorry, too many clients already"
        } else {
            "remaining connection slots are reserved for non-replication superuser connections"
        };
        let told = Told::fatal("53300", message);
        refused(&shared, peer, &told);
        told.write(&mut wire.out);
        let _ = wire.flush().await;
        return;
    };
    let (cancels, terminates) = (Arc::clone(&registered.backend), Arc::clone(&registered.backend));
    session.activity().belongs_to(Client {
        address: peer,
        cancel: Box::new(move || cancels.cancel()),
        terminate: Box::new(move || terminates.terminate()),
    });
    session.copy_postgres_text();
    let (process, key) = (registered.backend.process, registered.backend.key.clone());
    let mut connection = Connection::new(wire, session, Arc::clone(&shared), registered);
    if let Err(told) = connection.settle(&parameters).await {
        connection.end(&told).await;
        return;
    }
    connection.tell_key(process, &key);
    let began = Instant::now();
    add(&shared.metrics.connections, 1);
    tracing::info!(target: "longshore::connection", pid = process, user, peer = shown(peer), "connection opened");
    connection.serve().await;
    let seconds = began.elapsed().as_secs_f64();
    tracing::info!(target: "longshore::connection", pid = process, user, seconds, "connection closed");
}

/// A client was sent away before it could do anything.
fn refused(shared: &Shared, peer: Option<SocketAddr>, told: &Told) {
    add(&shared.metrics.connections_refused, 1);
    let (sqlstate, reason) = (told.code, told.message.as_str());
    tracing::warn!(target: "longshore::connection", peer = shown(peer), sqlstate, reason, "connection refused");
}

/// An address as the log shows it.
fn shown(peer: Option<SocketAddr>) -> String {
    peer.map_or_else(|| "socket".to_owned(), |peer| peer.to_string())
}

/// Who has signed in, and what the client wants.
struct SignedIn {
    user: String,
    parameters: BTreeMap<String, String>,
    has_long_key: bool,
}

/// Signs a client in; `None` if it wanted something else.
async fn begin(wire: &mut Wire, shared: &Shared, origin: Origin) -> Result<Option<SignedIn>, Ended> {
    let (major, minor, mut parameters) = loop {
        match wire.opening().await? {
            Opening::Tls | Opening::Gss => {
                wire.out.push(b'N');
                wire.flush().await?;
            }
            Opening::Cancel { process, key } => {
                shared.backends.cancel(process, &key);
                return Ok(None);
            }
            Opening::Startup { major, minor, parameters } => break (major, minor, parameters),
        }
    };
    if major != MAJOR {
        return Err(fatal(
            "0A000",
            format!("unsupported frontend protocol {major}.{minor}: server supports {MAJOR}.0 to {MAJOR}.{MINOR}"),
        ));
    }
    let unknown: Vec<&str> =
        parameters.keys().map(String::as_str).filter(|name| name.starts_with(PROTOCOL_OPTION)).collect();
    if minor > MINOR || !unknown.is_empty() {
        backend::negotiate_version(&mut wire.out, minor.min(MINOR), &unknown);
    }
    parameters.retain(|name, _| !name.starts_with(PROTOCOL_OPTION));
    let Some(user) = parameters.remove("user").filter(|user| !user.is_empty()) else {
        return Err(fatal("28000", "no PostgreSQL user name specified in startup packet"));
    };
    let database = parameters.remove("database").unwrap_or_else(|| user.clone());
    if matches!(parameters.remove("replication").as_deref(), Some("true" | "on" | "yes" | "1" | "database")) {
        return Err(fatal("0A000", "replication connections are not supported"));
    }
    if shared.config.trust && origin != Origin::Network {
        sign_in::trust(wire);
    } else {
        sign_in::by_password(wire, shared, &user).await?;
    }
    if database != shared.config.name {
        return Err(fatal(
            "3D000",
            format!("database \"{database}\" does not exist; this server has \"{}\"", shared.config.name),
        ));
    }
    Ok(Some(SignedIn { user, parameters, has_long_key: minor >= LONG_KEYS_MINOR }))
}

impl Connection {
    /// Sets what the client wants to be set, and tells it what is.
    async fn settle(&mut self, parameters: &BTreeMap<String, String>) -> Result<(), Told> {
        for (name, value) in parameters {
            // PostgreSQL passes over what is neither a letter nor a digit in the name of an encoding.
            let is_kept = |character: &char| name != "client_encoding" || character.is_ascii_alphanumeric();
            let value: String = value.chars().filter(is_kept).collect();
            let statements = if name == "options" { options(&value)? } else { vec![(name.clone(), value)] };
            for (name, value) in statements {
                let sql = format!("SET {} = '{}'", quoted(&name), value.replace('\'', "''"));
                if let Err(error) = self.session.execute(&sql).await {
                    return Err(Told::fatal(error.kind().sqlstate(), error.to_string()));
                }
            }
        }
        self.report_all().await;
        Ok(())
    }

    fn tell_key(&mut self, process: i32, key: &[u8]) {
        backend::backend_key(&mut self.wire.out, process, key);
    }
}

/// The name of a setting as a statement spells it.
fn quoted(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.');
    if name.bytes().all(plain) { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// The settings among the options of a command line: `-c name=value` and `--name=value`.
fn options(text: &str) -> Result<Vec<(String, String)>, Told> {
    let mut words = words(text).into_iter();
    let mut settings = Vec::new();
    while let Some(word) = words.next() {
        let setting = match word.strip_prefix("--") {
            Some(setting) => setting.replace('-', "_"),
            None => match word.strip_prefix("-c") {
                Some("") => words.next().unwrap_or_default(),
                Some(setting) => setting.to_owned(),
                None => {
                    return Err(Told::fatal(
                        "42601",
                        format!("invalid command-line argument for server process: {word}"),
                    ));
                }
            },
        };
        match setting.split_once('=') {
            Some((name, value)) => settings.push((name.to_owned(), value.to_owned())),
            None => return Err(Told::fatal("42601", format!("option {word} requires a value"))),
        }
    }
    Ok(settings)
}

/// The words of a text; a backslash takes the character behind it as it is.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut characters) = (Vec::new(), String::new(), text.chars());
    while let Some(character) = characters.next() {
        match character {
            '\\' => word.extend(characters.next()),
            character if character.is_whitespace() => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            character => word.push(character),
        }
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_settings() {
        let found = options(r"-c geqo=off --statement-timeout=5s -cx=a\ b").expect("they are right");
        let expected = [("geqo", "off"), ("statement_timeout", "5s"), ("x", "a b")];
        assert_eq!(found, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert!(options("-z").is_err());
        assert!(options("-c geqo").is_err());
    }
}
