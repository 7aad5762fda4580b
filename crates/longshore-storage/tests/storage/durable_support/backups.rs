//! Backups at random: a complete one is what the database was at a moment, whatever happens later; any other is refused.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use longshore_simdisk::SimDisk;
use longshore_storage::data_directory::{DataDirectory, DirectoryError};
use longshore_storage::{Memory, Transactions};

use super::{Open, State, World, check_state, dyn_disk, emptied, failed};

/// No more directories than that.
const BACKUPS_MAX: usize = 2;

/// The backups of a world.
#[derive(Default)]
pub(crate) struct Backups(Vec<Backup>);

struct Backup {
    path: PathBuf,
    /// It was acknowledged that it is complete.
    is_done: bool,
    /// After which transaction it was begun, and what there was then.
    moment: Option<(usize, State)>,
}

impl World {
    /// Writes a backup, beside which others commit and make checkpoints. One that has failed is written again.
    pub(super) fn backup(&mut self, open: &mut Open) -> Result<(), String> {
        let at = match self.backups.0.iter().position(|backup| !backup.is_done) {
            Some(at) => at,
            None if self.backups.0.len() == BACKUPS_MAX => return Ok(()),
            None => {
                let path = PathBuf::from(format!("/backup{}", self.backups.0.len()));
                self.backups.0.push(Backup { path, is_done: false, moment: None });
                self.backups.0.len() - 1
            }
        };
        let previous = self.backups.0[..at].last().map(|backup| backup.path.clone()).filter(|_| self.random.once_in(2));
        let path = self.backups.0[at].path.clone();
        let target = match open.directory.begin_backup(&path, previous.as_deref()) {
            // The attempt before has failed when all but the last sync was done.
            Err(DirectoryError::Exists { .. }) if self.backups.0[at].moment.is_some() => return Ok(()),
            target => target.map_err(failed)?,
        };
        let number = self.states.len() - 1;
        // What was there before is not there any more.
        self.backups.0[at].moment = Some((number, self.last()));
        let checkpoint = open.directory.begin_checkpoint().map_err(failed)?;
        let files = checkpoint.write_for_backup(&(number as u64).to_le_bytes()).map_err(failed)?;
        self.safe = self.safe.max(number);
        if self.random.once_in(2) {
            self.beside(open)?;
        }
        if self.random.once_in(10) {
            let given_up = target.write(&files, &|_| false);
            return match given_up {
                // There was nothing to copy but the manifest.
                Ok(_) => {
                    self.backups.0[at].is_done = true;
                    Ok(())
                }
                Err(DirectoryError::Stopped) => Ok(()),
                Err(error) => Err(failed(error)),
            };
        }
        // Files are removed between those that are copied, if the backup does not keep them.
        let beside = RefCell::new((&mut *self, open, Ok(())));
        let written = target.write(&files, &|_| {
            let (world, open, done) = &mut *beside.borrow_mut();
            if done.is_ok() && world.random.once_in(4) {
                *done = world.beside(open);
            }
            true
        });
        let (_, _, done) = beside.into_inner();
        let report = written.map_err(failed)?;
        assert!(report.files_copied > 0 && (previous.is_some() || report.files_shared == 0));
        self.backups.0[at].is_done = true;
        done
    }

    /// What others do while a backup is written.
    fn beside(&mut self, open: &mut Open) -> Result<(), String> {
        let mut transaction = self.begin(open);
        let changes = self.change_rows(open, &mut transaction);
        let after = super::applied(self.last(), &changes);
        self.commit(open, transaction, after)?;
        self.checkpoint(open)
    }

    /// Compares all backups with what they are of.
    pub(super) fn check_backups(&self, disk: &SimDisk) -> Result<(), String> {
        for Backup { path, is_done, moment } in &self.backups.0 {
            let (memory, transactions) = (Memory::new(None), Transactions::new());
            match DataDirectory::read(&dyn_disk(disk), Path::new(path), &memory, &transactions, 1) {
                Ok(read) => {
                    let (number, state) = moment.as_ref().expect("nothing was written yet");
                    assert_eq!(read.catalog, (*number as u64).to_le_bytes());
                    assert!(read.payloads.is_empty());
                    check_state(&read.relations, &emptied(state));
                }
                Err(DirectoryError::Missing { .. } | DirectoryError::IncompleteBackup { .. }) if !is_done => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(())
    }
}
