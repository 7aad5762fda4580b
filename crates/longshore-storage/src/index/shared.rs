//! Finds the keys that rows of an append share with each other or with rows of the index, in two steps that several threads
//! take side by side: each hashes the keys of some chunks, by parts of the range of hashes; then each sorts one part after
//! the other, so that equal keys stand together. What is found is the same for any number of threads.
//!
//! It is asked for only when an append has met a key twice: others pay nothing for it. Not here: what becomes of the rows
//! (`append/conflict.rs`).

use std::sync::Arc;

use super::bulk::on_threads;
use super::hash::hash_of;
use super::key::bulk::KeySink;
use super::key::{AnyBytes, Key, WholeKey};
use super::{Found, Index, Rows, read};
use crate::chunk::Chunk;
use crate::memory::{OutOfMemory, Reservation};
use crate::row_id::RowId;
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
    /// The number of the row.
    row: u64,
    /// Who has its key in the index. It was looked for when the key was hashed: keys of neighbours are often near each
    /// other in a tree, and those of neighbouring hashes never are.
    holder: Option<RowId>,
}

/// Some rows with the same key.
struct Same {
    key: Key,
    rows: Vec<u64>,
    holder: Option<RowId>,
}

impl SharedKeys {
    /// Adds a key that some rows have, unless it is one row's alone.
    fn add(&mut self, rows: &[u64], holder: Option<RowId>) {
        if rows.len() > 1 || holder.is_some() {
            let key = self.holders.len() as u32;
            self.holders.push(holder);
            self.rows.extend(rows.iter().map(|&row| (row, key)));
        }
    }

    /// Adds other keys.
    fn append(&mut self, other: SharedKeys) {
        let before = self.holders.len() as u32;
        self.holders.extend(other.holders);
        self.rows.extend(other.rows.into_iter().map(|(row, key)| (row, before + key)));
    }
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
        let hash = || self.hash_chunks(numbered, &next, &is_in_the_way);
        let hashed: Vec<_> = on_threads(&workers, |()| hash()).into_iter().collect::<Result<_, E>>()?;
        let next = AtomicUsize::new(0);
        let compared = on_threads(&workers, |()| {
            let mut compared = Vec::new();
            loop {
                let part = next.fetch_add(1, Ordering::Relaxed);
                if part >= PARTS {
                    return compared;
                }
                let entries = hashed.iter().flat_map(|hash| hash.parts[part].iter().copied()).collect();
                compared.push((part, self.compare(entries, numbered)));
            }
        });
        let mut parts: Vec<_> = compared.into_iter().flatten().collect();
        parts.sort_unstable_by_key(|(part, _)| *part);
        let mut shared = SharedKeys::default();
        for (_, keys) in parts {
            shared.append(keys);
        }
        shared.rows.sort_unstable();
        Ok(shared)
    }

    /// The rows that have the key of a row of a chunk; none if NULL makes it differ from all.
    pub(crate) fn find_stored(&self, chunk: &Chunk, row: usize) -> Found {
        let key = self.layout.key_of_stored(chunk, row);
        if key.is_apart() { Found::default() } else { self.find(&key) }
    }

    /// The values of a key of a row of a chunk, as they are shown in messages.
    pub(crate) fn describe_row(&self, chunk: &Chunk, row: usize) -> String {
        self.describe(&self.layout.key_of_stored(chunk, row))
    }

    fn hash_chunks<'i, E: From<OutOfMemory>, F: Fn(RowId) -> Result<bool, E>>(
        &'i self,
        numbered: Numbered<'_>,
        next: &AtomicUsize,
        is_in_the_way: &'i F,
    ) -> Result<Hash<'i, F>, E> {
        let mut sink = Hash {
            parts: vec![Vec::new(); PARTS],
            first: 0,
            reserved: Reservation::new(&self.memory),
            known: (self.rows() > 0).then_some(self),
            is_in_the_way,
        };
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(chunk) = numbered.chunks.get(at) else { return Ok(sink) };
            sink.first = numbered.firsts[at];
            sink.reserved.grow(chunk.rows() * size_of::<Entry>())?;
            self.layout.encode_chunk(&**chunk, &mut sink)?;
        }
    }

    /// The shared keys of some rows.
    fn compare(&self, mut entries: Vec<Entry>, numbered: Numbered<'_>) -> SharedKeys {
        entries.sort_unstable();
        let mut shared = SharedKeys::default();
        for alike in entries.chunk_by(|a, b| a.hash == b.hash) {
            if let [Entry { row, holder, .. }] = alike {
                shared.add(&[*row], *holder);
                continue;
            }
            let mut keys: Vec<Same> = Vec::new();
            for &Entry { row, holder, .. } in alike {
                let (chunk, at) = numbered.place(row);
                let key = self.layout.key_of_stored(&**chunk, at);
                match keys.iter_mut().find(|same| same.key == key) {
                    Some(same) => same.rows.push(row),
                    None => keys.push(Same { key, rows: vec![row], holder }),
                }
            }
            for Same { rows, holder, .. } in keys {
                shared.add(&rows, holder);
            }
        }
        shared
    }

    fn find_bytes(&self, key: AnyBytes<'_>) -> Found {
        match &*self.rows {
            Rows::Hash(table) => table.find(key),
            Rows::Art(tree) => read(tree).find(key),
        }
    }
}

/// Hashes keys, and looks for who has them.
struct Hash<'i, F> {
    parts: Vec<Vec<Entry>>,
    /// The number of the first row of the chunk.
    first: u64,
    reserved: Reservation,
    /// The index, if it has rows.
    known: Option<&'i Index>,
    is_in_the_way: &'i F,
}

impl<E: From<OutOfMemory>, F: Fn(RowId) -> Result<bool, E>> KeySink for Hash<'_, F> {
    type Error = E;

    fn take<K: WholeKey>(&mut self, row: usize, key: K, is_apart: bool) -> Result<(), E> {
        if is_apart {
            return Ok(());
        }
        let mut holder = None;
        if let Some(index) = self.known {
            for row in index.find_bytes(key.any()).iter() {
                if (self.is_in_the_way)(row)? {
                    holder = Some(row);
                }
            }
        }
        let hash = hash_of(key.any());
        let entry = Entry { hash, row: self.first + row as u64, holder };
        self.parts[(hash >> (u64::BITS - PART_BITS)) as usize].push(entry);
        Ok(())
    }
}
