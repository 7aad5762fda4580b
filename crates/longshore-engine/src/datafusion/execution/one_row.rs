//! `EXISTS (SELECT ...)`, `IN (SELECT ...)`, `= ANY (SELECT ...)` and the like over an aggregate without GROUP BY.
//!
//! Such a query has one row, whatever it is an aggregate of, or none where HAVING says so. If it depends on the query around
//! it, `DataFusion` joins the groups that there are, and so has no row for one without rows: `0 IN (SELECT count(*) FROM a
//! WHERE a.id = b.id)` was never true. As values, such queries are right. So the row is compared as a value:
//!
//! ```text
//! EXISTS (SELECT ... HAVING h)         (SELECT h) IS TRUE
//! x = ANY (SELECT v ... HAVING h)      (SELECT h) IS TRUE AND x = (SELECT v)
//! x = ALL (SELECT v ... HAVING h)      (SELECT h) IS NOT TRUE OR x = (SELECT v)
//! ```

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::logical_expr::expr::{Exists, InSubquery, SetComparison, SetQuantifier};
use datafusion::logical_expr::{
    Distinct, Expr, Filter, LogicalPlan, LogicalPlanBuilder, Operator, Sort, Subquery, binary_expr, lit, not,
};

/// The expression in which such queries are compared as values.
pub(in crate::datafusion) fn compared(expr: Expr) -> Result<Expr> {
    let expr = expr.transform_up(|part| {
        let found = match &part {
            Expr::Exists(Exists { subquery, negated }) => OneRow::of(subquery)?.map(|row| {
                let exists = row.exists();
                if *negated { not(exists) } else { exists }
            }),
            Expr::InSubquery(InSubquery { expr, subquery, negated }) => OneRow::of(subquery)?.map(|row| {
                let equal = row.exists().and(expr.as_ref().clone().eq(row.value));
                if *negated { not(equal) } else { equal }
            }),
            Expr::SetComparison(SetComparison { expr, subquery, op, quantifier }) => {
                OneRow::of(subquery)?.map(|row| row.compared(expr, *op, quantifier))
            }
            _ => None,
        };
        Ok(found.map_or_else(|| Transformed::no(part), Transformed::yes))
    })?;
    Ok(expr.data)
}

/// A query that has one row at most.
struct OneRow {
    /// What must be true of the row, as values.
    conditions: Vec<Expr>,
    /// The first column of the row.
    value: Expr,
}

impl OneRow {
    /// The row of a query that depends on the one around it; `None` where it may have several.
    fn of(query: &Subquery) -> Result<Option<OneRow>> {
        if query.outer_ref_columns.is_empty() || !is_one_row(&query.subquery) {
            return Ok(None);
        }
        let value = |plan: Arc<LogicalPlan>| {
            let outer_ref_columns = plan.all_out_ref_exprs();
            Expr::ScalarSubquery(Subquery { subquery: plan, outer_ref_columns, spans: query.spans.clone() })
        };
        let mut conditions = Vec::new();
        let mut node = query.subquery.as_ref();
        while let [input] = node.inputs()[..] {
            if matches!(node, LogicalPlan::Aggregate(_)) {
                break;
            }
            if let LogicalPlan::Filter(Filter { predicate, input, .. }) = node {
                let rows = LogicalPlanBuilder::from(unfiltered(input)?);
                conditions.push(value(Arc::new(rows.project([predicate.clone()])?.build()?)));
            }
            node = input;
        }
        Ok(Some(OneRow { conditions, value: value(Arc::new(unfiltered(&query.subquery)?)) }))
    }

    fn exists(&self) -> Expr {
        self.conditions.iter().cloned().map(Expr::is_true).reduce(Expr::and).unwrap_or_else(|| lit(true))
    }

    fn compared(self, left: &Expr, op: Operator, quantifier: &SetQuantifier) -> Expr {
        let exists = self.exists();
        let holds = binary_expr(left.clone(), op, self.value);
        match quantifier {
            SetQuantifier::Any => exists.and(holds),
            SetQuantifier::All => not(exists).or(holds),
        }
    }
}

/// Whether the rows are those of an aggregate without groups, and none is added.
fn is_one_row(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        LogicalPlan::Projection(_)
        | LogicalPlan::Filter(_)
        | LogicalPlan::SubqueryAlias(_)
        | LogicalPlan::Sort(_)
        | LogicalPlan::Distinct(Distinct::All(_)) => plan.inputs().into_iter().all(is_one_row),
        _ => false,
    }
}

/// The row whether or not it fulfils its conditions.
fn unfiltered(plan: &LogicalPlan) -> Result<LogicalPlan> {
    if matches!(plan, LogicalPlan::Aggregate(_)) {
        return Ok(plan.clone());
    }
    // One row is in order and distinct.
    if let LogicalPlan::Filter(Filter { input, .. })
    | LogicalPlan::Sort(Sort { input, .. })
    | LogicalPlan::Distinct(Distinct::All(input)) = plan
    {
        return unfiltered(input);
    }
    let inputs = plan.inputs().into_iter().map(unfiltered).collect::<Result<Vec<_>>>()?;
    plan.with_new_exprs(plan.expressions(), inputs)
}
