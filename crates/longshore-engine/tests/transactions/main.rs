//! Transactions through the engine: what sessions may see of each other, histories of them that are checked, and the
//! typed API beside them.
//!
//! `LONGSHORE_HISTORY=20` makes the histories twenty times as many.

#![allow(clippy::unwrap_used, reason = "a failure is the end of the test wherever it occurs")]

mod alter_in_block;
mod atomic;
mod autovacuum;
mod doors;
mod everything;
mod hermitage;
mod hermitage_read_committed;
mod history;
#[path = "../../../longshore-storage/tests/storage/history_support/mod.rs"]
mod history_support;
mod locks;
mod objects_in_block;
mod packed_reads;
mod read_committed;
mod read_committed_load;
mod typed;
mod typed_alter;
mod unique_indexes;

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use futures::StreamExt;
use longshore_engine::{Config, Database, Error, Outcome, Session};

fn database() -> Arc<Database> {
    Database::open(Config { threads: 2, ..Config::default() }).unwrap()
}

/// What a statement gives back: the values of a row with blanks between them, rows with commas; or how many rows it
/// changed.
async fn run(session: &mut Session, sql: &str) -> Result<String, Error> {
    shown(session.execute(sql).await?).await
}

async fn shown(outcome: Outcome) -> Result<String, Error> {
    match outcome {
        Outcome::Done { report, .. } => Ok(report.rows.to_string()),
        Outcome::Rows(mut stream) => {
            let mut rows = Vec::new();
            while let Some(batch) = stream.next().await {
                rows.extend(rows_of(&batch?));
            }
            Ok(rows.join(", "))
        }
    }
}

/// The rows of a batch, their values with blanks between them.
fn rows_of(batch: &RecordBatch) -> Vec<String> {
    let options = FormatOptions::default().with_null("NULL");
    let columns: Vec<_> =
        batch.columns().iter().map(|column| ArrayFormatter::try_new(column, &options).unwrap()).collect();
    let shown = |row: usize| columns.iter().map(|column| column.value(row).to_string()).collect::<Vec<_>>().join(" ");
    (0..batch.num_rows()).map(shown).collect()
}
