//! A slot of the same rows with other columns, for a relation that is altered.
//!
//! Columns that stay share their memory with the slot that they come from; a new one, of which every row has the same
//! value, shares it with those of all other slots. Whoever changes a value first copies the column (`column.rs`): the
//! rows are shown. Only a text too long for its view has to be put into the heap of each slot.
//!
//! Texts of a column that went stay in the heap until it is written anew, unless no texts are left at all.

use std::sync::Arc;

use arrow_array::builder::make_view;

use super::HotChunk;
use super::column::HotColumn;
use super::heap::Heap;
use super::write::WriteError;
use crate::memory::Memory;
use crate::row_id::CHUNK_ROWS_MAX;
use crate::typed::Input;
use crate::types::{Column, Schema};
use crate::view::INLINE_BYTES_MAX;
use crate::visibility::{Owner, StampId, Stamps};

/// Where a column comes from.
pub(crate) struct Source<'a> {
    from: From<'a>,
}

enum From<'a> {
    /// The slot's column of this number.
    Kept(usize),
    /// Of the same value in all rows; with the column once it was made.
    Filled(Input<'a>, Option<HotColumn>),
    /// Of values that are written afterwards; with a column of none once it was made.
    Computed(Option<HotColumn>),
}

impl<'a> Source<'a> {
    pub(crate) fn kept(column: usize) -> Source<'a> {
        Source { from: From::Kept(column) }
    }

    pub(crate) fn filled(value: Input<'a>) -> Source<'a> {
        Source { from: From::Filled(value, None) }
    }

    pub(crate) fn computed() -> Source<'a> {
        Source { from: From::Computed(None) }
    }

    /// Bytes that it needs in the heap of a slot.
    fn heap_bytes(&self) -> usize {
        match &self.from {
            From::Filled(Input::Text(text), _) if text.len() > INLINE_BYTES_MAX => text.len(),
            _ => 0,
        }
    }
}

impl HotChunk {
    /// Refuses changes, or takes them again.
    pub(crate) fn close(&mut self, closed: bool) {
        self.closed = closed;
    }

    /// A row that somebody has changed and not committed.
    pub(crate) fn uncommitted(&self, own: Option<Owner>, stamps: &Stamps) -> Option<usize> {
        let is_open = |stamp: StampId| {
            let stamp = stamps.get(stamp);
            !Stamps::is_committed(stamp) && own != Some(Owner(stamp))
        };
        if self.deleted.is_some_and(is_open) {
            return Some(0);
        }
        if let Some(range) = self.inserts.iter().find(|range| is_open(range.stamp)) {
            return Some(range.from);
        }
        self.changes().find(|(_, version)| is_open(version.stamp)).map(|(row, _)| row)
    }

    /// The id of a transaction that has changed something and not committed, and is not this one.
    pub(crate) fn writer_beside(&self, own: u64, stamps: &Stamps) -> Option<u64> {
        let inserts = self.inserts.iter().map(|range| range.stamp);
        let changes = self.changes().map(|(_, version)| version.stamp);
        let all = self.deleted.into_iter().chain(inserts).chain(changes).map(|stamp| stamps.get(stamp));
        all.filter(|stamp| !Stamps::is_committed(*stamp)).find(|stamp| *stamp != own)
    }

    /// The first column and row, of those that are alive, that would be NULL and must not be.
    pub(crate) fn missing(&self, schema: &Schema, sources: &[Source<'_>]) -> Option<(usize, usize)> {
        if self.gone || self.deleted.is_some() || self.dead.count() == self.rows {
            return None;
        }
        let missing = |column: usize| {
            if schema.all_columns()[column].nullable {
                return None;
            }
            let is_null = |row: usize| match &sources[column].from {
                From::Kept(from) => self.columns[*from].is_null(row),
                From::Filled(value, _) => *value == Input::Null,
                From::Computed(_) => false,
            };
            let may_be_null = match &sources[column].from {
                From::Kept(from) => self.columns[*from].has_nulls(),
                From::Filled(..) => true,
                From::Computed(_) => false,
            };
            let mut rows = 0..if may_be_null { self.rows } else { 0 };
            rows.find(|&row| is_null(row) && !self.dead.contains(row)).map(|row| (column, row))
        };
        (0..sources.len()).filter_map(missing).min_by_key(|&(_, row)| row)
    }

    /// The slot with columns of these sources. All that was changed is committed; what was before is not needed.
    pub(crate) fn reshaped(
        &mut self,
        schema: &Arc<Schema>,
        sources: &mut [Source<'_>],
        memory: &Arc<Memory>,
    ) -> Result<HotChunk, WriteError> {
        let rows = self.rows;
        if self.gone || self.deleted.is_some() {
            return Ok(HotChunk::gone(schema));
        }
        let mut heap = self.reshaped_heap(sources, memory)?;
        let mut columns = Vec::with_capacity(sources.len());
        for (Source { from }, described) in sources.iter_mut().zip(schema.all_columns()) {
            let (column_type, nullable) = (described.column_type, described.nullable);
            columns.push(match from {
                From::Kept(from) => self.columns[*from].shared(column_type, nullable, rows),
                From::Filled(Input::Text(text), _) if text.len() > INLINE_BYTES_MAX => {
                    let view = make_view(text, 0, heap.push(text) as u32);
                    HotColumn::of_one_value(column_type, nullable, Some(view), rows, memory)?
                }
                From::Filled(value, made) => {
                    let bits = match &*value {
                        Input::Null => None,
                        Input::Bits(bits) => Some(*bits),
                        Input::Text(text) => Some(make_view(text, 0, 0)),
                    };
                    of_one_value(made, described, bits, rows, memory)?
                }
                From::Computed(made) => of_one_value(made, described, None, rows, memory)?,
            });
        }
        // Readers of the slot may hold on to its heap, and its end is the slot's alone: none is left here.
        let mut reshaped = HotChunk::of(schema, columns, heap, rows, rows);
        reshaped.dead = self.dead.clone();
        Ok(reshaped)
    }

    /// Writes a value of a computed column of a slot that nobody else knows yet.
    pub(crate) fn compute(
        &mut self,
        row: usize,
        column: usize,
        value: &Input<'_>,
        memory: &Arc<Memory>,
    ) -> Result<(), WriteError> {
        if let Input::Text(text) = value
            && text.len() > INLINE_BYTES_MAX
        {
            self.make_heap_room(text.len(), memory)?;
        }
        self.shown = None;
        let bits = match value {
            Input::Null => None,
            Input::Bits(bits) => Some(*bits),
            Input::Text(text) => Some(self.heap.view_of(text)),
        };
        let target = &mut self.columns[column];
        target.make_writable(row, self.rows, memory)?;
        let was_null = target.is_null(row);
        if bits.is_none() != was_null {
            target.set_null(row, bits.is_none(), was_null);
        }
        match bits {
            Some(bits) => target.write(row, bits),
            None => target.put(row, 0),
        }
        Ok(())
    }

    /// The heap with room for just the texts that are new.
    fn reshaped_heap(&self, sources: &[Source<'_>], memory: &Arc<Memory>) -> Result<Heap, WriteError> {
        let is_text = |source: &Source<'_>| matches!(source.from, From::Kept(from) if self.columns[from].is_view());
        let kept = if sources.iter().any(is_text) { self.heap.shared() } else { Heap::default() };
        match sources.iter().map(Source::heap_bytes).sum() {
            0 => Ok(kept),
            bytes => kept.with_room(bytes, memory),
        }
    }
}

/// The first rows of a column of one value, which is made if there is none that has as many.
fn of_one_value(
    made: &mut Option<HotColumn>,
    described: &Column,
    bits: Option<u128>,
    rows: usize,
    memory: &Arc<Memory>,
) -> Result<HotColumn, WriteError> {
    if let Some(made) = made.as_ref().filter(|made| made.capacity() >= rows) {
        return Ok(made.shortened(rows));
    }
    // Slots of several sizes share the first that is not smaller than they are.
    let rows_made = rows.next_power_of_two().min(CHUNK_ROWS_MAX);
    let column = HotColumn::of_one_value(described.column_type, described.nullable, bits, rows_made, memory)?;
    Ok(made.insert(column).shortened(rows))
}
