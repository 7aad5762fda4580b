//! Locks of rows, tables and numbers: what waits for what, and how that ends.

use super::read_committed::Due::{Done, Ends, EndsWith, Fails, Gives, Waits};
use super::read_committed::{RC, steps};

#[test]
fn locked_rows_are_waited_for() {
    let setup = ["CREATE TABLE t (id int PRIMARY KEY, v int)", "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)"];
    for lock in ["SELECT v FROM t WHERE id = 1 FOR UPDATE", "SELECT v FROM t WHERE v = 1 FOR NO KEY UPDATE"] {
        for level in ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"] {
            let begin: &'static str = format!("BEGIN ISOLATION LEVEL {level}").leak();
            let lock: &'static str = lock.to_owned().leak();
            steps(
                &setup,
                &[
                    (1, begin, Done),
                    (1, lock, Gives("1")),
                    (2, begin, Done),
                    (2, "UPDATE t SET v = v + 10 WHERE id = 1", Waits),
                    (1, "COMMIT", Done),
                    (2, "", Ends("1")),
                    (2, "COMMIT", Done),
                    (3, "SELECT v FROM t WHERE id = 1", Gives("11")),
                ],
            );
        }
    }
    // What has changed meanwhile is read again, or is a conflict.
    for (begin, last) in [(RC, Ends("11")), ("BEGIN ISOLATION LEVEL REPEATABLE READ", EndsWith("40001"))] {
        steps(
            &setup,
            &[
                (1, begin, Done),
                (2, begin, Done),
                (2, "SELECT 1 FROM t WHERE id = 2", Done),
                (1, "SELECT * FROM t WHERE id = 1 FOR UPDATE", Gives("1 1")),
                (2, "SELECT v FROM t WHERE id = 1 FOR UPDATE", Waits),
                (1, "UPDATE t SET v = v + 10 WHERE id = 1", Gives("1")),
                (1, "COMMIT", Done),
                (2, "", last),
            ],
        );
    }
}

#[test]
fn locks_that_go_together_do_not_wait() {
    steps(
        &["CREATE TABLE t (id int PRIMARY KEY, v int)", "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)"],
        &[
            (1, RC, Done),
            (2, RC, Done),
            (3, "SET default_transaction_isolation = 'read committed'", Done),
            (1, "SELECT v FROM t WHERE id = 1 FOR SHARE", Gives("1")),
            (2, "SELECT v FROM t WHERE id = 1 FOR SHARE", Gives("1")),
            (2, "SELECT v FROM t WHERE id = 2 FOR KEY SHARE", Gives("2")),
            (3, "UPDATE t SET v = 22 WHERE id = 2", Gives("1")),
            (3, "SELECT v FROM t WHERE id = 1 FOR UPDATE NOWAIT", Fails("55P03")),
            (3, "SELECT id FROM t ORDER BY id FOR UPDATE SKIP LOCKED", Gives("3")),
            (3, "SELECT id FROM t ORDER BY id FOR NO KEY UPDATE SKIP LOCKED", Gives("2, 3")),
            (3, "SELECT id FROM t ORDER BY id FOR UPDATE SKIP LOCKED LIMIT 1", Gives("3")),
            (3, "DELETE FROM t WHERE id = 2", Waits),
            (2, "COMMIT", Done),
            (3, "", Ends("1")),
            (3, "UPDATE t SET v = 11 WHERE id = 1", Waits),
            (1, "ROLLBACK", Done),
            (3, "", Ends("1")),
            // Savepoints give locks back.
            (1, RC, Done),
            (1, "SAVEPOINT s", Done),
            (1, "SELECT v FROM t WHERE id = 1 FOR UPDATE", Gives("11")),
            (3, "UPDATE t SET v = 12 WHERE id = 1", Waits),
            (1, "ROLLBACK TO s", Done),
            (3, "", Ends("1")),
            (1, "COMMIT", Done),
            (1, "BEGIN READ ONLY", Done),
            (1, "SELECT v FROM t WHERE id = 1 FOR UPDATE", Fails("25006")),
        ],
    );
}

#[test]
fn tables_are_locked_to_the_end_of_the_block() {
    let setup = ["CREATE TABLE t (id int PRIMARY KEY, v int)", "INSERT INTO t VALUES (1, 1)"];
    for begin in [RC, "BEGIN"] {
        steps(
            &setup,
            &[
                (1, "LOCK TABLE t", Fails("25P01")),
                (1, begin, Done),
                (1, "LOCK t IN SHARE ROW EXCLUSIVE MODE", Done),
                (2, begin, Done),
                (2, "LOCK TABLE t IN ACCESS SHARE MODE", Done),
                (2, "LOCK TABLE t IN SHARE MODE NOWAIT", Fails("55P03")),
                (2, "ROLLBACK", Done),
                (2, begin, Done),
                (2, "LOCK TABLE t IN EXCLUSIVE MODE", Waits),
                (1, "UPDATE t SET v = v + 1", Gives("1")),
                (1, "COMMIT", Done),
                (2, "", Ends("0")),
                // It sees what has changed while it waited.
                (2, "SELECT v FROM t", Gives("2")),
                (1, begin, Done),
                (1, "SELECT v FROM t", Gives("2")),
                (1, "INSERT INTO t VALUES (2, 2)", Waits),
                (3, begin, Done),
                (3, "UPDATE t SET v = 7 WHERE id = 1", Waits),
                (2, "COMMIT", Done),
                (1, "", Ends("1")),
                (3, "", Ends("1")),
                // Who has written keeps others from locking.
                (2, begin, Done),
                (2, "LOCK TABLE t", Waits),
                (1, "COMMIT", Done),
                (3, "COMMIT", Done),
                (2, "", Ends("0")),
                (2, "SELECT count(*), min(v) FROM t", Gives("2 2")),
                (2, "COMMIT", Done),
            ],
        );
    }
}

#[test]
fn numbers_are_locked_by_sessions_and_transactions() {
    steps(
        &["CREATE TABLE t (id int)"],
        &[
            (1, "SELECT pg_advisory_lock(7)", Gives("")),
            (1, "SELECT pg_advisory_lock(7)", Gives("")),
            (
                2,
                "SELECT pg_try_advisory_lock(7), pg_try_advisory_lock(8), pg_try_advisory_lock(0, 7)",
                Gives("false true true"),
            ),
            (2, "SELECT pg_advisory_lock(7)", Waits),
            (1, "SELECT pg_advisory_unlock(7)", Gives("true")),
            (3, "SELECT pg_try_advisory_lock_shared(7)", Gives("false")),
            (1, "SELECT pg_advisory_unlock(7)", Gives("true")),
            (2, "", Ends("")),
            (1, "SELECT pg_advisory_unlock(7)", Gives("false")),
            // Shared ones, and those of a transaction.
            (1, "BEGIN", Done),
            (1, "SELECT pg_advisory_xact_lock_shared(1, 2)", Gives("")),
            (3, "SELECT pg_advisory_lock_shared(1, 2)", Gives("")),
            (3, "SELECT pg_advisory_unlock_shared(1, 2)", Gives("true")),
            (3, "SELECT pg_advisory_lock(1, 2)", Waits),
            (1, "SELECT pg_advisory_unlock(1, 2)", Gives("false")),
            (1, "COMMIT", Done),
            (3, "", Ends("")),
            (1, "BEGIN", Done),
            (1, "SAVEPOINT s", Done),
            (1, "SELECT pg_advisory_xact_lock(5)", Gives("")),
            (3, "SELECT pg_try_advisory_lock(5)", Gives("false")),
            (1, "ROLLBACK TO s", Done),
            (3, "SELECT pg_try_advisory_lock(5)", Gives("true")),
            (3, "SELECT pg_advisory_unlock_all()", Gives("")),
            (1, "SELECT pg_try_advisory_lock(5)", Gives("true")),
            (1, "COMMIT", Done),
            // Of a statement of its own.
            (1, "SELECT pg_advisory_xact_lock(6)", Gives("")),
            (3, "SELECT pg_try_advisory_lock(6)", Gives("true")),
            // A circle.
            (1, "SELECT pg_advisory_lock(100)", Gives("")),
            (2, "SELECT pg_advisory_lock(200)", Gives("")),
            (1, "SELECT pg_advisory_lock(200)", Waits),
            (2, "SELECT pg_advisory_lock(100)", Fails("40P01")),
            (2, "DISCARD ALL", Done),
            (1, "", Ends("")),
        ],
    );
}

#[test]
fn rows_behind_views_and_queries_are_locked() {
    let setup = [
        "CREATE TABLE t (id int PRIMARY KEY, v int)",
        "CREATE TABLE u (id int PRIMARY KEY, w int)",
        "INSERT INTO t VALUES (1, 1), (2, 2)",
        "INSERT INTO u VALUES (1, 10), (3, 30)",
        "CREATE VIEW some AS SELECT * FROM t WHERE v < 2",
        "CREATE VIEW two AS SELECT t.id, w FROM t JOIN u USING (id)",
    ];
    for lock in [
        "SELECT id FROM some FOR UPDATE",
        "SELECT id FROM (SELECT * FROM t) AS q WHERE id = 1 FOR UPDATE",
        "SELECT id FROM two FOR UPDATE",
        "SELECT id FROM t NATURAL JOIN u FOR UPDATE",
        "SELECT a FROM t AS x (a, b) WHERE b = 1 FOR UPDATE OF x",
    ] {
        steps(
            &setup,
            &[
                (1, RC, Done),
                (1, lock.to_owned().leak(), Gives("1")),
                (3, "SELECT v FROM t WHERE id = 2 FOR UPDATE NOWAIT", Gives("2")),
                (3, "SELECT v FROM some FOR SHARE NOWAIT", Fails("55P03")),
                (3, "SELECT id FROM (SELECT id FROM t) AS q ORDER BY id FOR UPDATE SKIP LOCKED", Gives("2")),
                (2, "UPDATE t SET v = v + 10 WHERE id = 1", Waits),
                (1, "COMMIT", Done),
                (2, "", Ends("1")),
            ],
        );
    }
}

#[test]
fn bulk_inserts_lock_what_they_refer_to() {
    for insert in [
        "INSERT INTO child SELECT n, n % 3 + 1 FROM generate_series(1, 1000) AS n",
        "INSERT INTO child SELECT n, n % 3 + 1 FROM generate_series(1, 1) AS n",
    ] {
        let (insert, count): (&'static str, _) = (insert, if insert.contains("1000") { "1000" } else { "1" });
        let setup = [
            "CREATE TABLE parent (id int PRIMARY KEY, v int)",
            "CREATE TABLE child (id int, parent int REFERENCES parent)",
            "INSERT INTO parent VALUES (1, 1), (2, 2), (3, 3)",
        ];
        steps(
            &setup,
            &[
                (1, RC, Done),
                (1, insert, Gives(count)),
                // Others may go on with what is no key.
                (2, "UPDATE parent SET v = 7 WHERE id = 2", Gives("1")),
                (2, "SET default_transaction_isolation = 'read committed'", Done),
                (2, "DELETE FROM parent WHERE id = 2", Waits),
                (1, "COMMIT", Done),
                (2, "", EndsWith("23503")),
                (2, "TRUNCATE child", Done),
                (2, RC, Done),
                (2, "DELETE FROM parent WHERE id = 2", Gives("1")),
                (1, RC, Done),
                (1, insert, Waits),
                (2, "ROLLBACK", Done),
                (1, "", Ends(count)),
                (1, "COMMIT", Done),
            ],
        );
    }
}
