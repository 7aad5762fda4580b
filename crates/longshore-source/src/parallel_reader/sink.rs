//! The two ends of the line: what fills a slot, and how the content is checked as a whole where it comes out.

use std::io;
use std::sync::Arc;
use std::thread;

use xxhash_rust::xxh32::Xxh32;

use crate::budget::Reserved;
use crate::fault::{Stop, damaged};

use super::{BLOCK_BYTES, Block, Part, Shared, State};

/// Fills one slot.
pub(crate) struct Sink {
    pub(super) shared: Arc<Shared>,
    pub(super) number: u64,
    pub(super) block: Option<Block>,
    pub(super) ended: bool,
}

impl Sink {
    /// Room for the next bytes, at least one. Waits until the reader is near.
    pub(crate) fn free(&mut self) -> Result<&mut [u8], Stop> {
        self.free_for(1)
    }

    /// Room for the next `wanted` bytes at least, in one piece.
    pub(crate) fn free_for(&mut self, wanted: usize) -> Result<&mut [u8], Stop> {
        if self.block.as_ref().is_none_or(|block| block.bytes.len() - block.filled < wanted) {
            self.flush();
            self.block = Some(self.obtain(wanted.next_multiple_of(BLOCK_BYTES))?);
        }
        let block = self.block.as_mut().expect("set above");
        Ok(&mut block.bytes[block.filled..])
    }

    /// The first `bytes` of the room are filled.
    pub(crate) fn advance(&mut self, bytes: usize) {
        if let Some(block) = &mut self.block {
            block.filled += bytes;
            debug_assert!(block.filled <= block.bytes.len());
        }
    }

    /// Content that is checked as a whole begins here.
    pub(crate) fn begin_content(&mut self) {
        self.flush();
        self.push(Part::ContentBegins);
    }

    /// The content ends here, and must be what is expected. It may have begun in an earlier slot.
    pub(crate) fn expect_content(&mut self, expected: Expected) {
        self.flush();
        self.push(Part::ContentIs(expected));
    }

    /// All is filled.
    pub(crate) fn finish(mut self) {
        self.end(None);
    }

    /// The rest cannot be filled.
    pub(crate) fn fail(mut self, stop: Stop) {
        match stop {
            Stop::Cancelled => self.end(None),
            Stop::Failed(error) => self.end(Some(error)),
        }
    }

    fn end(&mut self, error: Option<io::Error>) {
        self.flush();
        self.ended = true;
        let mut state = self.shared.lock();
        let slot = state.slot(self.number);
        slot.parts.extend(error.map(Part::Failed));
        slot.finished = true;
        drop(state);
        self.shared.readable.notify_all();
    }

    fn flush(&mut self) {
        if let Some(block) = self.block.take() {
            self.push(Part::Block(block));
        }
    }

    fn push(&self, part: Part) {
        let mut state = self.shared.lock();
        state.slot(self.number).parts.push_back(part);
        drop(state);
        self.shared.readable.notify_all();
    }

    fn obtain(&self, bytes: usize) -> Result<Block, Stop> {
        let mut state = self.shared.lock();
        loop {
            if self.shared.is_cancelled() {
                return Err(Stop::Cancelled);
            }
            let fits = state.held_bytes + bytes <= self.shared.waiting_bytes_max;
            // Somebody waits for it, and has nothing else to give back.
            let is_urgent = state.first == self.number && state.slot(self.number).parts.is_empty();
            if fits || is_urgent {
                if let Some(index) = state.spare.iter().position(|spare| spare.bytes.len() == bytes) {
                    state.held_bytes += bytes;
                    return Ok(state.spare.swap_remove(index));
                }
                if let Some(counted) = self.count(&mut state, bytes, is_urgent)? {
                    state.held_bytes += bytes;
                    drop(state);
                    return Ok(Block { bytes: vec![0; bytes], filled: 0, _counted: counted });
                }
            }
            state = Shared::wait_a_little(&self.shared.writable, state);
        }
    }

    /// Counts in `bytes`; `None` where they are to be had later, if at all.
    fn count(&self, state: &mut State, bytes: usize, is_urgent: bool) -> Result<Option<Reserved>, Stop> {
        if let Ok(counted) = self.shared.budget.reserve(bytes) {
            return Ok(Some(counted));
        }
        state.spare.clear();
        match self.shared.budget.reserve(bytes) {
            Ok(counted) => Ok(Some(counted)),
            Err(error) if is_urgent => Err(error.into()),
            Err(_) => Ok(None),
        }
    }

    /// Counts in what a decompressor takes for itself. Waits until what lies before was read if there is no room.
    pub(crate) fn reserve(&self, bytes: usize) -> Result<Reserved, Stop> {
        let mut state = self.shared.lock();
        loop {
            if self.shared.is_cancelled() {
                return Err(Stop::Cancelled);
            }
            let is_urgent = state.first == self.number && state.slot(self.number).parts.is_empty();
            if let Some(counted) = self.count(&mut state, bytes, is_urgent)? {
                return Ok(counted);
            }
            state = Shared::wait_a_little(&self.shared.writable, state);
        }
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        if !self.ended {
            let error = thread::panicking()
                .then(|| io::Error::other("a thread that reads ahead panicked; this is a bug, please report it"));
            self.end(error);
        }
    }
}

/// What the content since [`Sink::begin_content`] must be, in the words of the file.
pub(crate) struct Expected {
    /// Its XXH32.
    pub(crate) sum: Option<u32>,
    /// Its length.
    pub(crate) bytes: Option<u64>,
    /// The format that says so.
    pub(crate) format: &'static str,
    /// Offset of the checksum in the file.
    pub(crate) offset: u64,
}

/// Content that is checked as a whole.
pub(super) struct Content {
    sum: Xxh32,
    bytes: u64,
}

impl Content {
    pub(super) fn new() -> Self {
        Self { sum: Xxh32::new(0), bytes: 0 }
    }

    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.sum.update(bytes);
        self.bytes += bytes.len() as u64;
    }

    pub(super) fn check(self, expected: &Expected) -> Result<(), Stop> {
        let Expected { sum, bytes, format, offset } = *expected;
        let found = self.sum.digest();
        if let Some(sum) = sum.filter(|&sum| sum != found) {
            let problem = format!("the checksum of the content is {found:08x}, not {sum:08x} as stored");
            return Err(damaged(format, offset, problem));
        }
        if let Some(bytes) = bytes.filter(|&bytes| bytes != self.bytes) {
            let problem = format!("the content has {} bytes, not {bytes} as stored", self.bytes);
            return Err(damaged(format, offset, problem));
        }
        Ok(())
    }
}
