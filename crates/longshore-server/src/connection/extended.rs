//! The extended protocol: statements are parsed once, bound to values, described and executed.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use arrow_schema::FieldRef;
use longshore_engine::{
    BuiltinType, Control, Description, Outcome, Prepared, ResultColumns, RowStream, StatementEntry,
};
use longshore_storage::Datum;

use super::outcome::{Sending, Sent, columns_of};
use super::{Connection, Done, Executed, ends_block, first_word, statements, watched};
use crate::errors::Told;
use crate::protocol::backend;
use crate::protocol::frontend::{Bind, Format, Formats, Message, Named};
use crate::stream::Failure;
use crate::values::parameters::{Value, malformed_parameter};

/// Rows that Execute without a limit asks for.
const ALL_ROWS: usize = 0;

/// A statement that was parsed.
pub(super) struct Statement {
    sql: Arc<str>,
    /// Its first word.
    word: String,
    /// `None` of what takes no parameters and is executed by its text.
    prepared: Option<Prepared>,
    /// The same with types for all parameters, once they are known, if it needs them.
    typed: OnceLock<Prepared>,
    /// The types that the client gave.
    types: Vec<u32>,
    parameters: OnceLock<Vec<u32>>,
    /// Its columns, once they are known; `None` if it gives no rows.
    columns: OnceLock<Option<ResultColumns>>,
    /// Where to add what it takes, once that was looked up.
    pub(super) entry: Mutex<Option<Arc<StatementEntry>>>,
}

/// A statement with values.
pub(super) struct Portal {
    statement: Arc<Statement>,
    values: Vec<Value>,
    formats: Formats,
    state: State,
    /// What it took so far.
    spent: Duration,
}

/// How far a portal has been executed.
enum State {
    Bound,
    /// It was executed to know its columns.
    Begun(Executed),
    Sending(Box<Sending>),
    Ended,
}

impl Statement {
    /// What is executed, with values for its parameters.
    fn prepared(&self) -> Option<&Prepared> {
        self.typed.get().or(self.prepared.as_ref())
    }

    fn is_empty(&self) -> bool {
        self.prepared.is_none() && statements(&self.sql).is_empty()
    }
}

impl Connection {
    /// Does what a message of the extended protocol asks for.
    pub(super) async fn extended(&mut self, message: Message) -> Done<()> {
        match message {
            Message::Parse { statement, sql, types } => Ok(self.parse(statement, sql, types)),
            Message::Bind(bind) => self.bind(bind).await,
            Message::Describe { what: Named::Statement, name } => self.describe_statement(&name).await,
            Message::Describe { what: Named::Portal, name } => self.describe_portal(&name).await,
            Message::Execute { portal, rows_max } => self.execute_portal(&portal, rows_max).await,
            Message::Close { what, name } => {
                match what {
                    Named::Statement => drop(self.statements.remove(&name)),
                    Named::Portal => drop(self.portals.remove(&name)),
                }
                backend::bare(&mut self.wire.out, backend::CLOSE_COMPLETE);
                Ok(Ok(()))
            }
            _ => Ok(Err(Told::error("08P01", "a message that does not belong here"))),
        }
    }

    /// Ends what came since the last Sync.
    pub(super) async fn sync(&mut self) -> Result<(), Failure> {
        self.skips = false;
        if let Err(told) = self.end_implicit().await? {
            self.note_error(&told);
            told.write(&mut self.wire.out);
        }
        if !self.session.is_in_transaction() {
            self.portals.clear();
        }
        self.ready();
        Ok(())
    }

    fn parse(&mut self, name: String, sql: String, types: Vec<u32>) -> Result<(), Told> {
        if !name.is_empty() && self.statements.contains_key(&name) {
            return Err(Told::error("42P05", format!("prepared statement \"{name}\" already exists")));
        }
        let sql: Arc<str> = sql.into();
        self.session.activity().begins(&sql);
        let word = first_word(&sql);
        if self.session.has_failed_transaction() && !ends_block(&word) {
            return Err(aborted());
        }
        if sql.contains(';') && statements(&sql).len() > 1 {
            return Err(Told::error("42601", "cannot insert multiple commands into a prepared statement"));
        }
        let mut prepared = None;
        if is_prepared(&word, &sql) {
            let made = self.session.prepare_typed(&sql, &types);
            prepared = Some(made.map_err(|error| Told::from(error.in_statement(&sql)))?);
        }
        let (typed, parameters, columns) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        let entry = Mutex::default();
        let statement = Statement { sql, word, prepared, typed, types, parameters, columns, entry };
        self.statements.insert(name, Arc::new(statement));
        backend::bare(&mut self.wire.out, backend::PARSE_COMPLETE);
        Ok(())
    }

    async fn bind(&mut self, bind: Bind) -> Done<()> {
        let Bind { portal, statement: name, parameter_formats, parameters, result_formats } = bind;
        let statement = match self.statement_named(&name) {
            Ok(statement) => statement,
            Err(told) => return Ok(Err(told)),
        };
        if self.session.has_failed_transaction() && !ends_block(&statement.word) {
            return Ok(Err(aborted()));
        }
        if !portal.is_empty() && self.portals.contains_key(&portal) {
            return Ok(Err(Told::error("42P03", format!("cursor \"{portal}\" already exists"))));
        }
        let needed = statement.prepared().map_or(0, Prepared::parameters);
        if parameters.len() != needed {
            return Ok(Err(Told::error(
                "08P01",
                format!(
                    "bind message supplies {} parameters, but prepared statement \"{name}\" requires {needed}",
                    parameters.len()
                ),
            )));
        }
        if !parameter_formats.are_for(needed) {
            return Ok(Err(Told::error("08P01", "bind message has another number of formats than of parameters")));
        }
        let is_typed = |at: usize| statement.types.get(at).is_some_and(|oid| *oid != 0);
        let is_open = |at: usize| !is_typed(at) && parameters[at].is_some();
        let needs_types = || {
            let asks = statement.prepared().is_some_and(Prepared::asks_for_types);
            (0..needed).any(|at| is_open(at) && (asks || parameter_formats.of(at) == Format::Binary))
        };
        if statement.parameters.get().is_none()
            && needs_types()
            && let Err(told) = self.describe(&statement).await?
        {
            return Ok(Err(told));
        }
        let mut values = Vec::with_capacity(needed);
        for (at, bytes) in parameters.iter().enumerate() {
            let declared = statement.types.get(at).copied().filter(|oid| *oid != 0);
            let known = || statement.parameters.get().and_then(|types| types.get(at)).copied();
            let oid = declared.or_else(known).unwrap_or(0);
            match Value::read(bytes.as_ref(), parameter_formats.of(at), oid) {
                Ok(value) => values.push(value),
                Err(malformed) => return Ok(Err(malformed_parameter(malformed, at))),
            }
        }
        let (formats, state, spent) = (result_formats, State::Bound, Duration::ZERO);
        self.portals.insert(portal, Portal { statement, values, formats, state, spent });
        backend::bare(&mut self.wire.out, backend::BIND_COMPLETE);
        Ok(Ok(()))
    }

    fn statement_named(&self, name: &str) -> Result<Arc<Statement>, Told> {
        self.statements.get(name).cloned().ok_or_else(|| {
            let message = match name {
                "" => "unnamed prepared statement does not exist".to_owned(),
                name => format!("prepared statement \"{name}\" does not exist"),
            };
            Told::error("26000", message)
        })
    }

    /// Finds out what a prepared statement takes and gives.
    async fn describe(&mut self, statement: &Statement) -> Done<()> {
        let Some(prepared) = &statement.prepared else { return Ok(Ok(())) };
        let control = self.session.control();
        let described = watched(&mut self.wire, &control, self.session.describe(prepared)).await?;
        Ok(match described {
            Ok(Description { mut parameters, columns }) => {
                for (known, given) in parameters.iter_mut().zip(&statement.types) {
                    *known = if *given == 0 { *known } else { *given };
                }
                // Others cannot have told before: this connection is the only one that asks.
                if prepared.asks_for_types()
                    && let Ok(typed) = self.session.prepare_typed(&statement.sql, &parameters)
                {
                    let _ = statement.typed.set(typed);
                }
                let _ = statement.parameters.set(parameters);
                let _ = statement.columns.set(columns);
                Ok(())
            }
            Err(error) => Err(error.in_statement(&statement.sql).into()),
        })
    }

    async fn describe_statement(&mut self, name: &str) -> Done<()> {
        let statement = match self.statement_named(name) {
            Ok(statement) => statement,
            Err(told) => return Ok(Err(told)),
        };
        if statement.word == "FETCH" {
            // To execute it would move the cursor.
            drop(statement.columns.set(self.session.fetched_columns(&statement.sql)));
        } else if statement.prepared.is_some() {
            if statement.parameters.get().is_none()
                && let Err(told) = self.describe(&statement).await?
            {
                return Ok(Err(told));
            }
        } else if gives_rows(&statement.word) && statement.columns.get().is_none() {
            // What it shows is looked at to know its columns, and thrown away.
            match self.execute(&statement.sql).await? {
                Ok((Outcome::Rows(rows), _)) => drop(statement.columns.set(Some(columns_of(&rows)))),
                Ok(_) => {}
                Err(told) => return Ok(Err(told)),
            }
        }
        backend::parameter_description(&mut self.wire.out, statement.parameters.get().map_or(&[], Vec::as_slice));
        self.send_columns(&statement, &Formats::All(Format::Text));
        Ok(Ok(()))
    }

    fn send_columns(&mut self, statement: &Statement, formats: &Formats) {
        match statement.columns.get() {
            Some(Some(columns)) => backend::row_description(&mut self.wire.out, columns, formats),
            _ => backend::bare(&mut self.wire.out, backend::NO_DATA),
        }
    }

    async fn describe_portal(&mut self, name: &str) -> Done<()> {
        let Some(portal) = self.portals.get(name) else {
            // Cursors of SQL are portals to clients.
            let Some(columns) = self.session.cursor_columns(name) else { return Ok(Err(no_portal(name))) };
            backend::row_description(&mut self.wire.out, &columns, &Formats::All(Format::Text));
            return Ok(Ok(()));
        };
        let (statement, formats) = (Arc::clone(&portal.statement), portal.formats.clone());
        if statement.columns.get().is_none() {
            let is_reading = match statement.prepared() {
                Some(prepared) => !prepared.changes_rows(),
                None => gives_rows(&statement.word) || statement.word == "FETCH",
            };
            if is_reading && matches!(portal.state, State::Bound) {
                // It will be executed in any case; planned twice it would take twice as long.
                self.session.activity().begins(&statement.sql);
                self.begin_measuring();
                let executed = match self.execute_bound(name).await? {
                    Ok(executed) => executed,
                    Err(told) => {
                        self.end_measuring(&statement.sql, &statement.word, Some(&statement.entry), false);
                        return Ok(Err(told));
                    }
                };
                let spent = self.measured.so_far();
                let columns = match &executed.0 {
                    Outcome::Rows(rows) => Some(columns_of(rows)),
                    Outcome::Done { .. } => None,
                };
                let _ = statement.columns.set(columns);
                if let Some(portal) = self.portals.get_mut(name) {
                    portal.state = State::Begun(executed);
                    portal.spent = spent;
                }
            } else if let Err(told) = self.describe(&statement).await? {
                return Ok(Err(told));
            }
        }
        self.send_columns(&statement, &formats);
        Ok(Ok(()))
    }

    /// Executes the statement of a portal with its values.
    async fn execute_bound(&mut self, name: &str) -> Done<Executed> {
        if !self.wire.is_sync_next() {
            // Others follow before Sync, or may: they are one transaction.
            let word = self.portals.get(name).map(|portal| portal.statement.word.as_str()).unwrap_or_default();
            if !ends_block(word)
                && !matches!(word, "BEGIN" | "START")
                && let Err(told) = self.begin_implicit().await?
            {
                return Ok(Err(told));
            }
        }
        let Self { wire, session, registered, portals, .. } = self;
        let Some(Portal { statement, values, .. }) = portals.get(name) else { return Ok(Err(no_portal(name))) };
        let Some(prepared) = statement.prepared() else {
            let statement = Arc::clone(statement);
            return self.execute_text(&statement.sql, &statement.word).await;
        };
        let values: Vec<Datum<'_>> = values.iter().map(Value::datum).collect();
        let control = session.control();
        registered.backend.runs(Some(Arc::clone(&control)));
        let outcome = watched(wire, &control, session.execute_prepared(prepared, &values)).await;
        registered.backend.runs(None);
        Ok(outcome?.map(|outcome| (outcome, control)).map_err(|error| error.in_statement(&statement.sql).into()))
    }

    async fn execute_portal(&mut self, name: &str, rows_max: usize) -> Done<()> {
        let Some(portal) = self.portals.get(name) else { return Ok(Err(no_portal(name))) };
        let (statement, spent) = (Arc::clone(&portal.statement), portal.spent);
        self.session.activity().begins(&statement.sql);
        self.begin_measuring();
        self.measured.add(spent);
        let done = self.send_portal(name, rows_max).await?;
        let spent = self.measured.so_far();
        match self.portals.get_mut(name) {
            Some(portal) if done.is_ok() && matches!(portal.state, State::Sending(_)) => portal.spent = spent,
            _ => self.end_measuring(&statement.sql, &statement.word, Some(&statement.entry), done.is_ok()),
        }
        Ok(done)
    }

    /// Executes a portal and sends its rows, up to `rows_max` of them.
    async fn send_portal(&mut self, name: &str, rows_max: usize) -> Done<()> {
        let Some(portal) = self.portals.get_mut(name) else { return Ok(Err(no_portal(name))) };
        let statement = Arc::clone(&portal.statement);
        let state = std::mem::replace(&mut portal.state, State::Ended);
        let rows_max = if rows_max == ALL_ROWS { usize::MAX } else { rows_max };
        let mut sending = match state {
            State::Sending(sending) => sending,
            State::Ended => {
                return Ok(Err(Told::error("55000", format!("portal \"{name}\" cannot be run"))));
            }
            State::Bound if statement.is_empty() => {
                backend::bare(&mut self.wire.out, backend::EMPTY_QUERY);
                return Ok(Ok(()));
            }
            state => {
                let executed = match state {
                    State::Begun(executed) => executed,
                    _ => match self.execute_bound(name).await? {
                        Ok(executed) => executed,
                        Err(told) => return Ok(Err(told)),
                    },
                };
                match self.begin_sending(&statement, executed, name).await {
                    Ok(Some(sending)) => Box::new(sending),
                    Ok(None) => return Ok(Ok(())),
                    Err(told) => return Ok(Err(told)),
                }
            }
        };
        Ok(match self.send(&mut sending, rows_max).await? {
            Ok(Sent::All) => Ok(()),
            Ok(Sent::AsManyAsAsked) => {
                if let Some(portal) = self.portals.get_mut(name) {
                    portal.state = State::Sending(sending);
                }
                Ok(())
            }
            Err(told) => Err(told),
        })
    }

    /// What is to be sent of a statement; `None` if that is done.
    async fn begin_sending(
        &mut self,
        statement: &Statement,
        (outcome, control): (Outcome, Arc<Control>),
        portal: &str,
    ) -> Result<Option<Sending>, Told> {
        match outcome {
            Outcome::Done { tag, notice, report } => {
                self.note_done(&statement.word, &tag, &report);
                self.send_done(&tag, notice);
                self.report_settings(&statement.word).await;
                Ok(None)
            }
            Outcome::Rows(rows) => {
                let types = match statement.columns.get() {
                    Some(Some(known)) if !is_same(known, &rows) => {
                        return Err(Told::changed_result());
                    }
                    Some(Some(known)) => Arc::clone(&known.types),
                    _ => rows.types(),
                };
                self.send_notice(&rows);
                let formats =
                    self.portals.get(portal).map_or(Formats::All(Format::Text), |portal| portal.formats.clone());
                if !formats.are_for(rows.schema().fields().len()) {
                    let message = "bind message has another number of result formats than the query has columns";
                    return Err(Told::error("08P01", message));
                }
                Ok(Some(Sending::new(rows, types, control, formats)))
            }
        }
    }
}

/// Whether rows have the columns that were described.
fn is_same(known: &ResultColumns, rows: &RowStream) -> bool {
    let (known, now) = (known.schema.fields(), rows.schema().fields());
    // A number has more than one form in memory.
    let is_same = |(known, now): (&FieldRef, &FieldRef)| {
        let (known, now) = (known.data_type(), now.data_type());
        known == now || BuiltinType::of_values(known) == BuiltinType::of_values(now)
    };
    known.len() == now.len() && known.iter().zip(now).all(is_same)
}

/// Whether a statement is one with parameters, rather than one that is executed by its text.
fn is_prepared(word: &str, sql: &str) -> bool {
    match word {
        "SELECT" | "WITH" | "VALUES" | "TABLE" | "INSERT" | "UPDATE" | "DELETE" | "MERGE" | "FROM" | "DECLARE" => true,
        "" => sql.trim_start().starts_with('('),
        _ => false,
    }
}

/// Whether a statement that is executed by its text may give rows, and changes nothing, or the same again.
fn gives_rows(word: &str) -> bool {
    matches!(word, "SELECT" | "SHOW" | "EXPLAIN" | "DESCRIBE" | "DESC" | "SUMMARIZE" | "PIVOT" | "UNPIVOT")
}

fn no_portal(name: &str) -> Told {
    Told::error("34000", format!("portal \"{name}\" does not exist"))
}

fn aborted() -> Told {
    let message = "current transaction is aborted, commands ignored until end of transaction block";
    Told::error("25P02", message)
}
