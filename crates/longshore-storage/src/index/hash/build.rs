//! Builds tables from many rows at a time, in two steps that several threads take side by side: each gathers the keys of
//! some rows by shard; then each links the entries of one shard after the other, in the order of rows.
//!
//! What is gathered is the paper's table of a partition, but for its chains: these are made once, for all partitions
//! together, while the chain heads of the shard are in the cache.

use super::shard::Shard;
use super::{Hashed, SHARDS};
use crate::datum::RowId;
use crate::error::OutOfMemory;
use crate::index::duplicates::Duplicates;
use crate::index::key::{AnyBytes, KeyBytes, LongBytes, ShortBytes};

/// Rows and their keys, by shard.
pub(in crate::index) struct Gathered {
    shards: Vec<Share>,
}

#[derive(Default)]
struct Share {
    entries: Vec<Entry>,
    /// The bytes of long keys.
    heap: Vec<u8>,
}

struct Entry {
    /// The key; of a long one its hash in the high half, and where its bytes are in the low half.
    key: u128,
    row: RowId,
    length: u32,
    form: Form,
}

#[derive(Clone, Copy, PartialEq)]
struct Form {
    is_long: bool,
    has_null: bool,
}

impl Gathered {
    pub(in crate::index) fn new() -> Gathered {
        Gathered { shards: (0..SHARDS).map(|_| Share::default()).collect() }
    }

    /// Gives every row another number.
    pub(in crate::index) fn renumber(&mut self, mut number: impl FnMut(RowId) -> RowId) {
        for entry in self.shards.iter_mut().flat_map(|share| &mut share.entries) {
            entry.row = number(entry.row);
        }
    }

    /// Adds a short key.
    #[inline]
    pub(in crate::index) fn push_short(&mut self, key: ShortBytes, row: RowId, has_null: bool) {
        let hashed = Hashed::new(AnyBytes::Short(key));
        let form = Form { is_long: false, has_null };
        self.shards[hashed.shard()].entries.push(Entry { key: key.bits, row, length: key.length, form });
    }

    /// Adds a long key.
    pub(in crate::index) fn push_long(&mut self, key: LongBytes<'_>, row: RowId, has_null: bool) {
        let hashed = Hashed::new(AnyBytes::Long(key));
        let share = &mut self.shards[hashed.shard()];
        let bits = u128::from(hashed.hash) << 64 | share.heap.len() as u128;
        share.heap.extend_from_slice(key.0);
        let form = Form { is_long: true, has_null };
        share.entries.push(Entry { key: bits, row, length: key.length() as u32, form });
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
        let keys = shares().map(|share| share.entries.len()).sum();
        self.make_room(keys, shares().map(|share| share.heap.len()).sum())?;
        for share in shares() {
            for entry in &share.entries {
                let key = if entry.form.is_long {
                    let from = entry.key as u64 as usize;
                    let bytes = AnyBytes::Long(LongBytes(&share.heap[from..from + entry.length as usize]));
                    Hashed { hash: (entry.key >> 64) as u64, bytes }
                } else {
                    Hashed::new(AnyBytes::Short(ShortBytes { bits: entry.key, length: entry.length }))
                };
                self.link_row(key, entry.row, entry.form.has_null, duplicates);
            }
        }
        Ok(())
    }
}
