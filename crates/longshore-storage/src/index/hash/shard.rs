//! A share of a hash table: an array of chain heads, and entries in one vector, linked by their numbers.
//!
//! An entry takes half a cache line. Keys of up to 16 bytes lie in it; of longer ones it has the hash, and their bytes
//! lie behind each other in a heap, which is compacted when more than half of it belongs to removed keys.

use std::sync::Arc;

use super::Hashed;
use super::row_list::RowList;
use crate::arena::Plain;
use crate::index::array::{Array, Pool};
use crate::index::duplicates::Duplicates;
use crate::index::found::Found;
use crate::index::key::{AnyBytes, KeyBytes, LongBytes, SHORT_BYTES, ShortBytes};
use crate::memory::{Memory, OutOfMemory, Reservation};
use crate::prefetch::prefetch;
use crate::row_id::RowId;

/// Ends a chain.
const NONE: u32 = u32::MAX;

/// Marks an entry's rows as the number of a list.
const LIST: u64 = 1 << 63;

/// Chain heads of a shard that has entries.
const BUCKETS_MIN: usize = 8;

/// There are chain heads for all keys and this share of them more: half as many again. Every entry of a chain that is
/// passed is a miss of the cache, and costs more than eight chain heads.
const BUCKETS_MORE: usize = 2;

#[derive(Clone, Copy)]
struct Entry {
    /// The key; of a long one its hash in the high half, and where its bytes are in the low half.
    key: u128,
    /// A row, or a list of them.
    rows: u64,
    /// Bytes of the key.
    length: u32,
    /// The next entry of the chain, or of the free ones.
    next: u32,
}
const _: () = assert!(size_of::<Entry>() == 32);

impl Plain for Entry {}

impl Entry {
    fn is_long(&self) -> bool {
        self.length as usize > SHORT_BYTES
    }
}

/// Rows by key, of keys whose hashes begin alike.
pub(in crate::index) struct Shard {
    /// A power of two of chain heads; the lowest bits of a hash choose.
    buckets: Array<u32>,
    entries: Array<Entry>,
    /// Removed entries, linked.
    free: u32,
    /// Distinct keys.
    keys: usize,
    /// Rows of all keys.
    rows: usize,
    lists: Vec<RowList>,
    free_lists: Vec<u32>,
    /// Bytes of long keys.
    heap: Vec<u8>,
    /// Those of removed ones.
    heap_dead: usize,
    reservation: Reservation,
    pool: Pool,
}

impl Shard {
    pub(in crate::index) fn new(memory: &Arc<Memory>, pool: &Pool) -> Shard {
        Shard {
            buckets: Array::new(),
            entries: Array::new(),
            pool: pool.clone(),
            free: NONE,
            keys: 0,
            rows: 0,
            lists: Vec::new(),
            free_lists: Vec::new(),
            heap: Vec::new(),
            heap_dead: 0,
            reservation: Reservation::new(memory),
        }
    }

    pub(in crate::index) fn rows(&self) -> usize {
        self.rows
    }

    pub(in crate::index) fn bytes(&self) -> usize {
        let tables = self.buckets.capacity() * size_of::<u32>() + self.entries.capacity() * size_of::<Entry>();
        tables + self.reservation.bytes()
    }

    #[inline]
    pub(super) fn find(&self, key: Hashed<'_>) -> Found {
        self.position(key).map_or_else(Found::default, |at| self.rows_of(at))
    }

    /// Asks for the head of a key's chain.
    #[inline]
    pub(super) fn prefetch_bucket(&self, key: Hashed<'_>) {
        if !self.buckets.is_empty() {
            prefetch(&raw const self.buckets[self.bucket(key.hash)]);
        }
    }

    /// Asks for the first entry of a key's chain, the head of which is there.
    #[inline]
    pub(super) fn prefetch_entry(&self, key: Hashed<'_>) {
        if let Some(entry) = self.first_entry(key) {
            prefetch(entry);
        }
    }

    /// The rows of a key as far as the first entry of its chain, which is there, tells: it may be the key's, or there may
    /// be none. `None` is where the next one has to be looked at, which is asked for.
    #[inline]
    pub(super) fn find_first(&self, key: Hashed<'_>) -> Option<Found> {
        let Some(first) = self.first_entry(key) else { return Some(Found::default()) };
        if let AnyBytes::Short(ShortBytes { bits, length }) = key.bytes
            && first.key == bits
            && first.length == length
        {
            return Some(self.found(first));
        }
        if let Some(next) = self.entries.get(first.next as usize) {
            prefetch(next);
        }
        None
    }

    #[inline]
    fn first_entry(&self, key: Hashed<'_>) -> Option<&Entry> {
        let &head = self.buckets.get(self.bucket(key.hash))?;
        self.entries.get(head as usize)
    }

    #[inline]
    fn rows_of(&self, at: u32) -> Found {
        self.found(&self.entries[at as usize])
    }

    #[inline]
    fn found(&self, &Entry { rows, .. }: &Entry) -> Found {
        if rows & LIST == 0 { RowId(rows).into() } else { Found::new(self.list(rows).to_vec()) }
    }

    /// Adds a row to those of a key, unless `check` has something against one of these.
    pub(super) fn insert<E: From<OutOfMemory>>(
        &mut self,
        key: Hashed<'_>,
        row: RowId,
        check: impl FnMut(RowId) -> Result<(), E>,
    ) -> Result<(), E> {
        if let Some(at) = self.position(key) {
            self.rows_of(at).iter().try_for_each(check)?;
            self.add_row(at, row);
            return Ok(());
        }
        self.make_room(
            1,
            match key.bytes {
                AnyBytes::Short(_) => 0,
                AnyBytes::Long(bytes) => bytes.length(),
            },
        )?;
        self.link_new(key, row.0);
        self.rows += 1;
        Ok(())
    }

    /// Adds a row to those of a key, for which there is room. If it has some, and NULL does not make it differ from them, they are made
    /// known to `duplicates`.
    #[inline]
    pub(super) fn link_row(&mut self, key: Hashed<'_>, row: RowId, is_apart: bool, duplicates: &mut Duplicates<'_>) {
        let Some(at) = self.position(key) else {
            self.link_new(key, row.0);
            self.rows += 1;
            return;
        };
        if !is_apart && !duplicates.are_allowed(|| (row, row)) {
            let rows = self.entries[at as usize].rows;
            if rows & LIST == 0 {
                duplicates.meet(RowId(rows), row);
            } else {
                self.list(rows).to_vec().into_iter().for_each(|other| duplicates.meet(other, row));
            }
        }
        self.add_row(at, row);
    }

    /// Removes a row of a key; says whether it was there.
    pub(super) fn remove(&mut self, key: Hashed<'_>, row: RowId) -> bool {
        let Some(at) = self.position(key) else { return false };
        let rows = self.entries[at as usize].rows;
        if rows & LIST == 0 {
            if rows != row.0 {
                return false;
            }
            self.unlink(key, at);
        } else {
            let number = (rows & !LIST) as u32;
            let list = &mut self.lists[number as usize];
            if !list.remove(row) {
                return false;
            }
            if let Some(only) = list.only() {
                self.entries[at as usize].rows = only.0;
                self.free_lists.push(number);
            }
        }
        self.rows -= 1;
        true
    }

    /// Makes room for more keys, with as many bytes of long ones.
    pub(super) fn make_room(&mut self, keys: usize, heap_bytes: usize) -> Result<(), OutOfMemory> {
        let (entries, heap) = (self.entries.len() + keys, self.heap.len() + heap_bytes);
        if entries > self.entries.capacity() {
            let capacity = entries.max(2 * self.entries.capacity()).max(BUCKETS_MIN);
            self.entries.grow(capacity, &self.pool)?;
        }
        if heap > self.heap.capacity() {
            let capacity = heap.max(2 * self.heap.capacity());
            self.reservation.grow(capacity - self.heap.capacity())?;
            self.heap.reserve_exact(capacity - self.heap.len());
        }
        let keys = self.keys + keys;
        let buckets = (keys + keys / BUCKETS_MORE).next_power_of_two().max(BUCKETS_MIN);
        if buckets > self.buckets.len() {
            self.relink(Array::filled(NONE, buckets, &self.pool)?);
        }
        Ok(())
    }

    /// Distributes all entries over another number of chains.
    fn relink(&mut self, buckets: Array<u32>) {
        let before = std::mem::replace(&mut self.buckets, buckets);
        for &head in &*before {
            let mut at = head;
            while at != NONE {
                let next = self.entries[at as usize].next;
                self.push_front(at);
                at = next;
            }
        }
    }

    fn push_front(&mut self, at: u32) {
        let bucket = self.bucket(self.hash_of(&self.entries[at as usize]));
        self.entries[at as usize].next = std::mem::replace(&mut self.buckets[bucket], at);
    }

    #[inline]
    fn bucket(&self, hash: u64) -> usize {
        hash as usize & self.buckets.len().wrapping_sub(1)
    }

    fn hash_of(&self, entry: &Entry) -> u64 {
        if entry.is_long() { (entry.key >> 64) as u64 } else { self.hashed(entry).hash }
    }

    /// The key of an entry.
    fn hashed(&self, entry: &Entry) -> Hashed<'_> {
        if entry.is_long() {
            return Hashed { hash: (entry.key >> 64) as u64, bytes: AnyBytes::Long(LongBytes(self.long(entry))) };
        }
        Hashed::new(AnyBytes::Short(ShortBytes { bits: entry.key, length: entry.length }))
    }

    fn long(&self, entry: &Entry) -> &[u8] {
        let from = entry.key as u64 as usize;
        &self.heap[from..from + entry.length as usize]
    }

    fn list(&self, rows: u64) -> &RowList {
        &self.lists[(rows & !LIST) as usize]
    }

    /// The entry of a key.
    #[inline]
    fn position(&self, key: Hashed<'_>) -> Option<u32> {
        if self.buckets.is_empty() {
            return None;
        }
        let mut at = self.buckets[self.bucket(key.hash)];
        match key.bytes {
            AnyBytes::Short(ShortBytes { bits, length }) => {
                while at != NONE {
                    let entry = &self.entries[at as usize];
                    if entry.key == bits && entry.length == length {
                        return Some(at);
                    }
                    at = entry.next;
                }
            }
            AnyBytes::Long(LongBytes(bytes)) => {
                while at != NONE {
                    let entry = &self.entries[at as usize];
                    let is_alike = entry.length as usize == bytes.len() && (entry.key >> 64) as u64 == key.hash;
                    if is_alike && self.long(entry) == bytes {
                        return Some(at);
                    }
                    at = entry.next;
                }
            }
        }
        None
    }

    /// A new entry at the head of its chain; there is room.
    fn link_new(&mut self, key: Hashed<'_>, rows: u64) {
        let (bits, length) = match key.bytes {
            AnyBytes::Short(ShortBytes { bits, length }) => (bits, length),
            AnyBytes::Long(LongBytes(bytes)) => {
                let at = self.heap.len();
                self.heap.extend_from_slice(bytes);
                (u128::from(key.hash) << 64 | at as u128, bytes.len() as u32)
            }
        };
        let bucket = self.bucket(key.hash);
        let entry = Entry { key: bits, rows, length, next: self.buckets[bucket] };
        let at = if self.free == NONE {
            self.entries.push(entry);
            (self.entries.len() - 1) as u32
        } else {
            let at = self.free;
            self.free = self.entries[at as usize].next;
            self.entries[at as usize] = entry;
            at
        };
        self.buckets[bucket] = at;
        self.keys += 1;
    }

    /// Takes an entry out of its chain.
    fn unlink(&mut self, key: Hashed<'_>, at: u32) {
        let next = self.entries[at as usize].next;
        let bucket = self.bucket(key.hash);
        if self.buckets[bucket] == at {
            self.buckets[bucket] = next;
        } else {
            let mut before = self.buckets[bucket];
            while self.entries[before as usize].next != at {
                before = self.entries[before as usize].next;
            }
            self.entries[before as usize].next = next;
        }
        let entry = &mut self.entries[at as usize];
        entry.next = std::mem::replace(&mut self.free, at);
        let length = if entry.is_long() { entry.length as usize } else { 0 };
        // Marks it as removed.
        entry.length = 0;
        self.keys -= 1;
        self.heap_dead += length;
        if self.heap_dead > self.heap.len() / 2 {
            self.compact_heap();
        }
    }

    /// Moves the bytes of long keys together.
    fn compact_heap(&mut self) {
        let mut heap = Vec::with_capacity(self.heap.capacity());
        for entry in self.entries.iter_mut().filter(|entry| entry.is_long()) {
            let from = entry.key as u64 as usize;
            let to = heap.len();
            heap.extend_from_slice(&self.heap[from..from + entry.length as usize]);
            entry.key = entry.key >> 64 << 64 | to as u128;
        }
        self.heap = heap;
        self.heap_dead = 0;
    }

    /// Adds a row to an entry.
    fn add_row(&mut self, at: u32, row: RowId) {
        let rows = self.entries[at as usize].rows;
        if rows & LIST != 0 {
            let list = &mut self.lists[(rows & !LIST) as usize];
            let before = list.len();
            list.insert(row);
            self.rows += list.len() - before;
            return;
        }
        if rows == row.0 {
            return;
        }
        let mut list = RowList::new();
        list.insert(RowId(rows));
        list.insert(row);
        let number = if let Some(number) = self.free_lists.pop() {
            self.lists[number as usize] = list;
            number
        } else {
            self.lists.push(list);
            (self.lists.len() - 1) as u32
        };
        self.entries[at as usize].rows = LIST | u64::from(number);
        self.rows += 1;
    }
}
