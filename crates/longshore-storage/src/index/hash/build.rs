//! Builds tables from many rows at a time, in two steps that several threads take side by side: each gathers the keys of
//! some rows by shard; then each links the entries of one shard after the other, in the order of rows.
//!
//! What is gathered is the paper's table of a partition, but for its chains: these are made once, for all partitions
//! together, while the chain heads of the shard are in the cache.

use std::sync::Arc;

use super::shard::Shard;
use super::{Hashed, SHARDS};
use crate::arena::Plain;
use crate::index::array::{Array, Pool};
use crate::index::duplicates::Duplicates;
use crate::index::key::{AnyBytes, LongBytes, ShortBytes};
use crate::memory::{Memory, OutOfMemory};
use crate::row_id::RowId;

/// Entries that are gathered in one piece of memory.
const PIECE_ENTRIES: usize = 1024;

/// Rows and their keys, by shard.
pub(in crate::index) struct Gathered {
    shards: Vec<Share>,
    pool: Pool,
}

#[derive(Default)]
struct Share {
    /// All but the last one are full.
    pieces: Vec<Array<Entry>>,
    /// The bytes of long keys.
    heap: Vec<u8>,
}

#[derive(Clone, Copy)]
struct Entry {
    /// The key; of a long one its hash in the high half, and where its bytes are in the low half.
    key: u128,
    row: u64,
    length: u32,
    /// Whether the key is long, and whether NULL is part of it.
    form: u32,
}
const _: () = assert!(size_of::<Entry>() == 32);

impl Plain for Entry {}

const IS_LONG: u32 = 1;
const IS_APART: u32 = 2;

impl Share {
    #[inline]
    fn push(&mut self, entry: Entry, pool: &Pool) -> Result<(), OutOfMemory> {
        if self.pieces.last().is_none_or(|piece| piece.len() == PIECE_ENTRIES) {
            self.pieces.push(Array::with_capacity(PIECE_ENTRIES, pool)?);
        }
        if let Some(piece) = self.pieces.last_mut() {
            piece.push(entry);
        }
        Ok(())
    }
}

impl Gathered {
    pub(in crate::index) fn new(memory: &Arc<Memory>) -> Gathered {
        Gathered { shards: (0..SHARDS).map(|_| Share::default()).collect(), pool: Pool::new(memory) }
    }

    /// Gives every row another number.
    pub(in crate::index) fn renumber(&mut self, mut number: impl FnMut(RowId) -> RowId) {
        for entry in self.shards.iter_mut().flat_map(|share| &mut share.pieces).flat_map(|piece| &mut **piece) {
            entry.row = number(RowId(entry.row)).0;
        }
    }

    /// Adds a row and its key.
    #[inline]
    pub(in crate::index) fn push(&mut self, key: AnyBytes<'_>, row: RowId, is_apart: bool) -> Result<(), OutOfMemory> {
        let hashed = Hashed::new(key);
        let share = &mut self.shards[hashed.shard()];
        let apart = if is_apart { IS_APART } else { 0 };
        let entry = match key {
            AnyBytes::Short(key) => Entry { key: key.bits, row: row.0, length: key.length, form: apart },
            AnyBytes::Long(LongBytes(bytes)) => {
                let key = u128::from(hashed.hash) << 64 | share.heap.len() as u128;
                share.heap.extend_from_slice(bytes);
                Entry { key, row: row.0, length: bytes.len() as u32, form: IS_LONG | apart }
            }
        };
        share.push(entry, &self.pool)
    }
}

impl Shard {
    /// Adds what was gathered for this shard, by several and in their order.
    pub(in crate::index) fn link(
        &mut self,
        number: usize,
        gathered: &[Gathered],
        duplicates: &mut Duplicates<'_>,
    ) -> Result<(), OutOfMemory> {
        let shares = || gathered.iter().map(|gathered| &gathered.shards[number]);
        let keys = shares().flat_map(|share| &share.pieces).map(|piece| piece.len()).sum();
        self.make_room(keys, shares().map(|share| share.heap.len()).sum())?;
        for share in shares() {
            for entry in share.pieces.iter().flat_map(|piece| &**piece) {
                let key = if entry.form & IS_LONG != 0 {
                    let from = entry.key as u64 as usize;
                    let bytes = AnyBytes::Long(LongBytes(&share.heap[from..from + entry.length as usize]));
                    Hashed { hash: (entry.key >> 64) as u64, bytes }
                } else {
                    Hashed::new(AnyBytes::Short(ShortBytes { bits: entry.key, length: entry.length }))
                };
                self.link_row(key, RowId(entry.row), entry.form & IS_APART != 0, duplicates);
            }
        }
        Ok(())
    }
}
