//! Hands the text of a source to workers: numbered spans of whole records.
//!
//! A span is the run of bytes that a worker claims at a time. It is sized so that its rows fill about one chunk, and
//! its number decides where its rows stand in the relation: the order of the file is kept for any thread count.
//!
//! Where a span's first record begins depends on whether its first byte lies inside quotes, a property of all text
//! before it. Three ways to know it, as in section 3.3 of Instant Loading:
//! * *exact* (ours): each worker surveys its span in one pass at memory speed, publishes how the span changes the
//!   quoting state, and needs only the state before it from its predecessor;
//! * *fast* (the paper's): every unescaped line break is taken for a record end. A wrong guess cannot go unnoticed,
//!   since the span before then does not end where a record ends;
//! * *safe* (the paper's): one worker at a time finds the end of the next span. Streams are split so as well.
//!
//! Not here: parsing (`worker`), the files themselves (`source`).

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use longshore_csv::{Dialect, Kernel, QuoteState, TextTraits, record_start, record_start_fast, survey};
use longshore_storage::CHUNK_ROWS_MAX;

use crate::source::Mapping;
use crate::{Control, LoadError, Mode, Source, TextOptions, Tuning};

mod stream;

pub(crate) use stream::StreamSpans;

/// Rows that a span is meant to have: a little less than a chunk, so that the estimate may err.
const SPAN_ROWS: usize = CHUNK_ROWS_MAX / 16 * 15;
/// Spans that each worker is to get at least, so that they finish together.
const SPANS_PER_WORKER_MIN: usize = 4;
/// Bounds of a span when its size is not given.
const SPAN_BYTES_MIN: usize = 64 << 10;
const SPAN_BYTES_MAX: usize = 64 << 20;
/// How far ahead of its own span a worker asks the kernel to read.
const READ_AHEAD_SPANS: usize = 2;

/// Whole records, to be parsed by one worker.
pub(crate) struct Span {
    /// Position in the order of the file, from 0 without gaps.
    pub(crate) sequence: u64,
    /// Offset of the text in the file.
    pub(crate) offset: u64,
    text: SpanText,
    /// What the text contains beside ordinary bytes.
    pub(crate) traits: TextTraits,
    /// Line feeds of the file before the text; `None` where they can be counted when needed.
    lines_before: Option<u64>,
}

/// The bytes of a span.
enum SpanText {
    /// A range of the mapped file.
    Mapped(Range<usize>),
    /// Bytes of its own: the first `length` are the text; [`PADDING`] more follow.
    Owned { buffer: Vec<u8>, length: usize },
}

/// All spans of one source.
pub(crate) enum Spans {
    /// Of a mapped file.
    Mapped(MappedSpans),
    /// Of a stream.
    Stream(StreamSpans),
}

impl Spans {
    /// Prepares the spans of `source`, whose fields are called `names`.
    pub(crate) fn new(
        source: Source,
        names: &[&str],
        options: &TextOptions,
        tuning: &Tuning,
    ) -> Result<(Self, bool), LoadError> {
        let Source { name, input } = source;
        match input {
            crate::source::Input::Mapped(mapping) => {
                let preamble = crate::preamble::read(&name, mapping.bytes(), true, names, options, tuning)?
                    .unwrap_or_else(|| unreachable!("the head is the whole file"));
                let trailing = preamble.trailing_delimiter;
                let spans = MappedSpans::new(name, mapping, &preamble, options, tuning);
                Ok((Self::Mapped(spans), trailing))
            }
            crate::source::Input::Stream(reader) => {
                let (spans, trailing) = StreamSpans::new(name, reader, names, options, tuning)?;
                Ok((Self::Stream(spans), trailing))
            }
        }
    }

    /// Claims the next span; `None` when there is none, or the work was stopped.
    pub(crate) fn claim(&self, control: &Control) -> Result<Option<Span>, (u64, LoadError)> {
        match self {
            Self::Mapped(spans) => Ok(spans.claim()),
            Self::Stream(spans) => spans.claim(control),
        }
    }

    /// The text of a span.
    pub(crate) fn text<'a>(&'a self, span: &'a Span) -> &'a [u8] {
        match &span.text {
            SpanText::Mapped(range) => &self.readable(span)[..range.len()],
            SpanText::Owned { buffer, length } => &buffer[..*length],
        }
    }

    /// The text of a span and all that may be read behind it.
    pub(crate) fn readable<'a>(&'a self, span: &'a Span) -> &'a [u8] {
        match (self, &span.text) {
            (Self::Mapped(spans), SpanText::Mapped(range)) => &spans.mapping.bytes()[range.start..],
            (_, SpanText::Owned { buffer, .. }) => buffer,
            (Self::Stream(_), SpanText::Mapped(_)) => unreachable!("a stream's spans own their text"),
        }
    }

    /// To be called when the rows of a span were taken or the span failed: gives its memory back and checks that the
    /// text was sound while it was read.
    pub(crate) fn finish(&self, span: &Span) -> Result<(), LoadError> {
        match (self, &span.text) {
            (Self::Mapped(spans), SpanText::Mapped(range)) => spans.finish(range.clone()),
            _ => Ok(()),
        }
    }

    /// Stops workers that wait for a predecessor; called when a worker fails or panics.
    pub(crate) fn stop(&self) {
        if let Self::Mapped(spans) = self {
            spans.stopped.store(true, Ordering::Release);
        }
    }

    /// The source's name for messages.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Mapped(spans) => &spans.name,
            Self::Stream(spans) => spans.name(),
        }
    }

    /// Bytes of the source; 0 if unknown.
    pub(crate) fn bytes_total(&self) -> u64 {
        match self {
            Self::Mapped(spans) => spans.mapping.bytes().len() as u64,
            Self::Stream(_) => 0,
        }
    }

    /// Text before the data (header, byte order mark), which no span covers.
    pub(crate) fn preamble_bytes(&self) -> u64 {
        match self {
            Self::Mapped(spans) => spans.data_start as u64,
            Self::Stream(spans) => spans.preamble_bytes(),
        }
    }

    /// How many spans there are at most.
    pub(crate) fn count_max(&self) -> usize {
        match self {
            Self::Mapped(spans) => spans.count,
            Self::Stream(_) => usize::MAX,
        }
    }

    /// Line feeds before `offset` in the file, for messages.
    pub(crate) fn lines_before(&self, span: &Span, offset: u64) -> u64 {
        let count = |text: &[u8]| memchr::memchr_iter(b'\n', text).count() as u64;
        match (self, span.lines_before) {
            (Self::Mapped(spans), None) => {
                let bytes = spans.mapping.bytes();
                count(&bytes[..bytes.len().min(offset as usize)])
            }
            (_, before) => {
                let within = (offset - span.offset) as usize;
                before.unwrap_or(0) + count(&self.text(span)[..within])
            }
        }
    }
}

/// The spans of a mapped file.
pub(crate) struct MappedSpans {
    name: String,
    mapping: Mapping,
    data_start: usize,
    span_bytes: usize,
    count: usize,
    kernel: Kernel,
    dialect: Dialect,
    split: Split,
    /// The next span to claim.
    next: AtomicUsize,
    stopped: AtomicBool,
}

/// How the first record of a span is found.
enum Split {
    /// The quoting state before each span, as far as it is known; [`UNKNOWN`] where it is not.
    Exact(Box<[AtomicU8]>),
    Fast,
    /// The end of the span claimed last.
    Safe(Mutex<usize>),
}

const UNKNOWN: u8 = u8::MAX;

impl MappedSpans {
    fn new(
        name: String,
        mapping: Mapping,
        preamble: &crate::preamble::Preamble,
        options: &TextOptions,
        tuning: &Tuning,
    ) -> Self {
        let data_start = preamble.data_start;
        let data_bytes = mapping.bytes().len() - data_start;
        let span_bytes = tuning.span_bytes.unwrap_or_else(|| {
            let even = data_bytes.div_ceil(tuning.threads.max(1) * SPANS_PER_WORKER_MIN);
            span_bytes_for(preamble.record_bytes).min(even).max(SPAN_BYTES_MIN)
        });
        let span_bytes = span_bytes.max(1);
        let count = data_bytes.div_ceil(span_bytes);
        let split = match options.mode {
            Mode::Exact => {
                let states: Box<[AtomicU8]> = (0..=count).map(|_| AtomicU8::new(UNKNOWN)).collect();
                states[0].store(encode(QuoteState::Outside), Ordering::Relaxed);
                Split::Exact(states)
            }
            Mode::Fast => Split::Fast,
            Mode::Safe => Split::Safe(Mutex::new(data_start)),
        };
        Self {
            name,
            mapping,
            data_start,
            span_bytes,
            count,
            kernel: tuning.kernel,
            dialect: options.dialect,
            split,
            next: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
        }
    }

    fn claim(&self) -> Option<Span> {
        if self.stopped.load(Ordering::Acquire) {
            return None;
        }
        match &self.split {
            Split::Exact(states) => self.claim_exact(states),
            Split::Fast => self.claim_fast(),
            Split::Safe(end) => self.claim_safe(end),
        }
    }

    /// The bytes that span `index` covers by its size alone.
    fn nominal(&self, index: usize) -> Range<usize> {
        let length = self.mapping.bytes().len();
        let start = self.data_start + index * self.span_bytes;
        start..length.min(start + self.span_bytes)
    }

    fn claim_exact(&self, states: &[AtomicU8]) -> Option<Span> {
        let index = self.claim_index()?;
        let nominal = self.nominal(index);
        self.mapping.populate(nominal.clone());
        let survey = survey(self.kernel, &self.dialect, &self.mapping.bytes()[nominal.clone()]);
        let before = self.wait_for(&states[index])?;
        let after = survey.after(before);
        states[index + 1].store(encode(after), Ordering::Release);
        // Nothing is inside quotes where there is no quote and none was open: the scan may skip looking for them.
        let mut traits = survey.traits;
        traits.quotes |= before != QuoteState::Outside;
        let start = self.boundary(nominal.start, before, nominal.end);
        let Some(start) = start else {
            return Some(mapped_span(index, nominal.end..nominal.end, traits));
        };
        let length = self.mapping.bytes().len();
        let end = self.boundary(nominal.end, after, length).unwrap_or(length);
        if end > nominal.end {
            let bytes = &self.mapping.bytes()[nominal.end..end];
            traits |= longshore_csv::survey(self.kernel, &self.dialect, bytes).traits;
        }
        Some(mapped_span(index, start..end, traits))
    }

    /// Where the first record begins at or after `position`, given the quoting state there; `None` if none begins
    /// before `limit`.
    fn boundary(&self, position: usize, state: QuoteState, limit: usize) -> Option<usize> {
        let bytes = self.mapping.bytes();
        let after_line_end = position == self.data_start || bytes[position - 1] == b'\n';
        if after_line_end && state == QuoteState::Outside {
            return Some(position);
        }
        record_start(self.kernel, &self.dialect, &bytes[position..limit], state)
            .map(|length| position + length)
            .filter(|start| *start < limit || limit == bytes.len())
    }

    fn claim_fast(&self) -> Option<Span> {
        let index = self.claim_index()?;
        let nominal = self.nominal(index);
        self.mapping.populate(nominal.clone());
        let length = self.mapping.bytes().len();
        let start = self.boundary_fast(nominal.start, nominal.end);
        let end = self.boundary_fast(nominal.end, length).unwrap_or(length);
        let range = start.unwrap_or(end)..end;
        let traits = survey(self.kernel, &self.dialect, &self.mapping.bytes()[range.clone()]).traits;
        Some(mapped_span(index, range, traits))
    }

    fn boundary_fast(&self, position: usize, limit: usize) -> Option<usize> {
        let bytes = self.mapping.bytes();
        if position == self.data_start {
            return Some(position);
        }
        // From the byte before, which may be the line end itself.
        let previous = (position >= 2).then(|| bytes[position - 2]);
        record_start_fast(&self.dialect, &bytes[position - 1..limit], previous)
            .map(|length| position - 1 + length)
            .filter(|start| *start < limit || limit == bytes.len())
    }

    fn claim_safe(&self, end_before: &Mutex<usize>) -> Option<Span> {
        let mut end_before = end_before.lock().unwrap_or_else(PoisonError::into_inner);
        let length = self.mapping.bytes().len();
        let start = *end_before;
        if start >= length {
            return None;
        }
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        let nominal_end = length.min(start + self.span_bytes);
        self.mapping.populate(start..nominal_end);
        let survey = survey(self.kernel, &self.dialect, &self.mapping.bytes()[start..nominal_end]);
        let after = survey.after(QuoteState::Outside);
        let end = self.boundary(nominal_end, after, length).unwrap_or(length);
        *end_before = end;
        let rest = &self.mapping.bytes()[nominal_end..end];
        let traits = survey.traits | longshore_csv::survey(self.kernel, &self.dialect, rest).traits;
        Some(mapped_span(index, start..end, traits))
    }

    fn claim_index(&self) -> Option<usize> {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        if index >= self.count {
            return None;
        }
        let ahead = self.nominal(index).end;
        self.mapping.will_need(ahead..ahead.saturating_add(READ_AHEAD_SPANS * self.span_bytes));
        Some(index)
    }

    /// The state before a span. Its predecessor is being surveyed by another worker, which takes well under a
    /// millisecond; `None` if that worker failed.
    fn wait_for(&self, state: &AtomicU8) -> Option<QuoteState> {
        let mut turns = 0_u32;
        loop {
            let known = state.load(Ordering::Acquire);
            if known != UNKNOWN {
                return Some(decode(known));
            }
            if self.stopped.load(Ordering::Acquire) {
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

    fn finish(&self, range: Range<usize>) -> Result<(), LoadError> {
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
    }
}

/// Bytes of a span whose records have about `record_bytes` bytes each.
fn span_bytes_for(record_bytes: usize) -> usize {
    record_bytes.saturating_mul(SPAN_ROWS).clamp(SPAN_BYTES_MIN, SPAN_BYTES_MAX)
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
