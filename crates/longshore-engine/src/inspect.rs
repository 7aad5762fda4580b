//! Directories of durable databases looked at: whether all in them is sound (`check`), what is sound if not all is
//! (`Database::open_damaged`), and what their logs say (`log`). Nothing is ever written.
//!
//! Not here: how damage is found and left behind (`longshore-storage`).

mod check;
mod constraints;
mod log;

pub use check::CheckReport;
pub use log::LogLine;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use longshore_storage::data_directory::{DataDirectory, Salvaged};
use longshore_storage::disk::{Disk, SystemDisk};
use longshore_storage::{CHUNK_ROWS_MAX, RelationId};

use crate::catalog::{Image, TableImage};
use crate::durable::READ_TRIES;
use crate::sql::names;
use crate::{Config, Database, Error};

impl Database {
    /// Opens what is sound of the durable database in a directory, to be read only; also says what is missing, a line for each.
    /// If nothing is damaged, it is as one that was opened to be read only.
    ///
    /// # Errors
    /// When there is no database, its manifest or its catalog is damaged, or memory runs out.
    pub fn open_damaged(path: &Path, config: &Config) -> Result<(Arc<Self>, Vec<String>), Error> {
        Self::open_damaged_on(&(Arc::new(SystemDisk) as Arc<dyn Disk>), path, config)
    }

    /// The same on a disk that the caller brings, for tests that damage it.
    ///
    /// # Errors
    /// As [`Database::open_damaged`].
    pub fn open_damaged_on(
        disk: &Arc<dyn Disk>,
        path: &Path,
        config: &Config,
    ) -> Result<(Arc<Self>, Vec<String>), Error> {
        let (database, salvaged) = salvage(disk, path, config)?;
        let image = Image::of(&salvaged.recovered)?;
        let mut missing: Vec<String> = salvaged.damage.iter().map(ToString::to_string).collect();
        missing.extend(missing_rows(&salvaged.lost, &image.tables));
        database.set_read_only();
        database.restore(salvaged.recovered, false)?;
        Ok((database, missing))
    }
}

/// What is sound of the database in a directory, and an empty database to take it in. Where somebody makes a checkpoint
/// meanwhile, it is read again.
fn salvage(disk: &Arc<dyn Disk>, path: &Path, config: &Config) -> Result<(Arc<Database>, Salvaged), Error> {
    let mut tries = READ_TRIES;
    loop {
        let database = Database::open(config.clone())?;
        let (memory, transactions, threads) = (&database.memory, &database.transactions, database.config.threads);
        tries -= 1;
        let salvaged = DataDirectory::salvage(disk, path, memory, transactions, threads)?;
        if salvaged.damage.is_empty() || !salvaged.is_stale || tries == 0 {
            return Ok((database, salvaged));
        }
    }
}

/// Which rows are missing of which tables, a line for each table.
fn missing_rows(
    lost: &BTreeMap<RelationId, BTreeSet<u32>>,
    tables: &BTreeMap<String, TableImage>,
) -> impl Iterator<Item = String> {
    lost.iter().map(|(relation, places)| {
        let table = tables.iter().find(|(_, table)| table.relation == *relation);
        let table = table.map_or_else(|| format!("relation {relation}"), |(name, _)| names::quoted(name));
        // Of places one behind the other, the first and the last.
        let mut stretches: Vec<(u64, u64)> = Vec::new();
        for &place in places {
            let place = u64::from(place);
            match stretches.last_mut() {
                Some((_, last)) if *last + 1 == place => *last = place,
                _ => stretches.push((place, place)),
            }
        }
        let rows = CHUNK_ROWS_MAX as u64;
        let stretches: Vec<String> = stretches
            .into_iter()
            .map(|(first, last)| format!("{} to {}", first * rows, (last + 1) * rows - 1))
            .collect();
        let chunks = if places.len() == 1 { "1 chunk is".to_owned() } else { format!("{} chunks are", places.len()) };
        format!("table {table}: {chunks} missing, with the rows {}", stretches.join(", "))
    })
}
