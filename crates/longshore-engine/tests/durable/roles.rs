//! Roles, owners and privileges of durable databases: they come back from the log and from checkpoints, and databases from before
//! there were any open.

use longshore_engine::{Database, Session};

use crate::support::{open, open_read_only, run, runtime, value};

const MADE: [&str; 14] = [
    "CREATE ROLE a LOGIN PASSWORD 'sesame' CONNECTION LIMIT 7 VALID UNTIL '2001-02-03 00:00+00'",
    "CREATE ROLE b CREATEROLE IN ROLE a",
    "CREATE ROLE gone",
    "DROP ROLE gone",
    "ALTER ROLE a SET search_path = x, y",
    "CREATE SCHEMA app AUTHORIZATION a",
    "CREATE TABLE app.t (k int, v text)",
    "ALTER TABLE app.t OWNER TO a",
    "GRANT SELECT (k), INSERT ON app.t TO b WITH GRANT OPTION",
    "CREATE VIEW w AS SELECT 1 AS one",
    "GRANT SELECT ON w TO PUBLIC",
    "ALTER DEFAULT PRIVILEGES FOR ROLE a IN SCHEMA app GRANT SELECT ON TABLES TO b",
    "GRANT pg_read_all_data TO b WITH ADMIN OPTION",
    "REVOKE CONNECT ON DATABASE longshore FROM PUBLIC",
];

async fn truths(session: &mut Session) {
    for (sql, expected) in [
        ("has_column_privilege('b', 'app.t', 'k', 'SELECT WITH GRANT OPTION')", true),
        ("has_column_privilege('a', 'app.t', 'v', 'SELECT')", true),
        ("has_table_privilege('b', 'app.t', 'INSERT')", true),
        ("has_table_privilege('b', 'app.t', 'DELETE')", true),
        ("has_table_privilege('public', 'w', 'SELECT')", true),
        ("has_table_privilege('public', 'app.t', 'SELECT')", false),
        ("pg_has_role('b', 'a', 'USAGE')", true),
        ("pg_has_role('b', 'pg_read_all_data', 'MEMBER WITH ADMIN OPTION')", true),
        ("has_database_privilege('b', 'longshore', 'CONNECT')", false),
        ("has_schema_privilege('a', 'app', 'CREATE')", true),
    ] {
        let found = value(session, &format!("SELECT CASE WHEN {sql} THEN 1 ELSE 0 END")).await;
        assert_eq!(found == 1, expected, "{sql}");
    }
    let roles = "SELECT count(*) FROM information_schema.applicable_roles WHERE grantee = 'b'";
    assert_eq!(value(session, roles).await, 2);
}

fn check(database: &Database) {
    let login = database.login("a").expect("it is there");
    assert!(login.may_log_in && login.verifier.is_some_and(|verifier| verifier.starts_with("SCRAM-SHA-256$")));
    assert_eq!(login.connection_limit, Some(7));
    assert!(login.valid_until.is_some());
    assert_eq!(database.login("gone"), None);
}

#[test]
fn roles_come_back() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    runtime().block_on(async {
        let database = open(&path);
        let mut session = database.session();
        run(&mut session, &["CREATE TABLE before (a int)"]).await;
        run(&mut session, &MADE).await;
        truths(&mut session).await;
        // What is in the log alone.
        let reader = open_read_only(&path).unwrap();
        check(&reader);
        truths(&mut reader.session()).await;
        drop((reader, session));
        database.close().unwrap();
        // What the checkpoint has.
        let database = open(&path);
        check(&database);
        let mut session = database.session();
        truths(&mut session).await;
        run(&mut session, &["SET ROLE a", "CREATE TABLE app.u (a int)", "RESET ROLE"]).await;
        run(&mut session, &["SET ROLE b"]).await;
        assert_eq!(value(&mut session, "SELECT count(*) FROM app.u").await, 0);
        run(&mut session, &["RESET ROLE"]).await;
        run(&mut session, &["DROP OWNED BY a, b", "DROP ROLE a, b"]).await;
        drop(session);
        database.close().unwrap();
        let database = open(&path);
        assert_eq!(database.login("a"), None);
        assert!(!database.is_table("app.t"));
        assert!(database.is_table("before"));
    });
}

#[test]
fn a_block_keeps_roles_or_none() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    runtime().block_on(async {
        let database = open(&path);
        let mut session = database.session();
        run(&mut session, &["BEGIN", "CREATE ROLE lost LOGIN", "ROLLBACK"]).await;
        run(&mut session, &["BEGIN", "CREATE ROLE kept LOGIN", "SAVEPOINT s", "CREATE ROLE half LOGIN"]).await;
        run(&mut session, &["ROLLBACK TO s", "CREATE TABLE t (a int)", "GRANT SELECT ON t TO kept", "COMMIT"]).await;
        let reader = open_read_only(&path).unwrap();
        assert!(reader.login("kept").is_some() && reader.login("half").is_none() && reader.login("lost").is_none());
        let mut kept = reader.session_as("kept").unwrap();
        assert_eq!(value(&mut kept, "SELECT count(*) FROM t").await, 0);
    });
}
