//! The memory of a radix tree: words in segments, addressed by numbers.
//!
//! Nodes are runs of words, cut from segments without an allocation each; freed ones are kept by size. Words are atomic,
//! so that threads may change different nodes of one tree without `unsafe`; nothing depends on their order, since each
//! node is one thread's at a time and threads are joined in the end.
//!
//! A [`Words`] can be forked: the fork sees the segments there are, and makes new ones that nobody else has. When its
//! thread is done it is joined again, and refers to the same words by the same numbers. So trees are built side by side
//! and become part of one another without moving a node.
//!
//! Not here: what words mean (`art/node.rs`).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::segment::Segment;
use crate::arena::Arena;
use crate::memory::{Memory, OutOfMemory};
use crate::prefetch::prefetch;

/// Words of a segment, unless the tree is small: two huge pages.
const SEGMENT_WORDS: usize = 1 << 19;

/// Words of the first segment.
const SEGMENT_WORDS_MIN: usize = 1 << 10;

/// The least that an arena takes at a time; larger segments are blocks of their own.
const BLOCK_BYTES: usize = 64 << 10;

/// Bits of a position that count within a segment.
const OFFSET_BITS: u32 = 30;

/// Where a run of words begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position(pub(super) u64);

impl Position {
    #[inline]
    pub(super) fn plus(self, words: usize) -> Position {
        Position(self.0 + words as u64)
    }

    #[inline]
    fn segment(self) -> usize {
        (self.0 >> OFFSET_BITS) as usize
    }

    #[inline]
    fn offset(self) -> usize {
        (self.0 & ((1 << OFFSET_BITS) - 1)) as usize
    }
}

/// Words in segments.
pub(super) struct Words {
    /// By number; those of others are empty.
    segments: Vec<Segment>,
    /// The number of the next segment, of this and all its forks.
    next: Arc<AtomicUsize>,
    /// The segment that is being filled.
    current: usize,
    used: usize,
    /// Freed runs by their size.
    free: Vec<Vec<Position>>,
    arena: Arena,
    /// Words of the segments that it has made, or taken over.
    made: usize,
}

impl Words {
    pub(super) fn new(memory: &Arc<Memory>) -> Words {
        Words {
            segments: Vec::new(),
            next: Arc::default(),
            // None yet; the first segment may be a sibling's.
            current: usize::MAX,
            used: 0,
            free: Vec::new(),
            arena: Arena::new(Arc::clone(memory), BLOCK_BYTES),
            made: 0,
        }
    }

    /// Sees the same words, and makes its own.
    pub(super) fn fork(&self) -> Words {
        Words { segments: self.segments.clone(), ..self.sibling() }
    }

    /// Sees no words, and makes its own.
    pub(super) fn sibling(&self) -> Words {
        Words {
            segments: Vec::new(),
            next: Arc::clone(&self.next),
            // None yet.
            current: usize::MAX,
            used: 0,
            free: Vec::new(),
            arena: Arena::new(Arc::clone(self.arena.memory()), BLOCK_BYTES),
            made: 0,
        }
    }

    /// Takes over the words of a fork.
    pub(super) fn join(&mut self, fork: Words) {
        if self.segments.len() < fork.segments.len() {
            self.segments.resize_with(fork.segments.len(), Segment::empty);
        }
        for (ours, theirs) in self.segments.iter_mut().zip(fork.segments) {
            if ours.words().is_empty() {
                *ours = theirs;
            }
        }
        if self.free.len() < fork.free.len() {
            self.free.resize_with(fork.free.len(), Vec::new);
        }
        for (ours, theirs) in self.free.iter_mut().zip(fork.free) {
            ours.extend(theirs);
        }
        // The emptier of the two segments that are being filled is filled on.
        let room = |segments: &[Segment], current: usize, used: usize| {
            segments.get(current).map_or(0, |segment| segment.words().len() - used)
        };
        if room(&self.segments, fork.current, fork.used) > room(&self.segments, self.current, self.used) {
            (self.current, self.used) = (fork.current, fork.used);
        }
        self.made += fork.made;
    }

    pub(super) fn bytes(&self) -> usize {
        self.made * size_of::<u64>()
    }

    /// Makes sure that runs of so many words altogether can be taken.
    #[inline]
    pub(super) fn reserve(&mut self, words: usize) -> Result<(), OutOfMemory> {
        let room = self.segments.get(self.current).map_or(0, |segment| segment.words().len() - self.used);
        if room < words { self.add_segment(words, true) } else { Ok(()) }
    }

    /// The same, beyond the limit of memory if need be: for work that must not stop half-way and has asked before.
    pub(super) fn reserve_anyway(&mut self, words: usize) {
        let room = self.segments.get(self.current).map_or(0, |segment| segment.words().len() - self.used);
        if room < words {
            // Without a limit it cannot fail.
            let _ = self.add_segment(words, false);
        }
    }

    #[cold]
    fn add_segment(&mut self, words: usize, is_limited: bool) -> Result<(), OutOfMemory> {
        let words = self.made.clamp(SEGMENT_WORDS_MIN, SEGMENT_WORDS).max(words);
        let segment = match self.arena.allocate(words * size_of::<u64>()) {
            Ok(region) => Segment::of_region(region),
            Err(error) if is_limited => return Err(error),
            Err(_) => Segment::of_heap(words),
        };
        self.made += words;
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        if self.segments.len() <= number {
            self.segments.resize_with(number + 1, Segment::empty);
        }
        self.segments[number] = segment;
        (self.current, self.used) = (number, 0);
        Ok(())
    }

    /// Takes a run of words that was reserved. What is in it is left over from former use.
    #[inline]
    pub(super) fn take(&mut self, words: usize) -> Position {
        if let Some(at) = self.free.get_mut(words).and_then(Vec::pop) {
            return at;
        }
        let at = Position((self.current as u64) << OFFSET_BITS | self.used as u64);
        self.used += words;
        at
    }

    /// Gives back a run of words.
    pub(super) fn give_back(&mut self, at: Position, words: usize) {
        if self.free.len() <= words {
            self.free.resize_with(words + 1, Vec::new);
        }
        self.free[words].push(at);
    }

    /// The words from a position to the end of its segment.
    #[inline]
    pub(super) fn from(&self, at: Position) -> &[AtomicU64] {
        &self.segments[at.segment()].words()[at.offset()..]
    }

    /// Asks for what begins at a position.
    #[inline]
    pub(super) fn prefetch(&self, at: Position) {
        prefetch(self.segments[at.segment()].words().as_ptr().wrapping_add(at.offset()));
    }

    #[inline]
    pub(super) fn get(&self, at: Position) -> u64 {
        self.segments[at.segment()].words()[at.offset()].load(Ordering::Relaxed)
    }

    #[inline]
    pub(super) fn set(&self, at: Position, word: u64) {
        self.segments[at.segment()].words()[at.offset()].store(word, Ordering::Relaxed);
    }
}
