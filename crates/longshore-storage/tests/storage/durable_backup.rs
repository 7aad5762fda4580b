//! Backups, one thing at a time: each is a database that opens, shares what did not change, and is refused until it is
//! complete.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use longshore_simdisk::{Fault, SimDisk};
use longshore_storage::data_directory::{BackupReport, DataDirectory, DirectoryError, DirectoryOptions, Recovered};
use longshore_storage::disk::{Disk, DiskError, DiskFile, DiskLock, OpenMode, SystemDisk};
use longshore_storage::{Arena, Isolation, Memory, MergeKind, Relation, RelationId, RowId, Transactions, key};
use longshore_testing::Random;

use crate::durable_support::{PATH, dyn_disk};
use crate::redo_support::{join, rows_by_id};
use crate::support::{buffers, id_and_text, random_rows};

struct Database {
    transactions: Arc<Transactions>,
    directory: DataDirectory,
    relation: Relation,
    /// One with few rows.
    small: Relation,
}

fn options() -> DirectoryOptions {
    DirectoryOptions { write_delay: None, threads: 2, ..DirectoryOptions::default() }
}

fn create(disk: &Arc<dyn Disk>, path: &Path) -> Database {
    let transactions = Transactions::new();
    let directory = DataDirectory::create(disk, path, &transactions, options()).unwrap();
    let [relation, small] = ["t", "small"].map(|name| {
        let relation = Relation::in_database(id_and_text(), Memory::new(None), &transactions).with_name(name);
        join(&relation);
        relation
    });
    Database { transactions, directory, relation, small }
}

fn read(disk: &Arc<dyn Disk>, path: &Path) -> Result<Recovered, DirectoryError> {
    DataDirectory::read(disk, path, &Memory::new(None), &Transactions::new(), 1)
}

impl Database {
    fn insert(&self, id: i64) {
        let mut t = self.transactions.begin(Isolation::Snapshot);
        t.insert(&self.small, key![id, "a text that is long enough for a heap"]).unwrap();
        self.transactions.wait_until_safe(t.commit().unwrap()).unwrap();
    }

    /// Appends rows that get a block file of their own.
    fn append(&self, seed: u64) {
        let rows = random_rows(&mut Random::new(seed), self.relation.schema(), 0, 9000);
        let mut arena = Arena::new(Arc::clone(self.relation.memory()), 1 << 20);
        let append = self.relation.begin_append(MergeKind::Chunk);
        append.merge(0, buffers(self.relation.schema(), &rows, &mut arena)).unwrap();
        append.commit().unwrap();
    }

    fn backup(&self, path: &Path, previous: Option<&Path>) -> Result<BackupReport, DirectoryError> {
        let target = self.directory.begin_backup(path, previous)?;
        let files = self.directory.begin_checkpoint()?.write_for_backup(b"catalog")?;
        target.write(&files, &|_| true)
    }
}

#[test]
fn a_backup_opens_and_shares_what_did_not_change() {
    let folder = tempfile::tempdir().unwrap();
    let (disk, at) = (Arc::new(SystemDisk) as Arc<dyn Disk>, |name: &str| folder.path().join(name));
    let db = create(&disk, &at("db"));
    db.append(1);
    db.insert(1);
    let first = rows_by_id(&db.relation.snapshot());
    let report = db.backup(&at("one"), None).unwrap();
    assert_eq!((report.files_copied, report.files_shared), (3, 0));
    db.append(2);
    db.insert(2);
    let second = rows_by_id(&db.relation.snapshot());
    let report = db.backup(&at("two"), Some(&at("one"))).unwrap();
    // The first large one; the small one is in a file with the second by now.
    assert_eq!((report.files_copied, report.files_shared), (3, 1));
    assert!(report.bytes_shared > report.bytes_copied / 3);
    let report = db.backup(&at("three"), Some(&at("two"))).unwrap();
    assert_eq!((report.files_copied, report.files_shared), (1, 3));
    db.insert(3);
    // None needs another.
    std::fs::remove_dir_all(at("one")).unwrap();
    std::fs::remove_dir_all(at("two")).unwrap();
    let recovered = read(&disk, &at("three")).unwrap();
    assert_eq!(recovered.catalog, b"catalog");
    assert!(rows_by_id(&recovered.relations[&RelationId(1)].snapshot()) == second);
    // It is a database that goes on by itself.
    let (transactions, memory) = (Transactions::new(), Memory::new(None));
    let (directory, mut recovered) =
        DataDirectory::open(&disk, &at("three"), &memory, &transactions, options()).unwrap();
    let mut take = |id| recovered.relations.remove(&RelationId(id)).unwrap();
    let restored = Database { transactions, directory, relation: take(1), small: take(2) };
    restored.insert(7);
    restored.directory.begin_checkpoint().unwrap().write(b"catalog").unwrap();
    restored.append(3);
    // Of the file that both have made since, each has its own: a backup of the one shares none with the other.
    let report = restored.backup(&at("four"), None).unwrap();
    assert_eq!(report.files_shared, 0);
    db.append(4);
    db.directory.begin_checkpoint().unwrap().write(b"catalog").unwrap();
    db.append(5);
    let rows = rows_by_id(&db.relation.snapshot());
    db.backup(&at("five"), Some(&at("four"))).unwrap();
    assert!(rows_by_id(&read(&disk, &at("five")).unwrap().relations[&RelationId(1)].snapshot()) == rows);
    assert_eq!(first.len(), 9000);
}

/// A disk whose directories are on different file systems.
#[derive(Debug)]
struct WithoutLinks(SimDisk);

impl Disk for WithoutLinks {
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Box<dyn DiskFile>, DiskError> {
        self.0.open(path, mode)
    }

    fn create_directory(&self, path: &Path) -> Result<(), DiskError> {
        self.0.create_directory(path)
    }

    fn sync_directory(&self, path: &Path) -> Result<(), DiskError> {
        self.0.sync_directory(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        self.0.rename(from, to)
    }

    fn link(&self, _: &Path, to: &Path) -> Result<(), DiskError> {
        Err(DiskError::io(to, "link it to a file that is there", ErrorKind::CrossesDevices.into()))
    }

    fn remove(&self, path: &Path) -> Result<(), DiskError> {
        self.0.remove(path)
    }

    fn list(&self, directory: &Path) -> Result<Vec<OsString>, DiskError> {
        self.0.list(directory)
    }

    fn lock(&self, path: &Path) -> Result<Box<dyn DiskLock>, DiskError> {
        self.0.lock(path)
    }
}

#[test]
fn what_cannot_be_shared_is_copied() {
    let disk = Arc::new(WithoutLinks(SimDisk::new(6))) as Arc<dyn Disk>;
    let db = create(&disk, Path::new(PATH));
    db.append(1);
    let rows = rows_by_id(&db.relation.snapshot());
    db.backup(Path::new("/one"), None).unwrap();
    let report = db.backup(Path::new("/two"), Some(Path::new("/one"))).unwrap();
    assert_eq!((report.files_copied, report.files_shared), (2, 0));
    assert!(rows_by_id(&read(&disk, Path::new("/two")).unwrap().relations[&RelationId(1)].snapshot()) == rows);
}

#[test]
fn checkpoints_leave_the_files_that_a_backup_reads() {
    let (disk, backup) = (dyn_disk(&SimDisk::new(1)), Path::new("/backup"));
    let db = create(&disk, Path::new(PATH));
    db.append(1);
    let rows = rows_by_id(&db.relation.snapshot());
    let target = db.directory.begin_backup(backup, None).unwrap();
    let files = db.directory.begin_checkpoint().unwrap().write_for_backup(&[]).unwrap();
    let mut t = db.transactions.begin(Isolation::Snapshot);
    t.delete(&db.relation, RowId::new(0, 5)).unwrap();
    t.commit().unwrap();
    let checkpoint = || db.directory.begin_checkpoint().unwrap().write(&[]).unwrap();
    checkpoint();
    let blocks = || disk.list(&Path::new(PATH).join("blocks")).unwrap().len();
    assert_eq!(blocks(), 2);
    target.write(&files, &|_| true).unwrap();
    drop(files);
    checkpoint();
    assert_eq!(blocks(), 1, "they go once the backup has ended");
    assert!(rows_by_id(&read(&disk, backup).unwrap().relations[&RelationId(1)].snapshot()) == rows);
}

#[test]
fn directories_with_other_things_are_left_alone() {
    let disk = dyn_disk(&SimDisk::new(2));
    let db = create(&disk, Path::new(PATH));
    let refused = |path: &str, previous: Option<&str>| {
        db.backup(Path::new(path), previous.map(Path::new)).unwrap_err().to_string()
    };
    assert!(refused(PATH, None).contains("there is a database already"), "{}", refused(PATH, None));
    disk.create_directory(Path::new("/other")).unwrap();
    disk.open(Path::new("/other/precious"), OpenMode::Create).unwrap();
    assert!(refused("/other", None).contains("precious"));
    assert_eq!(disk.list(Path::new("/other")).unwrap(), ["precious"], "nothing is written before it is refused");
    assert!(refused("/missing/backup", None).contains("cannot create the directory"));
    assert!(refused("/new", Some("/other")).contains("there is no database"));
    let stranger = create(&disk, Path::new("/stranger"));
    stranger.directory.close().unwrap();
    assert!(refused("/new", Some("/stranger")).contains("a backup of another database"));
    assert!(disk.list(Path::new("/new")).is_err());
    // Two at a time.
    let target = db.directory.begin_backup(Path::new("/new"), None).unwrap();
    assert!(refused("/new", None).contains("holds the lock"));
    drop(target);
    db.backup(Path::new("/new"), None).unwrap();
}

#[test]
fn one_that_was_cut_short_is_refused_and_written_again() {
    let sim = SimDisk::new(3);
    let (disk, backup) = (dyn_disk(&sim), PathBuf::from("/backup"));
    let db = create(&disk, Path::new(PATH));
    db.append(1);
    db.backup(Path::new("/first"), None).unwrap();
    db.insert(1);
    let rows = rows_by_id(&db.relation.snapshot());
    let target = db.directory.begin_backup(&backup, Some(Path::new("/first"))).unwrap();
    let files = db.directory.begin_checkpoint().unwrap().write_for_backup(&[]).unwrap();
    sim.fail_at(sim.operations() + 12, Fault::Full);
    assert!(target.write(&files, &|_| true).unwrap_err().is_full());
    sim.heal();
    drop(files);
    let message = "/backup: the backup that was to be written here was cut short; write it again with BACKUP DATABASE TO, or \
                   remove the directory";
    assert_eq!(read(&disk, &backup).unwrap_err().to_string(), message);
    let made = DataDirectory::create(&disk, &backup, &Transactions::new(), options());
    assert_eq!(made.unwrap_err().to_string(), message);
    assert_eq!(db.backup(Path::new("/other"), Some(&backup)).unwrap_err().to_string(), message);
    db.backup(&backup, Some(Path::new("/first"))).unwrap();
    assert!(rows_by_id(&read(&disk, &backup).unwrap().relations[&RelationId(1)].snapshot()) == rows);
}

#[test]
fn damage_is_not_copied() {
    let disk = dyn_disk(&SimDisk::new(4));
    let db = create(&disk, Path::new(PATH));
    db.append(1);
    let flip = |path: &Path| {
        let file = disk.open(path, OpenMode::Write).unwrap();
        let (mut byte, at) = ([0], file.length().unwrap() - 1);
        file.read_at(&mut byte, at).unwrap();
        file.write_at(&[byte[0] ^ 1], at).unwrap();
    };
    db.backup(Path::new("/first"), None).unwrap();
    let block = Path::new(PATH).join("blocks").join("0000000000000000.blocks");
    flip(&block);
    let error = db.backup(Path::new("/second"), None).unwrap_err().to_string();
    assert!(error.starts_with(&format!("{}: offset ", block.display())), "{error}");
    assert!(
        error.contains("(t, rows 0 to 65535): column ") && error.contains("the checksum does not match"),
        "{error}"
    );
}

#[test]
fn a_database_is_dead_once_its_directory_is_gone() {
    let sim = SimDisk::new(5);
    let disk = dyn_disk(&sim);
    let Database { transactions, directory, relation, .. } = create(&disk, Path::new(PATH));
    let insert = |id: i64| {
        let mut t = transactions.begin(Isolation::Snapshot);
        t.insert(&relation, key![id, "a text"]).unwrap();
        t.commit()
    };
    let commit = insert(1).unwrap();
    drop(directory);
    let error = transactions.wait_until_safe(commit).unwrap_err().to_string();
    assert!(error.contains("the log was closed"), "{error}");
    let changes = sim.changes();
    let error = insert(2).unwrap_err().to_string();
    assert!(error.contains("the log was closed"), "{error}");
    let rows = random_rows(&mut Random::new(1), relation.schema(), 0, 9000);
    let mut arena = Arena::new(Arc::clone(relation.memory()), 1 << 20);
    let append = relation.begin_append(MergeKind::Chunk);
    let error = append.merge(0, buffers(relation.schema(), &rows, &mut arena)).unwrap_err().to_string();
    assert!(error.contains("the database is closed"), "{error}");
    assert_eq!(sim.changes(), changes, "nothing is written to a directory that somebody else may have locked");
    DataDirectory::open(&disk, Path::new(PATH), &Memory::new(None), &Transactions::new(), options()).unwrap();
}
