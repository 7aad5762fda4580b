//! The redo log: records in the order in which they are appended, safe on disk when a writer asks for it.
//!
//! Source: the thesis, 2.2.3 (a commit writes its records to the log) and 4.3.1 (positions by which others follow it);
//! the words are those of PostgreSQL. Commits append their records to a buffer in memory, one after the other, under a lock
//! that is held for a copy alone. What has gathered there is one **frame**, which one of those who wait writes and syncs
//! for all (group commit), while the next frame gathers in a second buffer. Nobody holds a lock meanwhile.
//!
//! What the rest rests on:
//!
//! 1. A frame is written after the frame before it is safe. So a crash tears no frame but the last, and damage before a
//!    frame that is whole is damage to what was safe: it is an error, never an end.
//! 2. A segment gets its name after the segment before it is complete and safe (`folder`).
//! 3. After a write or a sync that failed, the log takes and acknowledges nothing more: the system may have dropped what was
//!    written, and later syncs would succeed without it.
//! 4. Who opens the log again writes its last frame once more, since by 3 it may lie in caches alone. By 1 all others are
//!    safe.
//!
//! Not here: what the records mean; when old segments may go; files and their faults (`disk`).

use std::fmt;
use std::path::Path;
use std::sync::{Arc, PoisonError};

use crate::disk::Disk;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Condvar, Mutex, MutexGuard, Rank, Ranked, assert_nothing_held};

mod background;
mod error;
mod folder;
mod frame;
mod lsn;
mod reader;
mod segment_writer;
mod spares;
mod state;

pub use background::BackgroundWriter;
pub use error::LogError;
pub use frame::{Frame, RECORD_BYTES_MAX, Record};
pub use lsn::{Lsn, NoLsn};
pub use reader::LogReader;
pub use state::WhenSafe;

use folder::Folder;
use frame::{ALIGNMENT, RECORD_OVERHEAD_MAX};
use segment_writer::SegmentWriter;
use spares::Spares;
use state::State;

/// How a log is kept.
#[derive(Clone, Copy, Debug)]
pub struct LogOptions {
    /// Bytes of a segment. One with a longer frame has that frame alone.
    pub segment_bytes: u64,
    /// Bytes of records, those that were reserved included, that gather before somebody must wait until they are written.
    /// The log takes two to four times as much memory, and twice the longest record.
    pub buffer_bytes: usize,
    /// Old segments that are kept to be written over. A disk syncs faster what it need not allocate.
    pub spare_segments: usize,
}

impl Default for LogOptions {
    fn default() -> LogOptions {
        LogOptions { segment_bytes: 64 << 20, buffer_bytes: 4 << 20, spare_segments: 4 }
    }
}

/// The log of a database, open for writing.
pub struct Log {
    state: Mutex<State>,
    /// More is safe, or there is room, or nobody writes any more.
    changed: Condvar,
    /// There is something for the background writer.
    work: Condvar,
    /// What is safe, for who need not wait.
    durable: AtomicU64,
    /// How often it was made safe.
    syncs: AtomicU64,
    folder: Folder,
    spares: Spares,
    options: LogOptions,
}

type StateGuard<'a> = Ranked<MutexGuard<'a, State>>;

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log")
            .field("folder", &self.folder.path)
            .field("durable", &self.durable())
            .finish_non_exhaustive()
    }
}

impl Log {
    /// Makes a log that begins at a position, in a folder that has none. `identity` tells the database from all others.
    ///
    /// # Errors
    ///
    /// [`LogError::Exists`] if there is a log, or when the disk refuses an operation.
    pub fn create(
        disk: Arc<dyn Disk>,
        folder: &Path,
        identity: u64,
        start: Lsn,
        options: LogOptions,
    ) -> Result<Log, LogError> {
        let folder = Folder { disk, path: folder.to_owned(), identity };
        if !folder.segments()?.is_empty() {
            return Err(LogError::Exists { folder: folder.path });
        }
        let start = Lsn::new(start.get().next_multiple_of(ALIGNMENT as u64));
        let spares = Spares::find(&folder)?;
        let writer = SegmentWriter::begin(folder.clone(), spares.clone(), options.segment_bytes, start)?;
        Ok(Log::new(folder, spares, writer, options))
    }

    /// Goes on with the log that a reader has read, behind its last record. Records that the reader has not returned yet are
    /// skipped. What a crash has torn is cut off.
    ///
    /// # Errors
    ///
    /// Those of [`LogReader::next`], or when the disk refuses an operation.
    pub fn open(mut reader: LogReader, options: LogOptions) -> Result<Log, LogError> {
        while reader.next()?.is_some() {}
        let folder = reader.folder().clone();
        let spares = Spares::find(&folder)?;
        let writer = SegmentWriter::resume(&reader, spares.clone(), options.segment_bytes)?;
        Ok(Log::new(folder, spares, writer, options))
    }

    fn new(folder: Folder, spares: Spares, writer: SegmentWriter, options: LogOptions) -> Log {
        let end = writer.end();
        Log {
            state: Mutex::new(State::new(Box::new(writer), options.buffer_bytes)),
            changed: Condvar::new(),
            work: Condvar::new(),
            durable: AtomicU64::new(end.get()),
            syncs: AtomicU64::new(0),
            folder,
            spares,
            options,
        }
    }

    /// Up to where the log is safe. It never goes back.
    #[must_use]
    pub fn durable(&self) -> Lsn {
        Lsn::new(self.durable.load(Ordering::Acquire))
    }

    /// How often it was made safe on the disk since it was opened.
    #[must_use]
    pub fn syncs(&self) -> u64 {
        self.syncs.load(Ordering::Relaxed)
    }

    /// Up to where records have been appended.
    #[must_use]
    pub fn end(&self) -> Lsn {
        self.lock().end()
    }

    /// Waits until there is room for a record of so many bytes, and reserves it.
    ///
    /// It may write to the disk, so a caller holds no lock that others need. A thread reserves room for one record at a time.
    ///
    /// # Errors
    ///
    /// When the record is too long, or the log has failed.
    pub fn reserve(&self, bytes: usize) -> Result<Reserved<'_>, LogError> {
        if bytes > RECORD_BYTES_MAX {
            return Err(LogError::TooLong { bytes });
        }
        assert_nothing_held();
        let bytes = bytes + RECORD_OVERHEAD_MAX;
        let mut state = self.lock();
        loop {
            state.check()?;
            if state.reserve(bytes) {
                return Ok(Reserved { log: self, bytes });
            }
            if state.can_write() {
                state = self.write_group(state);
            } else {
                state.waiting_for_room += 1;
                state = self.pause(state);
                state.waiting_for_room -= 1;
            }
        }
    }

    /// Appends a record, given in parts, once there is room. Returns the position of its end.
    ///
    /// # Errors
    ///
    /// Those of [`Log::reserve`].
    pub fn append(&self, kind: u8, parts: &[&[u8]]) -> Result<Lsn, LogError> {
        self.reserve(parts.iter().map(|part| part.len()).sum())?.append(kind, parts)
    }

    /// Asks for everything before a position to be written soon, without waiting for it. Without a [`BackgroundWriter`] it
    /// is written when somebody waits.
    pub fn request(&self, lsn: Lsn) {
        let mut state = self.lock();
        if state.want(lsn) {
            self.work.notify_one();
        }
    }

    /// Waits until everything before a position is safe. If nobody writes, this thread does.
    ///
    /// # Errors
    ///
    /// When the log has failed before that: then it may be there after a crash or not.
    pub fn wait(&self, lsn: Lsn) -> Result<(), LogError> {
        if self.durable() >= lsn {
            return Ok(());
        }
        assert_nothing_held();
        let mut state = self.lock();
        let lsn = lsn.min(state.end());
        loop {
            if state.durable() >= lsn {
                return Ok(());
            }
            state.check()?;
            state.want(lsn);
            state = if state.can_write() { self.write_group(state) } else { self.pause(state) };
        }
    }

    /// Has something done once everything before a position is safe: at once, or by the thread that makes it safe. Without a
    /// [`BackgroundWriter`] it waits for that.
    pub fn when_safe(&self, lsn: Lsn, then: WhenSafe) {
        let mut state = self.lock();
        let lsn = lsn.min(state.end());
        let Some(then) = state.keep_when_safe(lsn, then) else {
            if state.want(lsn) {
                self.work.notify_one();
            }
            return;
        };
        drop(state);
        then(self.wait(lsn));
    }

    /// Makes everything safe, cuts off what was reserved in the last segment, and takes nothing more.
    ///
    /// # Errors
    ///
    /// When the log has failed.
    pub fn close(&self) -> Result<(), LogError> {
        loop {
            self.wait(self.end())?;
            let mut state = self.lock();
            state.check()?;
            if state.end() > state.durable() {
                continue;
            }
            let writer = state.close();
            drop(state);
            self.changed.notify_all();
            self.work.notify_all();
            return writer.map_or(Ok(()), |writer| writer.finish().map_err(LogError::from));
        }
    }

    /// Takes and writes nothing more, as after a crash: what is not safe yet stays so. It returns once nobody writes.
    pub(crate) fn abandon(&self) {
        let mut state = self.lock();
        if state.abandon() {
            self.changed.notify_all();
            self.work.notify_all();
            while state.is_writing() {
                state = self.pause(state);
            }
            let now = state.take_when_safe();
            drop(state);
            now.run();
        }
    }

    /// Removes the segments of which nobody needs a record: those that end at or before a position. Some are kept to be
    /// written over. One thread at a time does so.
    ///
    /// # Errors
    ///
    /// When the disk refuses an operation. The log goes on.
    pub fn remove_below(&self, lsn: Lsn) -> Result<(), LogError> {
        assert_nothing_held();
        let firsts = self.folder.segments()?;
        let mut kept = Vec::new();
        for pair in firsts.windows(2).take_while(|pair| pair[1] <= lsn) {
            let path = self.folder.segment(pair[0]);
            let is_usual = folder::offset(pair[0], pair[1]) <= self.options.segment_bytes;
            let spare = self.folder.spare(pair[0]);
            // A crash may have left one of this name, from when the segment was to be made.
            let is_wanted = self.spares.count() + kept.len() < self.options.spare_segments && !self.spares.has(&spare);
            if is_usual && is_wanted {
                self.folder.disk.rename(&path, &spare)?;
                kept.push(spare);
            } else {
                self.folder.disk.remove(&path)?;
            }
        }
        // Before the names are safe, a crash could bring back what a file was, under its old name beside its new one.
        self.folder.sync()?;
        self.spares.add(kept);
        Ok(())
    }

    /// Writes what has gathered, with the lock free.
    fn write_group<'a>(&'a self, mut state: StateGuard<'a>) -> StateGuard<'a> {
        let (mut writer, mut group) = state.take_group();
        let is_waited_for = state.waiting_for_room > 0;
        drop(state);
        if is_waited_for {
            self.changed.notify_all();
        }
        let written = writer.write(&mut group.bytes);
        self.syncs.fetch_add(1, Ordering::Relaxed);
        let mut state = self.lock();
        state.return_group(writer, group, written.map_err(LogError::from));
        self.durable.store(state.durable().get(), Ordering::Release);
        self.changed.notify_all();
        if state.needs_background() {
            self.work.notify_one();
        }
        let now = state.take_when_safe();
        if now.is_empty() {
            return state;
        }
        drop(state);
        now.run();
        self.lock()
    }

    fn pause<'a>(&'a self, state: StateGuard<'a>) -> StateGuard<'a> {
        state.pass(|guard| self.changed.wait(guard).unwrap_or_else(PoisonError::into_inner))
    }

    fn lock(&self) -> StateGuard<'_> {
        // It is consistent wherever a panic could occur.
        Ranked::take(Rank::Log, &self.state, |state| state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Room for one record.
#[derive(Debug)]
#[must_use = "room that is not used is given back"]
pub struct Reserved<'a> {
    log: &'a Log,
    /// With what the log adds; 0 if it was used.
    bytes: usize,
}

impl<'a> Reserved<'a> {
    /// The room that somebody has kept for a record of so many bytes ([`Reserved::keep`]).
    pub(crate) fn of(log: &'a Log, bytes: usize) -> Reserved<'a> {
        Reserved { log, bytes: bytes + RECORD_OVERHEAD_MAX }
    }

    /// Keeps the room until it is made one of these again.
    pub(crate) fn keep(mut self) {
        self.bytes = 0;
    }

    /// Appends the record, given in parts. Returns the position of its end, for [`Log::wait`].
    ///
    /// It copies the record and waits for nothing but others who do the same, so it may be called where the order of
    /// commits is decided.
    ///
    /// # Errors
    ///
    /// When the log has failed meanwhile.
    ///
    /// # Panics
    ///
    /// If the record is longer than what was reserved.
    pub fn append(mut self, kind: u8, parts: &[&[u8]]) -> Result<Lsn, LogError> {
        let mut state = self.log.lock();
        state.check()?;
        state.give_back(std::mem::take(&mut self.bytes), parts);
        let lsn = state.append(kind, parts);
        if state.wakes_background() {
            self.log.work.notify_one();
        }
        if state.waiting_for_room > 0 {
            self.log.changed.notify_all();
        }
        Ok(lsn)
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.log.lock().give_back(self.bytes, &[]);
            self.log.changed.notify_all();
        }
    }
}
