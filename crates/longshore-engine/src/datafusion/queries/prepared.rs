//! How prepared queries find the plans that are kept of them.
//!
//! Not here: the plans (`planning::plan_cache`).

use std::sync::Arc;

use sqlparser::ast::Statement;

use super::Queries;
use crate::catalog::Rules;
use crate::datafusion::execution::memory::is_limited;
use crate::datafusion::hidden_names::TARGET;
use crate::datafusion::planning::names::Names;
use crate::datafusion::planning::plan_cache::{Bound, Keep, Parameters, Plan, State};
use crate::datafusion::planning::planner::{Optimized, Planner};
use crate::datafusion::request::{ExecutionContext, NamedInputs};
use crate::datafusion::scan::table::RelationTable;
use crate::transaction::StatementTransaction;
use crate::{Error, RowStream};

impl Queries {
    /// The rows of the prepared query `statement` by a generic plan; `None` where it is to be run by a plan of its own
    /// ([`Queries::query`]).
    pub(crate) async fn query_by_generic_plan(
        &self,
        statement: &Statement,
        context: &ExecutionContext<'_>,
    ) -> Result<Option<RowStream>, Error> {
        self.run_generic(statement, &NamedInputs::default(), context).await
    }

    /// The rows of a prepared query by a generic plan; `None` where it is run by a plan of its own.
    pub(super) async fn run_generic(
        &self,
        statement: &Statement,
        inputs: &NamedInputs<'_>,
        context: &ExecutionContext<'_>,
    ) -> Result<Option<RowStream>, Error> {
        let (Some(parameters), transaction) = (context.parameters, context.transaction) else { return Ok(None) };
        let numbers = transaction.numbers();
        let is_plain = context.named.is_empty() && inputs.rows.is_empty() && inputs.source.is_none();
        // What limits memory, and what keeps plans, is told of plans of their own.
        let is_watched = numbers.query_limits().is_some() || numbers.keeps_plans();
        if !is_plain || is_watched || is_limited(&self.state) {
            return Ok(None);
        }
        let kept = self.state_of(transaction, None).and_then(|state| parameters.plans.get(statement, &state)).flatten();
        let Some(kept) = kept else { return Ok(None) };
        let Some(mut plan) = kept.take_generic() else { return Ok(None) };
        let names = Names::new(Arc::clone(&self.files.catalog), Arc::clone(transaction));
        if let Some(table) = inputs.target {
            names.define(TARGET, Arc::new(RelationTable::with_rows(table, transaction)));
        }
        for (name, table) in &inputs.numbered {
            names.define(name, Arc::new(RelationTable::with_rows(table, transaction)));
        }
        let mut rows = None;
        if plan.bind(&names, &parameters.values, transaction.time())? {
            if transaction.logs_reads() {
                plan.log_reads();
            }
            rows = Some(plan.run(context.control).await?);
        }
        kept.put_generic(Some(plan));
        Ok(rows)
    }

    /// What plans of prepared statements are kept by; `None` where none are used: rows that are registered may be others the next
    /// time.
    fn state_of(&self, transaction: &StatementTransaction, rules: Option<&Arc<Rules>>) -> Option<State> {
        let (time, numbers) = (transaction.time().settings, transaction.numbers());
        if numbers.registered.are_any() {
            return None;
        }
        let (version, identity) = (self.files.catalog.version(), numbers.identity());
        Some(State { version, rules: rules.cloned(), time, identity })
    }

    /// The plan of `statement` that was kept for its prepared statement, or is kept from now on, and the same with the values in
    /// it; `rules` are those of the table that it inserts into.
    pub(super) async fn kept(
        &self,
        planner: &Planner,
        statement: &Statement,
        rules: Option<&Arc<Rules>>,
        parameters: &Parameters<'_>,
    ) -> Result<Option<(Arc<Plan>, Optimized)>, Error> {
        let Parameters { plans, values, .. } = parameters;
        let Some(state) = self.state_of(&planner.transaction, rules) else { return Ok(None) };
        let kept = if let Some(kept) = plans.get(statement, &state) {
            kept
        } else {
            let plan = match Box::pin(planner.to_keep(statement, parameters)).await {
                Keep::Plan(plan) => Some(plan),
                Keep::Never => None,
                Keep::NotNow => return Ok(None),
            };
            plans.put(statement, state, plan.clone());
            plan
        };
        let Some(kept) = kept else { return Ok(None) };
        Ok(match planner.bound(&kept, values)? {
            Bound::Plan(plan) => Some((kept, *plan)),
            Bound::Unfit => None,
            Bound::Stale => {
                plans.forget(statement);
                None
            }
        })
    }
}
