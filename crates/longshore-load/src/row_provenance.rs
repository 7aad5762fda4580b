//! Remembers where the rows of a load come from, so that a row can be told by its file and line when it turns out to have
//! the key of another one.
//!
//! A load into a relation with keys notes its spans and how many rows each gave. Nothing more is done until a row is asked
//! for: then its span is read again, and lines are counted. The text of a mapped file is there; that of a stream is kept
//! while it is little, or all of it where every row may be asked for, and otherwise fetched again from the source. What
//! can be read only once and was not kept gives the number of the record instead.
//!
//! Not here: which rows have keys of others (`longshore-storage`), the reading itself (`row_provenance/again`).

mod again;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use longshore_storage::Memory;

use crate::files::SpanTask;

pub(crate) use again::{Located, Reading};

/// Bytes of streams' text that are kept, at most, if not all of it is.
const TEXT_BYTES_MAX: usize = 64 << 20;
/// The part of the memory limit that such text may take.
const PART_OF_LIMIT: usize = 8;
/// Files that are kept open until the end of a load, at most.
const FILES_MAX: usize = 128;

/// The spans of a load.
pub(crate) struct RowProvenance {
    /// Whether the text of streams is kept, however much it is.
    keeps_all: bool,
    text_bytes_max: usize,
    text_bytes: AtomicUsize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    spans: Vec<SpanProvenance>,
    /// The files that stay open, by their addresses.
    files: BTreeSet<usize>,
}

/// A span that was read.
struct SpanProvenance {
    sequence: u64,
    /// Rows that it gave.
    rows: u64,
    /// Records that it has beside them.
    rejected: u64,
    origin: Origin,
}

/// Where the text of a span is.
enum Origin {
    /// There.
    Text(SpanTask),
    /// To be fetched again: so many bytes.
    Forgotten(SpanTask, usize),
    /// In a file of this name that was closed.
    Closed(String),
}

impl RowProvenance {
    pub(crate) fn new(keeps_all: bool, memory: &Memory) -> Self {
        let part = memory.limit().map_or(usize::MAX, |limit| limit / PART_OF_LIMIT);
        Self {
            keeps_all,
            text_bytes_max: TEXT_BYTES_MAX.min(part),
            text_bytes: AtomicUsize::new(0),
            state: Mutex::default(),
        }
    }

    /// Notes a span that was read.
    pub(crate) fn note(&self, mut task: SpanTask, rows: u64, rejected: u64) {
        let sequence = task.sequence;
        let bytes = task.text().len();
        let owns_text = task.span.owns_text();
        let keeps_text = !owns_text
            || self.keeps_all
            || self.text_bytes.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) <= self.text_bytes_max;
        if !keeps_text {
            task.span.forget_text();
        }
        let mut state = self.state();
        let file = Arc::as_ptr(&task.file).addr();
        let stays_open = self.keeps_all || state.files.len() < FILES_MAX || state.files.contains(&file);
        let origin = if stays_open {
            state.files.insert(file);
            if keeps_text { Origin::Text(task) } else { Origin::Forgotten(task, bytes) }
        } else {
            Origin::Closed(task.file.name.clone())
        };
        state.spans.push(SpanProvenance { sequence, rows, rejected, origin });
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SpanProvenance {
    fn file(&self) -> &str {
        match &self.origin {
            Origin::Text(task) | Origin::Forgotten(task, _) => &task.file.name,
            Origin::Closed(name) => name,
        }
    }
}
