//! ALTER TABLE in transaction blocks: what a block of random statements leaves is what the same statements leave one by one;
//! nobody else sees anything of it before, a rollback leaves nothing of it, and it comes back from disk.

use longshore_engine::{Database, Session};
use longshore_testing::{Random, share};

use crate::support::{open, run, runtime};

/// Tables with rows, keys, a sequence and foreign keys between them.
const BEGINNING: &[&str] = &[
    "CREATE TABLE parent (id serial PRIMARY KEY, a int, b varchar(12) DEFAULT 'none', c numeric(8, 2))",
    "CREATE TABLE child (id int PRIMARY KEY, parent int REFERENCES parent ON DELETE CASCADE, note text)",
    "INSERT INTO parent (a, b, c) SELECT n, 'b' || n, n / 4.0 FROM generate_series(1, 300) AS n",
    "INSERT INTO child SELECT n, n % 100 + 1, 'note ' || n FROM generate_series(1, 400) AS n",
    "CREATE VIEW seen AS SELECT id, a FROM parent",
];

/// What a statement of the block may be. Some fail: at a name that is gone, or at the rows that there are.
fn statement(random: &mut Random, number: usize) -> String {
    let table = random.pick(&["parent", "parent", "parent", "child", "child", "renamed"]);
    let column = random.pick(if table == "child" { &["note", "d"] } else { &["a", "b", "c", "d"] });
    match random.below(23) {
        0 | 1 => format!("ALTER TABLE {table} ADD COLUMN {column} int"),
        2 => format!("ALTER TABLE {table} ADD COLUMN {column} text NOT NULL DEFAULT 'new {number}'"),
        3 => format!("ALTER TABLE {table} DROP COLUMN {column}"),
        4 => format!("ALTER TABLE {table} RENAME COLUMN {column} TO {}", random.pick(&["a", "d", "e"])),
        5 => format!("ALTER TABLE {table} ALTER COLUMN {column} SET NOT NULL"),
        6 => format!("ALTER TABLE {table} ALTER COLUMN {column} DROP NOT NULL"),
        7 => format!("ALTER TABLE {table} ALTER COLUMN {column} SET DEFAULT NULL"),
        8 => format!("ALTER TABLE {table} ALTER COLUMN {column} TYPE text"),
        9 => format!("ALTER TABLE {table} ALTER COLUMN a TYPE bigint USING a * 2"),
        10 => format!("ALTER TABLE {table} ADD CONSTRAINT c{number} CHECK (id > {})", random.below(3)),
        11 => format!("ALTER TABLE {table} ADD CONSTRAINT u{number} UNIQUE ({column})"),
        12 => format!("ALTER TABLE {table} RENAME TO {}", random.pick(&["parent", "renamed"])),
        13 => format!("CREATE INDEX i{number} ON {table} ({column})"),
        14 => format!("DROP INDEX i{}", random.below(number.max(1))),
        15 => format!("UPDATE {table} SET {column} = NULL WHERE id % 7 = {}", random.below(7)),
        16 => format!("UPDATE {table} SET {column} = id"),
        17 => format!("DELETE FROM {table} WHERE id % 50 = {}", random.below(50)),
        18 => format!("INSERT INTO {table} (id) VALUES ({})", 1000 + number),
        19 => format!("CREATE UNIQUE INDEX i{number} ON {table} ((coalesce({column}::text, 'none') || id))"),
        20 => format!("CREATE UNIQUE INDEX i{number} ON {table} (id, {column}) WHERE {column} IS NOT NULL"),
        21 => format!("CREATE UNIQUE INDEX i{number} ON {table} (id, {column}) NULLS NOT DISTINCT"),
        _ => format!("INSERT INTO child (id, parent) VALUES ({}, {})", 1000 + number, 1 + random.below(1100)),
    }
}

/// All that there is of the tables: columns, constraints, indexes, rows.
async fn contents(session: &mut Session) -> String {
    let mut all = String::new();
    for query in [
        "SELECT table_name, column_name, data_type, is_nullable, column_default FROM information_schema.columns
         WHERE table_schema = 'public' ORDER BY table_name, ordinal_position",
        "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid <> 0 ORDER BY 1, 2",
        "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1, 2",
    ] {
        all += &crate::described::rows(session, query).await;
    }
    for table in ["parent", "renamed", "child", "seen"] {
        // A query that fails would be the end of the block.
        let is_there = format!("SELECT count(*) FROM pg_class WHERE relname = '{table}'");
        if crate::described::rows(session, &is_there).await.trim() == "1" {
            all += "--- ";
            all += table;
            all.push('\n');
            all += &crate::described::rows(session, &format!("SELECT * FROM {table} ORDER BY id")).await;
        }
    }
    all
}

/// Executes statements in a block, each behind a savepoint that those go back to that fail; says which ones did not.
async fn in_block(session: &mut Session, statements: &[String], level: &str) -> Vec<bool> {
    run(session, &[&format!("BEGIN ISOLATION LEVEL {level}")]).await;
    let mut worked = Vec::new();
    for sql in statements {
        run(session, &["SAVEPOINT s"]).await;
        let done = session.execute(sql).await;
        worked.push(done.is_ok());
        run(session, &[if done.is_ok() { "RELEASE s" } else { "ROLLBACK TO s" }]).await;
    }
    worked
}

async fn begun(database: &std::sync::Arc<Database>) -> Session {
    let mut session = database.session();
    run(&mut session, BEGINNING).await;
    session
}

#[test]
fn a_block_leaves_what_its_statements_leave_one_by_one() {
    runtime().block_on(async {
        let (mut altered, mut all) = (0, 0);
        for seed in 0..share(16) as u64 {
            let mut random = Random::new(seed);
            let statements: Vec<String> = (0..4 + random.below(12)).map(|at| statement(&mut random, at)).collect();
            let level = random.pick(&["SERIALIZABLE", "READ COMMITTED"]);
            let directory = tempfile::tempdir().unwrap();
            let (one, other) = (directory.path().join("one"), directory.path().join("other"));
            let blocks = open(&one);
            let mut session = begun(&blocks).await;
            let before = contents(&mut session).await;

            in_block(&mut session, &statements, level).await;
            run(&mut session, &["ROLLBACK"]).await;
            assert_eq!(contents(&mut session).await, before, "seed {seed}: what was rolled back: {statements:#?}");

            let worked = in_block(&mut session, &statements, level).await;
            let within = contents(&mut session).await;
            let mut beside = blocks.session();
            assert_eq!(contents(&mut beside).await, before, "seed {seed}: what others see: {statements:#?}");
            run(&mut session, &["COMMIT"]).await;
            let after = contents(&mut session).await;
            assert_eq!(after, within, "seed {seed}: before and after COMMIT: {statements:#?}");
            assert_eq!(contents(&mut beside).await, after, "seed {seed}: what others see then: {statements:#?}");

            let alone = open(&other);
            let mut single = begun(&alone).await;
            for (sql, worked) in statements.iter().zip(&worked) {
                let done = single.execute(sql).await;
                assert_eq!(done.is_ok(), *worked, "seed {seed}: {sql}: {:?}\n{statements:#?}", done.err());
                altered += usize::from(*worked && sql.starts_with("ALTER"));
                all += 1;
            }
            assert_eq!(after, contents(&mut single).await, "seed {seed}: one by one: {statements:#?}");
            drop((session, beside, single, alone));
            drop(blocks);
            let again = open(&one);
            assert_eq!(contents(&mut again.session()).await, after, "seed {seed}: from disk: {statements:#?}");
        }
        assert!(altered * 8 > all, "{altered} of {all} statements altered something");
    });
}
