//! The typed API and ALTER TABLE: handles from before, transactions that began before, and what is found afterwards.

use std::ops::ControlFlow;
use std::sync::Arc;

use longshore_engine::typed::{Table, Transaction};
use longshore_engine::{Database, Error, ErrorKind, Isolation, key};

use super::{database, run};

const LEVELS: [Isolation; 2] = [Isolation::Serializable, Isolation::Snapshot];

/// What makes another table of `t`, column by column or as a whole.
const CHANGES: [&str; 8] = [
    "ALTER TABLE t ADD COLUMN more int DEFAULT 7",
    "ALTER TABLE t DROP COLUMN extra",
    "ALTER TABLE t ALTER COLUMN n SET DATA TYPE bigint",
    "ALTER TABLE t RENAME COLUMN extra TO other",
    "ALTER TABLE t ALTER COLUMN n SET NOT NULL",
    "ALTER TABLE t ALTER COLUMN s DROP NOT NULL",
    "ALTER TABLE t ADD CONSTRAINT positive CHECK (n > 0)",
    "ALTER TABLE t ADD CONSTRAINT of_u FOREIGN KEY (id) REFERENCES u",
];

/// Runs statements; gives what the last one gives.
async fn sql(database: &Arc<Database>, statements: &[&str]) -> String {
    let mut last = String::new();
    for statement in statements {
        last = run(&mut database.session(), statement).await.unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
    last
}

async fn filled() -> Arc<Database> {
    let database = database();
    sql(
        &database,
        &[
            "CREATE TABLE u (id int PRIMARY KEY)",
            "INSERT INTO u VALUES (1), (2), (3), (4)",
            "CREATE TABLE t (id int PRIMARY KEY, n int, s text NOT NULL, extra int)",
            "CREATE INDEX by_n ON t (n)",
            "INSERT INTO t VALUES (1, 10, 'one', 1), (2, 20, 'two', 2), (3, 10, 'three', 3)",
        ],
    )
    .await;
    database
}

fn texts(t: &mut Transaction, table: &Table) -> Result<Vec<String>, Error> {
    let s = table.columns::<(Option<String>,)>(&["s"]).or_else(|_| table.columns(&["s"]))?;
    let mut texts = Vec::new();
    t.scan(table, &[], |t, row| {
        texts.push(t.read(&s, row)?.0.unwrap_or_default());
        Ok::<_, Error>(ControlFlow::Continue(()))
    })?;
    texts.sort();
    Ok(texts)
}

#[tokio::test]
async fn handles_from_before_are_refused_and_new_ones_find_the_same_rows() {
    for change in CHANGES {
        for level in LEVELS {
            let database = filled().await;
            let before = database.table("t").unwrap();
            let (by_id, s) = (before.primary_key().unwrap(), before.columns::<(String,)>(&["s"]).unwrap());
            sql(&database, &[change]).await;
            let mut t = database.begin(level);
            let error = t.find(&by_id, key![1]).unwrap_err();
            assert!(error.kind() == ErrorKind::NotFound && error.to_string().contains("altered"), "{change}: {error}");
            t.rollback();

            let now = database.table("t").unwrap();
            let by_n = now.index("by_n").unwrap();
            let mut t = database.begin(level);
            assert_eq!(texts(&mut t, &now).unwrap(), ["one", "three", "two"], "{change}");
            let row = t.find(&now.primary_key().unwrap(), key![2]).unwrap().expect(change);
            // Handles of columns belong to their table, too.
            assert!(t.read(&s, row).is_err(), "{change}");
            let is_wide = change.contains("bigint");
            let found = if is_wide { t.find_all(&by_n, key![10_i64]) } else { t.find_all(&by_n, key![10]) };
            assert_eq!(found.unwrap().len(), 2, "{change}");
            t.commit().unwrap();
        }
    }
}

#[tokio::test]
async fn a_transaction_from_before_reads_on_and_changes_nothing() {
    for change in CHANGES {
        for level in LEVELS {
            let database = filled().await;
            let (table, other) = (database.table("t").unwrap(), database.table("u").unwrap());
            let extra = table.column::<i32>("extra").unwrap();
            // Who reads only goes on.
            let mut reader = database.begin_read_only(level);
            // Who writes what was altered meets a conflict, and nothing more works.
            let mut writer = database.begin(level);
            let row = writer.find(&table.primary_key().unwrap(), key![1]).unwrap().unwrap();
            assert_eq!(writer.get(&table, row, extra).unwrap(), 1);
            // Who has read it and writes elsewhere is serializable no more.
            let mut elsewhere = database.begin(level);
            assert_eq!(texts(&mut elsewhere, &table).unwrap().len(), 3);
            // Who has not looked at it is not concerned.
            let mut stranger = database.begin(level);
            sql(&database, &[change, "INSERT INTO t (id, n, s) VALUES (4, 40, 'four')"]).await;

            assert_eq!(texts(&mut reader, &table).unwrap(), ["one", "three", "two"], "{change}");
            reader.commit().unwrap();

            assert_eq!(writer.get(&table, row, extra).unwrap(), 1, "{change}");
            let error = writer.set(&table, row, extra, 5).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Conflict, "{change}: {error}");
            assert_eq!(writer.get(&table, row, extra).unwrap_err().kind(), ErrorKind::Conflict, "{change}");
            assert_eq!(writer.commit().unwrap_err().kind(), ErrorKind::Conflict, "{change}");

            elsewhere.insert(&other, key![10]).unwrap();
            let ended = elsewhere.commit();
            // A table that is referred to from now on is concerned as well.
            let is_other_concerned = change.contains("REFERENCES");
            if level == Isolation::Serializable || is_other_concerned {
                assert_eq!(ended.unwrap_err().kind(), ErrorKind::Conflict, "{change}");
            } else {
                ended.expect(change);
            }

            stranger.insert(&other, key![11]).unwrap();
            let ended = stranger.commit();
            assert_eq!(ended.is_err_and(|error| error.kind() == ErrorKind::Conflict), is_other_concerned, "{change}");

            // The new table is none of the old transaction's.
            let mut late = database.begin(level);
            sql(&database, &["ALTER TABLE t ADD COLUMN last int"]).await;
            let error = texts(&mut late, &database.table("t").unwrap()).unwrap_err();
            assert!(error.kind() == ErrorKind::Conflict && error.to_string().contains("altered"), "{change}: {error}");
            late.rollback();
        }
    }
}

#[tokio::test]
async fn what_was_changed_before_is_waited_for_and_kept() {
    for level in LEVELS {
        let database = filled().await;
        let table = database.table("t").unwrap();
        let n = table.column::<i32>("n").unwrap();
        let mut t = database.begin(level);
        let row = t.find(&table.primary_key().unwrap(), key![1]).unwrap().unwrap();
        t.update(&table, row, &[n.to(11)]).unwrap();
        t.insert(&table, key![5, 50, "five", 5]).unwrap();
        let altering = {
            let database = Arc::clone(&database);
            tokio::spawn(async move { run(&mut database.session(), "ALTER TABLE t DROP COLUMN extra").await })
        };
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        assert!(!altering.is_finished());
        t.commit().unwrap();
        altering.await.unwrap().unwrap();
        let rows = sql(&database, &["SELECT * FROM t ORDER BY id"]).await;
        assert_eq!(rows, "1 11 one, 2 20 two, 3 10 three, 5 50 five");
        let now = database.table("t").unwrap();
        let mut t = database.begin(level);
        let row = t.find(&now.primary_key().unwrap(), key![5]).unwrap().unwrap();
        t.update(&now, row, &[now.column::<i32>("n").unwrap().to(51)]).unwrap();
        t.insert(&now, key![6, 60, "six"]).unwrap();
        t.commit().unwrap();
        assert_eq!(sql(&database, &["SELECT * FROM t WHERE id > 4 ORDER BY id"]).await, "5 51 five, 6 60 six");
    }
}

#[tokio::test]
async fn the_new_table_has_the_new_rules() {
    let database = filled().await;
    sql(&database, &["ALTER TABLE t ALTER COLUMN n SET DATA TYPE bigint"]).await;
    let table = database.table("t").unwrap();
    assert!(table.column::<i32>("n").is_err());
    assert!(table.column::<i64>("n").is_ok());

    sql(&database, &["ALTER TABLE t ALTER COLUMN n SET NOT NULL"]).await;
    let table = database.table("t").unwrap();
    let mut t = database.begin(Isolation::Serializable);
    let row = t.find(&table.primary_key().unwrap(), key![1]).unwrap().unwrap();
    let n = table.column::<i64>("n").unwrap();
    assert_eq!(t.update(&table, row, &[n.to_null()]).unwrap_err().kind(), ErrorKind::NotNull);
    t.rollback();

    sql(&database, &["ALTER TABLE t ADD CONSTRAINT of_u FOREIGN KEY (id) REFERENCES u"]).await;
    let table = database.table("t").unwrap();
    let mut t = database.begin(Isolation::Serializable);
    t.insert(&table, key![99, 1_i64, "x", 1]).unwrap();
    assert_eq!(t.commit().unwrap_err().kind(), ErrorKind::ForeignKey);

    sql(&database, &["ALTER TABLE t ADD CONSTRAINT positive CHECK (n > 0)"]).await;
    let table = database.table("t").unwrap();
    let mut t = database.begin(Isolation::Serializable);
    assert_eq!(texts(&mut t, &table).unwrap().len(), 3);
    let error = t.insert(&table, key![4, 1_i64, "x", 1]).unwrap_err();
    assert!(error.to_string().contains("positive"), "{error}");
    t.rollback();

    sql(&database, &["ALTER TABLE t DROP CONSTRAINT positive", "ALTER TABLE t DROP CONSTRAINT t_pkey"]).await;
    let table = database.table("t").unwrap();
    assert_eq!(table.primary_key().unwrap_err().kind(), ErrorKind::NoObject);
    let mut t = database.begin(Isolation::Serializable);
    t.insert(&table, key![1, 1_i64, "again", 1]).unwrap();
    t.commit().unwrap();

    // What makes no other table leaves its handles good.
    let n = table.column::<i64>("n").unwrap();
    sql(&database, &["CREATE INDEX by_s ON t (s)", "ALTER TABLE t ALTER COLUMN n SET DEFAULT 5"]).await;
    let table_now = database.table("t").unwrap();
    let by_s = table_now.index("by_s").unwrap();
    let mut t = database.begin(Isolation::Serializable);
    let row = t.find(&by_s, key!["again"]).unwrap().unwrap();
    assert_eq!(t.get(&table_now, row, n).unwrap(), 1);
    t.rollback();

    sql(&database, &["ALTER TABLE t RENAME TO v"]).await;
    assert!(database.table("t").is_err());
    let mut t = database.begin(Isolation::Serializable);
    assert_eq!(texts(&mut t, &table_now).unwrap_err().kind(), ErrorKind::NotFound);
    t.rollback();
    let mut t = database.begin(Isolation::Serializable);
    assert_eq!(texts(&mut t, &database.table("v").unwrap()).unwrap().len(), 4);
}
