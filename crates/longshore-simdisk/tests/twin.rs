//! While nothing fails, the simulated disk is one like that of the operating system.

#![allow(clippy::unwrap_used, reason = "this is test code")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use longshore_simdisk::SimDisk;
use longshore_storage::disk::{Disk, DiskError, DiskFile, OpenMode, SystemDisk};
use longshore_testing::{Random, share};

/// A disk, a folder of it, and the files that are open.
struct Machine<'a> {
    disk: &'a dyn Disk,
    folder: PathBuf,
    open: BTreeMap<usize, Box<dyn DiskFile>>,
}

/// What an operation says, without what differs from disk to disk: the folder, and the words of errors.
fn said<T: std::fmt::Debug>(result: Result<T, DiskError>) -> String {
    match result {
        Ok(value) => format!("{value:?}"),
        Err(DiskError::Io { source, .. }) => format!("{:?}", source.kind()),
        Err(DiskError::Locked { .. }) => "locked".to_owned(),
    }
}

impl Machine<'_> {
    fn step(&mut self, random: &mut Random) -> String {
        let names = ["a", "b", "c"].map(|name| self.folder.join(name));
        let path = names[random.below(names.len())].clone();
        let handle = random.below(3);
        let (offset, length) = (random.below(3000) as u64, 1 + random.below(3000));
        match random.below(13) {
            0 | 1 => {
                let mode = random.pick(&[OpenMode::Read, OpenMode::Write, OpenMode::Create]);
                match self.disk.open(&path, mode) {
                    Ok(file) => {
                        self.open.insert(handle, file);
                        "opened".to_owned()
                    }
                    Err(error) => said::<()>(Err(error)),
                }
            }
            2 => said(self.disk.rename(&path, &names[random.below(names.len())])),
            3 => said(self.disk.remove(&path)),
            4 => said(self.disk.list(&self.folder)),
            5 => said(self.disk.sync_directory(&self.folder)),
            6 => said(self.disk.list(&self.folder.join("missing"))),
            7 => said(self.disk.link(&path, &names[random.below(names.len())])),
            operation => {
                let Some(file) = self.open.get(&handle) else { return "not open".to_owned() };
                match operation {
                    8 | 9 => match file.write_at(&vec![random.byte(); length], offset) {
                        // A file that is open for reading alone: the words for that differ.
                        Err(_) => "refused".to_owned(),
                        Ok(()) => "written".to_owned(),
                    },
                    10 => file.truncate(offset).map_or("refused", |()| "cut").to_owned(),
                    11 => said(file.sync()),
                    _ => {
                        let mut buffer = vec![0; length];
                        let read = file.read_at(&mut buffer, offset);
                        format!("{} {} {buffer:?}", said(file.length()), said(read))
                    }
                }
            }
        }
    }
}

#[test]
fn both_say_the_same() {
    for seed in 0..share(100) as u64 {
        let folder = tempfile::tempdir().unwrap();
        let simulated = SimDisk::new(seed);
        let mut system = Machine { disk: &SystemDisk, folder: folder.path().to_owned(), open: BTreeMap::new() };
        let mut twin = Machine { disk: &simulated, folder: PathBuf::from("/"), open: BTreeMap::new() };
        let (mut one, mut other) = (Random::new(seed), Random::new(seed));
        for step in 0..200 {
            assert_eq!(system.step(&mut one), twin.step(&mut other), "seed {seed}, step {step}");
        }
    }
}

#[test]
fn directories_and_locks_are_those_of_the_system() {
    let folder = tempfile::tempdir().unwrap();
    let simulated = SimDisk::new(0);
    let run = |disk: &dyn Disk, root: &Path| {
        let directory = root.join("d");
        let mut said_all = vec![
            said(disk.create_directory(&directory.join("e"))),
            said(disk.create_directory(&directory)),
            said(disk.create_directory(&directory)),
            said(disk.open(&directory.join("f"), OpenMode::Create).map(|_| ())),
            said(disk.open(&root.join("g").join("f"), OpenMode::Create).map(|_| ())),
            said(disk.list(root)),
            said(disk.link(&directory.join("f"), &root.join("g").join("f"))),
            said(disk.link(&directory, &root.join("g"))),
            said(disk.link(&directory.join("f"), &root.join("g"))),
            said(disk.remove(&directory.join("f"))),
            said(disk.open(&root.join("g"), OpenMode::Write).map(|_| ())),
            said(disk.list(root)),
            said(disk.list(&directory)),
        ];
        let lock = disk.lock(&directory.join("lock")).unwrap();
        said_all.push(said(disk.lock(&directory.join("lock")).map(|_| ())));
        drop(lock);
        said_all.push(said(disk.lock(&directory.join("lock")).map(|_| ())));
        said_all
    };
    assert_eq!(run(&SystemDisk, folder.path()), run(&simulated, Path::new("/")));
}
