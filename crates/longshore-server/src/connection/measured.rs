//! What statements take: counted, added to `pg_stat_statements`, and told in the log where they are slow or fail.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use longshore_engine::{Report, RowStream, StatementEntry, without_secrets};

use super::Connection;
use crate::errors::Told;
use crate::metrics::add;

/// What is measured of a statement.
#[derive(Debug, Default)]
pub(super) struct Measured {
    began: Option<Instant>,
    /// What it took before.
    before: Duration,
    /// Rows that it has given or changed.
    rows: u64,
    /// What made them, if it was slow.
    plan: Option<String>,
}

impl Measured {
    /// What it took until now.
    pub(super) fn so_far(&self) -> Duration {
        self.before + self.began.map_or(Duration::ZERO, |began| began.elapsed())
    }

    /// It has taken so long before.
    pub(super) fn add(&mut self, before: Duration) {
        self.before += before;
    }
}

impl Connection {
    /// A statement begins.
    pub(super) fn begin_measuring(&mut self) {
        self.measured = Measured { began: Some(Instant::now()), ..Measured::default() };
    }

    /// The rows of a query are sent.
    pub(super) fn note_rows(&mut self, rows: &RowStream, count: u64) {
        self.measured.rows = count;
        add(&self.shared.metrics.rows_sent, count);
        if self.is_slow() {
            self.measured.plan = rows.explained();
        }
    }

    /// A statement is done that gives no rows; its tag ends with how many it has changed.
    pub(super) fn note_done(&mut self, word: &str, tag: &str, report: &Report) {
        self.measured.rows = tag.rsplit(' ').next().and_then(|rows| rows.parse().ok()).unwrap_or(0);
        if word == "COPY" {
            self.shared.metrics.copied(report);
        }
    }

    /// Whether the statement takes so long that the log is to tell of it.
    fn is_slow(&self) -> bool {
        self.session.log_min_duration_statement().is_some_and(|limit| self.measured.so_far() >= limit)
    }

    /// A statement has ended. `kept` is where its entry is kept, if it is executed more often.
    pub(super) fn end_measuring(
        &mut self,
        sql: &str,
        word: &str,
        kept: Option<&Mutex<Option<Arc<StatementEntry>>>>,
        is_done: bool,
    ) {
        let time = self.measured.so_far();
        self.shared.metrics.statement(word, time);
        if is_done && self.shared.database.statements().are_measured() {
            self.add_to_entry(sql, kept, time);
        }
        if self.is_slow() {
            let (pid, user) = (self.registered.backend.process, self.session.current_user());
            let (duration_ms, rows, plan) =
                (time.as_micros() as f64 / 1e3, self.measured.rows, self.measured.plan.take());
            let statement = without_secrets(sql);
            let (statement, plan) = (statement.as_ref(), plan.as_deref());
            tracing::info!(
                target: "longshore::statement",
                pid, user, duration_ms, rows, statement, plan, "slow statement"
            );
        }
        self.measured.began = None;
    }

    fn add_to_entry(&self, sql: &str, kept: Option<&Mutex<Option<Arc<StatementEntry>>>>, time: Duration) {
        let Some(kept) = kept else {
            if let Some(entry) = self.session.statement_entry(sql) {
                entry.add(time, self.measured.rows);
            }
            return;
        };
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        if !kept.as_ref().is_some_and(|entry| self.session.is_own(entry)) {
            *kept = self.session.statement_entry(sql);
        }
        if let Some(entry) = kept.as_ref() {
            entry.add(time, self.measured.rows);
        }
    }

    /// The client is told of an error.
    pub(super) fn note_error(&self, told: &Told) {
        self.shared.metrics.error(told.code);
        let (pid, sqlstate, error) = (self.registered.backend.process, told.code, told.message.as_str());
        // What is no fault of the client's is worth more attention.
        if matches!(&sqlstate[..2], "XX" | "53" | "58") {
            tracing::error!(target: "longshore::statement", pid, sqlstate, error, "statement failed");
        } else {
            tracing::warn!(target: "longshore::statement", pid, sqlstate, error, "statement failed");
        }
    }
}
