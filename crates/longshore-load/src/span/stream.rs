//! Spans of a stream: read from front to back under a lock, cut after the last complete record, the rest carried over
//! to the next span (an orphan joins its widow).
//!
//! Not here: decompression, remote sources.

use std::io::{self, Read};
use std::sync::{Mutex, PoisonError};

use longshore_csv::{Dialect, Kernel, PADDING, QuoteState, record_start, survey};

use super::{SPAN_BYTES_MIN, Span, SpanText, span_bytes_for};
use crate::worker::RECORD_BYTES_MAX;
use crate::{Control, LoadError, TextOptions, Tuning};

/// Bytes that the preamble is first looked for in.
const HEAD_BYTES: usize = 64 << 10;
/// Bytes at the end of what was read in which the last line end is first looked for.
const TAIL_BYTES: usize = 16 << 10;
/// A span of a stream is no larger than this unless a record is: every worker holds one in memory.
const STREAM_SPAN_BYTES_MAX: usize = 8 << 20;

/// The spans of a stream.
pub(crate) struct StreamSpans {
    name: String,
    kernel: Kernel,
    dialect: Dialect,
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
    /// Reads the head of the stream; also tells whether records have a trailing delimiter.
    pub(super) fn new(
        name: String,
        reader: Box<dyn Read + Send>,
        names: &[&str],
        options: &TextOptions,
        tuning: &Tuning,
    ) -> Result<(Self, bool), LoadError> {
        let mut state = State { reader, at_end: false, carry: Vec::new(), offset: 0, lines: 0, sequence: 0 };
        let mut head_bytes = HEAD_BYTES;
        let preamble = loop {
            state.read_to(head_bytes).map_err(|error| read_error(&name, error))?;
            let found = crate::preamble::read(&name, &state.carry, state.at_end, names, options, tuning)?;
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
            kernel: tuning.kernel,
            dialect: options.dialect,
            span_bytes: span_bytes.max(1),
            preamble_bytes: preamble.data_start as u64,
            state: Mutex::new(state),
        };
        Ok((spans, preamble.trailing_delimiter))
    }

    pub(super) fn name(&self) -> &str {
        &self.name
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
            if control.is_cancelled() {
                return fail(LoadError::Cancelled);
            }
            if let Err(error) = state.read_to(wanted) {
                return fail(read_error(&self.name, error));
            }
            if state.at_end {
                break state.carry.len();
            }
            if let Some(length) = self.last_record_end(&state.carry) {
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
        let traits = survey(self.kernel, &self.dialect, &state.carry[..length]).traits;
        let (offset, lines) = (state.offset, state.lines);
        let mut buffer = state.hand_out(length);
        buffer.resize(length + PADDING, 0);
        state.sequence += 1;
        Ok(Some(Span { sequence, offset, text: SpanText::Owned { buffer, length }, traits, lines_before: Some(lines) }))
    }

    /// Just after the last unquoted line feed of `text`, which begins where a record begins.
    fn last_record_end(&self, text: &[u8]) -> Option<usize> {
        let mut tail_bytes = TAIL_BYTES;
        loop {
            let mut position = text.len().saturating_sub(tail_bytes);
            let mut state = survey(self.kernel, &self.dialect, &text[..position]).after(QuoteState::Outside);
            let mut last = None;
            while let Some(length) = record_start(self.kernel, &self.dialect, &text[position..], state) {
                position += length;
                state = QuoteState::Outside;
                last = Some(position);
            }
            if last.is_some() || tail_bytes >= text.len() {
                return last;
            }
            tail_bytes *= 4;
        }
    }
}

impl State {
    /// Reads until `carry` holds `wanted` bytes or the stream ends.
    fn read_to(&mut self, wanted: usize) -> io::Result<()> {
        while !self.at_end && self.carry.len() < wanted {
            let missing = (wanted - self.carry.len()) as u64;
            let read = self.reader.by_ref().take(missing).read_to_end(&mut self.carry)?;
            self.at_end = (read as u64) < missing;
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

fn grow(name: &str, bytes: usize) -> Result<usize, LoadError> {
    if bytes >= RECORD_BYTES_MAX {
        return Err(crate::worker::record_too_long(name));
    }
    Ok((bytes * 4).min(RECORD_BYTES_MAX))
}

fn read_error(name: &str, error: io::Error) -> LoadError {
    LoadError::Io { file: name.to_owned(), action: "read it", error }
}
