//! The stamps of transactions, which their versions refer to: the id until the commit, then its time.
//!
//! A version holds the number of its stamp, not the stamp: so one store commits all versions of a transaction, wherever
//! they are (the thesis goes through the undo buffer instead), and a version costs no reference count. A number is used
//! again when nothing refers to it any longer, which reclaiming sees to.

use std::sync::OnceLock;

use super::TRANSACTION_ID_MIN;
use crate::sync::atomic::{AtomicU64, Ordering};

/// Stamps of the first segment; each further one has twice as many as the one before.
const FIRST_SEGMENT_STAMPS: usize = 64;
const SEGMENTS: usize = 26;

/// The number of a stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StampId(pub(crate) u32);

/// All stamps, at addresses that never change.
pub(crate) struct Stamps {
    segments: [OnceLock<Box<[AtomicU64]>>; SEGMENTS],
}

impl Stamps {
    pub(crate) fn new() -> Stamps {
        Stamps { segments: [const { OnceLock::new() }; SEGMENTS] }
    }

    /// Whether what a stamp says is the time of a commit.
    pub(crate) fn is_committed(stamp: u64) -> bool {
        stamp < TRANSACTION_ID_MIN
    }

    /// What a stamp says.
    pub(crate) fn get(&self, id: StampId) -> u64 {
        self.at(id).load(Ordering::Acquire)
    }

    pub(crate) fn set(&self, id: StampId, stamp: u64) {
        self.at(id).store(stamp, Ordering::Release);
    }

    fn at(&self, StampId(id): StampId) -> &AtomicU64 {
        let shifted = id as usize + FIRST_SEGMENT_STAMPS;
        let segment = (shifted.ilog2() - FIRST_SEGMENT_STAMPS.ilog2()) as usize;
        let stamps = FIRST_SEGMENT_STAMPS << segment;
        let segment = self.segments[segment].get_or_init(|| (0..stamps).map(|_| AtomicU64::new(0)).collect());
        &segment[shifted - stamps]
    }
}

#[cfg(test)]
mod tests {
    use crate::visibility::*;

    #[test]
    fn every_stamp_has_a_place_of_its_own() {
        let stamps = Stamps::new();
        for id in 0..10_000 {
            stamps.set(StampId(id), u64::from(id) + 1);
        }
        assert!((0..10_000).all(|id| stamps.get(StampId(id)) == u64::from(id) + 1));
    }
}
