//! A file mapped into memory, and what the kernel is told about how it will be read (Instant Loading, 3.3 and Fig. 11).

use std::fs::File;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;

use super::end_mark;
use super::shrink_guard::{self, Guarded};

/// Bytes of a page on every machine that we run on; advice is given for whole pages.
const PAGE_BYTES: usize = 4096;

/// A read-only mapping of a whole file. If the file shrinks, lost pages read as zeros and [`Mapping::is_whole`]
/// turns false; nothing crashes.
pub struct Mapping {
    start: NonNull<u8>,
    length: usize,
    /// Bytes of text: all but an end mark.
    text_bytes: usize,
    guard: Guarded,
}

// SAFETY: the mapping is read-only and lives until drop; the guard is a slot in a table of atomics.
unsafe impl Send for Mapping {}
// SAFETY: as above; shared reads of a read-only mapping need no synchronisation.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `length` > 0 bytes of `file`; `None` where the system refuses or too many files are mapped already.
    pub(super) fn new(file: &File, length: usize) -> Option<Self> {
        // SAFETY: a fresh mapping at an address of the kernel's choice, of an open file.
        let address =
            unsafe { libc::mmap(std::ptr::null_mut(), length, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        if address == libc::MAP_FAILED {
            return None;
        }
        // Advice only: the kernel then reads ahead 4 MiB at a time into huge pages of the cache and maps them as such.
        // (`MADV_WILLNEED` would fill the cache with pages of 4 KiB, whose mapping is a quarter of the work of every
        // later load.)
        // SAFETY: the mapping made above; how large its pages are changes nothing about what a read yields.
        unsafe { libc::madvise(address, length, libc::MADV_HUGEPAGE) };
        let start = NonNull::new(address.cast::<u8>())?;
        let Some(guard) = shrink_guard::watch(start.as_ptr() as usize, length) else {
            // SAFETY: the mapping made above, which nothing refers to.
            unsafe { libc::munmap(address, length) };
            return None;
        };
        let mut mapping = Self { start, length, text_bytes: length, guard };
        mapping.text_bytes = end_mark::strip(mapping.bytes()).len();
        Some(mapping)
    }

    /// The same mapping, whose text ends after `bytes`, if it is longer.
    pub(super) fn cut(mut self, bytes: usize) -> Self {
        self.text_bytes = self.text_bytes.min(bytes);
        self
    }

    /// The text. Another process may write to the file while it is read, so that two looks at a byte differ: then values
    /// are unspecified. Nothing that is relied upon follows from what was seen before: positions lie in memory of our own
    /// and are checked against this length, which does not change; and whether a text is UTF-8 is asked of the copy that
    /// is kept (`longshore-storage`).
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: start..start+length is mapped readable until drop, and the text is no longer; pages that the file
        // loses are replaced by zero pages in the fault handler, so that a read never fails. Nobody in this process writes
        // to it. That another one may is beyond what a shared slice promises; what a read yields then is some byte, and
        // who reads is written for that, as said above.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.text_bytes) }
    }

    /// Whether no page was lost so far; to be asked after the bytes were used and before anything is kept.
    #[inline]
    #[must_use]
    pub fn is_whole(&self) -> bool {
        !self.guard.is_hit()
    }

    /// Enters the pages of `range` into the page table in one go rather than by a fault each.
    pub fn populate(&self, range: Range<usize>) {
        self.advise(range, libc::MADV_POPULATE_READ);
    }

    /// Gives the pages of `range` out of our memory again; the page cache keeps them.
    pub fn release(&self, range: Range<usize>) {
        self.advise(range, libc::MADV_DONTNEED);
    }

    /// Advice may fail (an older kernel, a page that cannot be read): then reads fault one by one, or find out.
    fn advise(&self, range: Range<usize>, advice: libc::c_int) {
        let start = range.start.min(self.length) / PAGE_BYTES * PAGE_BYTES;
        let end = range.end.min(self.length);
        if start < end {
            // SAFETY: whole pages within the mapping; none of the advices used changes what a read yields.
            unsafe { libc::madvise(self.start.as_ptr().add(start).cast(), end - start, advice) };
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        self.guard.release();
        // SAFETY: the mapping made in `new`; no reference to it outlives `self`.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}
