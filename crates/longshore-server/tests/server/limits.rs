//! What a role may take: connections, memory, temporary files, time.

use std::net::SocketAddr;

use longshore_engine::{Config, Database};
use longshore_server::{Server, ServerConfig};

use crate::client::{Answer, Client, field, startup, values};
use crate::serve;

/// A client that is let in, or the error that it is told.
async fn sign_in(address: SocketAddr, user: &str) -> Result<Client, Answer> {
    let mut client = Client::connect(address).await;
    client.send(&startup(user, "longshore")).await;
    loop {
        let answer = client.answer().await.expect("an answer comes");
        match answer.0 {
            'Z' => return Ok(client),
            'E' => return Err(answer),
            _ => {}
        }
    }
}

fn refused(signed_in: Result<Client, Answer>) -> (String, String) {
    let Err(told) = signed_in else { panic!("it is let in") };
    (field(&told, 'C'), field(&told, 'M'))
}

/// The SQLSTATE and the message of a statement that fails.
async fn error(client: &mut Client, sql: &str) -> (String, String) {
    let answers = client.query(sql).await;
    let error = answers.iter().find(|(kind, _)| *kind == 'E').unwrap_or_else(|| panic!("{sql} is done"));
    (field(error, 'C'), field(error, 'M'))
}

/// A query whose sort needs many megabytes.
const SORT: &str =
    "SELECT sum(r) FROM (SELECT row_number() OVER (ORDER BY -i) AS r FROM generate_series(1, 1000000) t(i)) x";

#[tokio::test(flavor = "multi_thread")]
async fn a_role_takes_no_more_than_it_may() {
    let server = serve(true).await;
    let mut boss = Client::trusted(server.address).await;
    boss.query(
        "CREATE ROLE anna LOGIN CONNECTION LIMIT 1; ALTER ROLE anna SET query_memory_limit = '6MB'; \
         ALTER ROLE anna SET temp_file_limit = '2MB'; ALTER ROLE anna SET statement_timeout = '1min'; \
         ALTER ROLE anna SET log_min_duration_statement = '5s'; ALTER DATABASE longshore SET lock_timeout = '7s'",
    )
    .await;
    let settings = "SELECT setrole::regrole::text || ' ' || array_to_string(setconfig, ' ') FROM pg_db_role_setting \
                    WHERE setrole <> 0";
    assert_eq!(
        values(&boss.query(settings).await),
        ["anna query_memory_limit=6MB temp_file_limit=2MB statement_timeout=1min log_min_duration_statement=5s"]
    );
    let mut anna = sign_in(server.address, "anna").await.expect("it is let in");
    for (setting, expected) in [
        ("query_memory_limit", "6MB"),
        ("temp_file_limit", "2MB"),
        ("statement_timeout", "1min"),
        ("lock_timeout", "7s"),
        ("log_min_duration_statement", "5s"),
    ] {
        assert_eq!(values(&anna.query(&format!("SHOW {setting}")).await), [expected], "{setting}");
    }
    let (code, message) = error(&mut anna, SORT).await;
    assert_eq!((code.as_str(), message.as_str()), ("53400", "temporary file size exceeds temp_file_limit (2048kB)"));
    for sql in [
        "SET query_memory_limit = '1GB'",
        "SET temp_file_limit = -1",
        "SET log_min_duration_statement = 0",
        "ALTER ROLE anna SET query_memory_limit = -1",
        "ALTER ROLE anna SET log_lock_waits = on",
    ] {
        assert_eq!(error(&mut anna, sql).await.0, "42501", "{sql}");
    }
    // The limits hold for her, not for others.
    assert_eq!(values(&boss.query(SORT).await), ["500000500000"]);
    let told = refused(sign_in(server.address, "anna").await);
    assert_eq!(told, ("53300".to_owned(), "too many connections for role \"anna\"".to_owned()));
    boss.query("ALTER ROLE anna RESET temp_file_limit; ALTER ROLE anna CONNECTION LIMIT 2").await;
    let mut again = sign_in(server.address, "anna").await.expect("there may be two");
    assert_eq!(values(&again.query(SORT).await), ["500000500000"], "it goes to temporary files");
    let spilled = "SELECT temp_files > 0 AND temp_bytes > 4000000 FROM pg_stat_database";
    assert_eq!(values(&boss.query(spilled).await), ["t"]);
    boss.query("SET query_memory_limit = '64kB'").await;
    assert_eq!(error(&mut boss, SORT).await.0, "53200");
    for (sql, said) in [
        ("SET query_memory_limit = 'much'", "invalid value for parameter \"query_memory_limit\": \"much\""),
        ("SET temp_file_limit = -2", "invalid value for parameter \"temp_file_limit\": \"-2\""),
    ] {
        assert_eq!(error(&mut boss, sql).await.1, said);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_places_are_kept_for_superusers() {
    let database = Database::open(Config { threads: 2, ..Config::default() }).unwrap();
    database.session().execute("CREATE ROLE anna LOGIN").await.unwrap();
    let config = ServerConfig {
        listen: vec![SocketAddr::from(([127, 0, 0, 1], 0))],
        trust: true,
        connections_max: 3,
        connections_reserved: 1,
        ..ServerConfig::default()
    };
    let server = Server::bind(database, config).await.unwrap();
    let address = server.addresses().unwrap()[0];
    tokio::spawn(server.run(futures::stream::pending()));
    let _first = sign_in(address, "anna").await.expect("it is let in");
    let _second = sign_in(address, "anna").await.expect("it is let in");
    let (code, message) = refused(sign_in(address, "anna").await);
    assert_eq!(code, "53300");
    assert_eq!(message, "remaining connection slots are reserved for non-replication superuser connections");
    let _boss = sign_in(address, "longshore").await.expect("it is let in");
    let (code, message) = refused(sign_in(address, "longshore").await);
    assert_eq!((code.as_str(), message.as_str()), ("53300", "sorry, too many clients already"));
    assert_eq!(refused(sign_in(address, "anna").await).1, "sorry, too many clients already");
}
