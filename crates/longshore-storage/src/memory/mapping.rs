//! Anonymous mappings: the system calls, and who owns which bytes.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

#[cfg(all(target_os = "linux", not(feature = "exact-blocks")))]
use super::pages;

/// What a huge page holds; larger blocks are aligned to it.
pub(crate) const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Blocks smaller than a huge page are multiples of this (a multiple of every page size in use).
pub(super) const SMALL_PAGE_BYTES: usize = 64 << 10;

const _: () = assert!(HUGE_PAGE_BYTES.is_multiple_of(SMALL_PAGE_BYTES));

/// A run of anonymous memory, owned. Of 2 MiB or more: aligned to 2 MiB and advised to take huge pages, or not (`pages`).
///
/// It may be a part of what the system mapped at a time, or consist of several such parts: the system calls go by
/// addresses.
///
/// Invariant. All bytes are initialised: the system, or the allocator, gave them as zeros, and what is written to them
/// afterwards are bytes. What a byte that was not written since it was asked for holds, nobody can tell: it may have been
/// used before, and the system may put a zero there until then.
///
/// With the feature `exact-blocks` it is a heap allocation of just the bytes asked for, so that a sanitizer sees its
/// bounds; it is then neither split nor joined.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<u8>,
    /// Shrinks when the end is split off.
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

    /// As [`Mapping::trim`], of a mapping that nobody uses.
    pub(super) fn split_off(&self, keep: usize) -> Option<Mapping> {
        // SAFETY: only the free list calls this, on blocks that nothing refers to, under its lock.
        unsafe { self.trim(keep) }
    }
}

/// Bytes of main memory, if the system tells.
pub(super) fn machine_bytes() -> Option<usize> {
    // SAFETY: these read two numbers.
    let (pages, page_bytes) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    usize::try_from(pages).ok()?.checked_mul(usize::try_from(page_bytes).ok()?)
}

#[cfg(not(feature = "exact-blocks"))]
impl Mapping {
    pub(super) fn round(bytes: usize) -> usize {
        bytes.max(1).next_multiple_of(Mapping::unit(bytes))
    }

    /// What the size of a mapping is a multiple of.
    fn unit(bytes: usize) -> usize {
        if bytes < HUGE_PAGE_BYTES { SMALL_PAGE_BYTES } else { HUGE_PAGE_BYTES }
    }

    pub(super) fn new(bytes: usize) -> Option<Mapping> {
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
        }
        let start = NonNull::new(start)?;
        #[cfg(target_os = "linux")]
        if slack > 0 {
            pages::advise(start, bytes, HUGE_PAGE_BYTES);
        }
        Some(Mapping { start, bytes: AtomicUsize::new(bytes) })
    }

    /// Splits off the bytes from about `keep` on as a mapping of their own.
    ///
    /// # Safety
    ///
    /// Nothing uses the bytes from `keep` on, now or later, and no other thread trims the mapping.
    pub(crate) unsafe fn trim(&self, keep: usize) -> Option<Mapping> {
        let bytes = self.bytes();
        // A block of huge pages keeps whole ones.
        let keep = keep.max(1).next_multiple_of(Mapping::unit(bytes));
        if keep >= bytes {
            return None;
        }
        // SAFETY: `keep` lies within the mapping.
        let start = unsafe { self.start.add(keep) };
        self.bytes.store(keep, Ordering::Relaxed);
        Some(Mapping { start, bytes: AtomicUsize::new(bytes - keep) })
    }

    /// Whether one begins where the other ends.
    pub(super) fn adjoins(&self, other: &Mapping) -> bool {
        self.end() == other.start.addr().get() || other.end() == self.start.addr().get()
    }

    fn end(&self) -> usize {
        self.start.addr().get() + self.bytes()
    }

    /// Both as one, where they adjoin.
    pub(super) fn join(self, other: Mapping) -> Mapping {
        assert!(self.adjoins(&other), "only neighbours are joined");
        let bytes = AtomicUsize::new(self.bytes() + other.bytes());
        let start = self.start.min(other.start);
        std::mem::forget((self, other));
        Mapping { start, bytes }
    }

    /// Lets the system take the pages when it runs short, unless something is written to them before. False where it
    /// does not know how.
    pub(super) fn mark_free(&self) -> bool {
        // SAFETY: the mapping is this value's own, and what it holds matters to nobody: it is in the free list.
        unsafe { libc::madvise(self.start.as_ptr().cast(), self.bytes(), libc::MADV_FREE) == 0 }
    }
}

#[cfg(not(feature = "exact-blocks"))]
impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the bytes are this value's own, and nothing outlives it.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes()) };
    }
}

#[cfg(feature = "exact-blocks")]
mod exact {
    #![allow(clippy::unused_self, reason = "these stand in for what a real mapping can do")]

    use std::alloc::{Layout, alloc_zeroed, dealloc};

    use super::{AtomicUsize, Mapping, NonNull};

    const ALIGN: usize = 64;

    impl Mapping {
        pub(in crate::memory) fn round(bytes: usize) -> usize {
            bytes.max(1)
        }

        pub(in crate::memory) fn new(bytes: usize) -> Option<Mapping> {
            let layout = Layout::from_size_align(bytes, ALIGN).ok()?;
            // SAFETY: `round` made the size at least 1.
            let start = NonNull::new(unsafe { alloc_zeroed(layout) })?;
            Some(Mapping { start, bytes: AtomicUsize::new(bytes) })
        }

        /// A heap allocation keeps its size.
        ///
        /// # Safety
        ///
        /// As for a real mapping.
        pub(crate) unsafe fn trim(&self, keep: usize) -> Option<Mapping> {
            assert!(keep <= self.bytes(), "no more is kept than there is");
            None
        }

        pub(in crate::memory) fn adjoins(&self, _: &Mapping) -> bool {
            false
        }

        pub(in crate::memory) fn join(self, _: Mapping) -> Mapping {
            unreachable!("allocations have no neighbours")
        }

        pub(in crate::memory) fn mark_free(&self) -> bool {
            false
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
