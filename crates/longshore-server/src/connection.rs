//! One connection: its session, and what is done about each message of its client.
//!
//! As in PostgreSQL, the statements of one simple query, and those of the extended protocol up to Sync, are one transaction
//! unless they say otherwise: an implicit block, which is opened where more than one statement comes.

mod ahead;
mod copy;
mod extended;
mod measured;
mod outcome;
mod refusal;
mod settings;
mod sign_in;
mod simple;
pub(crate) mod startup;

use std::collections::HashMap;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use longshore_engine::{Control, Outcome, Session, Split, split};

use tokio::sync::watch;

use crate::backends::Registered;
use crate::errors::Told;
use crate::protocol::backend::{self, Status};
use crate::protocol::frontend::Message;
use crate::stream::{Failure, Wire};
use crate::{Shared, Shutdown};
use extended::{Portal, Statement};
use measured::Measured;
use settings::Reported;

/// How long a client may take to hear that the connection ends.
const CLOSE_TIME_MAX: Duration = Duration::from_secs(5);

/// A connection that has signed in.
pub(crate) struct Connection {
    wire: Wire,
    session: Session,
    shared: Arc<Shared>,
    registered: Registered,
    statements: HashMap<String, Arc<Statement>>,
    portals: HashMap<String, Portal>,
    /// Whether the open transaction block is one that nobody asked for.
    is_implicit: bool,
    /// Whether messages are passed over up to the next Sync.
    skips: bool,
    reported: Reported,
    /// What is measured of the statement that runs.
    measured: Measured,
    /// Whether the open block has set something, which a rollback takes back.
    has_set: bool,
}

/// What a statement comes to: the error goes to the client, the failure ends the connection.
type Done<T> = Result<Result<T, Told>, Failure>;

/// What a statement gave, and the control that its rows heed.
type Executed = (Outcome, Arc<Control>);

impl Connection {
    pub(crate) fn new(wire: Wire, session: Session, shared: Arc<Shared>, registered: Registered) -> Self {
        Self {
            wire,
            session,
            shared,
            registered,
            statements: HashMap::new(),
            portals: HashMap::new(),
            is_implicit: false,
            skips: false,
            reported: Reported::default(),
            measured: Measured::default(),
            has_set: false,
        }
    }

    /// Serves the client until it leaves.
    pub(crate) async fn serve(mut self) {
        if let Err(Failure::Violation(violation)) = self.serve_messages().await {
            self.end(&violation.into()).await;
        }
    }

    /// Tells the client why the connection ends.
    pub(crate) async fn end(&mut self, told: &Told) {
        told.write(&mut self.wire.out);
        // Who has gone, or takes nothing, hears nothing.
        let _ = tokio::time::timeout(CLOSE_TIME_MAX, self.wire.close()).await;
    }

    async fn serve_messages(&mut self) -> Result<(), Failure> {
        let mut ending = self.shared.ending.subscribe();
        self.ready();
        loop {
            let message = if let Some(message) = self.wire.come()? {
                message
            } else {
                self.registered.backend.unless_terminated(self.wire.flush()).await?;
                self.wire.rest();
                let is_in_transaction = self.session.is_in_transaction();
                let idle_max = self.session.idle_in_transaction_session_timeout().filter(|_| is_in_transaction);
                // In a transaction it hears nothing, as a client of PostgreSQL.
                let (hears, inbox) = (!is_in_transaction && !self.skips, Arc::clone(self.session.activity().inbox()));
                tokio::select! {
                    message = self.wire.message() => message?,
                    () = inbox.arrival(), if hears => {
                        self.tell_notifications();
                        continue;
                    }
                    () = ended(&mut ending, is_in_transaction) => {
                        self.end(&terminated()).await;
                        return Ok(());
                    }
                    () = self.registered.backend.terminated() => {
                        self.end(&terminated()).await;
                        return Ok(());
                    }
                    () = elapsed(idle_max) => {
                        let told = "terminating connection due to idle-in-transaction timeout";
                        self.end(&Told::fatal("25P03", told)).await;
                        return Ok(());
                    }
                }
            };
            match message {
                Message::Terminate => return Ok(()),
                Message::Query(sql) => {
                    self.skips = false;
                    self.simple(&sql).await?;
                }
                Message::Sync => self.sync().await?,
                // What is left of a COPY that has ended before its data.
                Message::CopyData(_) | Message::CopyDone | Message::CopyFail(_) => {}
                _ if self.skips => {}
                Message::Flush => self.registered.backend.unless_terminated(self.wire.flush()).await?,
                Message::FunctionCall => {
                    self.fail(&Told::error("0A000", "calls of functions by their OIDs are not supported; use SELECT"));
                    self.ready();
                }
                Message::Password(_) => {
                    return Err(Failure::Violation(crate::protocol::Violation(
                        "a password comes when nobody has asked for one".to_owned(),
                    )));
                }
                message => {
                    if let Err(told) = self.extended(message).await? {
                        self.fail(&told);
                        self.skips = true;
                    }
                }
            }
            if self.registered.backend.is_terminated() {
                self.end(&terminated()).await;
                return Ok(());
            }
            self.registered.backend.unless_terminated(self.wire.flush_if_much()).await?;
        }
    }

    /// Tells the client of an error, which fails the transaction block.
    fn fail(&mut self, told: &Told) {
        self.session.fail_transaction();
        self.note_error(told);
        // Who is sent away hears why, not what was cancelled for that.
        if !self.registered.backend.is_terminated() {
            told.write(&mut self.wire.out);
        }
    }

    fn ready(&mut self) {
        self.session.rests();
        if self.registered.backend.is_terminated() {
            return;
        }
        let status = if self.session.has_failed_transaction() {
            Status::Failed
        } else if self.session.is_in_transaction() {
            Status::InBlock
        } else {
            Status::Idle
        };
        if status == Status::Idle {
            self.tell_notifications();
        }
        backend::ready_for_query(&mut self.wire.out, status);
    }

    /// Tells the client what its session was told.
    fn tell_notifications(&mut self) {
        for notification in self.session.activity().inbox().take() {
            backend::notification(&mut self.wire.out, &notification);
        }
    }

    /// Opens an implicit block where none is open.
    async fn begin_implicit(&mut self) -> Done<()> {
        if self.session.is_in_transaction() {
            return Ok(Ok(()));
        }
        let begun = self.execute("BEGIN").await?;
        self.is_implicit = begun.is_ok();
        Ok(begun.map(|_| ()))
    }

    /// Ends the implicit block, if one is open.
    async fn end_implicit(&mut self) -> Done<()> {
        if !std::mem::take(&mut self.is_implicit) || !self.session.is_in_transaction() {
            return Ok(Ok(()));
        }
        let end = if self.session.has_failed_transaction() { "ROLLBACK" } else { "COMMIT" };
        Ok(self.execute(end).await?.map(|_| ()))
    }

    /// Executes a statement, whose first word is `word`.
    async fn execute_text(&mut self, sql: &str, word: &str) -> Done<Executed> {
        if word == "COPY" { self.copy(sql).await } else { self.execute(sql).await }
    }

    /// Executes a statement that neither reads nor writes the client's streams.
    async fn execute(&mut self, sql: &str) -> Done<Executed> {
        let Self { wire, session, registered, .. } = self;
        let control = session.control();
        registered.backend.runs(Some(Arc::clone(&control)));
        let outcome = watched(wire, &control, session.execute(sql)).await;
        registered.backend.runs(None);
        Ok(outcome?.map(|outcome| (outcome, control)).map_err(|error| error.in_statement(sql).into()))
    }
}

/// What a client is told that is sent away.
fn terminated() -> Told {
    Told::fatal("57P01", "terminating connection due to administrator command")
}

/// Waits until the server ends in a way that does not wait for this connection.
async fn ended(ending: &mut watch::Receiver<Option<Shutdown>>, is_in_transaction: bool) {
    let is_now = |how: &Option<Shutdown>| match how {
        None => false,
        Some(Shutdown::Graceful) => !is_in_transaction,
        Some(Shutdown::Fast) => true,
    };
    if ending.wait_for(is_now).await.is_err() {
        // The server has gone without a word.
        std::future::pending::<()>().await;
    }
}

/// Waits for a time; for ever without one.
async fn elapsed(time: Option<Duration>) {
    match time {
        Some(time) => tokio::time::sleep(time).await,
        None => std::future::pending().await,
    }
}

/// What `work` comes to; it is cancelled if the client goes meanwhile.
async fn watched<T, E>(
    wire: &mut Wire,
    control: &Control,
    work: impl Future<Output = Result<T, E>>,
) -> Result<Result<T, E>, Failure> {
    let mut work = pin!(work);
    tokio::select! {
        biased;
        done = &mut work => Ok(done),
        failure = wire.watch() => {
            control.cancel();
            // It undoes what it has done.
            let _ = work.await;
            Err(failure)
        }
    }
}

/// What stands behind the comments and the white space at the beginning of a text.
fn without_comments(sql: &str) -> &str {
    let mut rest = sql.trim_start();
    loop {
        rest = if let Some(comment) = rest.strip_prefix("--") {
            comment.split_once('\n').map_or("", |(_, rest)| rest)
        } else if let Some(comment) = rest.strip_prefix("/*") {
            comment.split_once("*/").map_or("", |(_, rest)| rest)
        } else {
            return rest;
        }
        .trim_start();
    }
}

/// The statements of a text.
fn statements(sql: &str) -> Vec<String> {
    let Split { mut statements, rest } = split(sql);
    statements.push(rest);
    statements.retain(|statement| !without_comments(statement).is_empty());
    statements
}

/// The first word of a statement, in upper case; comments before it are passed over.
fn first_word(sql: &str) -> String {
    let rest = without_comments(sql);
    let end = rest.find(|character: char| !character.is_ascii_alphabetic()).unwrap_or(rest.len());
    rest[..end].to_ascii_uppercase()
}

/// Whether a statement ends a transaction block.
fn ends_block(word: &str) -> bool {
    matches!(word, "COMMIT" | "END" | "ROLLBACK" | "ABORT")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_stands_behind_comments() {
        for (sql, expected) in [
            ("select 1", "SELECT"),
            (" -- SELECT\n/* x */ Copy t FROM STDIN", "COPY"),
            ("(SELECT 1)", ""),
            ("/* open", ""),
            ("", ""),
        ] {
            assert_eq!(first_word(sql), expected, "{sql:?}");
        }
    }
}
