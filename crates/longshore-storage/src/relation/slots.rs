//! The slots of a relation: a list that only grows, and is read without a lock.

use std::sync::{OnceLock, PoisonError};

use crate::chunk::hot::{HotChunk, Slot};
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Mutex, MutexGuard};

/// Slots of the first segment; each further one has twice as many as the one before.
const FIRST_SEGMENT_SLOTS: usize = 16;
const SEGMENTS: usize = 28;

pub(crate) struct Slots {
    segments: [OnceLock<Box<[OnceLock<Slot>]>>; SEGMENTS],
    len: AtomicUsize,
    growing: Mutex<Growth>,
}

/// Whether slots may be added.
#[derive(Default)]
struct Growth {
    is_closed: bool,
}

impl Slots {
    pub(super) fn new() -> Slots {
        Slots { segments: [const { OnceLock::new() }; SEGMENTS], len: AtomicUsize::new(0), growing: Mutex::default() }
    }

    /// Refuses further slots, or takes them again.
    pub(super) fn close(&self, is_closed: bool) {
        self.growing().is_closed = is_closed;
    }

    fn growing(&self) -> MutexGuard<'_, Growth> {
        self.growing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn len(&self) -> usize {
        self.len.load(Ordering::Acquire)
    }

    #[inline]
    pub(crate) fn get(&self, at: usize) -> Option<&Slot> {
        if at >= self.len() {
            return None;
        }
        let (segment, at, _) = place(at);
        self.segments.get(segment)?.get()?[at].get()
    }

    /// Adds slots in order, next to each other; says the place of the first. `None` if it is closed.
    pub(super) fn push(&self, slots: impl IntoIterator<Item = HotChunk>) -> Option<usize> {
        let growth = self.growing();
        if growth.is_closed {
            return None;
        }
        let first = self.len();
        for (at, slot) in (first..).zip(slots) {
            let (segment, at_segment, len) = place(at);
            let segment = self.segments[segment].get_or_init(|| (0..len).map(|_| OnceLock::new()).collect());
            let is_new = segment[at_segment].set(Slot::new(slot)).is_ok();
            assert!(is_new, "a place is taken once");
            self.len.store(at + 1, Ordering::Release);
        }
        Some(first)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &Slot)> {
        (0..self.len()).filter_map(|at| Some((at, self.get(at)?)))
    }
}

/// The segment of a place, the place there, and the places that the segment has.
#[inline]
fn place(at: usize) -> (usize, usize, usize) {
    let shifted = at + FIRST_SEGMENT_SLOTS;
    let segment = (shifted.ilog2() - FIRST_SEGMENT_SLOTS.ilog2()) as usize;
    let len = FIRST_SEGMENT_SLOTS << segment;
    (segment, shifted - len, len)
}
