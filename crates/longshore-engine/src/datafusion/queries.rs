//! Plans and runs what statements ask for.
//!
//! Not here: how a statement is planned (`planner`, `plan`), what is asked (`request`).

mod describe;
mod explain;
mod prepared;
mod retry;
mod rules;
mod size_limit;

use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::{Schema as ArrowSchema, SchemaRef};
use datafusion::catalog::TableProvider;
use datafusion::execution::SessionState;
use datafusion::physical_plan::ExecutionPlan;
use futures::{StreamExt, TryStreamExt};
use longshore_load::{Control, RejectSummary};
use longshore_storage::{ColumnType, Memory, Merged, OnConflict, Relation, Schema, Snapshot};
use sqlparser::ast::{Query, Statement};
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;

use super::dml::found_rows::FoundRows;
use super::dml::insert;
use super::dml::pipeline;
use super::dml::pipeline::Pipeline;
use super::errors::from_datafusion;
use super::execution::complexity;
use super::execution::workers::Pool;
use super::files::Files;
use super::files::{columnar, parquet};
use super::functions::shown_times::with_settings;
use super::functions::time::session;
use super::hidden_names::TARGET;
use super::parallel_reader::ParallelReader;
use super::planning::function_registry::Functions;
use super::planning::long_statements::{logical, physical};
use super::planning::origin;
use super::planning::plan::{reads_only, rows_of_insert};
use super::planning::plan_cache::GenericPlan;
use super::planning::planner::Planner;
use super::planning::rules::Checks;
use super::planning::text_reader::TextReader;
use super::request::{Appended, Appending, Changing, ExecutionContext, NamedInputs, NamedRows};
use super::{context, scan};
use crate::activity::TempFiles;
use crate::catalog::{Catalog, Rules, Table};
use crate::sql::headings;
use crate::text::FileRejects;
use crate::transaction::StatementTransaction;
use crate::{Config, Error, ErrorKind, Function, Report, RowStream, blocking, panics};
pub(crate) use describe::Described;
use retry::{Again, Source, may_help};

/// Plans and runs queries over the tables, views and files that a database knows.
pub(crate) struct Queries {
    pub(super) state: SessionState,
    pub(super) functions: Arc<Functions>,
    pub(super) files: Files,
    pool: Arc<Pool>,
}

impl Queries {
    /// Queries over `catalog` with the threads and the memory of `config`.
    ///
    /// # Errors
    /// When the system does not give the threads.
    pub(crate) fn new(
        config: &Config,
        catalog: Arc<Catalog>,
        memory: Arc<Memory>,
        temp_files: &Arc<TempFiles>,
    ) -> Result<Self, Error> {
        let (state, functions) = Functions::out_of(context::state(config, &memory, temp_files));
        let files =
            Files { catalog, memory, tuning: config.tuning(), control: Arc::new(Control::new()), rejects: None };
        Ok(Self { state, functions: Arc::new(functions), files, pool: Arc::new(Pool::start(config.threads)?) })
    }

    /// The same over another catalog.
    pub(crate) fn with_catalog(&self, catalog: &Arc<Catalog>) -> Self {
        Self {
            state: self.state.clone(),
            functions: Arc::clone(&self.functions),
            files: Files { catalog: Arc::clone(catalog), ..self.files.clone() },
            pool: Arc::clone(&self.pool),
        }
    }

    /// All functions, sorted by name.
    pub(crate) fn functions(&self) -> Vec<Function> {
        let Functions { scalar, higher_order, aggregate, window, table } = self.functions.as_ref();
        let kinds = [
            ("scalar", scalar.keys().chain(higher_order.keys()).collect::<Vec<_>>()),
            ("aggregate", aggregate.keys().collect()),
            ("window", window.keys().collect()),
            ("table", table.keys().collect()),
        ];
        let named = |kind| move |name: &String| Function { name: name.clone(), kind };
        let mut functions: Vec<Function> =
            kinds.into_iter().flat_map(|(kind, names)| names.into_iter().map(named(kind))).collect();
        functions.sort_unstable();
        functions
    }

    /// What reads texts as values of columns of this type, as the session of `transaction` reads them; `None` if no text is one.
    pub(crate) fn text_reader(
        &self,
        column_type: ColumnType,
        transaction: &StatementTransaction,
    ) -> Option<TextReader> {
        let mut state = self.state.clone();
        session::tell(&mut state, transaction.time());
        // What expressions know is what the state knows now.
        state.mark_start_execution();
        TextReader::new(column_type.arrow(), &state, transaction.time().settings).ok()
    }

    fn planner(&self, context: &ExecutionContext<'_>) -> Planner {
        self.planner_over(self.files.clone(), context)
    }

    fn planner_over(&self, files: Files, context: &ExecutionContext<'_>) -> Planner {
        let planner = Planner::new(&self.state, &self.functions, files, context.transaction, context.control);
        for NamedRows { name, table } in context.named {
            planner.names.define(name, Arc::clone(table) as Arc<dyn TableProvider>);
        }
        planner.names.define_registered(&context.transaction.numbers().registered);
        planner
    }

    /// A planner of statements whose files reject as `rejects` says.
    fn planner_rejecting(&self, rejects: Option<FileRejects>, context: &ExecutionContext<'_>) -> Planner {
        self.planner_over(Files { rejects, ..self.files.clone() }, context)
    }

    /// Starts a query, EXPLAIN or SHOW; the rows are made while they are read.
    pub(crate) async fn query(&self, statement: Statement, context: &ExecutionContext<'_>) -> Result<RowStream, Error> {
        Box::pin(self.run_query(self.planner(context), statement, context)).await
    }

    /// Starts a query that also reads `inputs`.
    pub(crate) async fn query_with(
        &self,
        statement: Statement,
        inputs: NamedInputs<'_>,
        context: &ExecutionContext<'_>,
    ) -> Result<RowStream, Error> {
        if let Some(rows) = Box::pin(self.run_generic(&statement, &inputs, context)).await? {
            return Ok(rows);
        }
        let mut planner = self.planner(context);
        if let Some(table) = inputs.target {
            planner.change(table);
        }
        for (name, table) in inputs.numbered {
            planner.define_numbered(&name, table);
        }
        for (name, rows) in inputs.rows {
            planner.define_rows(&name, rows).map_err(from_datafusion)?;
        }
        if let Some((name, source)) = inputs.source {
            planner.define(&name, source, self.files.tuning.threads).map_err(from_datafusion)?;
        }
        Box::pin(self.run_query(planner, statement, context)).await
    }

    /// The rows to change that the query `statement` finds, which reads the table under the name [`TARGET`] and returns
    /// the numbers of rows, the new values of the columns that are set, and the others that are wanted.
    pub(crate) async fn find_rows(
        &self,
        statement: Statement,
        Changing { table, columns, also, named }: Changing<'_>,
        context: &ExecutionContext<'_>,
    ) -> Result<FoundRows, Error> {
        let is_given = named.iter().any(|(name, _)| name == TARGET);
        let inputs = NamedInputs { target: (!is_given).then_some(table), rows: named, ..NamedInputs::default() };
        let rows = self.query_with(statement, inputs, context).await?;
        FoundRows::read(rows, table.relation.schema(), columns, also).await
    }

    /// All rows of the query `statement`, which reads `table` under the name [`TARGET`].
    pub(crate) async fn matches(
        &self,
        statement: Statement,
        table: &Table,
        context: &ExecutionContext<'_>,
    ) -> Result<RecordBatch, Error> {
        let inputs = NamedInputs { target: Some(table), ..NamedInputs::default() };
        let mut rows = self.query_with(statement, inputs, context).await?;
        let mut batches = Vec::new();
        while let Some(batch) = rows.try_next().await? {
            batches.push(batch);
        }
        concat_batches(rows.schema(), &batches).map_err(|error| from_datafusion(error.into()))
    }

    /// The rows of the INSERT `statement`, whose target is `table`, in the types of its columns.
    pub(crate) async fn rows_to_insert(
        &self,
        statement: Statement,
        table: &Table,
        context: &ExecutionContext<'_>,
    ) -> Result<RecordBatch, Error> {
        let planner = self.planner(context);
        let (planner, source, physical) =
            Box::pin(self.plan_insert(planner, statement, table, &table.rules(), context)).await?;
        let rows = self.run(planner, source, physical, context.control)?;
        insert::gather(&table.relation, rows).await
    }

    /// How the rows of the INSERT `statement` are to be made, whose target is `table` with these `rules`.
    async fn plan_insert(
        &self,
        planner: Planner,
        mut statement: Statement,
        table: &Table,
        rules: &Arc<Rules>,
        context: &ExecutionContext<'_>,
    ) -> Result<(Planner, Source, Arc<dyn ExecutionPlan>), Error> {
        planner.insert_into(table, rules)?;
        if let Some(parameters) = context.parameters {
            if let Some((_, plan)) = self.kept(&planner, &statement, Some(rules), parameters).await? {
                let physical = Box::pin(planner.physical_of_optimized(&plan)).await?;
                return Ok((planner, Source::Optimized(plan), physical));
            }
            parameters.bind(&mut statement)?;
        }
        let (planner, plan) = Box::pin(logical(planner, statement, context.control)).await?;
        let plan = rows_of_insert(plan)?;
        let plan = planner.optimized_insert(&plan).await?;
        let physical = Box::pin(planner.physical_of_optimized(&plan)).await?;
        Ok((planner, Source::Optimized(plan), physical))
    }

    async fn run_query(
        &self,
        planner: Planner,
        mut statement: Statement,
        context: &ExecutionContext<'_>,
    ) -> Result<RowStream, Error> {
        if let Some(parameters) = context.parameters {
            if let Some((kept, plan)) = self.kept(&planner, &statement, None, parameters).await? {
                if kept.wants_generic() {
                    let types = Arc::clone(kept.types());
                    let told = |schema| told(&schema, &planner.transaction).unwrap_or(schema);
                    kept.put_generic(
                        Box::pin(GenericPlan::make(&kept, &planner, &parameters.values, types, told)).await,
                    );
                }
                let physical = Box::pin(planner.physical_of_optimized(&plan)).await?;
                let rows = self.run(planner, Source::Optimized(plan), physical, context.control)?;
                return Ok(rows.with_types(Arc::clone(kept.types())));
            }
            parameters.bind(&mut statement)?;
        }
        let (planner, plan) = Box::pin(logical(planner, statement, context.control)).await?;
        reads_only(&plan)?;
        let (planner, plan, physical) = Box::pin(physical(planner, plan, context.control)).await?;
        let types = origin::types(&plan, &physical.schema(), &self.files.catalog);
        Ok(self.run(planner, Source::Plan(plan), physical, context.control)?.with_types(types))
    }

    /// Runs the INSERT `statement`, whose target is `table`: all rows are appended, or none.
    pub(crate) async fn insert(
        &self,
        statement: Statement,
        table: &Table,
        appending: Appending,
        context: &ExecutionContext<'_>,
    ) -> Result<Appended, Error> {
        let ExecutionContext { transaction, control, .. } = *context;
        let Appending { merge, threads, source, rejects, dry_run, conflict } = appending;
        let is_rejecting = rejects.is_some();
        let mut planner = self.planner_rejecting(rejects, context);
        let threads = threads.unwrap_or(self.files.tuning.threads);
        let (relation, rules) = (&table.relation, table.rules());
        let checks = Checks::of_rows(&planner, &table.name, relation.schema(), &rules)?;
        if let Some((name, source)) = source {
            planner.define(&name, source, threads).map_err(from_datafusion)?;
        }
        let (planner, source, physical) =
            Box::pin(self.plan_insert(planner, statement, table, &rules, context)).await?;
        let pipeline = Pipeline::new(&physical);
        if is_rejecting && !pipeline.as_ref().is_some_and(Pipeline::reads_text) {
            return Err(Error::unsupported(
                "ON_ERROR needs each record of one text to be read once: a query that only computes and filters over one \
                 text; with others, set on_error => ignore in read_csv(...), or load the text first",
            ));
        }
        let Some(pipeline) = pipeline else {
            let rows = self.run(planner, source, physical, context.control)?;
            let checks = checks.as_ref();
            let merged = if dry_run {
                Merged { inserted: insert::dry_run(relation, rows, checks, control).await?, ..Merged::default() }
            } else {
                insert::append(relation, rows, checks, Some(transaction), &conflict, control).await?
            };
            return Ok(Appended::new(merged, RejectSummary::default()));
        };
        let (task, runtime, shared) = (planner.task_context(&physical), Handle::current(), Arc::clone(control));
        let (transaction, relation) = (Arc::clone(transaction), Arc::clone(relation));
        blocking::run(control, move |_| {
            let checks = checks.as_ref();
            let target = pipeline::Target { relation: &relation, checks, merge, threads, dry_run, conflict: &conflict };
            pipeline.append(&target, &transaction, &task, &shared, &runtime)
        })
        .await
    }

    /// Appends all `rows`, converted to the types of `relation`, or none of them, as part of `transaction` if there is one,
    /// otherwise in a transaction of its own. Returns their number.
    pub(crate) async fn append(
        &self,
        rows: RowStream,
        relation: &Arc<Relation>,
        transaction: Option<&StatementTransaction>,
        control: &Arc<Control>,
    ) -> Result<u64, Error> {
        let merged = insert::append(relation, rows, None, transaction, &OnConflict::stop(), control).await?;
        Ok(merged.inserted)
    }

    /// Names and types of the columns of `query`, which is not run.
    pub(crate) async fn query_schema(&self, query: &Query, context: &ExecutionContext<'_>) -> Result<SchemaRef, Error> {
        let statement = Statement::Query(Box::new(query.clone()));
        let (planner, plan) = Box::pin(logical(self.planner(context), statement, context.control)).await?;
        let plan = complexity::optimized(&planner.state, &plan).map_err(from_datafusion)?;
        let schema = Arc::clone(plan.schema().inner());
        Ok(headed(&schema).unwrap_or(schema))
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

    /// Starts `plan`, which was made of `source`.
    fn run(
        &self,
        planner: Planner,
        source: Source,
        plan: Arc<dyn ExecutionPlan>,
        control: &Arc<Control>,
    ) -> Result<RowStream, Error> {
        if planner.transaction.logs_reads() {
            scan::log_reads(&plan);
        }
        let files = columnar::files_of(&plan);
        let headings = told(&plan.schema(), &planner.transaction);
        let workers = self.pool.workers()?;
        let may_help = may_help(&planner, &plan);
        let kept = planner.transaction.numbers().keeps_plans().then(|| Arc::clone(&plan));
        let context = planner.task_context(&plan);
        let rows = match ParallelReader::new(&plan) {
            Some(reader) => reader.run(&workers, context, control)?,
            None => workers.run(plan, context, control)?,
        };
        let rows = if may_help {
            Again { planner, source, workers, control: Arc::clone(control) }.or_else(rows)
        } else {
            rows
        };
        let rows = match headings {
            Some(schema) => RowStream::new(
                Arc::clone(&schema),
                rows.map(move |batch| {
                    let batch = batch?;
                    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
                    RecordBatch::try_new_with_options(Arc::clone(&schema), batch.columns().to_vec(), &options)
                        .map_err(|error| from_datafusion(error.into()))
                }),
            ),
            None => rows,
        };
        let mut rows = rows;
        if let Some(plan) = kept {
            rows = rows.with_plan(Arc::new(move || explain::told(&plan)));
        }
        Ok(match files {
            // What is wrong with values is wrong in the query; all else is in the files.
            Some(files) => rows.with_errors(move |error| match error.kind() {
                ErrorKind::Data | ErrorKind::InvalidText | ErrorKind::OutOfRange => error,
                _ => error.of_file(&files),
            }),
            None => rows,
        })
    }
}

/// The schema of rows as their session is told it; `None` if that is the same.
fn told(schema: &SchemaRef, transaction: &StatementTransaction) -> Option<SchemaRef> {
    let headings = headed(schema);
    let told = with_settings(headings.as_ref().unwrap_or(schema), &transaction.time().settings).map(Arc::new);
    told.or(headings)
}

/// `schema` with the headings that are shown; `None` if they are all as they are.
fn headed(schema: &SchemaRef) -> Option<SchemaRef> {
    schema.fields().iter().find_map(|field| headings::shown(field.name()))?;
    let fields = schema.fields().iter().map(|field| match headings::shown(field.name()) {
        Some(name) => Arc::new(field.as_ref().clone().with_name(name)),
        None => Arc::clone(field),
    });
    Some(Arc::new(ArrowSchema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone())))
}
