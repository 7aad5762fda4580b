//! ALTER TABLE in transaction blocks beside other sessions: who writes waits, who reads does not.

use super::read_committed::Due::{Done, Ends, EndsWith, Fails, Gives, Waits};
use super::read_committed::{RC, steps};

const SETUP: [&str; 3] = [
    "CREATE TABLE t (id int PRIMARY KEY, v int)",
    "INSERT INTO t VALUES (1, 1), (2, 2)",
    "CREATE TABLE child (id int, t int REFERENCES t)",
];

#[test]
fn who_writes_waits_and_who_reads_does_not() {
    for (begin, end, width) in [
        (RC, "COMMIT", "1 10 NULL, 2 2 NULL"),
        (RC, "ROLLBACK", "1 10, 2 2"),
        ("BEGIN", "COMMIT", "1 10 NULL, 2 2 NULL"),
    ] {
        steps(
            &SETUP,
            &[
                (1, begin, Done),
                (1, "ALTER TABLE t ADD COLUMN w text", Done),
                (1, "SELECT * FROM t ORDER BY id", Gives("1 1 NULL, 2 2 NULL")),
                (2, "SELECT * FROM t ORDER BY id", Gives("1 1, 2 2")),
                (2, "UPDATE t SET v = 10 WHERE id = 1", Waits),
                (3, "INSERT INTO child VALUES (1, 2)", Done),
                (1, end, Done),
                (2, "", Ends("1")),
                (2, "SELECT * FROM t ORDER BY id", Gives(width)),
                (3, "DELETE FROM t WHERE id = 2", Fails("23503")),
            ],
        );
    }
}

#[test]
fn who_began_before_reads_what_was_before() {
    steps(
        &SETUP,
        &[
            (2, "BEGIN ISOLATION LEVEL REPEATABLE READ", Done),
            (2, "SELECT count(*) FROM child", Gives("0")),
            (3, RC, Done),
            (3, "SELECT count(*) FROM child", Gives("0")),
            (1, RC, Done),
            (1, "ALTER TABLE t DROP COLUMN v", Done),
            (1, "UPDATE t SET id = id + 10", Gives("2")),
            (1, "ALTER TABLE t RENAME TO u", Done),
            (1, "SELECT * FROM u ORDER BY id", Gives("11, 12")),
            (3, "SELECT * FROM t ORDER BY id", Gives("1 1, 2 2")),
            (1, "COMMIT", Done),
            (3, "SELECT * FROM u ORDER BY id", Gives("11, 12")),
            (3, "COMMIT", Done),
            (2, "COMMIT", Done),
        ],
    );
}

#[test]
fn what_others_change_is_no_part_of_what_is_altered() {
    steps(
        &SETUP,
        &[
            // Its snapshot is older than the row.
            (1, "BEGIN", Done),
            (1, "SELECT count(*) FROM child", Gives("0")),
            (2, "INSERT INTO t VALUES (3, 3)", Done),
            (1, "ALTER TABLE t ADD COLUMN w int", Fails("40001")),
            (1, "ROLLBACK", Done),
            (1, RC, Done),
            (1, "SELECT count(*) FROM child", Gives("0")),
            (2, "INSERT INTO t VALUES (4, 4)", Done),
            (1, "ALTER TABLE t ADD COLUMN w int", Done),
            (1, "SELECT count(*) FROM t", Gives("4")),
            (1, "COMMIT", Done),
            // Somebody has not ended.
            (2, RC, Done),
            (2, "UPDATE t SET v = 5", Gives("4")),
            (1, RC, Done),
            (1, "ALTER TABLE t ADD COLUMN x int", Fails("40001")),
            (1, "ROLLBACK", Done),
            (2, "COMMIT", Done),
            (3, "SELECT count(*), sum(v) FROM t", Gives("4 20")),
        ],
    );
}

#[test]
fn waits_for_altered_tables_are_found_in_circles() {
    steps(
        &["CREATE TABLE t (id int PRIMARY KEY)", "CREATE TABLE u (id int PRIMARY KEY)"],
        &[
            (1, RC, Done),
            (2, RC, Done),
            (1, "ALTER TABLE t ADD COLUMN a int", Done),
            (2, "ALTER TABLE u ADD COLUMN a int", Done),
            (1, "INSERT INTO u (id) VALUES (1)", Waits),
            (2, "INSERT INTO t (id) VALUES (1)", Fails("40P01")),
            (2, "ROLLBACK", Done),
            (1, "", Ends("1")),
            (1, "COMMIT", Done),
            (1, RC, Done),
            (1, "ALTER TABLE t ADD COLUMN b int", Done),
            (2, "SET lock_timeout = 200", Done),
            (2, "INSERT INTO t (id) VALUES (2)", Waits),
            (2, "", EndsWith("55P03")),
            (1, "ROLLBACK", Done),
        ],
    );
}
