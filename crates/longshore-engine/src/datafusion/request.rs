//! What statements ask of queries, and what an INSERT answers.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::datasource::MemTable;
use longshore_load::{Control, RejectSummary};
use longshore_storage::{MergeKind, Merged, OnConflict};

use super::errors::from_datafusion;
use super::files::named_source::NamedSource;
#[cfg(doc)]
use super::hidden_names::TARGET;
use super::planning::plan_cache::Parameters;
use crate::Error;
use crate::catalog::Table;
use crate::text::FileRejects;
use crate::transaction::StatementTransaction;

/// What the queries of a statement run in.
#[derive(Clone, Copy)]
pub(crate) struct ExecutionContext<'a> {
    /// The transaction whose rows they see.
    pub(crate) transaction: &'a Arc<StatementTransaction>,
    /// Progress and cancellation of the statement.
    pub(crate) control: &'a Arc<Control>,
    /// The values of parameters that still stand in the statement.
    pub(crate) parameters: Option<&'a Parameters<'a>>,
    /// Rows that are there, which the queries know by name.
    pub(crate) named: &'a [NamedRows],
}

/// Rows that are there, under a name of ours.
#[derive(Clone)]
pub(crate) struct NamedRows {
    pub(super) name: String,
    pub(super) table: Arc<MemTable>,
}

impl NamedRows {
    pub(crate) fn new(name: &str, rows: RecordBatch) -> Result<Self, Error> {
        let table = MemTable::try_new(rows.schema(), vec![vec![rows]]).map_err(from_datafusion)?;
        Ok(Self { name: name.to_owned(), table: Arc::new(table) })
    }
}

/// What names of ours stand for in a query, beside those of the catalog.
#[derive(Default)]
pub(crate) struct NamedInputs<'a> {
    /// What [`TARGET`] stands for, with the numbers of its rows.
    pub(crate) target: Option<&'a Table>,
    /// What other names stand for, with the numbers of their rows.
    pub(crate) numbered: Vec<(String, &'a Table)>,
    /// Rows that are there.
    pub(crate) rows: Vec<(String, RecordBatch)>,
    /// Files.
    pub(crate) source: Option<(String, NamedSource)>,
}

/// How an INSERT appends.
#[derive(Default)]
pub(crate) struct Appending {
    /// `None` leaves the choice to the plan.
    pub(crate) merge: Option<MergeKind>,
    /// Workers; `None` for all there are.
    pub(crate) threads: Option<usize>,
    /// What one name of the statement stands for.
    pub(crate) source: Option<(String, NamedSource)>,
    /// What becomes of records of the statement's one text that cannot be taken; `None` where nothing was said.
    pub(crate) rejects: Option<FileRejects>,
    /// Whether the rows are made and checked, but not kept.
    pub(crate) dry_run: bool,
    /// What becomes of rows whose key is there already.
    pub(crate) conflict: OnConflict,
}

/// What an INSERT did, or would do.
pub(crate) struct Appended {
    /// Rows that were inserted.
    pub(crate) rows: u64,
    /// Rows that were there and got other values, and rows that were left out because of their key.
    pub(crate) updated: u64,
    pub(crate) left_out: u64,
    /// Records of its text that were left out.
    pub(crate) rejects: RejectSummary,
}

impl Appended {
    pub(super) fn new(merged: Merged, rejects: RejectSummary) -> Self {
        let Merged { inserted: rows, updated, left_out } = merged;
        Self { rows, updated, left_out, rejects }
    }
}

/// What a query is about that finds rows to change.
pub(crate) struct Changing<'a> {
    pub(crate) table: &'a Table,
    /// The columns that are set.
    pub(crate) columns: &'a [usize],
    /// Columns that are not, and whose values are wanted all the same.
    pub(crate) also: &'a [usize],
    /// Rows that the query knows by names; if [`TARGET`] is one of these, it stands for these rows of the table.
    pub(crate) named: Vec<(String, RecordBatch)>,
}
