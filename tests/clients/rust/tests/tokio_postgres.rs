//! Rust's usual client: types in binary, pipelines, portals, COPY, errors, cancelling, TLS, passwords.

use std::fmt::Debug;
use std::time::SystemTime;

use bytes::Bytes;
use chrono::{DateTime, FixedOffset, NaiveDate, NaiveDateTime, NaiveTime, Utc};
use futures::{SinkExt, TryStreamExt};
use tokio_postgres::binary_copy::{BinaryCopyInWriter, BinaryCopyOutStream};
use tokio_postgres::error::{ErrorPosition, SqlState};
use tokio_postgres::types::{FromSqlOwned, ToSql, Type};
use tokio_postgres::{AsyncMessage, Client, Config, IsolationLevel, NoTls, SimpleQueryMessage};

/// A query that does not end by itself in any time.
const LONG_QUERY: &str =
    "SELECT count(*) FROM generate_series(1, 1000000) a(i), generate_series(1, 1000000) b(j) WHERE i + j = 3";

fn config(user: &str) -> Config {
    let port = std::env::var("LONGSHORE_PORT").expect("LONGSHORE_PORT has the port of a server");
    let mut config = Config::new();
    config.user(user).dbname("longshore").host("127.0.0.1").port(port.parse().expect("a port"));
    config
}

/// A client with a schema of its own.
async fn connect(schema: &str) -> Client {
    let (client, connection) = config("longshore").connect(NoTls).await.unwrap();
    tokio::spawn(connection);
    let own = format!("DROP SCHEMA IF EXISTS {schema} CASCADE; CREATE SCHEMA {schema}; SET search_path = {schema}");
    client.batch_execute(&own).await.unwrap();
    client
}

/// A value of a type goes there and comes back, as a parameter and out of a table, and so do NULL and an array of it.
async fn comes_back<T>(client: &Client, sql_type: &str, value: T)
where
    T: ToSql + FromSqlOwned + PartialEq + Debug + Clone + Sync,
{
    let echo = client.query_one(&format!("SELECT $1::{sql_type}"), &[&value]).await.unwrap();
    assert_eq!(echo.get::<_, T>(0), value, "{sql_type}");
    let array = vec![Some(value.clone()), None, Some(value.clone())];
    let echo = client.query_one(&format!("SELECT $1::{sql_type}[]"), &[&array]).await.unwrap();
    assert_eq!(echo.get::<_, Vec<Option<T>>>(0), array, "{sql_type}[]");
    client.batch_execute(&format!("CREATE TEMP TABLE one (v {sql_type}, vs {sql_type}[])")).await.unwrap();
    client.execute("INSERT INTO one VALUES ($1, $2), ($3, NULL)", &[&value, &array, &None::<T>]).await.unwrap();
    let rows = client.query("SELECT v, vs FROM one ORDER BY v IS NULL", &[]).await.unwrap();
    assert_eq!(rows[0].get::<_, T>(0), value, "{sql_type}");
    assert_eq!(rows[0].get::<_, Vec<Option<T>>>(1), array, "{sql_type}[]");
    assert_eq!((rows[1].get::<_, Option<T>>(0), rows[1].get::<_, Option<Vec<T>>>(1)), (None, None), "{sql_type}");
    client.batch_execute("DROP TABLE one").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn values_of_every_type_come_back() {
    let client = connect("rust_values").await;
    comes_back(&client, "bool", true).await;
    comes_back(&client, "int2", -7i16).await;
    comes_back(&client, "int4", i32::MIN).await;
    comes_back(&client, "int8", i64::MAX).await;
    comes_back(&client, "float4", 1.5f32).await;
    comes_back(&client, "float8", -0.1f64).await;
    comes_back(&client, "text", "naïve 'quoted' \"text\"".to_owned()).await;
    comes_back(&client, "varchar(5)", "abc".to_owned()).await;
    comes_back(&client, "bytea", vec![0u8, 255, 92]).await;
    let date = NaiveDate::from_ymd_opt(1969, 2, 28).unwrap();
    let time = NaiveTime::from_hms_micro_opt(23, 59, 59, 999_999).unwrap();
    comes_back(&client, "date", date).await;
    comes_back(&client, "time", time).await;
    comes_back(&client, "timestamp", NaiveDateTime::new(date, time)).await;
    let instant: DateTime<Utc> = NaiveDateTime::new(date, time).and_utc();
    comes_back(&client, "timestamptz", instant).await;
    comes_back::<DateTime<FixedOffset>>(&client, "timestamptz", instant.into()).await;
    comes_back(&client, "timestamptz", SystemTime::UNIX_EPOCH).await;
    comes_back(&client, "uuid", uuid::Uuid::from_u128(0xA0EE_BC99_9C0B_4EF8_BB6D_6BB9_BD38_0A11)).await;
    let json = serde_json::json!({"a": [1, null, "x"], "b": {}});
    comes_back(&client, "json", json.clone()).await;
    comes_back(&client, "jsonb", json).await;
}

/// Enumerations are texts to clients, domains what they are over.
#[tokio::test(flavor = "multi_thread")]
async fn types_of_users_are_those_below_them() {
    let client = connect("rust_types").await;
    client
        .batch_execute("CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE DOMAIN positive AS int CHECK (value > 0)")
        .await
        .unwrap();
    client.batch_execute("CREATE TABLE t (m mood, ms mood[], p positive)").await.unwrap();
    client.execute("INSERT INTO t VALUES ($1, $2, $3)", &[&"sad", &vec!["ok", "sad"], &7i32]).await.unwrap();
    let row = client.query_one("SELECT m, ms, p FROM t WHERE m = $1", &[&"sad"]).await.unwrap();
    assert_eq!(
        (row.get::<_, &str>(0), row.get::<_, Vec<&str>>(1), row.get::<_, i32>(2)),
        ("sad", vec!["ok", "sad"], 7)
    );
    assert_eq!(row.columns()[2].type_(), &Type::INT4);
    for (mood, positive, code) in
        [("glad", 1, SqlState::INVALID_TEXT_REPRESENTATION), ("ok", -1, SqlState::CHECK_VIOLATION)]
    {
        let error = client.execute("INSERT INTO t (m, p) VALUES ($1, $2)", &[&mood, &positive]).await.unwrap_err();
        assert_eq!(error.code(), Some(&code), "{error:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_in_a_pipeline_are_answered_each() {
    let client = connect("rust_pipeline").await;
    client.batch_execute("CREATE TABLE t (k int PRIMARY KEY, v text)").await.unwrap();
    let insert = client.prepare("INSERT INTO t VALUES ($1, $2)").await.unwrap();
    let texts: Vec<String> = (0..100).map(|key| format!("value {key}")).collect();
    let inserts = (0i32..).zip(&texts).map(async |(key, text)| client.execute(&insert, &[&key, text]).await);
    for done in futures::future::join_all(inserts).await {
        assert_eq!(done.unwrap(), 1);
    }
    let select = client.prepare("SELECT v FROM t WHERE k = $1").await.unwrap();
    let selects = (0i32..100).map(async |key| client.query_one(&select, &[&key]).await.unwrap().get::<_, String>(0));
    assert_eq!(futures::future::join_all(selects).await, texts);
    // An error of one is that one's.
    let (one, other) = tokio::join!(client.execute(&insert, &[&7i32, &"again"]), client.query(&select, &[&7i32]));
    assert_eq!(one.unwrap_err().code(), Some(&SqlState::UNIQUE_VIOLATION));
    assert_eq!(other.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_portal_gives_its_rows_in_parts() {
    let mut client = connect("rust_portal").await;
    let mut transaction = client.transaction().await.unwrap();
    let portal = transaction.bind("SELECT i FROM generate_series(1, $1::int) g(i)", &[&5i32]).await.unwrap();
    for expected in [2, 2, 1] {
        assert_eq!(transaction.query_portal(&portal, 2).await.unwrap().len(), expected);
    }
    transaction.batch_execute("CREATE TABLE t (k int)").await.unwrap();
    let savepoint = transaction.savepoint("here").await.unwrap();
    savepoint.execute("INSERT INTO t VALUES (1)", &[]).await.unwrap();
    savepoint.rollback().await.unwrap();
    let savepoint = transaction.transaction().await.unwrap();
    savepoint.execute("INSERT INTO t VALUES (2)", &[]).await.unwrap();
    savepoint.commit().await.unwrap();
    transaction.commit().await.unwrap();
    assert_eq!(client.query_one_scalar::<i32, _>("SELECT k FROM t", &[]).await.unwrap(), 2);
    let begun = client.build_transaction().isolation_level(IsolationLevel::Serializable).read_only(true).start().await;
    let begun = begun.unwrap();
    let refused = begun.execute("INSERT INTO t VALUES (3)", &[]).await.unwrap_err();
    assert_eq!(refused.code(), Some(&SqlState::READ_ONLY_SQL_TRANSACTION));
}

#[tokio::test(flavor = "multi_thread")]
async fn copy_both_ways_as_text_and_binary() {
    let client = connect("rust_copy").await;
    client.batch_execute("CREATE TABLE t (k int8 PRIMARY KEY, v text, at timestamptz)").await.unwrap();
    let sink = client.copy_in::<_, Bytes>("COPY t (k, v) FROM STDIN (FORMAT csv)").await.unwrap();
    let mut sink = Box::pin(sink);
    // Pieces that end anywhere.
    for piece in ["1,\"a\n", "\"\"b\"\"\"\r\n2", ",\n"] {
        sink.send(Bytes::from_static(piece.as_bytes())).await.unwrap();
    }
    assert_eq!(sink.as_mut().finish().await.unwrap(), 2);
    let sink = client.copy_in("COPY t FROM STDIN (FORMAT binary)").await.unwrap();
    let mut writer = Box::pin(BinaryCopyInWriter::new(sink, &[Type::INT8, Type::TEXT, Type::TIMESTAMPTZ]));
    for key in 3i64..10_000 {
        writer.as_mut().write(&[&key, &format!("value {key}"), &SystemTime::UNIX_EPOCH]).await.unwrap();
    }
    assert_eq!(writer.as_mut().finish().await.unwrap(), 9_997);
    let stream =
        client.copy_out("COPY (SELECT k, v FROM t WHERE k < 4 ORDER BY k) TO STDOUT (FORMAT csv)").await.unwrap();
    let text: Vec<Bytes> = stream.try_collect().await.unwrap();
    assert_eq!(String::from_utf8(text.concat()).unwrap(), "1,\"a\n\"\"b\"\"\"\n2,\n3,value 3\n");
    let stream = client.copy_out("COPY (SELECT k, v FROM t ORDER BY k) TO STDOUT (FORMAT binary)").await.unwrap();
    let rows: Vec<_> = BinaryCopyOutStream::new(stream, &[Type::INT8, Type::TEXT]).try_collect().await.unwrap();
    assert_eq!(rows.len(), 9_999);
    assert_eq!((rows[1].get::<i64>(0), rows[1].get::<Option<String>>(1)), (2, None));
    assert_eq!((rows[9_998].get::<i64>(0), rows[9_998].get::<&str>(1)), (9_999, "value 9999"));
    // What is not finished has not happened.
    let sink = client.copy_in::<_, Bytes>("COPY t (k) FROM STDIN").await.unwrap();
    let mut sink = Box::pin(sink);
    sink.send(Bytes::from_static(b"20000\n")).await.unwrap();
    drop(sink);
    let sink = client.copy_in::<_, Bytes>("COPY t (k) FROM STDIN").await.unwrap();
    let mut sink = Box::pin(sink);
    sink.send(Bytes::from_static(b"20001\nx\n")).await.unwrap();
    let error = sink.as_mut().finish().await.unwrap_err();
    assert_eq!(error.code(), Some(&SqlState::INVALID_TEXT_REPRESENTATION));
    assert_eq!(client.query_one_scalar::<i64, _>("SELECT count(*) FROM t", &[]).await.unwrap(), 9_999);
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_and_notices_have_their_fields() {
    let (client, mut connection) = config("longshore").connect(NoTls).await.unwrap();
    let (told, mut notices) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(Ok(message)) = std::future::poll_fn(|context| connection.poll_message(context)).await {
            if let AsyncMessage::Notice(notice) = message {
                told.send(notice).unwrap();
            }
        }
    });
    let own = "DROP SCHEMA IF EXISTS rust_errors CASCADE; CREATE SCHEMA rust_errors; SET search_path = rust_errors";
    client.batch_execute(own).await.unwrap();
    while notices.try_recv().is_ok() {}
    client
        .batch_execute("CREATE TABLE t (k int PRIMARY KEY, v text NOT NULL CONSTRAINT short CHECK (length(v) < 9))")
        .await
        .unwrap();
    client.batch_execute("DROP TABLE IF EXISTS nothing").await.unwrap();
    let notice = notices.recv().await.unwrap();
    assert_eq!((notice.severity(), notice.message()), ("NOTICE", "table \"nothing\" does not exist, skipping"));
    for (sql, code, constraint, column) in [
        ("INSERT INTO t VALUES (1, NULL)", SqlState::NOT_NULL_VIOLATION, None, Some("v")),
        ("INSERT INTO t VALUES (1, 'much too long')", SqlState::CHECK_VIOLATION, Some("short"), None),
        ("INSERT INTO t VALUES (1, 'a'), (1, 'b')", SqlState::UNIQUE_VIOLATION, Some("t_pkey"), None),
    ] {
        let error = client.execute(sql, &[]).await.unwrap_err();
        let error = error.as_db_error().unwrap();
        assert_eq!(error.code(), &code, "{error:?}");
        assert_eq!((error.table(), error.constraint(), error.column()), (Some("t"), constraint, column), "{error:?}");
    }
    let error = client.query("SELECT k, w FROM t", &[]).await.unwrap_err();
    let error = error.as_db_error().unwrap();
    assert_eq!((error.code(), error.position()), (&SqlState::UNDEFINED_COLUMN, Some(&ErrorPosition::Original(11))));
    let messages = client.simple_query("SELECT 1 AS a, NULL AS b; INSERT INTO t VALUES (1, 'x')").await.unwrap();
    let rows: Vec<_> = messages
        .iter()
        .filter_map(|message| if let SimpleQueryMessage::Row(row) = message { Some(row) } else { None })
        .collect();
    assert_eq!((rows[0].get("a"), rows[0].get("b")), (Some("1"), None));
    assert!(matches!(messages.last(), Some(SimpleQueryMessage::CommandComplete(1))), "{messages:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_is_cancelled() {
    let client = connect("rust_cancel").await;
    let token = client.cancel_token();
    let query = client.query(LONG_QUERY, &[]);
    let cancel = async {
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        token.cancel_query(NoTls).await.unwrap();
    };
    let (answer, ()) = tokio::join!(query, cancel);
    assert_eq!(answer.unwrap_err().code(), Some(&SqlState::QUERY_CANCELED));
    assert_eq!(client.query_one_scalar::<i32, _>("SELECT 1", &[]).await.unwrap(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_string_and_settings_are_heeded() {
    let mut config = config("longshore");
    config.application_name("rust").options("-c statement_timeout=1234 -c search_path=pg_catalog");
    let (client, connection) = config.connect(NoTls).await.unwrap();
    tokio::spawn(connection);
    for (setting, expected) in
        [("application_name", "rust"), ("statement_timeout", "1234ms"), ("search_path", "pg_catalog")]
    {
        let found: String = client.query_one_scalar(&format!("SHOW {setting}"), &[]).await.unwrap();
        assert_eq!(found, expected, "{setting}");
    }
}
