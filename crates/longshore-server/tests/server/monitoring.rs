//! Metrics, health and `pg_stat_statements`.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use longshore_engine::{Config, Database};
use longshore_server::{Monitor, Server, ServerConfig, Shutdown};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::client::{Client, bind, execute, field, kinds, message, parse, values};
use crate::serve;

/// What a path gives: the first line of the answer, and its body.
async fn get(address: SocketAddr, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).await.expect("the monitor listens");
    stream.write_all(format!("GET {path} HTTP/1.1\r\nConnection: close\r\n\r\n").as_bytes()).await.expect("it reads");
    let mut text = String::new();
    stream.read_to_string(&mut text).await.expect("it answers");
    let (head, body) = text.split_once("\r\n\r\n").expect("there is a head");
    (head.lines().next().expect("there is a line").to_owned(), body.to_owned())
}

/// The value of a sample.
fn sample(metrics: &str, name: &str) -> f64 {
    let line = metrics.lines().find(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(' ')));
    let line = line.unwrap_or_else(|| panic!("no {name} in\n{metrics}"));
    line.rsplit(' ').next().expect("there is a value").parse().expect("it is a number")
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_and_health_tell_what_is() {
    let monitor = Monitor::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
    let (told_on, watched) = (monitor.address().unwrap(), monitor.watched());
    tokio::spawn(monitor.run());
    assert_eq!(get(told_on, "/health/live").await.0, "HTTP/1.1 200 OK");
    let (status, why) = get(told_on, "/health/ready").await;
    assert_eq!((status.as_str(), why.as_str()), ("HTTP/1.1 503 Service Unavailable", "starting\n"));
    assert!(sample(&get(told_on, "/metrics").await.1, "longshore_ready") < 0.5);

    let directory = tempfile::tempdir().unwrap();
    let config = Config { threads: 2, memory_limit: Some(1 << 30), ..Config::default() };
    let database =
        Database::open_directory(directory.path(), config, &longshore_engine::Durability::default()).unwrap();
    let config =
        ServerConfig { listen: vec![SocketAddr::from(([127, 0, 0, 1], 0))], trust: true, ..ServerConfig::default() };
    let server = Server::bind(Arc::clone(&database), config).await.unwrap();
    let address = server.addresses().unwrap()[0];
    watched.set(&server);
    let (end, mut ends) = tokio::sync::mpsc::unbounded_channel();
    let task = tokio::spawn(server.run(futures::stream::poll_fn(move |context| ends.poll_recv(context))));
    assert_eq!(get(told_on, "/health/ready").await, ("HTTP/1.1 200 OK".to_owned(), "ready\n".to_owned()));

    let mut client = Client::trusted(address).await;
    client.query("CREATE TABLE t (k int PRIMARY KEY)").await;
    client.send(&message(b'Q', b"COPY t FROM STDIN\0")).await;
    client.answer().await.unwrap();
    client.send(&[message(b'd', b"1\n2\n3\n"), message(b'c', b"")].concat()).await;
    client.until_ready().await;
    client.query("SELECT * FROM t").await;
    client.query("SELECT 1 / 0").await;
    client.query("BEGIN; INSERT INTO t VALUES (4); ROLLBACK").await;
    client.query("CHECKPOINT").await;
    client.query("BEGIN").await;
    let metrics = get(told_on, "/metrics").await.1;
    for (name, expected) in [
        ("longshore_ready", 1.0),
        ("longshore_connections_total", 1.0),
        ("longshore_sessions{state=\"idle in transaction\"}", 1.0),
        ("longshore_sessions{state=\"idle\"}", 0.0),
        ("longshore_statements_total{kind=\"copy\"}", 1.0),
        ("longshore_statements_total{kind=\"select\"}", 2.0),
        ("longshore_statements_total{kind=\"insert\"}", 1.0),
        ("longshore_errors_total{class=\"22\"}", 1.0),
        ("longshore_copy_rows_loaded_total", 3.0),
        ("longshore_copy_bytes_read_total", 6.0),
        ("longshore_rows_sent_total", 3.0),
        ("longshore_deadlocks_total", 0.0),
        ("longshore_checkpoints_total{outcome=\"made\"}", 1.0),
        ("longshore_memory_limit_bytes", f64::from(1 << 30)),
        ("longshore_connections_limit", 1000.0),
    ] {
        assert!(
            (sample(&metrics, name) - expected).abs() < 1e-9,
            "{name} is {}, not {expected}",
            sample(&metrics, name)
        );
    }
    let all = sample(&metrics, "longshore_statement_duration_seconds_count");
    assert!((sample(&metrics, "longshore_statement_duration_seconds_bucket{le=\"+Inf\"}") - all).abs() < 1e-9);
    for name in [
        "longshore_log_written_bytes_total",
        "longshore_log_syncs_total",
        "longshore_memory_used_bytes",
        "longshore_statement_duration_seconds_sum",
        "longshore_transactions_total{outcome=\"committed\"}",
        "longshore_transactions_total{outcome=\"rolled_back\"}",
    ] {
        assert!(sample(&metrics, name) > 0.0, "{name}");
    }
    // Each metric is told of before its samples, once.
    for line in metrics.lines().filter(|line| !line.starts_with('#')) {
        let name = line.split(['{', ' ']).next().unwrap();
        let known = ["_bucket", "_sum", "_count"].into_iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
        assert_eq!(metrics.matches(&format!("# TYPE {known} ")).count(), 1, "{name}");
    }

    end.send(Shutdown::Graceful).unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    let (status, why) = get(told_on, "/health/ready").await;
    assert_eq!((status.as_str(), why.as_str()), ("HTTP/1.1 503 Service Unavailable", "shutting down\n"));
    assert_eq!(get(told_on, "/health/live").await.0, "HTTP/1.1 200 OK");
    client.query("COMMIT").await;
    task.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_are_measured_by_their_texts() {
    let server = serve(true).await;
    let mut client = Client::trusted(server.address).await;
    let all = "SELECT concat_ws('|', query, calls, rows, total_exec_time > 0, min_exec_time <= max_exec_time) \
               FROM pg_stat_statements WHERE query NOT LIKE '%pg_stat_statements%' ORDER BY 1";
    client.query("SELECT 1").await;
    assert!(values(&client.query(all).await).is_empty(), "nothing is measured where nobody asked for it");
    server.database.statements().set_entries_max(100);
    client.query("CREATE TABLE t (k int PRIMARY KEY, v text)").await;
    for row in 0..3 {
        client.query(&format!("INSERT INTO t VALUES ({row}, 'secret{row}')")).await;
    }
    client.send(&[parse("s", "SELECT v FROM t WHERE k >= $1"), message(b'S', b"")].concat()).await;
    client.until_ready().await;
    for from in ["0", "1"] {
        client.send(&[bind("s", &[from]), execute(0), message(b'S', b"")].concat()).await;
        assert_eq!(field(client.until_ready().await.last().unwrap(), 'C'), "");
    }
    client.query("SELECT 1 / 0").await;
    client.query("ALTER ROLE longshore PASSWORD 'secret'").await;
    let measured = values(&client.query(all).await);
    let expected = [
        "ALTER ROLE longshore PASSWORD '***'|1|0|t|t",
        "CREATE TABLE t (k int PRIMARY KEY, v text)|1|0|t|t",
        "INSERT INTO t VALUES ($1, $2)|3|3|t|t",
        "SELECT v FROM t WHERE k >= $1|2|5|t|t",
    ];
    assert_eq!(measured, expected);
    // A portal that is read in parts is one call.
    client.send(&[bind("s", &["0"]), execute(2), execute(2), message(b'S', b"")].concat()).await;
    assert_eq!(kinds(&client.until_ready().await), "2DDsDCZ");
    let calls = "SELECT calls || ' ' || rows FROM pg_stat_statements WHERE query LIKE 'SELECT v%'";
    assert_eq!(values(&client.query(calls).await), ["3 8"]);
    client.query("CREATE ROLE anna LOGIN; SET ROLE anna; SELECT 2").await;
    let hidden =
        "SELECT count(*) || ' ' || count(queryid) FROM pg_stat_statements WHERE query = '<insufficient privilege>'";
    let hidden = values(&client.query(hidden).await);
    assert!(hidden[0].ends_with(" 0") && !hidden[0].starts_with("0 "), "{hidden:?}");
    let refused = client.query("SELECT pg_stat_statements_reset()").await;
    assert!(refused.iter().any(|answer| field(answer, 'C') == "42501"));
    client.query("RESET ROLE; SELECT pg_stat_statements_reset()").await;
    client.send(&[bind("s", &["0"]), execute(0), message(b'S', b"")].concat()).await;
    client.until_ready().await;
    assert_eq!(values(&client.query(calls).await), ["1 3"], "who has kept an entry enters again");
    assert_eq!(values(&client.query("SELECT dealloc FROM pg_stat_statements_info").await), ["0"]);
}
