//! The folder of the log: the names of segments, and their headers. `docs/format.md` describes every byte.
//!
//! A segment has its name only once its header, and all of the segment before it, are safe. So there is never a gap, and no
//! segment but the last can have been torn by a crash. Under another name lie files that are kept to become segments: the
//! next one, whose header is being written, and old ones whose records nobody needs.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use crate::disk::{Disk, DiskError, DiskFile, OpenMode};

use super::error::LogError;
use super::frame::ALIGNMENT;
use super::lsn::Lsn;

/// The version of the format that this program reads and writes.
const VERSION: u32 = 1;

/// Magic bytes, version, four zeros, database, first position, checksum.
pub(super) const HEADER_BYTES: usize = 40;

const _: () = assert!(HEADER_BYTES.is_multiple_of(ALIGNMENT));

/// No segment begins behind it, so that positions and offsets are computed without overflow.
const FIRST_MAX: u64 = 1 << 62;

/// As in native files: the high bit and the line break show a transfer that took the file for text.
const MAGIC: [u8; 8] = [0x8C, b'L', b'S', b'L', b'O', b'G', b'\r', b'\n'];

/// Where the log of a database is.
#[derive(Clone, Debug)]
pub(super) struct Folder {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) path: PathBuf,
    /// What tells the database from all others.
    pub(super) identity: u64,
}

impl Folder {
    /// The first positions of all segments, in their order.
    pub(super) fn segments(&self) -> Result<Vec<Lsn>, DiskError> {
        let names = self.disk.list(&self.path)?;
        let mut firsts: Vec<Lsn> = names.iter().filter_map(|name| first_of(name, "log")).collect();
        firsts.sort_unstable();
        Ok(firsts)
    }

    /// The files that are kept to become segments.
    pub(super) fn spares(&self) -> Result<Vec<PathBuf>, DiskError> {
        let names = self.disk.list(&self.path)?;
        Ok(names.iter().filter(|name| first_of(name, "spare").is_some()).map(|name| self.path.join(name)).collect())
    }

    /// The name of the segment that begins at a position.
    pub(super) fn segment(&self, first: Lsn) -> PathBuf {
        self.path.join(format!("{:016x}.log", first.get()))
    }

    /// The name of a file that is to become a segment: of a new one that will begin at this position, or of an old one that
    /// did.
    pub(super) fn spare(&self, first: Lsn) -> PathBuf {
        self.path.join(format!("{:016x}.spare", first.get()))
    }

    /// Makes the changes of names safe.
    pub(super) fn sync(&self) -> Result<(), DiskError> {
        self.disk.sync_directory(&self.path)
    }

    /// The header of the segment that begins at a position.
    pub(super) fn header(&self, first: Lsn) -> [u8; HEADER_BYTES] {
        let mut header = [0; HEADER_BYTES];
        header[..8].copy_from_slice(&MAGIC);
        header[8..12].copy_from_slice(&VERSION.to_le_bytes());
        header[16..24].copy_from_slice(&self.identity.to_le_bytes());
        header[24..32].copy_from_slice(&first.get().to_le_bytes());
        let checksum = xxh3_64(&header[..32]);
        header[32..].copy_from_slice(&checksum.to_le_bytes());
        header
    }

    /// Opens a segment to read it, and checks its header.
    pub(super) fn open(&self, first: Lsn) -> Result<Box<dyn DiskFile>, LogError> {
        let path = self.segment(first);
        let file = self.disk.open(&path, OpenMode::Read)?;
        let mut header = [0; HEADER_BYTES];
        let bytes = file.read_at(&mut header, 0)?;
        self.check_header(&path, &header[..bytes], first)?;
        Ok(file)
    }

    fn check_header(&self, path: &Path, header: &[u8], first: Lsn) -> Result<(), LogError> {
        let file = || path.to_owned();
        let damaged =
            |reason: &str| LogError::Damaged { file: file(), offset: 0, lsn: first, reason: reason.to_owned() };
        let Ok(header) = <&[u8; HEADER_BYTES]>::try_from(header) else {
            return Err(damaged("the file ends within its header"));
        };
        if header[..8] != MAGIC {
            return Err(LogError::Foreign { file: file() });
        }
        let [v0, v1, v2, v3] = header[8..12] else { unreachable!("four bytes") };
        let version = u32::from_le_bytes([v0, v1, v2, v3]);
        if version != VERSION {
            return Err(LogError::Version { file: file(), found: version, supported: VERSION });
        }
        let word = |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().expect("eight bytes"));
        if xxh3_64(&header[..32]) != word(32) {
            return Err(damaged("the checksum of the header does not fit it"));
        }
        if word(16) != self.identity {
            return Err(LogError::OtherDatabase { file: file(), found: word(16), expected: self.identity });
        }
        if *header != self.header(first) {
            return Err(damaged("the header is not that of a segment of this name"));
        }
        Ok(())
    }
}

/// Where in the file of the segment that begins at `first` a position lies.
pub(super) fn offset(first: Lsn, lsn: Lsn) -> u64 {
    HEADER_BYTES as u64 + (lsn.get() - first.get())
}

/// The position that a file's name tells, if it is named as a file of this kind.
fn first_of(name: &OsStr, ending: &str) -> Option<Lsn> {
    let (digits, found) = name.to_str()?.split_once('.')?;
    let is_number = digits.len() == 16 && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if !is_number || found != ending {
        return None;
    }
    let first = u64::from_str_radix(digits, 16).ok().filter(|first| *first <= FIRST_MAX)?;
    first.is_multiple_of(ALIGNMENT as u64).then_some(Lsn::new(first))
}
