//! Decides how rows are kept where they may change: the slot, a chunk's place in its relation.
//!
//! Source: the thesis, 2.2. Values are changed in place; what they were is kept in versions; what readers hold on to
//! is never written (`chunk/hot/column.rs`). One short latch guards a slot, held for one operation on one row or for
//! showing the slot to a reader, which copies nothing.
//!
//! A row is *dead* when it was deleted, by whomever, or its insert was undone. A dead row without versions is *free*:
//! nobody sees it, no index refers to it, and the next insert may take it. Rows that came many at a time (a load, a
//! batch) have no versions: an *insert range* says when all of them were inserted. The *deleted* stamp of a slot
//! says when all its rows were deleted (TRUNCATE); once nobody sees them any longer, the slot is *gone*, and stays empty.
//!
//! Invariant. Insert ranges do not overlap, and ascend: rows come behind those that there are.
//!
//! Not here: which slot takes an insert (`table.rs`), who may write (`transaction`).

use std::sync::{Arc, PoisonError, Weak};

use arrow_buffer::Buffer;

use super::{Chunk, VisibleChunk};
use crate::arena::Arena;
use crate::chunk::visible::Overlay;
use crate::memory::{Memory, OutOfMemory};
use crate::row_id::CHUNK_ROWS_MAX;
use crate::statistics::bounds::Bounds;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Rank, Ranked, RwLock, RwLockReadGuard, RwLockWriteGuard};
use crate::types::Schema;
use crate::version::Versions;
use crate::visibility::{StampId, Stamps, Time, View};

mod append;
mod column;
mod dead;
mod freeze;
mod heap;
mod prune;
mod read;
mod reshape;
mod restore;
mod show;
mod undo;
mod write;

pub(crate) use column::HotColumn;
use column::own_buffer_of;
use dead::DeadRows;
pub use freeze::Freeze;
pub(crate) use freeze::Freezer;
use heap::Heap;
pub(crate) use prune::Needs;
pub(crate) use read::{Cell, KeyConflict, RowVisibility, input_of};
pub(crate) use reshape::Source;
pub(crate) use write::{WriteError, Writer};

/// Rows that a slot has room for at first, if it is filled row by row, and by how much it grows.
const ROWS_MIN: usize = 1024;
const GROWTH: usize = 4;

/// Rows that must find room in a packed slot for it to be unpacked.
const ROWS_WORTH_UNPACKING: usize = CHUNK_ROWS_MAX / 4;

/// A chunk's place in its relation.
pub(crate) struct Slot {
    latch: RwLock<HotChunk>,
    /// The newest period between checkpoints in which a commit may have changed it; 0 if none has.
    changed_in: AtomicU64,
}

/// Rows that were inserted together, or whose inserts no view tells apart (`prune.rs`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct InsertRange {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) stamp: StampId,
}

/// What a slot's latch guards.
pub(crate) struct HotChunk {
    schema: Arc<Schema>,
    columns: Vec<HotColumn>,
    heap: Heap,
    /// Rows, dead ones included.
    rows: usize,
    /// Rows that all columns have room for.
    capacity: usize,
    dead: DeadRows,
    versions: Option<Box<Versions>>,
    /// When all versions had been committed, if that is known: who sees this moment sees all rows as they are.
    settled: Option<Time>,
    inserts: Vec<InsertRange>,
    deleted: Option<StampId>,
    /// Deletions by transactions that have not ended, which that one has overruled.
    overruled: Vec<StampId>,
    gone: bool,
    /// A time before which it had no rows.
    since: Time,
    /// Takes no changes: the relation is being altered, or was.
    closed: bool,
    /// What readers get, as long as nothing changes.
    shown: Option<Arc<Chunk>>,
    /// What was shown when somebody last asked whether the slot is worth freezing (`freeze.rs`).
    looked_at: Option<Weak<Chunk>>,
    /// What the last reader saw otherwise, as long as nobody can have changed anything ([`Slot::write`]).
    seen: Option<(View, Arc<Overlay>)>,
    /// The relation knows that there is room in the slot.
    pub(crate) listed: bool,
}

/// A slot's rows, for reading.
pub(crate) type SlotRead<'a> = Ranked<RwLockReadGuard<'a, HotChunk>>;

/// A slot's rows, for writing.
pub(crate) type SlotWrite<'a> = Ranked<RwLockWriteGuard<'a, HotChunk>>;

impl Slot {
    pub(crate) fn new(rows: HotChunk) -> Slot {
        Slot { latch: RwLock::new(rows), changed_in: AtomicU64::new(0) }
    }

    /// Takes note that a commit of a period between checkpoints changes it, or may.
    #[inline]
    pub(crate) fn mark_changed(&self, period: u64) {
        // Most often it is marked already. Whoever comes late with an older period changes nothing.
        if self.changed_in() < period {
            self.changed_in.fetch_max(period, Ordering::Relaxed);
        }
    }

    /// The newest period between checkpoints in which a commit may have changed it; 0 if none has.
    #[inline]
    pub(crate) fn changed_in(&self) -> u64 {
        self.changed_in.load(Ordering::Relaxed)
    }

    /// For reading.
    #[inline]
    #[track_caller]
    pub(crate) fn read(&self) -> SlotRead<'_> {
        // What a panic could leave half done is the change of one row by a transaction that is rolled back.
        Ranked::take(Rank::Slot, &self.latch, |latch| latch.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// For writing.
    #[inline]
    #[track_caller]
    pub(crate) fn write(&self) -> SlotWrite<'_> {
        let mut rows = self.exclusive();
        if rows.seen.is_some() {
            rows.seen = None;
        }
        rows
    }

    /// What a view sees of the rows; `None` if it is none.
    #[track_caller]
    pub(crate) fn show(&self, number: u32, view: View, stamps: &Stamps) -> Option<VisibleChunk> {
        self.exclusive().show(number, view, stamps)
    }

    #[inline]
    #[track_caller]
    fn exclusive(&self) -> SlotWrite<'_> {
        Ranked::take(Rank::Slot, &self.latch, |latch| latch.write().unwrap_or_else(PoisonError::into_inner))
    }
}

impl HotChunk {
    /// Room for rows to be inserted one by one.
    pub(crate) fn empty(schema: &Arc<Schema>, memory: &Arc<Memory>) -> Result<HotChunk, OutOfMemory> {
        let width = |column: &crate::types::Column| ROWS_MIN * column.column_type.physical().width();
        let bytes: usize = schema.all_columns().iter().map(|column| width(column).next_multiple_of(64)).sum();
        let mut arena = Arena::new(Arc::clone(memory), bytes);
        let mut columns = Vec::with_capacity(schema.all_columns().len());
        for column in schema.all_columns() {
            let values = own_buffer_of(arena.allocate(width(column))?);
            columns.push(HotColumn::empty(column.column_type, values));
        }
        Ok(HotChunk::of(schema, columns, Heap::default(), 0, ROWS_MIN))
    }

    /// The rows of a chunk. There is no room for more until the first insert makes some.
    pub(crate) fn of_chunk(chunk: Arc<Chunk>) -> HotChunk {
        let (schema, rows) = (Arc::clone(chunk.schema()), chunk.rows());
        let columns = schema.all_columns().iter().zip(&chunk.columns).map(|(described, column)| {
            let statistics = &column.statistics;
            let bounds = Bounds::of_statistics(statistics, described.column_type.physical());
            let known = (statistics.null_count as usize, bounds, statistics.exact);
            HotColumn::filled(described.column_type, column.values.clone(), column.validity.clone(), known, rows)
        });
        let columns = columns.collect();
        let heap = Heap::filled(chunk.heap[0].clone(), chunk.heap[0].len());
        HotChunk { shown: Some(chunk), ..HotChunk::of(&schema, columns, heap, rows, rows) }
    }

    /// Rows that were filled elsewhere, with room for more.
    pub(crate) fn of_columns(
        schema: &Arc<Schema>,
        columns: Vec<HotColumn>,
        (heap, heap_used): (Buffer, usize),
        rows: usize,
        capacity: usize,
    ) -> HotChunk {
        HotChunk::of(schema, columns, Heap::filled(heap, heap_used), rows, capacity)
    }

    fn of(schema: &Arc<Schema>, columns: Vec<HotColumn>, heap: Heap, rows: usize, capacity: usize) -> HotChunk {
        HotChunk {
            schema: Arc::clone(schema),
            columns,
            heap,
            rows,
            capacity,
            dead: DeadRows::default(),
            versions: None,
            settled: None,
            inserts: Vec::new(),
            deleted: None,
            overruled: Vec::new(),
            gone: false,
            since: Time(0),
            closed: false,
            shown: None,
            looked_at: None,
            seen: None,
            listed: false,
        }
    }

    /// Rows, whoever sees them.
    pub(crate) fn len(&self) -> usize {
        self.rows
    }

    /// Bounds of the values that a column has or had: every change widens them.
    pub(crate) fn bounds(&self, column: usize) -> &Bounds {
        self.columns[column].bounds()
    }

    /// Whether there are rows that may be taken again.
    pub(crate) fn has_free(&self) -> bool {
        self.dead.has_free()
    }

    /// Whether an insert may find room here. It would unpack a slot that is packed, for which there must be room for many.
    pub(crate) fn has_room(&self) -> bool {
        let room = CHUNK_ROWS_MAX - self.rows + self.dead.free_count();
        let is_packed = self.columns.iter().any(|column| column.packed().is_some());
        !self.gone && self.deleted.is_none() && room >= if is_packed { ROWS_WORTH_UNPACKING } else { 1 }
    }

    /// All rows were inserted with a stamp.
    pub(crate) fn inserted_by(mut self, stamp: StampId) -> HotChunk {
        self.inserts.push(InsertRange { from: 0, to: self.rows, stamp });
        self
    }

    /// One that has no rows, and never will.
    pub(crate) fn gone(schema: &Arc<Schema>) -> HotChunk {
        let mut gone = HotChunk::of(schema, Vec::new(), Heap::default(), 0, 0);
        gone.clear();
        gone
    }

    /// All that it will ever have was committed after a time.
    pub(crate) fn since(mut self, time: Time) -> HotChunk {
        self.since = time;
        self
    }

    /// The range of rows that a row was inserted with.
    #[inline]
    fn insert_range_of(&self, row: usize) -> Option<&InsertRange> {
        let at = self.inserts.partition_point(|range| range.to <= row);
        self.inserts.get(at).filter(|range| range.from <= row)
    }

    /// Whether all rows have gone for good.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone
    }
}
