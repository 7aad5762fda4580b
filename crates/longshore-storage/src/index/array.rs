//! Arrays of plain values in the memory of relations: in huge pages where they are large, so that looking up a key at
//! random does not miss the translation of its address too; and recycled, so that growing faults in no new pages.

use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::{Arc, PoisonError};

use crate::arena::{Arena, Plain, Region};
use crate::memory::{Memory, OutOfMemory};
use crate::sync::brief::Mutex;

/// The least and the greatest size of the blocks that arrays are cut from; they grow with what is cut from them.
const BLOCK_BYTES_MIN: usize = 64 << 10;
const BLOCK_BYTES_MAX: usize = 8 << 20;

/// Where the arrays of an index come from.
#[derive(Clone)]
pub(super) struct Pool(Arc<Mutex<State>>);

struct State {
    arena: Arena,
    block_bytes: usize,
    /// Bytes cut so far.
    cut_bytes: usize,
}

impl Pool {
    pub(super) fn new(memory: &Arc<Memory>) -> Pool {
        let arena = Arena::new(Arc::clone(memory), BLOCK_BYTES_MIN);
        Pool(Arc::new(Mutex::new(State { arena, block_bytes: BLOCK_BYTES_MIN, cut_bytes: 0 })))
    }

    pub(super) fn allocate(&self, bytes: usize) -> Result<Region, OutOfMemory> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let block_bytes = (state.cut_bytes / 4).next_power_of_two().clamp(BLOCK_BYTES_MIN, BLOCK_BYTES_MAX);
        if block_bytes > state.block_bytes {
            state.block_bytes = block_bytes;
            state.arena = Arena::new(Arc::clone(state.arena.memory()), block_bytes);
        }
        let region = state.arena.allocate(bytes)?;
        state.cut_bytes += bytes;
        Ok(region)
    }
}

/// A vector that grows only when it is told to.
///
/// Invariant. `start` is the region's, which has room for `capacity` values; the first `length` of them have been
/// written, and are written again only through an exclusive borrow of the array.
pub(super) struct Array<T: Plain> {
    /// `None` without capacity.
    region: Option<Region>,
    start: NonNull<T>,
    length: usize,
    capacity: usize,
}

// SAFETY: the values lie in the region, which can be sent and shared, and are plain; the pointer is only a shortcut.
unsafe impl<T: Plain + Send> Send for Array<T> {}
// SAFETY: as above; what is shared is only read.
unsafe impl<T: Plain + Sync> Sync for Array<T> {}

impl<T: Plain> Array<T> {
    pub(super) const fn new() -> Array<T> {
        Array { region: None, start: NonNull::dangling(), length: 0, capacity: 0 }
    }

    pub(super) fn with_capacity(capacity: usize, pool: &Pool) -> Result<Array<T>, OutOfMemory> {
        let region = pool.allocate(capacity * size_of::<T>())?;
        let start = NonNull::new(region.at::<T>(0, capacity)).expect("regions have an address");
        Ok(Array { region: Some(region), start, length: 0, capacity })
    }

    /// The same value many times.
    pub(super) fn filled(value: T, length: usize, pool: &Pool) -> Result<Array<T>, OutOfMemory> {
        let mut array = Array::with_capacity(length, pool)?;
        if let Some(region) = &mut array.region {
            region.spare::<T>(0, length).fill(MaybeUninit::new(value));
        }
        array.length = length;
        Ok(array)
    }

    #[inline]
    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Makes room for `capacity` values altogether.
    pub(super) fn grow(&mut self, capacity: usize, pool: &Pool) -> Result<(), OutOfMemory> {
        let mut larger = Array::with_capacity(capacity, pool)?;
        if let Some(region) = &mut larger.region {
            region.spare::<T>(0, self.length).write_copy_of_slice(self);
        }
        larger.length = self.length;
        *self = larger;
        Ok(())
    }

    /// Adds a value, for which there is room.
    #[inline]
    pub(super) fn push(&mut self, value: T) {
        assert!(self.length < self.capacity, "room is made first");
        // SAFETY: the place lies within the region, and nobody else knows of it.
        unsafe { self.start.add(self.length).write(value) };
        self.length += 1;
    }
}

impl<T: Plain> std::ops::Deref for Array<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: the invariant; without a region there are no values.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }
}

impl<T: Plain> std::ops::DerefMut for Array<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }
}
