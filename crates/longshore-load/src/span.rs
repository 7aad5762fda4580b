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
//! Not here: parsing (`worker`), the files themselves (`longshore-source`).

use std::ops::Range;
use std::sync::Arc;

use longshore_csv::{PADDING, TextTraits};
use longshore_source::{Input, Source};
use longshore_storage::{CHUNK_ROWS_MAX, Memory};

use crate::control::Control;
use crate::error::LoadError;
use crate::options::{TextOptions, Tuning};
use crate::stop::Stops;

mod buffer;
mod mapped;
mod preamble;
mod splitter;
mod stream;

use buffer::TextBuffer;
use mapped::MappedSpans;
pub(crate) use preamble::Fields;
use preamble::Preamble;
use stream::StreamSpans;

/// Rows that a span is meant to have: a little less than a chunk, so that the estimate may err.
const SPAN_ROWS: usize = CHUNK_ROWS_MAX / 16 * 15;
/// Bounds of a span when its size is not given.
const SPAN_BYTES_MIN: usize = 64 << 10;
const SPAN_BYTES_MAX: usize = 64 << 20;

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
    /// Whether no text follows, as far as that is known: of plain CSV it is not.
    pub(crate) is_last: bool,
}

/// The bytes of a span.
enum SpanText {
    /// A range of the mapped file.
    Mapped(Range<usize>),
    /// Bytes of its own: the first `length` are the text; padding follows.
    Owned { buffer: TextBuffer, length: usize },
}

impl Span {
    /// Whether the text lies in memory of its own, rather than in a file.
    pub(crate) fn owns_text(&self) -> bool {
        matches!(self.text, SpanText::Owned { .. })
    }

    /// Gives up a text that the span owns.
    pub(crate) fn forget_text(&mut self) {
        if let SpanText::Owned { buffer, length } = &mut self.text {
            buffer.give_back();
            *length = 0;
        }
    }
}

/// All spans of one source.
pub(crate) enum Spans {
    /// Of a mapped file.
    Mapped(MappedSpans),
    /// Of a stream.
    Stream(StreamSpans),
}

/// The pass that a source is part of.
pub(crate) struct ScanContext<'a> {
    pub(crate) options: &'a TextOptions,
    pub(crate) tuning: &'a Tuning,
    /// How many files are read in all.
    pub(crate) files: usize,
    /// Whether workers shall go on.
    pub(crate) stops: &'a Arc<Stops>,
    /// Whether the statement was cancelled.
    pub(crate) control: &'a Control,
    /// What text that is not mapped counts against.
    pub(crate) memory: &'a Arc<Memory>,
}

impl Spans {
    /// Prepares the spans of `source`, `from` a begin of a record on if there is one, of whose fields `fields` tells; also
    /// returns what its head says.
    pub(crate) fn new(
        source: Source,
        from: Option<u64>,
        fields: Fields<'_>,
        context: &ScanContext<'_>,
    ) -> Result<(Self, Preamble), LoadError> {
        let (name, input) = source.into_parts();
        match input {
            Input::Mapped(mapping) => {
                let mut preamble = preamble::read(&name, mapping.bytes(), true, fields, context)?
                    .unwrap_or_else(|| unreachable!("the head is the whole file"));
                if let Some(from) = from {
                    let from = usize::try_from(from).unwrap_or(usize::MAX).min(mapping.bytes().len());
                    preamble.data_start = preamble.data_start.max(from);
                }
                Ok((Self::Mapped(MappedSpans::new(name, mapping, &preamble, context)), preamble))
            }
            Input::Stream(_) if from.is_some_and(|from| from > 0) => Err(LoadError::Unfit {
                file: name,
                problem: "only uncompressed text in UTF-8 can be read from a place within it".to_owned(),
            }),
            Input::Stream(reader) => {
                let (spans, preamble) = StreamSpans::new(name, reader, fields, context)?;
                Ok((Self::Stream(spans), preamble))
            }
        }
    }

    /// Claims the next span; `None` when there is none, or the work was stopped.
    pub(crate) fn claim(&self, control: &Control) -> Result<Option<Span>, (u64, LoadError)> {
        match self {
            Self::Mapped(spans) => spans.claim(),
            Self::Stream(spans) => spans.claim(control),
        }
    }

    /// The text of a span.
    pub(crate) fn text<'a>(&'a self, span: &'a Span) -> &'a [u8] {
        match &span.text {
            SpanText::Mapped(range) => &self.readable(span)[..range.len()],
            SpanText::Owned { buffer, length } => &buffer.bytes()[..*length],
        }
    }

    /// The text of a span and all that may be read behind it.
    pub(crate) fn readable<'a>(&'a self, span: &'a Span) -> &'a [u8] {
        match (self, &span.text) {
            (Self::Mapped(spans), SpanText::Mapped(range)) => &spans.bytes()[range.start..],
            (_, SpanText::Owned { buffer, length }) => &buffer.bytes()[..*length + PADDING],
            (Self::Stream(_), SpanText::Mapped(_)) => unreachable!("a stream's spans own their text"),
        }
    }

    /// All of the text, if it is that of a mapped file.
    pub(crate) fn mapped(&self) -> Option<&[u8]> {
        match self {
            Self::Mapped(spans) => Some(spans.bytes()),
            Self::Stream(_) => None,
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

    /// How many spans were handed out; all there are once [`Spans::claim`] returned `None`.
    pub(crate) fn handed_out(&self) -> u64 {
        match self {
            Self::Mapped(spans) => spans.handed_out(),
            Self::Stream(spans) => spans.handed_out(),
        }
    }

    /// Bytes of each span of a stream, about.
    pub(crate) fn span_bytes(&self) -> Option<usize> {
        match self {
            Self::Mapped(_) => None,
            Self::Stream(spans) => Some(spans.span_bytes()),
        }
    }

    /// Bytes of the source; 0 if unknown.
    pub(crate) fn bytes_total(&self) -> u64 {
        match self {
            Self::Mapped(spans) => spans.bytes().len() as u64,
            Self::Stream(_) => 0,
        }
    }

    /// Text before the data (header, byte order mark), which no span covers.
    pub(crate) fn preamble_bytes(&self) -> u64 {
        match self {
            Self::Mapped(spans) => spans.preamble_bytes(),
            Self::Stream(spans) => spans.preamble_bytes(),
        }
    }

    /// How many spans there are at most.
    pub(crate) fn count_max(&self) -> usize {
        match self {
            Self::Mapped(spans) => spans.count_max(),
            Self::Stream(_) => usize::MAX,
        }
    }

    /// Line feeds before `offset` in the file, for messages.
    pub(crate) fn lines_before(&self, span: &Span, offset: u64) -> u64 {
        let count = |text: &[u8]| memchr::memchr_iter(b'\n', text).count() as u64;
        match (self, span.lines_before) {
            (Self::Mapped(spans), None) => {
                let bytes = spans.bytes();
                count(&bytes[..bytes.len().min(offset as usize)])
            }
            (_, before) => {
                let within = (offset - span.offset) as usize;
                before.unwrap_or(0) + count(&self.text(span)[..within])
            }
        }
    }
}

/// Bytes of a span whose records have about `record_bytes` bytes each.
fn span_bytes_for(record_bytes: usize) -> usize {
    record_bytes.saturating_mul(SPAN_ROWS).clamp(SPAN_BYTES_MIN, SPAN_BYTES_MAX)
}
