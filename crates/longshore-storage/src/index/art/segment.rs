//! A run of atomic words that several trees may refer to.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::arena::Region;

/// Words, alive as long as somebody has the segment.
#[derive(Clone)]
pub(super) struct Segment {
    /// Valid as long as the owner is, whatever its lifetime says; so it is given out with that of the segment only.
    words: &'static [AtomicU64],
    _owner: Owner,
}

/// What keeps the words alive.
#[derive(Clone)]
enum Owner {
    Nobody,
    /// Memory that counts, in huge pages.
    Region {
        _region: Arc<Region>,
    },
    /// Memory beyond the limit.
    Heap {
        _words: Arc<[AtomicU64]>,
    },
}

impl Segment {
    pub(super) fn empty() -> Segment {
        Segment { words: &[], _owner: Owner::Nobody }
    }

    /// All of a region.
    pub(super) fn of_region(mut region: Region) -> Segment {
        let words = region.bytes() / size_of::<u64>();
        region.spare::<u64>(0, words).fill(std::mem::MaybeUninit::new(0));
        let start = region.at::<u64>(0, words).cast::<AtomicU64>().cast_const();
        // SAFETY: the range lies within the region and is aligned for words (`at`), has been written, and is accessed
        // only as what it is from now on; the owner keeps it mapped as long as the segment lives, and a clone has its
        // own share in the owner.
        let words = unsafe { std::slice::from_raw_parts(start, words) };
        Segment { words, _owner: Owner::Region { _region: Arc::new(region) } }
    }

    /// So many words of the heap.
    pub(super) fn of_heap(words: usize) -> Segment {
        let owner: Arc<[AtomicU64]> = (0..words).map(|_| AtomicU64::new(0)).collect();
        // SAFETY: as of a region; the heap allocation does not move, nor does it end before the segment does.
        let words = unsafe { std::slice::from_raw_parts(owner.as_ptr(), owner.len()) };
        Segment { words, _owner: Owner::Heap { _words: owner } }
    }

    #[inline]
    pub(super) fn words(&self) -> &[AtomicU64] {
        self.words
    }
}
