//! Lineitem in a durable database: loaded so that it is safe when COPY returns, and there again when the database is opened.
//!
//! The load is measured beside the same one in memory, and beside a file of as many bytes that is written and synced. The
//! database is opened after a clean exit, and after a kill right behind the load, of which the log then names the chunks. The
//! rows are compared with the facts of the file before a time counts.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use longshore_load::{Control, InputFile, Source, Tuning, copy_from};
use longshore_storage::data_directory::{DataDirectory, DirectoryOptions};
use longshore_storage::disk::{Disk, OpenMode, SystemDisk};
use longshore_storage::{Isolation, Memory, Relation, RelationId, Transactions};

use crate::facts::{COLUMNS, Facts};
use crate::lineitem::{Blocks, DECIMAL_PRECISION, StoredAs, options, schema, timed_load};
use crate::measure::{Amount, Case, Measured, measure, threads_of};
use crate::text::{Lineitem, Text, lineitem};
use crate::{Failure, Settings};

/// Bytes that are written at a time to a file that is compared with.
const WRITE_BYTES: usize = 1 << 20;

struct Bench {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    file: Lineitem,
    /// Memory of relations before.
    memory: Arc<Memory>,
    /// Bytes of the block files of a database.
    block_bytes: Cell<u64>,
}

/// A database with lineitem, or yet without.
struct Database {
    directory: DataDirectory,
    relation: Relation,
}

pub(super) fn run(settings: &Settings) -> Result<Vec<Measured>, Failure> {
    let folder = settings.data.join(format!("recover-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let file = lineitem(&settings.data, settings.scale, Text::Plain)?;
    let (disk, memory) = (Arc::new(SystemDisk) as Arc<dyn Disk>, Memory::new(None));
    let bench = Bench { disk, folder: folder.clone(), file, memory, block_bytes: Cell::new(0) };
    let rows = bench.cases(settings);
    std::fs::remove_dir_all(folder)?;
    rows
}

impl Bench {
    fn cases(&self, settings: &Settings) -> Result<Vec<Measured>, Failure> {
        // Two that are opened again and again.
        let (clean, killed) = (self.folder.join("clean"), self.folder.join("killed"));
        for path in [&clean, &killed] {
            let db = self.create(path, settings.threads)?;
            self.load(&db, settings.threads)?;
            if path == &clean {
                db.directory.begin_checkpoint()?.write(&[])?;
                db.directory.close()?;
            }
        }
        self.block_bytes.set(bytes_in(&clean.join("blocks"))?);
        let amount = Amount::Bytes(self.file.bytes);
        let mut cases = Vec::new();
        for threads in settings.thread_counts() {
            let blocks = Blocks::Recycled(Arc::clone(&self.memory));
            cases.push(Case::new(format!("COPY in memory, {}", threads_of(threads)), amount, move || {
                timed_load(&self.file, Text::Plain, StoredAs::PACKED, &Tuning::new(threads), &blocks)
            }));
            cases.push(Case::new(format!("COPY, safe on disk, {}", threads_of(threads)), amount, move || {
                let path = self.folder.join("loaded");
                let db = self.create(&path, threads)?;
                let time = self.load(&db, threads)?;
                drop(db);
                std::fs::remove_dir_all(path)?;
                Ok(time)
            }));
        }
        cases.push(Case::new("a file of as many bytes, safe on disk", amount, || self.plain_file()));
        for threads in settings.thread_counts() {
            for (path, title) in [(&clean, "a clean exit"), (&killed, "a kill behind COPY")] {
                let name = format!("opened after {title}, {}", threads_of(threads));
                cases.push(Case::new(name, amount, move || self.open(path, threads)));
            }
        }
        let mut measured = measure(cases, settings)?;
        let share = self.block_bytes.get() as f64 / self.file.bytes as f64;
        for row in measured.iter_mut().filter(|row| row.case.starts_with("COPY, safe")) {
            row.note = format!("{share:.3} of the text on disk");
        }
        Ok(measured)
    }

    fn options(threads: usize) -> DirectoryOptions {
        DirectoryOptions { threads, ..DirectoryOptions::default() }
    }

    /// A database with an empty lineitem.
    fn create(&self, path: &Path, threads: usize) -> Result<Database, Failure> {
        let transactions = Transactions::new();
        let directory = DataDirectory::create(&self.disk, path, &transactions, Bench::options(threads))?;
        let relation = Relation::in_database(schema(DECIMAL_PRECISION), Arc::clone(&self.memory), &transactions);
        let mut transaction = transactions.begin(Isolation::Snapshot);
        transaction.log_created(&relation)?;
        transactions.wait_until_safe(transaction.commit()?)?;
        Ok(Database { directory, relation })
    }

    /// Loads lineitem, and says how long that takes until it is safe.
    fn load(&self, db: &Database, threads: usize) -> Result<Duration, Failure> {
        let fields: Vec<usize> = (0..COLUMNS).collect();
        let begun = Instant::now();
        let input = InputFile::opened(Source::open(&self.file.path)?, &fields);
        copy_from(vec![input], &db.relation, &options(Text::Plain), &Tuning::new(threads), &Control::new())?;
        let time = begun.elapsed();
        self.check(&db.relation)?;
        Ok(time)
    }

    /// Opens a database, and says how long that takes.
    fn open(&self, path: &Path, threads: usize) -> Result<Duration, Failure> {
        let transactions = Transactions::new();
        let begun = Instant::now();
        let opened = DataDirectory::open(&self.disk, path, &self.memory, &transactions, Bench::options(threads))?;
        let time = begun.elapsed();
        let (_directory, recovered) = opened;
        let relation = recovered.relations.get(&RelationId(1)).ok_or("lineitem did not come back")?;
        self.check(relation)?;
        Ok(time)
    }

    fn check(&self, relation: &Relation) -> Result<(), Failure> {
        self.file.facts.check(&Facts::of_snapshot(&relation.snapshot())?)
    }

    /// Writes as many bytes as the database has in block files, and syncs them.
    fn plain_file(&self) -> Result<Duration, Failure> {
        let path = self.folder.join("plain");
        let piece = vec![7; WRITE_BYTES];
        let begun = Instant::now();
        let file = self.disk.open(&path, OpenMode::Create)?;
        let mut at = 0;
        while at < self.block_bytes.get() {
            file.write_at(&piece, at)?;
            at += piece.len() as u64;
        }
        file.sync()?;
        let time = begun.elapsed();
        self.disk.remove(&path)?;
        Ok(time)
    }
}

/// Bytes of all files of a folder.
fn bytes_in(folder: &Path) -> Result<u64, Failure> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        bytes += entry?.metadata()?.len();
    }
    Ok(bytes)
}
