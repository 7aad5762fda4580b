//! Backups: a directory that is a database of its own, as this one was at a moment, written beside everything that goes on.
//!
//! A backup begins with a checkpoint. What that leaves is copied: the block files of its manifest, and the manifest, behind
//! which the log of the backup begins, empty. Of a block file only the chunks that are needed are copied, each where it was, and
//! their checksums are compared on the way, so that damage is found and not passed on.
//!
//! An incremental backup shares files with an earlier one, by a second name for the same file, since block files are never
//! changed. It shares one if the manifest there names all the chunks that it needs of it, and their heads are as they were
//! written. Where the file system cannot do that, it copies. Each backup can be removed without the others.
//!
//! Invariants
//! 1. A marker is safe in the directory before anything else is there. It becomes the manifest once everything else is safe.
//!    Until then it says that the backup is not complete; one that was cut short is written anew from there.
//! 2. Checkpoints of the database remove no file that a backup reads ([`Kept`]).
//! 3. Nothing of the database is changed but by its checkpoint, whatever fails.
//!
//! Not here: the catalog, which the layer above gives to the checkpoint.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::sync::{Arc, PoisonError};

use super::DataDirectory;
use super::block::check_bytes;
use super::block_file::{BlockReader, BlockWriter};
use super::checkpoint::Checkpoint;
use super::error::DirectoryError;
use super::folder::{Folder, Making};
use super::manifest::Manifest;
use super::recovery::{about_rows, read_manifest, unread};
use crate::block_ref::BlockRef;
use crate::disk::DiskLock;
use crate::log::{Log, LogOptions, Lsn};
use crate::sync::brief::Mutex;

/// The log of a backup has no records: its segment need not be long.
const SEGMENT_BYTES: u64 = 4096;

/// How many backups read each block file.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept(Arc<Mutex<BTreeMap<u64, usize>>>);

impl Kept {
    /// The files that some backup reads.
    pub(super) fn numbers(&self) -> BTreeSet<u64> {
        self.with(|files| files.keys().copied().collect())
    }

    fn with<T>(&self, work: impl FnOnce(&mut BTreeMap<u64, usize>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What a backup copies. As long as it is there, checkpoints remove none of its files.
#[derive(Debug)]
pub struct BackupFiles {
    folder: Folder,
    manifest: Manifest,
    /// The chunks of each file, in the order in which they lie there: each with its relation and its place.
    files: BTreeMap<u64, Vec<Chunk>>,
    kept: Kept,
}

/// A chunk that a manifest names.
#[derive(Debug)]
struct Chunk {
    block: BlockRef,
    /// The number of its relation in the manifest.
    relation: usize,
    place: u32,
}

impl BackupFiles {
    fn new(directory: &DataDirectory, manifest: Manifest) -> BackupFiles {
        let files = chunks(&manifest);
        let kept = directory.kept.clone();
        kept.with(|counts| {
            for number in files.keys() {
                *counts.entry(*number).or_insert(0) += 1;
            }
        });
        BackupFiles { folder: directory.folder.clone(), manifest, files, kept }
    }
}

impl Drop for BackupFiles {
    fn drop(&mut self) {
        self.kept.with(|counts| {
            for number in self.files.keys() {
                if let Some(count) = counts.get_mut(number) {
                    *count -= 1;
                }
            }
            counts.retain(|_, count| *count > 0);
        });
    }
}

/// The chunks of a manifest, by their files.
fn chunks(manifest: &Manifest) -> BTreeMap<u64, Vec<Chunk>> {
    let mut files: BTreeMap<u64, Vec<Chunk>> = BTreeMap::new();
    for (relation, stored) in manifest.relations.iter().enumerate() {
        for &(place, block) in &stored.slots {
            files.entry(block.file).or_default().push(Chunk { block, relation, place });
        }
    }
    for chunks in files.values_mut() {
        chunks.sort_unstable_by_key(|chunk| chunk.block.offset);
    }
    files
}

/// A directory to which a backup is written. It is locked, and says that it is not complete.
pub struct BackupTarget {
    folder: Folder,
    previous: Option<Previous>,
    _lock: Box<dyn DiskLock>,
}

impl fmt::Debug for BackupTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BackupTarget").field("path", &self.folder.path).finish_non_exhaustive()
    }
}

/// The backup with which one shares files.
struct Previous {
    folder: Folder,
    identity: u64,
    files: BTreeMap<u64, Vec<Chunk>>,
}

/// What a backup has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackupReport {
    /// Files that were copied: block files, and the manifest.
    pub files_copied: u64,
    /// Bytes that were written for them.
    pub bytes_copied: u64,
    /// Files that are shared with the backup before.
    pub files_shared: u64,
    /// Bytes of chunks that are needed of these.
    pub bytes_shared: u64,
    /// Where the log was when the backup was begun: it has what was committed before, and nothing else.
    pub lsn: Lsn,
}

impl DataDirectory {
    /// Makes a directory for a backup, in one that is there, or takes one that is empty or in which a backup was cut short.
    /// `previous` is an earlier backup of this database to share files with.
    ///
    /// # Errors
    ///
    /// When there is a database or anything else in the directory, or somebody writes to it; when the earlier one is not a
    /// complete backup of this database; when the disk refuses an operation.
    pub fn begin_backup(&self, path: &Path, previous: Option<&Path>) -> Result<BackupTarget, DirectoryError> {
        let folder = |path: &Path| Folder { disk: Arc::clone(&self.folder.disk), path: path.to_owned() };
        let previous = previous.map(|path| Previous::open(folder(path), self.identity)).transpose()?;
        let folder = folder(path);
        folder.make()?;
        folder.check_room(Making::Backup)?;
        let lock = folder.disk.lock(&folder.lock())?;
        folder.create(Making::Backup)?;
        Ok(BackupTarget { folder, previous, _lock: lock })
    }
}

impl Checkpoint<'_> {
    /// Writes it, as [`Checkpoint::write`] does, and keeps its files for a backup.
    ///
    /// # Errors
    ///
    /// As [`Checkpoint::write`].
    pub fn write_for_backup(self, catalog: &[u8]) -> Result<BackupFiles, DirectoryError> {
        let directory = self.directory();
        let (_, files) = self.write_with(catalog, false, |manifest| BackupFiles::new(directory, manifest))?;
        Ok(files)
    }
}

impl BackupTarget {
    /// Writes the backup. `watch` gets the bytes that were dealt with since it was asked last, and says whether to go on.
    ///
    /// # Errors
    ///
    /// When a file of the database is damaged, the disk refuses an operation, or the caller does not go on. Then the backup is
    /// not complete, and may be written again.
    pub fn write(self, files: &BackupFiles, watch: &dyn Fn(u64) -> bool) -> Result<BackupReport, DirectoryError> {
        let mut report = BackupReport { lsn: files.manifest.lsn, ..BackupReport::default() };
        let mut buffer = Vec::new();
        for (&number, chunks) in &files.files {
            if self.share(number, chunks, &mut buffer)? {
                let bytes = chunks.iter().map(|chunk| chunk.block.bytes).sum();
                report.files_shared += 1;
                report.bytes_shared += bytes;
                go_on(watch, bytes)?;
            } else {
                report.bytes_copied += self.copy(files, number, chunks, &mut buffer, watch)?;
                report.files_copied += 1;
            }
        }
        let Folder { disk, .. } = &self.folder;
        disk.sync_directory(&self.folder.blocks())?;
        let mut manifest = files.manifest.clone();
        let options = LogOptions { segment_bytes: SEGMENT_BYTES, buffer_bytes: 0, spare_segments: 0 };
        let log = Log::create(Arc::clone(disk), &self.folder.log(), manifest.identity, manifest.lsn, options)?;
        // A segment begins at a multiple of eight.
        manifest.lsn = log.durable();
        log.close()?;
        let bytes = manifest.to_bytes();
        self.folder.complete_backup(&bytes)?;
        report.files_copied += 1;
        report.bytes_copied += bytes.len() as u64;
        Ok(report)
    }

    /// Gives a file of the earlier backup a name in this one, if it has these chunks.
    fn share(&self, number: u64, chunks: &[Chunk], buffer: &mut Vec<u8>) -> Result<bool, DirectoryError> {
        let Some(previous) = self.previous.as_ref().filter(|previous| previous.has(number, chunks, buffer)) else {
            return Ok(false);
        };
        let Folder { disk, .. } = &self.folder;
        match disk.link(&previous.folder.block_file(number), &self.folder.block_file(number)) {
            Ok(()) => Ok(true),
            Err(error) if error.cannot_link() => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Copies the chunks of a file; says how many bytes it has written.
    fn copy(
        &self,
        files: &BackupFiles,
        number: u64,
        chunks: &[Chunk],
        buffer: &mut Vec<u8>,
        watch: &dyn Fn(u64) -> bool,
    ) -> Result<u64, DirectoryError> {
        let identity = files.manifest.identity;
        let source = BlockReader::open(&files.folder, identity, number)?;
        let target = BlockWriter::create(&self.folder, identity, number)?;
        let mut written = 0;
        for Chunk { block, relation, place } in chunks {
            let read = source.read(block, buffer).and_then(|()| {
                let checked = check_bytes(buffer, block.head_bytes as usize);
                checked.map_err(|error| unread(error, &source, block))
            });
            read.map_err(|error| about_rows(error, &files.manifest.relations[*relation].name, *place))?;
            target.put(buffer, block)?;
            written += block.bytes;
            go_on(watch, block.bytes)?;
        }
        target.sync_bytes()?;
        Ok(written)
    }
}

fn go_on(watch: &dyn Fn(u64) -> bool, bytes: u64) -> Result<(), DirectoryError> {
    if watch(bytes) { Ok(()) } else { Err(DirectoryError::Stopped) }
}

impl Previous {
    fn open(folder: Folder, identity: u64) -> Result<Previous, DirectoryError> {
        let manifest = read_manifest(&folder)?;
        if manifest.identity != identity {
            return Err(DirectoryError::OtherBackup { directory: folder.path });
        }
        Ok(Previous { folder, identity, files: chunks(&manifest) })
    }

    /// Whether a file of it has these chunks. What cannot be read there is copied anew.
    fn has(&self, number: u64, chunks: &[Chunk], buffer: &mut Vec<u8>) -> bool {
        let Some(own) = self.files.get(&number) else { return false };
        let is_named = |chunk: &Chunk| {
            let found = own.binary_search_by_key(&chunk.block.offset, |own| own.block.offset);
            found.is_ok_and(|at| own[at].block == chunk.block)
        };
        chunks.iter().all(is_named)
            && BlockReader::open(&self.folder, self.identity, number)
                .is_ok_and(|file| chunks.iter().all(|chunk| file.read_head(&chunk.block, buffer).is_ok()))
    }
}
