//! The rows of queries that stand in a block and are made while they are read: if that fails, the statement has failed, and
//! with it the block, although the session has gone on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::Outcome;

/// Whether rows that some queries were still to make could not be made.
#[derive(Clone, Default)]
pub(super) struct RowsToCome(Arc<AtomicBool>);

impl RowsToCome {
    /// The same outcome; if it is rows, they tell when they fail. Rows that nobody reads to their end do not fail.
    pub(super) fn watch(self, outcome: Outcome) -> Outcome {
        match outcome {
            Outcome::Rows(rows) => Outcome::Rows(rows.with_errors(move |error| {
                self.0.store(true, Ordering::Release);
                error
            })),
            done @ Outcome::Done { .. } => done,
        }
    }

    pub(super) fn have_failed(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    /// Whether they have failed, or can.
    pub(super) fn matter(&self) -> bool {
        self.have_failed() || Arc::strong_count(&self.0) > 1
    }

    /// Forgets that they have failed.
    pub(super) fn forgive(&self) {
        self.0.store(false, Ordering::Release);
    }
}
