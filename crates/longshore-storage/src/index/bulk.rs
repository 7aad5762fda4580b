//! Adds the rows of whole chunks to an index: all of them, or none if two have the same key and must not.

use std::convert::Infallible;
use std::fmt;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_buffer::BooleanBuffer;

use super::art::{Builder, RUN_KEYS_MAX, Run, Tree};
use super::duplicates::{Duplicates, Rules};
use super::hash::{Gathered, HashTable, SHARDS};
use super::key::bulk::{BLOCK_KEYS, KeySink};
use super::key::{AnyBytes, ShortBytes, WholeKey};
use super::{Index, Rows, Uniqueness, read, write};
use crate::chunk::Chunk;
use crate::memory::OutOfMemory;
use crate::row_id::RowId;
use crate::sync::{RwLock, thread};

// Of a block, only its last run waits for more keys, so that each run is seen as a whole once.
const _: () = assert!(RUN_KEYS_MAX < BLOCK_KEYS);

/// A chunk whose rows are to be indexed. Several are given in the order of their numbers.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Its number in the relation.
    pub number: usize,
    /// Its rows.
    pub chunk: &'a Chunk,
    /// Which of them are meant; `None` is all.
    pub rows: Option<&'a BooleanBuffer>,
}

/// Says whether work is wanted no more.
pub(crate) type IsCancelled<'a> = &'a (dyn Fn() -> bool + Sync);

/// Why the rows of chunks cannot be indexed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BulkError {
    /// Two rows have the same key, which must be unique.
    Duplicate {
        /// The index.
        index: String,
        /// The key's values, for instance `(1, 'two')`.
        key: String,
        /// The row that had the key before: of the index, or the first one of the chunks.
        first: RowId,
        /// The first row of the chunks, in their order, that has a key which a row before it has.
        second: RowId,
    },
    /// Memory ran out.
    OutOfMemory(OutOfMemory),
    /// The caller wants it no more.
    Cancelled,
}

impl fmt::Display for BulkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BulkError::Duplicate { index, key, .. } => {
                write!(f, "index {index}: two rows have the key {key}, which must be unique; remove one of them")
            }
            BulkError::OutOfMemory(error) => error.fmt(f),
            BulkError::Cancelled => f.write_str("the index is not wanted any more"),
        }
    }
}

impl std::error::Error for BulkError {}

impl From<OutOfMemory> for BulkError {
    fn from(error: OutOfMemory) -> BulkError {
        BulkError::OutOfMemory(error)
    }
}

impl Index {
    /// Adds the rows of chunks on several threads. The chunks' numbers ascend, and none of their rows is in the index
    /// yet. Of a unique index, `is_in_the_way` is asked of rows that were in it before and have the key of a new one,
    /// under the latch.
    ///
    /// # Errors
    ///
    /// When two rows of the chunks have the same unique key, or one has the key of a row that is in the way, or memory
    /// runs out. Then no row is added.
    pub fn insert_chunks(
        &self,
        sources: &[Source<'_>],
        threads: usize,
        is_in_the_way: impl Fn(RowId) -> bool + Sync,
    ) -> Result<(), BulkError> {
        self.insert_chunks_unless(sources, threads, is_in_the_way, &|| false)
    }

    /// As [`Index::insert_chunks`], unless `is_cancelled`, which is asked chunk by chunk until the first row enters.
    pub(crate) fn insert_chunks_unless(
        &self,
        sources: &[Source<'_>],
        threads: usize,
        is_in_the_way: impl Fn(RowId) -> bool + Sync,
        is_cancelled: IsCancelled<'_>,
    ) -> Result<(), BulkError> {
        let rules = ChunkRules { index: self, sources, is_in_the_way };
        let duplicates = self.duplicates(&rules);
        let groups = groups(sources, threads);
        match &*self.rows {
            Rows::Hash(table) => self.insert_into_table(table, sources, &groups, threads, duplicates, is_cancelled),
            Rows::Art(tree) => self.insert_into_tree(tree, sources, &groups, threads, duplicates, is_cancelled),
        }
    }

    /// Removes the rows of chunks, as far as they are there.
    pub fn remove_chunks(&self, sources: &[Source<'_>]) {
        for source in sources {
            let mut remove = |row: usize, key: AnyBytes<'_>, _: bool| -> Result<(), Infallible> {
                self.remove_bytes(key, RowId::new(source.number, row));
                Ok(())
            };
            let Ok(()) = self.layout.encode_chunk(source.chunk, &mut Each(&mut remove));
        }
    }

    fn insert_into_table(
        &self,
        table: &HashTable,
        sources: &[Source<'_>],
        groups: &[&[Source<'_>]],
        threads: usize,
        duplicates: Duplicates<'_>,
        is_cancelled: IsCancelled<'_>,
    ) -> Result<(), BulkError> {
        let gather = |group: &[Source<'_>]| {
            let mut sink = Gather { gathered: Gathered::new(&self.memory), source: None };
            for source in group {
                if is_cancelled() {
                    return Err(BulkError::Cancelled);
                }
                sink.source = Some(*source);
                self.layout.encode_chunk(source.chunk, &mut sink)?;
            }
            Ok::<_, BulkError>(sink.gathered)
        };
        let gathered: Vec<_> = on_threads(groups, |group| gather(group)).into_iter().collect::<Result<_, _>>()?;
        self.link(table, sources, &gathered, threads, duplicates)
    }

    /// Links what was gathered into a table, or nothing of it.
    pub(super) fn link(
        &self,
        table: &HashTable,
        sources: &[Source<'_>],
        gathered: &[Gathered],
        threads: usize,
        duplicates: Duplicates<'_>,
    ) -> Result<(), BulkError> {
        let next = AtomicUsize::new(0);
        let link = || {
            let mut duplicates = duplicates;
            let mut result = Ok(());
            while result.is_ok() {
                let shard = next.fetch_add(1, Ordering::Relaxed);
                if shard >= SHARDS {
                    break;
                }
                result = table.link(shard, gathered, &mut duplicates);
            }
            result.map(|()| duplicates.least())
        };
        let workers: Vec<()> = vec![(); gathered.len().min(threads).max(1)];
        let linked: Result<Vec<_>, OutOfMemory> = on_threads(&workers, |()| link()).into_iter().collect();
        let mut all = duplicates;
        let result = linked.map_err(BulkError::from).and_then(|found| {
            found.into_iter().flatten().for_each(|(first, second)| all.take(first, second));
            self.refuse(sources, all)
        });
        if result.is_err() {
            self.remove_chunks(sources);
        }
        result
    }

    fn insert_into_tree(
        &self,
        tree: &RwLock<Tree>,
        sources: &[Source<'_>],
        groups: &[&[Source<'_>]],
        threads: usize,
        duplicates: Duplicates<'_>,
        is_cancelled: IsCancelled<'_>,
    ) -> Result<(), BulkError> {
        let build = |group: &&[Source<'_>]| {
            let mut sink = Build { builder: Builder::new(read(tree).sibling(), duplicates), source: None };
            for source in *group {
                if is_cancelled() {
                    return Err(BulkError::Cancelled);
                }
                sink.source = Some(*source);
                self.layout.encode_chunk(source.chunk, &mut sink)?;
            }
            let (part, found) = sink.builder.finish();
            Ok::<_, BulkError>((part, found.least()))
        };
        let parts: Vec<_> = on_threads(groups, build).into_iter().collect::<Result<_, _>>()?;
        self.merge_trees(tree, sources, parts, threads, duplicates)
    }

    /// Merges siblings of a tree into it, or none of them; with each comes what it knows of duplicates.
    pub(super) fn merge_trees(
        &self,
        tree: &RwLock<Tree>,
        sources: &[Source<'_>],
        parts: Vec<(Tree, Option<(RowId, RowId)>)>,
        threads: usize,
        mut duplicates: Duplicates<'_>,
    ) -> Result<(), BulkError> {
        let mut all = read(tree).sibling();
        for (part, least) in parts {
            if let Some((first, second)) = least {
                duplicates.take(first, second);
            }
            all.merge(part, threads, &mut duplicates);
        }
        // Even if there are duplicates among them: an earlier one may have the key of a row that was there before.
        let mut latched = write(tree);
        if latched.rows() == 0 && duplicates.least().is_some() {
            return self.refuse(sources, duplicates);
        }
        latched.merge(all, threads, &mut duplicates);
        let result = self.refuse(sources, duplicates);
        drop(latched);
        if result.is_err() {
            self.remove_chunks(sources);
        }
        result
    }

    /// What is to be found out about rows with the same key.
    pub(super) fn duplicates<'d>(&self, rules: &'d dyn Rules) -> Duplicates<'d> {
        match self.uniqueness {
            Uniqueness::Unique | Uniqueness::UniqueNulls => Duplicates::by(rules),
            Uniqueness::Multiple => Duplicates::ignored(),
        }
    }

    /// An error if a row has the key of another one.
    fn refuse(&self, sources: &[Source<'_>], duplicates: Duplicates<'_>) -> Result<(), BulkError> {
        let Some((first, second)) = duplicates.least() else { return Ok(()) };
        let source = source_of(sources, second).expect("the second row is a new one");
        let key = self.layout.key_of_stored(source.chunk, second.row());
        Err(BulkError::Duplicate { index: self.name.clone(), key: self.describe(&key), first, second })
    }
}

/// The chunk of a row.
fn source_of<'s>(sources: &[Source<'s>], row: RowId) -> Option<Source<'s>> {
    let at = sources.binary_search_by_key(&row.chunk(), |source| source.number).ok()?;
    Some(sources[at])
}

/// Cuts the chunks into as many groups as there are threads, of about as many rows each.
fn groups<'g, 's>(sources: &'g [Source<'s>], threads: usize) -> Vec<&'g [Source<'s>]> {
    let rows: usize = sources.iter().map(|source| source.chunk.rows()).sum();
    let rows_per_group = rows.div_ceil(threads.max(1)).max(1);
    let (mut groups, mut from, mut rows) = (Vec::new(), 0, 0);
    for (at, source) in sources.iter().enumerate() {
        rows += source.chunk.rows();
        if rows >= rows_per_group || at + 1 == sources.len() {
            groups.push(&sources[from..=at]);
            (from, rows) = (at + 1, 0);
        }
    }
    groups
}

/// Does something with each of some things, each on a thread of its own, the last one on this one.
pub(super) fn on_threads<T: Sync, R: Send>(things: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let Some((last, others)) = things.split_last() else { return Vec::new() };
    let work = &work;
    thread::scope(|scope| {
        let handles: Vec<_> = others.iter().map(|thing| scope.spawn(move || work(thing))).collect();
        let last = work(last);
        let joined = handles.into_iter().map(|handle| handle.join().unwrap_or_else(|panic| resume_unwind(panic)));
        let mut results: Vec<R> = joined.collect();
        results.push(last);
        results
    })
}

/// What is known of the rows of chunks.
pub(super) struct ChunkRules<'a, F> {
    pub(super) index: &'a Index,
    pub(super) sources: &'a [Source<'a>],
    pub(super) is_in_the_way: F,
}

impl<F: Fn(RowId) -> bool + Sync> Rules for ChunkRules<'_, F> {
    fn is_new(&self, row: RowId) -> bool {
        source_of(self.sources, row).is_some()
    }

    fn is_apart(&self, new: RowId) -> bool {
        source_of(self.sources, new).is_some_and(|source| self.index.layout.is_apart(source.chunk, new.row()))
    }

    fn is_in_the_way(&self, old: RowId) -> bool {
        (self.is_in_the_way)(old)
    }
}

impl Source<'_> {
    /// The id of a row, if it is meant.
    #[inline]
    fn id(&self, row: usize) -> Option<RowId> {
        self.rows.is_none_or(|rows| rows.value(row)).then(|| RowId::new(self.number, row))
    }
}

/// Gathers keys for a hash table.
pub(super) struct Gather<'s> {
    pub(super) gathered: Gathered,
    pub(super) source: Option<Source<'s>>,
}

impl KeySink for Gather<'_> {
    type Error = OutOfMemory;

    #[inline]
    fn take<K: WholeKey>(&mut self, row: usize, key: K, is_apart: bool) -> Result<(), OutOfMemory> {
        match self.source.and_then(|source| source.id(row)) {
            Some(id) => self.gathered.push(key.any(), id, is_apart),
            None => Ok(()),
        }
    }
}

/// Builds a tree.
pub(super) struct Build<'s, 'd> {
    pub(super) builder: Builder<'d>,
    pub(super) source: Option<Source<'s>>,
}

impl KeySink for Build<'_, '_> {
    type Error = OutOfMemory;

    #[inline]
    fn take<K: WholeKey>(&mut self, row: usize, key: K, is_apart: bool) -> Result<(), OutOfMemory> {
        match self.source.and_then(|source| source.id(row)) {
            Some(id) => self.builder.push(key, id, is_apart),
            None => Ok(()),
        }
    }

    fn take_block(&mut self, row: usize, keys: &[u128], length: u32, is_last: bool) -> Result<usize, OutOfMemory> {
        let Some(source) = self.source.filter(|source| source.rows.is_none()) else {
            for (at, &bits) in keys.iter().enumerate() {
                self.take(row + at, ShortBytes { bits, length }, false)?;
            }
            return Ok(keys.len());
        };
        let mut taken = 0;
        while taken < keys.len() {
            let run = Run::at_start_of(&keys[taken..], length, RowId::new(source.number, row + taken));
            if taken + run.len() == keys.len() && taken > 0 && !is_last {
                // It may go on.
                break;
            }
            taken += run.len();
            self.builder.push_run(run)?;
        }
        Ok(taken)
    }
}

/// Does something with each key.
struct Each<F>(F);

impl<E, F: FnMut(usize, AnyBytes<'_>, bool) -> Result<(), E>> KeySink for Each<F> {
    type Error = E;

    fn take<K: WholeKey>(&mut self, row: usize, key: K, is_apart: bool) -> Result<(), E> {
        (self.0)(row, key.any(), is_apart)
    }
}
