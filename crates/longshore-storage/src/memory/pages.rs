//! Which pages the system shall give for fresh memory: huge ones, unless it is slow to.
//!
//! Huge pages take fewer faults to fill and fewer entries of the processor's tables to read. But a virtual machine whose
//! kernel reports free memory to its host reports it in huge pages: to touch one that is free costs the host's work for
//! each of its parts, at 0.3 GB/s where this was measured, while small pages come from memory that was in use before, at
//! 2.4 GB/s. No setting tells; so the first page of a large block is touched at once, by the clock.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Blocks of this size have a first page that is used for sure.
const TRIED_BYTES_MIN: usize = 8 << 20;

/// The CPU time from which on a huge page is slow to get: small ones of its size take 0.9 ms, a huge one at best 0.25.
const SLOW: Duration = Duration::from_micros(1500);

/// Blocks that get small pages after a huge one was slow, until one is tried again.
const BLOCKS_BETWEEN_TRIALS: usize = 16;

/// Blocks that get small pages from now on.
static SMALL: AtomicUsize = AtomicUsize::new(0);

/// Advises the system about a block of whole huge pages, of `page_bytes` each, that nothing was written to.
pub(super) fn advise(start: NonNull<u8>, bytes: usize, page_bytes: usize) {
    let is_small = SMALL.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok();
    if is_small {
        return take(start, bytes, libc::MADV_NOHUGEPAGE);
    }
    take(start, bytes, libc::MADV_HUGEPAGE);
    if bytes < TRIED_BYTES_MIN {
        return;
    }
    let before = cpu_time();
    take(start, page_bytes, libc::MADV_POPULATE_WRITE);
    if let (Some(before), Some(now)) = (before, cpu_time())
        && now.saturating_sub(before) > SLOW
    {
        SMALL.store(BLOCKS_BETWEEN_TRIALS, Ordering::Relaxed);
        // SAFETY: the block has more than one page.
        let rest = unsafe { start.add(page_bytes) };
        take(rest, bytes - page_bytes, libc::MADV_NOHUGEPAGE);
    }
}

/// Gives advice, which may be ignored: whatever the system makes of it, the memory works.
fn take(start: NonNull<u8>, bytes: usize, advice: i32) {
    // SAFETY: the memory is the caller's; these advices leave what it holds as it is.
    unsafe { libc::madvise(start.as_ptr().cast(), bytes, advice) };
}

/// What this thread has computed so far, in the kernel too.
fn cpu_time() -> Option<Duration> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it writes the time where it may.
    let told = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    let nanoseconds = u32::try_from(time.tv_nsec).ok()?;
    (told == 0).then_some(Duration::new(u64::try_from(time.tv_sec).ok()?, nanoseconds))
}
