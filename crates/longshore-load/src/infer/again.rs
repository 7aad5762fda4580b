//! Spans of streams that have to be read again: their text is kept while it is little. Beyond that it is forgotten, and
//! fetched again from the source, which hands out the same spans when it is opened a second time.
//!
//! What can be read only once (standard input, a named pipe) is kept within the memory limit. That a source gives the
//! same text again is checked span by span. Not here: which spans have to be read again (`read`).

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use longshore_storage::Memory;
use xxhash_rust::xxh3::xxh3_64;

use crate::control::Control;
use crate::error::LoadError;
use crate::files::{Files, OpenFile, SpanTask};
use crate::span::Spans;

/// Bytes of text that are kept of sources that can be opened again, at most.
const BYTES_KEPT_MAX: usize = 64 << 20;
/// The part of the memory limit that such text may take.
const PART_OF_LIMIT: usize = 8;

/// What there is of the text of a span that was read.
pub(super) enum Text {
    /// It lies in a file, or is kept.
    There,
    /// It is to be fetched again.
    Forgotten(Digest),
}

impl Text {
    /// What remains of the text of a span that was read.
    pub(super) fn after(task: &mut SpanTask, keeps: bool) -> Self {
        if keeps || !task.span.owns_text() {
            return Self::There;
        }
        let digest = Digest::of(task);
        task.span.forget_text();
        Self::Forgotten(digest)
    }
}

/// What tells whether a text is the same again.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Digest {
    offset: u64,
    bytes: usize,
    hash: u64,
}

impl Digest {
    fn of(task: &SpanTask) -> Self {
        Self { offset: task.span.offset, bytes: task.text().len(), hash: xxh3_64(task.text()) }
    }
}

/// What is kept of streams, and what is fetched again.
pub(super) struct StreamTexts {
    bytes_kept_max: usize,
    bytes_kept: AtomicUsize,
    again: Mutex<VecDeque<Again>>,
}

/// A file that is read again.
struct Again {
    file: Arc<OpenFile>,
    /// The spans that are wanted, by their numbers in the file: number in all files, and what they were.
    spans: BTreeMap<u64, (u64, Digest)>,
    /// Once it is open.
    source: Option<Spans>,
}

impl StreamTexts {
    pub(super) fn new(memory: &Memory) -> Self {
        let part = memory.limit().map_or(usize::MAX, |limit| limit / PART_OF_LIMIT);
        Self { bytes_kept_max: BYTES_KEPT_MAX.min(part), bytes_kept: AtomicUsize::new(0), again: Mutex::default() }
    }

    /// Whether the text of a span is kept when it was read, which counts its memory.
    pub(super) fn keeps(&self, task: &SpanTask) -> bool {
        if !task.span.owns_text() || task.file.input.reads_once {
            return true;
        }
        let bytes = task.text().len();
        self.bytes_kept.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) <= self.bytes_kept_max
    }

    /// Notes a span to be fetched again. Spans come in their order.
    pub(super) fn forgotten(&self, task: &SpanTask, digest: Digest) {
        let mut again = self.again.lock().unwrap_or_else(PoisonError::into_inner);
        let span = (task.span.sequence, (task.sequence, digest));
        match again.back_mut() {
            Some(last) if Arc::ptr_eq(&last.file, &task.file) => {
                last.spans.insert(span.0, span.1);
            }
            _ => again.push_back(Again { file: Arc::clone(&task.file), spans: BTreeMap::from([span]), source: None }),
        }
    }

    /// The next span that was forgotten, with its text.
    pub(super) fn fetch(&self, files: &Files, control: &Control) -> Result<Option<SpanTask>, (u64, LoadError)> {
        let mut again = self.again.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(Again { file, spans, source }) = again.front_mut() {
            let Some((_, &(sequence, _))) = spans.first_key_value() else {
                again.pop_front();
                continue;
            };
            let source = match source {
                Some(source) => source,
                None => source.insert(files.open_again(file, control).map_err(|error| (sequence, error))?),
            };
            let Some(span) = source.claim(control).map_err(|(_, error)| (sequence, error))? else {
                return Err((sequence, changed(file)));
            };
            if let Some((sequence, digest)) = spans.remove(&span.sequence) {
                let task = SpanTask { file: Arc::clone(file), span, sequence };
                if !task.span.owns_text() || Digest::of(&task) != digest {
                    return Err((sequence, changed(file)));
                }
                return Ok(Some(task));
            }
        }
        Ok(None)
    }
}

fn changed(file: &OpenFile) -> LoadError {
    LoadError::Unfit {
        file: file.name.clone(),
        problem:
            "it is not what it was a moment ago, when its types were found out; load it again when nothing writes to \
                  it"
            .to_owned(),
    }
}
