//! The blocks that wait for reuse, and which of them is taken.
//!
//! Blocks of huge pages are joined with their neighbours and cut to what is asked for, so that whatever one load frees,
//! ends that it never used included, fits the next one. Smaller blocks are given out whole, for at least half their
//! size.
//!
//! Waiting costs nobody anything: all but the most recently freed blocks are marked as free to take for the system.
//! The mark costs less than a microsecond per huge page, and nothing when the block is used again before it is taken.

use super::mapping::{HUGE_PAGE_BYTES, Mapping};

/// Bytes of the most recently freed blocks that wait without the mark, so that batches, which come and go by the
/// thousand, are spared the system call.
const UNMARKED_BYTES_MAX: usize = 64 << 20;

/// Blocks that nobody uses, the longest waiting first.
#[derive(Debug, Default)]
pub(super) struct FreeList {
    bytes: usize,
    unmarked_bytes: usize,
    blocks: Vec<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    mapping: Mapping,
    /// The system may take its pages.
    marked: bool,
}

impl FreeList {
    /// Bytes that wait.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// A block of `bytes`, which are whole pages; a small one may have up to twice as many, but no more than
    /// `bytes_max`.
    pub(super) fn take(&mut self, bytes: usize, bytes_max: usize) -> Option<Mapping> {
        let found =
            if is_huge(bytes) { self.best_huge(bytes)? } else { self.latest_small(bytes, bytes_max.min(2 * bytes))? };
        let waiting = self.remove(found);
        if is_huge(bytes)
            && let Some(rest) = waiting.mapping.split_off(bytes)
        {
            self.insert(found, Waiting { mapping: rest, marked: waiting.marked });
        }
        Some(waiting.mapping)
    }

    /// The smallest that is large enough, so that large ones stay whole; of equals the latest, as the likeliest to be
    /// in a cache.
    fn best_huge(&self, bytes: usize) -> Option<usize> {
        let fitting = |at: &usize| self.blocks[*at].mapping.bytes() >= bytes;
        (0..self.blocks.len()).rev().filter(fitting).min_by_key(|&at| self.blocks[at].mapping.bytes())
    }

    fn latest_small(&self, bytes: usize, bytes_max: usize) -> Option<usize> {
        let fits = |found: usize| !is_huge(found) && (bytes..=bytes_max).contains(&found);
        self.blocks.iter().rposition(|waiting| fits(waiting.mapping.bytes()))
    }

    /// Adds a block; one that cannot be marked where it must be goes to `dropped`.
    pub(super) fn put(&mut self, mapping: Mapping, dropped: &mut Vec<Mapping>) {
        let mut added = Waiting { mapping, marked: false };
        if is_huge(added.mapping.bytes()) {
            let is_neighbour = |added: &Waiting, waiting: &Waiting| added.mapping.adjoins(&waiting.mapping);
            while let Some(at) = self.blocks.iter().position(|waiting| is_neighbour(&added, waiting)) {
                added = added.join(self.remove(at));
            }
        }
        self.insert(self.blocks.len(), added);
        while self.unmarked_bytes > UNMARKED_BYTES_MAX
            && let Some(oldest) = self.blocks.iter().position(|waiting| !waiting.marked)
        {
            let Waiting { mapping, .. } = self.remove(oldest);
            if mapping.mark_free() {
                self.insert(oldest, Waiting { mapping, marked: true });
            } else {
                dropped.push(mapping);
            }
        }
    }

    /// Moves the longest waiting bytes to `dropped` until at most `bytes_max` wait.
    pub(super) fn release(&mut self, bytes_max: usize, dropped: &mut Vec<Mapping>) {
        while self.bytes > bytes_max {
            let excess = self.bytes - bytes_max;
            let Waiting { mapping, marked } = self.remove(0);
            // Of a large one, no more than has to go.
            let keep = mapping.bytes().saturating_sub(excess) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
            if keep > 0
                && let Some(end) = mapping.split_off(keep)
            {
                self.insert(0, Waiting { mapping, marked });
                dropped.push(end);
            } else {
                dropped.push(mapping);
            }
        }
    }

    fn insert(&mut self, at: usize, waiting: Waiting) {
        self.bytes += waiting.mapping.bytes();
        self.unmarked_bytes += waiting.unmarked_bytes();
        self.blocks.insert(at, waiting);
    }

    fn remove(&mut self, at: usize) -> Waiting {
        let waiting = self.blocks.remove(at);
        self.bytes -= waiting.mapping.bytes();
        self.unmarked_bytes -= waiting.unmarked_bytes();
        waiting
    }
}

impl Waiting {
    fn unmarked_bytes(&self) -> usize {
        if self.marked { 0 } else { self.mapping.bytes() }
    }

    /// One of two neighbours. Where only one is marked, the larger decides about both, so that no more than twice what
    /// is freed is ever marked.
    fn join(self, other: Waiting) -> Waiting {
        let (small, large) = if self.mapping.bytes() < other.mapping.bytes() { (self, other) } else { (other, self) };
        let marked = large.marked && (small.marked || small.mapping.mark_free());
        Waiting { mapping: large.mapping.join(small.mapping), marked }
    }
}

fn is_huge(bytes: usize) -> bool {
    bytes >= HUGE_PAGE_BYTES
}
