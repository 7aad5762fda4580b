//! A relation that is restored, and what changes of rows do to it.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use super::{BlockSource, Replayed};
use crate::arena::Arena;
use crate::chunk::Chunk;
use crate::chunk::hot::{HotChunk, Slot, WriteError};
use crate::datum::Datum;
use crate::log::Lsn;
use crate::manager::Transactions;
use crate::memory::Memory;
use crate::native::embedded::{ChunkError, chunk_of_bytes, schema_of_bytes};
use crate::packed::PACKED_BLOCK_BYTES;
use crate::redo::error::ReplayProblem;
use crate::redo::row::{ChangeKind, NextRow, ReadNullBits, columns, gone_rows, read_block, stored, text};
use crate::redo::wire::Reader;
use crate::relation::Relation;
use crate::row_id::RowId;
use crate::table::{RelationId, Table};
use crate::typed::Input;
use crate::types::{Column, ColumnType, Physical, Schema, TimeType};
use crate::values::{Scratch, TextRoom};

/// The period between checkpoints that records belong to which are done again: the first.
const REPLAYED: u64 = 1;

/// A relation that is restored.
pub(super) struct Restored {
    pub(super) schema: Arc<Schema>,
    /// Whether its rows are logged.
    is_logged: bool,
    pub(super) memory: Arc<Memory>,
    /// By their places.
    pub(super) slots: Vec<Option<Box<HotChunk>>>,
    /// Which places are as they were when they were added, before any record.
    is_original: Vec<bool>,
    /// The places that have or had slots, in the order of the rows.
    order: Vec<u32>,
    /// Columns that may be NULL.
    nullable: usize,
    /// The places of chunks that are missing, if they may be: what records change of their rows is left out.
    lost: Option<BTreeSet<u32>>,
}

impl fmt::Debug for Restored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Restored").field("places", &self.slots.len()).finish_non_exhaustive()
    }
}

/// What is wrong with an item, and with which row.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) row: Option<RowId>,
    pub(super) problem: ReplayProblem,
}

impl<P: Into<ReplayProblem>> From<P> for Problem {
    fn from(problem: P) -> Problem {
        Problem { row: None, problem: problem.into() }
    }
}

impl From<WriteError> for ReplayProblem {
    fn from(error: WriteError) -> ReplayProblem {
        match error {
            WriteError::OutOfMemory(error) => error.into(),
            WriteError::HeapFull(bytes) => {
                ReplayProblem::Malformed(format!("a text of {bytes} bytes does not fit into its chunk"))
            }
            WriteError::NoSuchRow => ReplayProblem::NoRow,
            WriteError::Conflict(_) | WriteError::Closed(_) => ReplayProblem::RelationInUse,
        }
    }
}

impl From<ChunkError> for ReplayProblem {
    fn from(error: ChunkError) -> ReplayProblem {
        match error {
            ChunkError::Malformed(reason) => ReplayProblem::Malformed(reason),
            ChunkError::OutOfMemory(error) => error.into(),
        }
    }
}

impl Restored {
    fn empty(schema: Arc<Schema>, is_logged: bool, memory: &Arc<Memory>) -> Restored {
        let nullable = schema.all_columns().iter().filter(|column| column.nullable).count();
        Restored {
            schema,
            is_logged,
            memory: Arc::clone(memory),
            slots: Vec::new(),
            is_original: Vec::new(),
            order: Vec::new(),
            nullable,
            lost: None,
        }
    }

    /// One that joins.
    pub(super) fn created(mut item: Reader<'_>, is_logged: bool, memory: &Arc<Memory>) -> Result<Restored, Problem> {
        item.bytes()?;
        let schema = schema_of_bytes(item.bytes()?).map_err(ReplayProblem::from)?;
        ends(&item)?;
        Ok(Restored::empty(Arc::new(schema), is_logged, memory))
    }

    /// The rows of a relation that nobody works on, which loses them.
    pub(super) fn of_relation(relation: &Relation, memory: &Arc<Memory>) -> Result<Restored, ReplayProblem> {
        let table = relation.table();
        let mut restored = Restored::empty(Arc::clone(table.schema()), table.is_logged(), memory);
        for (at, slot) in table.slots.take(|| HotChunk::gone(table.schema())) {
            let slot = slot.restorable().ok_or(ReplayProblem::RelationInUse)?;
            if !slot.is_gone() {
                *restored.place(at)? = Some(Box::new(slot));
            }
        }
        Ok(restored)
    }

    /// Slots at their places, in the order of their rows.
    pub(super) fn of_slots(
        schema: Arc<Schema>,
        is_logged: bool,
        slots: Vec<(usize, HotChunk)>,
        memory: &Arc<Memory>,
    ) -> Result<Restored, ReplayProblem> {
        let mut restored = Restored::empty(schema, is_logged, memory);
        for (at, slot) in slots {
            if restored.place(at)?.replace(Box::new(slot)).is_some() {
                return Err(ReplayProblem::Malformed(format!("two chunks at place {at}")));
            }
            restored.is_original[at] = true;
        }
        Ok(restored)
    }

    /// Lets chunks be missing, of which these are.
    pub(super) fn lose(&mut self, lost: Vec<u32>) {
        self.lost = Some(lost.into_iter().collect());
    }

    /// The places of chunks that are missing, if they may be.
    pub(super) fn lost(&self) -> Option<&BTreeSet<u32>> {
        self.lost.as_ref()
    }

    /// Whether a row is not there because its chunk is missing.
    pub(super) fn is_lost(&self, row: RowId) -> bool {
        let is_missing = self.lost.as_ref().is_some_and(|lost| lost.contains(&(row.chunk() as u32)));
        is_missing && !self.slots.get(row.chunk()).and_then(Option::as_ref).is_some_and(|slot| slot.is_alive(row.row()))
    }

    /// All rows of a place are known from here on, if some were missing.
    fn find(&mut self, place: usize) {
        if let Some(lost) = &mut self.lost {
            lost.remove(&(place as u32));
        }
    }

    /// What it is in the end, in a database of which nobody knows it yet.
    pub(super) fn into_relation(self, id: RelationId, transactions: &Arc<Transactions>) -> Relation {
        let Restored { schema, is_logged, memory, mut slots, is_original, order, .. } = self;
        let table = Arc::new(Table::new(schema, memory));
        let taken = order.into_iter().filter_map(|at| Some((at as usize, slots[at as usize].take()?.restored()?)));
        table.restore(taken.collect());
        let changed = table.slots.iter().filter(|(at, _)| !is_original[*at]);
        changed.for_each(|(_, slot)| slot.mark_changed(REPLAYED));
        table.set_logged(is_logged);
        table.set_relation_id(Some(id));
        transactions.log().register(id, &table);
        Relation::of(&table, transactions)
    }

    /// Its slots have other columns now.
    pub(super) fn set_schema(&mut self, schema: Arc<Schema>) {
        self.is_original.fill(false);
        self.nullable = schema.all_columns().iter().filter(|column| column.nullable).count();
        self.schema = schema;
    }

    /// The place of a slot.
    fn place(&mut self, at: usize) -> Result<&mut Option<Box<HotChunk>>, ReplayProblem> {
        if at >= self.slots.len() {
            // Every place up to the last takes so much of memory.
            let limit = self.memory.limit().or_else(Memory::machine_bytes).unwrap_or(usize::MAX);
            if at >= limit / size_of::<Slot>() {
                return Err(ReplayProblem::RowBeyond);
            }
            self.slots.resize_with(at + 1, || None);
            self.is_original.resize(at + 1, false);
            self.order.push(at as u32);
        } else if self.slots[at].is_none() {
            self.order.retain(|&known| known as usize != at);
            self.order.push(at as u32);
        }
        self.is_original[at] = false;
        Ok(&mut self.slots[at])
    }

    /// The slot of a row that is there.
    fn slot_of(&mut self, row: RowId) -> Result<&mut HotChunk, ReplayProblem> {
        let slot = self.slots.get_mut(row.chunk()).and_then(Option::as_deref_mut);
        let slot = slot.filter(|slot| slot.is_alive(row.row())).ok_or(ReplayProblem::NoRow)?;
        self.is_original[row.chunk()] = false;
        Ok(slot)
    }

    /// Puts a slot where none with rows is, but for some of its rows.
    fn put_slot(&mut self, first: RowId, mut slot: HotChunk, gone: &[usize]) -> Result<(), ReplayProblem> {
        for &row in gone {
            if !slot.is_alive(row) {
                return Err(ReplayProblem::NoRow);
            }
            slot.restore_delete(row, &self.memory)?;
        }
        let place = self.place(first.chunk())?;
        if place.as_ref().is_some_and(|slot| slot.has_rows()) {
            return Err(ReplayProblem::RowExists);
        }
        *place = Some(Box::new(slot));
        self.find(first.chunk());
        Ok(())
    }

    /// Does changes of rows; says what they were.
    pub(super) fn apply(
        &mut self,
        mut item: Reader<'_>,
        source: (Lsn, Option<&dyn BlockSource>),
    ) -> Result<Replayed, Problem> {
        if !self.is_logged {
            return Err(ReplayProblem::Malformed("rows of a relation whose rows are not logged".to_owned()).into());
        }
        let mut apply = Apply::default();
        while !item.is_empty() {
            let (kind, row) = apply.next.read(&mut item)?;
            let applied = apply.change(self, kind, row, &mut item, source);
            applied.map_err(|problem| Problem { row: Some(row), problem })?;
        }
        Ok(apply.replayed)
    }
}

/// What is known while changes of rows are done.
#[derive(Default)]
struct Apply<'a> {
    next: NextRow,
    /// The columns of the last update.
    updated: Vec<usize>,
    /// Room for the values of a row.
    values: Vec<Input<'a>>,
    /// For packed chunks.
    chunks: Option<(Arena, Scratch)>,
    replayed: Replayed,
}

/// Bytes of an id of a row, and of the number of a column.
const ROW_ID_BYTES: u64 = 8;
const COLUMN_NUMBER_BYTES: u64 = 2;

/// Bytes of a value as it is in memory.
fn image_bytes(value: &Input<'_>, column: &Column) -> u64 {
    match value {
        Input::Null => 0,
        Input::Bits(_) => column.column_type.physical().width() as u64,
        Input::Text(text) => text.len() as u64,
    }
}

impl<'a> Apply<'a> {
    fn change(
        &mut self,
        restored: &mut Restored,
        kind: ChangeKind,
        row: RowId,
        item: &mut Reader<'a>,
        source: (Lsn, Option<&dyn BlockSource>),
    ) -> Result<(), ReplayProblem> {
        self.replayed.changes += 1;
        self.replayed.image_bytes += ROW_ID_BYTES;
        match kind {
            ChangeKind::Insert => self.insert(restored, row, item),
            ChangeKind::Update => {
                self.updated = columns(item, restored.schema.all_columns().len())?;
                self.update(restored, row, item)
            }
            ChangeKind::UpdateAlike => self.update(restored, row, item),
            ChangeKind::Delete if restored.is_lost(row) => Ok(()),
            ChangeKind::Delete => {
                let memory = Arc::clone(&restored.memory);
                Ok(restored.slot_of(row)?.restore_delete(row.row(), &memory)?)
            }
            ChangeKind::Truncate => {
                // Rows that were deleted before may be all that it had, so that no record names it.
                if let Some(slot) = restored.slots.get_mut(row.chunk()) {
                    *slot = None;
                }
                restored.find(row.chunk());
                Ok(())
            }
            ChangeKind::Chunk => self.chunk(restored, row, item),
            ChangeKind::Block => self.block(restored, row, item, source),
        }
    }

    fn insert(&mut self, restored: &mut Restored, row: RowId, item: &mut Reader<'a>) -> Result<(), ReplayProblem> {
        let (schema, memory) = (Arc::clone(&restored.schema), Arc::clone(&restored.memory));
        self.values.clear();
        let mut nulls = ReadNullBits::begin(item, restored.nullable)?;
        for column in schema.all_columns() {
            let value = nulls.read(item, column)?;
            self.replayed.image_bytes += image_bytes(&value, column);
            self.values.push(value);
        }
        let place = restored.place(row.chunk())?;
        let slot = match place {
            Some(slot) => slot,
            None => place.insert(Box::new(HotChunk::empty(&schema, &memory)?)),
        };
        if slot.is_alive(row.row()) {
            return Err(ReplayProblem::RowExists);
        }
        Ok(slot.restore(row.row(), &self.values, &memory)?)
    }

    fn update(&mut self, restored: &mut Restored, row: RowId, item: &mut Reader<'a>) -> Result<(), ReplayProblem> {
        let (schema, memory) = (Arc::clone(&restored.schema), Arc::clone(&restored.memory));
        let columns = schema.all_columns();
        let nullable = self.updated.iter().filter(|&&column| columns[column].nullable).count();
        let mut nulls = ReadNullBits::begin(item, nullable)?;
        if restored.is_lost(row) {
            return self.updated.iter().try_for_each(|&column| nulls.read(item, &columns[column]).map(|_| ()));
        }
        let slot = restored.slot_of(row)?;
        for &column in &self.updated {
            let value = nulls.read(item, &columns[column])?;
            self.replayed.image_bytes += COLUMN_NUMBER_BYTES + image_bytes(&value, &columns[column]);
            slot.restore_value(row.row(), column, &value, &memory)?;
        }
        Ok(())
    }

    /// A chunk in a block file, with the rows of it that went again.
    fn block(
        &mut self,
        restored: &mut Restored,
        first: RowId,
        item: &mut Reader<'a>,
        (lsn, blocks): (Lsn, Option<&dyn BlockSource>),
    ) -> Result<(), ReplayProblem> {
        let gone = gone_rows(first, item)?;
        let block = read_block(item)?;
        let missing = || ReplayProblem::Malformed("a chunk lies in a block file, and there are none".to_owned());
        let blocks = blocks.ok_or_else(missing)?;
        let slot = match blocks.read(&block, &restored.schema, lsn) {
            Err(ReplayProblem::Block(_)) if restored.lost.is_some() => {
                restored.lost.get_or_insert_default().insert(first.chunk() as u32);
                return Ok(());
            }
            slot => slot?,
        };
        self.replayed.changes += slot.len() as u64 - 1;
        restored.put_slot(first, slot, &gone)
    }

    /// A chunk, with the rows of it that went again.
    fn chunk(&mut self, restored: &mut Restored, first: RowId, item: &mut Reader<'a>) -> Result<(), ReplayProblem> {
        let gone = gone_rows(first, item)?;
        let bytes = item.bytes()?;
        let (schema, memory) = (Arc::clone(&restored.schema), Arc::clone(&restored.memory));
        let new = || (Arena::new(Arc::clone(&memory), PACKED_BLOCK_BYTES.min(bytes.len().max(1))), Scratch::default());
        let (arena, scratch) = self.chunks.get_or_insert_with(new);
        let chunk = chunk_of_bytes(bytes, &schema, arena, scratch)?;
        check_values(&chunk)?;
        self.replayed.changes += chunk.rows() as u64 - 1;
        self.replayed.image_bytes += (chunk.bytes() + chunk.rows() * ROW_ID_BYTES as usize) as u64;
        restored.put_slot(first, HotChunk::of_chunk(Arc::new(chunk)), &gone)
    }
}

/// That nothing is left of an item.
pub(super) fn ends(item: &Reader<'_>) -> Result<(), ReplayProblem> {
    if item.is_empty() { Ok(()) } else { Err(ReplayProblem::Malformed("an item is too long".to_owned())) }
}

/// That the values of a packed chunk, whose form was checked, are such as their columns take.
fn check_values(chunk: &Chunk) -> Result<(), ReplayProblem> {
    for (at, column) in chunk.schema().all_columns().iter().enumerate() {
        match column.column_type {
            ColumnType::Decimal { .. } => check_decimals(chunk, at, column)?,
            ColumnType::Char(_)
            | ColumnType::Varchar(_)
            | ColumnType::Numeric(_)
            | ColumnType::TimeTz
            | ColumnType::Interval
            | ColumnType::Rounded(TimeType::TimeTz | TimeType::Interval, _)
            | ColumnType::Array(..) => {
                check_texts(chunk, at, column)?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn check_decimals(chunk: &Chunk, at: usize, column: &Column) -> Result<(), ReplayProblem> {
    for row in valid_rows(chunk, at) {
        let bits = crate::chunk::Stored::bits(chunk, at, row);
        let datum = match chunk.physical(at) {
            Physical::I64 => Datum::I64(bits as i64),
            _ => Datum::I128(bits as i128),
        };
        stored(column, datum)?;
    }
    Ok(())
}

fn check_texts(chunk: &Chunk, at: usize, column: &Column) -> Result<(), ReplayProblem> {
    for row in valid_rows(chunk, at) {
        let room = TextRoom::default();
        stored(column, text(crate::chunk::Stored::text(chunk, at, row, &room), column)?)?;
    }
    Ok(())
}

/// The rows that are not NULL.
fn valid_rows(chunk: &Chunk, column: usize) -> impl Iterator<Item = usize> {
    let validity = chunk.validity(column);
    (0..chunk.rows()).filter(move |row| validity.is_none_or(|bits| bits[row / 8] >> (row % 8) & 1 == 1))
}
