//! The value of a subquery, which is NULL where it has no rows.
//!
//! `DataFusion` takes it for one that cannot be NULL if the column cannot, and so `(SELECT key FROM t WHERE false) IS NULL` for false. A
//! function around the subquery says what is true. It is left out where a condition compares the value: NULL and false are the same there.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Distinct, Expr, LogicalPlan, Operator, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility,
};

static NULLABLE: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    Arc::new(ScalarUDF::new_from_impl(Nullable { signature: Signature::any(1, Volatility::Immutable) }))
});

/// The plan in which such values may be NULL.
pub(in crate::datafusion) fn with_nullable_subqueries(plan: LogicalPlan) -> Result<LogicalPlan> {
    let mut has_some = false;
    plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            has_some |= expr.exists(|part| Ok(is_one(part)))?;
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    if !has_some {
        return Ok(plan);
    }
    let plan = plan.transform_up_with_subqueries(|node| {
        let names = NamePreserver::new(&node);
        let is_condition = matches!(node, LogicalPlan::Filter(_));
        let node = node.map_expressions(|expr| {
            let name = names.save(&expr);
            let expr = if is_condition { condition(expr)? } else { value(expr)? };
            Ok(Transformed::yes(name.restore(expr)))
        })?;
        // What is above has the columns of what is below.
        Ok(Transformed::yes(node.data.recompute_schema()?))
    })?;
    Ok(plan.data)
}

fn condition(expr: Expr) -> Result<Expr> {
    let terms = split_conjunction_owned(expr).into_iter().map(|term| match term {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_comparison(op) => {
            let side = |side: Box<Expr>| if is_one(&side) { Ok(side) } else { value(*side).map(Box::new) };
            Ok(Expr::BinaryExpr(BinaryExpr { left: side(left)?, op, right: side(right)? }))
        }
        other => value(other),
    });
    Ok(conjunction(terms.collect::<Result<Vec<_>>>()?).unwrap_or_default())
}

/// Whether the operator is one that gives NULL for NULL.
pub(super) fn is_comparison(op: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq)
}

fn value(expr: Expr) -> Result<Expr> {
    let expr = expr.transform_up(|part| {
        Ok(if is_one(&part) { Transformed::yes(NULLABLE.call(vec![part])) } else { Transformed::no(part) })
    })?;
    Ok(expr.data)
}

/// Whether it is a subquery that may have no rows, of a column that cannot be NULL.
fn is_one(expr: &Expr) -> bool {
    let Expr::ScalarSubquery(subquery) = expr else { return false };
    let cannot_be_null = subquery.subquery.schema().fields().first().is_some_and(|field| !field.is_nullable());
    cannot_be_null && !has_a_row(&subquery.subquery)
}

/// Whether a query has a row, whatever there is.
fn has_a_row(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        LogicalPlan::EmptyRelation(relation) => relation.produce_one_row,
        LogicalPlan::Projection(_)
        | LogicalPlan::SubqueryAlias(_)
        | LogicalPlan::Sort(_)
        | LogicalPlan::Distinct(Distinct::All(_)) => plan.inputs().into_iter().all(has_a_row),
        _ => false,
    }
}

/// Gives its argument, and says that it may be NULL.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Nullable {
    signature: Signature,
}

impl ScalarUDFImpl for Nullable {
    fn name(&self) -> &'static str {
        "nullable"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        types.first().map_or_else(|| internal_err!("nullable takes one argument"), |known| Ok(known.clone()))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let Some(field) = args.arg_fields.first() else { return internal_err!("nullable takes one argument") };
        Ok(Arc::new(field.as_ref().clone().with_nullable(true)))
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let Some(value) = args.args.into_iter().next() else { return internal_err!("nullable takes one argument") };
        Ok(value)
    }
}
