//! The hash table with chaining: rows by key, in no order (*Instant Loading*, 3.6.1).
//!
//! The paper merges tables of equal size by joining their chains, bucket by bucket, on several threads. Here a table is
//! cut into [`SHARDS`] tables by the first bits of the hash; each grows on its own, so that no insertion waits for more
//! than a small part to grow, each has its own latch, and two tables are merged shard by shard on as many threads as
//! there are, whatever their sizes.
//!
//! Not here: a shard (`hash/shard.rs`), many rows at a time (`hash/build.rs`).

use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use super::array::Pool;
use super::duplicates::Duplicates;
use super::found::Found;
use super::key::{AnyBytes, Key, LongBytes, ShortBytes};
use super::{IndexRead, IndexWrite};
use crate::memory::{Memory, OutOfMemory};
use crate::row_id::RowId;
use crate::sync::RwLock;

mod build;
mod row_list;
mod shard;

pub(super) use build::Gathered;
use shard::Shard;

/// Parts of a table, each with a latch of its own.
pub(super) const SHARDS: usize = 64;
const SHARD_BITS: u32 = SHARDS.trailing_zeros();

/// Keys whose places are asked for together: about as many as a core has memory accesses under way.
const AHEAD: usize = 16;

/// Rows by key.
pub(super) struct HashTable {
    shards: Vec<Latched>,
}

/// On cache lines of its own, lest those who read one shard disturb those who read its neighbour.
#[repr(align(128))]
struct Latched(RwLock<Shard>);

/// A key of which the hash is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hashed<'k> {
    pub(super) hash: u64,
    pub(super) bytes: AnyBytes<'k>,
}

impl<'k> Hashed<'k> {
    #[inline]
    pub(super) fn new(bytes: AnyBytes<'k>) -> Hashed<'k> {
        let hash = match bytes {
            AnyBytes::Short(bytes) => hash_short(bytes),
            AnyBytes::Long(LongBytes(bytes)) => xxh3_64(bytes),
        };
        Hashed { hash, bytes }
    }

    #[inline]
    pub(super) fn shard(&self) -> usize {
        (self.hash >> (64 - SHARD_BITS)) as usize
    }
}

/// Two rounds of a multiplication folded to its middle: every bit of the key reaches every bit of the hash.
#[inline]
fn hash_short(key: ShortBytes) -> u64 {
    const ROUND_1: u64 = 0x9E37_79B9_7F4A_7C15;
    const ROUND_2: u64 = 0xD6E8_FEB8_6659_FD93;
    fn fold(a: u64, b: u64) -> u64 {
        let product = u128::from(a) * u128::from(b);
        (product >> 64) as u64 ^ product as u64
    }
    let (high, low) = ((key.bits >> 64) as u64, key.bits as u64);
    fold(fold(high ^ ROUND_2, ROUND_1) ^ low ^ u64::from(key.length), ROUND_2)
}

/// The hash of a key.
#[inline]
pub(super) fn hash_of(key: AnyBytes<'_>) -> u64 {
    Hashed::new(key).hash
}

impl HashTable {
    pub(super) fn new(memory: &Arc<Memory>) -> HashTable {
        let pool = Pool::new(memory);
        HashTable { shards: (0..SHARDS).map(|_| Latched(RwLock::new(Shard::new(memory, &pool)))).collect() }
    }

    /// The rows of a key.
    #[inline]
    pub(super) fn find(&self, key: AnyBytes<'_>) -> Found {
        self.find_hashed(Hashed::new(key))
    }

    fn find_hashed(&self, key: Hashed<'_>) -> Found {
        self.read(key.shard()).find(key)
    }

    /// Gives the rows of several keys to a closure, in their order. What they are to be found in is asked for ahead of time.
    pub(super) fn find_many(&self, keys: &[Key], mut each: impl FnMut(Found)) {
        for keys in keys.chunks(AHEAD) {
            let mut hashed = [const { None }; AHEAD];
            for (hashed, key) in hashed.iter_mut().zip(keys) {
                let key = Hashed::new(key.bytes());
                self.read(key.shard()).prefetch_bucket(key);
                *hashed = Some(key);
            }
            for &key in hashed.iter().flatten() {
                self.read(key.shard()).prefetch_entry(key);
            }
            let mut founds = [const { None }; AHEAD];
            for (found, &key) in founds.iter_mut().zip(hashed.iter().flatten()) {
                *found = self.read(key.shard()).find_first(key);
            }
            for (found, &key) in founds.into_iter().zip(hashed.iter().flatten()) {
                each(found.unwrap_or_else(|| self.find_hashed(key)));
            }
        }
    }

    /// Adds a row, unless `check` has something against one that has the key already.
    pub(super) fn insert<E: From<OutOfMemory>>(
        &self,
        key: AnyBytes<'_>,
        row: RowId,
        check: impl FnMut(RowId) -> Result<(), E>,
    ) -> Result<(), E> {
        let key = Hashed::new(key);
        self.write(key.shard()).insert(key, row, check)
    }

    /// Removes a row of a key, if it is there.
    pub(super) fn remove(&self, key: AnyBytes<'_>, row: RowId) -> bool {
        let key = Hashed::new(key);
        self.write(key.shard()).remove(key, row)
    }

    /// Removes all rows.
    pub(super) fn clear(&self, memory: &Arc<Memory>) {
        let pool = Pool::new(memory);
        for shard in 0..SHARDS {
            let before = std::mem::replace(&mut *self.write(shard), Shard::new(memory, &pool));
            // Its memory is freed without the latch.
            drop(before);
        }
    }

    /// Adds what was gathered for one shard.
    pub(super) fn link(
        &self,
        shard: usize,
        gathered: &[Gathered],
        duplicates: &mut Duplicates<'_>,
    ) -> Result<(), OutOfMemory> {
        self.write(shard).link(shard, gathered, duplicates)
    }

    /// Rows.
    pub(super) fn rows(&self) -> usize {
        (0..SHARDS).map(|shard| self.read(shard).rows()).sum()
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        (0..SHARDS).map(|shard| self.read(shard).bytes()).sum()
    }

    #[inline]
    #[track_caller]
    fn read(&self, shard: usize) -> IndexRead<'_, Shard> {
        super::read(&self.shards[shard].0)
    }

    #[track_caller]
    fn write(&self, shard: usize) -> IndexWrite<'_, Shard> {
        super::write(&self.shards[shard].0)
    }
}
