//! The plan cache: plans of prepared statements, kept from one execution to the next.
//!
//! What is kept is the optimized logical plan, with placeholders for the parameters, and tables without their rows. To
//! run it, its tables are taken anew, with the rows that the transaction sees or, where the statement knows rows by a
//! name (those that MERGE has found), with those, and its placeholders become values; what depends on either, which
//! index to use or how to join, is decided after that, by the physical planner. A plan is kept only if that makes no
//! difference: every placeholder has a type, there are tables and views only, and no function whose value is settled
//! when a query is planned, as `now()`. It is made again when a statement has changed a table, a view or an index since;
//! that of an INSERT, which has defaults in it, also when the rules of its table are others.
//!
//! Values that would not be the same ones in the types of the placeholders are not put there: such an execution is
//! planned as if nothing had been prepared. Not here: which statements are prepared (`prepared`), how placeholders get
//! their types (`placeholders`), plans that are run as they are, whatever the values (`generic_plan`).

mod generic_plan;
mod given;
mod parameter;
mod placeholders;
#[cfg(test)]
mod tests;
mod text_readers;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result, internal_datafusion_err, internal_err};
use datafusion::datasource::{MemTable, TableType, provider_as_source, source_as_provider};
use datafusion::execution::SessionState;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, ScalarUDF, TableScan, Volatility};
use datafusion::physical_plan::ExecutionPlan;
use longshore_storage::{Datum, Relation};
use longshore_time::settings::Settings;
use sqlparser::ast::{self, Statement};

pub(in crate::datafusion) use generic_plan::GenericPlan;
use generic_plan::GenericPlans;
use given::Given;
use placeholders::{Written, with_clocks};
pub(in crate::datafusion) use placeholders::{rewritten, untyped, with_types, without_casts};
use text_readers::TextReaders;

use super::expressions::simplified;
use super::names::{Names, name_of};
use super::plan::{optimized_insert, reads_only, rows_of_insert};
use super::planner::{Optimized, Planner};
use super::{advisory, origin, random, sequences, system_functions};
use crate::catalog::{Catalog, Rules};
use crate::datafusion::errors::from_datafusion;
use crate::datafusion::execution::complexity;
use crate::datafusion::scan::table::RelationTable;
use crate::sql::parameters;
use crate::transaction::{Identity, StatementTime};
use crate::{Error, TypeId};

/// Statements whose plans are kept for one prepared statement: its own, those that find rows for it, and those that
/// compute what each clause of a MERGE asks for.
const PLANS_MAX: usize = 16;

/// The plans of one prepared statement.
#[derive(Default)]
pub(crate) struct PlanCache(Mutex<Vec<CachedPlan>>);

impl fmt::Debug for PlanCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlanCache").finish_non_exhaustive()
    }
}

struct CachedPlan {
    statement: Statement,
    state: State,
    /// `None` if this one is not to be kept.
    plan: Option<Arc<Plan>>,
}

/// What a plan was made of beside its statement.
pub(in crate::datafusion) struct State {
    /// That of the catalog.
    pub(in crate::datafusion) version: u64,
    /// The rules of the table that it inserts into.
    pub(in crate::datafusion) rules: Option<Arc<Rules>>,
    /// The session's settings of time, by which texts were read.
    pub(in crate::datafusion) time: Arc<Settings>,
    /// Who the session acts as.
    pub(in crate::datafusion) identity: Identity,
}

impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        let (rules, others) = (self.rules.as_ref().map(Arc::as_ptr), other.rules.as_ref().map(Arc::as_ptr));
        self.version == other.version && rules == others && self.time == other.time && self.identity == other.identity
    }
}

/// A plan with placeholders.
pub(in crate::datafusion) struct Plan {
    optimized: Optimized,
    /// The types of its columns.
    types: Arc<[TypeId]>,
    /// Whether it has functions that belong to the statement that they were planned in.
    has_own_functions: bool,
    readers: Arc<TextReaders>,
    generic: GenericPlans,
}

/// Whether the plan of a statement is to be kept.
pub(in crate::datafusion) enum Keep {
    Plan(Arc<Plan>),
    Never,
    /// The values of this execution do not tell the types of all parameters.
    NotNow,
}

/// What became of a plan that was kept.
pub(in crate::datafusion) enum Bound {
    Plan(Box<Optimized>),
    /// A table is another one now: it must be made again.
    Stale,
    /// The values are not of its types.
    Unfit,
}

/// A table of a kept plan. It keeps neither the table nor its rows alive.
struct TableStub {
    /// `None` where it stands for rows that the statement knows by a name.
    relation: Option<Weak<Relation>>,
    schema: SchemaRef,
}

/// What an execution of a prepared statement gives.
pub(crate) struct Parameters<'a> {
    pub(crate) plans: &'a PlanCache,
    /// The types that were given to the first of them, as far as they were.
    pub(crate) types: &'a [Option<ast::DataType>],
    pub(crate) values: Vec<Datum<'a>>,
    /// The same as they stand in the text of a statement.
    pub(crate) texts: Vec<ast::Expr>,
}

impl Parameters<'_> {
    /// Puts the values in the place of the parameters.
    pub(crate) fn bind(&self, statement: &mut Statement) -> std::result::Result<(), Error> {
        parameters::bind(statement, &self.texts)
    }
}

impl Planner {
    /// The plan of `statement` to be kept, of an INSERT that of its rows.
    pub(in crate::datafusion) async fn to_keep(&self, statement: &Statement, parameters: &Parameters<'_>) -> Keep {
        if self.looks_at_files(statement) {
            return Keep::Never;
        }
        // What is wrong with it will be said when it is planned with values.
        let Some(mut plan) = self.with_placeholders(statement, parameters).await else { return Keep::Never };
        let Ok(untyped) = untyped(&plan) else { return Keep::Never };
        if !untyped.is_empty() {
            let statement = match parameters.written(&untyped) {
                Written::As(written) => rewritten(statement, &written),
                Written::NotNow => return Keep::NotNow,
                Written::Never => None,
            };
            let Some(statement) = statement else { return Keep::Never };
            let Some(typed) = self.with_placeholders(&statement, parameters).await else { return Keep::Never };
            plan = typed;
        }
        let is_insert = matches!(statement, Statement::Insert(_));
        Plan::of(plan, &self.state, &self.transaction.time(), &self.catalog, is_insert)
            .ok()
            .flatten()
            .map_or(Keep::Never, |plan| Keep::Plan(Arc::new(plan)))
    }

    /// The plan of `statement` with its placeholders, of an INSERT that of its rows; `None` if there is none.
    async fn with_placeholders(&self, statement: &Statement, parameters: &Parameters<'_>) -> Option<LogicalPlan> {
        let types = |number| parameters.types.get(number).cloned().flatten();
        let statement = rewritten(statement, &with_types(parameters.values.len(), types))?;
        let plan = match self.logical(statement).await.ok()? {
            insert @ LogicalPlan::Dml(_) => Arc::unwrap_or_clone(rows_of_insert(insert).ok()?),
            plan => plan,
        };
        reads_only(&plan).ok()?;
        without_casts(plan).ok()
    }

    /// A plan that was kept, over the rows that its tables have now and with these `values`.
    pub(in crate::datafusion) fn bound(&self, kept: &Plan, values: &[Datum<'_>]) -> Result<Bound, Error> {
        kept.bound(&self.names, self, values).map_err(from_datafusion)
    }
}

impl PlanCache {
    fn kept(&self) -> MutexGuard<'_, Vec<CachedPlan>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The plan that was kept of a statement; `Some(None)` if it is known not to be kept.
    #[expect(clippy::option_option, reason = "not to be kept is not the same as not known")]
    pub(in crate::datafusion) fn get(&self, statement: &Statement, state: &State) -> Option<Option<Arc<Plan>>> {
        let kept = self.kept();
        let found = kept.iter().find(|kept| kept.state == *state && kept.statement == *statement)?;
        Some(found.plan.clone())
    }

    /// Keeps the plan of a statement, or that there is none to be kept.
    pub(in crate::datafusion) fn put(&self, statement: &Statement, state: State, plan: Option<Arc<Plan>>) {
        let mut kept = self.kept();
        kept.retain(|kept| kept.state.version == state.version && kept.statement != *statement);
        if kept.len() < PLANS_MAX {
            kept.push(CachedPlan { statement: statement.clone(), state, plan });
        }
    }

    /// Forgets the plan of a statement.
    pub(in crate::datafusion) fn forget(&self, statement: &Statement) {
        self.kept().retain(|kept| kept.statement != *statement);
    }
}

impl Plan {
    /// The plan to keep of one that is not optimized yet, if it can be kept.
    pub(in crate::datafusion) fn of(
        plan: LogicalPlan,
        state: &SessionState,
        time: &StatementTime,
        catalog: &Catalog,
        is_insert: bool,
    ) -> Result<Option<Self>> {
        let plan = &with_clocks(plan)?;
        let (is_timeless, has_own_functions) = functions(plan)?;
        if !is_timeless {
            return Ok(None);
        }
        let Optimized { tree, projects_last } = if is_insert {
            optimized_insert(state, plan)?
        } else {
            Optimized { tree: complexity::optimized(state, plan)?, projects_last: false }
        };
        if !untyped(&tree)?.is_empty() {
            return Ok(None);
        }
        let readers = Arc::new(TextReaders::of(&tree, state, time)?);
        // A cast that is computed while the plan is optimized tells no type any more.
        let types = origin::types(plan, tree.schema().as_arrow(), catalog);
        Ok(without_rows(tree)?.map(|tree| {
            let generic = GenericPlans::default();
            Self { optimized: Optimized { tree, projects_last }, types, has_own_functions, readers, generic }
        }))
    }

    /// The types of the columns of its rows.
    pub(in crate::datafusion) fn types(&self) -> &Arc<[TypeId]> {
        &self.types
    }

    /// A generic plan that nobody uses, which is to be given back.
    pub(in crate::datafusion) fn take_generic(&self) -> Option<GenericPlan> {
        self.generic.take()
    }

    /// Whether an execution that is run by a plan of its own is to make a generic one.
    pub(in crate::datafusion) fn wants_generic(&self) -> bool {
        self.generic.is_wanted()
    }

    /// Keeps a generic plan that nobody uses any more; `None` says that there is none.
    pub(in crate::datafusion) fn put_generic(&self, plan: Option<GenericPlan>) {
        self.generic.put(plan);
    }

    /// The plan over the tables that `names` stand for, with the functions of its statement and with these values.
    pub(in crate::datafusion) fn bound(&self, names: &Names, planner: &Planner, values: &[Datum<'_>]) -> Result<Bound> {
        let mut stale = false;
        let tree = self.optimized.tree.clone().transform_up_with_subqueries(|node| {
            let LogicalPlan::TableScan(scan) = node else { return Ok(Transformed::no(node)) };
            if let Some(provider) = now(names, &scan)? {
                let scan = TableScan { source: provider_as_source(provider), ..scan };
                return Ok(Transformed::yes(LogicalPlan::TableScan(scan)));
            }
            stale = true;
            Ok(Transformed::no(LogicalPlan::TableScan(scan)))
        })?;
        if stale {
            return Ok(Bound::Stale);
        }
        let tree = if self.has_own_functions { with_functions_of(planner, tree.data)? } else { tree.data };
        let given = Given::new(values, &self.readers, planner.transaction.time());
        let Some(tree) = with_values(tree, &given, &planner.state)? else {
            return Ok(Bound::Unfit);
        };
        Ok(Bound::Plan(Box::new(Optimized { tree, projects_last: self.optimized.projects_last })))
    }
}

/// The plan with stubs in the place of tables; `None` if it reads anything else.
fn without_rows(plan: LogicalPlan) -> Result<Option<LogicalPlan>> {
    let mut tables_only = true;
    let plan = plan.transform_up_with_subqueries(|node| {
        tables_only &= !matches!(node, LogicalPlan::Extension(_) | LogicalPlan::Statement(_));
        let LogicalPlan::TableScan(scan) = node else { return Ok(Transformed::no(node)) };
        let provider = source_as_provider(&scan.source)?;
        let relation = provider.downcast_ref::<RelationTable>().map(|table| Arc::downgrade(table.relation()));
        if relation.is_none() && !provider.is::<MemTable>() {
            tables_only = false;
            return Ok(Transformed::no(LogicalPlan::TableScan(scan)));
        }
        let stub = TableStub { relation, schema: provider.schema() };
        let scan = TableScan { source: provider_as_source(Arc::new(stub)), ..scan };
        Ok(Transformed::yes(LogicalPlan::TableScan(scan)))
    })?;
    Ok(tables_only.then_some(plan.data))
}

/// The table of a scan as it is now, if it is still the same.
fn now(names: &Names, scan: &TableScan) -> Result<Option<Arc<dyn TableProvider>>> {
    let Some(provider) = names.lookup(&name_of(&scan.table_name)) else { return Ok(None) };
    let stub = source_as_provider(&scan.source)?;
    let Some(stub) = stub.downcast_ref::<TableStub>() else { return Ok(None) };
    let is_same = match (&stub.relation, provider.downcast_ref::<RelationTable>()) {
        (Some(relation), Some(now)) => {
            relation.upgrade().is_some_and(|relation| Arc::ptr_eq(&relation, now.relation()))
        }
        (None, None) => provider.is::<MemTable>(),
        _ => false,
    };
    Ok((is_same && stub.schema == provider.schema()).then_some(provider))
}

impl fmt::Debug for TableStub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableStub").field("schema", &self.schema).finish_non_exhaustive()
    }
}

#[async_trait]
impl TableProvider for TableStub {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _state: &dyn Session,
        _projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        internal_err!("a plan that was kept must be bound to tables before it is run")
    }
}

/// Whether a function belongs to the statement that it was planned for.
fn is_of_session(function: &ScalarUDF) -> bool {
    let is_one = sequences::is_one(function) || random::is_one(function) || advisory::is_one(function);
    is_one || system_functions::acts(function)
}

/// Whether all functions give the same value whenever the plan is made, and whether some belong to one statement.
fn functions(plan: &LogicalPlan) -> Result<(bool, bool)> {
    let (mut timeless, mut own) = (true, false);
    plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            expr.apply(|part| {
                if let Expr::ScalarFunction(call) = part {
                    timeless &= call.func.signature().volatility != Volatility::Stable;
                    own |= is_of_session(&call.func);
                }
                Ok(if timeless { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
            })
        })
    })?;
    Ok((timeless, own))
}

/// `plan` with the functions of the statement of `planner` in the place of those that belong to another statement.
fn with_functions_of(planner: &Planner, plan: LogicalPlan) -> Result<LogicalPlan> {
    let plan = plan.transform_up_with_subqueries(|node| {
        node.map_expressions(|expr| {
            expr.transform_up(|part| match part {
                Expr::ScalarFunction(mut call) if is_of_session(&call.func) => {
                    let name = call.func.name();
                    call.func = planner.function(name).ok_or_else(|| internal_datafusion_err!("no function {name}"))?;
                    Ok(Transformed::yes(Expr::ScalarFunction(call)))
                }
                other => Ok(Transformed::no(other)),
            })
        })
    })?;
    Ok(plan.data)
}

/// The plan with `values` in the place of its placeholders; `None` if one of them is not the same value in the type of its
/// placeholder.
fn with_values(plan: LogicalPlan, given: &Given<'_>, state: &SessionState) -> Result<Option<LogicalPlan>> {
    let mut fit = true;
    let plan = plan.transform_up_with_subqueries(|node| {
        let is_limit = matches!(node, LogicalPlan::Limit(_));
        let names = NamePreserver::new(&node);
        let node = node.map_expressions(|expr| {
            if !expr.exists(|part| Ok(matches!(part, Expr::Placeholder(_))))? {
                return Ok(Transformed::no(expr));
            }
            let name = names.save(&expr);
            let expr = expr.transform_up(|part| match part {
                Expr::Placeholder(placeholder) => {
                    let value = given.value_of(&placeholder);
                    fit &= value.is_some();
                    Ok(value.map_or_else(
                        || Transformed::no(Expr::Placeholder(placeholder)),
                        |value| Transformed::yes(Expr::Literal(value, None)),
                    ))
                }
                other => Ok(Transformed::no(other)),
            })?;
            if is_limit {
                return expr.map_data(|expr| simplified(state, expr, &DFSchema::empty()));
            }
            Ok(expr.update_data(|expr| name.restore(expr)))
        })?;
        // A value that is not NULL makes its column one without NULL.
        node.map_data(|node| match node {
            LogicalPlan::Values(rows) => LogicalPlanBuilder::values(rows.values)?.build(),
            node => node.recompute_schema(),
        })
    })?;
    Ok(fit.then_some(plan.data))
}
