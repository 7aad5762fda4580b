//! Databases in directories, and statements on them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use longshore_engine::{Config, Database, Durability, Error, Naptime, Outcome, Session};
use longshore_simdisk::SimDisk;
use longshore_storage::disk::Disk;

pub(crate) fn config() -> Config {
    Config { threads: 2, ..Config::default() }
}

pub(crate) fn open(path: &Path) -> Arc<Database> {
    Database::open_directory(path, config(), &Durability::default()).expect("the database opens")
}

pub(crate) fn open_read_only(path: &Path) -> Result<Arc<Database>, Error> {
    Database::open_directory(path, config(), &Durability { read_only: true, ..Durability::default() })
}

/// Opens the database of a simulated disk so that nothing is done by itself: a run on one thread is the same every time.
pub(crate) fn open_simulated(disk: &SimDisk, threads: usize) -> Result<Arc<Database>, Error> {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    let durability = Durability {
        // Segments are as large as that lets them be, and a simulated disk copies them.
        max_wal_size: Durability::MAX_WAL_SIZE_MIN,
        checkpoint_timeout: Naptime::new(Duration::MAX),
        wal_writer_delay: Duration::from_hours(1),
        ..Durability::default()
    };
    let config = Config { threads, autovacuum: false, ..Config::default() };
    Database::open_on(&disk, Path::new("/database"), config, &durability)
}

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime starts")
}

/// Executes statements that succeed.
pub(crate) async fn run(session: &mut Session, statements: &[&str]) {
    for sql in statements {
        match session.execute(sql).await {
            Ok(Outcome::Done { .. }) => {}
            Ok(Outcome::Rows(_)) => panic!("{sql} has rows"),
            Err(error) => panic!("{sql}: {error}"),
        }
    }
}

/// The only value of a query.
pub(crate) async fn value(session: &mut Session, sql: &str) -> i64 {
    let text = crate::described::rows(session, sql).await;
    text.trim().parse().unwrap_or_else(|_| panic!("{sql} gives {text}"))
}

/// Copies a directory with all that is in it.
pub(crate) fn copy_all(from: &Path, to: &Path) {
    std::fs::create_dir(to).expect("a directory can be made");
    for entry in std::fs::read_dir(from).expect("it can be read") {
        let entry = entry.expect("it can be read");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_all(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("it can be copied");
        }
    }
}
