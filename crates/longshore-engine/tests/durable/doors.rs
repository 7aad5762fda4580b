//! Every way to change a database, each on a durable one and on a twin in memory: the durable one comes back as the twin is,
//! from the log, from a checkpoint and from both.

use std::path::Path;
use std::sync::Arc;

use longshore_engine::{Database, Isolation, Outcome, Session, key};

use crate::described::{described, difference, rows};
use crate::support::{config, open, open_read_only, run, runtime};

const SCHEMA: [&str; 7] = [
    "CREATE TABLE parents (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    "CREATE TABLE children (id INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY, \
     parent INTEGER REFERENCES parents ON DELETE CASCADE, note TEXT DEFAULT 'none', CHECK (note <> ''))",
    "CREATE TABLE \"Odd \"\" name\" (\"a b\" BIGINT, c DECIMAL(20, 3), d DATE, t TIMESTAMP, u VARCHAR(5), b BOOLEAN)",
    "CREATE INDEX by_note ON children USING art (note, id)",
    "CREATE SEQUENCE numbers START 10 INCREMENT 5",
    "CREATE VIEW both_tables AS SELECT p.name, c.note FROM parents p JOIN children c ON c.parent = p.id",
    "CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance BIGINT NOT NULL)",
];

const BLOCKS: [&str; 15] = [
    "BEGIN",
    "INSERT INTO accounts VALUES (-1, 1)",
    "SAVEPOINT s",
    "INSERT INTO accounts VALUES (-2, 2)",
    "UPDATE accounts SET balance = -5 WHERE id = -1",
    "ROLLBACK TO SAVEPOINT s",
    "INSERT INTO accounts VALUES (-3, 3)",
    "COMMIT",
    "BEGIN",
    "DELETE FROM accounts",
    "ROLLBACK",
    "BEGIN",
    "TRUNCATE made",
    "INSERT INTO made VALUES (9, 9)",
    "COMMIT",
];

const ALTERATIONS: [&str; 17] = [
    "ALTER TABLE accounts ADD COLUMN owner TEXT DEFAULT 'nobody'",
    "ALTER TABLE accounts ALTER COLUMN balance TYPE DECIMAL(18, 2)",
    "UPDATE accounts SET owner = 'me' WHERE id < 100",
    "ALTER TABLE children DROP COLUMN note CASCADE",
    "ALTER TABLE parents RENAME COLUMN name TO title",
    "ALTER TABLE parents RENAME TO people",
    "INSERT INTO people VALUES (5000, 'five thousand')",
    "INSERT INTO children (parent) VALUES (5000)",
    "ALTER TABLE accounts SET (storage = plain)",
    "ALTER TABLE accounts ADD CONSTRAINT positive CHECK (balance > -100)",
    "ALTER TABLE made ADD COLUMN more INTEGER NOT NULL DEFAULT 4",
    "CREATE UNIQUE INDEX fifths ON made (fifth)",
    "DROP INDEX fifths",
    "DROP TABLE copied",
    "CREATE OR REPLACE TABLE copied (only BIGINT)",
    "INSERT INTO copied VALUES (1)",
    "VACUUM",
];

/// Does a part of the work.
async fn work(database: &Arc<Database>, session: &mut Session, directory: &Path, part: usize) {
    match part {
        0 => run(session, &SCHEMA).await,
        1 => {
            run(session, &[
                "INSERT INTO parents SELECT g, 'parent ' || g FROM generate_series(1, 3000) AS s(g)",
                "INSERT INTO children (parent, note) SELECT g, 'note ' || (g % 7) FROM generate_series(1, 3000) AS s(g)",
                "INSERT INTO accounts SELECT g, 100 FROM generate_series(1, 50) AS s(g)",
                "INSERT INTO \"Odd \"\" name\" VALUES (1, 2.5, '2024-02-29', '2024-02-29 12:00:00', 'ab', true), \
                 (NULL, NULL, NULL, NULL, NULL, NULL)",
                "UPDATE children SET note = 'changed' WHERE id % 10 = 3",
                "DELETE FROM parents WHERE id % 100 = 7",
            ])
            .await;
        }
        2 => {
            let prepared = session.prepare("UPDATE accounts SET balance = balance + $1 WHERE id = $2").expect("sound");
            for id in 1..=10_i32 {
                let done = session.execute_prepared(&prepared, key![7_i64, id]).await;
                assert!(matches!(done, Ok(Outcome::Done { .. })), "{done:?}");
            }
            let insert = session.prepare("INSERT INTO accounts VALUES ($1, $2)").expect("sound");
            session.execute_prepared(&insert, key![100, 1_i64]).await.expect("it is new");
        }
        3 => typed(database),
        4 => {
            let file = directory.join("rows.csv");
            let lines: Vec<String> = (0..20_000).map(|row| format!("{},{}\n", row + 10_000, row % 13)).collect();
            std::fs::write(&file, lines.concat()).expect("the file is written");
            run(session, &[
                &format!("COPY accounts FROM '{}' (FORMAT csv)", file.display()),
                &format!("COPY copied FROM '{}' (AUTO)", file.display()),
                "CREATE TABLE made AS SELECT id % 5 AS fifth, count(*) AS rows FROM accounts GROUP BY 1",
                "INSERT INTO accounts SELECT id, 0 FROM accounts ON CONFLICT (id) DO UPDATE SET balance = accounts.balance + 1",
                "MERGE INTO accounts a USING parents p ON a.id = p.id WHEN MATCHED AND a.id < 10 THEN DELETE \
                 WHEN MATCHED THEN UPDATE SET balance = 0 WHEN NOT MATCHED AND p.id < 2500 THEN INSERT VALUES (p.id, 3)",
            ])
            .await;
        }
        5 => run(session, &BLOCKS).await,
        6 => run(session, &ALTERATIONS).await,
        7 => {
            let to = directory.join("exported");
            run(
                session,
                &[
                    &format!("EXPORT DATABASE '{}'", to.display()),
                    "DROP TABLE people CASCADE",
                    "DROP TABLE children, accounts, made, copied, \"Odd \"\" name\"",
                    "DROP SEQUENCE numbers",
                    &format!("IMPORT DATABASE '{}'", to.display()),
                    "DELETE FROM people WHERE id > 2990",
                ],
            )
            .await;
            std::fs::remove_dir_all(to).expect("it can be removed");
        }
        _ => unreachable!("there are no more parts"),
    }
}

const PARTS: usize = 8;

fn typed(database: &Arc<Database>) {
    let accounts = database.table("accounts").expect("it is there");
    let by_id = accounts.primary_key().expect("it has one");
    let balance = accounts.column::<i64>("balance").expect("it has one");
    for id in 11..=20_i32 {
        database
            .retry(Isolation::Serializable, |t| {
                let row = t.find(&by_id, key![id])?.expect("it is there");
                let held = t.get(&accounts, row, balance)?;
                t.set(&accounts, row, balance, held * 2)
            })
            .expect("nobody is in the way");
    }
    let mut tickets = Vec::new();
    for id in 200..300_i32 {
        let mut t = database.begin(Isolation::Snapshot);
        t.insert(&accounts, key![id, i64::from(id)]).expect("it is new");
        tickets.push(t.commit_with_ticket().expect("nobody is in the way"));
    }
    for ticket in tickets {
        ticket.wait().expect("the disk works");
    }
    let mut t = database.begin(Isolation::Snapshot);
    t.insert(&accounts, key![999_999, 1_i64]).expect("it is new");
    t.rollback();
}

/// Does all parts; between them, the durable database is opened anew, or has a checkpoint, as `between` says.
fn compare(between: impl Fn(usize, Arc<Database>, &Path) -> Arc<Database>) {
    let runtime = runtime();
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let (path, other) = (directory.path().join("database"), directory.path().join("twin"));
    std::fs::create_dir(&other).expect("a directory can be made");
    let mut durable = open(&path);
    let twin = Database::open(config()).expect("a database opens");
    for part in 0..PARTS {
        runtime.block_on(async {
            Box::pin(work(&durable, &mut durable.session(), directory.path(), part)).await;
            Box::pin(work(&twin, &mut twin.session(), &other, part)).await;
        });
        durable = between(part, durable, &path);
        let expected = runtime.block_on(described(&twin, directory.path()));
        for (how, database) in
            [("in memory", Arc::clone(&durable)), ("on disk", open_read_only(&path).expect("it opens"))]
        {
            let found = runtime.block_on(described(&database, directory.path()));
            if let Some(difference) = difference(&expected, &found) {
                panic!("part {part}, {how}: {difference}");
            }
        }
    }
    durable.close().expect("it closes");
    let (expected, found) = runtime.block_on(async {
        let again = open(&path);
        (described(&twin, directory.path()).await, described(&again, directory.path()).await)
    });
    assert_eq!(difference(&expected, &found), None);
}

#[test]
fn from_the_log() {
    compare(|_, database, _| database);
}

#[test]
fn from_checkpoints() {
    compare(|_, database, path| {
        database.close().expect("it closes");
        open(path)
    });
}

#[test]
fn from_checkpoints_and_the_log_behind_them() {
    compare(|part, database, path| {
        if part % 2 == 0 {
            runtime().block_on(async { run(&mut database.session(), &["CHECKPOINT"]).await });
        }
        if part % 3 == 2 {
            drop(database);
            return open(path);
        }
        database
    });
}

#[test]
fn what_is_not_committed_does_not_come_back() {
    let runtime = runtime();
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let database = open(directory.path());
    runtime.block_on(async {
        let mut session = database.session();
        run(
            &mut session,
            &["CREATE TABLE t (a INTEGER)", "INSERT INTO t VALUES (1)", "BEGIN", "INSERT INTO t VALUES (2)"],
        )
        .await;
        assert!(session.execute("INSERT INTO nowhere VALUES (1)").await.is_err());
        let mut other = database.session();
        run(&mut other, &["BEGIN", "INSERT INTO t VALUES (3)", "CHECKPOINT"]).await;
        let seen = open_read_only(directory.path()).expect("it opens");
        assert_eq!(rows(&mut seen.session(), "SELECT a FROM t").await, "1\n");
        drop(session);
        run(&mut other, &["COMMIT"]).await;
        let seen = open_read_only(directory.path()).expect("it opens");
        assert_eq!(rows(&mut seen.session(), "SELECT a FROM t ORDER BY a").await, "1\n3\n");
    });
}
