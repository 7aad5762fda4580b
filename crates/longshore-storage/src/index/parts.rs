//! Builds an index beside a load: every chunk that is ready is indexed by the thread that has it, while others are still
//! being filled (*Instant Loading*, 3.6: each task maintains the index of its partition, merged with the relation).
//!
//! Until the load commits, nobody knows the numbers that its chunks will have in the relation. So each chunk has one that
//! is likely, and where that was wrong rows are renumbered in the end. What is told of duplicates is in the order of the
//! load: where the numbers were not, duplicates are looked for again. There are as many parts as threads were at work at once, not one per chunk: a thread goes on with a
//! part that is idle, so that in the end few are to be merged.
//!
//! Not here: when chunks are ready, and what becomes of them (`append.rs`).

use std::sync::{Arc, PoisonError};

use super::art::{Builder, Tree};
use super::bulk::{Build, BulkError, ChunkRules, Gather, Source, on_threads};
use super::duplicates::Rules;
use super::hash::Gathered;
use super::{Index, Rows, read};
use crate::chunk::Chunk;
use crate::memory::OutOfMemory;
use crate::row_id::RowId;
use crate::sync::{Mutex, MutexGuard};

/// The rows of a load that are to be added to an index.
pub struct IndexParts {
    index: Arc<Index>,
    idle: Mutex<Vec<Part>>,
}

/// What one thread after the other adds to.
enum Part {
    Hash(Gathered),
    Art(Box<Builder<'static>>),
}

/// The rows of a part by themselves: all of them are new, and keys with NULL are not compared.
struct Loaded;

impl Rules for Loaded {
    fn is_new(&self, _: RowId) -> bool {
        true
    }

    fn is_apart(&self, _: RowId) -> bool {
        false
    }

    fn is_in_the_way(&self, _: RowId) -> bool {
        false
    }
}

impl IndexParts {
    /// Nothing yet.
    #[must_use]
    pub fn new(index: &Arc<Index>) -> IndexParts {
        IndexParts { index: Arc::clone(index), idle: Mutex::default() }
    }

    /// The index.
    #[must_use]
    pub fn index(&self) -> &Arc<Index> {
        &self.index
    }

    /// Takes in the rows of a chunk. `number` is one that no other has, best the one that it will have in the relation.
    /// Threads may call this side by side.
    ///
    /// # Errors
    ///
    /// When memory runs out.
    pub fn add(&self, number: u32, chunk: &Chunk) -> Result<(), OutOfMemory> {
        let idle = self.idle().pop();
        let mut part = idle.unwrap_or_else(|| self.new_part());
        let source = Some(Source { number: number as usize, chunk, rows: None });
        let layout = &self.index.layout;
        let added = match part {
            Part::Hash(gathered) => {
                let mut sink = Gather { gathered, source };
                let added = layout.encode_chunk(chunk, &mut sink);
                part = Part::Hash(sink.gathered);
                added
            }
            Part::Art(builder) => {
                let mut sink = Build { builder: *builder, source };
                let added = layout.encode_chunk(chunk, &mut sink);
                part = Part::Art(Box::new(sink.builder));
                added
            }
        };
        self.idle().push(part);
        added
    }

    /// Whether two rows are known to have the same key, which must be unique. That none are known says nothing.
    #[must_use]
    pub fn has_duplicates(&self) -> bool {
        self.idle().iter().any(|part| matches!(part, Part::Art(builder) if builder.has_duplicates()))
    }

    /// Adds the rows of all chunks to the index. `sources` are these chunks with the numbers that they have now, in the
    /// order of the load; `numbers` are those that they were added by.
    ///
    /// # Errors
    ///
    /// As [`Index::insert_chunks`]. Then no row is added.
    ///
    /// # Panics
    ///
    /// When a chunk that was added is missing.
    pub fn finish(
        self,
        sources: &[Source<'_>],
        numbers: &[u32],
        threads: usize,
        is_in_the_way: impl Fn(RowId) -> bool + Sync,
    ) -> Result<(), BulkError> {
        if !numbers.is_sorted() && self.has_duplicates() {
            // Not the first ones, maybe.
            return self.index.insert_chunks(sources, threads, is_in_the_way);
        }
        let IndexParts { index, idle } = self;
        let rules = ChunkRules { index: &index, sources, is_in_the_way };
        let duplicates = index.duplicates(&rules);
        let mut places: Vec<(u32, usize)> = numbers.iter().copied().zip(0..).collect();
        places.sort_unstable();
        // Chunks follow each other for long, so the last one is looked at first.
        let renumber = |last: &mut (u32, usize), row: RowId| {
            let number = row.chunk() as u32;
            if last.0 != number || sources.get(last.1).is_none() {
                let at = places.binary_search_by_key(&number, |place| place.0).expect("a chunk that was added");
                *last = places[at];
            }
            RowId::new(sources[last.1].number, row.row())
        };
        let are_in_place = numbers.iter().zip(sources).all(|(number, source)| *number as usize == source.number);
        let parts: Vec<Mutex<Option<Part>>> = idle
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
            .into_iter()
            .map(|part| Mutex::new(Some(part)))
            .collect();
        // As many threads as there were parts: each renumbers one.
        let parts = on_threads(&parts, |part| {
            let mut last = (0, usize::MAX);
            match part.lock().unwrap_or_else(PoisonError::into_inner).take() {
                Some(Part::Hash(mut gathered)) => {
                    if !are_in_place {
                        gathered.renumber(|row| renumber(&mut last, row));
                    }
                    Renumbered::Hash(gathered)
                }
                Some(Part::Art(builder)) => {
                    let (mut tree, found) = builder.finish();
                    if !are_in_place {
                        tree.renumber(|row| renumber(&mut last, row));
                    }
                    let mut pair = |(first, second)| (renumber(&mut last, first), renumber(&mut last, second));
                    Renumbered::Art(tree, found.least().map(&mut pair))
                }
                None => Renumbered::Nothing,
            }
        });
        let (mut tables, mut trees) = (Vec::new(), Vec::new());
        for part in parts {
            match part {
                Renumbered::Hash(gathered) => tables.push(gathered),
                Renumbered::Art(tree, least) => trees.push((tree, least)),
                Renumbered::Nothing => {}
            }
        }
        match &*index.rows {
            Rows::Hash(table) => index.link(table, sources, &tables, threads, duplicates),
            Rows::Art(tree) => index.merge_trees(tree, sources, trees, threads, duplicates),
        }
    }

    fn new_part(&self) -> Part {
        match &*self.index.rows {
            Rows::Hash(_) => Part::Hash(Gathered::new(&self.index.memory)),
            Rows::Art(tree) => Part::Art(Box::new(Builder::new(read(tree).sibling(), self.index.duplicates(&Loaded)))),
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Part>> {
        // Parts are put back whole.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum Renumbered {
    Hash(Gathered),
    Art(Tree, Option<(RowId, RowId)>),
    Nothing,
}

impl std::fmt::Debug for IndexParts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IndexParts").field("index", &self.index).finish_non_exhaustive()
    }
}
