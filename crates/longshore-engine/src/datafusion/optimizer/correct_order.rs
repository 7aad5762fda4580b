//! Corrects what operators claim of the order of their rows where it is not true: `DataFusion` leaves out sorts for it.
//!
//! The rule puts an operator in between that hands on the rows, and has only those order properties that hold. Which
//! operators claim more, [`null_padded`], [`growing_windows`] and [`unions_in_order`] say; [`skipped_rows`], where an order
//! must not be asked of what is below; [`equal_columns`], of which filters an order would not be known;
//! [`windows_over_keys`], where an order must not follow from a key.

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNode;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::sorts::sort::SortExec;

use super::order_properties::Plan;
use super::{equal_columns, growing_windows, null_padded, skipped_rows, unions_in_order, windows_over_keys};

/// The rule; it must come before sorts that seem not to be needed are left out.
#[derive(Debug)]
pub(super) struct CorrectOrderProperties;

impl PhysicalOptimizerRule for CorrectOrderProperties {
    fn optimize(&self, plan: Plan, _config: &ConfigOptions) -> Result<Plan> {
        let asks_for_order = plan.exists(|node| Ok(asks_for_order(node)))?;
        let corrected = |node: Plan| {
            let corrected = null_padded::corrected(node)?.transform_data(unions_in_order::corrected)?;
            let corrected = corrected.transform_data(windows_over_keys::corrected)?;
            let corrected = corrected.transform_data(growing_windows::corrected)?;
            let corrected = corrected.transform_data(equal_columns::corrected)?;
            if asks_for_order { corrected.transform_data(skipped_rows::corrected) } else { Ok(corrected) }
        };
        plan.transform_up(corrected).map(|transformed| transformed.data)
    }

    fn name(&self) -> &'static str {
        "correct_order_properties"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Whether the operator sorts, or needs rows in an order.
fn asks_for_order(node: &Plan) -> bool {
    node.is::<SortExec>() || node.required_input_ordering().iter().any(Option::is_some)
}
