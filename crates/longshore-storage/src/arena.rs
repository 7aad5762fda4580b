//! Cuts large blocks of memory into the regions that columns and heaps are made of.
//!
//! An arena belongs to one worker, so that allocation needs no lock. Its blocks are large, aligned to huge pages and
//! filled from front to back; memory that is never written costs nothing, because the system provides it on first
//! touch. A [`Region`] keeps its block alive and can outlive the arena. A block that no region uses any longer is filled
//! anew while it is still warm; that is how a scan works on the same few megabytes from batch to batch.
//!
//! Not here: limits and recycling between arenas (`memory.rs`).

use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_buffer::Buffer;

use crate::memory::{Mapping, Memory, OutOfMemory};

/// The size of an arena's blocks unless the caller knows better.
pub const ARENA_BLOCK_BYTES: usize = 32 << 20;

/// Where memory is limited, a block takes no more than one part in so many of the limit, lest what a few workers have begun
/// to fill leave nothing to the others; and not less than [`BLOCK_BYTES_MIN`].
const LIMIT_BLOCKS: usize = 32;
const BLOCK_BYTES_MIN: usize = 64 << 10;

/// Regions begin at multiples of this: a cache line, and the widest vector.
const REGION_ALIGN: usize = 64;

/// Blocks with some room left that an arena keeps in view.
const OPEN_BLOCKS_MAX: usize = 4;

/// A worker's allocator of regions.
#[derive(Debug)]
pub struct Arena {
    memory: Arc<Memory>,
    block_bytes: usize,
    open: Vec<Arc<Block>>,
}

impl Arena {
    /// An arena that takes blocks of `block_bytes` ([`ARENA_BLOCK_BYTES`] for loads, 1 to 2 MiB for batches that are
    /// soon let go of), and of less where memory is limited.
    #[must_use]
    pub fn new(memory: Arc<Memory>, block_bytes: usize) -> Arena {
        let share = memory.limit().map_or(usize::MAX, |limit| (limit / LIMIT_BLOCKS).max(BLOCK_BYTES_MIN));
        Arena { memory, block_bytes: block_bytes.min(share), open: Vec::new() }
    }

    /// The accounting that the arena's blocks belong to.
    #[must_use]
    pub fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    /// A region of at least one and exactly `bytes` bytes, of unspecified content.
    ///
    /// # Errors
    ///
    /// When the memory limit is hit, or the operating system has no more.
    pub fn allocate(&mut self, bytes: usize) -> Result<Region, OutOfMemory> {
        let bytes = bytes.max(1);
        if !cfg!(feature = "exact-blocks") {
            for block in &mut self.open {
                if let Some(idle) = Arc::get_mut(block) {
                    *idle.next.get_mut() = 0;
                }
                if let Some(region) = Block::cut(block, bytes) {
                    return Ok(region);
                }
            }
        }
        let block = Arc::new(self.block(bytes)?);
        let region = Region { start: block.mapping().start(), bytes, block: Arc::clone(&block) };
        if self.open.len() == OPEN_BLOCKS_MAX
            && let Some(fullest) = (0..self.open.len()).min_by_key(|&at| self.open[at].room())
        {
            self.open.remove(fullest).close();
        }
        self.open.push(block);
        Ok(region)
    }

    /// A new block of which the first `bytes` are taken: of the usual size, or smaller when memory is short.
    fn block(&mut self, bytes: usize) -> Result<Block, OutOfMemory> {
        let usual = if cfg!(feature = "exact-blocks") { bytes } else { bytes.max(self.block_bytes) };
        let mapping = self.memory.map(usual).or_else(|_| {
            self.open.retain(|block| Arc::strong_count(block) > 1);
            self.memory.map(usual).or_else(|_| self.memory.map(bytes))
        })?;
        Ok(Block { mapping: Some(mapping), memory: Arc::clone(&self.memory), next: AtomicUsize::new(bytes) })
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        for block in self.open.drain(..) {
            block.close();
        }
    }
}

/// A mapping and how far it is given out.
#[derive(Debug)]
struct Block {
    /// Present until the block is dropped.
    mapping: Option<Mapping>,
    memory: Arc<Memory>,
    /// Offset of the first byte that belongs to no region.
    next: AtomicUsize,
}

impl Block {
    fn mapping(&self) -> &Mapping {
        self.mapping.as_ref().expect("taken only by drop")
    }

    fn room(&self) -> usize {
        self.mapping().bytes().saturating_sub(self.next.load(Ordering::Relaxed))
    }

    /// A region at the end of what is given out. Only the block's arena calls this, so that just shrinking regions
    /// compete for `next`.
    fn cut(self: &Arc<Block>, bytes: usize) -> Option<Region> {
        let mut next = self.next.load(Ordering::Acquire);
        loop {
            let start = next.checked_next_multiple_of(REGION_ALIGN)?;
            let end = start.checked_add(bytes)?;
            if end > self.mapping().bytes() {
                return None;
            }
            match self.next.compare_exchange(next, end, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => {
                    // SAFETY: `start` lies within the mapping.
                    let start = unsafe { self.mapping().start().add(start) };
                    return Some(Region { block: Arc::clone(self), start, bytes });
                }
                Err(now) => next = now,
            }
        }
    }

    /// Ends the filling of a block: what nobody has used goes back to the free list. A block without regions is simply
    /// dropped (and goes there whole).
    fn close(self: Arc<Block>) {
        if Arc::strong_count(&self) == 1 {
            return;
        }
        let used = self.next.swap(self.mapping().bytes(), Ordering::AcqRel);
        // SAFETY: regions end at or before `used`, and with `next` at the end of the mapping nothing is cut from the
        // rest; a region that shrinks now can lower `next` only if it reaches to the very end, and then there is no
        // rest. The arena closes each block once.
        if let Some(rest) = unsafe { self.mapping().trim(used) } {
            self.memory.unmap(rest);
        }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if let Some(mapping) = self.mapping.take() {
            self.memory.unmap(mapping);
        }
    }
}

/// Types whose every bit pattern is a value and that have no padding.
pub(crate) trait Plain: Copy + 'static {}
impl Plain for u8 {}
impl Plain for u16 {}
impl Plain for i16 {}
impl Plain for i32 {}
impl Plain for i64 {}
impl Plain for u32 {}
impl Plain for u64 {}
impl Plain for i128 {}
impl Plain for u128 {}
impl Plain for f32 {}
impl Plain for f64 {}

/// A run of bytes within a block, aligned to 64 bytes, which it keeps alive. Owned: no other region has these bytes.
#[derive(Debug)]
pub struct Region {
    block: Arc<Block>,
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: a region owns its bytes, which are plain memory, and keeps them mapped through the block.
unsafe impl Send for Region {}
// SAFETY: a shared region gives access to its bytes only through functions whose callers promise absence of races.
unsafe impl Sync for Region {}

impl Region {
    /// Its size in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// All of it, for writing.
    pub fn as_uninit(&mut self) -> &mut [MaybeUninit<u8>] {
        self.spare(0, self.bytes)
    }

    /// Cuts the region to its first `bytes`. The rest goes back to the arena if the region is the last one of its
    /// block, else it stays unused.
    ///
    /// # Panics
    ///
    /// When `bytes` is more than the region has.
    pub fn shrink(&mut self, bytes: usize) {
        // SAFETY: the exclusive borrow shows that nobody uses the rest now, and it is out of reach from here on.
        unsafe { self.release_from(bytes) };
        self.bytes = bytes;
    }

    /// Gives the bytes from `bytes` on back to the arena, if the region is the last one of its block.
    ///
    /// # Safety
    ///
    /// No owner of the region uses them any longer.
    pub(crate) unsafe fn release_from(&self, bytes: usize) {
        assert!(bytes <= self.bytes, "a region cannot grow");
        let start = self.start.as_ptr().addr() - self.block.mapping().start().as_ptr().addr();
        let (end, new_end) = (start + self.bytes, start + bytes);
        // Fails when the region is not the last; then nothing changes. Release: what was written to the rest happens
        // before the arena's thread gives it out again.
        let _ = self.block.next.compare_exchange(end, new_end, Ordering::AcqRel, Ordering::Relaxed);
    }

    /// Values `from..from + count`, taken as an array of `T`, for writing.
    pub(crate) fn spare<T: Plain>(&mut self, from: usize, count: usize) -> &mut [MaybeUninit<T>] {
        let start = self.at::<T>(from, count);
        // SAFETY: the range lies within the region (`at` checks) and is aligned; it is borrowed exclusively with it;
        // `MaybeUninit` asks nothing of its content.
        unsafe { std::slice::from_raw_parts_mut(start.cast(), count) }
    }

    /// Values `from..from + count`, taken as an array of `T`.
    ///
    /// # Safety
    ///
    /// They have been written, and nobody writes them as long as the borrow lasts.
    pub(crate) unsafe fn values<T: Plain>(&self, from: usize, count: usize) -> &[T] {
        let start = self.at::<T>(from, count);
        // SAFETY: the range lies within the region (`at` checks) and is aligned; the caller promises the rest.
        unsafe { std::slice::from_raw_parts(start, count) }
    }

    /// The same for writing, of a region that several threads share.
    ///
    /// # Safety
    ///
    /// As long as the borrow lasts, nobody else reads or writes these values.
    #[allow(clippy::mut_from_ref, reason = "the caller owns the range, though not the region")]
    pub(crate) unsafe fn reserved<T: Plain>(&self, from: usize, count: usize) -> &mut [MaybeUninit<T>] {
        let start = self.at::<T>(from, count);
        // SAFETY: the range lies within the region (`at` checks) and is aligned; the caller promises the rest.
        unsafe { std::slice::from_raw_parts_mut(start.cast(), count) }
    }

    /// The address of value `from` of an array of `T` that has at least `count` values from there.
    ///
    /// # Panics
    ///
    /// When the region is smaller than that.
    pub(crate) fn at<T: Plain>(&self, from: usize, count: usize) -> *mut T {
        const { assert!(align_of::<T>() <= REGION_ALIGN) };
        let end = from.checked_add(count).and_then(|end| end.checked_mul(size_of::<T>()));
        assert!(end.is_some_and(|end| end <= self.bytes), "within the region");
        self.start.as_ptr().wrapping_add(from * size_of::<T>()).cast()
    }

    /// The first `bytes` as an Arrow buffer that keeps the block alive. They are initialised (`Mapping`); those that were
    /// not written hold anything, and something else from one moment to the next.
    ///
    /// # Safety
    ///
    /// What somebody can read through the buffer, its clones and its slices is not written meanwhile: neither through the
    /// region, nor at the address of the buffer.
    pub(crate) unsafe fn buffer(&self, bytes: usize) -> Buffer {
        assert!(bytes <= self.bytes, "within the region");
        // SAFETY: the block, which the buffer holds on to, keeps the bytes mapped; the caller promises the rest.
        unsafe { Buffer::from_custom_allocation(self.start, bytes, Arc::clone(&self.block) as _) }
    }
}

#[cfg(all(test, not(feature = "exact-blocks")))]
mod tests;
