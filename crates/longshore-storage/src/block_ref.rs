//! Where a chunk is in the block files of its database, if it is there: chunks of large loads are written while the load
//! runs, and the record of the commit names them instead of repeating them.
//!
//! Not here: the files (`data_directory`).

use std::fmt;
use std::sync::Arc;

use crate::log::Lsn;

/// Where a chunk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockRef {
    /// The number of the file.
    pub(crate) file: u64,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    /// The first of the bytes, which have the checksums of the others.
    pub(crate) head_bytes: u32,
    /// Of the head.
    pub(crate) checksum: u64,
}

impl BlockRef {
    /// Whether a chunk may be there.
    pub(crate) fn is_possible(&self) -> bool {
        u64::from(self.head_bytes) <= self.bytes && self.offset.checked_add(self.bytes).is_some()
    }
}

/// A chunk that is in a file already. As long as somebody has this, the file stays.
#[derive(Clone, Debug)]
pub(crate) struct StoredBlock {
    pub(crate) block: BlockRef,
    pub(crate) file: Arc<dyn LoadFile>,
}

/// Why the file of a load does not take its chunks; it names the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NotStored(pub(crate) Arc<str>);

/// The file of a load.
pub(crate) trait LoadFile: fmt::Debug + Send + Sync {
    /// Makes all that was written to it safe; says whether the file is still there. It waits for the disk.
    ///
    /// # Errors
    ///
    /// When the disk refuses, now or before: then the file is given up.
    fn make_safe(&self) -> Result<bool, NotStored>;

    /// Whether it is safe and still there.
    fn is_safe(&self) -> bool;

    /// A record of the log names it, which ends here.
    fn named_by(&self, lsn: Lsn);
}
