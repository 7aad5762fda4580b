//! What a session executes for a call: a text of statements, or one statement with values of its parameters.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_schema::SchemaRef;
use longshore_engine::{Error, Outcome, Prepared, Report, Session, numbered, plain_rows, split, table_names};
use longshore_storage::Datum;

use crate::capsule::Reader;
use crate::parameters::Parameters;
use crate::runtime::Running;

/// Statements that were prepared, the latest last, each with the types of its parameters.
#[derive(Default)]
pub(crate) struct PreparedStatements {
    statements: Vec<(String, Vec<u32>, Arc<Prepared>)>,
    /// The names of tables in texts.
    named: HashMap<String, Arc<[String]>>,
}

impl PreparedStatements {
    /// Statements that are kept at most.
    const KEPT_MAX: usize = 32;
    /// Texts of which names are kept at most, and their bytes.
    const NAMED_MAX: usize = 256;
    const NAMED_BYTES_MAX: usize = 4096;

    /// The names in a text that stand where tables do.
    pub(crate) fn table_names(&mut self, sql: &str) -> Arc<[String]> {
        if let Some(names) = self.named.get(sql) {
            return Arc::clone(names);
        }
        let names: Arc<[String]> = table_names(&numbered(sql).sql).into();
        if self.named.len() == Self::NAMED_MAX {
            self.named.clear();
        }
        if sql.len() <= Self::NAMED_BYTES_MAX {
            self.named.insert(sql.to_owned(), Arc::clone(&names));
        }
        names
    }

    /// Forgets statements: their names may mean something else from now on.
    fn forget(&mut self) {
        self.statements.clear();
    }

    fn get(&mut self, sql: &str, types: &[u32]) -> Option<Arc<Prepared>> {
        let at = self.statements.iter().position(|(known, of, _)| known == sql && of == types)?;
        let kept = self.statements.remove(at);
        let prepared = Arc::clone(&kept.2);
        self.statements.push(kept);
        Some(prepared)
    }

    fn put(&mut self, sql: &str, types: Vec<u32>, prepared: &Arc<Prepared>) {
        if self.statements.len() == Self::KEPT_MAX {
            self.statements.remove(0);
        }
        self.statements.push((sql.to_owned(), types, Arc::clone(prepared)));
    }
}

/// A session, and what it has prepared, while it executes.
pub(crate) struct Executing<'a> {
    pub(crate) session: &'a mut Session,
    pub(crate) prepared: &'a Mutex<PreparedStatements>,
    pub(crate) running: &'a Running,
}

/// What a statement is given.
pub(crate) enum Given {
    Nothing,
    Row(Parameters),
    Rows(Vec<Parameters>),
    /// Rows of another library, which a COPY reads.
    Batches(SchemaRef, Reader),
}

/// What a statement did.
pub(crate) struct Done {
    pub(crate) outcome: Outcome,
    /// Rows that all executions have changed, where that is known.
    pub(crate) rows: Option<u64>,
}

/// What comes of a text without a statement.
pub(crate) fn nothing() -> Outcome {
    Outcome::Done { tag: String::new(), report: Report::default(), notice: None }
}

impl Executing<'_> {
    /// Executes a statement, or all statements of a text where nothing is given; the last one says what comes of it.
    pub(crate) async fn execute(&mut self, sql: &str, given: Given) -> Result<Done, Error> {
        let done = self.run(sql, given).await;
        if done.is_err() {
            // It may be about names that meant something else when it was prepared.
            self.prepared.lock().unwrap_or_else(PoisonError::into_inner).forget();
        }
        done
    }

    async fn run(&mut self, sql: &str, given: Given) -> Result<Done, Error> {
        match given {
            Given::Nothing => self.all(sql).await,
            Given::Batches(schema, batches) => {
                self.session.set_rows(&schema, batches)?;
                self.running.set(self.session.control());
                Ok(Done { outcome: self.session.execute(sql).await?, rows: None })
            }
            Given::Row(values) => {
                let prepared = self.prepared(sql, &values)?;
                let outcome = self.one(&prepared, &values).await?;
                if may_change_names(sql, &outcome) {
                    self.prepared.lock().unwrap_or_else(PoisonError::into_inner).forget();
                }
                Ok(Done { outcome: plain(outcome)?, rows: None })
            }
            Given::Rows(rows) => {
                let is_own = !self.session.is_in_transaction();
                if is_own {
                    self.session.execute("BEGIN").await?;
                }
                let done = self.many(sql, &rows).await;
                if is_own {
                    let ended = self.session.execute(if done.is_ok() { "COMMIT" } else { "ROLLBACK" }).await;
                    return done.and_then(|done| ended.map(|_| done));
                }
                done
            }
        }
    }

    /// Executes all statements of a text.
    async fn all(&mut self, sql: &str) -> Result<Done, Error> {
        let Self { session, prepared, running } = self;
        let mut statements = split(sql);
        if !statements.rest.is_empty() {
            statements.statements.push(statements.rest);
        }
        let mut outcome = nothing();
        for statement in &statements.statements {
            running.set(session.control());
            session.activity().begins(&Arc::from(statement.as_str()));
            let executed = session.execute(statement).await;
            session.rests();
            outcome = executed.map_err(|error| error.in_statement(statement))?;
            let changes_rows =
                |tag: &str| ["INSERT", "UPDATE", "DELETE", "COPY"].iter().any(|word| tag.starts_with(word));
            if !matches!(&outcome, Outcome::Done { tag, .. } if changes_rows(tag)) {
                // Names may mean something else from now on.
                prepared.lock().unwrap_or_else(PoisonError::into_inner).forget();
            }
        }
        Ok(Done { outcome: plain(outcome)?, rows: None })
    }

    fn prepared(&self, sql: &str, values: &Parameters) -> Result<Arc<Prepared>, Error> {
        let types: Vec<u32> = values.iter().map(|(oid, _)| *oid).collect();
        let mut kept = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(prepared) = kept.get(sql, &types) {
            return Ok(prepared);
        }
        // Types that are told count as parameters, as in PostgreSQL; those of values that the statement has no parameter for
        // are not told, so that such values are refused.
        let known = types.len().min(numbered(sql).count);
        let prepared = Arc::new(self.session.prepare_typed(sql, &types[..known])?);
        kept.put(sql, types, &prepared);
        Ok(prepared)
    }

    async fn one(&mut self, prepared: &Prepared, values: &Parameters) -> Result<Outcome, Error> {
        let values: Vec<Datum<'_>> = values.iter().map(|(_, value)| value.datum()).collect();
        self.running.set(self.session.control());
        Box::pin(self.session.execute_prepared(prepared, &values)).await
    }

    /// Executes a statement once for each row of parameters.
    async fn many(&mut self, sql: &str, rows: &[Parameters]) -> Result<Done, Error> {
        let mut changed = Some(0);
        let mut last = nothing();
        let mut kept: Option<(Vec<u32>, Arc<Prepared>)> = None;
        for values in rows {
            let types = || values.iter().map(|(oid, _)| *oid);
            if !kept.as_ref().is_some_and(|(known, _)| known.iter().copied().eq(types())) {
                kept = Some((types().collect(), self.prepared(sql, values)?));
            }
            let Some((_, prepared)) = &kept else { continue };
            last = self.one(prepared, values).await?;
            changed = match &last {
                Outcome::Done { tag, .. } => changed.zip(rows_of(tag)).map(|(sum, more)| sum + more),
                Outcome::Rows(_) => None,
            };
        }
        Ok(Done { outcome: plain(last)?, rows: changed })
    }
}

/// The rows of a query in types that Arrow has.
fn plain(outcome: Outcome) -> Result<Outcome, Error> {
    match outcome {
        Outcome::Rows(rows) => plain_rows(rows).map(Outcome::Rows),
        done @ Outcome::Done { .. } => Ok(done),
    }
}

/// The number at the end of a tag: `INSERT 0 5`, `UPDATE 2`.
pub(crate) fn rows_of(tag: &str) -> Option<u64> {
    tag.rsplit(' ').next()?.parse().ok()
}

/// Whether names of tables may mean others from now on: not where rows were read or changed.
fn may_change_names(sql: &str, outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Rows(_) => sql.to_ascii_lowercase().contains("set_config"),
        Outcome::Done { tag, .. } => !["INSERT", "UPDATE", "DELETE", "COPY"].iter().any(|word| tag.starts_with(word)),
    }
}
