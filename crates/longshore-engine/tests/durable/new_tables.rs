//! Tables that a statement makes and fills at once, and those that are altered row by row: their rows go past the log, and they
//! are there whole or not at all.

use std::path::Path;
use std::sync::Arc;

use longshore_engine::{Config, Database, ErrorKind};
use longshore_simdisk::{Fault, SimDisk};
use longshore_storage::disk::Disk;

use crate::described::described;
use crate::support::{open_simulated, run, runtime, value};

const PATH: &str = "/database";

/// More than a chunk.
const ROWS: i64 = 150_000;

fn opened(disk: &SimDisk) -> Arc<Database> {
    open_simulated(disk, 2).unwrap_or_else(|error| panic!("{error}"))
}

/// Bytes of all block files.
fn block_bytes(disk: &SimDisk) -> u64 {
    let (disk, blocks): (Arc<dyn Disk>, _) = (Arc::new(disk.clone()), Path::new(PATH).join("blocks"));
    let length = |name| {
        let file = disk.open(&blocks.join(name), longshore_storage::disk::OpenMode::Read).expect("it is there");
        file.length().expect("it has one")
    };
    disk.list(&blocks).expect("it is there").into_iter().map(length).sum()
}

/// Writes files to load; says which statements make tables of them. All but the first of a statement are to prepare it.
async fn statements(directory: &Path) -> Vec<Vec<String>> {
    let source = Database::open(Config { threads: 2, ..Config::default() }).expect("it opens");
    let mut session = source.session();
    let file = directory.join("rows.csv");
    let path = |name: &str| directory.join(name).display().to_string();
    run(
        &mut session,
        &[
            &format!(
                "CREATE TABLE t AS SELECT g AS id, g % 1000 AS a, 'note ' || g AS note FROM generate_series(1, {ROWS}) AS s(g)"
            ),
            &format!("COPY t TO '{}' (HEADER)", file.display()),
            "ALTER TABLE t ADD PRIMARY KEY (id)",
            &format!("EXPORT DATABASE '{}'", path("csv")),
            &format!("EXPORT DATABASE '{}' (FORMAT native)", path("native")),
            &format!("EXPORT DATABASE '{}' (FORMAT parquet)", path("parquet")),
        ],
    )
    .await;
    let made = format!(
        "CREATE TABLE t AS SELECT g AS id, g % 1000 AS a, 'note ' || g AS note FROM generate_series(1, {ROWS}) AS s(g)"
    );
    vec![
        vec![made.clone()],
        vec![made.replace("CREATE", "CREATE OR REPLACE"), "CREATE TABLE t (a INTEGER)".to_owned()],
        vec![made.replace(" AS SELECT", " WITH (storage = plain) AS SELECT")],
        vec![format!("COPY t FROM '{}' (AUTO)", file.display())],
        vec![format!("CREATE TABLE t AS FROM '{}'", file.display())],
        vec![format!("CREATE TABLE t AS FROM '{}'", path("parquet/t.parquet"))],
        vec![format!("IMPORT DATABASE '{}'", path("csv"))],
        vec![format!("IMPORT DATABASE '{}'", path("native"))],
        vec![format!("IMPORT DATABASE '{}'", path("parquet"))],
        vec!["ALTER TABLE t ALTER COLUMN a TYPE TEXT".to_owned(), made],
    ]
}

#[test]
fn rows_go_past_the_log() {
    let runtime = runtime();
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    runtime.block_on(async {
        for statement in statements(directory.path()).await {
            let (sql, before) = statement.split_first().expect("there is one");
            let disk = SimDisk::new(1);
            let database = opened(&disk);
            let mut session = database.session();
            run(&mut session, &before.iter().map(String::as_str).collect::<Vec<_>>()).await;
            let (written, stored) = (disk.bytes_written(), block_bytes(&disk));
            run(&mut session, &[sql]).await;
            let (written, stored) = (disk.bytes_written() - written, block_bytes(&disk) - stored);
            assert!(stored > 100_000, "{sql}: {stored} bytes in block files");
            assert!(written < stored + stored / 10 + 20_000, "{sql}: {written} bytes written for {stored}");
            assert_eq!(value(&mut session, "SELECT count(*) FROM t").await, ROWS);
            let expected = described(&database, directory.path()).await;
            // Killed now, and closed.
            let restarted = disk.restart();
            let again = opened(&restarted);
            assert!(described(&again, directory.path()).await == expected, "{sql}, from the log");
            drop(session);
            database.close().expect("nobody uses it");
            let again = opened(&disk);
            assert!(described(&again, directory.path()).await == expected, "{sql}, from the checkpoint");
            let mut session = again.session();
            run(&mut session, &["DELETE FROM t WHERE id % 3 = 0", "DROP TABLE t", "CHECKPOINT"]).await;
            assert_eq!(block_bytes(&disk), 0, "{sql}: nothing is left");
        }
    });
}

#[test]
fn a_disk_that_fails_leaves_nothing_behind() {
    let runtime = runtime();
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    runtime.block_on(async {
        for statement in statements(directory.path()).await.iter().filter(|statement| statement.len() == 1) {
            let sql = &statement[0];
            for fault in [Fault::Full, Fault::Broken] {
                let disk = SimDisk::new(2);
                let database = opened(&disk);
                let mut session = database.session();
                run(&mut session, &["CREATE TABLE kept (a INTEGER)", "INSERT INTO kept VALUES (1)"]).await;
                // The first operation of all makes the file, the third writes rows.
                disk.fail_at(disk.operations() + 2, fault);
                let error = session.execute(sql).await.expect_err("the disk fails");
                assert_eq!(error.kind(), ErrorKind::Io, "{sql}: {error}");
                assert!(error.to_string().contains(".blocks"), "{sql}: {error}");
                assert_eq!(database.table_names(), ["kept"], "{sql}");
                assert_eq!(block_bytes(&disk), 0, "{sql}");
                // It goes on.
                run(&mut session, &["INSERT INTO kept VALUES (2)", sql, "CHECKPOINT"]).await;
                assert_eq!(value(&mut session, "SELECT count(*) FROM t").await, ROWS);
                let again = opened(&disk.restart());
                assert_eq!(value(&mut again.session(), "SELECT count(*) FROM t, kept").await, 2 * ROWS);
            }
        }
    });
}
