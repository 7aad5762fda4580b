//! Subqueries of expressions as joins to the rows that the expressions are computed of.
//!
//! A subquery is a value where it is used as one: of several rows it complains only when it is asked for, so that CASE may
//! leave it out. `x op ANY (S)` and `x op ALL (S)` are what PostgreSQL says they are, from two facts about S: whether a
//! comparison decides, and whether one is NULL.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, Result, ScalarValue};
use datafusion::functions_aggregate::expr_fn::{bool_or, count, first_value};
use datafusion::logical_expr::expr::{Exists, InSubquery, SetComparison, SetQuantifier};
use datafusion::logical_expr::{
    Aggregate, Distinct, Expr, Filter, JoinType, LogicalPlan, LogicalPlanBuilder, Operator, Projection, binary_expr,
    lit, not, when,
};

use super::Unnester;
use super::domain::{Domain, same};
use crate::datafusion::execution::shared::stable;
use crate::datafusion::functions::single_row::single_row;

/// The rows that expressions are computed of, with what was joined to them.
pub(super) struct Source<'u, 'a> {
    unnester: &'u mut Unnester<'a>,
    /// The rows as they were.
    original: Arc<LogicalPlan>,
    rows: Arc<LogicalPlan>,
}

impl<'u, 'a> Source<'u, 'a> {
    pub(super) fn new(unnester: &'u mut Unnester<'a>, rows: Arc<LogicalPlan>) -> Result<Self> {
        let rows = stable(rows)?;
        Ok(Self { unnester, original: Arc::clone(&rows), rows })
    }

    pub(super) fn rows(self) -> Arc<LogicalPlan> {
        self.rows
    }

    /// `expr` with columns in the place of its subqueries.
    pub(super) fn replaced(&mut self, expr: Expr) -> Result<Expr> {
        let is_joined = |subquery: &datafusion::logical_expr::Subquery| !subquery.outer_ref_columns.is_empty();
        let expr = expr.transform_up(|part| {
            Ok(Transformed::yes(match part {
                Expr::ScalarSubquery(subquery) if is_joined(&subquery) => self.value(&subquery.subquery)?,
                Expr::Exists(Exists { subquery, negated }) if is_joined(&subquery) => {
                    let exists = self.exists(&subquery.subquery)?;
                    if negated { not(exists) } else { exists }
                }
                Expr::InSubquery(InSubquery { expr, subquery, negated }) if is_joined(&subquery) => {
                    let is_in = self.compared(&expr, Operator::Eq, &SetQuantifier::Any, &subquery.subquery)?;
                    if negated { not(is_in) } else { is_in }
                }
                Expr::SetComparison(SetComparison { expr, subquery, op, quantifier }) => {
                    self.compared(&expr, op, &quantifier, &subquery.subquery)?
                }
                other => return Ok(Transformed::no(other)),
            }))
        })?;
        Ok(expr.data)
    }

    /// The same where NULL counts as false.
    pub(super) fn condition(&mut self, expr: Expr) -> Result<Expr> {
        let (value, op, subquery) = match expr {
            Expr::InSubquery(InSubquery { expr, subquery, negated: false })
                if !subquery.outer_ref_columns.is_empty() =>
            {
                (expr, Operator::Eq, subquery)
            }
            Expr::SetComparison(SetComparison { expr, subquery, op, quantifier: SetQuantifier::Any })
                if !subquery.outer_ref_columns.is_empty() =>
            {
                (expr, op, subquery)
            }
            other => return self.replaced(other),
        };
        let value = self.replaced(*value)?;
        let holds = binary_expr(self.seen_from_within(value)?, op, column(&subquery.subquery));
        let rows = LogicalPlan::Filter(Filter::try_new(holds, subquery.subquery)?);
        self.exists(&rows)
    }

    /// The rows of a subquery for all values that its outer columns have here, and the conditions that join them.
    pub(super) fn bound(&mut self, rows: &LogicalPlan) -> Result<(LogicalPlan, Vec<Expr>)> {
        let (rows, outer, columns) = self.pushed(rows)?;
        Ok((rows, keys(columns, &outer)))
    }

    /// The rows of a subquery for all values of its outer columns, where they stand among its columns, and which they are.
    fn pushed(&mut self, rows: &LogicalPlan) -> Result<(LogicalPlan, Vec<Column>, Vec<Column>)> {
        let mut columns: Vec<Column> = Vec::new();
        for reference in rows.all_out_ref_exprs() {
            if let Expr::OuterReferenceColumn(_, column) = reference
                && self.rows.schema().has_column(&column)
                && !columns.contains(&column)
            {
                columns.push(column);
            }
        }
        if columns.is_empty() {
            return Ok((rows.clone(), Vec::new(), columns));
        }
        let is_original = columns.iter().all(|column| self.original.schema().has_column(column));
        let source = Arc::clone(if is_original { &self.original } else { &self.rows });
        let domain = Domain { source, columns };
        let pushed = self.unnester.pushed(rows, &domain)?;
        Ok((pushed.plan, pushed.outer, domain.columns))
    }

    /// The value of the only row, NULL if there is none.
    fn value(&mut self, rows: &LogicalPlan) -> Result<Expr> {
        let value = column(rows);
        let is_one = has_one_row(rows);
        let (rows, outer, columns) = self.pushed(rows)?;
        let name = self.unnester.fresh("value");
        if is_one && !outer.is_empty() {
            self.join(rows, &outer, columns, vec![value.alias(&name)])?;
            return Ok(Expr::Column(Column::new_unqualified(name)));
        }
        let number = self.unnester.fresh("rows");
        let facts = vec![first_value(value, Vec::new()).alias(&name), count(lit(1_i64)).alias(&number)];
        self.join_aggregated(rows, &outer, columns, facts)?;
        Ok(single_row(Expr::Column(Column::new_unqualified(name)), Expr::Column(Column::new_unqualified(number))))
    }

    /// Whether there is a row.
    fn exists(&mut self, rows: &LogicalPlan) -> Result<Expr> {
        let mut rows = rows;
        // Nobody looks at its columns, or at their order.
        while let LogicalPlan::Projection(Projection { input, .. }) | LogicalPlan::Distinct(Distinct::All(input)) = rows
            && !matches!(input.as_ref(), LogicalPlan::Limit(_) | LogicalPlan::Aggregate(_))
        {
            rows = input;
        }
        let (rows, outer, columns) = self.pushed(rows)?;
        let name = self.unnester.fresh("found");
        let found = Expr::Column(Column::new_unqualified(&name));
        if outer.is_empty() {
            self.join_aggregated(rows, &outer, columns, vec![count(lit(1_i64)).alias(&name)])?;
            return Ok(found.gt(lit(0_i64)));
        }
        let distinct = outer.iter().cloned().map(Expr::Column).collect();
        let rows = LogicalPlan::Aggregate(Aggregate::try_new(Arc::new(rows), distinct, Vec::new())?);
        self.join(rows, &outer, columns, vec![lit(true).alias(&name)])?;
        Ok(found.is_not_null())
    }

    /// `value op ANY (rows)` or `value op ALL (rows)`.
    fn compared(&mut self, value: &Expr, op: Operator, quantifier: &SetQuantifier, rows: &LogicalPlan) -> Result<Expr> {
        let holds = binary_expr(self.seen_from_within(value.clone())?, op, column(rows));
        let decides = match quantifier {
            SetQuantifier::Any => holds.clone(),
            SetQuantifier::All => not(holds.clone()),
        };
        let [decided, unknown] = ["decided", "unknown"].map(|what| self.unnester.fresh(what));
        let facts = vec![bool_or(decides).alias(&decided), bool_or(holds.is_null()).alias(&unknown)];
        let rows = Arc::new(rows.clone());
        let rows = LogicalPlan::Aggregate(Aggregate::try_new(rows, Vec::new(), facts)?);
        let (rows, outer, columns) = self.pushed(&rows)?;
        let [decided, unknown] = [decided, unknown].map(|name| Expr::Column(Column::new_unqualified(name)));
        if outer.is_empty() {
            let joined = LogicalPlanBuilder::from(Arc::clone(&self.rows)).cross_join(rows)?.build()?;
            self.rows = Arc::new(joined);
        } else {
            self.join(rows, &outer, columns, vec![decided.clone(), unknown.clone()])?;
        }
        let is_any = matches!(quantifier, SetQuantifier::Any);
        when(decided.is_true(), lit(is_any))
            .when(unknown.is_true(), lit(ScalarValue::Boolean(None)))
            .otherwise(lit(!is_any))
    }

    /// Joins facts about the rows of each group, or about all of them.
    fn join_aggregated(
        &mut self,
        rows: LogicalPlan,
        outer: &[Column],
        columns: Vec<Column>,
        facts: Vec<Expr>,
    ) -> Result<()> {
        let names: Vec<Expr> =
            facts.iter().map(|fact| Expr::Column(Column::new_unqualified(fact.schema_name().to_string()))).collect();
        let groups = outer.iter().cloned().map(Expr::Column).collect();
        let rows = LogicalPlan::Aggregate(Aggregate::try_new(Arc::new(rows), groups, facts)?);
        if outer.is_empty() {
            let joined = LogicalPlanBuilder::from(Arc::clone(&self.rows)).cross_join(rows)?.build()?;
            self.rows = Arc::new(joined);
            return Ok(());
        }
        self.join(rows, outer, columns, names)
    }

    /// Joins `values` over `rows`, which have a row for each value of the outer columns at most.
    fn join(&mut self, rows: LogicalPlan, outer: &[Column], columns: Vec<Column>, values: Vec<Expr>) -> Result<()> {
        let exprs = outer.iter().cloned().map(Expr::Column).chain(values).collect();
        let rows = LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(rows))?);
        let joined = LogicalPlanBuilder::from(Arc::clone(&self.rows));
        self.rows = Arc::new(joined.join_on(rows, JoinType::Left, keys(columns, outer))?.build()?);
        Ok(())
    }

    /// The expression as a subquery sees it.
    fn seen_from_within(&self, expr: Expr) -> Result<Expr> {
        let expr = expr.transform_up(|part| match part {
            Expr::Column(column) => {
                let (qualifier, field) = self.rows.schema().qualified_field_from_column(&column)?;
                Ok(Transformed::yes(Expr::OuterReferenceColumn(Arc::clone(field), Column::from((qualifier, field)))))
            }
            other => Ok(Transformed::no(other)),
        })?;
        Ok(expr.data)
    }
}

fn keys(columns: Vec<Column>, outer: &[Column]) -> Vec<Expr> {
    let pairs = columns.into_iter().zip(outer);
    pairs.map(|(column, outer)| same(Expr::Column(column), Expr::Column(outer.clone()))).collect()
}

/// The first column of a query.
fn column(rows: &LogicalPlan) -> Expr {
    Expr::Column(Column::from(rows.schema().qualified_field(0)))
}

/// Whether a query has one row at most, whatever it reads.
fn has_one_row(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        LogicalPlan::EmptyRelation(_) => true,
        LogicalPlan::Limit(limit) => {
            let is_one = match limit.fetch.as_deref() {
                Some(Expr::Literal(ScalarValue::Int64(Some(fetch)), _)) => *fetch <= 1,
                Some(Expr::Literal(ScalarValue::Int32(Some(fetch)), _)) => *fetch <= 1,
                _ => false,
            };
            is_one || has_one_row(&limit.input)
        }
        LogicalPlan::Projection(_)
        | LogicalPlan::Filter(_)
        | LogicalPlan::SubqueryAlias(_)
        | LogicalPlan::Sort(_)
        | LogicalPlan::Distinct(Distinct::All(_)) => plan.inputs().into_iter().all(has_one_row),
        _ => false,
    }
}
