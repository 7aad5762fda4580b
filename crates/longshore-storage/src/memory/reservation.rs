//! Counts bytes as used that lie elsewhere than in blocks, so that the limit holds for them too.

use std::sync::Arc;

use super::Memory;
use super::OutOfMemory;

/// Bytes that count as used: grown by whoever has them, counted out when dropped.
#[derive(Debug)]
pub struct Reservation {
    memory: Arc<Memory>,
    bytes: usize,
}

impl Reservation {
    /// Nothing yet, of the limit of `memory`.
    #[must_use]
    pub fn new(memory: &Arc<Memory>) -> Reservation {
        Reservation { memory: Arc::clone(memory), bytes: 0 }
    }

    /// Bytes reserved so far.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Counts in further bytes.
    ///
    /// # Errors
    ///
    /// When the memory limit is hit; then nothing changes.
    pub fn grow(&mut self, bytes: usize) -> Result<(), OutOfMemory> {
        let mut dropped = Vec::new();
        let mut state = self.memory.state();
        let room = self.memory.limit.map_or(usize::MAX, |limit| limit - state.used);
        if bytes > room {
            return Err(OutOfMemory { wanted: bytes, used: state.used, limit: self.memory.limit });
        }
        state.take(bytes);
        state.free.release(room - bytes, &mut dropped);
        drop(state);
        self.bytes += bytes;
        // Blocks go back to the system without the lock.
        drop(dropped);
        Ok(())
    }

    /// Takes over what another one of the same memory has reserved.
    pub fn absorb(&mut self, mut other: Reservation) {
        debug_assert!(Arc::ptr_eq(&self.memory, &other.memory), "of the same memory");
        self.bytes += std::mem::take(&mut other.bytes);
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.memory.state().used -= self.bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_bytes_count_until_they_are_dropped() {
        let memory = Memory::new(Some(1000));
        let mut first = Reservation::new(&memory);
        let mut second = Reservation::new(&memory);
        assert_eq!((first.grow(600), second.grow(400)), (Ok(()), Ok(())));
        let error = OutOfMemory { wanted: 1, used: 1000, limit: Some(1000) };
        assert_eq!(first.grow(1), Err(error));
        first.absorb(second);
        assert_eq!((first.bytes(), memory.used()), (1000, 1000));
        drop(first);
        assert_eq!(memory.used(), 0);
    }

    #[test]
    fn blocks_that_wait_make_room() {
        let memory = Memory::new(Some(2 << 20));
        let block = memory.map(2 << 20).expect("within the limit");
        memory.unmap(block);
        assert_eq!(Reservation::new(&memory).grow(1 << 20), Ok(()));
        assert_eq!(memory.used(), 0);
    }
}
