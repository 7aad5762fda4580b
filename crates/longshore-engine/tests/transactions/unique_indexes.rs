//! Unique indexes over expressions, about some of the rows, and with NULLS NOT DISTINCT, beside other sessions: they keep others
//! out as keys of columns do.

use super::read_committed::Due::{Done, Ends, EndsWith, Fails, Gives, Waits};
use super::read_committed::{RC, steps};

const SETUP: [&str; 5] = [
    "CREATE TABLE t (id int PRIMARY KEY, mail text, gone bool, n int UNIQUE NULLS NOT DISTINCT)",
    "CREATE UNIQUE INDEX t_mail ON t (lower(mail))",
    "CREATE UNIQUE INDEX t_here ON t (mail) WHERE NOT gone",
    "INSERT INTO t VALUES (1, 'Ann', false, 1), (2, 'Bob', false, 2)",
    "CREATE TABLE free (id int, a text)",
];

#[test]
fn a_key_that_another_transaction_inserts_is_waited_for() {
    for (end, last) in [("COMMIT", EndsWith("23505")), ("ROLLBACK", Ends("1"))] {
        for (first, second) in [
            ("INSERT INTO t VALUES (3, 'NEW', true, 3)", "INSERT INTO t VALUES (4, 'new', true, 4)"),
            ("INSERT INTO t VALUES (3, 'x', true, NULL)", "INSERT INTO t VALUES (4, 'y', true, NULL)"),
            ("UPDATE t SET mail = 'New' WHERE id = 1", "INSERT INTO t SELECT 4, 'nEW', false, 4"),
            ("UPDATE t SET n = NULL WHERE id = 1", "UPDATE t SET n = NULL WHERE id = 2"),
            (
                "MERGE INTO t USING (VALUES (3)) v(id) ON t.id = v.id WHEN NOT MATCHED THEN INSERT VALUES (3, 'a', true, 3)",
                "INSERT INTO t VALUES (4, 'A', true, 4)",
            ),
        ] {
            steps(&SETUP, &[(1, RC, Done), (1, first, Done), (2, second, Waits), (1, end, Done), (2, "", last)]);
        }
    }
}

#[test]
fn what_the_index_is_not_about_is_not_waited_for() {
    steps(
        &["CREATE TABLE t (id int, gone bool)", "CREATE UNIQUE INDEX here ON t (id) WHERE NOT gone"],
        &[
            (1, RC, Done),
            (1, "INSERT INTO t VALUES (1, false), (2, true)", Done),
            (2, "INSERT INTO t VALUES (1, true), (1, NULL), (2, true)", Gives("3")),
            (2, "UPDATE t SET gone = false WHERE gone IS NULL", Waits),
            (1, "DELETE FROM t WHERE NOT gone", Gives("1")),
            (1, "COMMIT", Done),
            (2, "", Ends("1")),
            (2, "INSERT INTO t VALUES (1, false)", Fails("23505")),
        ],
    );
}

#[test]
fn on_conflict_waits_and_then_finds_the_row() {
    for (end, row) in [("COMMIT", "3 NEW true 5"), ("ROLLBACK", "4 new true 4")] {
        steps(
            &SETUP,
            &[
                (1, RC, Done),
                (1, "INSERT INTO t VALUES (3, 'NEW', true, 3)", Done),
                (2, "INSERT INTO t VALUES (4, 'new', true, 4) ON CONFLICT (lower(mail)) DO UPDATE SET n = 5", Waits),
                (1, end, Done),
                (2, "", Ends("1")),
                (2, "SELECT * FROM t WHERE lower(mail) = 'new'", Gives(row)),
            ],
        );
    }
}

#[test]
fn of_two_snapshots_the_second_one_fails() {
    for level in ["BEGIN ISOLATION LEVEL REPEATABLE READ", "BEGIN"] {
        steps(
            &SETUP,
            &[
                (1, level, Done),
                (2, level, Done),
                (1, "SELECT count(*) FROM t", Gives("2")),
                (2, "SELECT count(*) FROM t", Gives("2")),
                (1, "INSERT INTO t VALUES (3, 'x', true, 3)", Done),
                (1, "COMMIT", Done),
                (2, "INSERT INTO t VALUES (4, 'X', true, 4)", Fails("40001")),
                (2, "ROLLBACK", Done),
                (2, "INSERT INTO t VALUES (4, 'X', true, 4)", Fails("23505")),
            ],
        );
    }
}

#[test]
fn an_index_is_made_and_dropped_beside_others() {
    for (end, insert) in [("COMMIT", EndsWith("23505")), ("ROLLBACK", Ends("1"))] {
        steps(
            &SETUP,
            &[
                (1, "INSERT INTO free VALUES (1, 'A'), (2, 'B')", Done),
                (1, RC, Done),
                (1, "INSERT INTO free VALUES (3, 'C')", Done),
                (1, "CREATE UNIQUE INDEX free_a ON free (lower(a))", Done),
                (1, "SAVEPOINT s", Done),
                (1, "INSERT INTO free VALUES (4, 'c')", Fails("23505")),
                (1, "ROLLBACK TO s", Done),
                (1, "INSERT INTO free VALUES (4, 'D') ON CONFLICT (lower(a)) DO NOTHING", Gives("1")),
                (2, "SELECT count(*) FROM free", Gives("2")),
                (2, "INSERT INTO free VALUES (5, 'a')", Waits),
                (1, end, Done),
                (2, "", insert),
            ],
        );
    }
    steps(
        &SETUP,
        &[
            (1, RC, Done),
            (1, "DROP INDEX t_mail", Done),
            (1, "INSERT INTO t VALUES (3, 'ANN', true, 3)", Done),
            (2, "SELECT count(*) FROM t", Gives("2")),
            (1, "ROLLBACK", Done),
            (2, "INSERT INTO t VALUES (3, 'ANN', true, 3)", Fails("23505")),
            (2, "DROP INDEX t_mail", Done),
            (2, "INSERT INTO t VALUES (3, 'ANN', true, 3)", Done),
            (1, "SELECT * FROM t WHERE id = 3", Gives("3 ANN true 3")),
        ],
    );
}
