//! The typed API: its operations, what it refuses, and SQL sessions at work on the same tables meanwhile.

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use longshore_engine::typed::{Columns, Direction, Field, Index, RowId, Table, Transaction};
use longshore_engine::{Database, Error, ErrorKind, Isolation, key};
use longshore_testing::Random;

use super::{database, run};

const LEVELS: [Isolation; 2] = [Isolation::Serializable, Isolation::Snapshot];

/// A table with what tests need of it.
struct Accounts {
    database: Arc<Database>,
    table: Table,
    by_id: Index,
    by_owner: Index,
    balance: Field<i64>,
    owner: Field<&'static str>,
    all: Columns<(i32, String, Option<i64>)>,
}

async fn accounts(rows: &str) -> Accounts {
    let database = database();
    let mut session = database.session();
    for sql in [
        "CREATE TABLE accounts (id int PRIMARY KEY, owner text NOT NULL, balance bigint)",
        "CREATE INDEX by_owner ON accounts (owner, id)",
        &format!("INSERT INTO accounts VALUES {rows}"),
    ] {
        run(&mut session, sql).await.unwrap();
    }
    let table = database.table("accounts").unwrap();
    Accounts {
        by_id: table.primary_key().unwrap(),
        by_owner: table.index("by_owner").unwrap(),
        balance: table.column("balance").unwrap(),
        owner: table.column("owner").unwrap(),
        all: table.columns(&["id", "owner", "balance"]).unwrap(),
        database,
        table,
    }
}

impl Accounts {
    async fn sql(&self, sql: &str) -> Result<String, Error> {
        run(&mut self.database.session(), sql).await
    }

    async fn rows(&self) -> String {
        self.sql("SELECT * FROM accounts ORDER BY id").await.unwrap()
    }

    fn row(&self, t: &mut Transaction, id: i32) -> RowId {
        t.find(&self.by_id, key![id]).unwrap().unwrap()
    }
}

const THREE: &str = "(1, 'Anna', 10), (2, 'Ben', 20), (3, 'Anna', NULL)";

#[tokio::test]
async fn rows_are_read_and_changed() {
    let accounts = accounts(THREE).await;
    let Accounts { database, table, by_id, by_owner, balance, owner, all } = &accounts;
    for level in LEVELS {
        let mut t = database.begin(level);
        assert_eq!(t.isolation(), level);
        let row = t.find(by_id, key![1]).unwrap().unwrap();
        assert_eq!(t.read(all, row).unwrap(), (1, "Anna".to_owned(), Some(10)));
        assert_eq!(t.find(by_id, key![7]).unwrap(), None);
        let third = t.find(by_id, key![3]).unwrap().unwrap();
        assert_eq!(t.get_nullable(table, third, *balance).unwrap(), None);
        assert_eq!(t.get(table, third, *balance).unwrap_err().kind(), ErrorKind::Invalid);
        let mut name = String::new();
        assert!(t.get_text(table, third, *owner, &mut name).unwrap());
        assert_eq!(name, "Anna");

        let mut ids = Vec::new();
        let of_anna = key!["Anna"];
        t.range(by_owner, of_anna..=of_anna, Direction::Backward, |t, row| {
            ids.push(t.read(all, row)?.0);
            Ok::<_, Error>(ControlFlow::Continue(()))
        })
        .unwrap();
        assert_eq!(ids, [3, 1]);
        assert_eq!(t.find_all(by_owner, key!["Ben", 2]).unwrap().len(), 1);

        // A single value in place, several with one of a key among them, a new row, one less.
        t.set(table, row, *balance, 11).unwrap();
        let second = accounts.row(&mut t, 2);
        t.update(table, second, &[owner.to("Bea"), balance.to_null()]).unwrap();
        t.insert(table, key![4, "Dan", 40_i64]).unwrap();
        t.delete(table, third).unwrap();
        let mut found = Vec::new();
        t.scan(table, &[balance.within(11..=40)], |t, row| {
            found.push(t.read(all, row)?.0);
            Ok::<_, Error>(ControlFlow::Continue(()))
        })
        .unwrap();
        found.sort_unstable();
        assert_eq!(found, [1, 4]);
        let mut missing = 0;
        t.scan(table, &[balance.is_null(), owner.equal("Bea")], |_, _| {
            missing += 1;
            Ok::<_, Error>(ControlFlow::Continue(()))
        })
        .unwrap();
        assert_eq!(missing, 1);

        assert_eq!(accounts.rows().await, "1 Anna 10, 2 Ben 20, 3 Anna NULL", "nobody else sees it");
        if level == Isolation::Snapshot {
            t.commit().unwrap();
        } else {
            t.rollback();
        }
    }
    assert_eq!(accounts.rows().await, "1 Anna 11, 2 Bea NULL, 4 Dan 40");
    assert_eq!(accounts.sql("SELECT id FROM accounts WHERE owner = 'Bea'").await.unwrap(), "2");
}

#[tokio::test]
async fn savepoints_are_gone_back_to() {
    let accounts = accounts(THREE).await;
    let mut t = accounts.database.begin(Isolation::Serializable);
    let row = accounts.row(&mut t, 1);
    t.set(&accounts.table, row, accounts.balance, 11).unwrap();
    let savepoint = t.savepoint();
    t.set(&accounts.table, row, accounts.balance, 12).unwrap();
    t.insert(&accounts.table, key![4, "Dan", 40_i64]).unwrap();
    t.rollback_to(savepoint);
    assert_eq!(t.get(&accounts.table, row, accounts.balance).unwrap(), 11);
    t.delete(&accounts.table, row).unwrap();
    t.rollback_to(savepoint);
    t.commit().unwrap();
    assert_eq!(accounts.rows().await, "1 Anna 11, 2 Ben 20, 3 Anna NULL");
}

#[tokio::test]
async fn what_the_table_does_not_take_is_refused() {
    let accounts = accounts(THREE).await;
    let table = &accounts.table;
    let kinds = [
        table.column::<i32>("balance").unwrap_err(),
        table.column::<i64>("nothing").unwrap_err(),
        table.columns::<(i32, String)>(&["id"]).unwrap_err(),
        table.columns::<(String,)>(&["id"]).unwrap_err(),
        table.columns::<(i64,)>(&["balance"]).unwrap_err(),
        table.columns::<(i64,)>(&["nothing"]).unwrap_err(),
        table.index("nothing").unwrap_err(),
        accounts.database.table("nothing").unwrap_err(),
    ]
    .map(|error| error.kind());
    let (invalid, column) = (ErrorKind::Invalid, ErrorKind::NoColumn);
    let missing = [column, ErrorKind::NoObject, ErrorKind::NotFound];
    assert_eq!(kinds, [invalid, column, invalid, invalid, invalid, missing[0], missing[1], missing[2]]);
    let mut t = accounts.database.begin(Isolation::Serializable);
    let first = accounts.row(&mut t, 1);
    for (error, kind) in [
        (t.insert(table, key![1, "Eve", 1_i64]).unwrap_err(), ErrorKind::Duplicate),
        (t.insert(table, key![5, None::<&str>, 1_i64]).unwrap_err(), ErrorKind::NotNull),
        (t.insert(table, key![5, "Eve"]).unwrap_err(), ErrorKind::Invalid),
        (t.insert(table, key![5, 5, 5]).unwrap_err(), ErrorKind::Invalid),
        (t.update(table, first, &[accounts.balance.to(5), (1, key![7][0])]).unwrap_err(), ErrorKind::Invalid),
        (t.set(table, first, accounts.owner, "Eve").unwrap_err(), ErrorKind::Invalid),
        (t.find(&accounts.by_id, key!["one"]).unwrap_err(), ErrorKind::Invalid),
        (t.find(&accounts.by_id, key![1, 2]).unwrap_err(), ErrorKind::Invalid),
    ] {
        assert_eq!(error.kind(), kind, "{error}");
    }
    t.commit().unwrap();
    assert_eq!(accounts.rows().await, "1 Anna 10, 2 Ben 20, 3 Anna NULL", "nothing is left of them");
    let mut t = accounts.database.begin_read_only(Isolation::Serializable);
    assert_eq!(t.delete(table, first).unwrap_err().kind(), ErrorKind::ReadOnly);
}

/// What only statements keep is not passed by.
#[tokio::test]
async fn tables_with_rules_of_statements_are_only_read() {
    let database = database();
    let mut session = database.session();
    for (columns, rule) in
        [("n int CONSTRAINT few CHECK (n < 10)", "few"), ("n int, m int GENERATED ALWAYS AS IDENTITY", "m")]
    {
        run(&mut session, &format!("CREATE OR REPLACE TABLE t ({columns})")).await.unwrap();
        run(&mut session, "INSERT INTO t (n) VALUES (1)").await.unwrap();
        let table = database.table("t").unwrap();
        let n = table.column::<i32>("n").unwrap();
        let mut t = database.begin(Isolation::Serializable);
        let mut rows = Vec::new();
        t.scan(&table, &[n.equal(1)], |_, row| {
            rows.push(row);
            Ok::<_, Error>(ControlFlow::Continue(()))
        })
        .unwrap();
        let error = t.set(&table, rows[0], n, 100).unwrap_err();
        assert_eq!((error.kind(), error.to_string().contains(rule)), (ErrorKind::Unsupported, true), "{error}");
        assert_eq!(t.delete(&table, rows[0]).unwrap_err().kind(), ErrorKind::Unsupported);
        assert_eq!(t.get(&table, rows[0], n).unwrap(), 1);
    }
}

#[tokio::test]
async fn what_is_gone_is_refused() {
    let accounts = accounts(THREE).await;
    let key = key!["Ben"];
    let first_of = |accounts: &Accounts| {
        let mut t = accounts.database.begin(Isolation::Snapshot);
        t.range(&accounts.by_owner, (Bound::Included(key), Bound::Unbounded), Direction::Forward, |_, _| {
            Ok::<_, Error>(ControlFlow::Break(()))
        })
    };
    first_of(&accounts).unwrap();
    accounts.sql("DROP INDEX by_owner").await.unwrap();
    let error = first_of(&accounts).unwrap_err();
    assert_eq!((error.kind(), error.to_string().contains("by_owner")), (ErrorKind::NoObject, true), "{error}");
    assert_eq!(accounts.table.index("by_owner").unwrap_err().kind(), ErrorKind::NoObject);

    accounts.sql("DROP TABLE accounts").await.unwrap();
    accounts.sql("CREATE TABLE accounts (id int PRIMARY KEY)").await.unwrap();
    let mut t = accounts.database.begin(Isolation::Snapshot);
    let error = t.find(&accounts.by_id, key![1]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    let error = t.insert(&accounts.table, key![1, "Anna", 1_i64]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");

    let other = database();
    let error = other.begin(Isolation::Snapshot).find(&accounts.by_id, key![1]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
}

/// A prepared statement by a unique index that is gone finds its rows without it.
#[tokio::test]
async fn a_prepared_statement_outlives_its_index() {
    let database = database();
    let mut session = database.session();
    for sql in [
        "CREATE TABLE t (a int, b int)",
        "CREATE UNIQUE INDEX i ON t (a)",
        "INSERT INTO t VALUES (1, 10)",
        "PREPARE p AS SELECT b FROM t WHERE a = $1",
        "EXECUTE p(1)",
        "DROP INDEX i",
        "INSERT INTO t VALUES (2, 20)",
    ] {
        run(&mut session, sql).await.unwrap();
    }
    assert_eq!(run(&mut session, "EXECUTE p(2)").await.unwrap(), "20");
}

#[tokio::test]
async fn conflicts_end_transactions() {
    let accounts = accounts(THREE).await;
    let Accounts { database, table, balance, .. } = &accounts;
    for level in LEVELS {
        let (mut t1, mut t2) = (database.begin(level), database.begin(level));
        let row = accounts.row(&mut t1, 1);
        t1.set(table, row, *balance, 1).unwrap();
        assert_eq!(t2.set(table, row, *balance, 2).unwrap_err().kind(), ErrorKind::Conflict);
        // It is good for nothing else, whatever is made of the error.
        assert_eq!(t2.get(table, row, *balance).unwrap_err().kind(), ErrorKind::Conflict);
        assert_eq!(t2.commit().unwrap_err().kind(), ErrorKind::Conflict);
        let error = accounts.sql("UPDATE accounts SET balance = 3 WHERE id = 1").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
        t1.rollback();

        // Write skew with a session.
        let mut t = database.begin(level);
        let (first, second) = (accounts.row(&mut t, 1), accounts.row(&mut t, 2));
        let held = t.get(table, second, *balance).unwrap();
        accounts.sql("UPDATE accounts SET balance = balance + 1 WHERE id = 2").await.unwrap();
        t.set(table, first, *balance, held).unwrap();
        assert_eq!(
            t.commit().map_err(|error| error.kind()),
            match level {
                Isolation::Serializable => Err(ErrorKind::Conflict),
                Isolation::Snapshot | Isolation::ReadCommitted => Ok(()),
            }
        );
    }
}

#[derive(Debug, PartialEq)]
enum Refused {
    Poor,
    Database(ErrorKind),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Refused {
        Refused::Database(error.kind())
    }
}

#[tokio::test]
async fn retry_tries_again_after_conflicts_only() {
    let accounts = accounts(THREE).await;
    let Accounts { database, table, balance, .. } = &accounts;
    let mut tries = 0;
    let mut other = Some(database.begin(Isolation::Serializable));
    let row = accounts.row(other.as_mut().unwrap(), 1);
    other.as_mut().unwrap().set(table, row, *balance, 5).unwrap();
    let done = database.retry(Isolation::Serializable, |t| {
        tries += 1;
        if tries == 3 {
            other.take().unwrap().commit()?;
        }
        // The second time it says that something else was wrong; that was the conflict all the same.
        let set = t.set(table, row, *balance, 6);
        if tries == 2 { Err(Refused::Poor) } else { Ok(set?) }
    });
    assert_eq!((done, tries), (Ok(()), 4));
    let poor = database.retry(Isolation::Serializable, |t| {
        tries += 1;
        t.set(table, row, *balance, 7)?;
        Err::<(), _>(Refused::Poor)
    });
    assert_eq!((poor, tries), (Err(Refused::Poor), 5));
    let taken = database.retry(Isolation::Serializable, |t| {
        t.insert(table, key![1, "Anna", 1_i64])?;
        Ok::<_, Refused>(())
    });
    assert_eq!(taken, Err(Refused::Database(ErrorKind::Duplicate)));
    assert_eq!(accounts.rows().await, "1 Anna 6, 2 Ben 20, 3 Anna NULL");
}

/// Money goes from account to account by compiled transactions and by sessions, and no reader sees any made or lost.
#[test]
fn compiled_transactions_and_sessions_work_side_by_side() {
    const ACCOUNTS: usize = 20;
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let rows: Vec<String> = (0..ACCOUNTS).map(|id| format!("({id}, 'owner', 100)")).collect();
    let accounts = runtime().block_on(accounts(&rows.join(", ")));
    let (accounts, done) = (&accounts, &AtomicBool::new(false));
    let pick = |random: &mut Random| {
        let from = random.below(ACCOUNTS);
        (from as i32, ((from + 1 + random.below(ACCOUNTS - 1)) % ACCOUNTS) as i32, random.below(9) as i64)
    };
    let compiled = move || {
        let Accounts { database, table, balance, .. } = accounts;
        let mut random = Random::new(1);
        for _ in 0..2_000 {
            let (from, to, amount) = pick(&mut random);
            let transferred = database.retry(Isolation::Serializable, |t| {
                for (id, change) in [(from, -amount), (to, amount)] {
                    let row = accounts.row(t, id);
                    let held = t.get(table, row, *balance)?;
                    t.set(table, row, *balance, held + change)?;
                }
                Ok::<_, Error>(())
            });
            transferred.unwrap();
        }
    };
    let by_sql = move || {
        let mut random = Random::new(2);
        runtime().block_on(async {
            let mut session = accounts.database.session();
            let change = session.prepare("UPDATE accounts SET balance = balance + $2 WHERE id = $1").unwrap();
            let mut committed = 0;
            while committed < 300 {
                let (from, to, amount) = pick(&mut random);
                run(&mut session, "BEGIN").await.unwrap();
                let transfer = async {
                    session.execute_prepared(&change, key![from, -amount]).await?;
                    session.execute_prepared(&change, key![to, amount]).await?;
                    run(&mut session, "COMMIT").await
                };
                match transfer.await {
                    Ok(_) => committed += 1,
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
                        run(&mut session, "ROLLBACK").await.unwrap();
                    }
                }
            }
        });
    };
    let read = move || {
        runtime().block_on(async {
            let mut session = accounts.database.session();
            while !done.load(Ordering::Relaxed) {
                let sum = run(&mut session, "SELECT count(*), sum(balance) FROM accounts").await.unwrap();
                assert_eq!(sum, format!("{ACCOUNTS} {}", ACCOUNTS * 100));
                let mut t = accounts.database.begin_read_only(Isolation::Serializable);
                let mut sum = 0;
                t.scan(&accounts.table, &[], |t, row| {
                    sum += t.get(&accounts.table, row, accounts.balance)?;
                    Ok::<_, Error>(ControlFlow::Continue(()))
                })
                .unwrap();
                assert_eq!(sum, ACCOUNTS as i64 * 100);
            }
        });
    };
    std::thread::scope(|scope| {
        let writers = [scope.spawn(compiled), scope.spawn(by_sql)];
        let reader = scope.spawn(read);
        let ended = writers.map(std::thread::ScopedJoinHandle::join);
        // Also where one has panicked, or the reader would go on for ever.
        done.store(true, Ordering::Relaxed);
        ended.into_iter().chain([reader.join()]).for_each(Result::unwrap);
    });
}
