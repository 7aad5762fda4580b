//! A database and one session of it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use longshore_engine::{
    Database, Inbox, Notification, Numbered, Outcome, Report, call_text, copy_rows_text, copy_text, copy_to_text,
    numbered,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyMapping, PyString, PyTuple};

use crate::capsule;
use crate::execute::{Done, Executing, Given, PreparedStatements, rows_of};
use crate::parameters::{self, Parameters};
use crate::rows::Rows;
use crate::runtime::{Home, Running, progress_of, runtime, wait};
use crate::settings::Opening;
use crate::{errors, settings, shared};

/// A session that one statement at a time uses.
type Shared = Arc<tokio::sync::Mutex<longshore_engine::Session>>;

/// A database and one session of it. Threads may share it; their statements wait for each other.
#[pyclass(module = "longshore._longshore", frozen)]
pub(crate) struct Connection {
    open: Home<Mutex<Option<Open>>>,
}

#[derive(Clone)]
struct Open {
    database: Arc<Database>,
    session: Shared,
    /// What the session was told by others.
    inbox: Arc<Inbox>,
    /// What the session executes.
    running: Arc<Mutex<Running>>,
    prepared: Arc<Mutex<PreparedStatements>>,
}

impl Connection {
    fn open(&self, py: Python<'_>) -> PyResult<Open> {
        let open = self.open.get(py)?.lock().unwrap_or_else(PoisonError::into_inner).clone();
        open.ok_or_else(|| errors::misuse(py, "the connection is closed"))
    }

    fn of(database: Arc<Database>) -> Self {
        let session = database.session();
        let inbox = Arc::clone(session.activity().inbox());
        let session = Arc::new(tokio::sync::Mutex::new(session));
        let open = Open { database, session, inbox, running: Arc::default(), prepared: Arc::default() };
        Self { open: Home::new(Mutex::new(Some(open))) }
    }

    /// Executes `sql`; the rows of a query come as they are read.
    fn run<'py>(&self, py: Python<'py>, sql: &str, given: Given) -> PyResult<Bound<'py, PyDict>> {
        let open = self.open(py)?;
        let running = Running::default();
        *open.running.lock().unwrap_or_else(PoisonError::into_inner) = running.clone();
        let (session, text, watched) = (Arc::clone(&open.session), Arc::<str>::from(sql), running.clone());
        let statement = Arc::clone(&text);
        let prepared = Arc::clone(&open.prepared);
        let done = wait(py, &running, async move {
            let mut session = session.lock().await;
            Executing { session: &mut session, prepared: &prepared, running: &watched }.execute(&statement, given).await
        })?;
        let Done { outcome, rows } = done.map_err(|error| errors::of_engine(py, &error, Some(sql)))?;
        told(py, outcome, rows, running, text)
    }
}

/// What is told of a statement, as a dictionary.
fn told(
    py: Python<'_>,
    outcome: Outcome,
    changed: Option<u64>,
    running: Running,
    sql: Arc<str>,
) -> PyResult<Bound<'_, PyDict>> {
    let told = PyDict::new(py);
    match outcome {
        Outcome::Rows(stream) => {
            told.set_item("tag", stream.command())?;
            told.set_item("notice", stream.notice())?;
            told.set_item("rows", Py::new(py, Rows::of_stream(stream, running, sql))?)?;
        }
        Outcome::Done { tag, report, notice } => {
            let Report { rows, bytes_read, bytes_written, seconds } = report;
            told.set_item("changed", changed.or_else(|| rows_of(&tag)))?;
            told.set_item("tag", tag)?;
            told.set_item("notice", notice)?;
            told.set_item("rows", py.None())?;
            told.set_item("report", (rows, bytes_read, bytes_written, seconds))?;
        }
    }
    Ok(told)
}

#[pymethods]
impl Connection {
    /// Opens the database in a directory, or an empty one in memory.
    #[new]
    #[pyo3(signature = (directory=None, **config))]
    fn new(py: Python<'_>, directory: Option<PathBuf>, config: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let Opening { config, durability, settings } = Opening::of(config)?;
        let runtime = runtime()?;
        let opened = wait(py, &Running::default(), async move {
            let open = move || match directory {
                None => Database::open(config),
                Some(directory) => Database::open_directory(&directory, config, &durability),
            };
            let opened = runtime.spawn_blocking(open).await;
            opened.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
        })?;
        let made = Self::of(opened.map_err(|error| errors::of_engine(py, &error, None))?);
        for (name, value) in settings {
            let texts = [name, value].map(|text| (0, parameters::Value::Text(text)));
            made.run(py, "SELECT set_config($1, $2, false)", Given::Row(texts.into()))?;
        }
        Ok(made)
    }

    /// Another session of the same database.
    fn another(&self, py: Python<'_>) -> PyResult<Self> {
        Ok(Self::of(self.open(py)?.database))
    }

    /// A number by which drivers of this process find the database while it is open.
    fn share(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(shared::share(&self.open(py)?.database))
    }

    /// Ends the session, and closes the database if no other session of it is open. What was committed is kept.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let open = self.open.get(py)?.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(Open { database, session, .. }) = open else { return Ok(()) };
        let closed = wait(py, &Running::default(), async move {
            // A statement of another thread comes to its end first.
            drop(session.lock().await);
            drop(session);
            let closed = tokio::task::spawn_blocking(move || shared::close(database));
            closed.await.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
        })?;
        closed.map_err(|error| errors::of_engine(py, &error, None))
    }

    /// Whether it was closed.
    #[getter]
    fn closed(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.open.get(py)?.lock().unwrap_or_else(PoisonError::into_inner).is_none())
    }

    /// Executes one statement with values of its parameters, in a sequence or by their names; without, all statements of a text.
    #[pyo3(signature = (sql, parameters=None))]
    fn execute<'py>(
        &self,
        py: Python<'py>,
        sql: &str,
        parameters: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let Some(values) = parameters else {
            return self.run(py, sql, Given::Nothing).map_err(|error| without_values(py, error, sql));
        };
        let numbered = numbered(sql);
        match row(&numbered, values)? {
            none if none.is_empty() && numbered.count == 0 => self.run(py, sql, Given::Nothing),
            row => self.run(py, &numbered.sql, Given::Row(row)),
        }
    }

    /// Executes a statement once for each row of parameters, all of them or none.
    fn execute_many<'py>(&self, py: Python<'py>, sql: &str, rows: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
        let numbered = numbered(sql);
        let rows = rows.try_iter()?.map(|values| row(&numbered, &values?)).collect::<PyResult<_>>()?;
        self.run(py, &numbered.sql, Given::Rows(rows))
    }

    /// Appends the rows of an object of another library to a table: each column to the one of its name.
    fn append<'py>(&self, py: Python<'py>, table: &str, rows: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
        let (schema, reader) = capsule::reader(rows)?;
        let columns: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
        self.run(py, &copy_rows_text(table, &columns), Given::Batches(schema, reader))
    }

    /// Lets `name` stand for the rows of an object of another library, in queries of this session.
    fn register(&self, py: Python<'_>, name: &str, rows: &Bound<'_, PyAny>) -> PyResult<()> {
        let session = self.open(py)?.session;
        let (schema, reader) = capsule::reader(rows)?;
        let name = name.to_owned();
        let registered = wait(py, &Running::default(), async move {
            let session = session.lock().await;
            let read = move || reader.collect::<Result<Vec<_>, String>>();
            let batches = tokio::task::spawn_blocking(read).await;
            let batches = batches.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
            batches.map(|batches| session.register(&name, &schema, &batches))
        })?;
        let registered = registered.map_err(|problem| errors::own(py, "22000", &problem))?;
        registered.map_err(|error| errors::of_engine(py, &error, None))
    }

    /// Forgets rows that have a name.
    fn unregister(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        let (session, name) = (self.open(py)?.session, name.to_owned());
        wait(py, &Running::default(), async move { session.lock().await.unregister(&name) })
    }

    /// The names in statements that stand where tables do, and that nothing is known by.
    fn unknown_tables(&self, py: Python<'_>, sql: &str) -> PyResult<Vec<String>> {
        let open = self.open(py)?;
        let names = open.prepared.lock().unwrap_or_else(PoisonError::into_inner).table_names(sql);
        if let Ok(session) = open.session.try_lock() {
            return Ok(session.unknown_tables(&names));
        }
        let session = open.session;
        wait(py, &Running::default(), async move { session.lock().await.unknown_tables(&names) })
    }

    /// Writes the rows of a query to a file with options of COPY TO.
    fn write<'py>(
        &self,
        py: Python<'py>,
        query: &str,
        file: &str,
        options: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyDict>> {
        self.run(py, &copy_to_text(query, file, &settings::options(options)?), Given::Nothing)
    }

    /// Loads files into a table with options of COPY.
    #[allow(clippy::needless_pass_by_value, reason = "an argument of Python's is a value")]
    fn load<'py>(
        &self,
        py: Python<'py>,
        table: &str,
        files: Vec<String>,
        options: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let sql = copy_text(table, &files, &settings::options(options)?);
        let told = self.run(py, &sql, Given::Nothing)?;
        told.set_item("sql", sql)?;
        Ok(told)
    }

    /// What files are, as rows of `sniff_csv`.
    #[allow(clippy::needless_pass_by_value, reason = "an argument of Python's is a value")]
    fn sniff<'py>(
        &self,
        py: Python<'py>,
        files: Vec<String>,
        options: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyDict>> {
        self.run(py, &call_text("sniff_csv", &files, &settings::options(options)?), Given::Nothing)
    }

    /// Cancels the statement that is executed, if one is; for other threads.
    fn cancel(&self, py: Python<'_>) -> PyResult<()> {
        let open = self.open(py)?;
        let running = open.running.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(control) = running.control() {
            control.cancel();
        }
        Ok(())
    }

    /// How far the statement is that is executed: bytes done, bytes in all (0 if that is not known), rows.
    fn progress(&self, py: Python<'_>) -> PyResult<Option<(u64, u64, u64)>> {
        let open = self.open(py)?;
        let running = open.running.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Ok(running.control().map(|control| progress_of(&control)))
    }

    /// What the session was told, as channel, payload and session; waits so many seconds for it, for ever without a number.
    #[pyo3(signature = (timeout=None))]
    fn notifications(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Vec<(String, String, i32)>> {
        let inbox = self.open(py)?.inbox;
        let timeout = timeout.map(|seconds| Duration::try_from_secs_f64(seconds.max(0.0)));
        let timeout = timeout.transpose().map_err(|_| errors::misuse(py, "timeout is a number of seconds, or None"))?;
        let told = wait(py, &Running::default(), async move {
            match timeout {
                // Whether something came is told by what is taken.
                Some(timeout) => drop(tokio::time::timeout(timeout, inbox.arrival()).await),
                None => inbox.arrival().await,
            }
            inbox.take()
        })?;
        let each = |one: Notification| (one.channel.to_string(), one.payload.to_string(), one.pid);
        Ok(told.into_iter().map(each).collect())
    }

    /// Whether a transaction block is open, and whether a statement of it has failed.
    fn transaction_state(&self, py: Python<'_>) -> PyResult<(bool, bool)> {
        let session = self.open(py)?.session;
        wait(py, &Running::default(), async move {
            let session = session.lock().await;
            (session.is_in_transaction(), session.has_failed_transaction())
        })
    }

    /// The names of all tables and views.
    fn table_names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.open(py)?.database.table_names())
    }
}

/// The same error, which says what a syntax error at a parameter comes from.
fn without_values(py: Python<'_>, error: PyErr, sql: &str) -> PyErr {
    let value = error.value(py);
    let sqlstate = value.getattr("sqlstate").and_then(|state| state.extract::<String>());
    if matches!(sqlstate.as_deref(), Ok("42601" | "42P02")) && numbered(sql).count > 0 {
        let message =
            format!("{value}; values of parameters (?, $1, $name) are the second argument, and there are none");
        // Without, the error is as it was.
        let _ = value.setattr("args", (message,));
    }
    error
}

/// The names of the parameters `$name` of a text.
#[pyfunction]
pub(crate) fn named_parameters(sql: &str) -> Vec<String> {
    numbered(sql).names
}

/// The values of one execution, in the order of their numbers.
fn row(statement: &Numbered, values: &Bound<'_, PyAny>) -> PyResult<Parameters> {
    let names = &statement.names;
    let is_sequence = values.is_instance_of::<PyTuple>() || values.is_instance_of::<PyList>();
    if !is_sequence && let Ok(by_name) = values.cast::<PyMapping>() {
        return named_row(statement, by_name);
    }
    if !names.is_empty() {
        let names = names.join(", ");
        let problem = format!("the parameters have names ({names}); give their values in a dict");
        return Err(PyTypeError::new_err(problem));
    }
    // One text is a sequence of texts, but nobody means that.
    let is_text = values.is_instance_of::<PyString>() || values.is_instance_of::<PyBytes>();
    if is_text || (!is_sequence && values.try_iter().is_err()) {
        let class = values.get_type().name()?;
        let problem =
            format!("the values of parameters are a list, a tuple or a dict, not a {class}; write [value] for one");
        return Err(PyTypeError::new_err(problem));
    }
    parameters::row(values)
}

fn named_row(statement: &Numbered, values: &Bound<'_, PyMapping>) -> PyResult<Parameters> {
    let names = &statement.names;
    if !names.is_empty() && statement.count > names.len() {
        return Err(PyTypeError::new_err("some parameters of the statement have names and others have not"));
    }
    if names.is_empty() && !values.is_empty()? {
        return Err(PyTypeError::new_err(
            "the statement has no parameters with names ($name); give the values of ? and $1 in a list",
        ));
    }
    let in_order = PyList::empty(values.py());
    for name in names {
        if !values.contains(name)? {
            return Err(PyTypeError::new_err(format!("there is no value for the parameter ${name}")));
        }
        in_order.append(values.get_item(name)?)?;
    }
    parameters::row(&in_order)
}
