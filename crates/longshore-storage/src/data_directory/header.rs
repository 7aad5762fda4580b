//! The header that manifests and block files begin with: what it is, of which version, of which database, and its number.

use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use super::error::DirectoryError;
use crate::disk::DiskFile;

/// Magic bytes, version, four zeros, database, number, checksum.
pub(super) const HEADER_BYTES: usize = 40;

/// A kind of file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kind {
    pub(super) magic: [u8; 8],
    /// The version that is written; all up to it are read.
    pub(super) version: u32,
    /// In words.
    pub(super) name: &'static str,
}

/// The first bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) version: u32,
    /// What tells the database from all others.
    pub(super) identity: u64,
    /// What tells the file from others of its kind.
    pub(super) number: u64,
}

impl Header {
    pub(super) fn bytes(self, kind: Kind) -> [u8; HEADER_BYTES] {
        let mut header = [0; HEADER_BYTES];
        header[..8].copy_from_slice(&kind.magic);
        header[8..12].copy_from_slice(&self.version.to_le_bytes());
        header[16..24].copy_from_slice(&self.identity.to_le_bytes());
        header[24..32].copy_from_slice(&self.number.to_le_bytes());
        let checksum = xxh3_64(&header[..32]);
        header[32..].copy_from_slice(&checksum.to_le_bytes());
        header
    }

    /// The header of a file, which is one of its kind and of a version that this program knows.
    pub(super) fn read(file: &dyn DiskFile, path: &Path, kind: Kind) -> Result<Header, DirectoryError> {
        let mut bytes = [0; HEADER_BYTES];
        let read = file.read_at(&mut bytes, 0)?;
        Header::parse(&bytes[..read], path, kind)
    }

    fn parse(bytes: &[u8], path: &Path, kind: Kind) -> Result<Header, DirectoryError> {
        let damaged = |reason: &str| DirectoryError::damaged(path, 0, reason);
        if !kind.magic.starts_with(&bytes[..bytes.len().min(8)]) {
            return Err(DirectoryError::Foreign { file: path.to_owned(), kind: kind.name });
        }
        let Ok(bytes) = <&[u8; HEADER_BYTES]>::try_from(bytes) else {
            return Err(damaged("the file ends within its header"));
        };
        let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let version = word(8) as u32;
        if !(1..=kind.version).contains(&version) {
            return Err(DirectoryError::Version { file: path.to_owned(), found: version, supported: kind.version });
        }
        let header = Header { version, identity: word(16), number: word(24) };
        if header.bytes(kind) != *bytes {
            return Err(damaged("the checksum of the header does not fit it"));
        }
        Ok(header)
    }
}
