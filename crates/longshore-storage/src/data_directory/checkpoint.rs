//! Checkpoints: what changed since the last one is written beside running transactions, then the manifest is switched, then
//! what nobody needs any more goes.
//!
//! Definitions
//! - A checkpoint sees the database between two commits, as a reader does. The position of the log behind the first of them
//!   is that from which the log is done again.
//! - A *period* lies between the beginnings of two checkpoints. A commit marks the slots that it changes with its period
//!   (`manager/commit_log`).
//!
//! Invariants
//! 1. The manifest names only chunks that are safe, and a position of the log up to which it is safe.
//! 2. A slot that no commit has changed since the period of the last checkpoint that succeeded is as the manifest has it.
//! 3. A file goes only when the manifest that is safe does not name it. After a switch that may have happened or not, both
//!    manifests count.
//! 4. No lock is held while the disk works: a slot's latch is held to take what it shows.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use super::DataDirectory;
use super::block::BlockEncoder;
use super::block_file::BlockWriter;
use super::error::DirectoryError;
use super::folder::SwitchError;
use super::manifest::{Manifest, StoredRelation};
use crate::block_ref::BlockRef;
use crate::log::Lsn;
use crate::manager::CheckpointMoment;
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::table::{RelationId, Table};
use crate::threads::in_threads;
use crate::visibility::Time;

/// A file of which less is needed is written anew.
const NEEDED_SHARE_MIN: u64 = 4;

/// What the directory knows of its last checkpoint.
#[derive(Debug)]
pub(super) struct LastCheckpoint {
    /// How many there were before.
    pub(super) number: u64,
    /// The period that ended with it.
    pub(super) period: u64,
    pub(super) relations: BTreeMap<RelationId, StoredSlots>,
    /// The length of each file that the manifest names.
    pub(super) files: BTreeMap<u64, u64>,
    /// Files that go once a manifest is safe that does not name them.
    pub(super) unneeded: BTreeSet<u64>,
}

/// Where the chunks of a table are.
#[derive(Debug)]
pub(super) struct StoredSlots {
    pub(super) table: u64,
    /// By the places of their slots.
    pub(super) blocks: BTreeMap<u32, BlockRef>,
}

/// What a checkpoint has done.
#[derive(Debug)]
pub struct CheckpointReport {
    /// Chunks that were written.
    pub chunks: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Chunks that are where they were.
    pub chunks_kept: u64,
    /// From where the log is needed.
    pub lsn: Lsn,
    /// Why files that nobody needs are still there. The next checkpoint tries again.
    pub not_removed: Option<DirectoryError>,
}

/// A checkpoint that has begun: it sees the database as it was then. Dropped, it has done nothing.
pub struct Checkpoint<'d> {
    directory: &'d DataDirectory,
    /// Until everything it sees was written.
    moment: Option<CheckpointMoment<'d>>,
    /// Taken from the directory, and given back.
    last: Option<LastCheckpoint>,
    threads: usize,
}

impl fmt::Debug for Checkpoint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checkpoint").field("time", &self.time()).finish_non_exhaustive()
    }
}

/// A slot that is looked at.
struct Task<'a> {
    id: RelationId,
    table: &'a Table,
    place: u32,
    /// Where it is, if it has not changed.
    kept: Option<BlockRef>,
}

impl DataDirectory {
    /// Begins a checkpoint: it sees what is committed now. This takes a moment, beside others. The layer above takes its
    /// catalog at the same time: it lets nobody change it meanwhile, or finds out what [`Checkpoint::time`] sees of it.
    ///
    /// # Errors
    ///
    /// When one is under way.
    pub fn begin_checkpoint(&self) -> Result<Checkpoint<'_>, DirectoryError> {
        let last = self.last().take().ok_or(DirectoryError::CheckpointRuns)?;
        let moment = self.transactions.begin_checkpoint(|| self.log.end());
        Ok(Checkpoint { directory: self, moment: Some(moment), last: Some(last), threads: self.threads })
    }
}

impl Drop for Checkpoint<'_> {
    fn drop(&mut self) {
        self.moment = None;
        *self.directory.last() = self.last.take();
    }
}

impl<'d> Checkpoint<'d> {
    /// The same, in so many threads: one leaves the other cores to who works beside it.
    #[must_use]
    pub fn in_threads(mut self, threads: usize) -> Checkpoint<'d> {
        self.threads = threads.max(1);
        self
    }

    /// The directory that it is of.
    pub(super) fn directory(&self) -> &'d DataDirectory {
        self.directory
    }

    /// What it sees: all that was committed up to this time.
    #[must_use]
    pub fn time(&self) -> Time {
        self.moment.as_ref().map_or(Time(0), |moment| moment.reader.view().start())
    }

    /// Writes what has changed since the last checkpoint, and then lets the database begin here when it is opened again.
    /// `catalog` is given back then. Others go on meanwhile.
    ///
    /// # Errors
    ///
    /// When the disk refuses an operation, the log has failed, or memory runs out. Then the last checkpoint counts, or this
    /// one does, and nothing is lost.
    pub fn write(self, catalog: &[u8]) -> Result<CheckpointReport, DirectoryError> {
        self.write_with(catalog, false, |_| ()).map(|(report, ())| report)
    }

    /// The same for the last checkpoint before the database is closed, behind which nobody changes a row: it also writes the
    /// rows that are not durable. They are there when the database is opened, unless it was in use since.
    ///
    /// # Errors
    ///
    /// As [`Checkpoint::write`]; then rows that are not durable may be lost.
    pub fn write_last(self, catalog: &[u8]) -> Result<CheckpointReport, DirectoryError> {
        self.write_with(catalog, true, |_| ()).map(|(report, ())| report)
    }

    /// The same; `take` gets the manifest while no other checkpoint can begin, which could let files go.
    pub(super) fn write_with<T>(
        mut self,
        catalog: &[u8],
        is_last: bool,
        take: impl FnOnce(Manifest) -> T,
    ) -> Result<(CheckpointReport, T), DirectoryError> {
        let (Some(moment), Some(mut last)) = (self.moment.take(), self.last.take()) else {
            unreachable!("they are taken once")
        };
        let written = write(self.directory, moment, &mut last, (self.threads, is_last), catalog);
        self.last = Some(last);
        let (report, manifest) = written?;
        Ok((report, take(manifest)))
    }
}

/// As [`Checkpoint::write_as`].
fn write(
    directory: &DataDirectory,
    moment: CheckpointMoment<'_>,
    last: &mut LastCheckpoint,
    (threads, is_last): (usize, bool),
    catalog: &[u8],
) -> Result<(CheckpointReport, Manifest), DirectoryError> {
    let folder = &directory.folder;
    let tasks = tasks(&moment, last, is_last);
    let file = if tasks.iter().any(|task| task.kept.is_none()) {
        let number = directory.loads.new_number();
        // Whatever comes of it, it goes unless a manifest names it that is safe.
        last.unneeded.insert(number);
        Some(BlockWriter::create(folder, directory.identity, number)?)
    } else {
        None
    };
    let written = write_slots(directory, &moment, &tasks, file.as_ref(), threads);
    let written = written.and_then(|written| {
        file.as_ref().map_or(Ok(()), |file| file.sync(folder))?;
        Ok(written)
    });
    let written = written.inspect_err(|_| give_up(directory, last, file.as_ref()))?;
    let relations = stored_relations(&moment, &tasks, &written);
    let (lsn, period, next_relation) = (moment.lsn, moment.period, moment.next_relation);
    let tables = moment.relations.iter().map(|(id, table)| (*id, table.id())).collect::<BTreeMap<_, _>>();
    let in_file = |block: &&BlockRef| file.as_ref().is_some_and(|file| file.number == block.file);
    let chunks = written.values().filter(in_file).count() as u64;
    let adopted = written.len() as u64 - chunks;
    let (chunks, chunks_kept) = (chunks, adopted + tasks.iter().filter(|task| task.kept.is_some()).count() as u64);
    drop(tasks);
    // What it sees is not needed any more.
    drop(moment);
    directory.log.wait(lsn).inspect_err(|_| give_up(directory, last, file.as_ref()))?;
    let manifest = Manifest {
        identity: directory.identity,
        number: last.number + 1,
        lsn,
        next_relation,
        next_file: directory.loads.next_number(),
        relations,
        catalog: catalog.to_vec(),
    };
    match folder.switch_manifest(&manifest.to_bytes()) {
        Ok(()) => {}
        Err(SwitchError::NotDone(error)) => {
            give_up(directory, last, file.as_ref());
            return Err(error.into());
        }
        Err(SwitchError::InDoubt(error)) => return Err(error.into()),
    }
    let mut files = directory.loads.lengths(|number| manifest.names_file(number));
    files.extend(file.as_ref().map(|file| (file.number, file.bytes())));
    last.adopt(&manifest, period, &tables, files);
    last.unneeded.extend(directory.loads.give_up(lsn, |number| last.files.contains_key(&number)));
    directory.checkpoint_lsn.store(lsn.get(), Ordering::Release);
    let removed = directory.log.remove_below(lsn).map_err(DirectoryError::from);
    let not_removed = removed.and(remove_unneeded(directory, last)).err();
    let bytes = file.as_ref().map_or(0, BlockWriter::chunk_bytes);
    Ok((CheckpointReport { chunks, bytes, chunks_kept, lsn, not_removed }, manifest))
}

/// The slots of all relations whose rows are durable, or if it is the last checkpoint of all, in the order of their rows.
fn tasks<'a>(moment: &'a CheckpointMoment<'_>, last: &LastCheckpoint, is_last: bool) -> Vec<Task<'a>> {
    let sparse = last.sparse_files();
    let mut tasks = Vec::new();
    for (&id, table) in moment.relations.iter().filter(|(_, table)| table.is_logged() || is_last) {
        let stored = last.relations.get(&id).filter(|stored| stored.table == table.id());
        for (place, slot) in table.slots.iter() {
            let place = place as u32;
            let is_unchanged = slot.changed_in() <= last.period;
            let kept = stored.and_then(|stored| stored.blocks.get(&place)).filter(|_| is_unchanged).copied();
            tasks.push(Task { id, table, place, kept: kept.filter(|block| !sparse.contains(&block.file)) });
        }
    }
    tasks
}

/// Writes the slots that are not kept and have rows; says where they are, by the numbers of their tasks.
fn write_slots(
    directory: &DataDirectory,
    moment: &CheckpointMoment<'_>,
    tasks: &[Task<'_>],
    file: Option<&BlockWriter>,
    threads: usize,
) -> Result<BTreeMap<usize, BlockRef>, DirectoryError> {
    let Some(file) = file else { return Ok(BTreeMap::new()) };
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (view, stamps) = (moment.reader.view(), directory.transactions.stamps());
    let write = |encoder: &mut BlockEncoder, task: &Task<'_>| {
        let slot = task.table.slots.get(task.place as usize).filter(|_| task.kept.is_none());
        // The chunk is let go of before the disk works: as long as somebody has it, who changes a row copies a column.
        let Some(visible) = slot.and_then(|slot| slot.show(task.place, view, stamps)) else { return Ok(None) };
        // A load has written it.
        let stored = visible.chunk().stored().filter(|stored| visible.is_clean() && stored.file.is_safe());
        if let Some(stored) = stored {
            return Ok(Some(stored.block));
        }
        let encoded = encoder.encode(&visible);
        drop(visible);
        let (bytes, head_bytes) = encoded?;
        file.write(bytes, head_bytes).map(Some)
    };
    let run = || {
        let (mut encoder, mut written) = (BlockEncoder::new(), Vec::new());
        while !stop.load(Ordering::Relaxed) {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(task) = tasks.get(at) else { break };
            let block = write(&mut encoder, task).inspect_err(|_| stop.store(true, Ordering::Relaxed))?;
            written.extend(block.map(|block| (at, block)));
        }
        Ok::<_, DirectoryError>(written)
    };
    let mut written = BTreeMap::new();
    for part in in_threads(threads.min(tasks.len()), run) {
        written.extend(part?);
    }
    Ok(written)
}

/// The relations as the manifest has them.
fn stored_relations(
    moment: &CheckpointMoment<'_>,
    tasks: &[Task<'_>],
    written: &BTreeMap<usize, BlockRef>,
) -> Vec<StoredRelation> {
    let mut tasks = tasks.iter().enumerate().peekable();
    let stored = |(&id, table): (&RelationId, &Arc<Table>)| {
        let of_relation = std::iter::from_fn(|| tasks.next_if(|(_, task)| task.id == id));
        let slots = of_relation
            .filter_map(|(at, task)| Some((task.place, task.kept.or_else(|| written.get(&at).copied())?)))
            .collect();
        StoredRelation {
            id,
            name: table.name(),
            is_logged: table.is_logged(),
            schema: (**table.schema()).clone(),
            slots,
        }
    };
    moment.relations.iter().map(stored).collect()
}

/// Removes the file of a checkpoint that has failed before the manifest was switched. If that fails, too, it goes later.
fn give_up(directory: &DataDirectory, last: &mut LastCheckpoint, file: Option<&BlockWriter>) {
    if let Some(file) = file
        && directory.folder.disk.remove(&directory.folder.block_file(file.number)).is_ok()
    {
        last.unneeded.remove(&file.number);
    }
}

/// Removes the files that nobody needs, now that a manifest is safe that does not name them. Those that a backup reads stay
/// until the next time.
fn remove_unneeded(directory: &DataDirectory, last: &mut LastCheckpoint) -> Result<(), DirectoryError> {
    let folder = &directory.folder;
    let mut failed = Ok(());
    let kept = directory.kept.numbers();
    last.unneeded.retain(|&number| {
        if kept.contains(&number) {
            return true;
        }
        match folder.disk.remove(&folder.block_file(number)) {
            Err(error) if !error.is_missing() => {
                failed = Err(error.into());
                true
            }
            Ok(()) | Err(_) => false,
        }
    });
    failed
}

impl LastCheckpoint {
    /// That of a manifest, whose tables are these: of those that were altered since it knows nothing.
    pub(super) fn of(
        manifest: &Manifest,
        tables: &BTreeMap<RelationId, Arc<Table>>,
        files: BTreeMap<u64, u64>,
    ) -> Self {
        let stored = |relation: &StoredRelation| {
            let table = tables.get(&relation.id)?;
            let is_unchanged =
                |place: &u32| table.slots.get(*place as usize).is_some_and(|slot| slot.changed_in() == 0);
            let blocks = relation.slots.iter().copied().filter(|(place, _)| is_unchanged(place)).collect();
            Some((relation.id, StoredSlots { table: table.id(), blocks }))
        };
        LastCheckpoint {
            number: manifest.number,
            period: 0,
            relations: manifest.relations.iter().filter_map(stored).collect(),
            files,
            unneeded: BTreeSet::new(),
        }
    }

    /// Takes the place of the one before, now that its manifest is safe.
    fn adopt(
        &mut self,
        manifest: &Manifest,
        period: u64,
        tables: &BTreeMap<RelationId, u64>,
        files: BTreeMap<u64, u64>,
    ) {
        (self.number, self.period) = (manifest.number, period);
        let stored = |relation: &StoredRelation| {
            let blocks = relation.slots.iter().copied().collect();
            Some((relation.id, StoredSlots { table: *tables.get(&relation.id)?, blocks }))
        };
        self.relations = manifest.relations.iter().filter_map(stored).collect();
        self.files.extend(files);
        let needed = self.needed_bytes();
        self.unneeded.extend(self.files.keys());
        self.unneeded.retain(|number| !needed.contains_key(number));
        self.files.retain(|number, _| needed.contains_key(number));
    }

    /// Bytes that are needed of each file.
    fn needed_bytes(&self) -> BTreeMap<u64, u64> {
        let mut needed = BTreeMap::new();
        for block in self.relations.values().flat_map(|stored| stored.blocks.values()) {
            *needed.entry(block.file).or_insert(0) += block.bytes;
        }
        needed
    }

    /// Files of which so little is needed that it is written anew.
    fn sparse_files(&self) -> BTreeSet<u64> {
        let needed = self.needed_bytes();
        let is_sparse = |(number, bytes): (&u64, &u64)| {
            let needed = needed.get(number).copied().unwrap_or(0);
            (needed.saturating_mul(NEEDED_SHARE_MIN) < *bytes).then_some(*number)
        };
        self.files.iter().filter_map(is_sparse).collect()
    }
}
