//! The native file format: how a relation is unloaded and loaded again without parsing text.
//!
//! *Instant Loading* (section 2 and 5.4) unloads a database as LZ4-compressed binary and reloads it three times as fast
//! as the CSV it came from. Here a relation becomes one file of columnar blocks, which are the packed columns as they lie in
//! memory (`packed`), with LZ4 only where it still finds something (`section`): an unload packs nothing anew, and a reload
//! unpacks nothing. `docs/format.md` describes every byte.
//!
//! Definitions
//! - A **block** is one column of one chunk (`block`); the **directory** lists the columns, the chunks and the blocks
//!   (`directory`).
//! - File = header, blocks, directory, trailer. Everything is little-endian.
//!   - header, 16 bytes: [`MAGIC`], version (4), zero (4)
//!   - trailer, 32 bytes: offset of the directory (8), its length (8), its xxh3 (8), [`MAGIC`] reversed
//!
//! Invariants
//! - Every byte is covered: header and trailer by comparison, the directory and every block by an xxh3 checksum, and
//!   blocks, directory and trailer lie one behind the other. A file with one byte changed, missing or added is refused.
//! - Nothing is allocated by a number from a file before the number has been checked against the length of the file,
//!   and nothing beyond the memory limit.
//! - The version grows with every change that an older program would misread; a program reads the versions it knows.
//!
//! Operations
//! - [`write()`]: workers take chunks from a counter, pack what is not packed, reserve their place in the file by an atomic addition and
//!   write there. The file gets its name when it is complete and safe on disk.
//! - [`read()`]: workers take chunks from a counter, read and check block by block, straight into the memory of the
//!   relation, whose order of rows is that of the unloaded one.
//!
//! Not here: several relations, names of tables, views (the engine's EXPORT and IMPORT).

mod block;
mod bounds;
mod column;
mod directory;
pub(crate) mod embedded;
mod error;
mod read;
mod section;
mod version1;
pub(crate) mod wire;
mod write;

use std::time::Duration;

pub use error::{NativeError, Place};
pub use read::read;
pub use write::write;

/// The first bytes of a file. The high bit and the line breaks show a transfer that took it for text.
pub const MAGIC: [u8; 8] = [0x8C, b'L', b'S', b'H', b'R', b'\r', b'\n', 0x1A];

/// The version that this program writes.
pub const VERSION: u32 = 2;

/// The oldest version that this program reads.
const VERSION_MIN: u32 = 1;

const HEADER_BYTES: usize = 16;
const TRAILER_BYTES: usize = 32;

/// Watches and stops an operation: called by the workers after every chunk with the bytes just written to or read from
/// the file; `false` cancels.
pub type NativeControl<'a> = &'a (dyn Fn(u64) -> bool + Sync);

/// What an unload or a reload did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NativeReport {
    /// Rows written or read.
    pub rows: u64,
    /// Length of the file.
    pub bytes_on_disk: u64,
    /// What the chunks take in memory.
    pub bytes_in_memory: u64,
    /// Time it took.
    pub seconds: f64,
}

impl NativeReport {
    fn new(rows: u64, bytes_on_disk: u64, bytes_in_memory: usize, time: Duration) -> NativeReport {
        NativeReport { rows, bytes_on_disk, bytes_in_memory: bytes_in_memory as u64, seconds: time.as_secs_f64() }
    }
}
