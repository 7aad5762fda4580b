//! READ COMMITTED through sessions: what waits for what, and how that ends.
//!
//! Each session has a task of its own, since a statement may wait for another session.
//! Not here: the anomalies of Hermitage (`hermitage_read_committed.rs`).

use std::time::Duration;

use longshore_engine::{Database, Error};
use tokio::sync::{mpsc, oneshot};

use super::{database, run};

/// After so long a statement is known to wait.
const PATIENCE: Duration = Duration::from_millis(80);

/// After so long something is wrong.
const END: Duration = Duration::from_secs(30);

/// What becomes of a statement.
#[derive(Clone, Copy, Debug)]
pub(super) enum Due {
    /// It is done.
    Done,
    /// It gives these rows, or changes so many.
    Gives(&'static str),
    /// It waits.
    Waits,
    /// The statement that waited ends so; the text says nothing.
    Ends(&'static str),
    /// It fails with this SQLSTATE.
    Fails(&'static str),
    /// The statement that waited fails with this SQLSTATE.
    EndsWith(&'static str),
}
use Due::{Done, Ends, EndsWith, Fails, Gives, Waits};

/// A statement of a session: 1, 2 or 3.
pub(super) type Step = (usize, &'static str, Due);

type Answer = oneshot::Receiver<Result<String, Error>>;

/// A session with a task of its own.
pub(super) struct Client {
    statements: mpsc::UnboundedSender<(String, oneshot::Sender<Result<String, Error>>)>,
    waits: Option<Answer>,
}

impl Client {
    pub(super) fn new(database: &std::sync::Arc<Database>) -> Self {
        let (statements, mut next) = mpsc::unbounded_channel::<(String, oneshot::Sender<_>)>();
        let mut session = database.session();
        tokio::spawn(async move {
            while let Some((sql, answer)) = next.recv().await {
                let _ = answer.send(run(&mut session, &sql).await);
            }
        });
        Self { statements, waits: None }
    }

    fn send(&mut self, sql: &str) -> Answer {
        assert!(self.waits.is_none(), "{sql}: the statement before it has not ended");
        let (answer, answered) = oneshot::channel();
        self.statements.send((sql.to_owned(), answer)).unwrap();
        answered
    }

    async fn step(&mut self, sql: &str, due: Due, context: &str) {
        let mut answered = match due {
            Ends(_) | EndsWith(_) => self.waits.take().unwrap_or_else(|| panic!("{context}: nothing waits")),
            _ => self.send(sql),
        };
        if matches!(due, Waits) {
            let early = tokio::time::timeout(PATIENCE, &mut answered).await;
            assert!(early.is_err(), "{context}: it does not wait, but {early:?}");
            self.waits = Some(answered);
            return;
        }
        let outcome =
            tokio::time::timeout(END, answered).await.unwrap_or_else(|_| panic!("{context}: it waits")).unwrap();
        match (due, outcome) {
            (Done, Ok(_)) => {}
            (Gives(expected) | Ends(expected), Ok(found)) => assert_eq!(found, expected, "{context}"),
            (Fails(state) | EndsWith(state), Err(error)) => {
                assert_eq!(error.kind().sqlstate(), state, "{context}: {error}");
            }
            (due, outcome) => panic!("{context}: {outcome:?} where {due:?}"),
        }
    }
}

/// Takes the steps on tables that `setup` makes.
pub(super) fn steps(setup: &[&str], steps: &[Step]) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let database = database();
        let mut clients = [(); 3].map(|()| Client::new(&database));
        for sql in setup {
            clients[0].step(sql, Done, sql).await;
        }
        for (number, &(session, sql, due)) in steps.iter().enumerate() {
            clients[session - 1].step(sql, due, &format!("step {number}, session {session}: {sql} ({setup:?})")).await;
        }
    });
}

pub(super) const RC: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";

#[test]
fn a_key_that_another_transaction_inserts_is_waited_for() {
    let setup = ["CREATE TABLE t (id int PRIMARY KEY, v int)", "INSERT INTO t VALUES (9, 9)"];
    for (end, last) in [("COMMIT", EndsWith("23505")), ("ROLLBACK", Ends("1"))] {
        for insert in ["INSERT INTO t VALUES (1, 2)", "INSERT INTO t SELECT 1, 2 FROM t WHERE id = 9"] {
            steps(
                &setup,
                &[
                    (1, RC, Done),
                    (1, "INSERT INTO t VALUES (1, 1)", Done),
                    (2, RC, Done),
                    (2, insert, Waits),
                    (1, end, Done),
                    (2, "", last),
                    (2, "ROLLBACK", Done),
                    // The same outside of a block, and of a key that is deleted.
                    (1, RC, Done),
                    (1, "DELETE FROM t WHERE id = 9", Gives("1")),
                    (2, "SET default_transaction_isolation = 'read committed'", Done),
                    (2, "INSERT INTO t VALUES (9, 3)", Waits),
                    (1, "COMMIT", Done),
                    (2, "", Ends("1")),
                    (3, "SELECT v FROM t WHERE id = 9", Gives("3")),
                ],
            );
        }
    }
    steps(
        &setup,
        &[
            (1, RC, Done),
            (1, "INSERT INTO t VALUES (1, 1)", Done),
            (2, RC, Done),
            (2, "INSERT INTO t VALUES (1, 2) ON CONFLICT (id) DO NOTHING", Waits),
            (1, "COMMIT", Done),
            (2, "", Ends("0")),
            (1, RC, Done),
            (1, "UPDATE t SET v = 5 WHERE id = 1", Done),
            (2, "INSERT INTO t VALUES (1, 2) ON CONFLICT (id) DO UPDATE SET v = t.v + 10", Waits),
            (1, "COMMIT", Done),
            (2, "", Ends("1")),
            (2, "COMMIT", Done),
            (3, "SELECT v FROM t WHERE id = 1", Gives("15")),
        ],
    );
}

#[test]
fn rows_that_others_refer_to_are_waited_for() {
    let setup = [
        "CREATE TABLE p (id int PRIMARY KEY, v int)",
        "CREATE TABLE c (id int PRIMARY KEY, p int REFERENCES p)",
        "INSERT INTO p VALUES (1, 1), (2, 2)",
    ];
    for (end, last) in [("COMMIT", EndsWith("23503")), ("ROLLBACK", Ends("1"))] {
        steps(
            &setup,
            &[
                (1, RC, Done),
                (1, "DELETE FROM p WHERE id = 1", Gives("1")),
                (2, RC, Done),
                (2, "INSERT INTO c VALUES (1, 1)", Waits),
                (1, end, Done),
                (2, "", last),
            ],
        );
        // The other way round.
        steps(
            &setup,
            &[
                (1, RC, Done),
                (1, "INSERT INTO c VALUES (1, 1)", Gives("1")),
                (2, RC, Done),
                // What is no key may change meanwhile.
                (2, "UPDATE p SET v = 7 WHERE id = 1", Gives("1")),
                (2, "DELETE FROM p WHERE id = 1", Waits),
                (1, end, Done),
                (2, "", last),
            ],
        );
    }
    // Who changes a row that another one refers to is in nobody's way.
    steps(
        &setup,
        &[
            (1, RC, Done),
            (1, "UPDATE p SET v = 7 WHERE id = 1", Gives("1")),
            (2, RC, Done),
            (2, "INSERT INTO c VALUES (1, 1)", Gives("1")),
            (2, "COMMIT", Done),
            (1, "COMMIT", Done),
            // A lock goes with the savepoint.
            (1, RC, Done),
            (1, "SAVEPOINT s", Done),
            (1, "INSERT INTO c VALUES (2, 2)", Gives("1")),
            (2, "SET default_transaction_isolation = 'read committed'", Done),
            (2, "DELETE FROM p WHERE id = 2", Waits),
            (1, "ROLLBACK TO s", Done),
            (2, "", Ends("1")),
        ],
    );
}

#[test]
fn who_waits_in_a_circle_is_told() {
    let setup = ["CREATE TABLE t (id int PRIMARY KEY, v int)", "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)"];
    steps(
        &setup,
        &[
            (1, RC, Done),
            (2, RC, Done),
            (3, RC, Done),
            (1, "UPDATE t SET v = 10 WHERE id = 1", Done),
            (2, "UPDATE t SET v = 20 WHERE id = 2", Done),
            (3, "UPDATE t SET v = 30 WHERE id = 3", Done),
            (1, "UPDATE t SET v = 11 WHERE id = 2", Waits),
            (2, "UPDATE t SET v = 21 WHERE id = 3", Waits),
            (3, "UPDATE t SET v = 31 WHERE id = 1", Fails("40P01")),
            (3, "SELECT 1", Fails("25P02")),
            (3, "ROLLBACK", Done),
            (2, "", Ends("1")),
            (2, "COMMIT", Done),
            (1, "", Ends("1")),
            (1, "COMMIT", Done),
            (1, "SELECT * FROM t ORDER BY id", Gives("1 10, 2 11, 3 21")),
        ],
    );
}

#[test]
fn a_wait_ends_by_a_timeout() {
    let setup = ["CREATE TABLE t (id int PRIMARY KEY, v int)", "INSERT INTO t VALUES (1, 1)"];
    steps(
        &setup,
        &[
            (1, RC, Done),
            (1, "UPDATE t SET v = 10 WHERE id = 1", Done),
            (2, "SET default_transaction_isolation = 'read committed'", Done),
            (2, "SET lock_timeout = '100ms'", Done),
            (2, "UPDATE t SET v = 20 WHERE id = 1", Fails("55P03")),
            (2, RC, Done),
            (2, "SET LOCAL lock_timeout = 0", Done),
            (2, "SET LOCAL statement_timeout = 100", Done),
            (2, "UPDATE t SET v = 20 WHERE id = 1", Fails("57014")),
            (2, "ROLLBACK", Done),
            (2, "SHOW lock_timeout", Gives("100ms")),
            (2, "SET lock_timeout = '2min'", Done),
            (2, "UPDATE t SET v = v + 20 WHERE id = 1", Waits),
            (1, "COMMIT", Done),
            (2, "", Ends("1")),
            (2, "SELECT v FROM t", Gives("30")),
        ],
    );
}

#[test]
fn what_a_block_has_done_before_stays_when_a_statement_runs_again() {
    let setup = ["CREATE TABLE t (id int PRIMARY KEY, v int)", "INSERT INTO t VALUES (1, 1), (2, 2)"];
    steps(
        &setup,
        &[
            (1, RC, Done),
            (2, RC, Done),
            (1, "UPDATE t SET v = 10 WHERE id = 2", Done),
            (2, "UPDATE t SET v = v + 100 WHERE id = 1", Done),
            (2, "INSERT INTO t VALUES (3, 3)", Done),
            (2, "SAVEPOINT s", Done),
            // It meets row 2 behind rows 1 and 3, which it has changed before.
            (2, "UPDATE t SET v = v * 2", Waits),
            (1, "INSERT INTO t VALUES (4, 4)", Done),
            (1, "COMMIT", Done),
            (2, "", Ends("4")),
            (2, "SELECT * FROM t ORDER BY id", Gives("1 202, 2 20, 3 6, 4 8")),
            (2, "ROLLBACK TO s", Done),
            (2, "SELECT * FROM t ORDER BY id", Gives("1 101, 2 10, 3 3, 4 4")),
            (2, "COMMIT", Done),
            (1, "SELECT * FROM t ORDER BY id", Gives("1 101, 2 10, 3 3, 4 4")),
        ],
    );
}

#[test]
fn levels_are_shown_as_they_are() {
    steps(
        &["SELECT 1"],
        &[
            (1, "SHOW transaction_isolation", Gives("serializable")),
            (1, "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED", Done),
            (1, "SHOW default_transaction_isolation", Gives("read committed")),
            (1, "BEGIN", Done),
            (1, "SHOW transaction_isolation", Gives("read committed")),
            (1, "COMMIT", Done),
            (1, "BEGIN ISOLATION LEVEL READ UNCOMMITTED", Done),
            (1, "SHOW transaction_isolation", Gives("read uncommitted")),
            (1, "COMMIT", Done),
        ],
    );
}
