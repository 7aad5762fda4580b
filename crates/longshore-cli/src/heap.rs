//! The allocator of the binary: mimalloc, with a count of what it has handed out.
//!
//! The memory limit asks for the count (`longshore_engine::Config::heap_bytes`). Each thread adds up what it allocates
//! and frees, and tells all others when the sum has grown by [`STEP_BYTES`]; so a count costs an addition, and is wrong
//! by no more than a step per thread.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::ffi::{c_int, c_long};
use std::sync::atomic::{AtomicIsize, Ordering};

use mimalloc::MiMalloc;

/// Bytes that a thread allocates or frees before it tells the others.
const STEP_BYTES: isize = 64 << 10;

static HANDED_OUT: AtomicIsize = AtomicIsize::new(0);

thread_local! {
    static UNTOLD: Untold = const { Untold(Cell::new(0)) };
}

/// What a thread has added up and not told; told when the thread ends.
struct Untold(Cell<isize>);

impl Drop for Untold {
    fn drop(&mut self) {
        HANDED_OUT.fetch_add(self.0.get(), Ordering::Relaxed);
    }
}

/// `mi_option_purge_delay` of mimalloc's `mi_option_t`.
const PURGE_DELAY: c_int = 15;

unsafe extern "C" {
    /// Sets one of mimalloc's options.
    fn mi_option_set(option: c_int, value: c_long);
}

/// Gives what is freed back to the system at once, rather than keep it for a while: to be called where the memory that
/// the process has is limited.
pub(crate) fn keep_nothing() {
    // SAFETY: the function is mimalloc's, which is linked in as the allocator, and takes these two integers; it only sets
    // a number that mimalloc reads whenever it frees pages.
    unsafe { mi_option_set(PURGE_DELAY, 0) };
}

/// mimalloc, counted.
pub(crate) struct Counted;

/// Bytes that were handed out and have not come back.
pub(crate) fn bytes() -> usize {
    usize::try_from(HANDED_OUT.load(Ordering::Relaxed)).unwrap_or(0)
}

#[inline]
fn count(bytes: isize) {
    let told = UNTOLD.try_with(|untold| {
        let sum = untold.0.get() + bytes;
        if sum.abs() < STEP_BYTES {
            untold.0.set(sum);
        } else {
            untold.0.set(0);
            HANDED_OUT.fetch_add(sum, Ordering::Relaxed);
        }
    });
    if told.is_err() {
        HANDED_OUT.fetch_add(bytes, Ordering::Relaxed);
    }
}

// SAFETY: every call is handed on to mimalloc as it is, and its answer is handed back; counting allocates nothing and
// does not unwind.
unsafe impl GlobalAlloc for Counted {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise about `layout` is the one that mimalloc asks for.
        let memory = unsafe { MiMalloc.alloc(layout) };
        if !memory.is_null() {
            count(layout.size() as isize);
        }
        memory
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the memory came from mimalloc with this layout, as the caller promises of this allocator.
        unsafe { MiMalloc.dealloc(memory, layout) };
        count(-(layout.size() as isize));
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as for `alloc`.
        let memory = unsafe { MiMalloc.alloc_zeroed(layout) };
        if !memory.is_null() {
            count(layout.size() as isize);
        }
        memory
    }

    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: as for `dealloc`; the caller promises that `bytes` fits the layout's alignment.
        let moved = unsafe { MiMalloc.realloc(memory, layout, bytes) };
        if !moved.is_null() {
            count(bytes as isize - layout.size() as isize);
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_allocations_are_counted_until_they_are_freed() {
        const BYTES: usize = 1 << 30;
        let before = bytes();
        let memory = Vec::<u8>::with_capacity(BYTES);
        assert!(bytes() >= before + BYTES / 2, "{} {before}", bytes());
        drop(memory);
        assert!(bytes() < before + BYTES / 2, "{} {before}", bytes());
    }
}
