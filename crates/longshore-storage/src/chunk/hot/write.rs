//! Changes of one row: insert, update of a value, delete. Each is made in place and leaves a version.

use std::sync::Arc;

use super::{GROWTH, HotChunk};
use crate::arena::Arena;
use crate::memory::{Memory, OutOfMemory};
use crate::row_id::CHUNK_ROWS_MAX;
use crate::typed::{Stored, StoredValue};
use crate::version::{Change, Image, NONE, Versions};
use crate::view::INLINE_BYTES_MAX;
use crate::visibility::{Clock, ConflictKind, StampId, Stamps, Time, View};

/// Why a row cannot be written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum WriteError {
    /// The writer does not see the row.
    NoSuchRow,
    Conflict(ConflictKind),
    /// The relation takes no changes of a transaction that began at this time.
    Closed(Time),
    /// The heap of texts has no room for so many bytes more.
    HeapFull(usize),
    OutOfMemory(OutOfMemory),
}

impl From<OutOfMemory> for WriteError {
    fn from(error: OutOfMemory) -> WriteError {
        WriteError::OutOfMemory(error)
    }
}

/// The conflict with what bears a stamp that one does not see.
fn conflict(stamp: u64) -> WriteError {
    WriteError::Conflict(ConflictKind::of(stamp))
}

/// Who writes.
#[derive(Clone, Copy)]
pub(crate) struct Writer<'a> {
    pub(crate) view: View,
    pub(crate) stamp: StampId,
    pub(crate) clock: &'a Clock,
    pub(crate) memory: &'a Arc<Memory>,
    /// Every change leaves a version, even one that nobody else could miss: a savepoint may want it.
    pub(crate) keeps_all: bool,
}

/// Bytes of a value that lie in the heap.
#[inline]
fn heap_bytes(value: &impl StoredValue) -> usize {
    match value.stored() {
        Stored::Text(text) if text.len() > INLINE_BYTES_MAX => text.len(),
        _ => 0,
    }
}

impl HotChunk {
    /// Whether the writer may change a row: he sees it, and nobody has changed it whom he does not see.
    pub(crate) fn check(&self, row: usize, writer: &Writer<'_>) -> Result<(), WriteError> {
        let (view, stamps) = (writer.view, writer.clock.stamps());
        if self.closed {
            return Err(WriteError::Closed(view.start()));
        }
        if row >= self.rows || self.gone || !self.is_inserted(row, view, stamps) {
            return Err(WriteError::NoSuchRow);
        }
        if let Some(deleted) = self.deleted {
            let stamp = stamps.get(deleted);
            return Err(if view.sees(stamp) { WriteError::NoSuchRow } else { conflict(stamp) });
        }
        let newest = self.versions.as_ref().and_then(|versions| versions.newest(row));
        if let Some(newest) = newest {
            let stamp = stamps.get(newest.stamp);
            if !view.sees(stamp) {
                return Err(if self.is_visible(row, view, stamps) { conflict(stamp) } else { WriteError::NoSuchRow });
            }
        }
        if self.dead.contains(row) { Err(WriteError::NoSuchRow) } else { Ok(()) }
    }

    /// Whether a row may be locked: as [`HotChunk::check`], but that others have changed values of it may not matter.
    pub(crate) fn check_lock(&self, row: usize, writer: &Writer<'_>, only_key: bool) -> Result<(), WriteError> {
        let checked = self.check(row, writer);
        let (view, stamps) = (writer.view, writer.clock.stamps());
        if !only_key || !matches!(checked, Err(WriteError::Conflict(_))) || self.deleted.is_some() {
            return checked;
        }
        let versions = self.versions.iter().flat_map(|versions| versions.chain(row));
        let mut unseen = versions.take_while(|version| !view.sees(stamps.get(version.stamp)));
        if unseen.all(|version| matches!(version.change, Change::Update(..))) { Ok(()) } else { checked }
    }

    /// Whether the writer may remove all rows: there are some that he sees, and nobody has changed any whom he does not
    /// see.
    pub(crate) fn check_all(&self, writer: &Writer<'_>) -> Result<(), WriteError> {
        let (view, stamps) = (writer.view, writer.clock.stamps());
        if self.closed {
            return Err(WriteError::Closed(view.start()));
        }
        if self.gone {
            return Err(WriteError::NoSuchRow);
        }
        if let Some(deleted) = self.deleted {
            let stamp = stamps.get(deleted);
            return Err(if view.sees(stamp) { WriteError::NoSuchRow } else { conflict(stamp) });
        }
        let inserts = self.inserts.iter().map(|range| range.stamp);
        let newest = self.versions.iter().flat_map(|versions| {
            versions.rows().into_iter().filter_map(|row| versions.chain(row.into()).next().map(|version| version.stamp))
        });
        match inserts.chain(newest).map(|stamp| stamps.get(stamp)).find(|&stamp| !view.sees(stamp)) {
            Some(stamp) => Err(conflict(stamp)),
            None => Ok(()),
        }
    }

    /// Whether there are rows that can be removed, whoever works on them.
    pub(crate) fn check_regardless(&self, writer: &Writer<'_>) -> Result<(), WriteError> {
        if self.closed {
            return Err(WriteError::Closed(writer.view.start()));
        }
        let is_dead = |deleted| Stamps::is_committed(writer.clock.stamps().get(deleted));
        if self.gone || self.deleted.is_some_and(is_dead) { Err(WriteError::NoSuchRow) } else { Ok(()) }
    }

    /// Inserts a row; says where it is and the number of its version. `None` if there is no room.
    pub(crate) fn insert(
        &mut self,
        values: &[impl StoredValue],
        writer: &Writer<'_>,
    ) -> Result<Option<(usize, u32)>, WriteError> {
        if self.closed {
            return Err(WriteError::Closed(writer.view.start()));
        }
        if self.gone || self.deleted.is_some() {
            return Ok(None);
        }
        // A row that came to be with others, and has gone: whoever does not see these would not see what takes its place,
        // not even if he has put it there himself.
        let is_usable = |row| self.is_inserted(row, writer.view, writer.clock.stamps());
        let free = if self.dead.next_free().is_some_and(is_usable) { self.dead.take_free() } else { None };
        let row = match free {
            Some(row) => row,
            None if self.rows == CHUNK_ROWS_MAX => return Ok(None),
            None => self.rows,
        };
        if let Err(error) = self.write_row(row, values, free.is_some(), writer.memory) {
            if free.is_some() {
                self.dead.set_free(row);
            }
            return if matches!(error, WriteError::HeapFull(_)) && self.rows > 0 { Ok(None) } else { Err(error) };
        }
        Ok(Some((row, self.push_version(row, writer.stamp, Change::Insert))))
    }

    /// Writes all values of a row that was dead, or comes behind the last; then it is alive.
    #[inline]
    pub(super) fn write_row(
        &mut self,
        row: usize,
        values: &[impl StoredValue],
        was_dead: bool,
        memory: &Arc<Memory>,
    ) -> Result<(), WriteError> {
        self.shown = None;
        let heap_bytes = values.iter().map(heap_bytes).sum();
        self.make_row_writable(row, heap_bytes, memory)?;
        let (columns, heap) = (&mut self.columns, &mut self.heap);
        for (column, value) in columns.iter_mut().zip(values) {
            column.insert(row, heap.bits_of(value), was_dead);
        }
        if was_dead {
            self.dead.remove(row);
        } else {
            self.rows += 1;
        }
        Ok(())
    }

    /// Makes sure that all values of a row may be written, the one behind the last included, with so many bytes of long
    /// texts.
    fn make_row_writable(&mut self, row: usize, heap_bytes: usize, memory: &Arc<Memory>) -> Result<(), WriteError> {
        if row >= self.capacity {
            self.grow(row + 1, memory)?;
        }
        // What is behind the last row was never shown.
        if row < self.rows {
            for column in 0..self.columns.len() {
                self.make_writable(row, column, memory)?;
            }
        }
        // Last: what is unpacked takes room.
        self.make_heap_room(heap_bytes, memory)
    }

    /// Makes sure that a value may be written.
    #[inline]
    fn make_writable(&mut self, row: usize, column: usize, memory: &Arc<Memory>) -> Result<(), WriteError> {
        self.unpack(column, memory)?;
        Ok(self.columns[column].make_writable(row, self.rows, memory)?)
    }

    /// Makes room for so many rows and more to come.
    pub(super) fn grow(&mut self, rows: usize, memory: &Arc<Memory>) -> Result<(), WriteError> {
        for column in 0..self.columns.len() {
            self.unpack(column, memory)?;
        }
        let capacity = (self.capacity * GROWTH).max(rows.next_power_of_two()).clamp(super::ROWS_MIN, CHUNK_ROWS_MAX);
        // All columns in one block: of large slots it has huge pages.
        let growing = self.columns.iter().filter(|column| column.capacity() < capacity);
        let mut arena = Arena::new(Arc::clone(memory), growing.map(|column| column.values_bytes(capacity)).sum());
        for column in &mut self.columns {
            if column.capacity() < capacity {
                column.replace_values_in(self.rows, capacity, &mut arena)?;
            }
        }
        self.capacity = capacity;
        Ok(())
    }

    /// Changes a value of a row that [`HotChunk::check`] allows. Says the number of the version, if one was made: none
    /// is where the value before need not be kept. `beside` is the newest version of the row if the writer has made it,
    /// and none of this column yet.
    #[inline]
    pub(crate) fn update(
        &mut self,
        row: usize,
        column: usize,
        value: &impl StoredValue,
        (keeps, beside): (bool, Option<u32>),
        writer: &Writer<'_>,
    ) -> Result<Option<u32>, WriteError> {
        self.make_value_writable(row, column, value, writer.memory)?;
        let version = if keeps {
            let change = Change::Update(column as u16, self.image(row, column));
            Some(match (beside, &mut self.versions) {
                (Some(newest), Some(versions)) => versions.push_beside(newest, change),
                _ => self.push_version(row, writer.stamp, change),
            })
        } else {
            None
        };
        self.overwrite(row, column, value, version.is_some());
        Ok(version)
    }

    /// Makes sure that a value may be written in place of another one.
    #[inline]
    pub(super) fn make_value_writable(
        &mut self,
        row: usize,
        column: usize,
        value: &impl StoredValue,
        memory: &Arc<Memory>,
    ) -> Result<(), WriteError> {
        // Before anything is asked for: what is kept for readers to come would count as one of them.
        self.shown = None;
        self.make_writable(row, column, memory)?;
        let heap_bytes = heap_bytes(value);
        if heap_bytes > 0 {
            // Behind the other: what is unpacked takes room.
            self.make_heap_room(heap_bytes, memory)?;
        }
        Ok(())
    }

    /// Writes a value in place of another one, which a version may keep.
    #[inline]
    pub(super) fn overwrite(&mut self, row: usize, column: usize, value: &impl StoredValue, is_kept: bool) {
        let (target, heap) = (&mut self.columns[column], &mut self.heap);
        let bits = heap.bits_of(value);
        if !is_kept && target.is_view() {
            heap.forget(target.bits(row));
        }
        target.overwritten();
        let (is_null, was_null) = (bits.is_none(), target.is_null(row));
        if is_null != was_null {
            target.set_null(row, is_null, was_null);
        }
        match bits {
            None => target.put(row, 0),
            Some(bits) => target.write(row, bits),
        }
    }

    /// Deletes a row that [`HotChunk::check`] allows; says the number of the version.
    pub(crate) fn delete(&mut self, row: usize, writer: &Writer<'_>) -> u32 {
        self.dead.insert(row);
        self.push_version(row, writer.stamp, Change::Delete)
    }

    /// Whether a value must be kept when the writer changes it: he has not kept it before, nor has he made the row.
    pub(crate) fn must_keep(&self, row: usize, column: usize, writer: &Writer<'_>) -> bool {
        writer.keeps_all
            || !self.own_changes(row, writer).any(|change| match *change {
                Change::Insert => true,
                Change::Update(changed, _) => usize::from(changed) == column,
                Change::Delete | Change::Free => false,
            })
    }

    /// The first 64 columns whose values need not be kept, a bit for each: the contrary of [`HotChunk::must_keep`].
    #[inline]
    pub(crate) fn kept(&self, row: usize, writer: &Writer<'_>) -> u64 {
        if writer.keeps_all {
            return 0;
        }
        self.own_changes(row, writer).fold(0, |kept, change| match *change {
            Change::Insert => u64::MAX,
            Change::Update(changed, _) => kept | 1_u64.checked_shl(changed.into()).unwrap_or(0),
            Change::Delete | Change::Free => kept,
        })
    }

    /// What the writer has done to a row, the last first.
    fn own_changes(&self, row: usize, writer: &Writer<'_>) -> impl Iterator<Item = &Change> {
        let versions = self.versions.iter().flat_map(move |versions| versions.chain(row));
        let stamp = writer.stamp;
        versions.take_while(move |version| version.stamp == stamp).map(|version| &version.change)
    }

    /// The value of a row as it is, to be kept.
    fn image(&self, row: usize, column: usize) -> Image {
        let of = &self.columns[column];
        if of.is_null(row) { Image::Null } else { Image::of_bits(of.bits(row)) }
    }

    fn push_version(&mut self, row: usize, stamp: StampId, change: Change) -> u32 {
        self.settled = None;
        let versions = self.versions.get_or_insert_with(|| Box::new(Versions::new()));
        let version = versions.push(row, stamp, change);
        debug_assert_ne!(version, NONE);
        version
    }
}
