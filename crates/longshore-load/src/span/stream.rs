//! Spans of a stream: read from front to back under a lock, cut after the last complete record, the rest carried over
//! to the next span (an orphan joins its widow).
//!
//! Not here: decompression, remote sources.

use std::io::Read;
use std::sync::{Mutex, PoisonError};

use longshore_csv::PADDING;
use longshore_storage::Column;

use super::splitter::{Splitter, grow};
use super::{SPAN_BYTES_MIN, Span, SpanText, Surroundings, span_bytes_for};
use crate::preamble::Preamble;
use crate::source::read_up_to;
use crate::{Control, LoadError};

/// Bytes that the preamble is first looked for in.
const HEAD_BYTES: usize = 64 << 10;
/// A span of a stream is no larger than this unless a record is: every worker holds one in memory.
const STREAM_SPAN_BYTES_MAX: usize = 8 << 20;

/// The spans of a stream.
pub(crate) struct StreamSpans {
    name: String,
    splitter: Splitter,
    span_bytes: usize,
    preamble_bytes: u64,
    state: Mutex<State>,
}

struct State {
    reader: Box<dyn Read + Send>,
    at_end: bool,
    /// Text that was read and not handed out; begins where a record begins.
    carry: Vec<u8>,
    /// Offset of `carry` in the stream.
    offset: u64,
    /// Line feeds before `carry`.
    lines: u64,
    sequence: u64,
}

impl StreamSpans {
    /// Reads the head of the stream, and returns what it says.
    pub(super) fn new(
        name: String,
        reader: Box<dyn Read + Send>,
        fields: &[Option<Column>],
        surroundings: &Surroundings<'_>,
    ) -> Result<(Self, Preamble), LoadError> {
        let Surroundings { options, tuning, control, .. } = *surroundings;
        let mut state = State { reader, at_end: false, carry: Vec::new(), offset: 0, lines: 0, sequence: 0 };
        let mut head_bytes = HEAD_BYTES;
        let preamble = loop {
            state.read_to(head_bytes, &name, control)?;
            let found = crate::preamble::read(&name, &state.carry, state.at_end, fields, surroundings)?;
            if let Some(preamble) = found {
                break preamble;
            }
            head_bytes = grow(&name, head_bytes)?;
        };
        state.hand_out(preamble.data_start);
        let span_bytes = tuning
            .span_bytes
            .unwrap_or_else(|| span_bytes_for(preamble.record_bytes).clamp(SPAN_BYTES_MIN, STREAM_SPAN_BYTES_MAX));
        let spans = Self {
            name,
            splitter: Splitter::new(&options.format, tuning.kernel),
            span_bytes: span_bytes.max(1),
            preamble_bytes: preamble.data_start as u64,
            state: Mutex::new(state),
        };
        Ok((spans, preamble))
    }

    pub(super) fn handed_out(&self) -> u64 {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).sequence
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
            let length = self.splitter.complete(&state.carry, state.at_end);
            if length > 0 || state.at_end {
                break length;
            }
            match grow(&self.name, state.carry.len().max(wanted)) {
                Ok(larger) => wanted = larger,
                Err(error) => return fail(error),
            }
        };
        if length == 0 {
            return Ok(None);
        }
        let length = match self.splitter.end_of_data(&state.carry[..length]) {
            Some(marked) => {
                state.carry.truncate(marked);
                state.at_end = true;
                marked
            }
            None => length,
        };
        let traits = self.splitter.traits(&state.carry[..length]);
        let is_last = state.at_end && length == state.carry.len();
        let (offset, lines) = (state.offset, state.lines);
        let mut buffer = state.hand_out(length);
        buffer.resize(length + PADDING, 0);
        state.sequence += 1;
        let text = SpanText::Owned { buffer, length };
        Ok(Some(Span { sequence, offset, text, traits, lines_before: Some(lines), is_last }))
    }
}

impl State {
    /// Reads until `carry` holds `wanted` bytes or the stream ends.
    fn read_to(&mut self, wanted: usize, name: &str, control: &Control) -> Result<(), LoadError> {
        if !self.at_end {
            self.at_end = read_up_to(wanted, &mut self.reader, &mut self.carry, name, control)?;
        }
        Ok(())
    }

    /// Takes the first `length` bytes off.
    fn hand_out(&mut self, length: usize) -> Vec<u8> {
        let rest = self.carry[length..].to_vec();
        let mut taken = std::mem::replace(&mut self.carry, rest);
        taken.truncate(length);
        self.offset += length as u64;
        self.lines += memchr::memchr_iter(b'\n', &taken).count() as u64;
        taken
    }
}
