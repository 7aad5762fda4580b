//! The simple protocol: a text of statements, executed one after the other.

use std::sync::Arc;

use longshore_engine::Outcome;

use super::{Connection, Done, ends_block, first_word, statements};
use crate::errors::Told;
use crate::protocol::backend;
use crate::protocol::frontend::{Format, Formats};
use crate::stream::Failure;

impl Connection {
    /// Executes the statements of `sql`; after the first that fails, the rest is passed over.
    pub(super) async fn simple(&mut self, sql: &str) -> Result<(), Failure> {
        self.portals.remove("");
        self.statements.remove("");
        self.session.activity().begins(&Arc::from(sql));
        let statements = statements(sql);
        if statements.is_empty() {
            backend::bare(&mut self.wire.out, backend::EMPTY_QUERY);
        }
        for sql in &statements {
            self.begin_measuring();
            let done = self.statement(sql, statements.len() > 1).await?;
            self.end_measuring(sql, &first_word(sql), None, done.is_ok());
            if let Err(told) = done {
                self.fail(&told);
                break;
            }
        }
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

    /// Executes one statement; `has_others` says that it is not the only one of its text.
    async fn statement(&mut self, sql: &str, has_others: bool) -> Done<()> {
        let word = first_word(sql);
        let begins = matches!(word.as_str(), "BEGIN" | "START");
        if begins && self.is_implicit {
            // What was implicit is not any more.
            self.is_implicit = false;
            backend::command_complete(&mut self.wire.out, "BEGIN");
            return Ok(Ok(()));
        }
        if has_others
            && !begins
            && !ends_block(&word)
            && let Err(told) = self.begin_implicit().await?
        {
            return Ok(Err(told));
        }
        let (outcome, control) = match self.execute_text(sql, &word).await? {
            Ok(executed) => executed,
            Err(told) => return Ok(Err(told)),
        };
        let sent = match outcome {
            Outcome::Rows(rows) => {
                let format = if rows.is_binary() { Format::Binary } else { Format::Text };
                self.send_all(rows, control, Formats::All(format)).await?
            }
            Outcome::Done { tag, notice, report } => {
                self.note_done(&word, &tag, &report);
                self.send_done(&tag, notice);
                Ok(())
            }
        };
        if sent.is_ok() {
            self.report_settings(&word).await;
        }
        Ok(sent)
    }

    /// Tells that a statement is done which gives no rows.
    pub(super) fn send_done(&mut self, tag: &str, notice: Option<String>) {
        if let Some(notice) = notice {
            Told::notice(notice).write(&mut self.wire.out);
        }
        if tag.is_empty() {
            backend::bare(&mut self.wire.out, backend::EMPTY_QUERY);
        } else {
            backend::command_complete(&mut self.wire.out, tag);
        }
    }
}
