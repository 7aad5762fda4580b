//! The morsels of a scan: runs of rows within a chunk, which workers take from a shared counter.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use longshore_storage::Chunk;

use super::context::BATCH_ROWS;
use super::prune;
use super::scan::RelationSource;

/// Rows that a worker takes at a time: few enough that all workers end together, many enough that taking is free.
pub(super) const MORSEL_ROWS: usize = 2 * BATCH_ROWS;

/// Some rows of one chunk.
#[derive(Clone)]
pub(super) struct Morsel {
    pub(super) chunk: Arc<Chunk>,
    /// Position of the chunk in its snapshot.
    pub(super) chunk_index: usize,
    /// First row in the chunk.
    pub(super) offset: usize,
    pub(super) rows: usize,
}

/// What the workers of one scan share while it runs.
pub(super) struct Morsels {
    list: Vec<Morsel>,
    next: AtomicUsize,
    /// Rows that are still wanted.
    wanted: AtomicUsize,
}

impl Morsels {
    /// Cuts the snapshot of `source`, without chunks that its predicate excludes.
    pub(super) fn new(source: &RelationSource) -> Self {
        let chunks = source.snapshot.chunks();
        let live = source.predicate.as_ref().map(|predicate| {
            let conjuncts = predicate.conjuncts().map(Arc::clone);
            // A predicate that cannot be tried on bounds is still evaluated on every row.
            prune::live(chunks, &source.table, conjuncts).unwrap_or_else(|_| vec![true; chunks.len()])
        });
        // Without a predicate the first rows of the relation are the answer to a limit.
        let mut rows_due = match (&source.predicate, source.fetch) {
            (None, Some(fetch)) => fetch,
            _ => usize::MAX,
        };
        let mut list = Vec::new();
        for (chunk_index, chunk) in chunks.iter().enumerate() {
            if live.as_ref().is_some_and(|live| !live[chunk_index]) {
                continue;
            }
            let end = chunk.rows().min(rows_due);
            rows_due -= end;
            for offset in (0..end).step_by(MORSEL_ROWS) {
                list.push(Morsel {
                    chunk: Arc::clone(chunk),
                    chunk_index,
                    offset,
                    rows: MORSEL_ROWS.min(end - offset),
                });
            }
        }
        Self { list, next: AtomicUsize::new(0), wanted: AtomicUsize::new(source.fetch.unwrap_or(usize::MAX)) }
    }

    /// The next morsel that nobody has taken.
    pub(super) fn take(&self) -> Option<&Morsel> {
        if self.wanted.load(Ordering::Relaxed) == 0 {
            return None;
        }
        self.list.get(self.next.fetch_add(1, Ordering::Relaxed))
    }

    /// Asks leave to return `rows` rows; fewer may be granted when a limit is near.
    pub(super) fn grant(&self, rows: usize) -> usize {
        let before = self
            .wanted
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |wanted| Some(wanted - wanted.min(rows)))
            .expect("the update always gives a value");
        before.min(rows)
    }
}
