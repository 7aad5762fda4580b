//! What part of a memory limit an operator of a query may take, so that none starves.
//!
//! Operators that can spill have three eighths for all of them, and each the same part of it. A sort that spills merges what it
//! has in memory first, which takes as much again; the rest is for merges of what was spilled ([`super::memory::merged_runs`])
//! and for operators that cannot spill.

use std::sync::atomic::{AtomicUsize, Ordering};

use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};

/// The operators that share a memory limit.
#[derive(Debug, Default)]
pub(super) struct Shares {
    /// Those that can spill.
    spilling: AtomicUsize,
}

impl Shares {
    pub(super) fn register(&self, consumer: &MemoryConsumer) {
        self.spilling.fetch_add(consumer.can_spill().into(), Ordering::Relaxed);
    }

    pub(super) fn unregister(&self, consumer: &MemoryConsumer) {
        self.spilling.fetch_sub(consumer.can_spill().into(), Ordering::Relaxed);
    }

    /// Whether an operator may have so many bytes more of a limit. That the limit itself holds is another question. Who has
    /// nothing yet has nothing to spill.
    pub(super) fn allow(&self, reservation: &MemoryReservation, additional: usize, limit: usize) -> bool {
        let part = limit / 8 * 3 / self.spilling.load(Ordering::Relaxed).max(1);
        let may_spill = reservation.consumer().can_spill() && reservation.size() > 0;
        !may_spill || reservation.size() + additional <= part
    }
}
