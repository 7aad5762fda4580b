//! The disk behind its lock: operations by path and number, and what a crash makes of them.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use longshore_storage::disk::OpenMode;
use longshore_testing::Random;

use crate::faults::{Effect, Faults, Outcome};
use crate::file::Bytes;
use crate::names::{Names, Node};

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) faults: Faults,
    random: Random,
    names: Names,
    files: Vec<Bytes>,
    locks: BTreeSet<PathBuf>,
    bytes_written: u64,
}

impl State {
    pub(crate) fn new(random: Random) -> State {
        State {
            faults: Faults::default(),
            random,
            names: Names::new(),
            files: Vec::new(),
            locks: BTreeSet::new(),
            bytes_written: 0,
        }
    }

    pub(crate) fn bytes_written(&self) -> u64 {
        self.bytes_written
    }

    /// What a crash now leaves: files and names that are safe, some of the others, no lock and no fault.
    pub(crate) fn survivor(&mut self) -> State {
        let mut random = Random::new(self.random.next());
        let names = self.names.survivor(&mut random);
        let files = self.files.iter().map(|bytes| bytes.survivor(&mut random)).collect();
        State { names, files, ..State::new(random) }
    }

    /// Counts an operation that reads.
    fn look(&mut self) -> io::Result<()> {
        match self.faults.next(Effect::None) {
            Outcome::Done => Ok(()),
            Outcome::Fails(fault) => Err(fault.error()),
            Outcome::Crashes | Outcome::Dead => Err(dead()),
        }
    }

    /// Counts an operation that changes names: in a crash it may have happened or not.
    fn rename_something(&mut self, change: impl FnOnce(&mut Names)) -> io::Result<()> {
        match self.faults.next(Effect::Change) {
            Outcome::Done => {
                change(&mut self.names);
                Ok(())
            }
            Outcome::Crashes => {
                change(&mut self.names);
                Err(dead())
            }
            Outcome::Fails(fault) => Err(fault.error()),
            Outcome::Dead => Err(dead()),
        }
    }

    pub(crate) fn open(&mut self, path: &Path, mode: OpenMode) -> io::Result<usize> {
        match (self.names.get(path), mode) {
            (Some(Node::File(number)), OpenMode::Read | OpenMode::Write) => self.look().map(|()| number),
            (None, OpenMode::Create) if self.has_parent(path) => {
                let number = self.files.len();
                self.files.push(Bytes::default());
                self.rename_something(|names| names.make(path, Node::File(number)))?;
                Ok(number)
            }
            (None, _) => Err(io::ErrorKind::NotFound.into()),
            (Some(Node::Directory), _) => Err(io::ErrorKind::IsADirectory.into()),
            (Some(Node::File(_)), OpenMode::Create) => Err(io::ErrorKind::AlreadyExists.into()),
        }
    }

    pub(crate) fn create_directory(&mut self, path: &Path) -> io::Result<()> {
        if self.names.get(path).is_some() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        if !self.has_parent(path) {
            return Err(io::ErrorKind::NotFound.into());
        }
        self.rename_something(|names| names.make(path, Node::Directory))
    }

    pub(crate) fn sync_directory(&mut self, path: &Path) -> io::Result<()> {
        if !self.names.is_directory(path) {
            return Err(io::ErrorKind::NotFound.into());
        }
        match self.faults.next(Effect::Change) {
            Outcome::Done => self.names.sync(path),
            Outcome::Fails(fault) => return Err(fault.error()),
            Outcome::Crashes | Outcome::Dead => return Err(dead()),
        }
        Ok(())
    }

    /// # Panics
    /// If the directories differ: what a crash makes of that is not simulated.
    pub(crate) fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        assert_eq!(from.parent(), to.parent(), "a rename from one directory to another is not simulated");
        match (self.names.get(from), self.names.get(to)) {
            // Two names of one file stay, as POSIX has it.
            (Some(Node::File(number)), Some(Node::File(other))) if number == other => self.rename_something(|_| ()),
            (Some(Node::File(number)), None | Some(Node::File(_))) => {
                self.rename_something(|names| names.rename(from, to, Node::File(number)))
            }
            (None, _) => Err(io::ErrorKind::NotFound.into()),
            (Some(Node::Directory), _) | (_, Some(Node::Directory)) => Err(io::ErrorKind::IsADirectory.into()),
        }
    }

    pub(crate) fn link(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        match (self.names.get(from), self.names.get(to)) {
            (None, _) => Err(io::ErrorKind::NotFound.into()),
            (Some(_), Some(_)) => Err(io::ErrorKind::AlreadyExists.into()),
            (Some(_), None) if !self.has_parent(to) => Err(io::ErrorKind::NotFound.into()),
            (Some(Node::Directory), None) => Err(io::ErrorKind::PermissionDenied.into()),
            (Some(Node::File(number)), None) => self.rename_something(|names| names.make(to, Node::File(number))),
        }
    }

    pub(crate) fn remove(&mut self, path: &Path) -> io::Result<()> {
        match self.names.get(path) {
            Some(Node::File(_)) => self.rename_something(|names| names.remove(path)),
            Some(Node::Directory) => Err(io::ErrorKind::IsADirectory.into()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    pub(crate) fn list(&mut self, directory: &Path) -> io::Result<Vec<OsString>> {
        if !self.names.is_directory(directory) {
            return Err(io::ErrorKind::NotFound.into());
        }
        self.look()?;
        Ok(self.names.list(directory))
    }

    /// Whether the lock was free and is now held.
    pub(crate) fn lock(&mut self, path: &Path) -> io::Result<bool> {
        let mode = if self.names.get(path).is_some() { OpenMode::Write } else { OpenMode::Create };
        self.open(path, mode)?;
        Ok(self.locks.insert(path.to_owned()))
    }

    pub(crate) fn unlock(&mut self, path: &Path) {
        self.locks.remove(path);
    }

    pub(crate) fn read(&mut self, file: usize, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.look()?;
        Ok(self.files[file].read(buffer, offset))
    }

    pub(crate) fn write(&mut self, file: usize, bytes: &[u8], offset: u64) -> io::Result<()> {
        match self.faults.next(Effect::Change) {
            Outcome::Done => self.files[file].write(bytes, offset),
            Outcome::Crashes => {
                self.files[file].write(bytes, offset);
                return Err(dead());
            }
            Outcome::Fails(fault) => {
                self.files[file].write_some(bytes, offset, &mut self.random);
                return Err(fault.error());
            }
            Outcome::Dead => return Err(dead()),
        }
        self.bytes_written += bytes.len() as u64;
        Ok(())
    }

    pub(crate) fn truncate(&mut self, file: usize, length: u64) -> io::Result<()> {
        match self.faults.next(Effect::Change) {
            Outcome::Done => self.files[file].set_length(length),
            Outcome::Crashes => {
                self.files[file].set_length(length);
                return Err(dead());
            }
            Outcome::Fails(fault) => return Err(fault.error()),
            Outcome::Dead => return Err(dead()),
        }
        Ok(())
    }

    pub(crate) fn allocate(&mut self, file: usize, length: u64) -> io::Result<()> {
        let length = length.max(self.files[file].length());
        self.truncate(file, length)
    }

    pub(crate) fn sync(&mut self, file: usize) -> io::Result<()> {
        match self.faults.next(Effect::Change) {
            Outcome::Done => self.files[file].sync(),
            Outcome::Fails(fault) => {
                self.files[file].fail_to_sync(&mut self.random);
                return Err(fault.error());
            }
            Outcome::Crashes | Outcome::Dead => return Err(dead()),
        }
        Ok(())
    }

    pub(crate) fn length(&mut self, file: usize) -> io::Result<u64> {
        self.look()?;
        Ok(self.files[file].length())
    }

    fn has_parent(&self, path: &Path) -> bool {
        path.parent().is_some_and(|parent| self.names.is_directory(parent))
    }
}

fn dead() -> io::Error {
    io::Error::other("the simulated machine has crashed")
}
