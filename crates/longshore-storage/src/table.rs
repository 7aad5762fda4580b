//! Decides how a relation's rows are kept: its slots and which of them have room, its indexes, its foreign keys.
//!
//! Rows that are inserted one by one go to one *open* slot. When it is full, the next one is a slot in which rows were
//! freed, or a new one.
//!
//! A table knows nothing of transactions: whoever reads or writes gives it his view and the clock of the database.
//!
//! Not here: the rows of a slot (`chunk/hot.rs`), what is public of a relation (`relation`), who works on it
//! (`transaction`).

use std::ops::Range;
use std::sync::{Arc, OnceLock, PoisonError};

use crate::chunk::Chunk;
use crate::chunk::hot::{Freeze, Freezer, HotChunk, Slot, WriteError, Writer, input_of};
use crate::datum::Datum;
use crate::error::TransactionError;
use crate::index::{Index, IsCancelled, described_row};
use crate::memory::{Memory, OutOfMemory};
use crate::row_id::RowId;
use crate::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use crate::sync::{Mutex, MutexGuard, Rank, Ranked, RwLock};
use crate::typed::{self, Input, StoredValue, ValueError};
use crate::types::{Column, Schema};
use crate::values::TextRoom;
use crate::visibility::{ConflictKind, Stamps, Time, View};

mod distinct_counts;
mod identity;
mod index_build;
mod indexes;
mod references;
mod slots;
mod snapshot;
mod swap;

pub(crate) use identity::ColumnOrigin;
pub use identity::RelationId;
pub(crate) use index_build::IncrementalIndexBuild;
pub(crate) use indexes::{IndexList, threads};
pub(crate) use references::References;
pub use references::{Defaults, ForeignKey, ReferenceAction, ReferenceMatch, ReferenceRules, ReferenceTiming};
pub use snapshot::Snapshot;
pub(crate) use swap::{AppendInProgress, TableSwap};

use distinct_counts::KeptCounts;
use slots::Slots;
use swap::VisibilityInterval;

/// No slot.
const NO_SLOT: usize = u32::MAX as usize;

/// The id of the next table.
static NEXT_ID: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);

/// A relation's rows, and what is kept beside them.
pub(crate) struct Table {
    id: u64,
    name: OnceLock<String>,
    /// What the log of its database calls it.
    relation_id: AtomicU32,
    /// Where its columns come from, if it was made to take the place of another one.
    origins: Box<[ColumnOrigin]>,
    schema: Arc<Schema>,
    memory: Arc<Memory>,
    pub(crate) slots: Slots,
    indexes: RwLock<Vec<Arc<Index>>>,
    /// Which columns are part of an index.
    indexed: Box<[AtomicBool]>,
    /// The slot that inserts go to.
    open: AtomicUsize,
    /// Slots other than the open one that have room.
    roomy: Mutex<Vec<usize>>,
    /// What was committed at some time, as long as no slot changes.
    cached: Mutex<Option<(Time, Arc<Snapshot>)>>,
    has_cached: AtomicBool,
    /// The time of the last commit of a transaction that wrote here.
    changed: AtomicU64,
    /// The foreign keys that concern it, whether there are any, and since when they are what they are.
    references: RwLock<Arc<References>>,
    is_referencing: AtomicBool,
    references_since: AtomicU64,
    /// Locks that transactions hold of it, or of its rows.
    pub(crate) locks: AtomicUsize,
    /// Whether it is the one that its name stands for.
    pub(crate) visibility: VisibilityInterval,
    /// Appends under way.
    appends: AtomicUsize,
    /// Whether its storage is packed.
    is_packed: AtomicBool,
    /// Whether its rows are durable, if it joins.
    is_logged: AtomicBool,
    distinct_counts: Arc<KeptCounts>,
}

/// How a relation keeps rows that come many at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Storage {
    /// In columns of values as wide as their type.
    Plain,
    /// In the encoding that takes the fewest bytes, column by column (the thesis, chapter 7).
    #[default]
    Packed,
}

impl Table {
    pub(crate) fn new(schema: Arc<Schema>, memory: Arc<Memory>) -> Table {
        let indexed = schema.all_columns().iter().map(|_| AtomicBool::new(false)).collect();
        Table {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            name: OnceLock::new(),
            relation_id: AtomicU32::new(0),
            origins: Box::default(),
            schema,
            memory,
            slots: Slots::new(),
            indexes: RwLock::default(),
            indexed,
            open: AtomicUsize::new(NO_SLOT),
            roomy: Mutex::default(),
            cached: Mutex::default(),
            has_cached: AtomicBool::new(false),
            changed: AtomicU64::new(0),
            references: RwLock::default(),
            is_referencing: AtomicBool::new(false),
            references_since: AtomicU64::new(0),
            locks: AtomicUsize::new(0),
            visibility: VisibilityInterval::default(),
            appends: AtomicUsize::new(0),
            is_packed: AtomicBool::new(Storage::default() == Storage::Packed),
            is_logged: AtomicBool::new(true),
            distinct_counts: Arc::default(),
        }
    }

    pub(crate) fn storage(&self) -> Storage {
        if self.is_packed.load(Ordering::Relaxed) { Storage::Packed } else { Storage::Plain }
    }

    pub(crate) fn set_storage(&self, storage: Storage) {
        self.is_packed.store(storage == Storage::Packed, Ordering::Relaxed);
    }

    /// What tells it from every other table, also from those that are gone.
    #[inline]
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    pub(crate) fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    /// Its name, for messages.
    pub(crate) fn name(&self) -> String {
        self.name.get().map_or("the relation", String::as_str).to_owned()
    }

    pub(crate) fn set_name(&self, name: String) {
        // Whoever named it first was as right.
        let _ = self.name.set(name);
    }

    /// The slot of a row.
    pub(crate) fn slot(&self, row: RowId) -> Result<&Slot, TransactionError> {
        self.slots.get(row.chunk()).ok_or_else(|| self.no_such_row(row))
    }

    pub(crate) fn no_such_row(&self, row: RowId) -> TransactionError {
        TransactionError::NoSuchRow { relation: self.name(), row }
    }

    pub(crate) fn is_null(&self, row: RowId, column: usize) -> TransactionError {
        let column = self.schema.all_columns()[column].name.clone();
        TransactionError::IsNull { relation: self.name(), column, row }
    }

    /// A value as a column stores it, if it may.
    #[inline]
    pub(crate) fn input<'a>(&self, column: usize, datum: Datum<'a>) -> Result<Input<'a>, TransactionError> {
        typed::input(&self.schema.all_columns()[column], datum).map_err(|error| self.value_error(column, error))
    }

    #[cold]
    fn value_error(&self, column: usize, error: ValueError) -> TransactionError {
        let Column { name, column_type, .. } = &self.schema.all_columns()[column];
        let (relation, column, column_type) = (self.name(), name.clone(), *column_type);
        match error {
            ValueError::NotNull => TransactionError::NotNull { relation, column },
            ValueError::Type { found } => TransactionError::Type { relation, column, column_type, found },
            ValueError::TooLong { value, length } => {
                TransactionError::TooLong { relation, column, column_type, value, length }
            }
            ValueError::Invalid { value } => TransactionError::Invalid { relation, column, column_type, value },
        }
    }

    pub(crate) fn conflict(&self, row: RowId, kind: ConflictKind) -> TransactionError {
        TransactionError::Conflict { relation: self.name(), row, kind }
    }

    /// What has gone wrong with the writing of a row, in terms of the relation.
    pub(crate) fn failed(&self, row: RowId, error: WriteError) -> TransactionError {
        match error {
            WriteError::NoSuchRow => self.no_such_row(row),
            WriteError::Conflict(kind) => self.conflict(row, kind),
            WriteError::Closed(start) => self.altered(start),
            WriteError::HeapFull(bytes) => TransactionError::TooMuchText { relation: self.name(), bytes },
            WriteError::OutOfMemory(error) => error.into(),
        }
    }

    /// The newest values of some columns of a row.
    pub(crate) fn stored(&self, row: RowId, columns: &[usize]) -> Result<Vec<Input<'static>>, TransactionError> {
        let slot = self.slot(row)?.read();
        let room = TextRoom::default();
        Ok(columns.iter().map(|&column| input_of(slot.cell(row.row(), column, &room))).collect())
    }

    /// The newest values of a row, whoever wrote them, for instance `(1, 'two', NULL)`.
    pub(crate) fn described(&self, row: RowId) -> Result<String, TransactionError> {
        let slot = self.slot(row)?.read();
        if row.row() >= slot.len() {
            return Err(self.no_such_row(row));
        }
        let room = TextRoom::default();
        Ok(described_row(self.schema(), |column| slot.datum(row.row(), column, &room)))
    }

    /// Inserts a row where there is room; says where, and the number of its version.
    pub(crate) fn insert(
        &self,
        values: &[impl StoredValue],
        writer: &Writer<'_>,
    ) -> Result<(RowId, u32), TransactionError> {
        loop {
            let at = self.open.load(Ordering::Acquire);
            if let Some(slot) = self.slots.get(at) {
                self.forget_cached();
                match slot.write().insert(values, writer) {
                    Ok(Some((row, version))) => return Ok((RowId::new(at, row), version)),
                    Ok(None) => {}
                    Err(error) => return Err(self.failed(RowId::new(at, 0), error)),
                }
            }
            self.open_next(at, writer)?;
        }
    }

    /// Puts rows of a chunk, from row `from` on, behind all others, so that they keep their order; says where the first
    /// one is and how many they are, which may be fewer than all.
    pub(crate) fn append(
        &self,
        chunk: &Chunk,
        from: usize,
        writer: &Writer<'_>,
    ) -> Result<(RowId, usize), TransactionError> {
        loop {
            if let Some(at) = self.slots.last()
                && let Some(slot) = self.slots.get(at)
            {
                let mut slot = slot.write();
                let first = slot.len();
                let count = slot.append(chunk, from, writer.stamp, &self.memory)?;
                if count > 0 {
                    return Ok((RowId::new(at, first), count));
                }
            }
            self.push(vec![HotChunk::empty(&self.schema, &self.memory)?], writer, None)?;
        }
    }

    /// Opens another slot than the one that has turned out to be full.
    fn open_next(&self, full: usize, writer: &Writer<'_>) -> Result<(), TransactionError> {
        let mut roomy = self.lock_roomy();
        if self.open.load(Ordering::Acquire) != full {
            return Ok(());
        }
        if let Some(slot) = self.slots.get(full) {
            slot.write().listed = false;
        }
        let next = loop {
            let Some(at) = roomy.pop() else {
                let mut slot = HotChunk::empty(&self.schema, &self.memory)?.since(writer.clock.now());
                slot.listed = true;
                break self.slots.push(vec![slot], None).ok_or_else(|| self.altered(writer.view.start()))?.start;
            };
            let Some(slot) = self.slots.get(at) else { continue };
            let mut slot = slot.write();
            if slot.has_room() {
                break at;
            }
            slot.listed = false;
        };
        self.open.store(next, Ordering::Release);
        Ok(())
    }

    /// Adds slots, where they are taken to be if they may be there; the last one may be the next that inserts go to.
    pub(crate) fn push(
        &self,
        slots: Vec<HotChunk>,
        writer: &Writer<'_>,
        likely: Option<usize>,
    ) -> Result<Range<usize>, TransactionError> {
        let now = writer.clock.now();
        let slots = slots.into_iter().map(|slot| slot.since(now)).collect();
        let places = self.slots.push(slots, likely).ok_or_else(|| self.altered(writer.view.start()))?;
        if let Some(last) = places.clone().last() {
            self.list(last);
        }
        Ok(places)
    }

    /// Packs what is plain of slots with at least so many rows that nobody works on, and compresses their texts; says of
    /// how many.
    pub(crate) fn freeze(
        &self,
        scope: Freeze,
        rows_min: usize,
        is_cancelled: IsCancelled<'_>,
    ) -> Result<usize, OutOfMemory> {
        let mut freezer = Freezer::new(&self.memory);
        let mut frozen = 0;
        for slot in (0..self.slots.places()).filter_map(|place| self.slots.get(place)) {
            if is_cancelled() {
                break;
            }
            frozen += usize::from(slot.freeze(scope, rows_min, &mut freezer)?);
        }
        Ok(frozen)
    }

    /// Adds slots of rows that were always there, to a relation that nobody else knows yet.
    pub(crate) fn adopt(&self, slots: Vec<HotChunk>) {
        let pushed = self.slots.push(slots, None);
        if let Some(last) = pushed.expect("a new relation takes slots").last() {
            self.list(last);
        }
    }

    /// Takes slots at their places, in the order of their rows, to a relation that has none and that nobody knows yet.
    pub(crate) fn restore(&self, slots: Vec<(usize, HotChunk)>) {
        let places: Vec<usize> = slots.iter().map(|(at, _)| *at).collect();
        self.slots.restore(slots, || HotChunk::gone(&self.schema));
        let is_roomy = |at: &usize| {
            self.slots.get(*at).is_some_and(|slot| {
                let slot = slot.read();
                slot.has_free() || slot.has_plain_room()
            })
        };
        let last = places.last().copied();
        for at in places.into_iter().filter(is_roomy).chain(last) {
            self.list(at);
        }
    }

    /// Takes back places, in ascending order, whose slots are gone, and that nobody knows any longer.
    pub(crate) fn vacate(&self, places: &[usize]) {
        let mut roomy = self.lock_roomy();
        roomy.retain(|at| places.binary_search(at).is_err());
        if places.binary_search(&self.open.load(Ordering::Acquire)).is_ok() {
            self.open.store(NO_SLOT, Ordering::Release);
        }
        self.slots.vacate(places);
    }

    /// Takes note that a slot has room, if it has.
    pub(crate) fn list(&self, at: usize) {
        let Some(slot) = self.slots.get(at) else { return };
        // The list before the slot, as where it is taken from.
        let mut roomy = self.lock_roomy();
        let mut slot = slot.write();
        if !slot.listed && slot.has_room() {
            slot.listed = true;
            roomy.push(at);
        }
    }

    /// A transaction that wrote here commits, or its rows lie elsewhere from now on. Gives up the cached snapshot: it would
    /// keep the memory of rows that have gone. It is the caller's to drop, where nobody waits for that.
    #[must_use]
    pub(crate) fn set_changed(&self, time: Time) -> Option<Arc<Snapshot>> {
        // Either whoever caches a snapshot sees the time, or the snapshot is seen here (`cache`).
        self.changed.fetch_max(time.0, Ordering::SeqCst);
        self.take_cached()
    }

    /// Whether anything was committed here since a time.
    pub(crate) fn has_changed_since(&self, time: Time) -> bool {
        self.changed.load(Ordering::Acquire) > time.0
    }

    /// What is visible of the rows.
    pub(crate) fn show(&self, view: View, stamps: &Stamps) -> Snapshot {
        let pieces = self.slots.iter().filter_map(|(at, slot)| slot.show(at as u32, view, stamps));
        Snapshot::new(Arc::clone(&self.schema), pieces.collect(), Arc::clone(&self.distinct_counts))
    }

    /// The cached snapshot, if it shows all that has been committed.
    pub(crate) fn cached(&self) -> Option<Arc<Snapshot>> {
        let cached = self.lock_cached();
        let (start, snapshot) = cached.as_ref()?;
        (start.0 >= self.changed.load(Ordering::Acquire)).then(|| Arc::clone(snapshot))
    }

    /// Keeps what had been committed at a time, if that is all that has been committed.
    pub(crate) fn cache(&self, start: Time, snapshot: &Arc<Snapshot>) {
        let before = {
            let mut cached = self.lock_cached();
            self.has_cached.store(true, Ordering::SeqCst);
            if start.0 < self.changed.load(Ordering::SeqCst) {
                self.has_cached.store(cached.is_some(), Ordering::Release);
                return;
            }
            cached.replace((start, Arc::clone(snapshot)))
        };
        // Readers need not wait while the memory of the old one is freed.
        drop(before);
    }

    /// Gives up the cached snapshot, since it keeps slots from being written in place.
    #[inline]
    pub(crate) fn forget_cached(&self) {
        drop(self.take_cached());
    }

    #[inline]
    fn take_cached(&self) -> Option<Arc<Snapshot>> {
        if !self.has_cached.load(Ordering::SeqCst) {
            return None;
        }
        let mut cached = self.lock_cached();
        self.has_cached.store(false, Ordering::Release);
        cached.take().map(|(_, snapshot)| snapshot)
    }

    #[track_caller]
    fn lock_roomy(&self) -> Ranked<MutexGuard<'_, Vec<usize>>> {
        Ranked::take(Rank::Roomy, &self.roomy, |roomy| roomy.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn lock_cached(&self) -> MutexGuard<'_, Option<(Time, Arc<Snapshot>)>> {
        self.cached.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
