//! Recovery: a database comes back from its manifest, the chunks that it names, and the log behind them.
//!
//! Threads read chunks side by side, and keep them as they are stored, packed; others of them do the records of the log
//! again, each those of other relations. After a clean exit there are no records.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, PoisonError};

use super::block::BlockDecoder;
use super::block_file::BlockReader;
use super::damage::Salvage;
use super::error::DirectoryError;
use super::folder::Folder;
use super::loads::{FileOfLoad, Loads};
use super::manifest::Manifest;
use crate::block_ref::{BlockRef, LoadFile, StoredBlock};
use crate::chunk::hot::HotChunk;
use crate::disk::OpenMode;
use crate::log::{LogReader, Lsn};
use crate::manager::Transactions;
use crate::memory::Memory;
use crate::native::embedded::ChunkError;
use crate::redo::{BlockSource, RECORD_VERSION, RECORD_VERSION_MIN, Replay, ReplayProblem, Replayed};
use crate::relation::Relation;
use crate::row_id::RowId;
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::sync::brief::Mutex;
use crate::table::RelationId;
use crate::threads::in_threads;
use crate::types::Schema;

/// Bytes of records that are done again at a time.
const REPLAY_BYTES: usize = 64 << 20;

/// A database that came back.
#[derive(Debug)]
pub struct Recovered {
    /// Its relations, by the numbers that [`Relation::relation_id`] tells. Indexes and foreign keys are yet to be made.
    pub relations: BTreeMap<RelationId, Relation>,
    /// What was given to the last checkpoint.
    pub catalog: Vec<u8>,
    /// What was logged since by [`crate::Transaction::log_payload`], with the positions behind the records.
    pub payloads: Vec<(Lsn, Vec<u8>)>,
    /// What was done again.
    pub replayed: Replayed,
}

/// What recovery knows of the directory.
pub(super) struct Restored {
    pub(super) manifest: Manifest,
    pub(super) recovered: Recovered,
    /// The length of each block file that is needed.
    pub(super) files: BTreeMap<u64, u64>,
    pub(super) loads: Arc<Loads>,
    /// The log, read to its end, if it is there.
    pub(super) reader: Option<LogReader>,
}

/// Brings back the database in a folder, for transactions that have done nothing yet. With `salvage`, what is damaged is left
/// out and noted there; without, it is an error.
pub(super) fn recover(
    folder: &Folder,
    memory: &Arc<Memory>,
    transactions: &Arc<Transactions>,
    threads: usize,
    salvage: Option<&Salvage>,
) -> Result<Restored, DirectoryError> {
    let manifest = read_manifest(folder)?;
    let mut replay = Replay::new(transactions, memory);
    if salvage.is_some() {
        replay.salvage();
    }
    let files = read_relations(folder, &manifest, memory, &mut replay, (threads, salvage))?;
    transactions.has_relation_ids_below(manifest.next_relation);
    let loads = Arc::new(Loads::new(folder, manifest.identity, manifest.next_file));
    let blocks = Blocks {
        folder: folder.clone(),
        identity: manifest.identity,
        memory: Arc::clone(memory),
        loads: Arc::clone(&loads),
        files: Mutex::default(),
        salvage: salvage.cloned(),
    };
    replay.read_blocks_from(Arc::new(blocks));
    let log = folder.log();
    let reader = LogReader::open(Arc::clone(&folder.disk), &log, manifest.identity, manifest.lsn);
    let mut reader = reader.map(Some).or_else(|error| Salvage::take(salvage, error.into()).map(|()| None))?;
    let mut payloads = Vec::new();
    let mut replayed = Replayed::default();
    if let Some(reader) = &mut reader {
        let done = replay_log(reader, &log, &mut replay, (&mut payloads, &mut replayed), threads);
        done.or_else(|error| Salvage::take(salvage, error))?;
    }
    if let Some(salvage) = salvage {
        salvage.lose(replay.lost());
    }
    let catalog = manifest.catalog.clone();
    let recovered = Recovered { relations: replay.finish(), catalog, payloads, replayed };
    Ok(Restored { manifest, recovered, files, loads, reader })
}

impl Restored {
    /// The database is in use from here on ([`Manifest::in_use`]).
    pub(super) fn begin_use(&mut self) {
        self.manifest = self.manifest.in_use();
        self.files.retain(|number, _| self.manifest.names_file(*number));
    }

    /// Whether the manifest or the log names a block file.
    pub(super) fn is_needed(&self, number: u64) -> bool {
        self.files.contains_key(&number) || !self.loads.lengths(|load| load == number).is_empty()
    }
}

/// The chunks that records name.
#[derive(Debug)]
struct Blocks {
    folder: Folder,
    identity: u64,
    memory: Arc<Memory>,
    loads: Arc<Loads>,
    files: Mutex<BTreeMap<u64, OpenLoad>>,
    salvage: Option<Salvage>,
}

/// A file that a record names, to read it, and as the next checkpoint takes it over.
type OpenLoad = (Arc<BlockReader>, Arc<FileOfLoad>);

impl Blocks {
    fn file(&self, number: u64, lsn: Lsn) -> Result<OpenLoad, DirectoryError> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = files.get(&number) {
            return Ok(found.clone());
        }
        let reader = Arc::new(BlockReader::open(&self.folder, self.identity, number)?);
        let file = Arc::new(FileOfLoad::of_record(&self.folder, number, reader.file_bytes, lsn));
        self.loads.add(Arc::clone(&file));
        files.insert(number, (Arc::clone(&reader), Arc::clone(&file)));
        Ok((reader, file))
    }
}

impl BlockSource for Blocks {
    fn read(&self, block: &BlockRef, schema: &Arc<Schema>, lsn: Lsn) -> Result<HotChunk, ReplayProblem> {
        let read = || {
            let (reader, file) = self.file(block.file, lsn)?;
            file.named_by(lsn);
            let mut bytes = Vec::new();
            reader.read(block, &mut bytes)?;
            let mut decoder = BlockDecoder::new(&self.memory, block.bytes);
            let stored = StoredBlock { block: *block, file: file as Arc<dyn LoadFile> };
            let slot = decoder.decode(&bytes, block.head_bytes as usize, schema, Some(stored));
            slot.map_err(|error| unread(error, &reader, block))
        };
        read().map_err(|error| match error {
            DirectoryError::OutOfMemory(error) => error.into(),
            error => {
                let reason = error.to_string();
                if let Some(salvage) = &self.salvage {
                    salvage.note(error);
                }
                ReplayProblem::Block(reason)
            }
        })
    }
}

pub(super) fn unread(error: ChunkError, file: &BlockReader, block: &BlockRef) -> DirectoryError {
    match error {
        ChunkError::Malformed(reason) => DirectoryError::damaged(&file.path, block.offset, reason),
        ChunkError::OutOfMemory(error) => error.into(),
    }
}

pub(super) fn read_manifest(folder: &Folder) -> Result<Manifest, DirectoryError> {
    let path = folder.manifest();
    let file = folder
        .disk
        .open(&path, OpenMode::Read)
        .map_err(|error| if error.is_missing() { folder.missing() } else { error.into() })?;
    Manifest::read(&*file, &path)
}

/// A chunk that is to be read.
struct Task<'a> {
    relation: usize,
    place: u32,
    block: &'a BlockRef,
}

/// A chunk that was read, with the numbers of its relation and of its task.
type Read = (usize, usize, HotChunk);

/// Reads all chunks of a manifest; says how long their files are.
fn read_relations(
    folder: &Folder,
    manifest: &Manifest,
    memory: &Arc<Memory>,
    replay: &mut Replay,
    (threads, salvage): (usize, Option<&Salvage>),
) -> Result<BTreeMap<u64, u64>, DirectoryError> {
    let schemas: Vec<Arc<Schema>> =
        manifest.relations.iter().map(|relation| Arc::new(relation.schema.clone())).collect();
    let mut tasks = Vec::new();
    for (relation, stored) in manifest.relations.iter().enumerate() {
        tasks.extend(stored.slots.iter().map(|(place, block)| Task { relation, place: *place, block }));
    }
    let numbers: BTreeSet<u64> = tasks.iter().map(|task| task.block.file).collect();
    let mut files = BTreeMap::new();
    for number in numbers {
        match BlockReader::open(folder, manifest.identity, number) {
            Ok(file) => drop(files.insert(number, file)),
            Err(error) => Salvage::take(salvage, error)?,
        }
    }
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let bytes: u64 = tasks.iter().map(|task| task.block.bytes).fold(0, u64::saturating_add);
    let run = || -> Result<Vec<Read>, DirectoryError> {
        let (mut decoder, mut buffer, mut slots) = (BlockDecoder::new(memory, bytes), Vec::new(), Vec::new());
        while !stop.load(Ordering::Relaxed) {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(task) = tasks.get(at) else { break };
            // Of one that cannot be opened that was said.
            let Some(file) = files.get(&task.block.file) else { continue };
            let read = read_slot(file, task, &schemas[task.relation], &mut decoder, &mut buffer);
            let name = &manifest.relations[task.relation].name;
            match read.map_err(|error| about_rows(error, name, task.place)) {
                Ok(slot) => slots.push((task.relation, at, slot)),
                Err(error) => {
                    Salvage::take(salvage, error).inspect_err(|_| stop.store(true, Ordering::Relaxed))?;
                }
            }
        }
        Ok(slots)
    };
    let mut slots: Vec<Read> = Vec::with_capacity(tasks.len());
    for read in in_threads(threads.min(tasks.len()), run) {
        slots.extend(read?);
    }
    slots.sort_unstable_by_key(|(_, at, _)| *at);
    let mut slots = slots.into_iter().peekable();
    for (number, (stored, schema)) in manifest.relations.iter().zip(schemas).enumerate() {
        let of_relation = std::iter::from_fn(|| slots.next_if(|(relation, ..)| *relation == number));
        let of_relation: Vec<_> = of_relation.map(|(_, at, slot)| (tasks[at].place as usize, slot)).collect();
        let is_there = |place: u32| of_relation.iter().any(|(there, _)| *there == place as usize);
        let places = stored.slots.iter().map(|(place, _)| *place);
        let lost = if of_relation.len() == stored.slots.len() {
            Vec::new()
        } else {
            places.filter(|place| !is_there(*place)).collect()
        };
        replay.add_slots(stored.id, schema, stored.is_logged, of_relation, lost).map_err(|error| {
            DirectoryError::damaged(&folder.manifest(), 0, format!("relation {}: {}", stored.id, error.problem))
        })?;
    }
    Ok(files.into_iter().map(|(number, file)| (number, file.file_bytes)).collect())
}

fn read_slot(
    file: &BlockReader,
    task: &Task<'_>,
    schema: &Arc<Schema>,
    decoder: &mut BlockDecoder,
    buffer: &mut Vec<u8>,
) -> Result<HotChunk, DirectoryError> {
    file.read(task.block, buffer)?;
    let slot = decoder.decode(buffer, task.block.head_bytes as usize, schema, None);
    slot.map_err(|error| unread(error, file, task.block))
}

/// Says of damage which rows it concerns.
pub(super) fn about_rows(error: DirectoryError, relation: &str, place: u32) -> DirectoryError {
    match error {
        DirectoryError::Damaged { file, offset, about: None, reason } => {
            let rows = format!(
                "{relation}, rows {} to {}",
                RowId::new(place as usize, 0).0,
                RowId::new(place as usize + 1, 0).0 - 1
            );
            DirectoryError::Damaged { file, offset, about: Some(rows), reason }
        }
        other => other,
    }
}

/// Does the records of a log again, from the position on from which it is read.
fn replay_log(
    reader: &mut LogReader,
    folder: &Path,
    replay: &mut Replay,
    (payloads, replayed): (&mut Vec<(Lsn, Vec<u8>)>, &mut Replayed),
    threads: usize,
) -> Result<(), DirectoryError> {
    let (mut bytes, mut ends) = (Vec::new(), Vec::new());
    loop {
        // What was read before damage is done all the same.
        let next = reader.next();
        let is_more = match &next {
            Ok(Some(frame)) => {
                for record in frame.records() {
                    if !(RECORD_VERSION_MIN..=RECORD_VERSION).contains(&record.kind) {
                        return Err(DirectoryError::RecordVersion { folder: folder.to_owned(), found: record.kind });
                    }
                    bytes.extend_from_slice(record.bytes);
                    ends.push((record.end, bytes.len()));
                }
                true
            }
            Ok(None) | Err(_) => false,
        };
        if bytes.len() >= REPLAY_BYTES || !is_more {
            let starts = std::iter::once(0).chain(ends.iter().map(|(_, end)| *end));
            let records: Vec<(Lsn, &[u8])> =
                starts.zip(&ends).map(|(start, &(lsn, end))| (lsn, &bytes[start..end])).collect();
            let mut take = |lsn: Lsn, payload: &[u8]| payloads.push((lsn, payload.to_vec()));
            let applied = replay.apply(&records, threads, &mut take);
            replayed.add(applied.map_err(|error| DirectoryError::Replay { folder: folder.to_owned(), error })?);
            bytes.clear();
            ends.clear();
        }
        if !is_more {
            next?;
            return Ok(());
        }
    }
}
