//! Writes frames to segments, one frame at a time, each safe before the next.
//!
//! A new segment has its room reserved, or is an old one that is written over: syncing what does not change the length of
//! a file nor takes new blocks costs a disk little more than half of what it costs otherwise. What an old segment has left
//! behind is no frame at its new position (`frame`).

use crate::disk::{DiskError, DiskFile, OpenMode};

use super::folder::{self, Folder};
use super::frame;
use super::lsn::Lsn;
use super::reader::LogReader;
use super::spares::Spares;

/// The end of a log that is written.
#[derive(Debug)]
pub(super) struct SegmentWriter {
    folder: Folder,
    spares: Spares,
    segment_bytes: u64,
    first: Lsn,
    end: Lsn,
    file: Box<dyn DiskFile>,
}

impl SegmentWriter {
    /// Begins a log with a segment at a position.
    pub(super) fn begin(
        folder: Folder,
        spares: Spares,
        segment_bytes: u64,
        start: Lsn,
    ) -> Result<SegmentWriter, DiskError> {
        let file = create(&folder, &spares, segment_bytes, start)?;
        Ok(SegmentWriter { folder, spares, segment_bytes, first: start, end: start, file })
    }

    /// Goes on where a reader has stopped.
    pub(super) fn resume(reader: &LogReader, spares: Spares, segment_bytes: u64) -> Result<SegmentWriter, DiskError> {
        let folder = reader.folder().clone();
        let (first, end) = (reader.segment(), reader.position());
        let file = folder.disk.open(&folder.segment(first), OpenMode::Write)?;
        let offset = folder::offset(first, end);
        // Whatever is behind was never acknowledged, and must not come back behind what is written now.
        if file.length()? > offset {
            file.truncate(offset)?;
            file.sync()?;
        }
        file.allocate(segment_bytes)?;
        // It may lie in caches alone, if the sync failed of which whoever wrote it has died.
        if let Some((start, bytes)) = reader.last_frame() {
            let mut frame = vec![0; bytes];
            let offset = folder::offset(first, start);
            file.read_at(&mut frame, offset)?;
            file.write_at(&frame, offset)?;
        }
        file.sync()?;
        Ok(SegmentWriter { folder, spares, segment_bytes, first, end, file })
    }

    /// Up to where all frames are safe.
    pub(super) fn end(&self) -> Lsn {
        self.end
    }

    /// Ends a frame that has gathered at the end of the log, and makes it safe.
    pub(super) fn write(&mut self, frame: &mut Vec<u8>) -> Result<(), DiskError> {
        frame::seal(frame, frame::seed(self.folder.identity, self.end));
        let mut offset = folder::offset(self.first, self.end);
        let is_full = offset + frame.len() as u64 > self.segment_bytes;
        if is_full && self.end > self.first {
            self.file = create(&self.folder, &self.spares, self.segment_bytes, self.end)?;
            self.first = self.end;
            offset = folder::offset(self.first, self.end);
        }
        self.file.write_at(frame, offset)?;
        self.file.sync()?;
        self.end = self.end.behind(frame.len());
        Ok(())
    }

    /// Cuts off what was reserved: who opens the log again need not search there.
    pub(super) fn finish(&self) -> Result<(), DiskError> {
        self.file.truncate(folder::offset(self.first, self.end))?;
        self.file.sync()
    }
}

/// Makes the segment that begins at a position. All before it is safe.
fn create(folder: &Folder, spares: &Spares, segment_bytes: u64, first: Lsn) -> Result<Box<dyn DiskFile>, DiskError> {
    let (path, mode) = match spares.take() {
        Some(path) => (path, OpenMode::Write),
        None => (folder.spare(first), OpenMode::Create),
    };
    let file = folder.disk.open(&path, mode)?;
    file.allocate(segment_bytes)?;
    file.write_at(&folder.header(first), 0)?;
    file.sync()?;
    let segment = folder.segment(first);
    folder.disk.rename(&path, &segment)?;
    folder.sync()?;
    // Under its new name, so that errors name it.
    folder.disk.open(&segment, OpenMode::Write)
}
