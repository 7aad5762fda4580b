//! How large and how deep a plan is. A plan that the planner could not finish, or has no memory or stack for, is refused.
//!
//! A definition in WITH that is read twice is in the plan twice, and so is a view. So a statement of a few lines may have a
//! plan of billions of operators, or of thousands of levels. `DataFusion` 55.2 checks a subquery of an expression for itself
//! and with the query around it, so that each level of subqueries doubles the time; and one of its rules
//! (`eliminate_join`) walks plans without a look at the stack, as does whoever frees them.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::execution::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;

use crate::datafusion::errors::from_datafusion;
use crate::{Error, ErrorKind};

/// Levels of a plan, at most.
const LEVELS_MAX: usize = 2000;
/// Operators of a plan, at most; those of subqueries in expressions count twice for each level of them. As many take
/// seconds, and some 300 MB, to plan.
const OPERATORS_MAX: usize = 20_000;

/// Stack that the planner needs for a level of a plan: 5 KiB were seen, in builds without optimization more.
const STACK_BYTES_PER_LEVEL: usize = 32 << 10;
/// Stack that it needs in any case.
const STACK_BYTES_MIN: usize = 256 << 10;
/// Stack that is needed to free a level.
const STACK_BYTES_PER_LEVEL_FREED: usize = 4 << 10;

/// `plan`, if it is neither too large nor too deep.
///
/// # Errors
/// [`ErrorKind::TooComplex`].
pub(in crate::datafusion) fn checked(plan: LogicalPlan) -> Result<LogicalPlan, Error> {
    let size = Sizes::default().of(&plan).map_err(from_datafusion)?;
    let refuse = |what: &str| {
        let text = format!(
            "the statement is too complex: {what}, where definitions in WITH and views count as often as they are read, \
             and subqueries twice for each level of them; put a part of it into a table with CREATE TABLE AS"
        );
        Err(Error::new(ErrorKind::TooComplex, text))
    };
    let refused = if size.levels > LEVELS_MAX {
        refuse(&format!("its plan has {} levels, and {LEVELS_MAX} are supported", size.levels))
    } else if size.operators > OPERATORS_MAX {
        refuse(&format!("its plan has more than {OPERATORS_MAX} operators"))
    } else {
        return Ok(plan);
    };
    with_stack_per_level(STACK_BYTES_PER_LEVEL_FREED, size.levels, || drop(plan));
    refused
}

/// `plan`, optimized.
pub(in crate::datafusion) fn optimized(state: &SessionState, plan: &LogicalPlan) -> Result<LogicalPlan> {
    with_stack(levels(plan), || state.optimize(plan))
}

/// Runs `work` on a plan of so many levels with a stack that is large enough for it.
pub(in crate::datafusion) fn with_stack<R>(levels: usize, work: impl FnOnce() -> R) -> R {
    with_stack_per_level(STACK_BYTES_PER_LEVEL, levels, work)
}

fn with_stack_per_level<R>(bytes: usize, levels: usize, work: impl FnOnce() -> R) -> R {
    let bytes = STACK_BYTES_MIN.saturating_add(levels.saturating_mul(bytes));
    stacker::maybe_grow(bytes, bytes, work)
}

/// The levels of `plan`.
pub(in crate::datafusion) fn levels(plan: &LogicalPlan) -> usize {
    Sizes::default().of(plan).map_or(LEVELS_MAX, |size| size.levels)
}

/// The levels of a plan that is run.
pub(in crate::datafusion) fn levels_to_run(plan: &Arc<dyn ExecutionPlan>) -> usize {
    1 + plan.children().into_iter().map(levels_to_run).max().unwrap_or(0)
}

#[derive(Clone, Copy)]
struct Size {
    levels: usize,
    operators: usize,
}

/// The sizes of plans by where they lie: what is read more than once is looked at once.
#[derive(Default)]
struct Sizes(HashMap<*const LogicalPlan, Size>);

impl Sizes {
    fn of(&mut self, plan: &LogicalPlan) -> Result<Size> {
        stacker::maybe_grow(64 << 10, 1 << 20, || {
            let mut size = Size { levels: 0, operators: 1 };
            let mut add = |part: Size, times: usize| {
                size.levels = size.levels.max(part.levels);
                size.operators = size.operators.saturating_add(part.operators.saturating_mul(times));
            };
            for input in plan.inputs() {
                add(self.of_known(input)?, 1);
            }
            plan.apply_subqueries(|query| {
                for input in query.inputs() {
                    add(self.of_known(input)?, 2);
                }
                Ok(TreeNodeRecursion::Continue)
            })?;
            size.levels += 1;
            Ok(size)
        })
    }

    fn of_known(&mut self, plan: &LogicalPlan) -> Result<Size> {
        let place = std::ptr::from_ref(plan);
        if let Some(size) = self.0.get(&place) {
            return Ok(*size);
        }
        let size = self.of(plan)?;
        self.0.insert(place, size);
        Ok(size)
    }
}
