//! Durable databases: how one is made in a directory or comes back from it, and how it is closed.
//!
//! What was safe on disk comes back: the rows as the last checkpoint and the log behind it have them (`longshore-storage`), and
//! the catalog by what it has logged itself (`catalog::image`). Indexes are built again from the rows.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use longshore_storage::Replayed;
use longshore_storage::data_directory::{DataDirectory, DirectoryError, DirectoryOptions, Recovered};
use longshore_storage::disk::{Disk, SystemDisk};
use longshore_storage::log::LogOptions;

use crate::catalog::{CatalogLog, Image};
use crate::database::Durable;
use crate::statement::restore;
use crate::{Config, Database, Durability, Error, ErrorKind};

/// How often a database is read that others write, before what is found there counts as damage.
pub(crate) const READ_TRIES: usize = 5;

/// How many segments of the log `max_wal_size` has room for, at least: each takes its whole length on disk from the start.
const SEGMENTS_MIN: u64 = 8;

impl Database {
    /// Opens the durable database in a directory; makes one if there is none. What commits is safe on disk when its statement
    /// returns.
    ///
    /// Dropped, it is closed; [`Database::close`] also says whether that went well.
    ///
    /// # Errors
    /// As [`Database::open`]; when somebody else has it open, who is named; when it is damaged, or the disk refuses an
    /// operation; and when it is to be read only and there is none.
    pub fn open_directory(path: &Path, config: Config, durability: &Durability) -> Result<Arc<Self>, Error> {
        Self::open_on(&(Arc::new(SystemDisk) as Arc<dyn Disk>), path, config, durability)
    }

    /// The same on a disk that the caller brings, for tests that let it fail.
    ///
    /// # Errors
    /// As [`Database::open_directory`].
    pub fn open_on(
        disk: &Arc<dyn Disk>,
        path: &Path,
        config: Config,
        durability: &Durability,
    ) -> Result<Arc<Self>, Error> {
        if durability.read_only {
            return Self::open_read_only(disk, path, &config);
        }
        let database = Self::open(config)?;
        let (memory, transactions, threads) = (&database.memory, &database.transactions, database.config.threads);
        let options =
            DirectoryOptions { log: log_options(durability), write_delay: Some(durability.wal_writer_delay), threads };
        let (directory, recovered) = if DataDirectory::exists(disk, path)? {
            DataDirectory::open(disk, path, memory, transactions, options)?
        } else {
            let directory = DataDirectory::create(disk, path, transactions, options)?;
            let (relations, replayed) = (BTreeMap::new(), Replayed::default());
            (directory, Recovered { relations, catalog: Vec::new(), payloads: Vec::new(), replayed })
        };
        database.restore(recovered, true)?;
        database.catalog.forget_lost_loads(&database.transactions)?;
        database.set_durable(Durable::start(directory, &database.catalog, durability)?);
        Ok(database)
    }

    /// Opens one that others may have open for writing: where they make a checkpoint meanwhile, files go that are being read,
    /// and it is read again.
    fn open_read_only(disk: &Arc<dyn Disk>, path: &Path, config: &Config) -> Result<Arc<Self>, Error> {
        let mut tries = READ_TRIES;
        loop {
            let database = Self::open(config.clone())?;
            let (memory, transactions, threads) = (&database.memory, &database.transactions, database.config.threads);
            tries -= 1;
            match DataDirectory::read(disk, path, memory, transactions, threads) {
                Ok(recovered) => {
                    database.set_read_only();
                    database.restore(recovered, false)?;
                    return Ok(database);
                }
                Err(error @ (DirectoryError::Missing { .. } | DirectoryError::IncompleteBackup { .. })) => {
                    return Err(error.into());
                }
                Err(error) if tries == 0 => return Err(error.into()),
                Err(_) => {}
            }
        }
    }

    /// Closes a durable database: makes a checkpoint, so that nothing has to be done again when it is opened. One in memory is
    /// gone.
    ///
    /// # Errors
    /// When sessions or transactions of it are left, or the disk refuses an operation; what was committed is safe all the
    /// same.
    pub fn close(self: Arc<Self>) -> Result<(), Error> {
        match Arc::try_unwrap(self) {
            Ok(mut database) => database.shut_down(),
            Err(_) => Err(Error::new(
                ErrorKind::State,
                "the database is still in use, so that it is not closed; end its sessions and transactions first",
            )),
        }
    }

    /// Takes in what came back.
    pub(crate) fn restore(self: &Arc<Self>, recovered: Recovered, is_logged: bool) -> Result<(), Error> {
        let image = Image::of(&recovered)?;
        let relations = recovered.relations;
        if is_logged {
            self.catalog.log_to(CatalogLog::new(&self.transactions, image.next_sequence));
        }
        self.catalog.restore(image, relations, self.config.threads)?;
        self.catalog.name_superuser(&self.config.superuser)?;
        restore::bind_references(self)
    }
}

/// How the log is written.
fn log_options(durability: &Durability) -> LogOptions {
    let usual = LogOptions::default();
    LogOptions { segment_bytes: usual.segment_bytes.min(durability.max_wal_size / SEGMENTS_MIN), ..usual }
}

impl From<DirectoryError> for Error {
    fn from(error: DirectoryError) -> Self {
        let kind = match &error {
            DirectoryError::Missing { .. } | DirectoryError::IncompleteBackup { .. } => ErrorKind::NotFound,
            DirectoryError::Exists { .. } | DirectoryError::NotEmpty { .. } => ErrorKind::Exists,
            DirectoryError::Foreign { .. }
            | DirectoryError::Version { .. }
            | DirectoryError::OtherDatabase { .. }
            | DirectoryError::RecordVersion { .. }
            | DirectoryError::Damaged { .. }
            | DirectoryError::Replay { .. } => ErrorKind::Damaged,
            DirectoryError::OutOfMemory(_) => ErrorKind::Memory,
            DirectoryError::OtherBackup { .. } => ErrorKind::Invalid,
            DirectoryError::Stopped => return Self::cancelled(),
            DirectoryError::CheckpointRuns => ErrorKind::State,
            DirectoryError::Disk(_) | DirectoryError::Log(_) | DirectoryError::Thread(_) => ErrorKind::Io,
        };
        Self::new(kind, error.to_string())
    }
}
