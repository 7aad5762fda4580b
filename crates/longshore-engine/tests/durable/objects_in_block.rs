//! ALTER SEQUENCE, ALTER TYPE and ALTER DOMAIN in transaction blocks: what has committed comes back from disk, with and without
//! a checkpoint and where the process ended without one; what was rolled back does not.

use crate::support::{copy_all, open, run, runtime, value};

const BEGINNING: &[&str] = &[
    "CREATE TYPE mood AS ENUM ('sad', 'ok')",
    "CREATE DOMAIN age AS int DEFAULT 1 CHECK (VALUE >= 0)",
    "CREATE TABLE people (id serial PRIMARY KEY, feels mood, years age)",
    "CREATE SEQUENCE s",
    "INSERT INTO people (feels) VALUES ('ok')",
];

const BLOCK: &[&str] = &[
    "ALTER TYPE mood ADD VALUE 'glad' BEFORE 'ok'",
    "ALTER DOMAIN age ADD CONSTRAINT young CHECK (VALUE < 100)",
    "ALTER DOMAIN age SET DEFAULT 7",
    "ALTER SEQUENCE s RESTART WITH 100 INCREMENT BY 10",
    "CREATE SEQUENCE made",
    "ALTER TABLE people RENAME TO persons",
    "INSERT INTO persons (feels) VALUES ('sad')",
];

#[test]
fn what_has_committed_comes_back() {
    runtime().block_on(async {
        let directory = tempfile::tempdir().unwrap();
        let (path, copy) = (directory.path().join("database"), directory.path().join("copy"));
        let database = open(&path);
        let mut session = database.session();
        run(&mut session, BEGINNING).await;
        run(&mut session, &["BEGIN"]).await;
        run(&mut session, BLOCK).await;
        run(&mut session, &["ROLLBACK"]).await;
        assert_eq!(value(&mut session, "SELECT nextval('s')").await, 1);
        run(&mut session, &["BEGIN"]).await;
        run(&mut session, BLOCK).await;
        for expected in [100, 110] {
            assert_eq!(value(&mut session, "SELECT nextval('s')").await, expected);
        }
        for expected in [1, 2, 3] {
            assert_eq!(value(&mut session, "SELECT nextval('made')").await, expected);
        }
        run(&mut session, &["COMMIT"]).await;
        // As a process leaves it that ends at once.
        copy_all(&path, &copy);
        drop(session);
        drop(database);
        for (path, is_exact) in [(&path, true), (&copy, false)] {
            for _ in 0..2 {
                let database = open(path);
                let mut session = database.session();
                let labels = crate::described::rows(&mut session, "SELECT enum_range(NULL::mood)::text").await;
                assert_eq!(labels.trim(), "{sad,glad,ok}");
                let refused = session.execute("INSERT INTO persons (years) VALUES (100)").await;
                assert!(refused.is_err(), "the constraint is there");
                run(&mut session, &["INSERT INTO persons (feels) VALUES ('glad')"]).await;
                let late = value(&mut session, "SELECT years FROM persons ORDER BY id DESC LIMIT 1").await;
                assert_eq!(late, 7, "columns have the default of the domain");
                for (sequence, next, step) in [("s", 120, 10), ("made", 4, 1)] {
                    let number = value(&mut session, &format!("SELECT nextval('{sequence}')")).await;
                    assert!(number >= next && (number - next) % step == 0, "{sequence} gives {number}");
                    if is_exact && number > next {
                        assert!(number == next + step, "{sequence} gives {number} after a clean end");
                    }
                }
                let owner = "SELECT pg_get_serial_sequence('persons', 'id') = 'public.people_id_seq'";
                assert_eq!(crate::described::rows(&mut session, owner).await.trim(), "true");
            }
        }
    });
}
