//! ALTER SEQUENCE, ALTER TYPE and ALTER DOMAIN in transaction blocks beside other sessions.

use super::read_committed::Due::{Done, Ends, EndsWith, Fails, Gives, Waits};
use super::read_committed::{RC, steps};

#[test]
fn who_takes_numbers_waits_for_who_alters_the_sequence() {
    let setup = ["CREATE SEQUENCE s", "CREATE TABLE t (id int DEFAULT nextval('s') PRIMARY KEY, v int)"];
    for (end, next) in [("COMMIT", "110"), ("ROLLBACK", "2")] {
        for begin in [RC, "BEGIN"] {
            steps(
                &setup,
                &[
                    (1, begin, Done),
                    (1, "SELECT nextval('s')", Gives("1")),
                    (1, "ALTER SEQUENCE s RESTART WITH 100 INCREMENT BY 10", Done),
                    (1, "SELECT nextval('s')", Gives("100")),
                    (2, "INSERT INTO t (v) VALUES (1)", Waits),
                    (1, end, Done),
                    (2, "", Ends("1")),
                    (2, "SELECT id FROM t", Gives(next)),
                ],
            );
            steps(
                &setup,
                &[
                    (2, "BEGIN", Done),
                    (2, "SELECT nextval('s')", Gives("1")),
                    (1, begin, Done),
                    (1, "ALTER SEQUENCE s RESTART WITH 100 INCREMENT BY 10", Done),
                    (1, "SELECT nextval('s')", Gives("100")),
                    (2, "SELECT nextval('s')", Waits),
                    (1, end, Done),
                    (2, "", Ends(next)),
                    (2, "SELECT currval('s')", Gives(next)),
                    (2, "COMMIT", Done),
                ],
            );
        }
    }
}

#[test]
fn a_savepoint_that_is_gone_back_to_gives_the_sequence_back() {
    steps(
        &["CREATE SEQUENCE s"],
        &[
            (1, "BEGIN", Done),
            (1, "CREATE TABLE other (a int)", Done),
            (1, "SAVEPOINT a", Done),
            (1, "ALTER SEQUENCE s RESTART 50", Done),
            (2, "SELECT nextval('s')", Waits),
            (1, "ROLLBACK TO a", Done),
            (2, "", Ends("1")),
            (1, "SELECT nextval('s')", Gives("2")),
            (1, "ALTER SEQUENCE s RENAME TO r", Done),
            (2, "SELECT nextval('s')", Waits),
            (1, "SELECT nextval('r')", Gives("3")),
            (1, "COMMIT", Done),
            (2, "", EndsWith("42P01")),
            (2, "SELECT nextval('r')", Gives("4")),
        ],
    );
}

#[test]
fn who_alters_the_same_waits() {
    for (alter, other, last) in [
        ("ALTER TYPE mood ADD VALUE 'glad'", "ALTER TYPE mood ADD VALUE 'new'", Ends("0")),
        ("ALTER TYPE mood ADD VALUE 'glad'", "ALTER TYPE mood ADD VALUE 'glad'", EndsWith("42710")),
        ("ALTER TYPE mood RENAME TO moods", "ALTER TYPE mood ADD VALUE 'new'", EndsWith("42704")),
        ("DROP TYPE unused", "ALTER TYPE unused ADD VALUE 'new'", EndsWith("42704")),
        ("ALTER DOMAIN age ADD CHECK (VALUE < 200)", "ALTER DOMAIN age SET DEFAULT 7", Ends("0")),
        ("ALTER DOMAIN age ADD CONSTRAINT c CHECK (VALUE < 200)", "ALTER DOMAIN age DROP CONSTRAINT c", Ends("0")),
        ("ALTER SEQUENCE s RESTART 7", "ALTER SEQUENCE s INCREMENT 2", Ends("0")),
        ("ALTER SEQUENCE s RENAME TO r", "ALTER SEQUENCE s INCREMENT 2", EndsWith("42P01")),
        ("ALTER SEQUENCE s RESTART 7", "DROP SEQUENCE s", Ends("0")),
    ] {
        let setup = [
            "CREATE TYPE mood AS ENUM ('sad', 'ok')",
            "CREATE TYPE unused AS ENUM ('a')",
            "CREATE DOMAIN age AS int",
            "CREATE TABLE people (feels mood, years age)",
            "CREATE SEQUENCE s",
        ];
        for block in [false, true] {
            let begin: &[_] = if block { &[(2, "BEGIN", Done), (1, "BEGIN", Done)] } else { &[(1, "BEGIN", Done)] };
            let ends: &[_] = if block && matches!(last, Ends(_)) { &[(2, "COMMIT", Done)] } else { &[] };
            let wait = [(1, alter, Done), (2, other, Waits), (1, "COMMIT", Done), (2, "", last)];
            steps(&setup, &[begin, &wait, ends].concat());
        }
    }
}

#[test]
fn waits_for_what_is_altered_are_found_in_circles() {
    steps(
        &["CREATE TYPE a AS ENUM ('x')", "CREATE TYPE b AS ENUM ('x')", "CREATE TABLE t (id int PRIMARY KEY)"],
        &[
            (1, RC, Done),
            (2, RC, Done),
            (1, "ALTER TYPE a ADD VALUE 'y'", Done),
            (2, "ALTER TYPE b ADD VALUE 'y'", Done),
            (1, "ALTER TYPE b ADD VALUE 'z'", Waits),
            (2, "ALTER TYPE a ADD VALUE 'z'", Fails("40P01")),
            (2, "ROLLBACK", Done),
            (1, "", Ends("0")),
            (1, "COMMIT", Done),
            (1, "SELECT enum_range(NULL::b)::text", Gives("{x,z}")),
            (1, "BEGIN", Done),
            (1, "ALTER TYPE a ADD VALUE 'last'", Done),
            (2, "SET lock_timeout = 200", Done),
            (2, "DROP TYPE a", Waits),
            (2, "", EndsWith("55P03")),
            (1, "ROLLBACK", Done),
        ],
    );
}

#[test]
fn others_see_what_was_before_until_the_commit() {
    steps(
        &[
            "CREATE TYPE mood AS ENUM ('sad', 'ok')",
            "CREATE DOMAIN age AS int CHECK (VALUE >= 0)",
            "CREATE TABLE people (name text, feels mood, years age)",
            "INSERT INTO people VALUES ('Ada', 'ok', 36)",
        ],
        &[
            (1, "BEGIN", Done),
            (1, "ALTER TYPE mood ADD VALUE 'glad' BEFORE 'ok'", Done),
            (1, "ALTER DOMAIN age DROP CONSTRAINT age_check", Done),
            (1, "ALTER DOMAIN age ADD CONSTRAINT young CHECK (VALUE < 100)", Done),
            // Rows that are to obey the constraint are not written meanwhile.
            (2, "INSERT INTO people VALUES ('Bob', 'ok', 200)", Waits),
            (3, "SELECT enum_range(NULL::mood)::text", Gives("{sad,ok}")),
            (3, "SELECT 'glad'::mood", Fails("22P02")),
            (3, "SELECT (-1)::age", Fails("23514")),
            (1, "INSERT INTO people VALUES ('Cid', 'sad', -5)", Gives("1")),
            (3, "SELECT count(*) FROM people", Gives("1")),
            (1, "COMMIT", Done),
            (2, "", EndsWith("23514")),
            (3, "INSERT INTO people VALUES ('Dan', 'glad', -1)", Gives("1")),
            (3, "SELECT name FROM people WHERE feels < 'ok' ORDER BY feels", Gives("Cid, Dan")),
            (3, "INSERT INTO people VALUES ('Eve', 'ok', 100)", Fails("23514")),
        ],
    );
}

#[test]
fn blocks_that_change_other_things_go_together() {
    steps(
        &[
            "CREATE TYPE mood AS ENUM ('sad')",
            "CREATE TYPE other AS ENUM ('a')",
            "CREATE TABLE people (feels mood)",
            "CREATE TABLE plain (a int)",
        ],
        &[
            (1, "BEGIN", Done),
            (1, "ALTER TYPE mood ADD VALUE 'ok'", Done),
            (2, "ALTER TABLE plain ADD COLUMN b int", Done),
            (2, "CREATE TABLE others (o other)", Done),
            (2, "ALTER TYPE other ADD VALUE 'b'", Done),
            (1, "COMMIT", Done),
            (2, "INSERT INTO people VALUES ('ok')", Gives("1")),
            (2, "INSERT INTO others VALUES ('b')", Gives("1")),
            // A table that others have made would not know the label.
            (1, "BEGIN", Done),
            (1, "ALTER TYPE mood ADD VALUE 'glad'", Done),
            (2, "CREATE TABLE late (feels mood)", Done),
            (1, "COMMIT", Fails("40001")),
            (1, "BEGIN", Done),
            (1, "CREATE TABLE mine (feels mood)", Done),
            (2, "ALTER TYPE mood ADD VALUE 'new'", Done),
            (1, "COMMIT", Fails("40001")),
        ],
    );
}
