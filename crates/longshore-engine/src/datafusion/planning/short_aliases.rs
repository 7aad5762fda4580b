//! `FROM t AS x (a, b)` of a table with more columns: the others keep their names, as in PostgreSQL.

use datafusion::common::Result;
use datafusion::logical_expr::planner::{PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning};
use sqlparser::ast::{Ident, TableAliasColumnDef, TableFactor};

/// Completes such lists of names.
#[derive(Debug)]
pub(in crate::datafusion) struct ShortAliases;

impl RelationPlanner for ShortAliases {
    fn plan_relation(
        &self,
        mut relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        let (TableFactor::Table { alias, args: None, .. } | TableFactor::Derived { alias, .. }) = &mut relation else {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        };
        let Some(mut named) = alias.take_if(|alias| !alias.columns.is_empty()) else {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        };
        let plan = context.plan(relation)?;
        let others = plan.schema().fields().iter().skip(named.columns.len());
        let others =
            others.map(|field| TableAliasColumnDef { name: Ident::with_quote('"', field.name()), data_type: None });
        let others: Vec<_> = others.collect();
        named.columns.extend(others);
        Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(plan, Some(named)))))
    }
}
