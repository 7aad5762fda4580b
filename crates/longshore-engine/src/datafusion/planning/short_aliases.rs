//! `FROM t AS x (a, b)` of a table with more columns: the others keep their names, as in PostgreSQL. Not here: the names of the
//! columns of files, which may have types (`files`).

use datafusion::common::Result;
use datafusion::logical_expr::planner::{PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning};
use sqlparser::ast::{Ident, TableAlias, TableAliasColumnDef, TableFactor};

/// Completes such lists of names.
#[derive(Debug)]
pub(in crate::datafusion) struct ShortAliases;

impl RelationPlanner for ShortAliases {
    fn plan_relation(
        &self,
        mut relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        if let TableFactor::Table { name, .. } = &relation
            && name.0.iter().any(|part| part.as_ident().is_some_and(|part| part.quote_style == Some('\'')))
        {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        }
        let (TableFactor::Table { alias, args: None, .. } | TableFactor::Derived { alias, .. }) = &mut relation else {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        };
        let is_plain = |alias: &mut TableAlias| {
            !alias.columns.is_empty() && alias.columns.iter().all(|column| column.data_type.is_none())
        };
        let Some(mut named) = alias.take_if(is_plain) else {
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
