//! Databases whose changes are logged, and how they come back from their logs.

use std::sync::Arc;

use longshore_storage::log::Lsn;
use longshore_storage::{RedoLog, Replay, Replayed};

use crate::catalog::{CatalogLog, Image};
use crate::statement::restore;
use crate::{Config, Database, Error};

impl Database {
    /// Opens an empty database that hands the records of all its commits to a log.
    ///
    /// # Errors
    /// As [`Database::open`].
    pub fn open_logged(config: Config, log: Arc<dyn RedoLog>) -> Result<Arc<Self>, Error> {
        let database = Self::open(config)?;
        database.transactions.log_to(log);
        database.catalog.log_to(CatalogLog::new(&database.transactions, 0));
        Ok(database)
    }

    /// Opens a database as the records of a log left it. It has no log itself.
    ///
    /// # Errors
    /// As [`Database::open`], and when the records are not those of a database.
    pub fn open_replayed(config: Config, records: &[(Lsn, &[u8])]) -> Result<(Arc<Self>, Replayed), Error> {
        let database = Self::open(config)?;
        let mut replay = Replay::new(&database.transactions, &database.memory);
        let (mut image, mut failed) = (Image::default(), None);
        let replayed = replay.apply(records, database.config.threads, &mut |_, payload| {
            if failed.is_none() {
                failed = image.apply(payload).err();
            }
        })?;
        if let Some(error) = failed {
            return Err(error);
        }
        database.catalog.restore(image, replay.finish(), database.config.threads)?;
        restore::bind_references(&database)?;
        Ok((database, replayed))
    }
}
