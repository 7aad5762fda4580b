//! A session of a database that a connection of ADBC has, and waiting for what it executes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use futures::StreamExt;
use longshore_engine::{BuiltinType, Database, Error, Outcome, RowStream, Texts, TypeId, decimal_columns, is_null};

use super::abi::{INTERNAL, INVALID_ARGUMENT, INVALID_STATE, NOT_IMPLEMENTED};
use super::problem::Problem;
use crate::c_data::CStream;
use crate::c_data::stream::{Batches, Failure};
use crate::execute::{Done, Executing, Given, PreparedStatements};
use crate::parameters::Value;
use crate::runtime::{Running, started};
use crate::shared;

/// A session; those of ADBC's statements share it, and wait for each other.
#[derive(Clone)]
pub(super) struct Session {
    database: Arc<Database>,
    shared: Arc<tokio::sync::Mutex<longshore_engine::Session>>,
    prepared: Arc<Mutex<PreparedStatements>>,
    autocommit: Arc<AtomicBool>,
}

/// Rows as texts; NULL is `None`.
pub(super) type TextRow = Vec<Option<String>>;

impl Session {
    pub(super) fn of(database: Arc<Database>) -> Self {
        let shared = Arc::new(tokio::sync::Mutex::new(database.session()));
        Self { database, shared, prepared: Arc::default(), autocommit: Arc::new(AtomicBool::new(true)) }
    }

    /// Ends the session, and closes the database if nobody else has it open.
    pub(super) fn close(self) -> Result<(), Problem> {
        let Self { database, shared, .. } = self;
        drop(shared);
        wait(async move { Ok(tokio::task::spawn_blocking(move || shared::close(database)).await) })?
            .map_err(|panic| Problem::new(INTERNAL, panic.to_string()))?
            .map_err(Problem::from)
    }

    /// Executes a statement, or a text of several; where statements do not commit by themselves, in a transaction.
    pub(super) fn run(&self, running: &Running, sql: &str, given: Given) -> Result<Done, Problem> {
        let (session, running, sql) = (self.clone(), running.clone(), sql.to_owned());
        wait(async move {
            let mut locked = session.shared.lock().await;
            if !session.commits() && !locked.is_in_transaction() {
                locked.execute("BEGIN").await?;
            }
            let mut executing = Executing { session: &mut locked, prepared: &session.prepared, running: &running };
            executing.execute(&sql, given).await.map_err(|error| error.in_statement(&sql))
        })
    }

    /// Executes `work` as a whole: in a transaction of its own, unless one is open already.
    pub(super) fn whole<T>(&self, work: impl FnOnce() -> Result<T, Problem>) -> Result<T, Problem> {
        if self.is_in_transaction()? || !self.commits() {
            return work();
        }
        self.control("BEGIN")?;
        let done = work();
        let ended = self.control(if done.is_ok() { "COMMIT" } else { "ROLLBACK" });
        done.and_then(|done| ended.map(|()| done))
    }

    /// Executes a statement that controls the session, and begins no transaction.
    pub(super) fn control(&self, sql: &'static str) -> Result<(), Problem> {
        let session = Arc::clone(&self.shared);
        wait(async move { session.lock().await.execute(sql).await.map(drop) })
    }

    /// Ends the transaction, if one has begun.
    pub(super) fn end(&self, how: &'static str) -> Result<(), Problem> {
        if self.commits() {
            return Err(Problem::new(INVALID_STATE, "statements commit by themselves: turn autocommit off first"));
        }
        if self.is_in_transaction()? { self.control(how) } else { Ok(()) }
    }

    fn is_in_transaction(&self) -> Result<bool, Problem> {
        let session = Arc::clone(&self.shared);
        wait(async move { Ok(session.lock().await.is_in_transaction()) })
    }

    fn commits(&self) -> bool {
        self.autocommit.load(Ordering::Relaxed)
    }

    /// Says whether statements commit by themselves; the transaction that is open is committed then.
    pub(super) fn set_autocommit(&self, commits: bool) -> Result<(), Problem> {
        if commits && !self.commits() {
            self.end("COMMIT")?;
        }
        self.autocommit.store(commits, Ordering::Relaxed);
        Ok(())
    }

    /// Sets an option of the connection.
    pub(super) fn set_option(&self, name: &str, value: &str) -> Result<(), Problem> {
        let refused = || Problem::new(INVALID_ARGUMENT, format!("{name} cannot be {value:?}"));
        let sql = match (name, value) {
            ("adbc.connection.autocommit", "true") => return self.set_autocommit(true),
            ("adbc.connection.autocommit", "false") => return self.set_autocommit(false),
            ("adbc.connection.readonly", "true") => "SET default_transaction_read_only = on",
            ("adbc.connection.readonly", "false") => "SET default_transaction_read_only = off",
            ("adbc.connection.db_schema", _) => {
                let sql = "SELECT set_config('search_path', $1, false)";
                return self.texts(sql, &[&quoted(value)]).map(drop);
            }
            ("adbc.connection.transaction.isolation_level", level) => {
                match level.strip_prefix("adbc.connection.transaction.isolation.").ok_or_else(refused)? {
                    "default" => "RESET default_transaction_isolation",
                    "read_uncommitted" | "read_committed" => "SET default_transaction_isolation = 'read committed'",
                    "repeatable_read" | "snapshot" => "SET default_transaction_isolation = 'repeatable read'",
                    "serializable" => "SET default_transaction_isolation = 'serializable'",
                    _ => return Err(refused()),
                }
            }
            ("adbc.connection.autocommit" | "adbc.connection.readonly", _) => return Err(refused()),
            _ => {
                let problem = format!("Longshore's connections have no option {name}");
                return Err(Problem::new(NOT_IMPLEMENTED, problem));
            }
        };
        self.control(sql)
    }

    /// Calls `work` with the session, which executes nothing meanwhile.
    pub(super) fn locked<T: Send + 'static>(
        &self,
        work: impl FnOnce(&longshore_engine::Session) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Problem> {
        let session = Arc::clone(&self.shared);
        wait(async move { work(&*session.lock().await) })
    }

    /// The rows of a query with texts as values of its parameters.
    pub(super) fn texts(&self, sql: &str, values: &[&str]) -> Result<Vec<TextRow>, Problem> {
        let values = values.iter().map(|text| (0, Value::Text((*text).to_owned()))).collect();
        let done = self.run(&Running::default(), sql, Given::Row(values))?;
        let Outcome::Rows(rows) = done.outcome else { return Ok(Vec::new()) };
        let (_, batches) = all(rows)?;
        let mut made = Vec::new();
        for batch in &batches {
            let columns: Vec<_> = batch.columns().iter().map(|array| (array, Texts::new(array))).collect();
            for row in 0..batch.num_rows() {
                let cells = columns.iter().map(|(array, texts)| {
                    let texts = texts.as_ref().filter(|_| !is_null(array, row))?;
                    let mut text = Vec::new();
                    texts.write(row, &mut text);
                    Some(String::from_utf8_lossy(&text).into_owned())
                });
                made.push(cells.collect());
            }
        }
        Ok(made)
    }
}

/// A name as SQL has it.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Waits until `future` is ready, which runs in the runtime of the process.
fn wait<T: Send + 'static>(future: impl Future<Output = Result<T, Error>> + Send + 'static) -> Result<T, Problem> {
    let runtime = started()?;
    let done = runtime.block_on(runtime.spawn(future));
    done.map_err(|panic| Problem::new(INTERNAL, panic.to_string()))?.map_err(Problem::from)
}

/// All rows; columns of NUMERIC are decimals.
fn all(mut rows: RowStream) -> Result<(SchemaRef, Vec<RecordBatch>), Problem> {
    wait(async move {
        let (schema, types) = (Arc::clone(rows.schema()), rows.types());
        let mut batches = Vec::new();
        while let Some(batch) = rows.next().await {
            batches.push(batch?);
        }
        decimal_columns(&schema, &types, &batches)
    })
}

/// The rows of a query as a stream. Its first batch is made at once, so that most errors are those of the call that executes the query.
pub(super) fn stream(mut rows: RowStream) -> Result<CStream, Problem> {
    let numeric = BuiltinType::named("numeric").map(|builtin| builtin.oid);
    let types: Arc<[TypeId]> = rows.types();
    let mut columns = rows.schema().fields().iter().zip(&*types);
    if columns.any(|(field, of)| Some(of.oid) == numeric && !field.data_type().is_decimal()) {
        // The type of such a column depends on all its values.
        let (schema, batches) = all(rows)?;
        return Ok(kept(schema, batches));
    }
    let schema = Arc::clone(rows.schema());
    let (first, rows) = wait(async move {
        let first = rows.next().await.transpose()?;
        Ok((first, rows))
    })?;
    let mut first = Some(first);
    let rows = Arc::new(tokio::sync::Mutex::new(rows));
    let next = move || {
        if let Some(first) = first.take() {
            return first.map(Ok);
        }
        let rows = Arc::clone(&rows);
        let next = wait(async move { rows.lock().await.next().await.transpose() });
        next.map_err(Failure::from).transpose()
    };
    Ok(CStream::new(Batches { schema, next: Box::new(next) }))
}

/// Batches that are there, as a stream.
pub(super) fn kept(schema: SchemaRef, batches: Vec<RecordBatch>) -> CStream {
    let mut batches = batches.into_iter();
    CStream::new(Batches { schema, next: Box::new(move || batches.next().map(Ok)) })
}
