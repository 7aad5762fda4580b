//! Cursors: rows of a query that a session fetches piece by piece.
//!
//! A cursor has the rows that its query gives at DECLARE; they are made while they are fetched. It ends with its transaction, or
//! with the savepoint behind which it was declared if that is undone; one WITH HOLD gets all of its rows at COMMIT and stays. One
//! that scrolls keeps the rows that were fetched; others keep what lies ahead only. Not here: portals of the protocol
//! (`longshore-server`), which are another way to the same end; how a place among rows moves (`rows`).

mod rows;

use std::collections::BTreeMap;
use std::pin::Pin;

use longshore_load::Control;
use sqlparser::ast::Statement;

use super::cursor_query::check_query;
use super::{Arguments, SessionContext, execute as execute_text, execute_prepared, settings_behind};
use crate::prepared::Prepared;
use crate::sql::cursors::{CursorStatement, Declaration, Fetch};
use crate::transaction::{Block, SessionCursor, micros_now};
use crate::{Error, ErrorKind, Outcome, ResultColumns, RowStream};
use rows::{FetchedRows, Room};

impl SessionContext<'_> {
    /// The same, for a part of what is executed.
    pub(super) fn again(&mut self) -> SessionContext<'_> {
        SessionContext {
            database: self.database,
            block: self.block,
            prepared: self.prepared,
            streams: self.streams,
            settings: self.settings,
            shapes: self.shapes,
            cursors: self.cursors,
            control: self.control,
        }
    }
}

/// The cursors of a session, by name.
#[derive(Default)]
pub(crate) struct Cursors(BTreeMap<String, Cursor>);

struct Cursor {
    declaration: Declaration,
    rows: FetchedRows,
    /// When it was declared, in microseconds since 1970.
    created: i64,
    /// How many savepoints were set then; `None` if it has outlived its transaction.
    savepoints: Option<usize>,
}

/// Executes a statement about cursors.
pub(super) fn execute<'a>(
    mut session: SessionContext<'a>,
    statement: CursorStatement,
) -> Pin<Box<dyn Future<Output = Result<Outcome, Error>> + Send + 'a>> {
    Box::pin(async move {
        session.block.refuse_if_failed()?;
        let done = match statement {
            CursorStatement::Declare(declaration) => {
                let checked = check_query(&declaration).and_then(|()| check(&session, &declaration));
                match checked {
                    Ok(()) => {
                        let rows = Box::pin(execute_text(session.again(), &declaration.query)).await?;
                        declare(&mut session, declaration, rows).await
                    }
                    Err(error) => Err(error),
                }
            }
            CursorStatement::Fetch(fetch) => session.cursors.fetch(&fetch, session.control).await,
            CursorStatement::Close(name) => session.cursors.close(name.as_deref()),
        };
        session.cursors.tell(session.block);
        done.inspect_err(|_| session.block.fail())
    })
}

/// Gets all rows of cursors that outlive the transaction, if `statement` is about to commit it. If that fails, it is rolled back.
pub(super) async fn before(session: &mut SessionContext<'_>, statement: &Statement) -> Result<(), Error> {
    if !matches!(statement, Statement::Commit { .. }) || session.block.has_failed() {
        return Ok(());
    }
    if let Err(error) = session.cursors.hold(session.control).await {
        session.block.rollback(false)?;
        session.cursors.follow(statement, false, session.block);
        session.settings.follow_savepoints(statement, 0);
        let failed = Err(error);
        settings_behind(session, statement, &failed)?;
        return failed.map(drop);
    }
    Ok(())
}

/// Declares a cursor with the rows of a prepared statement.
pub(super) async fn declare_prepared(
    mut session: SessionContext<'_>,
    declaration: &Declaration,
    prepared: &Prepared,
    arguments: Arguments<'_>,
) -> Result<Outcome, Error> {
    session.block.refuse_if_failed()?;
    check(&session, declaration).inspect_err(|_| session.block.fail())?;
    let rows = execute_prepared(session.again(), prepared, arguments).await?;
    let declared = declare(&mut session, declaration.clone(), rows).await;
    declared.inspect_err(|_| session.block.fail())
}

/// Makes a cursor of the rows that its query gives.
async fn declare(session: &mut SessionContext<'_>, declaration: Declaration, rows: Outcome) -> Result<Outcome, Error> {
    let Outcome::Rows(rows) = rows else {
        return Err(Error::internal("the query of a cursor gave no rows"));
    };
    let keeps_all = declaration.scroll == Some(true);
    let limit = session.block.numbers().query_limits().and_then(|limits| limits.memory);
    let room = Room::new(session.database.memory(), limit);
    let mut rows = FetchedRows::new(rows, keeps_all, room);
    let is_open = session.block.is_open();
    if !is_open {
        // Its transaction has ended with the statement.
        rows.read_all(session.control).await?;
    }
    let savepoints = is_open.then(|| session.block.savepoints());
    let created = micros_now();
    session.cursors.0.insert(declaration.name.clone(), Cursor { declaration, rows, created, savepoints });
    session.cursors.tell(session.block);
    Ok(Outcome::done("DECLARE CURSOR"))
}

/// Whether a cursor can be declared now.
fn check(session: &SessionContext<'_>, declaration: &Declaration) -> Result<(), Error> {
    if !declaration.is_holdable && !session.block.is_open() {
        return Err(Error::new(
            ErrorKind::NoTransaction,
            "DECLARE CURSOR can only be used in transaction blocks; WITH HOLD declares one that stays",
        ));
    }
    if session.cursors.0.contains_key(&declaration.name) {
        return Err(Error::new(ErrorKind::Coded("42P03"), format!("cursor \"{}\" already exists", declaration.name)));
    }
    Ok(())
}

impl Cursors {
    /// Names and types of the columns of a cursor.
    pub(crate) fn columns(&self, name: &str) -> Option<ResultColumns> {
        self.0.get(name).map(|cursor| cursor.rows.columns())
    }

    async fn fetch(&mut self, fetch: &Fetch, control: &Control) -> Result<Outcome, Error> {
        let cursor = self.0.get_mut(&fetch.name).ok_or_else(|| missing(&fetch.name))?;
        let batches = cursor.rows.fetch(fetch.direction, control).await?;
        if fetch.is_move {
            let rows: usize = batches.iter().map(arrow_array::RecordBatch::num_rows).sum();
            return Ok(Outcome::done(format!("MOVE {rows}")));
        }
        let ResultColumns { schema, types } = cursor.rows.columns();
        let rows = RowStream::new(schema, futures::stream::iter(batches.into_iter().map(Ok)));
        let rows = rows.with_types(types).of_command("FETCH");
        Ok(Outcome::Rows(if cursor.declaration.is_binary { rows.in_binary() } else { rows }))
    }

    /// Closes the cursor of this name, or all.
    fn close(&mut self, name: Option<&str>) -> Result<Outcome, Error> {
        let Some(name) = name else {
            self.0.clear();
            return Ok(Outcome::done("CLOSE CURSOR ALL"));
        };
        self.0.remove(name).map(|_| Outcome::done("CLOSE CURSOR")).ok_or_else(|| missing(name))
    }

    /// Closes all.
    pub(super) fn close_all(&mut self, block: &Block) {
        self.0.clear();
        self.tell(block);
    }

    /// Reads all rows of cursors that outlive the transaction, which is about to be committed.
    async fn hold(&mut self, control: &Control) -> Result<(), Error> {
        for cursor in self.0.values_mut().filter(|cursor| cursor.declaration.is_holdable) {
            cursor.rows.read_all(control).await?;
        }
        Ok(())
    }

    /// What becomes of them behind a statement that has ended the block, or changed its savepoints.
    pub(super) fn follow(&mut self, statement: &Statement, is_committed: bool, block: &Block) {
        if self.0.is_empty() {
            return;
        }
        match statement {
            Statement::Commit { .. } | Statement::Rollback { savepoint: None, .. } => {
                self.0.retain(|_, cursor| {
                    cursor.savepoints.is_none() || (is_committed && cursor.declaration.is_holdable)
                });
                self.0.values_mut().for_each(|cursor| cursor.savepoints = None);
            }
            Statement::Rollback { savepoint: Some(_), .. } => {
                self.0.retain(|_, cursor| cursor.savepoints.is_none_or(|set| set < block.savepoints()));
            }
            Statement::ReleaseSavepoint { .. } => {
                for cursor in self.0.values_mut() {
                    cursor.savepoints = cursor.savepoints.map(|set| set.min(block.savepoints()));
                }
            }
            _ => return,
        }
        self.tell(block);
    }

    /// Lets `pg_cursors` know of them.
    fn tell(&self, block: &Block) {
        let told = self.0.values().map(|Cursor { declaration, created, .. }| SessionCursor {
            name: declaration.name.clone(),
            statement: declaration.text.clone(),
            is_holdable: declaration.is_holdable,
            is_binary: declaration.is_binary,
            is_scrollable: declaration.scroll == Some(true),
            created: *created,
        });
        block.numbers().set_cursors(told.collect());
    }
}

fn missing(name: &str) -> Error {
    Error::new(ErrorKind::Coded("34000"), format!("cursor \"{name}\" does not exist"))
}
