//! Spans of a stream: read from front to back under a lock, cut after the last complete record, the rest carried over
//! to the next span (an orphan joins its widow).
//!
//! Not here: decompression, remote sources (`longshore-source`), the memory that text lies in (`buffer`).

use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

use longshore_csv::PADDING;
use longshore_source::SourceError;
use longshore_storage::{Memory, OutOfMemory};

use super::buffer::{Pool, TextBuffer};
use super::preamble::{self, Fields, Preamble};
use super::splitter::{Splitter, grow};
use super::{SPAN_BYTES_MIN, ScanContext, Span, SpanText, span_bytes_for};
use crate::control::Control;
use crate::error::LoadError;

/// Bytes that the preamble is first looked for in.
const HEAD_BYTES: usize = 64 << 10;
/// A span of a stream is no larger than this unless a record is: every worker holds one in memory.
const STREAM_SPAN_BYTES_MAX: usize = 8 << 20;
/// The part of the memory that is left, one in this many, that spans in work may take.
const MEMORY_SHARE: usize = 8;

/// The spans of a stream.
pub(crate) struct StreamSpans {
    name: String,
    splitter: Splitter,
    span_bytes: usize,
    preamble_bytes: u64,
    pool: Arc<Pool>,
    state: Mutex<State>,
}

struct State {
    reader: Box<dyn Read + Send>,
    at_end: bool,
    /// Its first `filled` bytes were read and not handed out; they begin where a record begins.
    buffer: TextBuffer,
    filled: usize,
    /// Offset of the buffer's text in the stream.
    offset: u64,
    /// Line feeds before it.
    lines: u64,
    sequence: u64,
}

impl StreamSpans {
    /// Reads the head of the stream, and returns what it says.
    pub(super) fn new(
        name: String,
        reader: Box<dyn Read + Send>,
        fields: Fields<'_>,
        context: &ScanContext<'_>,
    ) -> Result<(Self, Preamble), LoadError> {
        let ScanContext { options, tuning, control, memory, .. } = *context;
        // Each worker has one, and one is being filled.
        let pool = Pool::new(memory, tuning.threads + 1);
        let buffer = pool.fresh(HEAD_BYTES)?;
        let mut state = State { reader, at_end: false, buffer, filled: 0, offset: 0, lines: 0, sequence: 0 };
        let mut head_bytes = HEAD_BYTES;
        let preamble = loop {
            state.read_to(head_bytes, &name, control)?;
            let found = preamble::read(&name, state.text(), state.at_end, fields, context)?;
            if let Some(preamble) = found {
                break preamble;
            }
            head_bytes = grow(&name, head_bytes)?;
        };
        state.pass_over(preamble.data_start);
        let span_bytes = tuning.span_bytes.unwrap_or_else(|| {
            let bytes_max = span_bytes_max(memory, tuning.threads);
            span_bytes_for(preamble.record_bytes).clamp(SPAN_BYTES_MIN, bytes_max)
        });
        let spans = Self {
            name,
            splitter: Splitter::new(&options.format, tuning.kernel),
            span_bytes: span_bytes.max(1),
            preamble_bytes: preamble.data_start as u64,
            pool,
            state: Mutex::new(state),
        };
        Ok((spans, preamble))
    }

    pub(super) fn handed_out(&self) -> u64 {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).sequence
    }

    pub(super) fn span_bytes(&self) -> usize {
        self.span_bytes
    }

    pub(super) fn preamble_bytes(&self) -> u64 {
        self.preamble_bytes
    }

    /// Reads the next span; an error comes with the number that the span would have had.
    pub(super) fn claim(&self, control: &Control) -> Result<Option<Span>, (u64, LoadError)> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let sequence = state.sequence;
        let fail = |error| Err((sequence, error));
        let mut wanted = self.span_bytes;
        let length = loop {
            if let Err(error) = state.read_to(wanted, &self.name, control) {
                return fail(error);
            }
            let length = self.splitter.complete(state.text(), state.at_end);
            if length > 0 || state.at_end {
                break length;
            }
            match grow(&self.name, state.filled.max(wanted)) {
                Ok(larger) => wanted = larger,
                Err(error) => return fail(error),
            }
        };
        if length == 0 {
            state.close();
            return Ok(None);
        }
        let length = match self.splitter.end_of_data(&state.text()[..length]) {
            Some(marked) => {
                state.filled = marked;
                state.at_end = true;
                marked
            }
            None => length,
        };
        let is_last = state.at_end && length == state.filled;
        let (offset, lines) = (state.offset, state.lines);
        let buffer = match state.hand_out(length, self.span_bytes, &self.pool) {
            Ok(buffer) => buffer,
            Err(error) => return fail(error.into()),
        };
        state.sequence += 1;
        if is_last {
            state.close();
        }
        drop(state);
        // Looked at beside the reading of the next span.
        let traits = self.splitter.traits(&buffer.bytes()[..length]);
        let text = SpanText::Owned { buffer, length };
        Ok(Some(Span { sequence, offset, text, traits, lines_before: Some(lines), is_last }))
    }
}

/// The largest span for this many workers, so that a small memory limit leaves room for rows.
fn span_bytes_max(memory: &Memory, threads: usize) -> usize {
    let room = memory.limit().map_or(usize::MAX, |limit| limit.saturating_sub(memory.used()));
    (room / MEMORY_SHARE / (threads + 2)).clamp(SPAN_BYTES_MIN, STREAM_SPAN_BYTES_MAX)
}

impl State {
    fn text(&self) -> &[u8] {
        &self.buffer.bytes()[..self.filled]
    }

    /// Reads until `wanted` bytes of text are there or the stream ends.
    fn read_to(&mut self, wanted: usize, name: &str, control: &Control) -> Result<(), LoadError> {
        while self.filled < wanted && !self.at_end {
            if control.is_cancelled() {
                return Err(LoadError::Cancelled);
            }
            if self.filled == self.buffer.room() {
                // Little by little, since a stream may be short.
                let room = self.buffer.room().saturating_mul(2).max(HEAD_BYTES);
                self.buffer.grow(room.min(wanted))?;
            }
            let end = wanted.min(self.buffer.room());
            match self.reader.read(&mut self.buffer.bytes_mut()[self.filled..end]) {
                Ok(0) => self.at_end = true,
                Ok(read) => self.filled += read,
                // Nothing came for a while.
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                Err(error) => return Err(SourceError::of_read(name, error).into()),
            }
        }
        Ok(())
    }

    /// Lets go of the source and of the buffer: spans that were handed out may be kept long after the stream has ended,
    /// those of thousands of files at a time.
    fn close(&mut self) {
        self.reader = Box::new(io::empty());
        self.buffer.close();
        self.filled = 0;
    }

    /// Leaves out the first `length` bytes.
    fn pass_over(&mut self, length: usize) {
        self.count(length);
        self.buffer.bytes_mut().copy_within(length..self.filled, 0);
        self.filled -= length;
    }

    /// Takes the first `length` bytes off, with padding behind them; further spans have about `span_bytes`.
    fn hand_out(&mut self, length: usize, span_bytes: usize, pool: &Arc<Pool>) -> Result<TextBuffer, OutOfMemory> {
        let rest = self.filled - length;
        if length < self.buffer.room() / 2 {
            // A worker may keep it for long: it gets no more than it needs.
            let mut taken = pool.fresh(length)?;
            taken.bytes_mut()[..length].copy_from_slice(&self.text()[..length]);
            self.pass_over(length);
            return Ok(taken);
        }
        let room = if self.at_end { rest } else { rest.max(span_bytes) };
        let mut next = pool.take(room)?;
        next.bytes_mut()[..rest].copy_from_slice(&self.text()[length..]);
        self.count(length);
        self.filled = rest;
        let mut taken = std::mem::replace(&mut self.buffer, next);
        taken.bytes_mut()[length..length + PADDING].fill(0);
        Ok(taken)
    }

    /// Counts the first `length` bytes as handed out.
    fn count(&mut self, length: usize) {
        self.offset += length as u64;
        self.lines += memchr::memchr_iter(b'\n', &self.text()[..length]).count() as u64;
    }
}
