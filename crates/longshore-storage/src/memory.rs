//! Decides how much memory the data of a database may take, and keeps freed blocks for reuse.
//!
//! Page faults and zeroing are a large part of a load into fresh memory (on a virtual machine that reports free pages
//! to its host, several times the parse itself), so a freed block is not returned to the operating system at once: it
//! waits, still faulted in, for the next block. Waiting blocks do not count as used, and go back to the operating
//! system before an allocation is refused. What waits beyond a small bound is marked as free to take
//! (`MADV_FREE`): the system takes such pages when it runs short, and else leaves them as they are.
//!
//! Not here: which of the waiting blocks is taken (`memory/free.rs`), system calls (`memory/mapping.rs`), which pages are
//! asked for (`memory/pages.rs`), how blocks are cut into columns (`arena.rs`).

use std::fmt;
use std::sync::{Arc, PoisonError};

use crate::sync::brief::{Mutex, MutexGuard};

mod error;
mod free;
mod mapping;
#[cfg(all(target_os = "linux", not(feature = "exact-blocks")))]
mod pages;
mod reservation;

pub use error::OutOfMemory;
use free::FreeList;
#[cfg(all(test, not(feature = "exact-blocks")))]
pub(crate) use mapping::HUGE_PAGE_BYTES;
pub(crate) use mapping::Mapping;
pub use reservation::Reservation;

/// Without a limit, freed blocks of up to one part in this many of the machine's memory wait for reuse.
const FREE_SHARE: usize = 2;

/// The same where nobody knows how much memory the machine has.
const FREE_BYTES_MAX: usize = 64 << 20;

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
    free: FreeList,
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("Memory")
            .field("limit", &self.limit)
            .field("used", &state.used)
            .field("waiting", &state.free.bytes())
            .finish_non_exhaustive()
    }
}

impl Memory {
    /// Accounting with a limit in bytes.
    #[must_use]
    pub fn new(limit: Option<usize>) -> Arc<Memory> {
        let free_bytes_max = mapping::machine_bytes().map_or(FREE_BYTES_MAX, |bytes| bytes / FREE_SHARE);
        Memory::with_free_bytes_max(limit, free_bytes_max)
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

    /// What the machine has, if the system tells.
    pub(crate) fn machine_bytes() -> Option<usize> {
        mapping::machine_bytes()
    }

    /// A mapping of at least `bytes`, and of no more than it takes to have whole pages.
    pub(crate) fn map(&self, bytes: usize) -> Result<Mapping, OutOfMemory> {
        if bytes > isize::MAX as usize / 4 {
            return Err(OutOfMemory { wanted: bytes, used: self.used(), limit: self.limit });
        }
        let bytes = Mapping::round(bytes);
        let mut dropped = Vec::new();
        {
            let mut state = self.state();
            let room = self.limit.map_or(usize::MAX, |limit| limit - state.used);
            if bytes > room {
                return Err(OutOfMemory { wanted: bytes, used: state.used, limit: self.limit });
            }
            if let Some(mapping) = state.free.take(bytes, room) {
                state.take(mapping.bytes());
                return Ok(mapping);
            }
            state.take(bytes);
            state.free.release(room - bytes, &mut dropped);
        }
        // The system calls are made without the lock.
        drop(dropped);
        Mapping::new(bytes).or_else(|| self.map_without_free(bytes)).ok_or_else(|| {
            let mut state = self.state();
            state.used -= bytes;
            OutOfMemory { wanted: bytes, used: state.used, limit: None }
        })
    }

    /// Asks the system again, after it was given all that waits.
    fn map_without_free(&self, bytes: usize) -> Option<Mapping> {
        let mut dropped = Vec::new();
        self.state().free.release(0, &mut dropped);
        drop(dropped);
        Mapping::new(bytes)
    }

    /// Takes back a mapping from [`Memory::map`], or a part that was split off one.
    pub(crate) fn unmap(&self, mapping: Mapping) {
        let bytes = mapping.bytes();
        let mut dropped = Vec::new();
        let mut state = self.state();
        state.used -= bytes;
        let room = self.limit.map_or(usize::MAX, |limit| limit - state.used).min(self.free_bytes_max);
        if bytes > room || cfg!(feature = "exact-blocks") {
            dropped.push(mapping);
        } else {
            state.free.release(room - bytes, &mut dropped);
            state.free.put(mapping, &mut dropped);
        }
        drop(state);
        drop(dropped);
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
}

#[cfg(all(test, not(feature = "exact-blocks")))]
mod tests;
