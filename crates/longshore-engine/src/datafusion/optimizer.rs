//! The rules by which plans are optimized: `DataFusion`'s, with ours in the place of those that are wrong.
//!
//! Tests can leave out all that a plan can be run without (`Config::optimizer`), and compare what queries answer then.

mod aggregate_statistics;
mod correlated;
mod equal_columns;
mod filter_pushdown;
mod groups;
mod growing_windows;
mod null_padded;
mod restated;
mod unions;
mod values;

use std::sync::Arc;

use datafusion::optimizer::{Optimizer, OptimizerRule};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::filter_pushdown::FilterPushdownPhase;

use aggregate_statistics::AggregateStatistics;
use correlated::UniqueCorrelatedColumns;
use filter_pushdown::FilterPushdown;
use groups::PushDownByColumns;
use restated::ClaimWhatIsTrue;
use unions::FirstInputNamesUnion;
use values::ValuesOfTheirColumns;

type Logical = Arc<dyn OptimizerRule + Send + Sync>;
type Physical = Arc<dyn PhysicalOptimizerRule + Send + Sync>;

/// Logical rules without which there is no physical plan of some queries.
const LOGICAL_NEEDED: [&str; 6] = [
    "rewrite_set_comparison",
    "simplify_expressions",
    "replace_distinct_aggregate",
    "decorrelate_predicate_subquery",
    "scalar_subquery_to_join",
    "decorrelate_lateral_join",
];

/// Physical rules without which some plans cannot be run, or give rows in another order than is asked for.
const PHYSICAL_NEEDED: [&str; 5] =
    ["OutputRequirements", "join_selection", "EnsureRequirements", "EnsureCooperative", "SanityCheckPlan"];

/// The rule that leaves out sorts whose order is there already.
const REMOVES_SORTS: &str = "EnsureRequirements";

/// Rules for logical plans; only those that are needed unless `all`.
pub(super) fn logical_rules(all: bool) -> Vec<Logical> {
    let is_wanted = |rule: &Logical| all || LOGICAL_NEEDED.contains(&rule.name());
    let ours = |rule: Logical| -> Logical {
        let pushdown = PushDownByColumns::default();
        if pushdown.name() == rule.name() { Arc::new(pushdown) } else { rule }
    };
    let theirs = Optimizer::new().rules.into_iter().filter(is_wanted).map(ours);
    // Before subqueries become joins.
    let first: [Logical; 2] = [Arc::new(ValuesOfTheirColumns), Arc::new(UniqueCorrelatedColumns)];
    let last: [Logical; 1] = [Arc::new(FirstInputNamesUnion)];
    first.into_iter().chain(theirs).chain(last).collect()
}

/// Rules for physical plans; only those that are needed unless `all`.
pub(super) fn physical_rules(all: bool) -> Vec<Physical> {
    let is_wanted = |rule: &Physical| all || PHYSICAL_NEEDED.contains(&rule.name());
    let ours = |rule: Physical| -> Physical {
        let pushdown = [FilterPushdownPhase::Pre, FilterPushdownPhase::Post].map(FilterPushdown);
        match pushdown.into_iter().find(|pushdown| pushdown.name() == rule.name()) {
            Some(pushdown) => Arc::new(pushdown),
            None if rule.name() == AggregateStatistics.name() => Arc::new(AggregateStatistics),
            None => rule,
        }
    };
    let with_ours_before = |rule: Physical| -> Vec<Physical> {
        if rule.name() == REMOVES_SORTS { vec![Arc::new(ClaimWhatIsTrue), rule] } else { vec![rule] }
    };
    PhysicalOptimizer::new().rules.into_iter().filter(is_wanted).map(ours).flat_map(with_ours_before).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_that_are_named_are_there() {
        let logical = logical_rules(false);
        assert_eq!(logical.len(), 3 + LOGICAL_NEEDED.len(), "{logical:?}");
        let physical = physical_rules(false);
        assert!(PHYSICAL_NEEDED.iter().all(|name| physical.iter().any(|rule| rule.name() == *name)), "{physical:?}");
        let names: Vec<&str> = physical.iter().map(|rule| rule.name()).collect();
        let in_turn = [ClaimWhatIsTrue.name(), REMOVES_SORTS];
        assert!(names.windows(in_turn.len()).any(|names| names == in_turn), "{names:?}");
        let shown = format!("{:?}", physical_rules(true));
        assert_eq!(shown.matches("AggregateStatistics").count(), 1, "{shown}");
        assert!(format!("{:?}", logical_rules(true)).contains("PushDownByColumns"));
        assert!(shown.contains("FilterPushdown(Pre)") && shown.contains("FilterPushdown(Post)"), "{shown}");
    }
}
