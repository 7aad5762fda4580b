//! `longshore serve`: a server of PostgreSQL's protocol, until a signal ends it. SIGHUP makes it read its certificates again.

use std::sync::Arc;
use std::task::Poll;

use futures::Stream;
use longshore_engine::{Config, Database};
use longshore_server::{Certificates, Monitor, Server, Shutdown};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::args::ServeOptions;
use crate::logging::{self, LogFormat};
use crate::run::{Failure, Reason, note};
use crate::supervisor;

/// Serves a database until SIGTERM or SIGINT.
///
/// # Errors
/// A database that cannot be opened or closed, or an address that cannot be listened on.
pub(crate) async fn run(config: Config, options: ServeOptions) -> Result<(), Failure> {
    let ServeOptions { directory, durability, server, monitor, log_format, log_level, statements_max } = options;
    logging::start(log_format, log_level);
    let note = |text: &str| match log_format {
        LogFormat::Text => note(text),
        LogFormat::Json => tracing::info!(target: "longshore::server", "{text}"),
    };
    // It listens first, so that it can tell that the database is still read.
    let watched = match monitor {
        Some(address) => {
            let monitor = Monitor::bind(address).await.map_err(|error| Reason::Message(error.to_string()))?;
            let (watched, address) = (monitor.watched(), monitor.address().map_err(Reason::Signals)?);
            note(&format!("metrics and health are told on {address}"));
            tokio::spawn(monitor.run());
            Some(watched)
        }
        None => None,
    };
    // Whoever asks for the certificates to be read again does not end a server that is about to start.
    let hang_up = signal(SignalKind::hangup()).map_err(Reason::Signals)?;
    let database = match &directory {
        Some(path) => Database::open_directory(path, config, &durability)?,
        None => Database::open(config)?,
    };
    let signals = signals().map_err(Reason::Signals)?;
    let name = server.name.clone();
    let server = Server::bind(Arc::clone(&database), server).await;
    let server = server.map_err(|error| Reason::Message(error.to_string()))?;
    database.statements().set_entries_max(statements_max);
    if let Some(watched) = &watched {
        watched.set(&server);
    }
    let place = directory.map_or_else(|| "in memory".to_owned(), |path| path.display().to_string());
    note(&format!("database {name} ({place}) is ready for connections"));
    for address in server.addresses().map_err(Reason::Signals)? {
        note(&format!("listening on {address}"));
    }
    if let Some(socket) = server.socket() {
        note(&format!("listening on {}", socket.display()));
    }
    tell(supervisor::READY);
    let reload = tokio::spawn(reload(hang_up, server.certificates()));
    server.run(signals).await;
    reload.abort();
    if let Some(watched) = watched {
        watched.end();
    }
    database.close()?;
    Ok(())
}

/// Reads certificates again at each SIGHUP.
async fn reload(mut hang_up: Signal, certificates: Certificates) {
    while hang_up.recv().await.is_some() {
        match certificates.reload() {
            Ok(()) => tracing::info!(target: "longshore::server", "certificates were read again"),
            Err(error) => tracing::error!(target: "longshore::server", %error, "certificates stay as they were"),
        }
    }
}

/// What signals ask for: SIGTERM a graceful end, SIGINT a fast one.
fn signals() -> std::io::Result<impl Stream<Item = Shutdown>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(futures::stream::poll_fn(move |context| {
        let asked = if interrupt.poll_recv(context).is_ready() {
            Poll::Ready(Some(Shutdown::Fast))
        } else {
            terminate.poll_recv(context).map(|_| Some(Shutdown::Graceful))
        };
        if asked.is_ready() {
            tell(supervisor::STOPPING);
        }
        asked
    }))
}

/// Tells the service manager; the server goes on without one that does not listen.
fn tell(state: &str) {
    if let Err(error) = supervisor::tell(state) {
        tracing::warn!(target: "longshore::server", state, %error, "the service manager could not be told");
    }
}
