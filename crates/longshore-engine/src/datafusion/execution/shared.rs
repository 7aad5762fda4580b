//! Rows that a statement computes once and reads several times.
//!
//! The planner copies the query of a WITH to every place that names it. That costs time only, unless it calls functions
//! like `random()`: then each copy has rows of its own, where PostgreSQL has the same ones everywhere. So copies of a
//! query whose values change from call to call become one [`Shared`] node; nothing is pushed into it, and whoever comes
//! first computes the rows and keeps them for all. The copies are known by the plan that they point to.
//! Not here: how they are run (`exec`).

mod exec;

use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{DFSchemaRef, Result, internal_err};
use datafusion::execution::context::QueryPlanner;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{
    Expr, Extension, LogicalPlan, SubqueryAlias, UserDefinedLogicalNode, UserDefinedLogicalNodeCore,
};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{DefaultPhysicalPlanner, ExtensionPlanner, PhysicalPlanner};

use exec::{Rows, SharedExec};

use crate::datafusion::functions::zeros::with_equal_zeros_in_joins;

/// A query whose rows are computed once, however often it stands in a plan.
#[derive(Clone)]
struct Shared {
    input: LogicalPlan,
    rows: Arc<Rows>,
}

/// The plan in which copies of a query have the same rows.
pub(in crate::datafusion) fn with_shared_rows(plan: LogicalPlan) -> Result<LogicalPlan> {
    let mut copies: HashMap<*const LogicalPlan, (usize, Option<Arc<Rows>>)> = HashMap::new();
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::SubqueryAlias(alias) = node {
            copies.entry(Arc::as_ptr(&alias.input)).or_default().0 += 1;
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    copies.retain(|_, (count, _)| *count > 1);
    if copies.is_empty() {
        return Ok(plan);
    }
    // Every plan that is replaced lives in `whole` until the end, so no other one can come to lie where it is.
    let whole = plan.clone();
    let shared = plan.transform_down_with_subqueries(|node| {
        let LogicalPlan::SubqueryAlias(alias) = &node else { return Ok(Transformed::no(node)) };
        let Some((_, rows)) = copies.get_mut(&Arc::as_ptr(&alias.input)) else { return Ok(Transformed::no(node)) };
        if !changes_from_call_to_call(&alias.input)? || !alias.input.all_out_ref_exprs().is_empty() {
            return Ok(Transformed::no(node));
        }
        let input = sharing(&alias.input, Arc::clone(rows.get_or_insert_default()));
        let alias = SubqueryAlias::try_new(Arc::new(input), alias.alias.clone())?;
        Ok(Transformed::yes(LogicalPlan::SubqueryAlias(alias)))
    })?;
    drop(whole);
    Ok(shared.data)
}

/// `plan`, which will be put into a statement several times, as a plan that has the same rows everywhere.
pub(in crate::datafusion) fn stable(plan: Arc<LogicalPlan>) -> Result<Arc<LogicalPlan>> {
    let changes = plan.all_out_ref_exprs().is_empty() && changes_from_call_to_call(&plan)?;
    Ok(if changes { Arc::new(sharing(&plan, Arc::default())) } else { plan })
}

fn sharing(plan: &Arc<LogicalPlan>, rows: Arc<Rows>) -> LogicalPlan {
    let shared = Shared { input: plan.as_ref().clone(), rows };
    LogicalPlan::Extension(Extension { node: Arc::new(shared) })
}

/// Whether the rows may be others each time, though the tables are the same.
fn changes_from_call_to_call(plan: &LogicalPlan) -> Result<bool> {
    let mut changes = false;
    plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            changes |= expr.is_volatile();
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(if changes { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(changes)
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("input", &self.input).finish_non_exhaustive()
    }
}

impl PartialEq for Shared {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.rows, &other.rows) && self.input == other.input
    }
}

impl Eq for Shared {}

impl Hash for Shared {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.rows).hash(state);
        self.input.hash(state);
    }
}

impl PartialOrd for Shared {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (self == other).then_some(Ordering::Equal)
    }
}

impl UserDefinedLogicalNodeCore for Shared {
    fn name(&self) -> &'static str {
        "Shared"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        self.input.schema()
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shared")
    }

    fn with_exprs_and_inputs(&self, _exprs: Vec<Expr>, mut inputs: Vec<LogicalPlan>) -> Result<Self> {
        match inputs.pop() {
            Some(input) if inputs.is_empty() => Ok(Self { input, rows: Arc::clone(&self.rows) }),
            _ => internal_err!("Shared has one input"),
        }
    }
}

/// `DataFusion`'s planner of physical plans, with the nodes that are ours.
#[derive(Debug)]
pub(in crate::datafusion) struct Physical;

#[async_trait]
impl QueryPlanner for Physical {
    async fn create_physical_plan(&self, plan: &LogicalPlan, session: &dyn Session) -> Result<Arc<dyn ExecutionPlan>> {
        let planner = DefaultPhysicalPlanner::with_extension_planners(vec![Arc::new(SharedPlanner)]);
        // Joins merge rows that are sorted, instead.
        if !session.config_options().optimizer.prefer_hash_join {
            let plan = with_equal_zeros_in_joins(plan.clone())?;
            return planner.create_physical_plan(&plan, session).await;
        }
        planner.create_physical_plan(plan, session).await
    }
}

struct SharedPlanner;

#[async_trait]
impl ExtensionPlanner for SharedPlanner {
    async fn plan_extension(
        &self,
        _planner: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _logical_inputs: &[&LogicalPlan],
        physical_inputs: &[Arc<dyn ExecutionPlan>],
        _session: &dyn Session,
        _planning: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let (Some(shared), [input]) = (node.as_any().downcast_ref::<Shared>(), physical_inputs) else {
            return Ok(None);
        };
        Ok(Some(Arc::new(SharedExec::new(Arc::clone(input), Arc::clone(&shared.rows)))))
    }
}
