//! `IN (SELECT ...)` in the three values of SQL: true, false and NULL.
//!
//! `x IN (Q)` is NULL where no value of Q is equal to x, but x or one of them is NULL, and there is a row to compare with
//! at all. `DataFusion` makes joins of it that know two values, but for a NOT IN that is a condition by itself and whose
//! rows have nothing to do with those outside. So before a plan is optimized, NOT IN, and IN where NULL is not the same
//! as false, are put together from EXISTS, which has two values only:
//!
//! ```text
//! x IN (Q)      EXISTS (Q with q = x) OR (NULL AND ((x IS NULL AND EXISTS (Q)) OR EXISTS (Q with q IS NULL)))
//! x NOT IN (Q)  as a condition: NOT EXISTS (Q with q = x) AND NOT EXISTS (Q with q IS NULL)
//!               AND (x IS NOT NULL OR NOT EXISTS (Q))
//! ```
//!
//! Parts about what cannot be NULL are left out: over columns that are NOT NULL, an anti join is all there is. Beside
//! conditions, where `DataFusion` knows no joins for EXISTS, the rows are counted: `(SELECT count(*) FROM (Q)) > 0`.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, ExprSchema, Result, ScalarValue, internal_err, not_impl_err};
use datafusion::functions_aggregate::expr_fn::count;
use datafusion::logical_expr::expr::{Exists, InSubquery, SetComparison, SetQuantifier};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    BinaryExpr, Distinct, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Operator, Projection, Sort, Subquery,
    lit, not,
};

use crate::datafusion::execution::one_row;
use crate::datafusion::execution::shared::stable;
use crate::datafusion::functions::operators::in_subquery;

/// The name of the query that values are looked for in.
const LIST: &str = "list (hidden)";

/// The plan with such expressions.
pub(in crate::datafusion) fn with_null_logic(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    plan.transform_up_with_subqueries(|node| {
        let mut has_some = false;
        node.apply_expressions(|expr| {
            has_some |= expr.exists(|part| Ok(is_one(part) || matches!(part, Expr::Exists(_))))?;
            Ok(TreeNodeRecursion::Continue)
        })?;
        if !has_some {
            return Ok(Transformed::no(node));
        }
        let outer = merge_schema(&node.inputs());
        let (is_condition, is_join) = (matches!(node, LogicalPlan::Filter(_)), matches!(node, LogicalPlan::Join(_)));
        let names = NamePreserver::new(&node);
        node.map_expressions(|expr| {
            let name = names.save(&expr);
            let expr = without_columns(one_row::compared(expr)?)?;
            let expr = if is_condition { condition(expr, &outer)? } else { value(expr, &outer)? };
            let expr = if is_condition || is_join { expr } else { counted(expr)? };
            Ok(Transformed::yes(name.restore(expr)))
        })
    })
}

fn is_one(expr: &Expr) -> bool {
    matches!(expr, Expr::InSubquery(_) | Expr::SetComparison(_))
}

/// The expression where NULL counts as false.
fn condition(expr: Expr, outer: &DFSchema) -> Result<Expr> {
    match as_in(expr) {
        Expr::BinaryExpr(BinaryExpr { left, op: op @ (Operator::And | Operator::Or), right }) => {
            let (left, right) = (condition(*left, outer)?, condition(*right, outer)?);
            Ok(Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right))))
        }
        Expr::InSubquery(mut list) if !list.negated => {
            *list.expr = value(*list.expr, outer)?;
            Ok(Expr::InSubquery(list))
        }
        Expr::InSubquery(InSubquery { expr, subquery, negated }) => {
            let list = List::new(InSubquery::new(Box::new(value(*expr, outer)?), subquery, negated), outer)?;
            let mut terms = vec![not(list.has_equal()?)];
            if list.may_hold_null {
                terms.push(not(list.has_null()?));
            }
            if list.may_be_null {
                terms.push(list.value.clone().is_not_null().or(not(list.has_any()?)));
            }
            Ok(terms.into_iter().reduce(Expr::and).unwrap_or_else(|| lit(true)))
        }
        other => value(other, outer),
    }
}

/// The expression where NULL is a value of its own.
fn value(expr: Expr, outer: &DFSchema) -> Result<Expr> {
    let expr = expr.transform_up(|part| {
        if !is_one(&part) {
            return Ok(Transformed::no(part));
        }
        let list = match as_in(part) {
            Expr::InSubquery(list) => list,
            other => return Ok(Transformed::no(other)),
        };
        let negated = list.negated;
        let list = List::new(list, outer)?;
        let mut unknown = Vec::new();
        if list.may_be_null {
            unknown.push(list.value.clone().is_null().and(list.has_any()?));
        }
        if list.may_hold_null {
            unknown.push(list.has_null()?);
        }
        let found = match unknown.into_iter().reduce(Expr::or) {
            None => list.has_equal()?,
            Some(unknown) => list.has_equal()?.or(unknown.and(Expr::Literal(ScalarValue::Boolean(None), None))),
        };
        Ok(Transformed::yes(if negated { not(found) } else { found }))
    })?;
    Ok(expr.data)
}

/// The expression in which what EXISTS looks for has no columns and no order: nobody looks at them, the planner finds no
/// joins for some orders, and in 55.2 the optimizer panics over some columns.
fn without_columns(expr: Expr) -> Result<Expr> {
    let expr = expr.transform_up(|part| {
        let Expr::Exists(Exists { subquery, negated }) = part else { return Ok(Transformed::no(part)) };
        let mut rows = &subquery.subquery;
        while let LogicalPlan::Projection(Projection { input, .. })
        | LogicalPlan::Sort(Sort { input, fetch: None, .. })
        | LogicalPlan::Distinct(Distinct::All(input)) = rows.as_ref()
        {
            rows = input;
        }
        let plan = LogicalPlanBuilder::from(Arc::clone(rows)).project([lit(1_i64)])?.build()?;
        let outer_ref_columns = plan.all_out_ref_exprs();
        let subquery = Subquery { subquery: Arc::new(plan), outer_ref_columns, spans: subquery.spans };
        Ok(Transformed::yes(Expr::Exists(Exists { subquery, negated })))
    })?;
    Ok(expr.data)
}

/// The expression with numbers of rows in the place of EXISTS.
fn counted(expr: Expr) -> Result<Expr> {
    let expr = expr.transform_up(|part| {
        let Expr::Exists(Exists { subquery, negated }) = part else { return Ok(Transformed::no(part)) };
        let rows = LogicalPlanBuilder::from(subquery.subquery);
        let plan = rows.aggregate(Vec::<Expr>::new(), vec![count(lit(1_i64))])?.build()?;
        let outer_ref_columns = plan.all_out_ref_exprs();
        let number = Subquery { subquery: Arc::new(plan), outer_ref_columns, spans: subquery.spans };
        let number = Expr::ScalarSubquery(number);
        Ok(Transformed::yes(if negated { number.eq(lit(0_i64)) } else { number.gt(lit(0_i64)) }))
    })?;
    Ok(expr.data)
}

/// The same as IN or NOT IN, if it can be said so.
fn as_in(expr: Expr) -> Expr {
    match expr {
        Expr::Not(inner) => match as_in(*inner) {
            Expr::InSubquery(list) => Expr::InSubquery(InSubquery { negated: !list.negated, ..list }),
            other => not(other),
        },
        Expr::SetComparison(SetComparison { expr, subquery, op, quantifier }) => match (op, quantifier) {
            (Operator::Eq, SetQuantifier::Any) => Expr::InSubquery(InSubquery::new(expr, subquery, false)),
            (Operator::NotEq, SetQuantifier::All) => Expr::InSubquery(InSubquery::new(expr, subquery, true)),
            _ => Expr::SetComparison(SetComparison { expr, subquery, op, quantifier }),
        },
        other => other,
    }
}

/// A value and the query whose values it is looked for among.
struct List {
    value: Expr,
    /// The same value, as a query inside sees it.
    value_inside: Expr,
    query: Subquery,
    /// The values of the query.
    held: Expr,
    /// Whether the value can be NULL, and whether one of the query's can.
    may_be_null: bool,
    may_hold_null: bool,
}

/// Refuses a query that refers to the one around it, and has columns of the same names as the value's.
fn refuse_same_names(value: &Expr, query: &Subquery) -> Result<()> {
    if query.outer_ref_columns.is_empty() {
        return Ok(());
    }
    let outside = value.column_refs();
    let mut same = None;
    query.subquery.apply_with_subqueries(|node| {
        let columns = node.schema().columns();
        // Names below an alias are not seen above it, unless what is there looks outside, too.
        let hides = matches!(node, LogicalPlan::SubqueryAlias(_)) && node.all_out_ref_exprs().is_empty();
        same = same.take().or_else(|| columns.into_iter().find(|column| outside.contains(column)));
        Ok(match &same {
            Some(_) => TreeNodeRecursion::Stop,
            None if hides => TreeNodeRecursion::Jump,
            None => TreeNodeRecursion::Continue,
        })
    })?;
    match same {
        None => Ok(()),
        Some(column) => not_impl_err!(
            "IN (SELECT ...) that refers to the query around it, where both have a column {column}; give one of the tables \
             another alias"
        ),
    }
}

impl List {
    fn new(list: InSubquery, outer: &DFSchema) -> Result<Self> {
        // The planner finds joins only for columns of the list, not for what is computed of them.
        let Expr::InSubquery(InSubquery { expr: value, subquery: query, .. }) = in_subquery(list, outer)?.data else {
            return internal_err!("IN (SELECT ...) became something else");
        };
        let value = *value;
        let may_be_null = value.nullable(outer)?;
        let value_inside = value.clone().transform_up(|part| match part {
            Expr::Column(column) => {
                let field = Arc::clone(outer.field_from_column(&column)?);
                Ok(Transformed::yes(Expr::OuterReferenceColumn(field, column)))
            }
            Expr::ScalarSubquery(query) if !query.outer_ref_columns.is_empty() => not_impl_err!(
                "IN (SELECT ...) of a subquery that refers to the query around it; compute that in FROM first"
            ),
            other => Ok(Transformed::no(other)),
        })?;
        refuse_same_names(&value, &query)?;
        let mut rows = stable(query.subquery)?;
        if query.outer_ref_columns.is_empty() {
            // Under a name of its own, its column is not taken for one of the query around it.
            rows = Arc::new(LogicalPlanBuilder::from(rows).alias(LIST)?.build()?);
        }
        let query = Subquery { subquery: rows, ..query };
        let (qualifier, field) = query.subquery.schema().qualified_field(0);
        let (held, may_hold_null) = (Expr::Column(Column::from((qualifier, field))), field.is_nullable());
        Ok(Self { value, value_inside: value_inside.data, query, held, may_be_null, may_hold_null })
    }

    /// Whether a row of the query has the value.
    fn has_equal(&self) -> Result<Expr> {
        let equal = self.value_inside.clone().eq(self.held.clone());
        self.exists(self.rows().filter(equal)?)
    }

    /// Whether a row of the query has NULL.
    fn has_null(&self) -> Result<Expr> {
        self.exists(self.first(self.rows().filter(self.held.clone().is_null())?)?)
    }

    /// Whether the query has a row.
    fn has_any(&self) -> Result<Expr> {
        self.exists(self.first(self.rows())?)
    }

    fn rows(&self) -> LogicalPlanBuilder {
        LogicalPlanBuilder::from(Arc::clone(&self.query.subquery))
    }

    /// One row is enough, if it is the same for all rows outside.
    fn first(&self, rows: LogicalPlanBuilder) -> Result<LogicalPlanBuilder> {
        if self.query.outer_ref_columns.is_empty() { rows.limit(0, Some(1)) } else { Ok(rows) }
    }

    fn exists(&self, rows: LogicalPlanBuilder) -> Result<Expr> {
        let plan = rows.build()?;
        let outer_ref_columns = plan.all_out_ref_exprs();
        let subquery = Subquery { subquery: Arc::new(plan), outer_ref_columns, spans: self.query.spans.clone() };
        Ok(Expr::Exists(Exists { subquery, negated: false }))
    }
}
