//! Statements: a query with what is bound to its parameters, or rows that go into a table.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use longshore_engine::{Outcome, copy_rows_text, numbered};

use super::abi::{INVALID_ARGUMENT, INVALID_STATE, NOT_IMPLEMENTED};
use super::bound;
use super::problem::Problem;
use super::session::{Session, quoted, stream};
use crate::c_data::CStream;
use crate::capsule::Reader;
use crate::execute::{Done, Given, rows_of};
use crate::runtime::Running;

/// The name by which the columns of rows are known while a table is made for them.
const COLUMNS: &str = "columns of rows that a table is made for";

/// A statement.
pub(super) struct Statement {
    session: Session,
    told: Mutex<Told>,
    /// What it executes; [`Statement::cancel`] comes from another thread.
    running: Mutex<Running>,
}

/// What a manager has told of a statement.
#[derive(Default)]
struct Told {
    query: Option<String>,
    table: Option<String>,
    schema: Option<String>,
    is_temporary: bool,
    mode: Mode,
    bound: Option<(SchemaRef, Reader)>,
}

/// What becomes of the table that rows go into.
#[derive(Clone, Copy, Default)]
enum Mode {
    #[default]
    Create,
    Append,
    Replace,
    CreateAppend,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn flag(name: &str, value: &str) -> Result<bool, Problem> {
    match value {
        "true" => Ok(true),
        "false" => Ok(false),
        other => Err(Problem::new(INVALID_ARGUMENT, format!("{name} is true or false, not {other:?}"))),
    }
}

impl Statement {
    pub(super) fn of(session: Session) -> Self {
        Self { session, told: Mutex::default(), running: Mutex::default() }
    }

    pub(super) fn set_query(&self, query: &str) {
        let mut told = locked(&self.told);
        told.query = Some(query.to_owned());
        told.table = None;
    }

    pub(super) fn bind(&self, schema: SchemaRef, rows: Reader) {
        locked(&self.told).bound = Some((schema, rows));
    }

    pub(super) fn set_option(&self, name: &str, value: &str) -> Result<(), Problem> {
        let mut told = locked(&self.told);
        match name {
            "adbc.ingest.target_table" => {
                told.table = Some(value.to_owned());
                told.query = None;
            }
            // A temporary table has a schema of its own: what is told last holds.
            "adbc.ingest.target_db_schema" => {
                told.schema = (!value.is_empty()).then(|| value.to_owned());
                told.is_temporary &= told.schema.is_none();
            }
            "adbc.ingest.temporary" => {
                told.is_temporary = flag(name, value)?;
                if told.is_temporary {
                    told.schema = None;
                }
            }
            "adbc.ingest.mode" => {
                told.mode = match value {
                    "adbc.ingest.mode.create" => Mode::Create,
                    "adbc.ingest.mode.append" => Mode::Append,
                    "adbc.ingest.mode.replace" => Mode::Replace,
                    "adbc.ingest.mode.create_append" => Mode::CreateAppend,
                    other => return Err(Problem::new(INVALID_ARGUMENT, format!("there is no mode {other:?}"))),
                }
            }
            other => {
                return Err(Problem::new(NOT_IMPLEMENTED, format!("Longshore's statements have no option {other}")));
            }
        }
        Ok(())
    }

    /// Cancels what is executed, and the rows that are read of it.
    pub(super) fn cancel(&self) {
        locked(&self.running).cancel();
    }

    /// Executes it: the rows, if somebody wants them, and how many rows were changed, if that is known.
    pub(super) fn execute(&self, wants_rows: bool) -> Result<(Option<CStream>, Option<u64>), Problem> {
        let running = Running::default();
        *locked(&self.running) = running.clone();
        let (query, bound) = {
            let mut told = locked(&self.told);
            (told.query.clone(), told.bound.take())
        };
        let Some(query) = query else {
            let (schema, rows) =
                bound.ok_or_else(|| Problem::new(INVALID_STATE, "no rows are bound to be ingested"))?;
            return Ok((None, self.ingest(&running, &schema, rows)?));
        };
        let numbered = numbered(&query);
        let (sql, given) = match bound {
            Some((schema, rows)) => {
                let rows = rows.collect::<Result<Vec<_>, _>>();
                let rows = rows.map_err(|problem| Problem::new(INVALID_ARGUMENT, problem))?;
                let mut rows = bound::parameters(&numbered.names, &schema, &rows)?;
                let given = if rows.len() == 1 { Given::Row(rows.swap_remove(0)) } else { Given::Rows(rows) };
                (numbered.sql.as_str(), given)
            }
            None => (query.as_str(), Given::Nothing),
        };
        let Done { outcome, rows } = self.session.run(&running, sql, given)?;
        match outcome {
            Outcome::Rows(rows) => {
                let stream = stream(rows)?;
                Ok((wants_rows.then_some(stream), None))
            }
            Outcome::Done { tag, .. } => Ok((None, rows.or_else(|| rows_of(&tag)))),
        }
    }

    /// The columns of the rows that it gives.
    pub(super) fn columns(&self) -> Result<SchemaRef, Problem> {
        let query = locked(&self.told).query.clone();
        let query = query.ok_or_else(|| Problem::new(INVALID_STATE, "there is no query"))?;
        columns_of(&self.session, &query)
    }

    fn ingest(&self, running: &Running, schema: &SchemaRef, rows: Reader) -> Result<Option<u64>, Problem> {
        let (table, mode, temporary) = {
            let told = locked(&self.told);
            let table = told.table.as_deref();
            let table = table.ok_or_else(|| Problem::new(INVALID_STATE, "there is neither a query nor a table"))?;
            let table = match &told.schema {
                Some(schema) => format!("{}.{}", quoted(schema), quoted(table)),
                None => quoted(table),
            };
            (table, told.mode, if told.is_temporary { "TEMPORARY " } else { "" })
        };
        let columns: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
        let copy = copy_rows_text(&table, &columns);
        self.session.whole(|| {
            match mode {
                Mode::Append => {}
                Mode::Create => self.make(running, &format!("CREATE {temporary}TABLE {table}"), schema)?,
                Mode::CreateAppend => {
                    self.make(running, &format!("CREATE {temporary}TABLE IF NOT EXISTS {table}"), schema)?;
                }
                Mode::Replace => {
                    self.session.run(running, &format!("DROP TABLE IF EXISTS {table}"), Given::Nothing)?;
                    self.make(running, &format!("CREATE {temporary}TABLE {table}"), schema)?;
                }
            }
            let Done { outcome, .. } = self.session.run(running, &copy, Given::Batches(Arc::clone(schema), rows))?;
            Ok(match outcome {
                Outcome::Done { report, .. } => Some(report.rows),
                Outcome::Rows(_) => None,
            })
        })
    }

    /// Makes a table with the columns of the rows.
    fn make(&self, running: &Running, create: &str, schema: &SchemaRef) -> Result<(), Problem> {
        let columns = Arc::clone(schema);
        self.session.locked(move |session| session.register(COLUMNS, &columns, &[] as &[RecordBatch]))?;
        let sql = format!("{create} AS SELECT * FROM {} WITH NO DATA", quoted(COLUMNS));
        let made = self.session.run(running, &sql, Given::Nothing);
        self.session.locked(|session| {
            session.unregister(COLUMNS);
            Ok(())
        })?;
        made.map(drop)
    }
}

/// The columns of the rows of a query, as they are known before it is executed.
pub(super) fn columns_of(session: &Session, query: &str) -> Result<SchemaRef, Problem> {
    let sql = format!("SELECT * FROM ({query}) AS rows LIMIT 0");
    let Done { outcome, .. } = session.run(&Running::default(), &sql, Given::Nothing)?;
    match outcome {
        Outcome::Rows(rows) => Ok(Arc::clone(rows.schema())),
        Outcome::Done { .. } => Err(Problem::new(INVALID_ARGUMENT, "the statement gives no rows")),
    }
}
