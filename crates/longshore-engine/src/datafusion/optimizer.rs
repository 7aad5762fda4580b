//! The rules by which plans are optimized: `DataFusion`'s, with ours in the place of those that are wrong.
//!
//! Tests can leave out all that a plan can be run without (`Config::optimizer`), and compare what queries answer then.

mod aggregate_orders;
mod aggregate_statistics;
mod columns_first;
mod correct_order;
mod correlated;
mod empty_relations;
mod equal_columns;
mod filter_projections;
mod filter_pushdown;
pub(super) mod found_keys;
mod functional_dependencies;
mod groups;
mod growing_windows;
pub(super) mod in_lists;
mod in_place_of;
mod join_keys;
mod null_padded;
pub(super) mod order_properties;
mod single_distinct;
mod skipped_rows;
mod unions_in_order;
mod values;
mod windows_over_keys;

use std::sync::Arc;

use datafusion::optimizer::eliminate_cross_join::EliminateCrossJoin;
use datafusion::optimizer::extract_equijoin_predicate::ExtractEquijoinPredicate;
use datafusion::optimizer::propagate_empty_relation::PropagateEmptyRelation;
use datafusion::optimizer::push_down_filter::PushDownFilter;
use datafusion::optimizer::simplify_expressions::SimplifyExpressions;
use datafusion::optimizer::single_distinct_to_groupby::SingleDistinctToGroupBy;
use datafusion::optimizer::{Optimizer, OptimizerRule};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::filter_pushdown::FilterPushdownPhase;

use aggregate_orders::OrdersBelowAggregates;
use aggregate_statistics::AggregateStatistics;
use columns_first::{ColumnsFirst, TAKES_COMPARISONS_TOGETHER};
use correct_order::CorrectOrderProperties;
use correlated::UniqueCorrelatedColumns;
use filter_projections::{MOVES_PROJECTIONS, TakeProjectionsOutOfFilters};
use filter_pushdown::FilterPushdown;
use found_keys::JoinByIndex;
use functional_dependencies::{NoDependenciesOfJoins, USE_DEPENDENCIES};
use in_place_of::InPlaceOf;
use values::ValuesOfTheirColumns;

type Logical = Arc<dyn OptimizerRule + Send + Sync>;
type Physical = Arc<dyn PhysicalOptimizerRule + Send + Sync>;

/// Logical rules without which there is no physical plan of some queries.
const LOGICAL_NEEDED: [&str; 7] = [
    "rewrite_set_comparison",
    "simplify_expressions",
    "replace_distinct_aggregate",
    "decorrelate_predicate_subquery",
    "scalar_subquery_to_join",
    "decorrelate_lateral_join",
    "propagate_empty_relation",
];

/// Physical rules without which some plans cannot be run, or give rows in another order than is asked for.
const PHYSICAL_NEEDED: [&str; 5] =
    ["OutputRequirements", "join_selection", "EnsureRequirements", "EnsureCooperative", "SanityCheckPlan"];

/// The rule after which scans have their filters, but for those that come to be when the plan runs.
const FILTERS: &str = "FilterPushdown";

/// The rule that leaves out sorts whose order is there already.
const REMOVES_SORTS: &str = "EnsureRequirements";

/// Rules for logical plans; only those that are needed unless `all`.
pub(super) fn logical_rules(all: bool) -> Vec<Logical> {
    let is_wanted = |rule: &Logical| all || LOGICAL_NEEDED.contains(&rule.name());
    let ours = |rule: Logical| -> Logical {
        let ours: [Logical; 6] = [
            Arc::new(InPlaceOf::new(ExtractEquijoinPredicate, join_keys::extract_keys)),
            Arc::new(InPlaceOf::new(EliminateCrossJoin, join_keys::eliminate_cross_joins)),
            Arc::new(InPlaceOf::new(PushDownFilter::default(), groups::push_down_filters)),
            Arc::new(InPlaceOf::new(PropagateEmptyRelation, empty_relations::propagate_empty)),
            Arc::new(InPlaceOf::new(SimplifyExpressions::default(), in_lists::simplify)),
            Arc::new(InPlaceOf::new(SingleDistinctToGroupBy::default(), single_distinct::group_distinct)),
        ];
        ours.into_iter().find(|ours| ours.name() == rule.name()).unwrap_or(rule)
    };
    let with_ours_before = |rule: Logical| -> Vec<Logical> {
        match rule.name() {
            TAKES_COMPARISONS_TOGETHER => vec![Arc::new(ColumnsFirst), rule],
            name if USE_DEPENDENCIES.contains(&name) => vec![Arc::new(NoDependenciesOfJoins), rule],
            _ => vec![rule],
        }
    };
    let theirs = Optimizer::new().rules.into_iter().filter(is_wanted).map(ours).flat_map(with_ours_before);
    // Before subqueries become joins.
    let first: [Logical; 3] =
        [Arc::new(ValuesOfTheirColumns), Arc::new(OrdersBelowAggregates), Arc::new(UniqueCorrelatedColumns)];
    // Where conditions have arrived at their joins.
    let keys = || InPlaceOf::new(ExtractEquijoinPredicate, join_keys::extract_keys);
    let last: Option<Logical> = all.then(|| Arc::new(keys()) as Logical);
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
    let with_ours = |rule: Physical| -> Vec<Physical> {
        match rule.name() {
            REMOVES_SORTS => vec![Arc::new(CorrectOrderProperties), rule],
            MOVES_PROJECTIONS => vec![Arc::new(TakeProjectionsOutOfFilters), rule],
            FILTERS => vec![rule, Arc::new(JoinByIndex)],
            _ => vec![rule],
        }
    };
    PhysicalOptimizer::new().rules.into_iter().filter(is_wanted).map(ours).flat_map(with_ours).collect()
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
        let in_turn = [CorrectOrderProperties.name(), REMOVES_SORTS];
        assert!(names.windows(in_turn.len()).any(|names| names == in_turn), "{names:?}");
        let all = physical_rules(true);
        let moves = |at: &usize| all[*at].name() == MOVES_PROJECTIONS;
        let places: Vec<usize> = (0..all.len()).filter(moves).collect();
        let ours = TakeProjectionsOutOfFilters;
        assert!(places.len() == 2 && places.iter().all(|place| all[place - 1].name() == ours.name()), "{all:?}");
        let shown = format!("{all:?}");
        assert_eq!(shown.matches("AggregateStatistics").count(), 1, "{shown}");
        let logical: Vec<String> = logical_rules(true).iter().map(|rule| rule.name().to_owned()).collect();
        for name in USE_DEPENDENCIES {
            assert!(logical.windows(2).any(|names| names == [NoDependenciesOfJoins.name(), name]), "{logical:?}");
        }
        let in_turn = [ColumnsFirst.name(), TAKES_COMPARISONS_TOGETHER];
        assert!(logical.windows(2).any(|names| names == in_turn), "{logical:?}");
        let logical = format!("{:?}", logical_rules(true));
        // Six of them, and one once more at the end.
        assert_eq!(logical.matches("InPlaceOf").count(), 7, "{logical}");
        assert!(shown.contains("FilterPushdown(Pre)") && shown.contains("FilterPushdown(Post)"), "{shown}");
    }
}
