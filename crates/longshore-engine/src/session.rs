//! A session: one connection's way to execute statements, one after the other.

mod deadline;
mod program_rows;

use std::fmt;
use std::io::{Read, Write};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use longshore_load::Control;
use longshore_storage::Datum;

use crate::activity::{Activity, Entered, Phase, StatementEntry};
use crate::catalog::SearchPath;
use crate::database::OpenSession;
use crate::prepared::{Prepared, Shapes};
use crate::report::without;
use crate::sql::{self, declared_types, secrets};
use crate::statement::CopyBegin;
use crate::statement::{Arguments, ClientSettings, Cursors, SessionContext, SharedWriter, Streams, prepare, temporary};
use crate::transaction::{Block, Identity};
use crate::{Database, Description, Error, Outcome, ResultColumns, panics, statement};
use deadline::Deadline;
pub use program_rows::table_names;

/// Executes statements, one after the other.
pub struct Session {
    database: Arc<Database>,
    /// The same with the definitions that an open block has to itself.
    in_block: Option<Arc<Database>>,
    /// Of the next statement.
    control: Arc<Control>,
    /// Of one that has ended, to serve again.
    spare_control: Option<Arc<Control>>,
    streams: Streams,
    block: Block,
    prepared: prepare::Named,
    settings: ClientSettings,
    shapes: Shapes,
    cursors: Cursors,
    /// What it tells of itself.
    entered: Entered,
    /// Counts it among those of its role, if it has signed in.
    open: Option<OpenSession>,
}

impl Database {
    /// A new session of the first superuser; sessions share the tables and nothing else.
    #[must_use]
    pub fn session(self: &Arc<Self>) -> Session {
        Session::new(Arc::clone(self))
    }

    /// A new session of a role, which has proved who it is. It begins with the settings that ALTER ROLE and ALTER DATABASE have
    /// given it; what of these is no setting any more is left out.
    ///
    /// # Errors
    /// 28000 when there is no such role, or it may not log in; 42501 when it may not connect to the database; 53300 when it
    /// has as many sessions as it may have.
    pub fn session_as(self: &Arc<Self>, role: &str) -> Result<Session, Error> {
        let (id, open) = self.log_in(role)?;
        let mut session = Session::new(Arc::clone(self));
        session.open = Some(open);
        session.entered.activity().set_role(id);
        session.block.numbers().set_identity(Identity::of(id));
        let settings = self.catalog.roles().settings_of_session(id);
        let control = session.take_control();
        statement::begin_session(&mut session.context(self, &control), &settings);
        Ok(session)
    }
}

impl Session {
    fn new(database: Arc<Database>) -> Self {
        let block =
            Block::new(Arc::clone(&database.transactions), database.catalog.log().cloned(), database.is_read_only());
        let (streams, prepared, settings) = (Streams::default(), prepare::Named::new(), ClientSettings::default());
        let shapes = Shapes::default();
        let entered = database.activities.enter(block.session());
        block.numbers().enter(entered.activity(), entered.all());
        let (numbers, superuser) = (block.numbers(), database.config().superuser.as_str());
        if *numbers.path().user != *superuser {
            numbers.set_path(SearchPath { user: superuser.into(), ..SearchPath::clone(&numbers.path()) });
        }
        Self {
            database,
            in_block: None,
            control: Arc::default(),
            spare_control: None,
            streams,
            block,
            prepared,
            settings,
            shapes,
            cursors: Cursors::default(),
            entered,
            open: None,
        }
    }

    /// The database that the session works on.
    #[must_use]
    pub fn database(&self) -> &Arc<Database> {
        &self.database
    }

    /// What the session tells others of itself. Who runs it says [`Activity::begins`] before a statement, and
    /// [`Session::rests`] when the rows of that are read.
    #[must_use]
    pub fn activity(&self) -> &Arc<Activity> {
        self.entered.activity()
    }

    /// The session waits for its client, as others may see.
    pub fn rests(&self) {
        self.activity().rests(match (self.is_in_transaction(), self.has_failed_transaction()) {
            (false, _) => Phase::Idle,
            (true, false) => Phase::IdleInTransaction,
            (true, true) => Phase::IdleInFailedTransaction,
        });
    }

    /// Progress and cancellation of the next statement: take it, then execute the statement, and watch or cancel it
    /// from elsewhere. Each statement has its own; the rows of a query heed it until they are read.
    #[must_use]
    pub fn control(&self) -> Arc<Control> {
        Arc::clone(&self.control)
    }

    /// Sets what the next `COPY ... FROM STDIN` reads, to its end. Without it, that statement is refused.
    pub fn set_input(&mut self, input: impl Read + Send + 'static) {
        self.streams.input = Some(Box::new(input));
    }

    /// Sets who is told when a COPY begins to read STDIN or to write STDOUT: right before it does.
    pub fn watch_copy(&mut self, watcher: impl FnMut(CopyBegin) + Send + 'static) {
        self.streams.watcher = Some(Box::new(watcher));
    }

    /// Sets where `COPY ... TO STDOUT` writes. Without it, that statement is refused.
    pub fn set_output(&mut self, output: impl Write + Send + 'static) {
        self.streams.output = Some(SharedWriter::new(output));
    }

    /// Executes one statement, with or without a semicolon at its end. Text without a statement does nothing.
    ///
    /// Must be called within a tokio runtime; long work runs on its blocking threads. A future that is dropped
    /// before it is ready cancels the statement, which then leaves nothing behind (and a transaction block that can
    /// only be rolled back).
    ///
    /// # Errors
    /// Whatever keeps the statement from being done, as one message with a remedy. A statement that fails has
    /// changed nothing.
    pub async fn execute(&mut self, sql: &str) -> Result<Outcome, Error> {
        let control = self.take_control();
        let database = self.seen();
        let deadline = self.deadline(&control);
        let mut outcome = panics::caught_in(Box::pin(statement::execute(self.context(&database, &control), sql))).await;
        if let Some(deadline) = deadline {
            outcome = deadline.kept(outcome);
        }
        self.forget_block();
        without(outcome, secrets::values(sql)).map(|outcome| outcome.with_notices(control.take_notices()))
    }

    /// Parses a query, an INSERT, UPDATE or DELETE with parameters `$1`, `$2`, ... once, to be executed often. One that is
    /// about a single row by its whole key does not pass through the query planner then.
    ///
    /// # Errors
    /// When it is not one of these statements.
    pub fn prepare(&self, sql: &str) -> Result<Prepared, Error> {
        panics::caught(|| {
            self.database.queries.check_values(sql)?;
            let catalog = self.block.definitions().unwrap_or(&self.database.catalog);
            prepare::named_in(sql, catalog, &self.block.numbers().path())
        })
    }

    /// The same, whose first parameters have the types of these OIDs in `pg_type`; 0 leaves the type open, and so does that of
    /// a type which is not built in.
    ///
    /// # Errors
    /// As [`Session::prepare`].
    pub fn prepare_typed(&self, sql: &str, types: &[u32]) -> Result<Prepared, Error> {
        panics::caught(|| {
            self.database.queries.check_values(sql)?;
            let catalog = self.block.definitions().unwrap_or(&self.database.catalog);
            let types = types.iter().map(|oid| declared_types::of_oid(*oid)).collect();
            prepare::typed_in(sql, types, catalog, &self.block.numbers().path())
        })
    }

    /// What a prepared statement takes and gives: it is planned, not executed.
    ///
    /// # Errors
    /// Whatever is wrong with the statement, as far as planning shows it.
    pub async fn describe(&mut self, prepared: &Prepared) -> Result<Description, Error> {
        let control = self.take_control();
        let database = self.seen();
        panics::caught_in(Box::pin(statement::describe(self.context(&database, &control), prepared))).await
    }

    /// Names and types of the columns of a cursor that the session has declared by this name, if there is one.
    #[must_use]
    pub fn cursor_columns(&self, name: &str) -> Option<ResultColumns> {
        self.cursors.columns(name)
    }

    /// The columns of the cursor from which the statement `sql` fetches, if it is a FETCH from one that there is.
    #[must_use]
    pub fn fetched_columns(&self, sql: &str) -> Option<ResultColumns> {
        self.cursors.columns(&sql::fetched_cursor(sql)?)
    }

    /// From now on COPY without FORMAT reads STDIN and writes STDOUT in PostgreSQL's text format, as its programs expect it, not
    /// as CSV.
    pub fn copy_postgres_text(&mut self) {
        self.streams.are_postgres_text = true;
    }

    /// Executes a prepared statement with these values of its parameters, as [`Session::execute`] does.
    ///
    /// # Errors
    /// As [`Session::execute`], and when there are not as many values as parameters.
    pub async fn execute_prepared(&mut self, prepared: &Prepared, values: &[Datum<'_>]) -> Result<Outcome, Error> {
        if prepared.of_session.is_some() {
            return Box::pin(self.execute_of_session(prepared, values)).await;
        }
        let control = self.take_control();
        let arguments = Arguments::Values(values);
        let (database, deadline) = (self.seen(), self.deadline(&control));
        let mut outcome = {
            let execution = pin!(statement::execute_prepared(self.context(&database, &control), prepared, arguments));
            panics::caught_in(execution).await
        };
        if let Some(deadline) = deadline {
            outcome = deadline.kept(outcome);
        }
        if control.has_notices() {
            outcome = outcome.map(|outcome| outcome.with_notices(control.take_notices()));
        }
        self.keep_control(control);
        outcome
    }

    async fn execute_of_session(&mut self, prepared: &Prepared, values: &[Datum<'_>]) -> Result<Outcome, Error> {
        let control = self.take_control();
        let (database, deadline) = (self.seen(), self.deadline(&control));
        let executed = statement::execute_of_session(self.context(&database, &control), prepared, values);
        let outcome = panics::caught_in(Box::pin(executed)).await;
        match deadline {
            Some(deadline) => deadline.kept(outcome),
            None => outcome,
        }
    }

    /// The control of a statement that begins; the next one gets another.
    fn take_control(&mut self) -> Arc<Control> {
        let next = self.spare_control.take().unwrap_or_default();
        std::mem::replace(&mut self.control, next)
    }

    /// Keeps the control of a statement that has ended, where nobody else has it.
    fn keep_control(&mut self, mut control: Arc<Control>) {
        if let Some(own) = Arc::get_mut(&mut control) {
            *own = Control::new();
            self.spare_control = Some(control);
        }
    }

    /// When the statement that begins is cancelled, if `statement_timeout` says so.
    fn deadline(&self, control: &Arc<Control>) -> Option<Deadline> {
        self.block.timeouts().statement.map(|timeout| Deadline::after(timeout, control))
    }

    /// How long the session may be idle in an open transaction block before whoever runs it ends it, as
    /// `idle_in_transaction_session_timeout` says; `None` is for ever.
    #[must_use]
    pub fn idle_in_transaction_session_timeout(&self) -> Option<Duration> {
        self.block.timeouts().idle_in_transaction
    }

    /// Statements of the session that take so long are to be told in the log, as `log_min_duration_statement` says; `None`
    /// for none.
    #[must_use]
    pub fn log_min_duration_statement(&self) -> Option<Duration> {
        self.block.logging().slow_statements
    }

    /// Where to add what an execution of `sql` takes; `None` where nothing is measured. It may be kept as long as it is
    /// [`Session::is_own`].
    #[must_use]
    pub fn statement_entry(&self, sql: &str) -> Option<Arc<StatementEntry>> {
        self.entered.all().statements().entry(self.block.numbers().identity().current, sql)
    }

    /// Whether what was measured belongs to the role that the session acts as, and was not forgotten.
    #[must_use]
    pub fn is_own(&self, entry: &StatementEntry) -> bool {
        !entry.is_gone() && entry.role() == self.block.numbers().identity().current
    }

    /// The database as the next statement sees it.
    fn seen(&mut self) -> Arc<Database> {
        let Some(catalog) = self.block.definitions() else { return Arc::clone(&self.database) };
        match &self.in_block {
            Some(known) if Arc::ptr_eq(&known.catalog, catalog) => Arc::clone(known),
            _ => Arc::clone(self.in_block.insert(self.database.with_catalog(catalog))),
        }
    }

    /// Gives up what an ended block had to itself.
    fn forget_block(&mut self) {
        if self.in_block.is_some() && self.block.definitions().is_none() {
            self.in_block = None;
        }
    }

    fn context<'a>(&'a mut self, database: &'a Arc<Database>, control: &'a Arc<Control>) -> SessionContext<'a> {
        SessionContext {
            database,
            block: &mut self.block,
            prepared: &mut self.prepared,
            streams: &mut self.streams,
            settings: &mut self.settings,
            shapes: &mut self.shapes,
            cursors: &mut self.cursors,
            control,
        }
    }

    /// The name of the role that the session belongs to: who signed in, or whom SET SESSION AUTHORIZATION has said.
    #[must_use]
    pub fn session_user(&self) -> String {
        self.database.catalog.roles().name(self.block.numbers().identity().session)
    }

    /// The name of the role that the session acts as: as [`Session::session_user`], unless SET ROLE has said another one.
    #[must_use]
    pub fn current_user(&self) -> String {
        self.database.catalog.roles().name(self.block.numbers().identity().current)
    }

    /// Whether the role that the session acts as is a superuser.
    #[must_use]
    pub fn is_superuser(&self) -> bool {
        self.block.numbers().checked_role(&self.database.catalog).is_none()
    }

    /// Whether a transaction block is open: BEGIN was executed, and neither COMMIT nor ROLLBACK since.
    #[must_use]
    pub fn is_in_transaction(&self) -> bool {
        self.block.is_open()
    }

    /// Fails the open transaction block, if there is one, as a statement that fails would: for what goes wrong around statements.
    pub fn fail_transaction(&mut self) {
        self.block.fail();
    }

    /// Whether a statement of the open transaction block has failed, so that nothing can be done in it but to end it.
    #[must_use]
    pub fn has_failed_transaction(&self) -> bool {
        self.block.has_failed()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Rows that are still read may have the session's state for longer.
        let _ = self.block.numbers().advisory().give_all_back();
        // Nobody is there to be told; what is left goes with the database.
        let _ = temporary::drop_all(&self.database.catalog, &self.block.numbers().path());
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("database", &self.database).finish_non_exhaustive()
    }
}
