//! Reads the records of a log: to its end, as recovery does, or up to what is safe, while others write.
//!
//! Where no frame is, the log ends, goes on in the next segment, or is damaged. It ends if this is the last segment and no
//! frame that is whole lies behind in it: a crash tears the last frame alone (`log`). A position that was safe before the
//! crash, such as that of a checkpoint, is known to others; a log that ends before it is refused.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::disk::{Disk, DiskFile};

use super::error::LogError;
use super::folder::{self, Folder};
use super::frame::{self, ALIGNMENT, Frame, HEADER_BYTES, Header};
use super::lsn::Lsn;

/// Bytes that are read at a time.
const READ_BYTES: usize = 256 << 10;

/// What was never written.
const ZEROS: [u8; 512] = [0; 512];

/// Reads a log from a position on.
#[derive(Debug)]
pub struct LogReader {
    folder: Folder,
    from: Lsn,
    /// Where the segment begins that is read.
    first: Lsn,
    /// Where the one behind it begins, as far as known.
    following: Option<Lsn>,
    file: Box<dyn DiskFile>,
    /// Where the next frame begins.
    position: Lsn,
    /// Where the last frame of this segment begins, and its bytes.
    last: Option<(Lsn, usize)>,
    window: Window,
}

/// What is at a position.
enum Look {
    /// A frame of so many bytes, of which the records have so many.
    Frame { bytes: usize, payload_bytes: usize },
    /// None, for this reason.
    Nothing(&'static str),
}

impl LogReader {
    /// Reads the log in a folder from a position on, at which a record or a frame begins or has ended.
    ///
    /// # Errors
    ///
    /// [`LogError::Missing`] if the log begins behind that position; when its segment is not one of this database, or the
    /// disk refuses an operation.
    pub fn open(disk: Arc<dyn Disk>, folder: &Path, identity: u64, from: Lsn) -> Result<LogReader, LogError> {
        let folder = Folder { disk, path: folder.to_owned(), identity };
        let firsts = folder.segments()?;
        let Some(at) = firsts.iter().rposition(|first| *first <= from) else {
            let found = firsts.first().copied().zip(firsts.last().copied());
            return Err(LogError::Missing { folder: folder.path, wanted: from, found });
        };
        let (first, following) = (firsts[at], firsts.get(at + 1).copied());
        let file = folder.open(first)?;
        Ok(LogReader { folder, from, first, following, file, position: first, last: None, window: Window::default() })
    }

    /// Where the log in a folder begins, if there is one.
    ///
    /// # Errors
    ///
    /// When the disk refuses an operation.
    pub fn first(disk: Arc<dyn Disk>, folder: &Path) -> Result<Option<Lsn>, LogError> {
        let folder = Folder { disk, path: folder.to_owned(), identity: 0 };
        Ok(folder.segments()?.first().copied())
    }

    /// What lies behind the end of a log that was read to it, unless there is nothing, or zeros: the file, where in the file,
    /// and why it is no frame.
    ///
    /// # Errors
    ///
    /// When the disk refuses an operation.
    pub fn rest(&mut self) -> Result<Option<(PathBuf, u64, &'static str)>, LogError> {
        let offset = folder::offset(self.first, self.position);
        let Look::Nothing(reason) = self.look(None)? else { return Ok(None) };
        let mut bytes = [0; HEADER_BYTES];
        let read = self.file.read_at(&mut bytes, offset)?;
        let is_empty = bytes[..read].iter().all(|&byte| byte == 0);
        Ok((!is_empty).then(|| (self.folder.segment(self.first), offset, reason)))
    }

    /// Where the next frame begins. Everything before it was read.
    #[must_use]
    pub fn position(&self) -> Lsn {
        self.position
    }

    /// The next frame, if the log does not end here.
    ///
    /// # Errors
    ///
    /// [`LogError::Damaged`] if something is wrong before the end; [`LogError::Missing`] if the log ends before the position
    /// from which it is to be read; when a segment is not one of this database, or the disk refuses an operation.
    #[expect(clippy::should_implement_trait, reason = "frames borrow from the reader")]
    pub fn next(&mut self) -> Result<Option<Frame<'_>>, LogError> {
        self.step(None)
    }

    /// The next frame, if it is one before a position up to which the log is safe ([`super::Log::durable`]). It may be
    /// called while the log is written, again and again.
    ///
    /// # Errors
    ///
    /// As [`LogReader::next`]. There is no end before that position, so whatever is not a frame is damage.
    pub fn next_below(&mut self, durable: Lsn) -> Result<Option<Frame<'_>>, LogError> {
        self.step(Some(durable))
    }

    pub(super) fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Where the segment begins that was read last.
    pub(super) fn segment(&self) -> Lsn {
        self.first
    }

    /// Where the last frame begins, and its bytes, if it is in the segment that was read last.
    pub(super) fn last_frame(&self) -> Option<(Lsn, usize)> {
        self.last
    }

    fn step(&mut self, durable: Option<Lsn>) -> Result<Option<Frame<'_>>, LogError> {
        let (start, payload_bytes) = loop {
            if durable.is_some_and(|durable| self.position >= durable) {
                return Ok(None);
            }
            match self.following {
                Some(next) if next == self.position => self.enter(next)?,
                Some(next) if next < self.position => {
                    return Err(self.damaged(format!("a frame reaches here, though the next segment begins at {next}")));
                }
                Some(_) | None => {}
            }
            match self.look(durable)? {
                Look::Frame { bytes, payload_bytes } => {
                    let start = self.position;
                    self.position = start.behind(bytes);
                    self.last = Some((start, bytes));
                    if self.position > self.from {
                        break (start, payload_bytes);
                    }
                }
                Look::Nothing(reason) => {
                    if !self.goes_on(durable, reason)? {
                        return Ok(None);
                    }
                }
            }
        };
        let offset = folder::offset(self.first, start) + HEADER_BYTES as u64;
        Ok(Some(Frame { start, from: self.from, payload: self.window.bytes(offset, payload_bytes) }))
    }

    /// Whether there is something behind a position at which no frame was seen.
    fn goes_on(&mut self, durable: Option<Lsn>, reason: &'static str) -> Result<bool, LogError> {
        // Others may have written meanwhile. A segment has its name once all before it is safe, so it is asked for first.
        let firsts = self.folder.segments()?;
        self.following = firsts.into_iter().find(|first| *first > self.first);
        self.window.clear();
        if self.following == Some(self.position) || matches!(self.look(durable)?, Look::Frame { .. }) {
            return Ok(true);
        }
        if let Some(next) = self.following {
            return Err(self.damaged(format!("{reason}, and the next segment begins at {next}")));
        }
        if durable.is_some() {
            return Err(self.damaged(reason.to_owned()));
        }
        if let Some(behind) = self.find_behind()? {
            self.window.clear();
            if matches!(self.look(durable)?, Look::Frame { .. }) {
                return Ok(true);
            }
            return Err(self.damaged(format!("{reason}, though a frame that was written later begins at {behind}")));
        }
        if self.position < self.from {
            let found = Some((self.first, self.position));
            return Err(LogError::Missing { folder: self.folder.path.clone(), wanted: self.from, found });
        }
        Ok(false)
    }

    /// Goes on with the segment that begins at a position.
    fn enter(&mut self, first: Lsn) -> Result<(), LogError> {
        self.file = self.folder.open(first)?;
        (self.first, self.last) = (first, None);
        self.window.clear();
        let firsts = self.folder.segments()?;
        self.following = firsts.into_iter().find(|next| *next > first);
        Ok(())
    }

    /// Says what is where the next frame should begin, whose bytes are in the window then. Of a frame that ends before the
    /// records that are asked for, only the header is looked at.
    fn look(&mut self, durable: Option<Lsn>) -> Result<Look, LogError> {
        self.look_at(self.position, durable, self.from)
    }

    fn look_at(&mut self, at: Lsn, durable: Option<Lsn>, from: Lsn) -> Result<Look, LogError> {
        // Bytes that are not safe yet may change, so they must not be kept.
        let limit = durable.map_or(u64::MAX, |durable| folder::offset(self.first, durable));
        let offset = folder::offset(self.first, at);
        let seed = frame::seed(self.folder.identity, at);
        if !self.window.has(&*self.file, offset, HEADER_BYTES, limit)? {
            return Ok(Look::Nothing("the file ends where a frame should begin"));
        }
        let bytes = self.window.bytes(offset, HEADER_BYTES).try_into().expect("the bytes of a header");
        let Some(header) = Header::parse(bytes, seed) else {
            return Ok(Look::Nothing("no frame begins here"));
        };
        let payload_bytes = header.payload_bytes;
        let bytes = frame::bytes_of(payload_bytes);
        if at.behind(bytes) > from {
            if !self.window.has(&*self.file, offset, bytes, limit)? {
                return Ok(Look::Nothing("the file ends within a frame"));
            }
            let payload = self.window.bytes(offset + HEADER_BYTES as u64, payload_bytes);
            if let Err(reason) = header.check(payload, seed) {
                return Ok(Look::Nothing(reason));
            }
        }
        Ok(Look::Frame { bytes, payload_bytes })
    }

    /// Searches the rest of the segment for a frame that is whole. Most of it is zeros, where nothing was written.
    fn find_behind(&mut self) -> Result<Option<Lsn>, LogError> {
        let mut at = self.position.behind(ALIGNMENT);
        while self.window.has(&*self.file, folder::offset(self.first, at), HEADER_BYTES, u64::MAX)? {
            let zeros = self.window.zeros(folder::offset(self.first, at)) / ALIGNMENT * ALIGNMENT;
            if zeros > 0 {
                at = at.behind(zeros);
                continue;
            }
            if let Look::Frame { .. } = self.look_at(at, None, Lsn::default())? {
                return Ok(Some(at));
            }
            at = at.behind(ALIGNMENT);
        }
        Ok(None)
    }

    fn damaged(&self, reason: String) -> LogError {
        LogError::Damaged {
            file: self.folder.segment(self.first),
            offset: folder::offset(self.first, self.position),
            lsn: self.position,
            reason,
        }
    }
}

/// Some consecutive bytes of a file.
#[derive(Debug, Default)]
struct Window {
    offset: u64,
    bytes: Vec<u8>,
    /// So many of them are of the file.
    filled: usize,
}

impl Window {
    fn clear(&mut self) {
        self.filled = 0;
    }

    /// Whether the file has so many bytes at an offset, before a limit; then they are in the window.
    fn has(&mut self, file: &dyn DiskFile, offset: u64, bytes: usize, limit: u64) -> Result<bool, LogError> {
        if offset >= self.offset && offset + bytes as u64 <= self.offset + self.filled as u64 {
            return Ok(true);
        }
        let end = offset + bytes as u64;
        // A length that is wrong must not cost memory.
        if end > limit || (bytes > READ_BYTES && end > file.length()?) {
            return Ok(false);
        }
        let wanted = usize::try_from(limit - offset).unwrap_or(usize::MAX).min(bytes.max(READ_BYTES));
        if self.bytes.len() < wanted {
            self.bytes.resize(wanted, 0);
        }
        self.offset = offset;
        self.filled = file.read_at(&mut self.bytes[..wanted], offset)?;
        Ok(self.filled >= bytes)
    }

    /// How many zeros follow from an offset on in the window.
    fn zeros(&self, offset: u64) -> usize {
        let bytes = &self.bytes[(offset - self.offset) as usize..self.filled];
        let blocks = bytes.chunks(ZEROS.len()).take_while(|block| **block == ZEROS[..block.len()]).count();
        let known = (blocks * ZEROS.len()).min(bytes.len());
        known + bytes[known..].iter().take_while(|&&byte| byte == 0).count()
    }

    /// Bytes that are in the window.
    fn bytes(&self, offset: u64, bytes: usize) -> &[u8] {
        &self.bytes[(offset - self.offset) as usize..][..bytes]
    }
}
