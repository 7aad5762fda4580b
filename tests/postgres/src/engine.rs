//! A database of ours, as a witness: panics and statements that hang are told with their text.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::{FutureExt, TryStreamExt};
use longshore_engine::{Config, Database, Error, Outcome, Session};

use crate::regression::compare::Given;
use crate::rows::{Answer, Refusal, Value, of_batch, texts_of_batch};

/// How long a statement may take. Tables have a dozen rows.
const STATEMENT_SECONDS_MAX: u64 = 100;

/// A session of a database of its own.
#[derive(Debug)]
pub struct Engine {
    session: Session,
    running: Arc<Mutex<Option<(Instant, String)>>>,
}

impl Engine {
    /// A session of a new database.
    ///
    /// # Panics
    /// When there are no threads for it.
    #[must_use]
    pub fn open(config: Config) -> Self {
        Self::of(&Database::open(config).expect("the configuration can be met"))
    }

    /// A session of `database`.
    #[must_use]
    pub fn of(database: &Arc<Database>) -> Self {
        Self { session: database.session(), running: Arc::new(Mutex::new(None)) }
    }

    /// Ends the process when a statement does not end, and says which.
    pub fn watch(&self) {
        let running = Arc::downgrade(&self.running);
        std::thread::spawn(move || {
            while let Some(running) = running.upgrade() {
                let now = running.lock().unwrap_or_else(PoisonError::into_inner).clone();
                if let Some((since, sql)) = now
                    && since.elapsed() > Duration::from_secs(STATEMENT_SECONDS_MAX)
                {
                    eprintln!("HANGS for {STATEMENT_SECONDS_MAX} s: {sql}");
                    std::process::abort();
                }
                drop(running);
                std::thread::sleep(Duration::from_secs(1));
            }
        });
    }

    /// The session itself.
    pub fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    /// Runs a statement, and gives its values as text.
    ///
    /// # Errors
    /// Why it failed.
    pub async fn texts(&mut self, sql: &str) -> Result<Given, Refusal> {
        match AssertUnwindSafe(texts(&mut self.session, sql)).catch_unwind().await {
            Ok(given) => given.map_err(|error| refusal(&error)),
            Err(panic) => Err(panicked(&*panic)),
        }
    }

    /// Runs a statement; of one that is no query the only value is what it says that it has done.
    ///
    /// # Errors
    /// Why it failed.
    pub async fn run(&mut self, sql: &str) -> Answer {
        let set = |running: &Mutex<_>, now| *running.lock().unwrap_or_else(PoisonError::into_inner) = now;
        set(&self.running, Some((Instant::now(), sql.to_owned())));
        let answer = AssertUnwindSafe(rows(&mut self.session, sql)).catch_unwind().await;
        set(&self.running, None);
        match answer {
            Ok(Ok(rows)) => Ok(rows),
            Ok(Err(error)) => Err(refusal(&error)),
            Err(panic) => Err(panicked(&*panic)),
        }
    }
}

fn panicked(panic: &(dyn Any + Send)) -> Refusal {
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
    Refusal { sqlstate: "XX000".to_owned(), message: format!("panic: {}", text.unwrap_or_default()) }
}

async fn texts(session: &mut Session, sql: &str) -> Result<Given, Error> {
    match Box::pin(session.execute(sql)).await? {
        Outcome::Done { tag, .. } => Ok(Given { heading: None, rows: vec![vec![Some(tag)]] }),
        Outcome::Rows(batches) => {
            let heading = batches.schema().fields().iter().map(|field| Some(field.name().clone())).collect();
            let rows = batches.try_collect::<Vec<_>>().await?.iter().flat_map(texts_of_batch).collect();
            Ok(Given { heading: Some(heading), rows })
        }
    }
}

async fn rows(session: &mut Session, sql: &str) -> Result<Vec<Vec<Value>>, Error> {
    match Box::pin(session.execute(sql)).await? {
        Outcome::Done { tag, .. } => Ok(vec![vec![Value::Text(tag)]]),
        Outcome::Rows(batches) => Ok(batches.try_collect::<Vec<_>>().await?.iter().flat_map(of_batch).collect()),
    }
}

fn refusal(error: &Error) -> Refusal {
    let message = error.to_string();
    let is_bug =
        ["nternal error", "likely caused by a bug", "broke off", "panicked"].iter().any(|text| message.contains(text));
    let sqlstate = if is_bug { "XX000" } else { error.kind().sqlstate() };
    Refusal { sqlstate: sqlstate.to_owned(), message }
}
