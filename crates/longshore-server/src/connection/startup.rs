//! How a connection begins: version, sign-in, settings.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use longshore_engine::Client;

use super::refusal::{Ended, fatal};
use super::{CLOSE_TIME_MAX, Connection, sign_in};
use crate::Shared;
use crate::errors::Told;
use crate::metrics::add;
use crate::origin::Origin;
use crate::protocol::backend;
use crate::protocol::frontend::Opening;
use crate::protocol::{MAJOR, MINOR};
use crate::stream::Wire;
use crate::tls::Tls;

/// The version that a request for TLS seems to ask for.
const TLS_VERSION: (u16, u16) = (1234, 5679);
/// The same for GSSAPI.
const GSS_VERSION: (u16, u16) = (1234, 5680);
const TOO_MANY: &str = "sorry, too many clients already";
/// What stands before the names of options of the protocol.
const PROTOCOL_OPTION: &str = "_pq_.";
/// The first minor version with keys for cancellation of any length.
const LONG_KEYS_MINOR: u16 = 2;

/// Serves a client from its first message to its last.
pub(crate) async fn serve(mut wire: Wire, shared: Arc<Shared>, origin: Origin) {
    let begun = tokio::time::timeout(shared.config.sign_in_time_max, begin(&mut wire, &shared, origin)).await;
    let signed_in = match begun {
        Ok(Ok(Some(signed_in))) => signed_in,
        // The client waits for the end.
        Ok(Ok(None)) => return close(&mut wire).await,
        // Nobody hears of it.
        Ok(Err(Ended::Gone)) | Err(_) => return,
        Ok(Err(Ended::Told(told))) => return refuse(&mut wire, &shared, origin, &told).await,
    };
    let SignedIn { user, parameters, has_long_key } = signed_in;
    let mut session = match shared.database.session_as(&user) {
        Ok(session) => session,
        Err(error) => {
            let told = Told::fatal(error.kind().sqlstate(), error.to_string());
            return refuse(&mut wire, &shared, origin, &told).await;
        }
    };
    let is_superuser = session.is_superuser();
    let reserved = if is_superuser { 0 } else { shared.config.connections_reserved };
    let places = shared.config.connections_max.saturating_sub(reserved);
    let Some(registered) = shared.backends.register(session.activity().pid(), has_long_key, places) else {
        let message = if is_superuser || shared.backends.count() >= shared.config.connections_max {
            TOO_MANY
        } else {
            "remaining connection slots are reserved for non-replication superuser connections"
        };
        return refuse(&mut wire, &shared, origin, &Told::fatal("53300", message)).await;
    };
    let (cancels, terminates) = (Arc::clone(&registered.backend), Arc::clone(&registered.backend));
    session.activity().belongs_to(Client {
        address: origin.peer(),
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
    tracing::info!(target: "longshore::connection", pid = process, user, peer = %origin, "connection opened");
    connection.serve().await;
    let seconds = began.elapsed().as_secs_f64();
    tracing::info!(target: "longshore::connection", pid = process, user, seconds, "connection closed");
}

/// Tells a client, who has not signed in, why it is sent away.
async fn refuse(wire: &mut Wire, shared: &Shared, origin: Origin, told: &Told) {
    add(&shared.metrics.connections_refused, 1);
    let (sqlstate, reason) = (told.code, told.message.as_str());
    tracing::warn!(target: "longshore::connection", peer = %origin, sqlstate, reason, "connection refused");
    told.write(&mut wire.out);
    close(wire).await;
}

async fn close(wire: &mut Wire) {
    // A client that does not take even the little that is left is not waited for.
    let _ = tokio::time::timeout(CLOSE_TIME_MAX, wire.close()).await;
}

/// Sends a client away before it has said anything, since too many others are signing in.
pub(crate) async fn send_away(mut wire: Wire, shared: Arc<Shared>, origin: Origin) {
    refuse(&mut wire, &shared, origin, &Told::fatal("53300", TOO_MANY)).await;
}

/// Who has signed in, and what the client wants.
struct SignedIn {
    user: String,
    parameters: BTreeMap<String, String>,
    has_long_key: bool,
}

/// A client's wish for a session.
struct Startup {
    minor: u16,
    parameters: BTreeMap<String, String>,
}

/// Reads what a client wants, and encrypts the connection if it wants that first; `None` if it wanted something else than a
/// session.
async fn open(wire: &mut Wire, shared: &Shared, origin: Origin) -> Result<Option<Startup>, Ended> {
    // As in PostgreSQL, a socket needs none.
    let tls = shared.tls.as_deref().filter(|_| origin != Origin::Socket);
    if let Some(tls) = tls
        && wire.begins_with_tls().await.map_err(|_| Ended::Gone)?
        && !encrypt(wire, tls, origin).await?
    {
        let message = "received direct SSL connection request without ALPN protocol negotiation extension";
        return Err(fatal("08P01", message));
    }
    let (mut may_ask_tls, mut may_ask_gss) = (wire.channel.is_none(), true);
    let (major, minor, parameters) = loop {
        match wire.opening().await? {
            Opening::Tls if may_ask_tls => {
                may_ask_tls = false;
                let Some(tls) = tls else {
                    wire.out.push(b'N');
                    wire.flush().await?;
                    continue;
                };
                // What comes before the handshake may be from somebody in between (CVE-2021-23222).
                if wire.has_more() {
                    return Err(fatal("08P01", "received unencrypted data after SSL request"));
                }
                wire.out.push(b'S');
                wire.flush().await?;
                encrypt(wire, tls, origin).await?;
            }
            Opening::Gss if may_ask_gss => {
                may_ask_gss = false;
                wire.out.push(b'N');
                wire.flush().await?;
            }
            Opening::Tls => break (TLS_VERSION.0, TLS_VERSION.1, BTreeMap::new()),
            Opening::Gss => break (GSS_VERSION.0, GSS_VERSION.1, BTreeMap::new()),
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
    Ok(Some(Startup { minor, parameters }))
}

/// Encrypts a connection; whether the client named the protocol.
async fn encrypt(wire: &mut Wire, tls: &Tls, origin: Origin) -> Result<bool, Ended> {
    wire.encrypt(tls).await.map_err(|error| {
        tracing::info!(target: "longshore::connection", peer = %origin, %error, "could not accept TLS connection");
        Ended::Gone
    })
}

/// Signs a client in; `None` if it wanted something else.
async fn begin(wire: &mut Wire, shared: &Shared, origin: Origin) -> Result<Option<SignedIn>, Ended> {
    let Some(Startup { minor, mut parameters }) = open(wire, shared, origin).await? else { return Ok(None) };
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
    let is_tls_required = shared.tls.as_deref().is_some_and(Tls::is_required) && origin != Origin::Socket;
    if is_tls_required && wire.channel.is_none() {
        let message = format!(
            "connections without TLS are refused: host \"{}\", user \"{user}\", database \"{database}\", no encryption",
            origin.host()
        );
        return Err(fatal("28000", message));
    }
    sign_in::sign_in(wire, shared, &user, origin).await?;
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
