//! Roles: sessions of several of them beside each other, and what each may do.

use std::io::Cursor;
use std::sync::Arc;

use futures::StreamExt;
use longshore_engine::{Config, Database, Datum, Error, Outcome, Session};

fn database() -> Arc<Database> {
    Database::open(Config { threads: 2, ..Config::default() }).expect("a database opens")
}

/// Executes a statement and reads all of its rows.
async fn run(session: &mut Session, sql: &str) -> Result<Vec<String>, Error> {
    rows(session.execute(sql).await?).await
}

async fn rows(outcome: Outcome) -> Result<Vec<String>, Error> {
    let mut shown = Vec::new();
    if let Outcome::Rows(mut rows) = outcome {
        while let Some(batch) = rows.next().await {
            let batch = batch?;
            for row in 0..batch.num_rows() {
                let values = batch
                    .columns()
                    .iter()
                    .map(|column| arrow::util::display::array_value_to_string(column, row).expect("a value is shown"));
                shown.push(values.collect::<Vec<_>>().join("|"));
            }
        }
    }
    Ok(shown)
}

async fn done(session: &mut Session, statements: &[&str]) {
    for sql in statements {
        run(session, sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

/// The code of the error of a statement, or `ok`.
async fn code(session: &mut Session, sql: &str) -> &'static str {
    match run(session, sql).await {
        Ok(_) => "ok",
        Err(error) => error.kind().sqlstate(),
    }
}

fn login_code(database: &Arc<Database>, role: &str) -> &'static str {
    database.session_as(role).map_or_else(|error| error.kind().sqlstate(), |_| "ok")
}

#[tokio::test]
async fn roles_sign_in() {
    let database = database();
    let mut first = database.session();
    done(
        &mut first,
        &[
            "CREATE ROLE group1",
            "CREATE USER a PASSWORD 'sesame' CONNECTION LIMIT 1 VALID UNTIL '2001-02-03 00:00+00'",
            "CREATE ROLE b LOGIN SUPERUSER VALID UNTIL 'infinity'",
            "ALTER ROLE a SET search_path = x, public",
            "ALTER DATABASE longshore SET application_name = 'all'",
            "ALTER ROLE a IN DATABASE longshore SET application_name = 'mine'",
            "ALTER ROLE a SET role = group1",
            "GRANT group1 TO a",
        ],
    )
    .await;
    assert_eq!(login_code(&database, "nobody"), "28000");
    assert_eq!(login_code(&database, "group1"), "28000");
    assert_eq!(login_code(&database, "b"), "ok");

    let mut session = database.session_as("a").unwrap();
    assert_eq!((session.session_user(), session.current_user()), ("a".to_owned(), "group1".to_owned()));
    assert!(!session.is_superuser() && first.is_superuser());
    assert_eq!(run(&mut session, "SELECT current_user, session_user, \"user\"()").await.unwrap(), ["group1|a|group1"]);
    assert_eq!(run(&mut session, "SHOW search_path").await.unwrap(), ["x, public"]);
    assert_eq!(run(&mut session, "SHOW application_name").await.unwrap(), ["mine"]);
    assert_eq!(run(&mut first, "SELECT current_user").await.unwrap(), ["longshore"]);
    assert_eq!(login_code(&database, "a"), "53300");
    drop(session);
    assert_eq!(login_code(&database, "a"), "ok");

    let login = database.login("a").unwrap();
    assert!(login.may_log_in && !login.is_superuser);
    assert_eq!(login.connection_limit, Some(1));
    assert!(!login.is_password_valid_at(std::time::SystemTime::now()));
    assert!(login.verifier.as_ref().is_some_and(|verifier| verifier.starts_with("SCRAM-SHA-256$4096:")));
    assert!(!format!("{login:?}").contains("SCRAM"));
    let other = database.login("b").unwrap();
    assert_eq!((other.verifier, other.valid_until, other.connection_limit), (None, None, None));
    assert_eq!(database.login("nobody"), None);

    done(&mut first, &["REVOKE CONNECT ON DATABASE longshore FROM PUBLIC"]).await;
    assert_eq!(login_code(&database, "a"), "42501");
    done(&mut first, &["GRANT CONNECT ON DATABASE longshore TO group1"]).await;
    assert_eq!(login_code(&database, "a"), "ok");
    done(&mut first, &["ALTER ROLE a NOLOGIN"]).await;
    assert_eq!(login_code(&database, "a"), "28000");
}

#[tokio::test]
async fn the_first_superuser_is_called_as_the_database_was_opened() {
    let config = Config { superuser: "chief".to_owned(), ..Config::default() };
    let database = Database::open(config).unwrap();
    let mut session = database.session();
    assert_eq!(run(&mut session, "SELECT current_user").await.unwrap(), ["chief"]);
    assert_eq!(code(&mut session, "DROP ROLE chief").await, "55006");
    assert_eq!(code(&mut session, "ALTER ROLE chief NOSUPERUSER").await, "0A000");
    assert_eq!(code(&mut session, "CREATE ROLE longshore SUPERUSER LOGIN").await, "ok");
    assert!(Database::open(Config { superuser: "pg_x".to_owned(), ..Config::default() }).is_err());
}

#[tokio::test]
async fn passwords_stand_in_no_message() {
    let mut session = database().session();
    for sql in [
        "CREATE ROLE a PASSWORD 'sesame' BOGUS",
        "CREATE ROLE a PASSWORD sesame",
        "ALTER ROLE nobody PASSWORD 'sesame'",
        "CREATE ROLE a PASSWORD 'sesame' VALID UNTIL 'sesame'",
        "CREATE ROLE a PASSWORD 'sesame",
    ] {
        let error = run(&mut session, sql).await.unwrap_err();
        assert!(!error.to_string().contains("sesame"), "{sql}: {error}");
        assert!(!longshore_engine::without_secrets(sql).contains("PASSWORD 'sesame"), "{sql}");
    }
    let hashed = format!("CREATE ROLE a PASSWORD 'md5{}'", "0".repeat(32));
    assert_eq!(code(&mut session, &hashed).await, "0A000");
}

/// Statements, and what is granted so that they may be executed.
const STATEMENTS: [(&str, &str); 24] = [
    ("SELECT * FROM app.t", "SELECT ON app.t"),
    ("SELECT count(*) FROM app.t", "SELECT ON app.t"),
    ("SELECT b FROM app.t WHERE a = 1", "SELECT ON app.t"),
    ("SELECT a FROM app.t", "SELECT (a) ON app.t"),
    ("WITH x AS (SELECT * FROM app.t) SELECT 1 FROM x", "SELECT ON app.t"),
    ("SELECT * FROM app.v", "SELECT ON app.v"),
    ("SUMMARIZE app.t", "SELECT ON app.t"),
    ("EXPLAIN SELECT * FROM app.t", "SELECT ON app.t"),
    ("SELECT * FROM storage('app.t')", "SELECT ON app.t"),
    ("COPY app.t TO STDOUT", "SELECT ON app.t"),
    ("COPY (SELECT a FROM app.t) TO STDOUT", "SELECT ON app.t"),
    ("COPY app.t FROM STDIN", "INSERT ON app.t"),
    ("INSERT INTO app.t VALUES (9, 9)", "INSERT ON app.t"),
    ("INSERT INTO app.t (a) VALUES (9)", "INSERT (a) ON app.t"),
    ("UPDATE app.t SET b = 1", "UPDATE ON app.t"),
    ("UPDATE app.t SET b = 1", "UPDATE (b) ON app.t"),
    ("DELETE FROM app.t", "DELETE ON app.t"),
    ("TRUNCATE app.t", "TRUNCATE ON app.t"),
    ("SELECT nextval('app.s')", "USAGE ON SEQUENCE app.s"),
    ("SELECT setval('app.s', 7)", "UPDATE ON SEQUENCE app.s"),
    ("CREATE TABLE app.made (a int)", "CREATE ON SCHEMA app"),
    ("CREATE VIEW app.made AS SELECT 1 AS x", "CREATE ON SCHEMA app"),
    ("CREATE SCHEMA made", "CREATE ON DATABASE longshore"),
    (
        "MERGE INTO app.t USING (VALUES (1)) AS s (x) ON true WHEN NOT MATCHED THEN INSERT (a) VALUES (s.x)",
        "INSERT ON app.t",
    ),
];

/// What only who owns the object may do, or a member of that role.
const OF_OWNERS: [&str; 12] = [
    "DROP TABLE app.t CASCADE",
    "DROP VIEW app.v",
    "DROP SEQUENCE app.s",
    "DROP TYPE app.mood",
    "DROP INDEX app.i",
    "DROP SCHEMA app CASCADE",
    "COMMENT ON TABLE app.t IS 'x'",
    "COMMENT ON COLUMN app.t.a IS 'x'",
    "COMMENT ON SCHEMA app IS 'x'",
    "ALTER TABLE app.t OWNER TO CURRENT_USER",
    "CREATE INDEX ON app.t (b)",
    "REVOKE ALL ON app.t FROM owner1",
];

/// Tries a statement in a block that is rolled back.
async fn tried(session: &mut Session, sql: &str) -> &'static str {
    session.set_input(Cursor::new(b"5,5\n".to_vec()));
    session.set_output(std::io::sink());
    done(session, &["BEGIN"]).await;
    let code = code(session, sql).await;
    done(session, &["ROLLBACK"]).await;
    code
}

async fn with_objects(first: &mut Session) {
    done(
        first,
        &[
            "CREATE ROLE owner1 LOGIN",
            "CREATE ROLE of_owner LOGIN IN ROLE owner1",
            "CREATE ROLE team",
            "CREATE ROLE direct LOGIN",
            "CREATE ROLE of_team LOGIN IN ROLE team",
            "CREATE ROLE late LOGIN NOINHERIT IN ROLE team",
            "CREATE ROLE stranger LOGIN",
            "CREATE ROLE chief LOGIN SUPERUSER",
            "CREATE SCHEMA app AUTHORIZATION owner1",
            "GRANT USAGE ON SCHEMA app TO PUBLIC",
            "SET ROLE owner1",
            "CREATE TABLE app.t (a int, b int)",
            "CREATE INDEX i ON app.t (a)",
            "CREATE VIEW app.v AS SELECT a FROM app.t",
            "CREATE SEQUENCE app.s",
            "CREATE TYPE app.mood AS ENUM ('a')",
            "INSERT INTO app.t VALUES (1, 2)",
            "RESET ROLE",
        ],
    )
    .await;
}

#[tokio::test]
async fn who_may_do_what() {
    let database = database();
    let mut first = database.session();
    with_objects(&mut first).await;
    let mut sessions: Vec<(&str, Session)> = Vec::new();
    for role in ["owner1", "of_owner", "direct", "of_team", "late", "stranger", "chief"] {
        sessions.push((role, database.session_as(role).unwrap()));
    }
    // By role: without any grant, with one to `direct`, to its team, and to everybody.
    let expected = |role: &str, grantee: &str| match (role, grantee) {
        ("owner1" | "of_owner" | "chief", _) | ("direct", "direct") | ("of_team", "team") | (_, "PUBLIC") => "ok",
        _ => "42501",
    };
    for (sql, grant) in STATEMENTS {
        for grantee in ["", "direct", "team", "PUBLIC"] {
            if !grantee.is_empty() {
                done(&mut first, &[&format!("GRANT {grant} TO {grantee}")]).await;
            }
            for (role, session) in &mut sessions {
                let is_of_database = grant.contains("DATABASE") && !matches!(*role, "chief");
                let expected = match expected(role, grantee) {
                    "ok" if is_of_database && matches!(*role, "owner1" | "of_owner") && grantee != "PUBLIC" => "42501",
                    other => other,
                };
                assert_eq!(tried(session, sql).await, expected, "{sql} by {role} after a grant to {grantee:?}");
            }
            if !grantee.is_empty() {
                done(&mut first, &[&format!("REVOKE {grant} FROM {grantee}")]).await;
            }
        }
    }
    for sql in OF_OWNERS {
        for (role, session) in &mut sessions {
            let is_owner = matches!(*role, "owner1" | "of_owner" | "chief");
            // Who may do nothing with it, may not grant or revoke either.
            let expected = if is_owner { "ok" } else { "42501" };
            // Some that may be done cannot be done in a block.
            let found = tried(session, sql).await.replace("25001", "ok");
            assert_eq!(found, expected, "{sql} by {role}");
        }
    }
}

#[tokio::test]
async fn files_of_the_server_are_for_who_has_the_role() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("x.csv");
    std::fs::write(&file, "a,b\n1,2\n").unwrap();
    let (file, new) = (file.display().to_string(), directory.path().join("new.csv").display().to_string());
    let database = database();
    let mut first = database.session();
    done(
        &mut first,
        &[
            "CREATE ROLE a LOGIN",
            "CREATE TABLE t (a int, b int)",
            "GRANT SELECT, INSERT ON t TO a",
            "GRANT CREATE ON SCHEMA public TO a",
            &format!("CREATE VIEW of_file AS SELECT * FROM '{file}'"),
            "GRANT SELECT ON of_file TO PUBLIC",
        ],
    )
    .await;
    let mut session = database.session_as("a").unwrap();
    let reading = [
        format!("SELECT * FROM '{file}'"),
        format!("SELECT (SELECT max(a) FROM read_csv('{file}'))"),
        format!("WITH x AS (SELECT * FROM '{file}') INSERT INTO t SELECT * FROM x"),
        format!("SELECT * FROM sniff_csv('{file}')"),
        format!("DESCRIBE '{file}'"),
        format!("DESCRIBE SELECT * FROM '{file}'"),
        format!("EXPLAIN SELECT * FROM '{file}'"),
        format!("COPY t FROM '{file}' (HEADER)"),
        format!("COPY (SELECT * FROM '{file}') TO STDOUT"),
        format!("CREATE TABLE u AS FROM '{file}'"),
        format!("CREATE TABLE u2 AS SELECT * FROM '{file}'"),
        format!("CREATE VIEW w AS SELECT * FROM '{file}'"),
        format!("SUMMARIZE '{file}'"),
    ];
    let writing = [
        format!("COPY t TO '{new}'"),
        format!("COPY t FROM STDIN (ON_ERROR file '{new}')"),
        format!("COPY (SELECT 1) TO '{new}' (FORMAT parquet)"),
    ];
    for sql in reading.iter().chain(&writing) {
        session.set_input(Cursor::new(b"1,2\n".to_vec()));
        session.set_output(std::io::sink());
        assert_eq!(code(&mut session, sql).await, "42501", "{sql}");
    }
    // With the rights of its owner.
    assert_eq!(run(&mut session, "SELECT * FROM of_file").await.unwrap(), ["1|2"]);
    done(&mut first, &["GRANT pg_read_server_files TO a"]).await;
    for sql in &reading {
        session.set_output(std::io::sink());
        assert_eq!(code(&mut session, sql).await, "ok", "{sql}");
    }
    assert_eq!(code(&mut session, &writing[0]).await, "42501");
    done(&mut first, &["GRANT pg_write_server_files TO a"]).await;
    for sql in &writing {
        session.set_input(Cursor::new(b"1,2\n".to_vec()));
        assert_eq!(code(&mut session, sql).await, "ok", "{sql}");
    }
    for sql in ["EXPORT DATABASE 'x'", "IMPORT DATABASE 'x'", "BACKUP DATABASE TO 'x'", "SET autovacuum = off"] {
        assert_eq!(code(&mut session, sql).await, "42501", "{sql}");
    }
}

#[tokio::test]
async fn prepared_statements_ask_each_role() {
    let database = database();
    let mut first = database.session();
    done(
        &mut first,
        &[
            "CREATE TABLE t (a int PRIMARY KEY, b text)",
            "INSERT INTO t VALUES (1, 'x')",
            "CREATE ROLE r LOGIN",
            "CREATE ROLE s LOGIN",
            "GRANT SELECT ON t TO s",
        ],
    )
    .await;
    let point = first.prepare("SELECT b FROM t WHERE a = $1").unwrap();
    let planned = first.prepare("SELECT b, current_user FROM t WHERE a + 0 = $1").unwrap();
    let (mut r, mut s) = (database.session_as("r").unwrap(), database.session_as("s").unwrap());
    let one = [Datum::I32(1)];
    for round in 0..3 {
        for prepared in [&point, &planned] {
            let outcome = first.execute_prepared(prepared, &one).await.unwrap();
            assert_eq!(rows(outcome).await.unwrap().len(), 1, "{round}");
            let outcome = s.execute_prepared(prepared, &one).await.unwrap();
            assert_eq!(rows(outcome).await.unwrap().len(), 1, "{round}");
            let error = r.execute_prepared(prepared, &one).await.map(|_| ()).unwrap_err();
            assert_eq!(error.kind().sqlstate(), "42501", "{round}");
        }
        let outcome = s.execute_prepared(&planned, &one).await.unwrap();
        assert_eq!(rows(outcome).await.unwrap(), ["x|s"]);
        let outcome = first.execute_prepared(&planned, &one).await.unwrap();
        assert_eq!(rows(outcome).await.unwrap(), ["x|longshore"]);
        // Statements with literals are known by their shapes.
        for sql in ["SELECT b FROM t WHERE a = 1", "SELECT b FROM t WHERE a = 2"] {
            assert_eq!(code(&mut s, sql).await, "ok");
            assert_eq!(code(&mut r, sql).await, "42501");
        }
    }
    done(&mut first, &["GRANT SELECT ON t TO r"]).await;
    assert!(r.execute_prepared(&point, &one).await.is_ok());
    assert_eq!(code(&mut r, "SELECT b FROM t WHERE a = 1").await, "ok");
    done(&mut first, &["REVOKE SELECT ON t FROM r"]).await;
    assert!(r.execute_prepared(&point, &one).await.is_err());
    assert_eq!(code(&mut r, "SELECT b FROM t WHERE a = 1").await, "42501");
    // Who is a superuser no more is asked again.
    done(&mut first, &["ALTER ROLE r SUPERUSER"]).await;
    assert!(r.execute_prepared(&point, &one).await.is_ok());
    done(&mut first, &["ALTER ROLE r NOSUPERUSER"]).await;
    assert!(r.execute_prepared(&point, &one).await.is_err());
}

#[tokio::test]
async fn a_role_that_is_gone_has_no_successor() {
    let database = database();
    let mut first = database.session();
    done(&mut first, &["CREATE TABLE t (a int)", "CREATE ROLE a LOGIN", "GRANT SELECT ON t TO a"]).await;
    let mut session = database.session_as("a").unwrap();
    assert_eq!(code(&mut session, "SELECT * FROM t").await, "ok");
    done(&mut first, &["REVOKE SELECT ON t FROM a", "DROP ROLE a", "CREATE ROLE b", "GRANT SELECT ON t TO b"]).await;
    assert_eq!(code(&mut session, "SELECT * FROM t").await, "42501");
}

#[tokio::test]
async fn blocks_change_roles_together() {
    let database = database();
    let (mut one, mut other) = (database.session(), database.session());
    done(&mut one, &["CREATE TABLE t (a int)", "CREATE ROLE a", "BEGIN", "CREATE ROLE b", "GRANT SELECT ON t TO b"])
        .await;
    assert_eq!(code(&mut other, "GRANT a TO b").await, "42704");
    done(&mut other, &["ALTER ROLE a CREATEDB", "COMMENT ON TABLE t IS 'x'"]).await;
    done(&mut one, &["COMMIT"]).await;
    assert_eq!(code(&mut other, "GRANT a TO b").await, "ok");
    // Both change the same role.
    done(&mut one, &["BEGIN", "ALTER ROLE a LOGIN"]).await;
    done(&mut other, &["ALTER ROLE a NOINHERIT"]).await;
    assert_eq!(code(&mut one, "COMMIT").await, "40001");
    // One grants to a role that the other drops.
    done(&mut one, &["CREATE ROLE c", "BEGIN", "GRANT INSERT ON t TO c"]).await;
    done(&mut other, &["DROP ROLE c"]).await;
    assert_eq!(code(&mut one, "COMMIT").await, "40001");
}
