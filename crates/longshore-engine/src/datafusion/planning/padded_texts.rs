//! Values of CHAR(n) with the blanks that they are stored without, where PostgreSQL counts them: in functions of any type, as
//! `concat`, `octet_length` and those of JSON, in arrays, and beside patterns. A cast to TEXT, which most functions ask for,
//! takes them off.

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::expr::{AggregateFunction, ScalarFunction};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{BinaryExpr, Expr, Like, LogicalPlan, Operator};

use super::origin::char_length;
use crate::datafusion::functions::text::rpad;
use crate::sql::arrays::{ALL_OF, ANY_OF};

/// Functions that show all of a value.
const SHOWING: [&str; 12] = [
    "concat",
    "concat_ws",
    "format",
    "octet_length",
    "to_json",
    "to_jsonb",
    "row_to_json",
    "json_build_object",
    "jsonb_build_object",
    "json_build_array",
    "jsonb_build_array",
    "make_array",
];
/// Those that make rows.
const ROWS: [&str; 2] = ["named_struct", "row"];

/// The plan with such values.
pub(in crate::datafusion) fn with_padded_texts(plan: LogicalPlan) -> Result<LogicalPlan> {
    let plan = plan.transform_up_with_subqueries(|node| {
        let mut may_change = false;
        node.apply_expressions(|expr| {
            may_change = may_change || expr.exists(|part| Ok(counts_blanks(part)))?;
            Ok(if may_change { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })?;
        if !may_change {
            return Ok(Transformed::no(node));
        }
        let inputs: Vec<LogicalPlan> = node.inputs().into_iter().cloned().collect();
        let names = NamePreserver::new(&node);
        node.map_expressions(|expr| {
            let name = names.save(&expr);
            Ok(padded_within(expr, &inputs)?.update_data(|expr| name.restore(expr)))
        })
    })?;
    Ok(plan.data)
}

fn counts_blanks(expr: &Expr) -> bool {
    match expr {
        Expr::Like(like) => !absorbs_blanks(like),
        Expr::BinaryExpr(BinaryExpr { op, .. }) => is_pattern(*op),
        Expr::ScalarFunction(call) => SHOWING.contains(&call.func.name()),
        Expr::AggregateFunction(call) => call.func.name() == "array_agg",
        _ => false,
    }
}

/// Whether a pattern fits a value whether it has blanks behind it or not.
fn absorbs_blanks(like: &Like) -> bool {
    let Expr::Literal(pattern, _) = like.pattern.as_ref() else { return false };
    let Some(start) = pattern.try_as_str().flatten().and_then(|pattern| pattern.strip_suffix('%')) else {
        return false;
    };
    !start.contains([' ', '_', '\\']) && like.escape_char.is_none()
}

fn is_pattern(op: Operator) -> bool {
    use Operator::{RegexIMatch, RegexMatch, RegexNotIMatch, RegexNotMatch};
    matches!(op, RegexMatch | RegexIMatch | RegexNotMatch | RegexNotIMatch)
}

fn padded_within(expr: Expr, inputs: &[LogicalPlan]) -> Result<Transformed<Expr>> {
    let mut changed = false;
    let mut pad = |expr: &mut Expr| {
        each_value(expr, &mut |value| {
            if let Some(length) = inputs.iter().find_map(|input| char_length(value, input)) {
                let length = Expr::Literal(ScalarValue::Int32(Some(length)), None);
                *value = rpad().call(vec![std::mem::take(value), length]);
                changed = true;
            }
        });
    };
    let expr = expr.transform_down(|mut part| {
        if !counts_blanks(&part) {
            // What an array is compared with has no blanks either.
            let is_compared =
                matches!(&part, Expr::ScalarFunction(call) if [ANY_OF, ALL_OF].contains(&call.func.name()));
            let next = if is_compared { TreeNodeRecursion::Jump } else { TreeNodeRecursion::Continue };
            return Ok(Transformed::new(part, false, next));
        }
        match &mut part {
            Expr::Like(Like { expr, .. }) => pad(expr),
            Expr::BinaryExpr(BinaryExpr { left, .. }) => pad(left),
            Expr::ScalarFunction(ScalarFunction { args, .. }) => args.iter_mut().for_each(&mut pad),
            Expr::AggregateFunction(AggregateFunction { params, .. }) => params.args.iter_mut().for_each(&mut pad),
            _ => {}
        }
        Ok(Transformed::no(part))
    })?;
    Ok(Transformed::new_transformed(expr.data, changed))
}

/// Calls `visit` with a value, or with those of the row that it is.
fn each_value(expr: &mut Expr, visit: &mut dyn FnMut(&mut Expr)) {
    match expr {
        Expr::ScalarFunction(call) if ROWS.contains(&call.func.name()) => {
            call.args.iter_mut().for_each(|arg| each_value(arg, visit));
        }
        value => visit(value),
    }
}
