//! The log of a database for people to read: record by record, with what each says in words, up to where it ends and why.
//!
//! It reads what is there, whether a checkpoint still needs it or not, and writes nothing. Not here: payloads of the layer
//! above.

use std::path::Path;
use std::sync::Arc;

use super::DataDirectory;
use super::error::DirectoryError;
use super::folder::Folder;
use super::recovery::read_manifest;
use crate::disk::Disk;
use crate::log::{LogError, LogReader, Lsn};
use crate::redo::{Described, Describer, RECORD_VERSION, ReplayProblem};

/// What stands in a log.
#[derive(Debug)]
pub enum LogEntry<'a> {
    /// From here on the log is done again when the database is opened.
    Checkpoint(Lsn),
    /// A record begins: the one transaction that it is of has committed.
    Record {
        /// Where it begins.
        start: Lsn,
        /// Where it ends.
        end: Lsn,
        /// Its bytes.
        bytes: usize,
    },
    /// A part of the record.
    Part(Described<'a>),
    /// What follows in the record cannot be read.
    Unread(ReplayProblem),
    /// The record has a version that this program does not know.
    OtherVersion(u8),
}

/// Why a log ends where it does.
#[derive(Debug)]
pub enum LogEnd {
    /// Behind the last record lies nothing.
    Clean(Lsn),
    /// Behind the last record lies something that is no record: what a crash has torn, or the last use of the file has left.
    Torn {
        /// Behind the last record.
        position: Lsn,
        /// The file that has it.
        file: std::path::PathBuf,
        /// Where in the file.
        offset: u64,
        /// What is there.
        reason: String,
    },
    /// The log is damaged.
    Damaged(LogError),
}

impl DataDirectory {
    /// Reads the log of the database in a directory, which others may have open, from a position on: one at which a record
    /// begins or ends. Without, it begins where the oldest segment does.
    ///
    /// # Errors
    ///
    /// When there is no database, its manifest is damaged, the log begins behind the position, or the disk refuses an
    /// operation. Damage of the log is its end.
    pub fn dump_log(
        disk: &Arc<dyn Disk>,
        path: &Path,
        from: Option<Lsn>,
        take: &mut dyn FnMut(LogEntry<'_>),
    ) -> Result<LogEnd, DirectoryError> {
        let folder = Folder { disk: Arc::clone(disk), path: path.to_owned() };
        let manifest = read_manifest(&folder)?;
        let log = folder.log();
        // Columns of relations are told by the records and by the manifest, so all is read, though not all is shown.
        let first = LogReader::first(Arc::clone(disk), &log)?;
        let mut reader = LogReader::open(Arc::clone(disk), &log, manifest.identity, first.unwrap_or(manifest.lsn))?;
        if let (Some(from), Some(first)) = (from, first.filter(|first| from.is_some_and(|from| from < *first))) {
            return Err(LogError::Missing { folder: log, wanted: from, found: Some((first, first)) }.into());
        }
        let from = from.unwrap_or_default();
        let mut describer = Describer::default();
        let mut is_behind_checkpoint = false;
        loop {
            let frame = match reader.next() {
                Ok(Some(frame)) => frame,
                Ok(None) => break,
                Err(error @ LogError::Disk(_)) => return Err(error.into()),
                Err(error) => return Ok(LogEnd::Damaged(error)),
            };
            for record in frame.records() {
                if record.start >= manifest.lsn && !is_behind_checkpoint {
                    is_behind_checkpoint = true;
                    know(&manifest, &mut describer);
                    if record.start >= from {
                        take(LogEntry::Checkpoint(manifest.lsn));
                    }
                }
                let is_shown = record.start >= from;
                let mut show = |entry: LogEntry<'_>| {
                    if is_shown {
                        take(entry);
                    }
                };
                show(LogEntry::Record { start: record.start, end: record.end, bytes: record.bytes.len() });
                if record.kind != RECORD_VERSION {
                    show(LogEntry::OtherVersion(record.kind));
                } else if let Err(problem) = describer.record(record.bytes, &mut |part| show(LogEntry::Part(part))) {
                    show(LogEntry::Unread(problem));
                }
            }
        }
        if !is_behind_checkpoint && manifest.lsn >= from {
            take(LogEntry::Checkpoint(manifest.lsn));
        }
        let end = reader.position();
        Ok(match reader.rest()? {
            None => LogEnd::Clean(end),
            Some((file, offset, reason)) => LogEnd::Torn { position: end, file, offset, reason: reason.to_owned() },
        })
    }
}

/// Takes note of the relations of a manifest.
fn know(manifest: &super::Manifest, describer: &mut Describer) {
    for relation in &manifest.relations {
        describer.know(relation.id, &relation.name, relation.schema.clone());
    }
}
