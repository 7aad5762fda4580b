//! Decides how much memory the data of a database may take, and keeps freed blocks for reuse.
//!
//! Page faults and zeroing are a large part of a load into fresh memory, so a freed block is not returned to the
//! operating system at once: it waits, still faulted in, in a short free list for the next block of about its size.
//! Waiting blocks do not count as used, and go back to the operating system before an allocation is refused.
//!
//! Not here: how blocks are cut into columns (`arena.rs`).

use std::fmt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::OutOfMemory;

/// What a huge page holds; larger blocks are aligned to it.
pub(crate) const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Blocks smaller than a huge page are multiples of this (a multiple of every page size in use).
pub(crate) const SMALL_PAGE_BYTES: usize = 64 << 10;

/// Bytes of freed blocks that wait for reuse, unless the caller decides otherwise.
const FREE_BYTES_MAX: usize = 64 << 20;

const _: () = assert!(HUGE_PAGE_BYTES.is_multiple_of(SMALL_PAGE_BYTES));

/// Shared accounting of all blocks of a database, with an optional limit. Counts whole blocks; what small vectors hold
/// beside them (lists of chunks, copied validity bits) is not counted.
pub struct Memory {
    limit: Option<usize>,
    free_bytes_max: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    used: usize,
    peak: usize,
    free_bytes: usize,
    /// Oldest first.
    free: Vec<Mapping>,
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").field("limit", &self.limit).field("used", &self.used()).finish_non_exhaustive()
    }
}

impl Memory {
    /// Accounting with a limit in bytes.
    #[must_use]
    pub fn new(limit: Option<usize>) -> Arc<Memory> {
        Memory::with_free_bytes_max(limit, FREE_BYTES_MAX)
    }

    /// The same, with a choice of how many bytes of freed blocks may wait for reuse.
    #[must_use]
    pub fn with_free_bytes_max(limit: Option<usize>, free_bytes_max: usize) -> Arc<Memory> {
        Arc::new(Memory { limit, free_bytes_max, state: Mutex::default() })
    }

    /// Bytes in use.
    #[must_use]
    pub fn used(&self) -> usize {
        self.state().used
    }

    /// The most bytes that were ever in use.
    #[must_use]
    pub fn peak(&self) -> usize {
        self.state().peak
    }

    /// Starts the peak anew from what is in use.
    pub fn reset_peak(&self) {
        let mut state = self.state();
        state.peak = state.used;
    }

    /// The limit in bytes.
    #[must_use]
    pub fn limit(&self) -> Option<usize> {
        self.limit
    }

    /// A mapping of at least `bytes`, and at most twice as many.
    pub(crate) fn map(&self, bytes: usize) -> Result<Mapping, OutOfMemory> {
        if bytes > isize::MAX as usize / 4 {
            return Err(OutOfMemory { wanted: bytes, used: self.used(), limit: self.limit });
        }
        let bytes = Mapping::round(bytes);
        let mut dropped = Vec::new();
        {
            let mut state = self.state();
            // The most recently freed is the likeliest to be in a cache.
            let found = state.free.iter().rposition(|free| (bytes..=2 * bytes).contains(&free.bytes()));
            if let Some(found) = found {
                let bytes = state.free[found].bytes();
                if self.limit.is_none_or(|limit| state.used + bytes <= limit) {
                    state.free_bytes -= bytes;
                    state.take(bytes);
                    return Ok(state.free.remove(found));
                }
            }
            if let Some(limit) = self.limit {
                let wanted = state.used.saturating_add(bytes);
                if wanted > limit {
                    return Err(OutOfMemory { wanted: bytes, used: state.used, limit: Some(limit) });
                }
                state.release_free(limit - wanted, &mut dropped);
            }
            state.take(bytes);
        }
        // The system calls are made without the lock.
        drop(dropped);
        Mapping::new(bytes).ok_or_else(|| {
            let mut state = self.state();
            state.used -= bytes;
            OutOfMemory { wanted: bytes, used: state.used, limit: None }
        })
    }

    /// Takes back a mapping from [`Memory::map`].
    pub(crate) fn unmap(&self, mapping: Mapping) {
        let bytes = mapping.bytes();
        let mut dropped = Vec::new();
        let mut state = self.state();
        state.used -= bytes;
        let room = self.limit.map_or(usize::MAX, |limit| limit - state.used).min(self.free_bytes_max);
        if bytes > room || cfg!(feature = "exact-blocks") {
            dropped.push(mapping);
        } else {
            state.release_free(room - bytes, &mut dropped);
            state.free_bytes += bytes;
            state.free.push(mapping);
        }
        drop(state);
        drop(dropped);
    }

    /// Counts out bytes of a mapping that were given back to the operating system.
    pub(crate) fn trimmed(&self, bytes: usize) {
        self.state().used -= bytes;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // The state is consistent at every point where a panic could occur.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn take(&mut self, bytes: usize) {
        self.used += bytes;
        self.peak = self.peak.max(self.used);
    }

    /// Moves the oldest waiting blocks to `dropped` until at most `bytes_max` wait.
    fn release_free(&mut self, bytes_max: usize, dropped: &mut Vec<Mapping>) {
        while self.free_bytes > bytes_max {
            let mapping = self.free.remove(0);
            self.free_bytes -= mapping.bytes();
            dropped.push(mapping);
        }
    }
}

/// An anonymous mapping, owned. Of 2 MiB or more: aligned to 2 MiB and advised to take huge pages.
///
/// With the feature `exact-blocks` it is a heap allocation of just the bytes asked for, so that a sanitizer sees its
/// bounds.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<u8>,
    /// Shrinks once, when the unused end is given back.
    bytes: AtomicUsize,
}

// SAFETY: the mapping is plain memory that belongs to this value alone, whichever thread that lives in.
unsafe impl Send for Mapping {}
// SAFETY: a shared mapping gives out nothing but its address and size.
unsafe impl Sync for Mapping {}

impl Mapping {
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }
}

#[cfg(not(feature = "exact-blocks"))]
impl Mapping {
    fn round(bytes: usize) -> usize {
        let unit = if bytes < HUGE_PAGE_BYTES { SMALL_PAGE_BYTES } else { HUGE_PAGE_BYTES };
        bytes.max(1).next_multiple_of(unit)
    }

    fn new(bytes: usize) -> Option<Mapping> {
        let slack = if bytes < HUGE_PAGE_BYTES { 0 } else { HUGE_PAGE_BYTES };
        let mapped = bytes.checked_add(slack)?;
        // SAFETY: an anonymous private mapping at an address of the kernel's choice touches no existing memory.
        let raw = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                mapped,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if raw == libc::MAP_FAILED {
            return None;
        }
        let raw = raw.cast::<u8>();
        let lead = if slack == 0 { 0 } else { raw.align_offset(HUGE_PAGE_BYTES) };
        let start = raw.wrapping_add(lead);
        // SAFETY: the ranges are parts of the mapping made above: an unused lead, the block, an unused rest.
        unsafe {
            if lead > 0 {
                libc::munmap(raw.cast(), lead);
            }
            if slack > lead {
                libc::munmap(start.wrapping_add(bytes).cast(), slack - lead);
            }
            // Advice only: without huge pages everything works, slower.
            #[cfg(target_os = "linux")]
            if slack > 0 {
                libc::madvise(start.cast(), bytes, libc::MADV_HUGEPAGE);
            }
        }
        Some(Mapping { start: NonNull::new(start)?, bytes: AtomicUsize::new(bytes) })
    }

    /// Gives the bytes from about `keep` on back to the operating system; says how many.
    ///
    /// # Safety
    ///
    /// Nothing uses the bytes from `keep` on, now or later, and no other thread trims the mapping.
    pub(crate) unsafe fn trim(&self, keep: usize) -> usize {
        let bytes = self.bytes();
        // A block of huge pages keeps whole ones.
        let unit = if bytes < HUGE_PAGE_BYTES { SMALL_PAGE_BYTES } else { HUGE_PAGE_BYTES };
        let keep = keep.max(1).next_multiple_of(unit);
        if keep >= bytes {
            return 0;
        }
        // SAFETY: the range is the end of this mapping, which nothing uses, as the caller promises.
        unsafe { libc::munmap(self.start.as_ptr().wrapping_add(keep).cast(), bytes - keep) };
        self.bytes.store(keep, Ordering::Relaxed);
        bytes - keep
    }
}

#[cfg(not(feature = "exact-blocks"))]
impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, and nothing outlives it.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes()) };
    }
}

#[cfg(feature = "exact-blocks")]
mod exact {
    use std::alloc::{Layout, alloc, dealloc};

    use super::{AtomicUsize, Mapping, NonNull};

    const ALIGN: usize = 64;

    impl Mapping {
        pub(super) fn round(bytes: usize) -> usize {
            bytes.max(1)
        }

        pub(super) fn new(bytes: usize) -> Option<Mapping> {
            let layout = Layout::from_size_align(bytes, ALIGN).ok()?;
            // SAFETY: `round` made the size at least 1.
            let start = NonNull::new(unsafe { alloc(layout) })?;
            Some(Mapping { start, bytes: AtomicUsize::new(bytes) })
        }

        /// A heap allocation keeps its size.
        ///
        /// # Safety
        ///
        /// As for a real mapping.
        pub(crate) unsafe fn trim(&self, keep: usize) -> usize {
            assert!(keep <= self.bytes(), "no more is kept than there is");
            0
        }
    }

    impl Drop for Mapping {
        fn drop(&mut self) {
            let layout = Layout::from_size_align(self.bytes(), ALIGN).expect("the layout it was allocated with");
            // SAFETY: allocated by `new` with this layout, which never changes.
            unsafe { dealloc(self.start.as_ptr(), layout) };
        }
    }
}

#[cfg(all(test, not(feature = "exact-blocks")))]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    #[test]
    fn sizes_are_rounded_to_pages() {
        let memory = Memory::new(None);
        for (wanted, given) in [(1, 64 << 10), (65 << 10, 128 << 10), (2 * MIB, 2 * MIB), (2 * MIB + 1, 4 * MIB)] {
            assert_eq!(memory.map(wanted).expect("no limit").bytes(), given);
        }
    }

    #[test]
    fn a_freed_block_is_used_again_for_about_its_size() {
        let memory = Memory::new(None);
        let mapping = memory.map(4 * MIB).expect("no limit");
        let start = mapping.start();
        memory.unmap(mapping);
        assert_eq!(memory.used(), 0);
        let small = memory.map(MIB).expect("no limit");
        assert_ne!(small.start(), start);
        let fitting = memory.map(3 * MIB).expect("no limit");
        assert_eq!((fitting.start(), fitting.bytes()), (start, 4 * MIB));
        assert_eq!((memory.used(), memory.peak()), (5 * MIB, 5 * MIB));
        memory.unmap(fitting);
        memory.unmap(small);
        assert_eq!((memory.used(), memory.peak()), (0, 5 * MIB));
        memory.reset_peak();
        assert_eq!(memory.peak(), 0);
    }

    #[test]
    fn only_so_much_waits() {
        let memory = Memory::with_free_bytes_max(None, 4 * MIB);
        let mappings: Vec<Mapping> = (0..4).map(|_| memory.map(2 * MIB).expect("no limit")).collect();
        for mapping in mappings {
            memory.unmap(mapping);
        }
        assert_eq!(memory.state().free_bytes, 4 * MIB);
        let large = memory.map(6 * MIB).expect("no limit");
        memory.unmap(large);
        assert_eq!(memory.state().free_bytes, 4 * MIB, "too large to wait");
    }

    #[test]
    fn waiting_blocks_make_room_under_the_limit() {
        let memory = Memory::new(Some(8 * MIB));
        let mapping = memory.map(6 * MIB).expect("within the limit");
        memory.unmap(mapping);
        assert_eq!(memory.state().free_bytes, 6 * MIB);
        let small = memory.map(2 * MIB).expect("within the limit");
        assert_eq!(memory.state().free_bytes, 6 * MIB);
        let other = memory.map(2 * MIB).expect("within the limit");
        assert_eq!(memory.state().free_bytes, 0);
        let error = memory.map(6 * MIB).err();
        assert_eq!(error, Some(OutOfMemory { wanted: 6 * MIB, used: 4 * MIB, limit: Some(8 * MIB) }));
        memory.unmap(small);
        memory.unmap(other);
    }

    #[test]
    fn absurd_sizes_are_refused() {
        for limit in [None, Some(MIB)] {
            let memory = Memory::new(limit);
            assert!(memory.map(usize::MAX).is_err());
            assert!(memory.map(1 << 60).is_err());
            assert_eq!(memory.used(), 0);
        }
    }
}
