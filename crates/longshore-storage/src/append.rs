//! Decides how partition buffers become part of a relation: the three merges of *Instant Loading*, 3.5, in the order of
//! the buffers' sequence numbers whatever order they arrive in.
//!
//! By chunk, buffers are packed (`append/packing.rs`) and put in a list. By copy, the rows of buffers whose turn has come
//! wait in a queue; every thread that brings a buffer helps to empty it: it reserves a range of rows under the lock and
//! copies outside. By insert, rows are taken from the queue one at a time, under the lock. Nobody else knows of these
//! chunks before the commit, which makes them slots of the relation with a stamp for all of their rows.
//!
//! Few rows altogether, by whatever merge, are copied behind those of the slot that inserts go to, when they are
//! committed.
//!
//! Not here: the memory that rows are copied to (`append/destination.rs`), what a key that is there already
//! means (`append/resolve.rs`).

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, PoisonError};

use crate::arena::{ARENA_BLOCK_BYTES, Arena};
use crate::buffer::PartitionBuffer;
use crate::chunk::hot::HotChunk;
use crate::chunk::{BYTES_WORTH_A_CHUNK, Chunk, ROWS_WORTH_A_CHUNK, is_small};
use crate::error::TransactionError;
use crate::manager::LoadWriter;
use crate::memory::OutOfMemory;
use crate::relation::Relation;
use crate::sync::{Condvar, Mutex, MutexGuard};
use crate::table::{AppendInProgress, IncrementalIndexBuild};
use crate::transaction::{Failure, Isolation, Transaction};

mod conflict;
mod copy;
mod destination;
mod gather;
mod interleave;
mod packing;
mod ready;
mod resolve;
mod space;

pub use conflict::{Clash, ConflictAction, Merged, OnConflict};
pub use resolve::Clashes;

use copy::Task;
use destination::{Destination, heap_bytes_of};
use gather::gathered;
use interleave::Interleave;
pub use packing::BufferPacking;
use ready::{Form, Ready};

/// How partition buffers become part of a relation (*Instant Loading*, 3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MergeKind {
    /// Row by row, one thread at a time: the simplest, bounded by the cost of a single insert.
    Insert,
    /// Column by column by `memcpy`, in parallel: fills chunks to the brim and frees the buffers.
    Copy,
    /// A buffer becomes a chunk, packed unless the relation's storage is plain; then nothing is copied. An append of few
    /// rows altogether is copied after all, and so are neighbours of few rows, lest many small loads, or files, leave
    /// many small chunks.
    Chunk,
}

/// Rows on their way into a relation: visible all at once by [`Append::commit`], or with a transaction by
/// [`Append::commit_in`], or never if it is dropped before.
pub struct Append<'r> {
    relation: &'r Relation,
    kind: MergeKind,
    state: Mutex<State>,
    /// Signalled whenever a copier is done.
    copied: Condvar,
    /// Indexes chunks as they come, if they become part of the relation as they are.
    index_build: Option<IncrementalIndexBuild>,
    packing: BufferPacking,
    /// Writes large chunks to disk as they come, if the database does so.
    writer: Option<Box<dyn LoadWriter>>,
    _in_progress: AppendInProgress<'r>,
    /// Merges chunks as they come, if it does.
    interleave: Option<Interleave<'r>>,
    is_keyed: bool,
}

struct State {
    /// The sequence number whose turn it is.
    next: u64,
    /// Buffers whose turn has not come; all of them in a merge by chunk, and as long as they are few.
    waiting: BTreeMap<u64, Vec<Arc<Chunk>>>,
    /// Rows to be copied, in order.
    queue: VecDeque<Arc<Chunk>>,
    /// Rows of the first chunk of the queue that are already reserved.
    reserved: usize,
    destinations: Vec<Destination>,
    rows: u64,
    bytes: usize,
    arena: Arena,
    failed: Option<TransactionError>,
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

impl Relation {
    /// Begins an append. Several may be under way; their rows come in the order of their commits.
    #[must_use]
    pub fn begin_append(&self, kind: MergeKind) -> Append<'_> {
        Append::new(self, kind)
    }

    /// Begins an append by chunk that is part of a transaction from its first chunk on: each becomes a slot and enters the
    /// indexes when it comes, out of sight of others until the transaction commits. [`Append::finish`] ends it; dropped
    /// before, it is undone. The transaction's merge thus lasts as long as the load, but has little left to do in the end.
    #[must_use]
    pub fn begin_append_in<'r>(&'r self, transaction: &'r mut Transaction) -> Append<'r> {
        Append::interleaved(self, transaction)
    }
}

impl<'r> Append<'r> {
    fn new(relation: &'r Relation, kind: MergeKind) -> Append<'r> {
        let table = relation.table();
        let state = State {
            next: 0,
            waiting: BTreeMap::new(),
            queue: VecDeque::new(),
            reserved: 0,
            destinations: Vec::new(),
            rows: 0,
            bytes: 0,
            arena: Arena::new(Arc::clone(table.memory()), ARENA_BLOCK_BYTES),
            failed: None,
        };
        let index_build = (kind == MergeKind::Chunk)
            .then(|| IncrementalIndexBuild::new(table))
            .filter(|index_build| !index_build.is_idle());
        let is_keyed = table.indexes().iter().any(|index| index.uniqueness().is_unique());
        Append {
            relation,
            kind,
            state: Mutex::new(state),
            copied: Condvar::new(),
            index_build,
            packing: BufferPacking::new(table.memory(), table.storage(), kind),
            writer: (kind == MergeKind::Chunk && table.is_logged())
                .then(|| relation.transactions().log().begin_load())
                .flatten(),
            _in_progress: AppendInProgress::new(table),
            interleave: None,
            is_keyed,
        }
    }

    fn interleaved(relation: &'r Relation, transaction: &'r mut Transaction) -> Append<'r> {
        let interleave = Some(Interleave::new(relation, transaction));
        Append { index_build: None, interleave, ..Append::new(relation, MergeKind::Chunk) }
    }

    /// Whether the relation had an index when the append began in which keys are unique.
    #[must_use]
    pub fn is_keyed(&self) -> bool {
        self.is_keyed
    }

    /// What makes chunks of the buffers that are merged.
    #[must_use]
    pub fn packing(&self) -> &BufferPacking {
        &self.packing
    }

    /// Adds the rows of some buffers, in their order. Threads may call this side by side; sequence numbers count from 0
    /// without gaps, come in any order, each once, and decide the order of rows. Buffers whose turn has not come wait
    /// (merged by copy or insert, they keep their memory meanwhile).
    ///
    /// # Errors
    ///
    /// When memory runs out, or rows cannot be written to the file of the database that they go to, here or in another
    /// thread; then the append cannot be committed any more.
    ///
    /// # Panics
    ///
    /// When a sequence number comes twice, or a buffer has another schema than the relation.
    pub fn merge(&self, sequence: u64, buffers: Vec<PartitionBuffer>) -> Result<(), TransactionError> {
        let packed = self.packing.pack(buffers).map_err(|error| self.fail(error.into()))?;
        self.merge_chunks(sequence, packed)
    }

    /// Adds the rows of some chunks, none of which is empty, as [`merge`](Append::merge) does those of buffers.
    ///
    /// # Errors
    ///
    /// As [`merge`](Append::merge).
    ///
    /// # Panics
    ///
    /// As [`merge`](Append::merge).
    pub fn merge_chunks(&self, sequence: u64, chunks: Vec<Chunk>) -> Result<(), TransactionError> {
        for chunk in &chunks {
            assert_eq!(chunk.schema(), self.relation.schema(), "a buffer has the schema of its relation");
        }
        chunks.iter().try_for_each(|chunk| self.store(chunk)).map_err(|error| self.fail(error))?;
        let chunks: Vec<_> = chunks.into_iter().map(Arc::new).collect();
        let mut guard = self.lock();
        let state = &mut *guard;
        if let Some(error) = &state.failed {
            return Err(error.clone());
        }
        state.rows += chunks.iter().map(|chunk| chunk.rows() as u64).sum::<u64>();
        state.bytes += chunks.iter().map(|chunk| chunk.bytes()).sum::<usize>();
        if let Some(index_build) = &self.index_build {
            chunks.iter().enumerate().for_each(|(at, chunk)| index_build.put(index_build.number(sequence, at), chunk));
        }
        let before = state.waiting.insert(sequence, chunks);
        assert!(before.is_none() && sequence >= state.next, "sequence {sequence} was merged before");
        if state.is_small() {
            return Ok(());
        }
        if let Some(interleave) = &self.interleave {
            let mut chunks = Vec::new();
            while let Some(next) = state.waiting.remove(&state.next) {
                state.next += 1;
                chunks.extend(next);
            }
            let slots = interleave.push(chunks);
            drop(guard);
            let indexed = slots.map_or(Ok(()), |slots| interleave.index(slots));
            return indexed.map_err(|error| self.fail(error.into()));
        }
        if self.kind == MergeKind::Chunk {
            drop(guard);
            return self.index_waiting();
        }
        while let Some(chunks) = state.waiting.remove(&state.next) {
            state.next += 1;
            state.queue.extend(chunks);
        }
        self.empty_queue(guard)
    }

    /// Writes a chunk to a file, if it is large and the database has files for it.
    fn store(&self, chunk: &Chunk) -> Result<(), TransactionError> {
        if let Some(writer) = self.writer.as_ref().filter(|_| !is_small(chunk.rows() as u64, chunk.bytes())) {
            chunk.set_stored(writer.write(chunk)?);
        }
        Ok(())
    }

    /// No more can be merged, and nothing committed.
    fn fail(&self, error: TransactionError) -> TransactionError {
        self.lock().failed = Some(error.clone());
        error
    }

    /// Makes the rows visible, waits until they are safe, and says how many they are.
    ///
    /// # Errors
    ///
    /// When memory runs out, a key occurs twice, or the log fails.
    ///
    /// # Panics
    ///
    /// When a merge has failed.
    pub fn commit(self) -> Result<u64, TransactionError> {
        let transactions = self.relation.transactions();
        let mut transaction = transactions.begin(Isolation::Snapshot);
        let rows = self.commit_in(&mut transaction)?;
        transactions.wait_until_safe(transaction.commit()?)?;
        Ok(rows)
    }

    /// Makes the rows part of a transaction, and says how many they are.
    ///
    /// # Errors
    ///
    /// When the transaction only reads, memory runs out, or a key occurs twice. The transaction has none of the rows
    /// then.
    ///
    /// # Panics
    ///
    /// When a merge has failed.
    pub fn commit_in(self, transaction: &mut Transaction) -> Result<u64, TransactionError> {
        let relation = self.relation;
        let ready = self.ready()?;
        let rows = ready.rows;
        ready.append_to(relation, transaction, Failure::IsLogged)?;
        Ok(rows)
    }

    /// All rows in the form in which they become part of the relation.
    ///
    /// # Panics
    ///
    /// When a merge has failed, or chunks are merged as they come.
    fn ready(mut self) -> Result<Ready, TransactionError> {
        assert!(self.interleave.is_none(), "an append that is part of a transaction ends with `finish`");
        if let Some(writer) = self.writer.as_ref().filter(|_| self.relation.relation_id().is_none()) {
            // Nobody waits for the disk when the relation joins.
            writer.finish()?;
        }
        let index_build = self.index_build.take();
        let mut state = self.lock();
        assert_eq!(state.failed, None, "an append of which a merge failed cannot be committed");
        let rows = state.rows;
        let is_few = state.is_small();
        let waiting = std::mem::take(&mut state.waiting).into_iter();
        let numbered = |(sequence, chunks): (u64, Vec<Arc<Chunk>>)| {
            let index_build = index_build.as_ref();
            let number = move |at| index_build.and_then(|index_build| index_build.number(sequence, at));
            chunks.into_iter().enumerate().map(move |(at, chunk)| (number(at), chunk))
        };
        let (numbers, loose): (Vec<Option<u32>>, Vec<Arc<Chunk>>) = waiting.flat_map(numbered).unzip();
        if is_few {
            return Ok(Ready { rows, form: Form::Few(loose) });
        }
        if self.kind != MergeKind::Chunk {
            state.queue.extend(loose);
            self.empty_queue(state)?;
            state = self.lock();
            let slots = state.destinations.iter().map(Destination::to_hot_chunk).collect();
            return Ok(Ready { rows, form: Form::Slots(slots, None) });
        }
        let numbers: Option<Vec<u32>> = numbers.into_iter().collect();
        // Indexes of chunks that could not be numbered are built now; chunks that are indexed stay what they are.
        let form = if let Some(indexed) = index_build.zip(numbers) {
            Form::Slots(loose.into_iter().map(HotChunk::of_chunk).collect(), Some(indexed))
        } else {
            Form::Slots(gathered(loose, &mut state.arena), None)
        };
        Ok(Ready { rows, form })
    }

    /// Indexes chunks that nobody has indexed.
    fn index_waiting(&self) -> Result<(), TransactionError> {
        let Some(index_build) = &self.index_build else { return Ok(()) };
        index_build.index_waiting().map_err(|error| self.fail(error.into()))
    }

    /// Works on the queue until nothing in it is left for this thread to take.
    fn empty_queue<'a>(&'a self, mut state: MutexGuard<'a, State>) -> Result<(), TransactionError> {
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
                    state.failed = Some(error.into());
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

impl State {
    /// Whether the rows so far are better put behind others than into chunks of their own.
    fn is_small(&self) -> bool {
        is_small(self.rows, self.bytes)
    }

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
            if let Some(last) = self.destinations.last_mut() {
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
