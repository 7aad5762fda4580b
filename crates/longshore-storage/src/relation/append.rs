//! Decides how partition buffers become part of a relation: the three merges of *Instant Loading*, 3.5, in the order of
//! the buffers' sequence numbers whatever order they arrive in.
//!
//! By chunk, buffers are only put in a list. By copy, the rows of buffers whose turn has come wait in a queue; every
//! thread that brings a buffer helps to empty it: it reserves a range of rows under the lock and copies outside. By
//! insert, rows are taken from the queue one at a time, under the lock.
//!
//! Not here: the memory that rows are copied to (`relation/destination.rs`).

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::copy::Task;
use super::destination::{Destination, heap_bytes_of};
use super::{MergeKind, Relation};
use crate::arena::{ARENA_BLOCK_BYTES, Arena};
use crate::buffer::PartitionBuffer;
use crate::chunk::{CHUNK_ROWS_MAX, Chunk};
use crate::error::OutOfMemory;

/// An append by chunk of fewer rows and fewer bytes altogether is copied.
const ROWS_WORTH_A_CHUNK: u64 = CHUNK_ROWS_MAX as u64 / 8;
const BYTES_WORTH_A_CHUNK: usize = 4 << 20;

/// Rows on their way into a relation: visible all at once by [`Append::commit`], or never if it is dropped before.
pub struct Append<'r> {
    relation: &'r Relation,
    kind: MergeKind,
    state: Mutex<State>,
    /// Signalled whenever a copier is done.
    copied: Condvar,
}

struct State {
    /// The sequence number whose turn it is.
    next: u64,
    /// Buffers whose turn has not come; all of them in a merge by chunk.
    waiting: BTreeMap<u64, Vec<Arc<Chunk>>>,
    /// Rows to be copied, in order.
    queue: VecDeque<Arc<Chunk>>,
    /// Rows of the first chunk of the queue that are already reserved.
    reserved: usize,
    destinations: Vec<Destination>,
    /// Rows that were in the first destination before; 0 if it is new.
    rows_before: usize,
    rows: u64,
    arena: Arena,
    failed: Option<OutOfMemory>,
}

/// What there is to do for a copier.
enum Next {
    /// Copy to a range of this destination.
    Task(usize, Task),
    /// Wait until another copier is done.
    Wait,
    Nothing,
}

impl fmt::Debug for Append<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Append").field("kind", &self.kind).field("rows", &self.lock().rows).finish_non_exhaustive()
    }
}

impl<'r> Append<'r> {
    pub(super) fn new(relation: &'r Relation, kind: MergeKind, open: Option<Destination>) -> Append<'r> {
        let state = State {
            next: 0,
            waiting: BTreeMap::new(),
            queue: VecDeque::new(),
            reserved: 0,
            rows_before: open.as_ref().map_or(0, Destination::rows),
            destinations: open.into_iter().collect(),
            rows: 0,
            arena: Arena::new(Arc::clone(relation.memory()), ARENA_BLOCK_BYTES),
            failed: None,
        };
        Append { relation, kind, state: Mutex::new(state), copied: Condvar::new() }
    }

    /// Adds the rows of some buffers, in their order. Threads may call this side by side; sequence numbers count from 0
    /// without gaps, come in any order, each once, and decide the order of rows. Buffers whose turn has not come wait
    /// (merged by copy or insert, they keep their memory meanwhile).
    ///
    /// # Errors
    ///
    /// When memory runs out, here or in another thread; then the append cannot be committed any more.
    ///
    /// # Panics
    ///
    /// When a sequence number comes twice, or a buffer has another schema than the relation.
    pub fn merge(&self, sequence: u64, buffers: Vec<PartitionBuffer>) -> Result<(), OutOfMemory> {
        let mut chunks = Vec::with_capacity(buffers.len());
        for buffer in buffers.into_iter().filter(|buffer| buffer.rows() > 0) {
            assert_eq!(buffer.schema(), self.relation.schema(), "a buffer has the schema of its relation");
            chunks.push(Arc::new(buffer.seal()));
        }
        let mut guard = self.lock();
        let state = &mut *guard;
        if let Some(error) = &state.failed {
            return Err(error.clone());
        }
        state.rows += chunks.iter().map(|chunk| chunk.rows() as u64).sum::<u64>();
        let before = state.waiting.insert(sequence, chunks);
        assert!(before.is_none() && sequence >= state.next, "sequence {sequence} was merged before");
        if self.kind == MergeKind::Chunk {
            return Ok(());
        }
        while let Some(chunks) = state.waiting.remove(&state.next) {
            state.next += 1;
            state.queue.extend(chunks);
        }
        self.empty_queue(guard)
    }

    /// Makes the rows visible, and says how many they are.
    ///
    /// # Panics
    ///
    /// When a merge has failed.
    #[must_use = "the number of rows is what there is to report"]
    pub fn commit(self) -> u64 {
        let mut state = self.lock();
        assert_eq!(state.failed, None, "an append of which a merge failed cannot be committed");
        let mut loose: Vec<Arc<Chunk>> = std::mem::take(&mut state.waiting).into_values().flatten().collect();
        let is_small = state.rows < ROWS_WORTH_A_CHUNK
            && loose.iter().map(|chunk| chunk.bytes()).sum::<usize>() < BYTES_WORTH_A_CHUNK;
        if self.kind == MergeKind::Chunk && is_small {
            state.queue.extend(loose.iter().cloned());
            if self.empty_queue(state).is_ok() {
                loose.clear();
            }
            // Out of memory: the chunks that there are will do. What has been copied is forgotten.
            state = self.lock();
            if state.failed.is_some() {
                state.destinations.clear();
            }
        }
        if state.rows > 0 {
            self.publish(&state, loose);
        }
        state.rows
    }

    /// Publishes what was there before, the destinations, and the loose chunks, in this order.
    fn publish(&self, state: &State, loose: Vec<Arc<Chunk>>) {
        let mut chunks = self.relation.snapshot().chunks().to_vec();
        for (at, destination) in state.destinations.iter().enumerate() {
            if at == 0 && state.rows_before > 0 {
                // It is the last chunk of the snapshot, perhaps with more rows.
                if destination.rows() == state.rows_before {
                    continue;
                }
                chunks.pop();
            }
            chunks.push(Arc::new(destination.publish()));
        }
        let is_last = loose.is_empty();
        chunks.extend(loose);
        let open = state.destinations.last().filter(|last| is_last && last.rows() < CHUNK_ROWS_MAX).cloned();
        self.relation.publish(chunks);
        self.relation.lock_writer().open = open;
    }

    /// Works on the queue until nothing in it is left for this thread to take.
    fn empty_queue<'a>(&'a self, mut state: MutexGuard<'a, State>) -> Result<(), OutOfMemory> {
        loop {
            if let Some(error) = &state.failed {
                return Err(error.clone());
            }
            match state.next() {
                Ok(Next::Task(at, task)) => {
                    let copied = if self.kind == MergeKind::Insert {
                        task.insert()
                    } else {
                        drop(state);
                        let copied = task.copy();
                        state = self.lock();
                        copied
                    };
                    state.destinations[at].finish(&task, &copied);
                    self.copied.notify_all();
                }
                Ok(Next::Wait) => state = self.copied.wait(state).unwrap_or_else(PoisonError::into_inner),
                Ok(Next::Nothing) => return Ok(()),
                Err(error) => {
                    state.failed = Some(error);
                    self.copied.notify_all();
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // After a panic the append can only be dropped; that needs no more than the relation.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the append. Without a commit nothing is kept.
impl Drop for Append<'_> {
    fn drop(&mut self) {
        self.relation.lock_writer().busy = false;
        self.relation.writer_idle.notify_one();
    }
}

impl State {
    /// Reserves room for rows at the front of the queue.
    fn next(&mut self) -> Result<Next, OutOfMemory> {
        let Some(source) = self.queue.front().map(Arc::clone) else {
            return Ok(Next::Nothing);
        };
        let from = self.reserved;
        let (mut count, mut heap_bytes) = match self.destinations.last() {
            Some(last) => last.may_take(&source, from),
            None => (0, 0),
        };
        if count == 0 {
            count = source.rows() - from;
            heap_bytes = heap_bytes_of(&source, from, count);
            let next = Destination::new(source.schema(), count, heap_bytes, &mut self.arena)?;
            // The one that was there before is not closed: without a commit it goes on.
            let may_close = self.destinations.len() > 1 || self.rows_before == 0;
            if let Some(last) = self.destinations.last().filter(|_| may_close) {
                last.close();
            }
            self.destinations.push(next);
        }
        let at = self.destinations.len() - 1;
        let last = &mut self.destinations[at];
        if !last.has_room(count, heap_bytes) {
            if last.copiers > 0 {
                return Ok(Next::Wait);
            }
            last.grow(count, heap_bytes, &mut self.arena)?;
        }
        self.reserved += count;
        if self.reserved == source.rows() {
            self.queue.pop_front();
            self.reserved = 0;
        }
        Ok(Next::Task(at, last.reserve(source, from, count, heap_bytes)))
    }
}
