//! `~`, `~*`, `!~` and `!~*`: whether a text matches a regular expression.
//!
//! `DataFusion` evaluates these operators with the crate `regex`, on packed codes too. Where the expression is a constant
//! that the crate can express, the operator stays, with the crate's spelling of it; otherwise it becomes a function. LIKE of
//! bytes is here, too, which `DataFusion` has not.

use datafusion::common::{DFSchema, ScalarValue};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, Like, Operator, ScalarUDF, not};
use longshore_regex::Options;

use super::expressions::compiled;
use crate::datafusion::functions::bytes;
use crate::datafusion::functions::calls::{Overload, udf};
use crate::datafusion::functions::element_wise::is_text;
use crate::datafusion::functions::equality::constant;

/// Stands before an expression that is spelt as the crate `regex` has it, to which it means nothing; plans may be analysed more
/// than once. No expression of PostgreSQL's begins so.
const SPELT: &str = "(?u:)";

/// The operators as PostgreSQL means them; `None` for other operators.
pub(in crate::datafusion) fn matching(left: &Expr, op: Operator, right: &Expr, schema: &DFSchema) -> Option<Expr> {
    let (ignore_case, negated) = match op {
        Operator::RegexMatch => (false, false),
        Operator::RegexIMatch => (true, false),
        Operator::RegexNotMatch => (false, true),
        Operator::RegexNotIMatch => (true, true),
        _ => return None,
    };
    if !is_text(left, schema) || !is_text(right, schema) {
        return None;
    }
    let options = Options { ignore_case, ..Options::default() };
    if let Some(ScalarValue::Utf8(Some(pattern)) | ScalarValue::Utf8View(Some(pattern))) = constant(right) {
        if pattern.starts_with(SPELT) {
            return None;
        }
        // What is wrong with an expression is said when a text is to match it.
        if let Ok(expression) = compiled(&pattern, options)
            && let Some(searched) = expression.searched()
        {
            let op = if negated { Operator::RegexNotMatch } else { Operator::RegexMatch };
            let right = Box::new(Expr::Literal(ScalarValue::from(format!("{SPELT}{searched}")), None));
            return Some(Expr::BinaryExpr(BinaryExpr { left: Box::new(left.clone()), op, right }));
        }
    }
    let name = if ignore_case { "texticregexeq" } else { "textregexeq" };
    let call = ScalarFunction::new_udf(function(name), vec![left.clone(), right.clone()]);
    let call = Expr::ScalarFunction(call);
    Some(if negated { not(call) } else { call })
}

/// LIKE of bytes; `None` for one of texts.
pub(in crate::datafusion) fn bytes_like(like: &Like, schema: &DFSchema) -> Option<Expr> {
    if !like.expr.get_type(schema).ok()?.is_binary() {
        return None;
    }
    let arguments = vec![like.expr.as_ref().clone(), like.pattern.as_ref().clone()];
    let call = Expr::ScalarFunction(ScalarFunction::new_udf(function("bytealike"), arguments));
    Some(if like.negated { not(call) } else { call })
}

fn function(name: &str) -> std::sync::Arc<ScalarUDF> {
    let all = super::overloads().chain(bytes::overloads());
    let overloads: Vec<Overload> = all.filter(|overload| overload.name == name).collect();
    std::sync::Arc::new(udf::functions(overloads.into_iter()).remove(0))
}
