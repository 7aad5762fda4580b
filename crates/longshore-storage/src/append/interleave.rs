//! Merges the chunks of an append as they come, as part of a transaction that lasts as long as the append (*Instant Loading*,
//! 4.2: loading optimised for a short loading time interleaves the processing of chunks with merge steps).
//!
//! Chunks become slots in their order, so the relation keeps it. Each is indexed by the thread that brought it, into the
//! indexes of the relation. Others see neither, but to them keys of the append are taken from then on. When a key is met
//! twice, no more is merged: which row is the first one only shows when all rows are there, so all that was done is undone
//! in the end, and the append goes the usual way.

use std::sync::{Arc, PoisonError};

use crate::chunk::Chunk;
use crate::chunk::hot::HotChunk;
use crate::error::TransactionError;
use crate::memory::OutOfMemory;
use crate::relation::Relation;
use crate::sync::{Mutex, MutexGuard};
use crate::transaction::Transaction;

/// What an append has merged already.
pub(super) struct Interleave<'r> {
    relation: &'r Relation,
    state: Mutex<State<'r>>,
}

struct State<'r> {
    transaction: Option<&'r mut Transaction>,
    /// What the transaction had written before.
    before: usize,
    /// All chunks whose turn came, in their order.
    chunks: Vec<Arc<Chunk>>,
    /// The slots of the first of them that are in the indexes, or may be.
    slots: Vec<usize>,
    ended: Option<End>,
}

/// Why no more is merged.
#[derive(Clone)]
enum End {
    /// A key is there twice.
    Clash,
    Failed(TransactionError),
}

/// What there was to merge.
pub(super) enum Interleaved {
    /// All rows are part of the transaction.
    Merged,
    /// None is.
    Undone(Vec<Arc<Chunk>>),
}

impl<'r> Interleave<'r> {
    pub(super) fn new(relation: &'r Relation, transaction: &'r mut Transaction) -> Interleave<'r> {
        let before = transaction.writes();
        let transaction = Some(transaction);
        let state = State { transaction, before, chunks: Vec::new(), slots: Vec::new(), ended: None };
        Interleave { relation, state: Mutex::new(state) }
    }

    /// Makes chunks whose turn has come slots of the relation; says where they are, so that they can be indexed.
    pub(super) fn push(&self, chunks: Vec<Arc<Chunk>>) -> Option<std::ops::Range<usize>> {
        let mut guard = self.lock();
        let state = &mut *guard;
        state.chunks.extend(chunks.iter().cloned());
        let transaction = state.transaction.as_mut().filter(|_| state.ended.is_none() && !chunks.is_empty())?;
        match transaction.push_slots(self.relation, chunks.into_iter().map(HotChunk::of_chunk).collect(), None) {
            Ok(slots) => {
                state.slots.extend(slots.clone());
                Some(slots)
            }
            Err(error) => {
                state.ended = Some(End::Failed(error));
                None
            }
        }
    }

    /// Indexes slots. Threads may call this side by side.
    pub(super) fn index(&self, slots: std::ops::Range<usize>) -> Result<(), OutOfMemory> {
        let Some(view) = self.lock().transaction.as_ref().map(|transaction| transaction.view()) else { return Ok(()) };
        let indexes = self.relation.table().indexes();
        let stamps = self.relation.transactions().stamps();
        let indexed = self.relation.table().index_slots(&indexes, slots, view, stamps, None, 1);
        drop(indexes);
        let Err(error) = indexed else { return Ok(()) };
        let out_of_memory = if let TransactionError::OutOfMemory(error) = &error { Some(error.clone()) } else { None };
        let end = if matches!(error, TransactionError::Duplicate { .. }) { End::Clash } else { End::Failed(error) };
        let mut state = self.lock();
        // Another transaction in the way counts more than keys of our own.
        if !matches!(state.ended, Some(End::Failed(_))) {
            state.ended = Some(end);
        }
        out_of_memory.map_or(Ok(()), Err)
    }

    /// Ends the merge, and gives the transaction back.
    pub(super) fn finish(self) -> Result<(&'r mut Transaction, Interleaved), TransactionError> {
        let mut state = self.lock();
        let ended = state.ended.clone();
        if ended.is_some() {
            self.undo(&mut state);
        }
        let chunks = std::mem::take(&mut state.chunks);
        let transaction = state.transaction.take().expect("it is given back once");
        drop(state);
        match ended {
            None => Ok((transaction, Interleaved::Merged)),
            Some(End::Clash) => Ok((transaction, Interleaved::Undone(chunks))),
            Some(End::Failed(error)) => Err(error),
        }
    }

    fn undo(&self, state: &mut State<'r>) {
        let slots = std::mem::take(&mut state.slots);
        if slots.is_empty() {
            return;
        }
        // Held until the rows are gone, so that no index is built that knows them.
        let indexes = self.relation.table().indexes();
        self.relation.table().unindex_slots(&indexes, &slots);
        let before = state.before;
        if let Some(transaction) = &mut state.transaction {
            transaction.undo_appended(before);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<'r>> {
        // After a panic all that is left to do is to undo what the list of slots says.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Interleave<'_> {
    fn drop(&mut self) {
        let mut state = self.lock();
        if state.transaction.is_some() {
            self.undo(&mut state);
        }
    }
}
