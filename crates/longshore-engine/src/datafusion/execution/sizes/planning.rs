//! Whether this thread plans a statement now.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use datafusion::logical_expr::LogicalPlan;

use crate::datafusion::execution::complexity;

thread_local! {
    static PLANS: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread plans a statement now.
pub(in crate::datafusion) fn while_planning() -> bool {
    PLANS.get()
}

/// Work that plans a statement.
pub(in crate::datafusion) struct Planning<F> {
    work: F,
    /// Of the plan that it works on.
    levels: usize,
}

impl<F> Planning<F> {
    /// `work` on `plan`.
    pub(in crate::datafusion) fn new(plan: &LogicalPlan, work: F) -> Self {
        Self { work, levels: complexity::levels(plan) }
    }
}

impl<F: Future + Unpin> Future for Planning<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let _within = Within { before: PLANS.replace(true) };
        let Self { work, levels } = &mut *self;
        complexity::with_stack(*levels, || Pin::new(work).poll(context))
    }
}

/// Ends planning, also by a panic.
struct Within {
    before: bool,
}

impl Drop for Within {
    fn drop(&mut self) {
        PLANS.set(self.before);
    }
}
