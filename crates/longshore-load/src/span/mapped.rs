//! Spans of a mapped file: claimed by number, so that workers survey and parse them side by side.
//!
//! Not here: streams (`stream`), formats that must be split serially by rules of their own (`splitter`).

use std::ops::Range;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use longshore_csv::{Dialect, QuoteState, TextTraits, record_start, record_start_fast, survey};
use longshore_source::Mapping;

use super::preamble::Preamble;
use super::splitter::{Splitter, grow};
use super::{SPAN_BYTES_MIN, ScanContext, Span, SpanText, span_bytes_for};
use crate::error::LoadError;
use crate::options::{Mode, TextFormat};
use crate::stop::Stops;

/// Spans that each worker is to get at least, so that they finish together.
const SPANS_PER_WORKER_MIN: usize = 4;

/// The spans of a mapped file.
pub(crate) struct MappedSpans {
    name: String,
    mapping: Mapping,
    data_start: usize,
    span_bytes: usize,
    count: usize,
    splitter: Splitter,
    split: Split,
    /// The next span to claim.
    next: AtomicUsize,
    stops: Arc<Stops>,
}

/// How the first record of a span is found.
enum Split {
    /// The quoting state before each span, as far as it is known; [`UNKNOWN`] where it is not.
    Exact(Dialect, Box<[AtomicU8]>),
    Fast(Dialect),
    /// The end of the span claimed last.
    Serial(Mutex<usize>),
}

const UNKNOWN: u8 = u8::MAX;

impl MappedSpans {
    pub(super) fn new(name: String, mapping: Mapping, preamble: &Preamble, context: &ScanContext<'_>) -> Self {
        let ScanContext { options, tuning, files, stops, .. } = *context;
        let data_start = preamble.data_start;
        let data_bytes = mapping.bytes().len() - data_start;
        let span_bytes = tuning.span_bytes.unwrap_or_else(|| {
            let per_worker = if files > 1 { 1 } else { SPANS_PER_WORKER_MIN };
            let even = data_bytes.div_ceil(tuning.threads.max(1) * per_worker);
            // Of many files, small ones are one span each: workers meet in the files, and chunks are as large.
            let even = if files >= tuning.threads * SPANS_PER_WORKER_MIN { usize::MAX } else { even };
            span_bytes_for(preamble.record_bytes).min(even).max(SPAN_BYTES_MIN)
        });
        let span_bytes = span_bytes.max(1);
        let count = data_bytes.div_ceil(span_bytes);
        let split = match (&options.format, options.mode) {
            (TextFormat::Csv(dialect), Mode::Exact) => {
                let states: Box<[AtomicU8]> = (0..=count).map(|_| AtomicU8::new(UNKNOWN)).collect();
                states[0].store(encode(QuoteState::Outside), Ordering::Relaxed);
                Split::Exact(*dialect, states)
            }
            (TextFormat::Csv(dialect), Mode::Fast) => Split::Fast(*dialect),
            (TextFormat::Csv(_), Mode::Safe) | (TextFormat::Other(_), _) => Split::Serial(Mutex::new(data_start)),
        };
        Self {
            name,
            mapping,
            data_start,
            span_bytes,
            count,
            splitter: Splitter::new(&options.format, tuning.kernel),
            split,
            next: AtomicUsize::new(0),
            stops: Arc::clone(stops),
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.mapping.bytes()
    }

    pub(super) fn preamble_bytes(&self) -> u64 {
        self.data_start as u64
    }

    pub(super) fn count_max(&self) -> usize {
        self.count
    }

    pub(super) fn handed_out(&self) -> u64 {
        match self.split {
            Split::Exact(..) | Split::Fast(_) => self.count as u64,
            Split::Serial(_) => self.next.load(Ordering::Acquire) as u64,
        }
    }

    pub(super) fn claim(&self) -> Result<Option<Span>, (u64, LoadError)> {
        if self.stops.is_stopped() {
            return Ok(None);
        }
        match &self.split {
            Split::Exact(dialect, states) => Ok(self.claim_exact(dialect, states)),
            Split::Fast(dialect) => Ok(self.claim_fast(dialect)),
            Split::Serial(end) => self.claim_serial(end),
        }
    }

    /// The bytes that span `index` covers by its size alone.
    fn nominal(&self, index: usize) -> Range<usize> {
        let length = self.mapping.bytes().len();
        let start = self.data_start + index * self.span_bytes;
        start..length.min(start + self.span_bytes)
    }

    fn claim_exact(&self, dialect: &Dialect, states: &[AtomicU8]) -> Option<Span> {
        let index = self.claim_index()?;
        let nominal = self.nominal(index);
        self.mapping.populate(nominal.clone());
        let survey = survey(self.splitter.kernel(), dialect, &self.mapping.bytes()[nominal.clone()]);
        let before = self.wait_for(&states[index])?;
        let after = survey.after(before);
        states[index + 1].store(encode(after), Ordering::Release);
        // Nothing is inside quotes where there is no quote and none was open: the scan may skip looking for them.
        let mut traits = survey.traits;
        traits.quotes |= before != QuoteState::Outside;
        let start = self.boundary(dialect, nominal.start, before, nominal.end);
        let Some(start) = start else {
            return Some(mapped_span(index, nominal.end..nominal.end, traits));
        };
        let length = self.mapping.bytes().len();
        let end = self.boundary(dialect, nominal.end, after, length).unwrap_or(length);
        if end > nominal.end {
            let bytes = &self.mapping.bytes()[nominal.end..end];
            traits |= longshore_csv::survey(self.splitter.kernel(), dialect, bytes).traits;
        }
        Some(mapped_span(index, start..end, traits))
    }

    /// Where the first record begins at or after `position`, given the quoting state there; `None` if none begins
    /// before `limit`.
    fn boundary(&self, dialect: &Dialect, position: usize, state: QuoteState, limit: usize) -> Option<usize> {
        let bytes = self.mapping.bytes();
        let after_line_end = position == self.data_start || bytes[position - 1] == b'\n';
        if after_line_end && state == QuoteState::Outside {
            return Some(position);
        }
        record_start(self.splitter.kernel(), dialect, &bytes[position..limit], state)
            .map(|length| position + length)
            .filter(|start| *start < limit || limit == bytes.len())
    }

    fn claim_fast(&self, dialect: &Dialect) -> Option<Span> {
        let index = self.claim_index()?;
        let nominal = self.nominal(index);
        self.mapping.populate(nominal.clone());
        let length = self.mapping.bytes().len();
        let start = self.boundary_fast(dialect, nominal.start, nominal.end);
        let end = self.boundary_fast(dialect, nominal.end, length).unwrap_or(length);
        let range = start.unwrap_or(end)..end;
        let traits = survey(self.splitter.kernel(), dialect, &self.mapping.bytes()[range.clone()]).traits;
        Some(mapped_span(index, range, traits))
    }

    fn boundary_fast(&self, dialect: &Dialect, position: usize, limit: usize) -> Option<usize> {
        let bytes = self.mapping.bytes();
        if position == self.data_start {
            return Some(position);
        }
        // From the byte before, which may be the line end itself.
        let previous = (position >= 2).then(|| bytes[position - 2]);
        record_start_fast(dialect, &bytes[position - 1..limit], previous)
            .map(|length| position - 1 + length)
            .filter(|start| *start < limit || limit == bytes.len())
    }

    fn claim_serial(&self, end_before: &Mutex<usize>) -> Result<Option<Span>, (u64, LoadError)> {
        let mut end_before = end_before.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = self.mapping.bytes();
        let start = *end_before;
        if start >= bytes.len() {
            return Ok(None);
        }
        let sequence = self.next.load(Ordering::Relaxed);
        let mut wanted = self.span_bytes;
        let end = loop {
            let nominal_end = bytes.len().min(start.saturating_add(wanted));
            self.mapping.populate(start..nominal_end);
            match self.splitter.complete(&bytes[start..nominal_end], nominal_end == bytes.len()) {
                0 => wanted = grow(&self.name, wanted).map_err(|error| (sequence as u64, error))?,
                length => break start + length,
            }
        };
        let marked = self.splitter.end_of_data(&bytes[start..end]);
        let is_last = marked.is_some() || end == bytes.len();
        let end = marked.map_or(end, |length| start + length);
        *end_before = if is_last { bytes.len() } else { end };
        self.next.store(sequence + 1, Ordering::Release);
        let traits = self.splitter.traits(&bytes[start..end]);
        Ok(Some(Span { is_last, ..mapped_span(sequence, start..end, traits) }))
    }

    fn claim_index(&self) -> Option<usize> {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        (index < self.count).then_some(index)
    }

    /// The state before a span. Its predecessor is being surveyed by another worker, which takes well under a
    /// millisecond; `None` if that worker panicked.
    fn wait_for(&self, state: &AtomicU8) -> Option<QuoteState> {
        let mut turns = 0_u32;
        loop {
            let known = state.load(Ordering::Acquire);
            if known != UNKNOWN {
                return Some(decode(known));
            }
            if self.stops.is_abandoned() {
                return None;
            }
            turns += 1;
            if turns < 64 {
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
    }

    pub(super) fn finish(&self, range: Range<usize>) -> Result<(), LoadError> {
        self.mapping.release(range);
        if self.mapping.is_whole() { Ok(()) } else { Err(LoadError::Shrunk { file: self.name.clone() }) }
    }
}

fn mapped_span(index: usize, range: Range<usize>, traits: TextTraits) -> Span {
    Span {
        sequence: index as u64,
        offset: range.start as u64,
        text: SpanText::Mapped(range),
        traits,
        lines_before: None,
        is_last: false,
    }
}

fn encode(state: QuoteState) -> u8 {
    state as u8
}

fn decode(state: u8) -> QuoteState {
    [QuoteState::Outside, QuoteState::Inside, QuoteState::Escaped]
        .into_iter()
        .find(|candidate| encode(*candidate) == state)
        .expect("only encoded states are stored")
}
