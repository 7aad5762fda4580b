//! Filters by an equality of an expression and a column, `lower(s) = s`, name the column first.
//!
//! What is known to be equal goes by the name of what the filter names first. Where that is an expression over the column
//! itself, its name has itself as a part, `lower(lower(s))` and so on, so that rows that are sorted by it do not seem to
//! be: a window over them was refused as an internal error (55.2).

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{BinaryExpr, Column};
use datafusion::physical_expr::utils::split_conjunction;
use datafusion::physical_expr::{PhysicalExpr, conjunction};
use datafusion::physical_plan::filter::{FilterExec, FilterExecBuilder};

use super::order_properties::Plan;

pub(super) fn corrected(node: Plan) -> Result<Transformed<Plan>> {
    let Some(filter) = node.downcast_ref::<FilterExec>() else { return Ok(Transformed::no(node)) };
    let conditions = split_conjunction(filter.predicate());
    let turned: Vec<_> = conditions.iter().map(|condition| column_first(condition)).collect();
    if turned.iter().all(Option::is_none) {
        return Ok(Transformed::no(node));
    }
    let conditions = conditions.into_iter().zip(turned);
    let conditions = conditions.map(|(condition, turned)| turned.unwrap_or_else(|| Arc::clone(condition)));
    let filter = FilterExecBuilder::from(filter).with_predicate(conjunction(conditions)).build()?;
    Ok(Transformed::yes(Arc::new(filter)))
}

/// `column = expression` for `expression = column`.
fn column_first(condition: &Arc<dyn PhysicalExpr>) -> Option<Arc<dyn PhysicalExpr>> {
    let equality = condition.downcast_ref::<BinaryExpr>().filter(|binary| *binary.op() == Operator::Eq)?;
    let (left, right) = (equality.left(), equality.right());
    if left.is::<Column>() || !right.is::<Column>() {
        return None;
    }
    Some(Arc::new(BinaryExpr::new(Arc::clone(right), Operator::Eq, Arc::clone(left))))
}
