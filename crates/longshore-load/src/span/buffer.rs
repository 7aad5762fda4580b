//! Memory for the text of streams: it counts against the memory limit, and is used again from span to span, since
//! fresh pages cost more than the parse.
//!
//! Not here: what text lies in it (`stream`).

use std::sync::{Arc, Mutex, PoisonError};

use longshore_csv::PADDING;
use longshore_storage::{Memory, OutOfMemory, Reservation};

/// Buffers that wait to be used again.
pub(super) struct Pool {
    memory: Arc<Memory>,
    /// `None` once there is no more use for them.
    spare: Mutex<Option<Vec<Spare>>>,
    spare_max: usize,
}

struct Spare {
    bytes: Vec<u8>,
    reservation: Reservation,
}

/// Room for text, and for the padding behind it.
pub(crate) struct TextBuffer {
    bytes: Vec<u8>,
    reservation: Option<Reservation>,
    pool: Arc<Pool>,
}

impl Pool {
    /// A pool that keeps up to `spare_max` buffers.
    pub(super) fn new(memory: &Arc<Memory>, spare_max: usize) -> Arc<Self> {
        Arc::new(Self { memory: Arc::clone(memory), spare: Mutex::new(Some(Vec::new())), spare_max })
    }

    /// A buffer with room for `bytes` of text, or more; what it holds is not defined.
    pub(super) fn take(self: &Arc<Self>, bytes: usize) -> Result<TextBuffer, OutOfMemory> {
        let spare = {
            let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
            spare.as_mut().and_then(|spare| {
                let fit = spare.iter().position(|spare| spare.bytes.len() >= bytes + PADDING);
                fit.map(|index| spare.swap_remove(index))
            })
        };
        if let Some(Spare { bytes, reservation }) = spare {
            return Ok(TextBuffer { bytes, reservation: Some(reservation), pool: Arc::clone(self) });
        }
        self.fresh(bytes)
    }

    /// A buffer with room for exactly `bytes` of text.
    pub(super) fn fresh(self: &Arc<Self>, bytes: usize) -> Result<TextBuffer, OutOfMemory> {
        let mut reservation = Reservation::new(&self.memory);
        reservation.grow(bytes + PADDING)?;
        let bytes = vec![0; bytes + PADDING];
        Ok(TextBuffer { bytes, reservation: Some(reservation), pool: Arc::clone(self) })
    }
}

impl TextBuffer {
    /// Room for text.
    pub(super) fn room(&self) -> usize {
        self.bytes.len() - PADDING
    }

    /// All of it, the room for padding included.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// Makes room for `bytes` of text in all; what is there stays.
    pub(super) fn grow(&mut self, bytes: usize) -> Result<(), OutOfMemory> {
        let more = bytes.saturating_sub(self.room());
        if let Some(reservation) = &mut self.reservation {
            reservation.grow(more)?;
        }
        let all = self.bytes.len() + more;
        self.bytes.reserve_exact(more);
        self.bytes.resize(all, 0);
        Ok(())
    }
}

impl TextBuffer {
    /// Gives the memory to the pool; nothing is left of the text.
    pub(super) fn give_back(&mut self) {
        let Some(reservation) = self.reservation.take() else { return };
        let bytes = std::mem::take(&mut self.bytes);
        let mut spare = self.pool.spare.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(spare) = spare.as_mut().filter(|spare| spare.len() < self.pool.spare_max) {
            spare.push(Spare { bytes, reservation });
        }
    }

    /// Frees the memory, and all that waits in the pool, now and later: no more text comes.
    pub(super) fn close(&mut self) {
        *self.pool.spare.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.give_back();
    }
}

impl Drop for TextBuffer {
    fn drop(&mut self) {
        self.give_back();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_count_while_they_are_there_and_come_again() {
        let memory = Memory::new(Some(1000 + 2 * PADDING));
        let pool = Pool::new(&memory, 1);
        let mut first = pool.take(100).expect("within the limit");
        first.bytes_mut()[0] = 7;
        first.grow(700).expect("within the limit");
        assert_eq!((first.room(), first.bytes()[0], memory.used()), (700, 7, 700 + PADDING));
        let second = pool.take(300).expect("within the limit");
        assert!(pool.take(1).is_err() && first.grow(701).is_err());
        drop(first);
        assert_eq!(pool.take(500).expect("it is there").room(), 700);
        drop(second);
        assert_eq!(memory.used(), 700 + PADDING);
        drop(pool);
        assert_eq!(memory.used(), 0);
    }
}
