//! Does the records of a log again: puts rows where they were, in relations that begin empty or as a checkpoint left them.
//!
//! Definitions. A relation that is *restored* is a list of slots that nobody else knows. Its places are those of the rows'
//! ids; what no record names of them is dead. In the end it becomes a relation in which all rows were always there.
//!
//! Invariants.
//! 1. Items of one relation are done in the order of the log, by one thread at a time; those of several side by side. That
//!    suffices, because an item is about one relation.
//! 2. Bytes from a log become values only after they were checked as those of a transaction are. Whatever they say, the
//!    worst that happens is an error.
//! 3. Indexes are built afterwards, when all rows are there ([`Relation::create_index`]).
//!
//! Not here: what an item does to a relation (`replay/restored.rs`), where records come from.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, PoisonError};

use super::error::{ReplayError, ReplayProblem};
use super::item::{ItemKind, next_item};
use super::wire::Reader;
use crate::block_ref::BlockRef;
use crate::chunk::hot::HotChunk;
use crate::log::Lsn;
use crate::manager::Transactions;
use crate::memory::Memory;
use crate::relation::Relation;
use crate::sync::brief::Mutex;
use crate::table::RelationId;
use crate::threads::in_threads;
use crate::types::Schema;

mod alter;
mod restored;

use restored::{Problem, Restored};

/// Takes the payloads of records, in their order.
pub type Payloads<'a> = &'a mut dyn FnMut(Lsn, &[u8]);

/// What records had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// Changes of rows; a packed chunk has as many as rows.
    pub changes: u64,
    /// Bytes of the after-images as they are in memory: of a row its id (8), of a value its stored width or the bytes of
    /// its text, and its column's number (2) if it was changed alone.
    pub image_bytes: u64,
}

impl Replayed {
    /// Adds what others had.
    pub fn add(&mut self, other: Replayed) {
        self.changes += other.changes;
        self.image_bytes += other.image_bytes;
    }
}

/// Reads chunks that records name.
pub(crate) trait BlockSource: fmt::Debug + Send + Sync {
    /// The slot of a chunk that a record names which ends at a position.
    fn read(&self, block: &BlockRef, schema: &Arc<Schema>, lsn: Lsn) -> Result<HotChunk, ReplayProblem>;
}

/// A database on its way back from its log.
#[derive(Debug)]
pub struct Replay {
    transactions: Arc<Transactions>,
    memory: Arc<Memory>,
    relations: BTreeMap<RelationId, Restored>,
    blocks: Option<Arc<dyn BlockSource>>,
    /// Chunks may be missing.
    salvages: bool,
}

/// The items of one relation, and the relation, which may not be there yet or any more.
struct Work<'a> {
    id: RelationId,
    relation: Option<Restored>,
    items: Vec<(Lsn, ItemKind, Reader<'a>)>,
    /// Bytes of all items.
    bytes: usize,
    salvages: bool,
}

impl Replay {
    /// Of a database without relations.
    #[must_use]
    pub fn new(transactions: &Arc<Transactions>, memory: &Arc<Memory>) -> Replay {
        Replay {
            transactions: Arc::clone(transactions),
            memory: Arc::clone(memory),
            relations: BTreeMap::new(),
            blocks: None,
            salvages: false,
        }
    }

    /// Takes in a relation as a checkpoint had it, with the number that the log knows it by. It loses its rows: what is
    /// made of them comes back by [`Replay::finish`].
    ///
    /// # Errors
    ///
    /// When somebody works on it, or there is one of the number.
    pub fn add(&mut self, id: RelationId, relation: &Relation) -> Result<(), ReplayError> {
        let failed = |problem| ReplayError { position: Lsn::new(0), relation: Some(id), row: None, problem };
        if self.relations.contains_key(&id) {
            return Err(failed(ReplayProblem::RelationExists));
        }
        self.transactions.has_relation_id(id);
        let restored = Restored::of_relation(relation, &self.memory).map_err(failed)?;
        self.relations.insert(id, restored);
        Ok(())
    }

    /// Reads chunks that records name from there.
    pub(crate) fn read_blocks_from(&mut self, blocks: Arc<dyn BlockSource>) {
        self.blocks = Some(blocks);
    }

    /// Goes on where a chunk is missing: what records change of its rows is left out.
    pub(crate) fn salvage(&mut self) {
        self.salvages = true;
    }

    /// The places of chunks that are missing.
    pub(crate) fn lost(&self) -> BTreeMap<RelationId, BTreeSet<u32>> {
        let lost = self.relations.iter().filter_map(|(id, restored)| Some((*id, restored.lost()?.clone())));
        lost.filter(|(_, places)| !places.is_empty()).collect()
    }

    /// Takes in a relation as a checkpoint had it: its slots at their places, in the order of their rows. Of those that are
    /// missing there are the places alone.
    pub(crate) fn add_slots(
        &mut self,
        id: RelationId,
        schema: Arc<Schema>,
        is_logged: bool,
        slots: Vec<(usize, HotChunk)>,
        lost: Vec<u32>,
    ) -> Result<(), ReplayError> {
        let failed = |problem| ReplayError { position: Lsn::new(0), relation: Some(id), row: None, problem };
        self.transactions.has_relation_id(id);
        let mut restored = Restored::of_slots(schema, is_logged, slots, &self.memory).map_err(failed)?;
        if self.salvages {
            restored.lose(lost);
        }
        match self.relations.insert(id, restored) {
            None => Ok(()),
            Some(_) => Err(failed(ReplayProblem::RelationExists)),
        }
    }

    /// Does records again, in their order, which follow those before; each comes with the position behind it. `payloads`
    /// takes what the layer above has logged, before any row is restored. Says what they had.
    ///
    /// # Errors
    ///
    /// The first record in the order of the log that is not one, or does not fit what is there; then the replay is over.
    pub fn apply(
        &mut self,
        records: &[(Lsn, &[u8])],
        threads: usize,
        payloads: Payloads<'_>,
    ) -> Result<Replayed, ReplayError> {
        let mut work = self.sorted(records, payloads)?;
        // The largest first, so that no thread is left with it in the end.
        work.sort_unstable_by_key(|work| work.bytes);
        let threads = threads.clamp(1, work.len().max(1));
        let (waiting, memory, blocks) = (Mutex::new(work), &self.memory, self.blocks.as_deref());
        let take = || waiting.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let run = || {
            let mut done = Vec::new();
            while let Some(work) = take() {
                let id = work.id;
                let (restored, of_relation) = work.run(memory, blocks);
                done.push((id, restored, of_relation));
            }
            done
        };
        let done = in_threads(threads, run).into_iter().flatten();
        let (mut failed, mut replayed): (Option<ReplayError>, _) = (None, Replayed::default());
        for (id, restored, of_relation) in done {
            drop(restored.map(|restored| self.relations.insert(id, restored)));
            match of_relation {
                Ok(of_relation) => replayed.add(of_relation),
                Err(error) if failed.as_ref().is_none_or(|first| error.position < first.position) => {
                    failed = Some(error);
                }
                Err(_) => {}
            }
        }
        failed.map_or(Ok(replayed), Err)
    }

    /// The items by relation.
    fn sorted<'a>(
        &mut self,
        records: &[(Lsn, &'a [u8])],
        payloads: Payloads<'_>,
    ) -> Result<Vec<Work<'a>>, ReplayError> {
        let mut work: BTreeMap<RelationId, Work<'a>> = BTreeMap::new();
        for &(position, record) in records {
            let failed = |problem| ReplayError { position, relation: None, row: None, problem };
            let mut reader = Reader::new(record);
            while let Some((kind, mut item)) = next_item(&mut reader).map_err(failed)? {
                if kind == ItemKind::Payload {
                    payloads(position, item.take(item.len()).map_err(failed)?);
                    continue;
                }
                let id = item.number().map_err(failed)?;
                let id = u32::try_from(id).ok().filter(|&id| id > 0).map(RelationId);
                let id =
                    id.ok_or_else(|| failed(ReplayProblem::Malformed("no relation has such a number".to_owned())))?;
                if matches!(kind, ItemKind::Created | ItemKind::CreatedUnlogged) {
                    self.transactions.has_relation_id(id);
                }
                let (relations, salvages) = (&mut self.relations, self.salvages);
                let entry = work.entry(id);
                let work = entry.or_insert_with(|| Work {
                    id,
                    relation: relations.remove(&id),
                    items: Vec::new(),
                    bytes: 0,
                    salvages,
                });
                work.bytes += item.len();
                work.items.push((position, kind, item));
            }
        }
        Ok(work.into_values().collect())
    }

    /// The relations as they were after the last record. Whoever begins a transaction of the database from now on sees all
    /// of it.
    #[must_use]
    pub fn finish(self) -> BTreeMap<RelationId, Relation> {
        let Replay { transactions, relations, .. } = self;
        relations.into_iter().map(|(id, restored)| (id, restored.into_relation(id, &transactions))).collect()
    }
}

/// Does an item of a relation, which may not be there yet or any more.
fn done(
    relation: &mut Option<Restored>,
    kind: ItemKind,
    item: Reader<'_>,
    memory: &Arc<Memory>,
    source: (Lsn, Option<&dyn BlockSource>),
) -> Result<Replayed, Problem> {
    let is_there = relation.is_some();
    match (&mut *relation, kind) {
        (Some(restored), ItemKind::Rows) => return restored.apply(item, source),
        (Some(restored), ItemKind::Altered) => restored.alter(item)?,
        (_, ItemKind::Dropped) if is_there => *relation = None,
        (_, ItemKind::Created | ItemKind::CreatedUnlogged) if !is_there => {
            *relation = Some(Restored::created(item, kind == ItemKind::Created, memory)?);
        }
        (_, ItemKind::Created | ItemKind::CreatedUnlogged) => return Err(ReplayProblem::RelationExists.into()),
        _ => return Err(ReplayProblem::NoRelation.into()),
    }
    Ok(Replayed::default())
}

impl Work<'_> {
    fn run(
        self,
        memory: &Arc<Memory>,
        blocks: Option<&dyn BlockSource>,
    ) -> (Option<Restored>, Result<Replayed, ReplayError>) {
        let Work { id, mut relation, items, salvages, .. } = self;
        let mut replayed = Replayed::default();
        for (position, kind, item) in items {
            match done(&mut relation, kind, item, memory, (position, blocks)) {
                Ok(of_item) => {
                    replayed.add(of_item);
                    if let (ItemKind::Created, true, Some(restored)) = (kind, salvages, &mut relation) {
                        restored.lose(Vec::new());
                    }
                }
                Err(Problem { row, problem }) => {
                    let error = ReplayError { position, relation: Some(id), row, problem };
                    return (relation, Err(error));
                }
            }
        }
        (relation, Ok(replayed))
    }
}
