//! What is sound of a database that is damaged: recovery that goes on behind damage, and says what is missing.
//!
//! A chunk that cannot be read is left out, and so is what the log changed of its rows later. Where the log is damaged, it ends.
//! Nothing is written.
//!
//! Not here: what recovery does (`recovery`), and whether the rows that came back obey their constraints (the layer above).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use super::DataDirectory;
use super::damage::Salvage;
use super::error::DirectoryError;
use super::folder::Folder;
use super::recovery::{self, Recovered, read_manifest};
use crate::disk::Disk;
use crate::manager::Transactions;
use crate::memory::Memory;
use crate::table::RelationId;

/// What came back of a database that may be damaged.
#[derive(Debug)]
pub struct Salvaged {
    /// What is sound.
    pub recovered: Recovered,
    /// All that is damaged, each by its file and the place in it; nothing if the database is sound.
    pub damage: Vec<DirectoryError>,
    /// Of each relation with chunks that are missing, their places: the upper parts of the ids of their rows.
    pub lost: BTreeMap<RelationId, BTreeSet<u32>>,
    /// Somebody has made a checkpoint meanwhile, so that what looks like damage may be none.
    pub is_stale: bool,
    /// Block files that were read.
    pub files: usize,
}

impl DataDirectory {
    /// Brings back what is sound of the database in a directory that nobody writes, in memory. Nothing is written.
    ///
    /// # Errors
    ///
    /// When there is no database, its manifest is damaged, or memory runs out.
    pub fn salvage(
        disk: &Arc<dyn Disk>,
        path: &Path,
        memory: &Arc<Memory>,
        transactions: &Arc<Transactions>,
        threads: usize,
    ) -> Result<Salvaged, DirectoryError> {
        let folder = Folder { disk: Arc::clone(disk), path: path.to_owned() };
        let salvage = Salvage::default();
        let restored = recovery::recover(&folder, memory, transactions, threads, Some(&salvage))?;
        let is_stale = read_manifest(&folder)?.number != restored.manifest.number;
        let (damage, lost) = salvage.found();
        Ok(Salvaged { recovered: restored.recovered, damage, lost, is_stale, files: restored.files.len() })
    }
}
