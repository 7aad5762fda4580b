//! Queries, planned and run by `DataFusion`: this file and the folder `datafusion/` are the only places that name it.
//!
//! A statement is planned under names of its own ([`names`]), so that it sees one state of every table; `DataFusion`
//! optimizes and runs it over our scans of relations ([`scan`]) and of files ([`in_situ`]), which take projections,
//! simple predicates and limits. Not here: statements other than queries and INSERT (`statement`).

mod access;
mod blanks;
mod casts;
mod change;
mod checked;
mod columnar;
mod common_types;
mod compact;
mod complexity;
mod context;
mod context_provider;
mod element_wise;
mod equality;
mod errors;
mod explained;
mod from_items;
mod in_situ;
mod insert;
mod intake;
mod interruptible;
mod kept;
mod literals;
mod long;
mod memory;
mod merged_columns;
mod morsels;
mod multisets;
mod names;
mod null_logic;
mod one_row;
mod operators;
mod optimizer;
mod order;
mod ordered;
mod outer_types;
mod parquet;
mod pipeline;
mod plan;
mod predicate;
mod prune;
mod pushdown;
mod ranks;
mod reads;
mod retry;
mod rounding;
mod rules;
mod samples;
mod scan;
mod scan_stream;
mod sequences;
mod shared;
mod sizes;
mod spill;
mod statistics;
mod table;
mod terms;
#[cfg(test)]
mod tests;
mod to_char;
mod values;
mod windows;
mod workers;
mod zeros;

use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::execution::SessionState;
use datafusion::physical_plan::ExecutionPlan;
use futures::TryStreamExt;
use longshore_load::{Control, RejectSummary};
use longshore_storage::{Memory, MergeKind, Merged, OnConflict, Relation, Schema, Snapshot};
use sqlparser::ast::{Query, Statement};
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;

use crate::catalog::{Catalog, Rules, Table};
use crate::statement::blocking;
use crate::transaction::Work;
use crate::{Config, Error, Report, RowStream, panics};
pub(crate) use access::has_plain_order;
pub(crate) use change::{END_COLUMN, FoundRows, ROW_COLUMN, TARGET, datum, images, picked, rows_with_numbers, stacked};
pub(crate) use columnar::{Columnar, FileKind};
use context_provider::Functions;
use errors::ours;
use in_situ::Files;
pub(crate) use in_situ::{
    FileRejects, Filling, Finder, TextInput, TextTable, Texts, Wanted, check_not_read, explain_load, find_files,
    kind_of, named_by_inputs, tell_found, tell_repairs,
};
pub(crate) use kept::{Parameters, Plans};
use long::{logical, physical};
use pipeline::Pipeline;
use plan::{Planner, reads_only};
use retry::Source;
pub(crate) use rules::{Checks, Value};
use workers::Pool;

/// Plans and runs queries over the tables, views and files that a database knows.
pub(crate) struct Queries {
    state: SessionState,
    functions: Arc<Functions>,
    files: Files,
    pool: Pool,
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
    fn new(merged: Merged, rejects: RejectSummary) -> Self {
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

/// Files that a statement of ours reads under a name.
pub(crate) enum NamedSource {
    Text(Box<TextTable>),
    Columnar(Columnar),
}

impl Queries {
    /// Queries over `catalog` with the threads and the memory of `config`.
    ///
    /// # Errors
    /// When the system does not give the threads.
    pub(crate) fn new(config: &Config, catalog: Arc<Catalog>, memory: Arc<Memory>) -> Result<Self, Error> {
        let (state, functions) = Functions::out_of(context::state(config, &memory));
        let files =
            Files { catalog, memory, tuning: config.tuning(), control: Arc::new(Control::new()), rejects: None };
        Ok(Self { state, functions: Arc::new(functions), files, pool: Pool::start(config.threads)? })
    }

    fn planner(&self, work: &Arc<Work>, control: &Arc<Control>) -> Planner {
        Planner::new(&self.state, &self.functions, self.files.clone(), work, control)
    }

    /// A planner of statements whose files reject as `rejects` says.
    fn planner_rejecting(&self, rejects: Option<FileRejects>, work: &Arc<Work>, control: &Arc<Control>) -> Planner {
        Planner::new(&self.state, &self.functions, Files { rejects, ..self.files.clone() }, work, control)
    }

    /// Starts a query, EXPLAIN or SHOW; the rows are made while they are read.
    pub(crate) async fn query(
        &self,
        statement: Statement,
        parameters: Option<&Parameters<'_>>,
        work: &Arc<Work>,
        control: &Arc<Control>,
    ) -> Result<RowStream, Error> {
        self.run_query(self.planner(work, control), statement, parameters, control).await
    }

    /// The rows to change that the query `statement` finds, which reads the table under the name [`TARGET`] and returns
    /// the numbers of rows, the new values of the columns that are set, and the others that are wanted.
    pub(crate) async fn find_rows(
        &self,
        statement: Statement,
        changing: Changing<'_>,
        parameters: Option<&Parameters<'_>>,
        work: &Arc<Work>,
        control: &Arc<Control>,
    ) -> Result<FoundRows, Error> {
        let planner = self.planner(work, control);
        if !changing.named.iter().any(|(name, _)| name == TARGET) {
            planner.change(changing.table);
        }
        for (name, rows) in changing.named {
            planner.define_rows(&name, rows).map_err(ours)?;
        }
        let rows = self.run_query(planner, statement, parameters, control).await?;
        FoundRows::read(rows, changing.table.relation.schema(), changing.columns, changing.also).await
    }

    /// All rows of the query `statement`, which reads `table` under the name [`TARGET`].
    pub(crate) async fn matches(
        &self,
        statement: Statement,
        table: &Table,
        parameters: Option<&Parameters<'_>>,
        work: &Arc<Work>,
        control: &Arc<Control>,
    ) -> Result<RecordBatch, Error> {
        let planner = self.planner(work, control);
        planner.change(table);
        let mut rows = self.run_query(planner, statement, parameters, control).await?;
        let mut batches = Vec::new();
        while let Some(batch) = rows.try_next().await? {
            batches.push(batch);
        }
        concat_batches(rows.schema(), &batches).map_err(|error| ours(error.into()))
    }

    /// Starts the query `statement`, which reads `table` under the name [`TARGET`], and the numbers of its rows.
    pub(crate) async fn query_altered(
        &self,
        statement: Statement,
        table: &Table,
        work: &Arc<Work>,
        control: &Arc<Control>,
    ) -> Result<RowStream, Error> {
        let planner = self.planner(work, control);
        planner.change(table);
        self.run_query(planner, statement, None, control).await
    }

    /// The rows of the INSERT `statement`, whose target is `table`, in the types of its columns.
    pub(crate) async fn rows_to_insert(
        &self,
        statement: Statement,
        table: &Table,
        parameters: Option<&Parameters<'_>>,
        work: &Arc<Work>,
        control: &Arc<Control>,
    ) -> Result<RecordBatch, Error> {
        let planner = self.planner(work, control);
        let (planner, source, physical) =
            Box::pin(self.plan_insert(planner, statement, table, &table.rules(), parameters, control)).await?;
        let rows = self.run(planner, source, physical, control)?;
        insert::gather(&table.relation, rows).await
    }

    /// How the rows of the INSERT `statement` are to be made, whose target is `table` with these `rules`.
    async fn plan_insert(
        &self,
        planner: Planner,
        mut statement: Statement,
        table: &Table,
        rules: &Arc<Rules>,
        parameters: Option<&Parameters<'_>>,
        control: &Arc<Control>,
    ) -> Result<(Planner, Source, Arc<dyn ExecutionPlan>), Error> {
        planner.insert_into(table, rules)?;
        if let Some(parameters) = parameters {
            if let Some(plan) = self.kept(&planner, &statement, Some(rules), parameters).await? {
                let physical = Box::pin(planner.physical_of_optimized(&plan)).await?;
                return Ok((planner, Source::Optimized(plan), physical));
            }
            parameters.bind(&mut statement)?;
        }
        let (planner, plan) = Box::pin(logical(planner, statement, control)).await?;
        let plan = insert::rows(plan)?;
        let plan = planner.optimized_insert(&plan).await?;
        let physical = Box::pin(planner.physical_of_optimized(&plan)).await?;
        Ok((planner, Source::Optimized(plan), physical))
    }

    /// Starts the query `statement`, which knows rows by names.
    pub(crate) async fn query_rows(
        &self,
        statement: Statement,
        named: Vec<(String, RecordBatch)>,
        parameters: Option<&Parameters<'_>>,
        work: &Arc<Work>,
        control: &Arc<Control>,
    ) -> Result<RowStream, Error> {
        let planner = self.planner(work, control);
        for (name, rows) in named {
            planner.define_rows(&name, rows).map_err(ours)?;
        }
        self.run_query(planner, statement, parameters, control).await
    }

    async fn run_query(
        &self,
        planner: Planner,
        mut statement: Statement,
        parameters: Option<&Parameters<'_>>,
        control: &Arc<Control>,
    ) -> Result<RowStream, Error> {
        if let Some(parameters) = parameters {
            if let Some(plan) = self.kept(&planner, &statement, None, parameters).await? {
                let physical = Box::pin(planner.physical_of_optimized(&plan)).await?;
                return self.run(planner, Source::Optimized(plan), physical, control);
            }
            parameters.bind(&mut statement)?;
        }
        let (planner, plan) = Box::pin(logical(planner, statement, control)).await?;
        reads_only(&plan)?;
        let (planner, plan, physical) = Box::pin(physical(planner, plan, control)).await?;
        self.run(planner, Source::Plan(plan), physical, control)
    }

    /// Runs the INSERT `statement`, whose target is `table`: all rows are appended, or none.
    pub(crate) async fn insert(
        &self,
        statement: Statement,
        table: &Table,
        appending: Appending,
        parameters: Option<&Parameters<'_>>,
        work: &Arc<Work>,
        control: &Arc<Control>,
    ) -> Result<Appended, Error> {
        let Appending { merge, threads, source, rejects, dry_run, conflict } = appending;
        let is_rejecting = rejects.is_some();
        let mut planner = self.planner_rejecting(rejects, work, control);
        let threads = threads.unwrap_or(self.files.tuning.threads);
        let (relation, rules) = (&table.relation, table.rules());
        let checks = Checks::new(&planner, &table.name, relation.schema(), rules.checks.iter())?;
        if let Some((name, source)) = source {
            planner.define(&name, source, threads);
        }
        let (planner, source, physical) =
            Box::pin(self.plan_insert(planner, statement, table, &rules, parameters, control)).await?;
        let pipeline = Pipeline::new(&physical);
        if is_rejecting && !pipeline.as_ref().is_some_and(Pipeline::reads_text) {
            return Err(Error::unsupported(
                "ON_ERROR needs each record of one text to be read once: a query that only computes and filters over one \
                 text; with others, set on_error => ignore in read_csv(...), or load the text first",
            ));
        }
        let Some(pipeline) = pipeline else {
            let rows = self.run(planner, source, physical, control)?;
            let checks = checks.as_ref();
            let merged = if dry_run {
                Merged { inserted: insert::dry_run(relation, rows, checks, control).await?, ..Merged::default() }
            } else {
                insert::append(relation, rows, checks, Some(work), &conflict, control).await?
            };
            return Ok(Appended::new(merged, RejectSummary::default()));
        };
        let (context, runtime, shared) = (planner.task_context(&physical), Handle::current(), Arc::clone(control));
        let (work, relation) = (Arc::clone(work), Arc::clone(relation));
        blocking::run(control, move |_| {
            let checks = checks.as_ref();
            let target = pipeline::Target { relation: &relation, checks, merge, threads, dry_run, conflict: &conflict };
            pipeline.append(&target, &work, &context, &shared, &runtime)
        })
        .await
    }

    /// Appends all `rows`, converted to the types of `relation`, or none of them, in a transaction of its own. Returns
    /// their number.
    pub(crate) async fn append(
        &self,
        rows: RowStream,
        relation: &Arc<Relation>,
        control: &Arc<Control>,
    ) -> Result<u64, Error> {
        let merged = insert::append(relation, rows, None, None, &OnConflict::stop(), control).await?;
        Ok(merged.inserted)
    }

    /// Names and types of the columns of `query`, which is not run.
    pub(crate) async fn query_schema(
        &self,
        query: &Query,
        work: &Arc<Work>,
        control: &Arc<Control>,
    ) -> Result<SchemaRef, Error> {
        let statement = Statement::Query(Box::new(query.clone()));
        let (planner, plan) = Box::pin(logical(self.planner(work, control), statement, control)).await?;
        let plan = complexity::optimized(&planner.state, &plan).map_err(ours)?;
        Ok(Arc::clone(plan.schema().inner()))
    }

    /// The columns of the files that `name` stands for: name, type and why. Blocks: text is read for it.
    pub(crate) fn describe_file(
        &self,
        name: &str,
        control: &Arc<Control>,
    ) -> Result<Vec<(String, String, String)>, Error> {
        Files { control: Arc::clone(control), ..self.files.clone() }.describe(name)
    }

    /// Writes the rows of `snapshot` as one Parquet file.
    pub(crate) async fn write_parquet(
        &self,
        snapshot: Arc<Snapshot>,
        path: &Path,
        control: &Arc<Control>,
    ) -> Result<Report, Error> {
        let (path, control) = (path.to_owned(), Arc::clone(control));
        let threads = self.files.tuning.threads;
        spawn_blocking(move || parquet::write(&snapshot, &path, threads, &control)).await.unwrap_or_else(|error| {
            Err(error.try_into_panic().map_or_else(|_| Error::cancelled(), |panic| panics::error(panic.as_ref())))
        })
    }

    /// The rows of a Parquet file that [`Queries::write_parquet`] wrote from a table of this `schema`, in order.
    pub(crate) async fn read_parquet(
        &self,
        path: &Path,
        schema: &Schema,
        control: &Arc<Control>,
    ) -> Result<RowStream, Error> {
        parquet::read(path, schema, self.files.tuning.threads, control).await
    }
}
