//! Compressed bytes as a window that slides over its input: look ahead, then consume.
//!
//! Not here: what the bytes mean (`container`).

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::budget::{Budget, Reserved};
use crate::byte_counter::ByteCounter;
use crate::parallel_reader::Output;

/// Bytes that are asked of the input at a time.
const READ_BYTES: usize = 256 << 10;

/// A window over compressed bytes.
pub(crate) struct Feed {
    input: Option<Box<dyn Read + Send>>,
    /// Set when nobody needs the bytes any more.
    cancelled: Arc<AtomicBool>,
    counter: Arc<ByteCounter>,
    budget: Budget,
    /// For `buffer`.
    reserved: Reserved,
    buffer: Vec<u8>,
    /// What was read and not consumed lies here in `buffer`; behind it is room.
    start: usize,
    end: usize,
    /// Offset of the window's first byte in the input.
    offset: u64,
}

impl Feed {
    /// A window over `input`; what is read counts on `counter`.
    pub(crate) fn new(input: Box<dyn Read + Send>, output: &Output, counter: Arc<ByteCounter>) -> Self {
        Self {
            input: Some(input),
            cancelled: output.cancelled(),
            counter,
            budget: output.budget(),
            reserved: Reserved::default(),
            buffer: Vec::new(),
            start: 0,
            end: 0,
            offset: 0,
        }
    }

    /// A window over bytes that were cut out of another one at `offset`; they are counted elsewhere.
    pub(crate) fn of(bytes: Vec<u8>, offset: u64) -> Self {
        Self {
            input: None,
            cancelled: Arc::default(),
            counter: Arc::default(),
            budget: Budget::default(),
            reserved: Reserved::default(),
            end: bytes.len(),
            buffer: bytes,
            start: 0,
            offset,
        }
    }

    /// Offset of the next byte in the input.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// What was read and not consumed: at least `wanted` bytes unless the input ends before.
    ///
    /// # Errors
    /// When the input cannot be read.
    pub(crate) fn need(&mut self, wanted: usize) -> io::Result<&[u8]> {
        while self.end - self.start < wanted && self.input.is_some() {
            self.read(wanted)?;
        }
        Ok(self.held())
    }

    /// What was read and not consumed.
    pub(crate) fn held(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Whether no byte is left.
    ///
    /// # Errors
    /// When the input cannot be read.
    pub(crate) fn is_at_end(&mut self) -> io::Result<bool> {
        Ok(self.need(1)?.is_empty())
    }

    /// Moves over the first `bytes` of the window.
    pub(crate) fn consume(&mut self, bytes: usize) {
        self.start += bytes;
        self.offset += bytes as u64;
        debug_assert!(self.start <= self.end);
    }

    /// Cuts the first `bytes` out of the window.
    pub(crate) fn take(&mut self, bytes: usize) -> Vec<u8> {
        let taken = self.buffer[self.start..self.start + bytes].to_vec();
        self.consume(bytes);
        taken
    }

    /// Cuts out all that the window holds.
    pub(crate) fn take_rest(&mut self) -> Vec<u8> {
        self.take(self.held().len())
    }

    fn read(&mut self, wanted: usize) -> io::Result<()> {
        let Some(input) = &mut self.input else { return Ok(()) };
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        // A whole unit in few moves: what is missing, or the double of what is there.
        let room = READ_BYTES.max((wanted - self.end).min(self.end));
        if self.buffer.len() < self.end + room {
            if self.buffer.is_empty() {
                self.reserved = self.budget.reserve(0)?;
            }
            let more = self.end + room - self.buffer.len();
            self.reserved.grow(more)?;
            self.buffer.reserve_exact(more);
            self.buffer.resize(self.end + room, 0);
        }
        let read = loop {
            match input.read(&mut self.buffer[self.end..self.end + room]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if self.cancelled.load(Ordering::Relaxed) {
                        return Err(error);
                    }
                }
                other => break other?,
            }
        };
        self.end += read;
        self.counter.add(read as u64);
        if read == 0 {
            self.input = None;
        }
        Ok(())
    }
}
