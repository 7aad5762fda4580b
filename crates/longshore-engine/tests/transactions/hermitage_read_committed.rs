//! The anomalies of Hermitage at READ COMMITTED, with PostgreSQL's outcomes.
//!
//! Where PostgreSQL looks again only at the rows that it waited for, here the whole statement runs again: one case says so.
//! Not here: the stricter levels (`hermitage.rs`).

use super::read_committed::Due::{Done, Ends, Gives, Waits};
use super::read_committed::{Step, steps};

/// Takes the steps at READ COMMITTED and READ UNCOMMITTED on Hermitage's table, by a key and without; BEGIN stands for all three
/// sessions before them.
fn hermitage(of_hermitage: &[Step], in_the_end: &'static str) {
    for level in ["READ COMMITTED", "READ UNCOMMITTED"] {
        for definition in ["id int PRIMARY KEY, value int", "id int, value int"] {
            let begin: &'static str = format!("BEGIN ISOLATION LEVEL {level}").leak();
            let mut all: Vec<Step> = (1..=3).map(|session| (session, begin, Done)).collect();
            all.extend(of_hermitage);
            all.extend((1..=3).map(|session| (session, "COMMIT", Done)));
            all.push((1, ALL, Gives(in_the_end)));
            steps(&[&format!("CREATE TABLE test ({definition})"), "INSERT INTO test VALUES (1, 10), (2, 20)"], &all);
        }
    }
}

const ALL: &str = "SELECT id, value FROM test ORDER BY id";

#[test]
fn g0_write_cycles() {
    hermitage(
        &[
            (1, "UPDATE test SET value = 11 WHERE id = 1", Gives("1")),
            (2, "UPDATE test SET value = 12 WHERE id = 1", Waits),
            (1, "UPDATE test SET value = 21 WHERE id = 2", Gives("1")),
            (1, "COMMIT", Done),
            (2, "", Ends("1")),
            (1, ALL, Gives("1 11, 2 21")),
            (2, "UPDATE test SET value = 22 WHERE id = 2", Gives("1")),
        ],
        "1 12, 2 22",
    );
}

#[test]
fn g1a_aborted_reads() {
    hermitage(
        &[
            (1, "UPDATE test SET value = 101 WHERE id = 1", Done),
            (2, ALL, Gives("1 10, 2 20")),
            (1, "ROLLBACK", Done),
            (2, ALL, Gives("1 10, 2 20")),
        ],
        "1 10, 2 20",
    );
}

#[test]
fn g1b_intermediate_reads() {
    hermitage(
        &[
            (1, "UPDATE test SET value = 101 WHERE id = 1", Done),
            (2, ALL, Gives("1 10, 2 20")),
            (1, "UPDATE test SET value = 11 WHERE id = 1", Done),
            (1, "COMMIT", Done),
            (2, ALL, Gives("1 11, 2 20")),
        ],
        "1 11, 2 20",
    );
}

#[test]
fn g1c_circular_information_flow() {
    hermitage(
        &[
            (1, "UPDATE test SET value = 11 WHERE id = 1", Done),
            (2, "UPDATE test SET value = 22 WHERE id = 2", Done),
            (1, "SELECT id, value FROM test WHERE id = 2", Gives("2 20")),
            (2, "SELECT id, value FROM test WHERE id = 1", Gives("1 10")),
        ],
        "1 11, 2 22",
    );
}

#[test]
fn otv_observed_transaction_vanishes() {
    hermitage(
        &[
            (1, "UPDATE test SET value = 11 WHERE id = 1", Done),
            (1, "UPDATE test SET value = 19 WHERE id = 2", Done),
            (2, "UPDATE test SET value = 12 WHERE id = 1", Waits),
            (1, "COMMIT", Done),
            (2, "", Ends("1")),
            (3, ALL, Gives("1 11, 2 19")),
            (2, "UPDATE test SET value = 18 WHERE id = 2", Gives("1")),
            (3, ALL, Gives("1 11, 2 19")),
            (2, "COMMIT", Done),
            (3, ALL, Gives("1 12, 2 18")),
        ],
        "1 12, 2 18",
    );
}

#[test]
fn pmp_predicate_many_preceders_goes_through() {
    hermitage(
        &[
            (1, "SELECT * FROM test WHERE value = 30", Gives("")),
            (2, "INSERT INTO test VALUES (3, 30)", Done),
            (2, "COMMIT", Done),
            (1, "SELECT * FROM test WHERE value % 3 = 0", Gives("3 30")),
        ],
        "1 10, 2 20, 3 30",
    );
}

/// PostgreSQL deletes nothing: it looks at the row again that it waited for, which does not match any more, and not at the
/// other, which matches now.
#[test]
fn pmp_with_a_write_predicate_sees_one_state() {
    hermitage(
        &[
            (1, "UPDATE test SET value = value + 10", Gives("2")),
            (2, ALL, Gives("1 10, 2 20")),
            (2, "DELETE FROM test WHERE value = 20", Waits),
            (1, "COMMIT", Done),
            (2, "", Ends("1")),
            (2, ALL, Gives("2 30")),
        ],
        "2 30",
    );
}

#[test]
fn p4_lost_update_goes_through() {
    hermitage(
        &[
            (1, "SELECT * FROM test WHERE id = 1", Gives("1 10")),
            (2, "SELECT * FROM test WHERE id = 1", Gives("1 10")),
            (1, "UPDATE test SET value = 11 WHERE id = 1", Gives("1")),
            (2, "UPDATE test SET value = 11 WHERE id = 1", Waits),
            (1, "COMMIT", Done),
            (2, "", Ends("1")),
        ],
        "1 11, 2 20",
    );
}

#[test]
fn g_single_read_skew_goes_through() {
    hermitage(
        &[
            (1, "SELECT * FROM test WHERE id = 1", Gives("1 10")),
            (2, "UPDATE test SET value = 12 WHERE id = 1", Done),
            (2, "UPDATE test SET value = 18 WHERE id = 2", Done),
            (2, "COMMIT", Done),
            (1, "SELECT * FROM test WHERE id = 2", Gives("2 18")),
        ],
        "1 12, 2 18",
    );
}

#[test]
fn g_single_by_predicates_goes_through() {
    hermitage(
        &[
            (1, "SELECT * FROM test WHERE value % 5 = 0 ORDER BY id", Gives("1 10, 2 20")),
            (2, "UPDATE test SET value = 12 WHERE value = 10", Gives("1")),
            (2, "COMMIT", Done),
            (1, "SELECT * FROM test WHERE value % 3 = 0", Gives("1 12")),
        ],
        "1 12, 2 20",
    );
}

#[test]
fn g_single_with_a_write_predicate_finds_what_is_there() {
    hermitage(
        &[
            (1, "SELECT * FROM test WHERE id = 1", Gives("1 10")),
            (2, "UPDATE test SET value = 12 WHERE id = 1", Done),
            (2, "UPDATE test SET value = 18 WHERE id = 2", Done),
            (2, "COMMIT", Done),
            (1, "DELETE FROM test WHERE value = 20", Gives("0")),
            (1, "SELECT * FROM test WHERE id = 2", Gives("2 18")),
        ],
        "1 12, 2 18",
    );
    hermitage(
        &[
            (1, "SELECT * FROM test WHERE id = 1", Gives("1 10")),
            (2, "UPDATE test SET value = 12 WHERE id = 1", Done),
            (1, "DELETE FROM test WHERE id = 2", Gives("1")),
            (2, "UPDATE test SET value = 18 WHERE id = 2", Waits),
            (1, "ROLLBACK", Done),
            (2, "", Ends("1")),
        ],
        "1 12, 2 18",
    );
}

#[test]
fn g2_write_skew_goes_through() {
    hermitage(
        &[
            (1, "SELECT * FROM test WHERE id IN (1, 2) ORDER BY id", Gives("1 10, 2 20")),
            (2, "SELECT * FROM test WHERE id IN (1, 2) ORDER BY id", Gives("1 10, 2 20")),
            (1, "UPDATE test SET value = 11 WHERE id = 1", Done),
            (2, "UPDATE test SET value = 21 WHERE id = 2", Done),
        ],
        "1 11, 2 21",
    );
    hermitage(
        &[
            (1, "SELECT * FROM test WHERE value % 3 = 0", Gives("")),
            (2, "SELECT * FROM test WHERE value % 3 = 0", Gives("")),
            (1, "INSERT INTO test VALUES (3, 30)", Done),
            (2, "INSERT INTO test VALUES (4, 42)", Done),
        ],
        "1 10, 2 20, 3 30, 4 42",
    );
    hermitage(
        &[
            (1, ALL, Gives("1 10, 2 20")),
            (2, "UPDATE test SET value = value + 5 WHERE id = 2", Done),
            (2, "COMMIT", Done),
            (3, ALL, Gives("1 10, 2 25")),
            (3, "COMMIT", Done),
            (1, "UPDATE test SET value = 0 WHERE id = 1", Done),
        ],
        "1 0, 2 25",
    );
}
