//! The anomalies of Hermitage (Martin Kleppmann's collection, after Adya's definitions) through sessions, each with the
//! outcome that is expected at each level, and the write skew of the thesis (2.3.2).
//!
//! The statements are Hermitage's, in its order. Where its databases let a writer wait for another, here it fails at
//! once. A level is what two columns say: what SERIALIZABLE does, and what SNAPSHOT does, which is REPEATABLE READ.
//! Not here: READ COMMITTED (`hermitage_read_committed.rs`), the same through storage (`longshore-storage/tests/storage/isolation.rs`).

use longshore_engine::ErrorKind;

use super::{database, run};

const LEVELS: [&str; 3] = ["SERIALIZABLE", "SNAPSHOT", "REPEATABLE READ"];

/// What becomes of a statement.
#[derive(Clone, Copy, Debug)]
enum Due {
    /// It is done.
    Done,
    /// It gives these rows, or changes so many.
    Gives(&'static str),
    /// It fails with SQLSTATE 40001.
    Conflict,
    /// The same under SERIALIZABLE; it is done under weaker levels.
    SkewOnly,
}
use Due::{Conflict, Done, Gives, SkewOnly};

/// A statement of a session: 1, 2 or 3. BEGIN has the level that is tested put behind it.
type Step = (usize, &'static str, Due);

const ALL: &str = "SELECT id, value FROM test ORDER BY id";

/// Takes the steps at every level, on Hermitage's table.
fn hermitage(steps: &[Step], in_the_end: &[&str; 2]) {
    with_rows("(1, 10), (2, 20)", steps, in_the_end);
}

/// The same on a table of these rows. In the end it has other ones, under SERIALIZABLE and under weaker levels.
fn with_rows(rows: &str, steps: &[Step], in_the_end: &[&str; 2]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for (level, name) in LEVELS.iter().enumerate() {
        // With a key statements find their rows by it, without they scan.
        for definition in ["id int PRIMARY KEY, value int", "id int, value int"] {
            runtime.block_on(async {
                let database = database();
                let mut sessions = [database.session(), database.session(), database.session()];
                run(&mut sessions[0], &format!("CREATE TABLE test ({definition})")).await.unwrap();
                run(&mut sessions[0], &format!("INSERT INTO test VALUES {rows}")).await.unwrap();
                for &(session, sql, due) in steps {
                    let is_begin = sql == "BEGIN";
                    let text = if is_begin { format!("BEGIN ISOLATION LEVEL {name}") } else { sql.to_owned() };
                    let outcome = run(&mut sessions[session - 1], &text).await;
                    let context = format!("{name}, ({definition}), session {session}: {sql}");
                    match (due, outcome) {
                        (Done, Ok(_)) => {}
                        (Gives(expected), Ok(found)) => assert_eq!(found, expected, "{context}"),
                        (SkewOnly, Ok(_)) => assert!(level > 0, "{context}: goes through"),
                        (Conflict, Err(error)) => assert_eq!(error.kind(), ErrorKind::Conflict, "{context}: {error}"),
                        (SkewOnly, Err(error)) => {
                            assert_eq!((level, error.kind()), (0, ErrorKind::Conflict), "{context}: {error}");
                            assert_eq!(error.kind().sqlstate(), "40001");
                            assert!(error.to_string().contains("test"), "it says with what: {error}");
                        }
                        (due, outcome) => panic!("{context}: {outcome:?} where {due:?}"),
                    }
                }
                let found = run(&mut database.session(), ALL).await.unwrap();
                assert_eq!(found, in_the_end[usize::from(level > 0)], "{name}, ({definition}): in the end");
            });
        }
    }
}

#[test]
fn g0_write_cycles() {
    hermitage(
        &[
            (1, "BEGIN", Done),
            (2, "BEGIN", Done),
            (1, "UPDATE test SET value = 11 WHERE id = 1", Gives("1")),
            (2, "UPDATE test SET value = 12 WHERE id = 1", Conflict),
            (2, "ROLLBACK", Done),
            (1, "UPDATE test SET value = 21 WHERE id = 2", Gives("1")),
            (1, "COMMIT", Done),
        ],
        &["1 11, 2 21"; 2],
    );
}

#[test]
fn g1a_aborted_reads() {
    hermitage(
        &[
            (1, "BEGIN", Done),
            (2, "BEGIN", Done),
            (1, "UPDATE test SET value = 101 WHERE id = 1", Done),
            (2, ALL, Gives("1 10, 2 20")),
            (1, "ROLLBACK", Done),
            (2, ALL, Gives("1 10, 2 20")),
            (2, "COMMIT", Done),
        ],
        &["1 10, 2 20"; 2],
    );
}

#[test]
fn g1b_intermediate_reads() {
    hermitage(
        &[
            (1, "BEGIN", Done),
            (2, "BEGIN", Done),
            (1, "UPDATE test SET value = 101 WHERE id = 1", Done),
            (2, ALL, Gives("1 10, 2 20")),
            (1, "UPDATE test SET value = 11 WHERE id = 1", Done),
            (1, "COMMIT", Done),
            (2, ALL, Gives("1 10, 2 20")),
            (2, "COMMIT", Done),
        ],
        &["1 11, 2 20"; 2],
    );
}

#[test]
fn g1c_circular_information_flow() {
    hermitage(
        &[
            (1, "BEGIN", Done),
            (2, "BEGIN", Done),
            (1, "UPDATE test SET value = 11 WHERE id = 1", Done),
            (2, "UPDATE test SET value = 22 WHERE id = 2", Done),
            (1, "SELECT id, value FROM test WHERE id = 2", Gives("2 20")),
            (2, "SELECT id, value FROM test WHERE id = 1", Gives("1 10")),
            (1, "COMMIT", Done),
            (2, "COMMIT", SkewOnly),
        ],
        &["1 11, 2 20", "1 11, 2 22"],
    );
}

#[test]
fn otv_observed_transaction_vanishes() {
    hermitage(
        &[
            (1, "BEGIN", Done),
            (2, "BEGIN", Done),
            (1, "UPDATE test SET value = 11 WHERE id = 1", Done),
            (1, "UPDATE test SET value = 19 WHERE id = 2", Done),
            (2, "UPDATE test SET value = 12 WHERE id = 1", Conflict),
            (2, "ROLLBACK", Done),
            (1, "COMMIT", Done),
            (2, "BEGIN", Done),
            (3, "BEGIN", Done),
            (2, "UPDATE test SET value = 12 WHERE id = 1", Done),
            (3, "SELECT id, value FROM test WHERE id = 1", Gives("1 11")),
            (2, "UPDATE test SET value = 18 WHERE id = 2", Done),
            (3, "SELECT id, value FROM test WHERE id = 2", Gives("2 19")),
            (2, "COMMIT", Done),
            (3, ALL, Gives("1 11, 2 19")),
            (3, "COMMIT", Done),
        ],
        &["1 12, 2 18"; 2],
    );
}

#[test]
fn pmp_predicate_many_preceders() {
    hermitage(
        &[
            (1, "BEGIN", Done),
            (2, "BEGIN", Done),
            (1, "SELECT * FROM test WHERE value = 30", Gives("")),
            (2, "INSERT INTO test VALUES (3, 30)", Gives("1")),
            (2, "COMMIT", Done),
            (1, "SELECT * FROM test WHERE value % 3 = 0", Gives("")),
            (1, "COMMIT", Done),
        ],
        &["1 10, 2 20, 3 30"; 2],
    );
}

#[test]
fn pmp_with_a_write_predicate() {
    for is_first_committed in [false, true] {
        let commit = (1, "COMMIT", Done);
        // Of the two rows it means the one that had 20: it is being changed, or was.
        let delete = (2, "DELETE FROM test WHERE value = 20", Conflict);
        let (fifth, sixth) = if is_first_committed { (commit, delete) } else { (delete, commit) };
        hermitage(
            &[
                (1, "BEGIN", Done),
                (2, "BEGIN", Done),
                // What session 2 sees, it sees from here on.
                (2, "SELECT count(*) FROM test WHERE value = 20", Gives("1")),
                (1, "UPDATE test SET value = value + 10", Gives("2")),
                fifth,
                sixth,
                (2, "ROLLBACK", Done),
            ],
            &["1 20, 2 30"; 2],
        );
    }
}

#[test]
fn p4_lost_update() {
    for is_first_committed in [false, true] {
        let commit = (1, "COMMIT", Done);
        let update = (2, "UPDATE test SET value = 11 WHERE id = 1", Conflict);
        let (fifth, sixth) = if is_first_committed { (commit, update) } else { (update, commit) };
        hermitage(
            &[
                (1, "BEGIN", Done),
                (2, "BEGIN", Done),
                (1, "SELECT value FROM test WHERE id = 1", Gives("10")),
                (2, "SELECT value FROM test WHERE id = 1", Gives("10")),
                (1, "UPDATE test SET value = 11 WHERE id = 1", Done),
                fifth,
                sixth,
                (2, "ROLLBACK", Done),
            ],
            &["1 11, 2 20"; 2],
        );
    }
}

#[test]
fn g_single_read_skew() {
    hermitage(
        &[
            (1, "BEGIN", Done),
            (2, "BEGIN", Done),
            (1, "SELECT value FROM test WHERE id = 1", Gives("10")),
            (2, ALL, Gives("1 10, 2 20")),
            (2, "UPDATE test SET value = 12 WHERE id = 1", Done),
            (2, "UPDATE test SET value = 18 WHERE id = 2", Done),
            (2, "COMMIT", Done),
            (1, "SELECT value FROM test WHERE id = 2", Gives("20")),
            (1, "COMMIT", Done),
        ],
        &["1 12, 2 18"; 2],
    );
}

#[test]
fn g_single_by_predicate_dependencies() {
    hermitage(
        &[
            (1, "BEGIN", Done),
            (2, "BEGIN", Done),
            (1, "SELECT * FROM test WHERE value % 5 = 0 ORDER BY id", Gives("1 10, 2 20")),
            (2, "UPDATE test SET value = 12 WHERE value = 10", Gives("1")),
            (2, "COMMIT", Done),
            (1, "SELECT * FROM test WHERE value % 3 = 0", Gives("")),
            (1, "COMMIT", Done),
        ],
        &["1 12, 2 20"; 2],
    );
}

#[test]
fn g_single_with_a_write_predicate() {
    hermitage(
        &[
            (1, "BEGIN", Done),
            (2, "BEGIN", Done),
            (1, "SELECT value FROM test WHERE id = 1", Gives("10")),
            (2, ALL, Done),
            (2, "UPDATE test SET value = 12 WHERE id = 1", Done),
            (2, "UPDATE test SET value = 18 WHERE id = 2", Done),
            (2, "COMMIT", Done),
            (1, "DELETE FROM test WHERE value = 20", Conflict),
            (1, "ROLLBACK", Done),
        ],
        &["1 12, 2 18"; 2],
    );
}

/// It could stand before the other one, but the order is that of the commits.
#[test]
fn g_single_of_one_that_writes_elsewhere() {
    with_rows(
        "(1, 10), (2, 20), (3, 30)",
        &[
            (1, "BEGIN", Done),
            (2, "BEGIN", Done),
            (1, "SELECT value FROM test WHERE id = 1", Gives("10")),
            (2, "UPDATE test SET value = 12 WHERE id = 1", Done),
            (2, "UPDATE test SET value = 18 WHERE id = 2", Done),
            (2, "COMMIT", Done),
            (1, "SELECT value FROM test WHERE id = 2", Gives("20")),
            (1, "UPDATE test SET value = 31 WHERE id = 3", Done),
            (1, "COMMIT", SkewOnly),
        ],
        &["1 12, 2 18, 3 30", "1 12, 2 18, 3 31"],
    );
}

#[test]
fn g2_item_write_skew() {
    hermitage(
        &[
            (1, "BEGIN", Done),
            (2, "BEGIN", Done),
            (1, "SELECT * FROM test WHERE id IN (1, 2) ORDER BY id", Gives("1 10, 2 20")),
            (2, "SELECT * FROM test WHERE id IN (1, 2) ORDER BY id", Gives("1 10, 2 20")),
            (1, "UPDATE test SET value = 11 WHERE id = 1", Done),
            (2, "UPDATE test SET value = 21 WHERE id = 2", Done),
            (1, "COMMIT", Done),
            (2, "COMMIT", SkewOnly),
        ],
        &["1 11, 2 20", "1 11, 2 21"],
    );
}

#[test]
fn g2_anti_dependency_cycles() {
    hermitage(
        &[
            (1, "BEGIN", Done),
            (2, "BEGIN", Done),
            (1, "SELECT * FROM test WHERE value % 3 = 0", Gives("")),
            (2, "SELECT * FROM test WHERE value % 3 = 0", Gives("")),
            (1, "INSERT INTO test VALUES (3, 30)", Done),
            (2, "INSERT INTO test VALUES (4, 42)", Done),
            (1, "COMMIT", Done),
            (2, "COMMIT", SkewOnly),
        ],
        &["1 10, 2 20, 3 30", "1 10, 2 20, 3 30, 4 42"],
    );
}

/// The anomaly of a read-only transaction, after Fekete, O'Neil and O'Neil.
#[test]
fn g2_two_edges() {
    hermitage(
        &[
            (1, "BEGIN", Done),
            (1, ALL, Gives("1 10, 2 20")),
            (2, "BEGIN", Done),
            (2, "UPDATE test SET value = value + 5 WHERE id = 2", Done),
            (2, "COMMIT", Done),
            (3, "BEGIN", Done),
            (3, ALL, Gives("1 10, 2 25")),
            (3, "COMMIT", Done),
            (1, "UPDATE test SET value = 0 WHERE id = 1", Done),
            (1, "COMMIT", SkewOnly),
        ],
        &["1 10, 2 25", "1 0, 2 25"],
    );
}

/// Figure 2.7: a couple's accounts may be overdrawn one by one; together they must cover the mortgage.
#[test]
fn write_skew_of_a_mortgage() {
    with_rows(
        "(1, 60), (2, 60)",
        &[
            (1, "BEGIN", Done),
            (2, "BEGIN", Done),
            (1, "SELECT sum(value) >= 100 FROM test", Gives("true")),
            (2, "SELECT sum(value) >= 100 FROM test", Gives("true")),
            (1, "UPDATE test SET value = value - 100 WHERE id = 1", Gives("1")),
            (2, "UPDATE test SET value = value - 100 WHERE id = 2", Gives("1")),
            (1, "COMMIT", Done),
            (2, "COMMIT", SkewOnly),
        ],
        &["1 -40, 2 60", "1 -40, 2 -40"],
    );
}

/// Aggregates, joins and subqueries read what they were computed from.
#[test]
fn write_skew_by_other_reads() {
    for read in [
        "SELECT max(value) FROM test",
        "SELECT count(*) FROM test",
        "SELECT a.id FROM test a JOIN test b ON a.value = b.value + 10",
        "SELECT 1 WHERE EXISTS (SELECT * FROM test WHERE value > 15)",
        "INSERT INTO test SELECT id + 100, value FROM test WHERE value > 25",
        "UPDATE test SET value = 0 WHERE value > 25",
        "DELETE FROM test WHERE value + id > 25",
    ] {
        hermitage(
            &[
                (1, "BEGIN", Done),
                (2, "BEGIN", Done),
                (1, read, Done),
                (2, read, Done),
                (1, "INSERT INTO test VALUES (3, 30)", Done),
                (2, "INSERT INTO test VALUES (4, 42)", Done),
                (1, "COMMIT", Done),
                (2, "COMMIT", SkewOnly),
            ],
            &["1 10, 2 20, 3 30", "1 10, 2 20, 3 30, 4 42"],
        );
    }
}

/// Readers wait for nobody, and one that is READ ONLY is told off by nobody.
#[test]
fn read_only_transactions_never_fail() {
    hermitage(
        &[
            (1, "BEGIN", Done),
            (1, "SET TRANSACTION READ ONLY", Done),
            (1, ALL, Gives("1 10, 2 20")),
            (2, "UPDATE test SET value = 0", Gives("2")),
            (2, "DELETE FROM test WHERE id = 1", Gives("1")),
            (2, "INSERT INTO test VALUES (3, 30)", Gives("1")),
            (1, ALL, Gives("1 10, 2 20")),
            (1, "COMMIT", Done),
        ],
        &["2 0, 3 30"; 2],
    );
}
