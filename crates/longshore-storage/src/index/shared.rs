//! Finds the keys that rows of an append share with each other or with rows of the index, in two steps that several threads
//! take side by side: each hashes the keys of some chunks, by parts of the range of hashes; then each sorts one part after
//! the other, so that equal keys stand together. What is found is the same for any number of threads.
//!
//! It is asked for only when an append has met a key twice: others pay nothing for it. Not here: what becomes of the rows
//! (`relation/conflict.rs`).

use std::sync::Arc;

use super::bulk::on_threads;
use super::hash::hash_of;
use super::key::bulk::KeySink;
use super::key::{AnyBytes, Key, WholeKey};
use super::{Found, Index, Rows, read};
use crate::chunk::Chunk;
use crate::datum::RowId;
use crate::error::OutOfMemory;
use crate::memory::Reservation;
use crate::sync::atomic::{AtomicUsize, Ordering};

const PART_BITS: u32 = 6;
const PARTS: usize = 1 << PART_BITS;

/// Rows of chunks with keys that other rows have, too.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SharedKeys {
    /// The rows, by their numbers among all rows of the chunks, ascending; each with the number of its key.
    pub(crate) rows: Vec<(u64, u32)>,
    /// The row that has each key in the index, if one there is in the way.
    pub(crate) holders: Vec<Option<RowId>>,
}

/// Chunks one after the other.
#[derive(Clone, Copy)]
pub(crate) struct Numbered<'a> {
    pub(crate) chunks: &'a [Arc<Chunk>],
    /// The number of the first row of each chunk, and behind them the number of rows.
    pub(crate) firsts: &'a [u64],
}

impl<'a> Numbered<'a> {
    /// The chunk of a row, and its place there.
    pub(crate) fn place(&self, row: u64) -> (&'a Arc<Chunk>, usize) {
        // Several chunks may begin with a row, if all but the last of them are empty.
        let at = self.firsts.partition_point(|&first| first <= row) - 1;
        (&self.chunks[at], (row - self.firsts[at]) as usize)
    }
}

/// The number of the first row of each chunk, and behind them the number of rows.
pub(crate) fn firsts(chunks: &[Arc<Chunk>]) -> Vec<u64> {
    let mut rows = 0;
    let mut firsts = vec![0];
    firsts.extend(chunks.iter().map(|chunk| {
        rows += chunk.rows() as u64;
        rows
    }));
    firsts
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    hash: u64,
    /// The number of the row; with the lowest bit set if the index has rows of this key.
    row: u64,
}

/// The rows of a key in order, and who has it in the index.
type Keyed = (Vec<u64>, Option<RowId>);

/// Some rows with the same key.
struct Same {
    key: Key,
    rows: Vec<u64>,
    is_known: bool,
}

impl Index {
    /// The keys of rows of the chunks that other rows of the chunks have, or rows of the index that `is_in_the_way` is
    /// true of. Keys with NULL are nobody else's.
    pub(crate) fn shared_keys<E: From<OutOfMemory> + Send>(
        &self,
        numbered: Numbered<'_>,
        threads: usize,
        is_in_the_way: impl Fn(RowId) -> Result<bool, E> + Sync,
    ) -> Result<SharedKeys, E> {
        let workers = vec![(); threads.clamp(1, numbered.chunks.len().max(1))];
        let next = AtomicUsize::new(0);
        let hashed: Vec<Hash<'_>> =
            on_threads(&workers, |()| self.hash_chunks(numbered, &next)).into_iter().collect::<Result<_, _>>()?;
        let next = AtomicUsize::new(0);
        let compared = on_threads(&workers, |()| {
            let mut compared = Vec::new();
            loop {
                let part = next.fetch_add(1, Ordering::Relaxed);
                if part >= PARTS {
                    return Ok(compared);
                }
                let entries = hashed.iter().flat_map(|hash| hash.parts[part].iter().copied()).collect();
                compared.push((part, self.compare(entries, numbered, &is_in_the_way)?));
            }
        });
        let compared: Vec<Vec<_>> = compared.into_iter().collect::<Result<_, E>>()?;
        let mut parts: Vec<_> = compared.into_iter().flatten().collect();
        parts.sort_unstable_by_key(|(part, _)| *part);
        let mut shared = SharedKeys::default();
        for (rows, holder) in parts.into_iter().flat_map(|(_, keys)| keys) {
            let key = shared.holders.len() as u32;
            shared.holders.push(holder);
            shared.rows.extend(rows.into_iter().map(|row| (row, key)));
        }
        shared.rows.sort_unstable();
        Ok(shared)
    }

    /// The rows that have the key of a row of a chunk; none if NULL is part of it.
    pub(crate) fn find_stored(&self, chunk: &Chunk, row: usize) -> Found {
        let key = self.layout.key_of_stored(chunk, row);
        if key.has_null() { Found::default() } else { self.find(&key) }
    }

    /// The values of a key of a row of a chunk, as they are shown in messages.
    pub(crate) fn describe_row(&self, chunk: &Chunk, row: usize) -> String {
        self.describe(&self.layout.key_of_stored(chunk, row))
    }

    fn hash_chunks<'i>(&'i self, numbered: Numbered<'_>, next: &AtomicUsize) -> Result<Hash<'i>, OutOfMemory> {
        let mut sink = Hash {
            parts: vec![Vec::new(); PARTS],
            first: 0,
            reserved: Reservation::new(&self.memory),
            known: (self.rows() > 0).then_some(self),
        };
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(chunk) = numbered.chunks.get(at) else { return Ok(sink) };
            sink.first = numbered.firsts[at];
            sink.reserved.grow(chunk.rows() * size_of::<Entry>())?;
            self.layout.encode_chunk(&**chunk, &mut sink)?;
        }
    }

    /// The shared keys of some rows: the rows of each in order, and who has it in the index.
    fn compare<E>(
        &self,
        mut entries: Vec<Entry>,
        numbered: Numbered<'_>,
        is_in_the_way: &impl Fn(RowId) -> Result<bool, E>,
    ) -> Result<Vec<Keyed>, E> {
        entries.sort_unstable();
        let mut shared = Vec::new();
        for alike in entries.chunk_by(|a, b| a.hash == b.hash) {
            if alike.len() == 1 && alike[0].row & 1 == 0 {
                continue;
            }
            let mut keys: Vec<Same> = Vec::new();
            for entry in alike {
                let (row, is_known) = (entry.row >> 1, entry.row & 1 == 1);
                let (chunk, at) = numbered.place(row);
                let key = self.layout.key_of_stored(&**chunk, at);
                match keys.iter_mut().find(|same| same.key == key) {
                    Some(same) => same.rows.push(row),
                    None => keys.push(Same { key, rows: vec![row], is_known }),
                }
            }
            for Same { key, rows, is_known } in keys {
                let mut holder = None;
                if is_known {
                    for row in self.find(&key).iter() {
                        if is_in_the_way(row)? {
                            holder = Some(row);
                        }
                    }
                }
                if rows.len() > 1 || holder.is_some() {
                    shared.push((rows, holder));
                }
            }
        }
        Ok(shared)
    }

    fn find_bytes(&self, key: AnyBytes<'_>) -> Found {
        match &*self.rows {
            Rows::Hash(table) => table.find(key),
            Rows::Art(tree) => read(tree).find(key),
        }
    }
}

/// Hashes keys.
struct Hash<'i> {
    parts: Vec<Vec<Entry>>,
    /// The number of the first row of the chunk.
    first: u64,
    reserved: Reservation,
    /// The index, if it has rows.
    known: Option<&'i Index>,
}

impl KeySink for Hash<'_> {
    type Error = OutOfMemory;

    fn take<K: WholeKey>(&mut self, row: usize, key: K, has_null: bool) -> Result<(), OutOfMemory> {
        if !has_null {
            let hash = hash_of(key.any());
            let is_known = self.known.is_some_and(|index| !index.find_bytes(key.any()).is_empty());
            let row = (self.first + row as u64) << 1 | u64::from(is_known);
            self.parts[(hash >> (u64::BITS - PART_BITS)) as usize].push(Entry { hash, row });
        }
        Ok(())
    }
}
