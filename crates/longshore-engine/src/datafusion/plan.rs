//! From a parsed statement to a plan: the state of one statement, its views, its physical plan.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::catalog::{CatalogProviderList, TableProvider};
use datafusion::common::{DFSchema, TableReference};
use datafusion::datasource::{MemTable, ViewTable};
use datafusion::execution::SessionState;
use datafusion::execution::context::SQLOptions;
use datafusion::execution::memory_pool::MemoryLimit;
use datafusion::logical_expr::planner::RelationPlanner;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, Projection, Statement as PlanStatement};
use datafusion::physical_expr::projection::ProjectionExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::sql::parser::Statement as Parsed;
use futures::future::BoxFuture;
use longshore_load::Control;
use longshore_storage::Datum;
use sqlparser::ast::{Ident, ObjectNamePart, Statement, TableFactor, Visit, Visitor};

use super::blanks::without_blanks;
use super::change::TARGET;
use super::compact::compact;
use super::context_provider::Functions;
use super::errors::ours;
use super::in_situ::Files;
use super::interruptible::interruptible;
use super::kept::{Bound, Keep, Parameters, Plan, Written, untyped, without_casts};
use super::multisets::with_multisets;
use super::names::{Names, OneSchema};
use super::null_logic::with_null_logic;
use super::order::with_order;
use super::outer_types;
use super::retry::without_cross_joins;
use super::samples::Samples;
use super::shared::with_shared_rows;
use super::sizes::Planning;
use super::table::RelationTable;
use super::values::ValuesInFrom;
use super::windows::by_groups;
use super::zeros::with_equal_zeros;
use super::{NamedSource, common_types, complexity, insert, merged_columns, rules};
use crate::catalog::{Catalog, Entry, Rules, Table, View};
use crate::sql::expressions::each_query;
use crate::sql::{self, cast_names, expansion, names, numbers, recursive, repeated, unnamed, windows};
use crate::transaction::Work;
use crate::{Error, ErrorKind};

/// Bytes of a Parquet or Arrow file that a worker claims at a time when it is loaded.
const PART_BYTES: u64 = 16 << 20;
/// Parts that such files are claimed in, at most.
const PARTS_MAX: usize = 4096;

/// Views that read each other, at most.
const OPEN_VIEWS_MAX: usize = 100;

/// An optimized plan.
#[derive(Clone)]
pub(super) struct Optimized {
    pub(super) tree: LogicalPlan,
    /// Whether its root is a projection over a query of its own, whose order counts.
    pub(super) projects_last: bool,
}

/// What one statement is planned and run with.
pub(super) struct Planner {
    pub(super) state: Box<SessionState>,
    pub(super) functions: Arc<Functions>,
    pub(super) catalog: Arc<Catalog>,
    pub(super) names: Arc<Names>,
    pub(super) work: Arc<Work>,
    /// Whether joins shall sort both sides rather than keep one of them.
    merges: bool,
}

impl Planner {
    /// A planner for one statement over what `files` knows; `base` holds the settings.
    pub(super) fn new(
        base: &SessionState,
        functions: &Arc<Functions>,
        mut files: Files,
        work: &Arc<Work>,
        control: &Arc<Control>,
    ) -> Self {
        files.control = Arc::clone(control);
        let catalog = Arc::clone(&files.catalog);
        let names = Arc::new(Names::new(Arc::clone(&catalog), Arc::clone(work)));
        let mut state = base.clone();
        state.register_catalog_list(Arc::new(OneSchema(Arc::clone(&names))) as Arc<dyn CatalogProviderList>);
        state.config_mut().set_extension(Arc::clone(control));
        let relations: [Arc<dyn RelationPlanner>; 3] = [Arc::new(files), Arc::new(ValuesInFrom), Arc::new(Samples)];
        for planner in relations {
            state.register_relation_planner(planner).expect("the state of a session takes planners of relations");
        }
        state.mark_start_execution();
        let (functions, work) = (Arc::clone(functions), Arc::clone(work));
        Self { state: Box::new(state), functions, catalog, names, work, merges: false }
    }

    /// The same planner for plans whose joins spill.
    pub(super) fn merging(mut self) -> Self {
        let options = self.state.config_mut().options_mut();
        options.optimizer.prefer_hash_join = false;
        // One thread alone would get a hash join.
        options.execution.target_partitions = options.execution.target_partitions.max(2);
        self.merges = true;
        self
    }

    /// What is made of every physical plan before it is run.
    fn finished(&self, plan: Arc<dyn ExecutionPlan>) -> datafusion::common::Result<Arc<dyn ExecutionPlan>> {
        let plan = if self.merges { without_cross_joins(plan)? } else { plan };
        let is_limited = !matches!(self.state.runtime_env().memory_pool.memory_limit(), MemoryLimit::Infinite);
        let plan = if is_limited { compact(by_groups(plan)?)? } else { plan };
        interruptible(plan)
    }

    /// The logical plan of `statement`, not optimized.
    pub(super) async fn logical(&self, statement: Statement) -> Result<LogicalPlan, Error> {
        let plan = self.plan(statement, &mut Vec::new()).await?;
        let plan = without_blanks(plan);
        let plan = plan.and_then(with_null_logic).and_then(with_multisets).and_then(with_order);
        plan.and_then(with_equal_zeros).map_err(ours)
    }

    /// The plan of `statement` to be kept, of an INSERT that of its rows.
    pub(super) async fn to_keep(&self, statement: &Statement, parameters: &Parameters<'_>) -> Keep {
        if self.looks_at_files(statement) {
            return Keep::Never;
        }
        // What is wrong with it will be said when it is planned with values.
        let Some(mut plan) = self.with_placeholders(statement, parameters).await else { return Keep::Never };
        let Ok(untyped) = untyped(&plan) else { return Keep::Never };
        if !untyped.is_empty() {
            let statement = match parameters.written(&untyped) {
                Written::As(written) => Parameters::rewritten(statement, &written),
                Written::NotNow => return Keep::NotNow,
                Written::Never => None,
            };
            let Some(statement) = statement else { return Keep::Never };
            let Some(typed) = self.with_placeholders(&statement, parameters).await else { return Keep::Never };
            plan = typed;
        }
        let is_insert = matches!(statement, Statement::Insert(_));
        Plan::of(&plan, &self.state, is_insert).ok().flatten().map_or(Keep::Never, |plan| Keep::Plan(Arc::new(plan)))
    }

    /// The plan of `statement` with its placeholders, of an INSERT that of its rows; `None` if there is none.
    async fn with_placeholders(&self, statement: &Statement, parameters: &Parameters<'_>) -> Option<LogicalPlan> {
        let statement = match parameters.types {
            [] => statement.clone(),
            types => Statement::Prepare {
                name: Ident::new("kept"),
                data_types: types.to_vec(),
                statement: Box::new(statement.clone()),
            },
        };
        let plan = match self.logical(statement).await.ok()? {
            LogicalPlan::Statement(PlanStatement::Prepare(prepare)) => Arc::unwrap_or_clone(prepare.input),
            plan => plan,
        };
        let plan = match plan {
            insert @ LogicalPlan::Dml(_) => Arc::unwrap_or_clone(insert::rows(insert).ok()?),
            plan => plan,
        };
        reads_only(&plan).ok()?;
        without_casts(plan).ok()
    }

    /// A plan that was kept, over the rows that its tables have now and with these `values`.
    pub(super) fn bound(&self, kept: &Plan, values: &[Datum<'_>]) -> Result<Bound, Error> {
        kept.bound(&self.names, self, values).map_err(ours)
    }

    /// How an optimized plan is to be run.
    pub(super) async fn physical_of_optimized(&self, plan: &Optimized) -> Result<Arc<dyn ExecutionPlan>, Error> {
        let physical = async |tree: &LogicalPlan| {
            let physical = self.state.query_planner().create_physical_plan(tree, self.state.as_ref());
            Planning::new(tree, physical).await.and_then(|plan| self.finished(plan)).map_err(ours)
        };
        match &plan.tree {
            LogicalPlan::Projection(Projection { expr, input, .. }) if plan.projects_last => {
                self.project(expr, input.schema(), physical(input).await?).map_err(ours)
            }
            tree => physical(tree).await,
        }
    }

    fn project(
        &self,
        exprs: &[Expr],
        schema: &DFSchema,
        input: Arc<dyn ExecutionPlan>,
    ) -> datafusion::common::Result<Arc<dyn ExecutionPlan>> {
        let exprs = exprs.iter().map(|expr| {
            let name = expr.schema_name().to_string();
            Ok(ProjectionExpr::new(self.state.create_physical_expr(expr.clone().unalias(), schema)?, name))
        });
        let exprs = exprs.collect::<datafusion::common::Result<Vec<_>>>()?;
        Ok(Arc::new(ProjectionExec::try_new(exprs, input)?))
    }

    /// Whether files are looked at while `statement` is planned.
    pub(super) fn looks_at_files(&self, statement: &Statement) -> bool {
        struct Finder<'a>(&'a Catalog);
        impl Visitor for Finder<'_> {
            type Break = ();

            fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
                let TableFactor::Table { name, args, .. } = factor else { return ControlFlow::Continue(()) };
                let is_text = |part: &ObjectNamePart| matches!(part, ObjectNamePart::Identifier(name) if name.quote_style == Some('\''));
                let entry = names::relation(name).ok().and_then(|name| self.0.get(&name));
                // In the definition of a view, the path of a file is a text.
                let may_be_file = matches!(entry, Some(Entry::View(view)) if view.sql.contains('\''));
                if args.is_some() || name.0.iter().any(is_text) || may_be_file {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            }
        }
        statement.visit(&mut Finder(&self.catalog)).is_break()
    }

    /// Makes `table` the target of an INSERT, which follows these `rules` of it.
    pub(super) fn insert_into(&self, table: &Table, rules: &Rules) -> Result<(), Error> {
        let mut defaults = HashMap::new();
        for (column, rule) in table.relation.schema().columns().iter().zip(&rules.columns) {
            if let Some(default) = rules::default(self, &rule.origin)? {
                defaults.insert(column.name.clone(), default);
            }
        }
        self.names.define(&table.name, Arc::new(RelationTable::target(table, &self.work, defaults)));
        Ok(())
    }

    /// Makes [`TARGET`] stand for `table` with the numbers of its rows.
    pub(super) fn change(&self, table: &Table) {
        self.names.define(TARGET, Arc::new(RelationTable::with_rows(table, &self.work)));
    }

    /// Makes `name` stand for these rows.
    pub(super) fn define_rows(&self, name: &str, rows: RecordBatch) -> datafusion::common::Result<()> {
        let table = MemTable::try_new(rows.schema(), vec![vec![rows]])?;
        self.names.define(name, Arc::new(table));
        Ok(())
    }

    /// Makes `name` stand for files, which `threads` workers read.
    pub(super) fn define(&mut self, name: &str, source: NamedSource, threads: usize) {
        let table: Arc<dyn TableProvider> = match source {
            NamedSource::Text(text) => Arc::new(*text),
            NamedSource::Columnar(files) => {
                // More parts than workers, so that one that is slow does not keep the others waiting.
                let parts = (files.bytes() / PART_BYTES) as usize;
                let options = self.state.config_mut().options_mut();
                options.execution.target_partitions = parts.clamp(threads, PARTS_MAX.max(threads));
                options.optimizer.repartition_file_min_size = 0;
                Arc::new(files)
            }
        };
        self.names.define(name, table);
    }

    /// How `plan` is to be run.
    pub(super) async fn physical(&self, plan: &LogicalPlan) -> Result<Arc<dyn ExecutionPlan>, Error> {
        let physical = Planning::new(plan, Box::pin(self.state.create_physical_plan(plan)));
        physical.await.and_then(|plan| self.finished(plan)).map_err(ours)
    }

    /// The optimized plan of the rows of an INSERT.
    pub(super) async fn optimized_insert(&self, plan: &LogicalPlan) -> Result<Optimized, Error> {
        Planning::new(plan, Box::pin(async { optimized_insert(&self.state, plan) })).await.map_err(ours)
    }

    /// Plans `statement`; `open` names the views that it is part of.
    fn plan<'a>(
        &'a self,
        statement: Statement,
        open: &'a mut Vec<String>,
    ) -> BoxFuture<'a, Result<LogicalPlan, Error>> {
        Box::pin(async move {
            let mut statement = statement;
            repeated::name_repeated(&mut statement);
            let mut queries = 0;
            each_query(&mut statement, |query| {
                queries += 1;
                recursive::keep_clauses(query)?;
                unnamed::name(query);
                repeated::name_compared(query);
                cast_names::mark(query);
                Ok::<_, Error>(())
            })?;
            if queries > 1 {
                expansion::check(&statement)?;
            }
            numbers::mark_statement(&mut statement);
            windows::written_out(&mut statement)?;
            let statement = Parsed::Statement(Box::new(statement));
            let references = self.state.resolve_table_references(&statement).map_err(ours)?;
            for name in self.names_to_expand(&references) {
                if let Some(Entry::View(view)) = self.catalog.get(&name)
                    && !self.names.knows(&name)
                {
                    self.define_view(&view, open).await?;
                }
            }
            let Parsed::Statement(mut statement) = statement else {
                return Err(Error::internal("a statement expected"));
            };
            merged_columns::resolve(self, &mut statement)?;
            let plan = complexity::checked(self.plan_statement(Parsed::Statement(statement)).map_err(ours)?)?;
            // Copies of a query are known by where they lie, as long as nothing is changed.
            let plan = with_shared_rows(plan).and_then(common_types::united).map_err(ours)?;
            if queries > 1 { outer_types::settled(plan, &self.state).map_err(ours) } else { Ok(plan) }
        })
    }

    /// The names that a statement with these references may look up.
    fn names_to_expand(&self, references: &[TableReference]) -> Vec<String> {
        let describes_all = references.iter().any(|r| r.schema() == Some("information_schema"));
        if describes_all {
            return self.catalog.names();
        }
        references.iter().map(|reference| reference.table().to_owned()).collect()
    }

    async fn define_view(&self, view: &View, open: &mut Vec<String>) -> Result<(), Error> {
        if open.contains(&view.name) {
            return Err(Error::invalid(format!(
                "the view {} reads itself by way of {}; drop one of them",
                view.name,
                open.join(", ")
            )));
        }
        let sql::Parsed::Sql(query) = sql::parse(&view.sql)? else {
            return Err(Error::internal(format!("the view {} is not a query: {}", view.name, view.sql)));
        };
        if open.len() == OPEN_VIEWS_MAX {
            return Err(Error::new(
                ErrorKind::TooComplex,
                format!(
                    "views read each other more than {OPEN_VIEWS_MAX} deep, down to {}; make one of them a table",
                    view.name
                ),
            ));
        }
        open.push(view.name.clone());
        let plan = self.plan(*query, open).await?;
        open.pop();
        let plan = rename(plan, &view.columns).map_err(ours)?;
        let definition = Some(view.sql.clone());
        self.names.define(&view.name, Arc::new(ViewTable::new(plan, definition)));
        Ok(())
    }
}

/// The optimized plan of the rows of an INSERT, in the order that its query asks for.
///
/// The planner of INSERT puts a projection to the columns of the table above the query, and the optimizer takes
/// the order of what is below a projection for unimportant; so the query is optimized by itself.
pub(super) fn optimized_insert(state: &SessionState, plan: &LogicalPlan) -> datafusion::common::Result<Optimized> {
    match plan {
        LogicalPlan::Projection(Projection { expr, input, .. }) if is_sorted(input) => {
            let query = complexity::optimized(state, input)?;
            let exprs = expr.iter().map(|expr| {
                let name = expr.schema_name().to_string();
                Ok(rules::simplified(state, expr.clone().unalias(), query.schema())?.alias(name))
            });
            let exprs = exprs.collect::<datafusion::common::Result<Vec<_>>>()?;
            let tree = LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(query))?);
            Ok(Optimized { tree, projects_last: true })
        }
        _ => Ok(Optimized { tree: complexity::optimized(state, plan)?, projects_last: false }),
    }
}

/// Whether the rows of a query may come in an order that it asks for.
fn is_sorted(query: &LogicalPlan) -> bool {
    match query {
        LogicalPlan::Projection(Projection { input, .. }) => is_sorted(input),
        other => matches!(other, LogicalPlan::Sort(_) | LogicalPlan::Limit(_)),
    }
}

/// Refuses plans that would change something.
pub(super) fn reads_only(plan: &LogicalPlan) -> Result<(), Error> {
    let options = SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
    options.verify_plan(plan).map_err(ours)
}

/// Gives the first columns of `plan` the names in `columns`.
fn rename(plan: LogicalPlan, columns: &[String]) -> datafusion::common::Result<LogicalPlan> {
    if columns.is_empty() {
        return Ok(plan);
    }
    let exprs: Vec<Expr> = plan
        .schema()
        .columns()
        .into_iter()
        .enumerate()
        .map(|(position, column)| match columns.get(position) {
            Some(name) => Expr::Column(column).alias(name),
            None => Expr::Column(column),
        })
        .collect();
    LogicalPlanBuilder::from(plan).project(exprs)?.build()
}
