//! Generic plans: how a prepared query is run whatever the values of its parameters are, made once.
//!
//! To make a physical plan takes several times as long as to run one that reads few rows. So the second execution of a
//! prepared query makes one with parameters in the place of values, for one thread, and later ones run that. Where it
//! reads many rows with some values, such an execution makes a plan of its own, as one of a query that was never prepared
//! does; so does one that has another value where operators take values when they are made: in LIMIT, in aggregates, in window
//! functions. A plan is used by one execution at a time; there are as many as there were executions at the same time.
//! Not here: how a plan of few operators is run (`direct`), how scans get to know what they read (`scan/generic.rs`), parameters (`parameter`).

mod direct;
mod lookups;

use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::datasource::empty::EmptyTable;
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::expr::{InList, Placeholder};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::disjunction;
use datafusion::logical_expr::{Expr, LogicalPlan, TableScan, lit, not};
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::execution_plan::reset_plan_states;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::{CrossJoinExec, HashJoinExec, NestedLoopJoinExec};
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::placeholder_row::PlaceholderRowExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::scalar_subquery::ScalarSubqueryExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::prelude::SessionConfig;
use futures::TryStreamExt;
use longshore_load::Control;
use longshore_storage::Datum;

use self::lookups::Lookups;
use super::given::Given;
use super::parameter::{Values, value_of};
use super::text_readers::TextReaders;
use super::{Plan, TableStub};
use crate::datafusion::errors::from_datafusion;
use crate::datafusion::execution::complexity;
use crate::datafusion::execution::sizes::Planning;
use crate::datafusion::optimizer::found_keys::{KeyJoin, choose_rows, key_joins};
use crate::datafusion::optimizer::order_properties::CorrectedExec;
use crate::datafusion::planning::expressions::simplified;
use crate::datafusion::planning::names::{Names, name_of};
use crate::datafusion::planning::planner::Planner;
use crate::datafusion::scan::RelationSource;
use crate::datafusion::scan::generic::{BoundScans, GenericSource, GenericTable};
use crate::datafusion::scan::table::RelationTable;
use crate::transaction::StatementTime;
use crate::{Error, RowStream, TypeId, panics};

/// The most operators that stand on each other.
const LEVELS_MAX: usize = 24;
/// Plans of one query that are kept.
const PLANS_MAX: usize = 64;

/// The generic plans of one query.
#[derive(Debug, Default)]
pub(super) struct GenericPlans(Mutex<Kept>);

#[derive(Debug, Default)]
enum Kept {
    /// It was not run by a plan of its own yet.
    #[default]
    Unknown,
    /// There is none.
    Never,
    /// Those that nobody uses.
    Idle(Vec<GenericPlan>),
}

/// How a query is run, with parameters.
#[derive(Debug)]
pub(in crate::datafusion) struct GenericPlan {
    plan: Arc<dyn ExecutionPlan>,
    /// The names of its tables, by the numbers of its scans.
    tables: Vec<String>,
    parameters: Vec<Placeholder>,
    readers: Arc<TextReaders>,
    /// Parameters that must have the values that the plan was made with.
    fixed: Vec<(Placeholder, ScalarValue)>,
    values: Arc<Values>,
    bound: Arc<BoundScans>,
    joins: Vec<KeyJoin>,
    /// Whether it is run without streams.
    is_direct: bool,
    /// How its scans are looked up, if they can be.
    lookups: Option<Lookups>,
    /// The settings that it was made with. Not the whole state: that knows the transaction and its rows.
    config: SessionConfig,
    session_id: String,
    runtime: Arc<RuntimeEnv>,
    /// The schema of its rows as they are told, and the types of their columns.
    schema: SchemaRef,
    types: Arc<[TypeId]>,
}

impl GenericPlans {
    /// A plan that nobody uses, which is to be given back.
    pub(super) fn take(&self) -> Option<GenericPlan> {
        match &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Kept::Idle(plans) => plans.pop(),
            Kept::Unknown | Kept::Never => None,
        }
    }

    /// Whether an execution that is run by a plan of its own is to make one for those behind it: not the first, nor where there
    /// is one that did not serve it.
    pub(super) fn is_wanted(&self) -> bool {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*kept {
            Kept::Unknown => {
                *kept = Kept::Idle(Vec::new());
                false
            }
            Kept::Never => false,
            Kept::Idle(plans) => plans.is_empty(),
        }
    }

    /// Keeps a plan that nobody uses any more; `None` says that there is none.
    pub(super) fn put(&self, plan: Option<GenericPlan>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match (&mut *kept, plan) {
            (Kept::Idle(plans), Some(plan)) if plans.len() < PLANS_MAX => plans.push(plan),
            (_, Some(_)) => {}
            (kept, None) => *kept = Kept::Never,
        }
    }
}

impl GenericPlan {
    /// The generic plan of what was `kept`, made with `values`, of whose columns these are the `types`, and `told` says how their
    /// schema is told. `None` where there is none.
    pub(in crate::datafusion) async fn make(
        kept: &Plan,
        planner: &Planner,
        values: &[Datum<'_>],
        types: Arc<[TypeId]>,
        told: impl FnOnce(SchemaRef) -> SchemaRef,
    ) -> Option<Self> {
        if kept.has_own_functions || kept.optimized.projects_last {
            return None;
        }
        let (of_plan, bound) = (Arc::<Values>::default(), Arc::<BoundScans>::default());
        let given = Given::new(values, &kept.readers, planner.transaction.time());
        let mut making = Making {
            planner,
            given: &given,
            values: &of_plan,
            bound: &bound,
            tables: Vec::new(),
            parameters: Vec::new(),
            fixed: Vec::new(),
        };
        let tree = making.generic(kept.optimized.tree.clone()).ok().flatten()?;
        let Making { tables, parameters, fixed, .. } = making;
        of_plan.set(scalars(&parameters, &given)?);
        let mut state = planner.state.clone();
        let options = state.config_mut().options_mut();
        options.execution.target_partitions = 1;
        // What a filter learns from one execution would hold for the next one.
        options.optimizer.enable_dynamic_filter_pushdown = false;
        options.optimizer.enable_topk_dynamic_filter_pushdown = false;
        options.optimizer.enable_join_dynamic_filter_pushdown = false;
        options.optimizer.enable_aggregate_dynamic_filter_pushdown = false;
        let physical = state.query_planner().create_physical_plan(&tree, state.as_ref());
        let plan = Planning::new(&tree, physical).await.ok()?;
        let mut scans = Vec::new();
        let is_known = complexity::levels_to_run(&plan) <= LEVELS_MAX && can_be_run_again(&plan, &mut scans);
        scans.sort_unstable();
        if !is_known || scans != (0..tables.len()).collect::<Vec<_>>() {
            return None;
        }
        let joins =
            key_joins(&plan, &|node| source_of(node).map(|source| (source.number(), source.projection().clone())));
        let is_direct = direct::can_run(&plan);
        let lookups = if is_direct { Lookups::of_plan(&plan, &joins) } else { None };
        let schema = told(plan.schema());
        let (config, session_id) = (state.config().clone(), state.session_id().to_owned());
        let runtime = Arc::clone(state.runtime_env());
        Some(Self {
            plan,
            tables,
            parameters,
            readers: Arc::clone(&kept.readers),
            fixed,
            values: of_plan,
            bound,
            joins,
            is_direct,
            lookups,
            config,
            session_id,
            runtime,
            schema,
            types,
        })
    }

    /// Binds it to the rows that `names` stand for and to `values`, in a statement that knows this of `time`; false where it
    /// does not serve these.
    pub(in crate::datafusion) fn bind(
        &self,
        names: &Names,
        values: &[Datum<'_>],
        time: StatementTime,
    ) -> Result<bool, Error> {
        let given = Given::new(values, &self.readers, time);
        if self.fixed.iter().any(|(parameter, value)| given.value_of(parameter).as_ref() != Some(value)) {
            return Ok(false);
        }
        let Some(values) = scalars(&self.parameters, &given) else { return Ok(false) };
        self.values.set(values);
        if let Some(lookups) = &self.lookups
            && let Some(rows) = lookups.rows(names, &self.tables)?
        {
            self.bound.set_rows(rows);
            return Ok(true);
        }
        self.bind_scans(names).map_err(from_datafusion)
    }

    fn bind_scans(&self, names: &Names) -> Result<bool> {
        let mut sources = HashMap::with_capacity(self.tables.len());
        if !self.add_sources(&self.plan, names, &mut sources)? {
            return Ok(false);
        }
        choose_rows(&mut sources, &self.joins)?;
        Ok(self.bound.set(sources))
    }

    /// Adds the scans of `node` and below it, by their numbers; false where there is none for one.
    fn add_sources(
        &self,
        node: &Arc<dyn ExecutionPlan>,
        names: &Names,
        sources: &mut HashMap<usize, RelationSource>,
    ) -> Result<bool> {
        if let Some(scan) = source_of(node) {
            let table = self.tables.get(scan.number()).and_then(|name| names.lookup(name));
            let table = table.as_ref().and_then(|table| table.downcast_ref());
            let source = table.map_or(Ok(None), |table| scan.with_rows(table))?;
            let is_there = source.is_some();
            sources.extend(source.map(|source| (scan.number(), source)));
            return Ok(is_there);
        }
        for child in node.children() {
            if !self.add_sources(child, names, sources)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Logs what its scans read.
    pub(in crate::datafusion) fn log_reads(&self) {
        self.bound.log();
    }

    /// The rows of the plan, which is bound. Afterwards it can be bound again.
    pub(in crate::datafusion) async fn run(&mut self, control: &Arc<Control>) -> Result<RowStream, Error> {
        let batches = pin!(async {
            if self.is_direct {
                return direct::rows(&self.plan, &self.bound).map(|batch| vec![batch]).map_err(from_datafusion);
            }
            let rows = self.streamed(control).map_err(from_datafusion)?;
            rows.try_collect::<Vec<RecordBatch>>().await.map_err(from_datafusion)
        });
        let batches = panics::caught_in(batches).await;
        self.bound.clear();
        let told = batches?.into_iter().map(|batch| {
            let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            RecordBatch::try_new_with_options(Arc::clone(&self.schema), batch.columns().to_vec(), &options)
                .map_err(|error| from_datafusion(error.into()))
        });
        let rows = RowStream::new(Arc::clone(&self.schema), futures::stream::iter(told.collect::<Vec<_>>()));
        Ok(rows.with_types(Arc::clone(&self.types)))
    }

    fn streamed(&self, control: &Arc<Control>) -> Result<SendableRecordBatchStream> {
        let plan = reset_plan_states(Arc::clone(&self.plan))?;
        let mut config = self.config.clone();
        config.set_extension(Arc::clone(control));
        let context = TaskContext::new(
            None,
            self.session_id.clone(),
            config,
            HashMap::default(),
            HashMap::default(),
            HashMap::default(),
            HashMap::default(),
            Arc::clone(&self.runtime),
        );
        execute_stream(plan, Arc::new(context))
    }
}

/// The values of parameters, in their types; `None` where one is not the same value there.
fn scalars(parameters: &[Placeholder], given: &Given<'_>) -> Option<Vec<ScalarValue>> {
    parameters.iter().map(|parameter| given.value_of(parameter)).collect()
}

fn source_of(node: &Arc<dyn ExecutionPlan>) -> Option<&GenericSource> {
    node.downcast_ref::<DataSourceExec>()?.data_source().downcast_ref()
}

/// Whether a plan consists of operators that are run again as if they were new; its scans go to `scans`.
fn can_be_run_again(node: &Arc<dyn ExecutionPlan>, scans: &mut Vec<usize>) -> bool {
    if let Some(source) = source_of(node) {
        scans.push(source.number());
        return true;
    }
    let is_known = node.is::<ProjectionExec>()
        || node.is::<FilterExec>()
        || node.is::<SortExec>()
        || node.is::<GlobalLimitExec>()
        || node.is::<LocalLimitExec>()
        || node.is::<AggregateExec>()
        || node.is::<HashJoinExec>()
        || node.is::<NestedLoopJoinExec>()
        || node.is::<CrossJoinExec>()
        || node.is::<CoalescePartitionsExec>()
        || node.is::<PlaceholderRowExec>()
        || node.is::<EmptyExec>()
        || node.is::<CorrectedExec>()
        || node.is::<ScalarSubqueryExec>();
    is_known && node.children().into_iter().all(|child| can_be_run_again(child, scans))
}

/// A generic plan in the making.
struct Making<'a> {
    planner: &'a Planner,
    given: &'a Given<'a>,
    values: &'a Arc<Values>,
    bound: &'a Arc<BoundScans>,
    tables: Vec<String>,
    parameters: Vec<Placeholder>,
    fixed: Vec<(Placeholder, ScalarValue)>,
}

impl Making<'_> {
    /// The plan with parameters in the place of placeholders and tables that are to be bound; `None` where that cannot be.
    fn generic(&mut self, plan: LogicalPlan) -> Result<Option<LogicalPlan>> {
        let mut is_one = true;
        let plan = plan.transform_up_with_subqueries(|node| {
            if let LogicalPlan::TableScan(scan) = node {
                let (scan, is_table) = self.scan(scan)?;
                is_one &= is_table;
                return Ok(Transformed::yes(LogicalPlan::TableScan(scan)));
            }
            // Its values are computed when the plan is made.
            is_one &= !matches!(node, LogicalPlan::Values(_));
            let is_limit = matches!(node, LogicalPlan::Limit(_));
            let names = NamePreserver::new(&node);
            let node = node.map_expressions(|expr| {
                if !expr.exists(|part| Ok(matches!(part, Expr::Placeholder(_))))? {
                    return Ok(Transformed::no(expr));
                }
                let name = names.save(&expr);
                if is_limit {
                    let state = &self.planner.state;
                    let limit = self.with_fixed(expr, &mut is_one)?;
                    return limit.map_data(|limit| simplified(state, limit, &DFSchema::empty()));
                }
                let expr = expr.transform_down(|part| match part {
                    // What is constant in these is computed when the plan is made.
                    Expr::AggregateFunction(_) | Expr::WindowFunction(_) => {
                        let part = self.with_fixed(part, &mut is_one)?;
                        Ok(Transformed::new(part.data, part.transformed, TreeNodeRecursion::Jump))
                    }
                    Expr::InList(list) => Ok(Transformed::yes(compared_one_by_one(list))),
                    Expr::Placeholder(placeholder) => {
                        let parameter = self.parameter(&placeholder);
                        is_one &= parameter.is_some();
                        Ok(parameter.map_or_else(|| Transformed::no(Expr::Placeholder(placeholder)), Transformed::yes))
                    }
                    other => Ok(Transformed::no(other)),
                })?;
                Ok(expr.update_data(|expr| name.restore(expr)))
            })?;
            // A parameter may be NULL.
            node.map_data(LogicalPlan::recompute_schema)
        })?;
        Ok(is_one.then_some(plan.data))
    }

    fn scan(&mut self, scan: TableScan) -> Result<(TableScan, bool)> {
        let stub = source_as_provider(&scan.source)?;
        let name = name_of(&scan.table_name);
        let table = stub.downcast_ref::<TableStub>().and_then(|_| self.planner.names.lookup(&name));
        let Some(table) = table.as_ref().and_then(|table| table.downcast_ref::<RelationTable>()) else {
            return Ok((
                TableScan { source: provider_as_source(Arc::new(EmptyTable::new(stub.schema()))), ..scan },
                false,
            ));
        };
        let generic = GenericTable::new(self.tables.len(), table, self.bound, value_of);
        self.tables.push(name);
        Ok((TableScan { source: provider_as_source(Arc::new(generic)), ..scan }, true))
    }

    /// `expr` with the values that its parameters have now; `is_one` becomes false where one has none.
    fn with_fixed(&mut self, expr: Expr, is_one: &mut bool) -> Result<Transformed<Expr>> {
        expr.transform_up(|part| {
            let Expr::Placeholder(placeholder) = part else { return Ok(Transformed::no(part)) };
            let Some(value) = self.given.value_of(&placeholder) else {
                *is_one = false;
                return Ok(Transformed::no(Expr::Placeholder(placeholder)));
            };
            self.fixed.push((placeholder, value.clone()));
            Ok(Transformed::yes(Expr::Literal(value, None)))
        })
    }

    fn parameter(&mut self, placeholder: &Placeholder) -> Option<Expr> {
        let known = self.parameters.iter().position(|known| known == placeholder);
        let number = known.unwrap_or_else(|| {
            self.parameters.push(placeholder.clone());
            self.parameters.len() - 1
        });
        Some(self.values.parameter(number, placeholder.field.as_ref()?.data_type()))
    }
}

/// `IN` as comparisons.
fn compared_one_by_one(InList { expr, list, negated }: InList) -> Expr {
    let comparisons = list.into_iter().map(|value| expr.as_ref().clone().eq(value));
    let any = disjunction(comparisons).unwrap_or_else(|| lit(false));
    if negated { not(any) } else { any }
}

#[cfg(test)]
mod tests;
