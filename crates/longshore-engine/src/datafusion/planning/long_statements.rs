//! Statements that take long to plan: they are planned on a thread of their own, so that they can be cancelled.

use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use longshore_load::Control;
use sqlparser::ast::{Expr, Statement, Visitor};
use tokio::runtime::Handle;

use super::planner::Planner;
use crate::Error;
use crate::blocking;
use crate::sql::visit::Visit;

/// Expressions from which on a statement is long.
const EXPRESSIONS_MIN: usize = 2000;

/// The logical plan of `statement`, and its planner. Where files are looked at for it, or it is long, that is done on a
/// thread that may block: the statement can be cancelled, and its future dropped, meanwhile.
pub(in crate::datafusion) async fn logical(
    planner: Planner,
    statement: Statement,
    control: &Arc<Control>,
) -> Result<(Planner, LogicalPlan), Error> {
    if !planner.looks_at_files(&statement) && !is_long(&statement) {
        let plan = planner.logical(statement).await?;
        return Ok((planner, plan));
    }
    let runtime = Handle::current();
    blocking::run_abandonable(control, move || {
        let plan = runtime.block_on(planner.logical(statement))?;
        Ok((planner, plan))
    })
    .await
}

/// How `plan` is to be run; where it is large, that is found out on a thread that may block.
pub(in crate::datafusion) async fn physical(
    planner: Planner,
    plan: LogicalPlan,
    control: &Arc<Control>,
) -> Result<(Planner, LogicalPlan, Arc<dyn ExecutionPlan>), Error> {
    if !is_large(&plan) {
        let physical = Box::pin(planner.physical(&plan)).await?;
        return Ok((planner, plan, physical));
    }
    let runtime = Handle::current();
    blocking::run_abandonable(control, move || {
        let physical = runtime.block_on(planner.physical(&plan))?;
        Ok((planner, plan, physical))
    })
    .await
}

/// Whether `statement` has many expressions.
fn is_long(statement: &Statement) -> bool {
    struct Counter(usize);
    impl Visitor for Counter {
        type Break = ();

        fn pre_visit_expr(&mut self, _: &Expr) -> ControlFlow<()> {
            self.0 += 1;
            if self.0 >= EXPRESSIONS_MIN { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    statement.visit(&mut Counter(0)).is_break()
}

/// Whether `plan` has many expressions.
fn is_large(plan: &LogicalPlan) -> bool {
    let mut count = 0;
    let counted = plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            expr.apply(|_| {
                count += 1;
                Ok(if count < EXPRESSIONS_MIN { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
            })
        })
    });
    counted.is_err() || count >= EXPRESSIONS_MIN
}
