//! Simplifies expressions, and keeps lists of `IN` over one operand apart.
//!
//! `DataFusion` makes one list of two that are put together by AND or OR, as if what is in them were constants that differ
//! where they look different, and the operand were never NULL (55.2): `g IN (k, 7) AND g IN (l, 8)` was false where `k` is `l`,
//! `g IN (1, 2) AND g NOT IN (2, NULL)` was true, and `NOT (g IN (1, 2) AND g IN (3, 4))` was true of NULL. Comparisons put
//! together by OR become such lists as well. So where an operand has several lists, they are hidden in functions while the
//! expression is simplified.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock};

use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::expr::{InList, ScalarFunction};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::split_binary;
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, LogicalPlan, Operator, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use datafusion::optimizer::simplify_expressions::SimplifyExpressions;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

use crate::datafusion::functions::equality::any_of;

/// Simplifies expressions by `DataFusion`'s rule, which does not see such lists.
pub(super) fn simplify(
    rule: &SimplifyExpressions,
    plan: LogicalPlan,
    config: &dyn OptimizerConfig,
) -> Result<Transformed<LogicalPlan>> {
    let names = NamePreserver::new(&plan);
    let hidden = plan.map_expressions(|expr| {
        let name = names.save(&expr);
        hide(expr)?.map_data(|expr| Ok(name.restore(expr)))
    })?;
    if !hidden.transformed {
        return rule.rewrite(hidden.data, config);
    }
    rule.rewrite(hidden.data, config)?.map_data(|plan| Ok(plan.map_expressions(show)?.data))
}

/// The expression with functions for the lists that must stay as they are.
pub(in crate::datafusion) fn hide(expr: Expr) -> Result<Transformed<Expr>> {
    let operands = operands_of_several(&expr)?;
    if operands.is_empty() {
        return Ok(Transformed::no(expr));
    }
    let with_lists = expr.transform_down(|expr| Ok(with_lists(expr, &operands)))?;
    let hidden = with_lists.data.transform_up(|expr| {
        Ok(match expr {
            Expr::InList(list) if operands.contains(&list.expr) => Transformed::yes(Hidden::of(list)),
            Expr::Not(expr) => match Hidden::list(&expr) {
                Some(list) => Transformed::yes(Hidden::of(InList { negated: !list.negated, ..list })),
                None => Transformed::no(Expr::Not(expr)),
            },
            other => Transformed::no(other),
        })
    })?;
    Ok(Transformed::yes(hidden.data))
}

/// The expression with the lists that were hidden.
pub(in crate::datafusion) fn show(expr: Expr) -> Result<Transformed<Expr>> {
    let shown = expr.transform_up(|expr| {
        Ok(match expr {
            Expr::Not(expr) => match *expr {
                Expr::InList(list) => Transformed::yes(Expr::InList(InList { negated: !list.negated, ..list })),
                other => Transformed::no(Expr::Not(Box::new(other))),
            },
            other => match Hidden::list(&other) {
                Some(list) => Transformed::yes(Expr::InList(list)),
                None => Transformed::no(other),
            },
        })
    })?;
    // The name that it had is its own again.
    Ok(shown.update_data(|expr| match expr {
        Expr::Alias(alias) if alias.relation.is_none() && alias.expr.schema_name().to_string() == alias.name => {
            *alias.expr
        }
        other => other,
    }))
}

/// The operands that are looked for in more than one list; comparisons with constants put together by OR are one.
fn operands_of_several(expr: &Expr) -> Result<HashSet<Box<Expr>>> {
    let mut lists: HashMap<&Expr, usize> = HashMap::new();
    let mut counted: HashSet<*const Expr> = HashSet::new();
    expr.apply(|expr| {
        match expr {
            Expr::InList(list) => *lists.entry(&list.expr).or_default() += 1,
            Expr::BinaryExpr(BinaryExpr { op: Operator::Or, .. }) if !counted.contains(&std::ptr::from_ref(expr)) => {
                note_chain(expr, &mut counted);
                let compared: HashSet<&Expr> =
                    split_binary(expr, Operator::Or).into_iter().filter_map(|part| Some(comparison(part)?.0)).collect();
                for operand in compared {
                    *lists.entry(operand).or_default() += 1;
                }
            }
            _ => {}
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    let several = lists.into_iter().filter(|(_, count)| *count > 1);
    Ok(several.map(|(operand, _)| Box::new(operand.clone())).collect())
}

/// Notes the ORs right below an OR, which are parts of the same chain.
fn note_chain(expr: &Expr, noted: &mut HashSet<*const Expr>) {
    let mut chain = vec![expr];
    while let Some(expr) = chain.pop() {
        if let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) = expr {
            noted.insert(expr);
            chain.extend([left.as_ref(), right.as_ref()]);
        }
    }
}

/// The column and the constant of `column = constant`.
fn comparison(expr: &Expr) -> Option<(&Expr, &Expr)> {
    let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = expr else { return None };
    match (left.as_ref(), right.as_ref()) {
        (column @ Expr::Column(_), value @ Expr::Literal(..))
        | (value @ Expr::Literal(..), column @ Expr::Column(_)) => Some((column, value)),
        _ => None,
    }
}

/// A chain of OR with one list for the comparisons of each of the operands.
fn with_lists(expr: Expr, operands: &HashSet<Box<Expr>>) -> Transformed<Expr> {
    if !matches!(expr, Expr::BinaryExpr(BinaryExpr { op: Operator::Or, .. })) {
        return Transformed::no(expr);
    }
    let mut places: HashMap<&Expr, usize> = HashMap::new();
    let mut parts: Vec<Expr> = Vec::new();
    let mut changed = false;
    for part in split_binary(&expr, Operator::Or) {
        let compared = comparison(part).filter(|(column, _)| operands.iter().any(|operand| **operand == **column));
        let Some((column, value)) = compared else {
            parts.push(part.clone());
            continue;
        };
        changed = true;
        let place = *places.entry(column).or_insert(parts.len());
        if place == parts.len() {
            let list = InList { expr: Box::new(column.clone()), list: Vec::new(), negated: false };
            parts.push(Expr::InList(list));
        }
        if let Expr::InList(list) = &mut parts[place] {
            list.list.push(value.clone());
        }
    }
    if changed { Transformed::yes(any_of(parts)) } else { Transformed::no(expr) }
}

/// A list that is not seen: its operand and values are the arguments.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Hidden {
    negated: bool,
    signature: Signature,
}

static IN: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| Hidden::function(false));
static NOT_IN: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| Hidden::function(true));

impl Hidden {
    fn function(negated: bool) -> Arc<ScalarUDF> {
        let signature = Signature::variadic_any(Volatility::Immutable);
        Arc::new(ScalarUDF::new_from_impl(Self { negated, signature }))
    }

    fn of(InList { expr, list, negated }: InList) -> Expr {
        let function = if negated { &NOT_IN } else { &IN };
        let args = std::iter::once(*expr).chain(list).collect();
        Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(function), args))
    }

    fn list(expr: &Expr) -> Option<InList> {
        let Expr::ScalarFunction(call) = expr else { return None };
        let hidden = call.func.inner().downcast_ref::<Self>()?;
        let (operand, list) = call.args.split_first()?;
        Some(InList { expr: Box::new(operand.clone()), list: list.to_vec(), negated: hidden.negated })
    }
}

impl ScalarUDFImpl for Hidden {
    fn name(&self) -> &'static str {
        if self.negated { "NOT IN (hidden)" } else { "IN (hidden)" }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        internal_err!("{} is a list again before it is evaluated", self.name())
    }
}
