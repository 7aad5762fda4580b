//! Panics within statements of every kind, made by a function that there is only here.

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};
use futures::TryStreamExt;

use crate::{Config, Database, ErrorKind, Outcome, Session};

/// `boom(x)`: panics, unless there are no rows.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Boom(Signature);

impl ScalarUDFImpl for Boom {
    fn name(&self) -> &'static str {
        "boom"
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int32)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        assert!(args.number_rows == 0, "boom of {} rows", args.number_rows);
        Ok(args.args[0].clone())
    }
}

fn database() -> Arc<Database> {
    let mut database = Database::open(Config { threads: 2, ..Config::default() }).expect("a database opens");
    let queries = &mut Arc::get_mut(&mut database).expect("nobody else has it").queries;
    let boom = ScalarUDF::new_from_impl(Boom(Signature::any(1, Volatility::Immutable)));
    Arc::get_mut(&mut queries.functions).expect("no statement runs").add(boom);
    database
}

async fn run(session: &mut Session, sql: &str) -> Result<usize, crate::Error> {
    match session.execute(sql).await? {
        Outcome::Done { .. } => Ok(0),
        Outcome::Rows(rows) => {
            let batches: Vec<_> = rows.try_collect().await?;
            Ok(batches.iter().map(datafusion::arrow::array::RecordBatch::num_rows).sum())
        }
    }
}

async fn ok(session: &mut Session, sql: &str) -> usize {
    run(session, sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_ends_its_statement_and_nothing_else() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("rows.csv");
    let text: Vec<String> = (0..200_000).map(|row| format!("{row},{row}")).collect();
    std::fs::write(&file, text.join("\n")).expect("the file is written");
    let database = database();
    let mut session = database.session();
    session.set_output(std::io::sink());
    ok(&mut session, "CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER)").await;
    ok(&mut session, "INSERT INTO t SELECT x, x FROM generate_series(1, 100000) AS g(x)").await;
    ok(&mut session, "CREATE TABLE u (id INTEGER, a INTEGER CHECK (boom(a) > 0))").await;
    let file = file.display();
    let statements = [
        "SELECT boom(a) FROM t".to_owned(),
        "SELECT boom(7)".to_owned(),
        "SELECT count(*) FROM t WHERE boom(a) > 3 GROUP BY a".to_owned(),
        "SELECT t.a FROM t JOIN t AS s ON boom(t.a) = boom(s.a) ORDER BY 1".to_owned(),
        "INSERT INTO t SELECT boom(a), 1 FROM t".to_owned(),
        "INSERT INTO t VALUES (boom(1), 2)".to_owned(),
        "INSERT INTO u VALUES (1, 2)".to_owned(),
        "INSERT INTO u SELECT * FROM t".to_owned(),
        "UPDATE t SET a = boom(a)".to_owned(),
        "DELETE FROM t WHERE boom(a) > 0 RETURNING id".to_owned(),
        "MERGE INTO t USING t AS s ON s.id = t.id WHEN MATCHED THEN UPDATE SET a = boom(s.a)".to_owned(),
        "CREATE TABLE v AS SELECT boom(a) AS a FROM t".to_owned(),
        "ALTER TABLE t ALTER COLUMN a TYPE BIGINT USING boom(a)".to_owned(),
        "ALTER TABLE t ADD CHECK (boom(a) > 0)".to_owned(),
        "COPY (SELECT boom(a) FROM t) TO STDOUT".to_owned(),
        format!("COPY u FROM '{file}'"),
        format!("COPY t FROM '{file}' WHERE boom(id) > 0"),
        format!("COPY t FROM (SELECT boom(column1), column2 FROM '{file}')"),
        format!("SELECT * FROM '{file}' WHERE boom(column1) > 2"),
    ];
    for sql in &statements {
        let error = run(&mut session, sql).await.err().unwrap_or_else(|| panic!("{sql}: it should fail"));
        assert_eq!(error.kind(), ErrorKind::Internal, "{sql}: {error}");
        assert!(error.to_string().contains("please report"), "{sql}: {error}");
        assert_eq!(ok(&mut session, "SELECT id FROM t").await, 100_000, "{sql}");
        ok(&mut session, "UPDATE t SET a = a + 1 WHERE id = 5").await;
    }
    ok(&mut session, "BEGIN").await;
    ok(&mut session, "UPDATE t SET a = 0 WHERE id = 5").await;
    run(&mut session, "UPDATE t SET a = boom(a)").await.expect_err("it panics");
    let error = run(&mut session, "SELECT 1").await.expect_err("the block has failed");
    assert_eq!(error.kind(), ErrorKind::Aborted);
    ok(&mut session, "ROLLBACK").await;
    assert_eq!(ok(&mut session, "SELECT id FROM t WHERE a = 0").await, 0);
    assert_eq!(ok(&mut session, "SELECT id FROM u").await, 0);
    assert_eq!(database.table_names(), ["t", "u"]);
}

/// Panics when it is read.
struct Broken;

impl std::io::Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        panic!("a broken reader");
    }
}

impl std::io::Write for Broken {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        panic!("a broken writer");
    }

    fn flush(&mut self) -> std::io::Result<()> {
        panic!("a broken writer");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_that_panic_end_their_statement_and_nothing_else() {
    let database = database();
    let mut session = database.session();
    ok(&mut session, "CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER)").await;
    ok(&mut session, "INSERT INTO t SELECT x, x FROM generate_series(1, 100000) AS g(x)").await;
    session.set_output(Broken);
    let statements = [
        // A thread of its own reads ahead; what it meets is an error of the text.
        ("COPY t FROM STDIN", ErrorKind::Io),
        ("COPY t TO STDOUT", ErrorKind::Internal),
        ("COPY (SELECT a FROM t) TO STDOUT", ErrorKind::Internal),
    ];
    for (sql, kind) in statements {
        session.set_input(Broken);
        let error = run(&mut session, sql).await.err().unwrap_or_else(|| panic!("{sql}: it should fail"));
        assert_eq!(error.kind(), kind, "{sql}: {error}");
        assert!(error.to_string().contains("bug"), "{sql}: {error}");
        assert_eq!(ok(&mut session, "SELECT id FROM t").await, 100_000, "{sql}");
        ok(&mut session, "UPDATE t SET a = a + 1 WHERE id = 5").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn deep_plans_are_run_and_what_is_too_large_is_refused() {
    let mut session = database().session();
    ok(&mut session, "CREATE TABLE t (a INT)").await;
    ok(&mut session, "INSERT INTO t VALUES (1), (2)").await;
    let tables: Vec<String> = (1..400)
        .map(|number| format!("c{number} AS (SELECT sum(a) OVER (ORDER BY a) AS a FROM c{})", number - 1))
        .collect();
    let deep = format!("WITH c0 AS (SELECT a FROM t LIMIT 1), {} SELECT a FROM c399", tables.join(", "));
    assert_eq!(ok(&mut session, &deep).await, 1);
    assert_eq!(ok(&mut session, &format!("EXPLAIN {deep}")).await, 2);
    ok(&mut session, "CREATE VIEW v0 AS SELECT a FROM t").await;
    let mut refused = None;
    for number in 1..20 {
        let view =
            format!("CREATE VIEW v{number} AS SELECT x.a FROM v{0} AS x JOIN v{0} AS y ON x.a = y.a", number - 1);
        if let Err(error) = run(&mut session, &view).await {
            refused = Some((number, error));
            break;
        }
    }
    let (number, error) = refused.expect("no plan has any size");
    assert_eq!((number, error.kind()), (12, crate::ErrorKind::TooComplex));
    assert!(error.to_string().contains("its plan has more than 20000 operators"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn more_values_than_there_is_memory_to_plan_are_refused() {
    let config = Config { threads: 1, memory_limit: Some(64 << 20), ..Config::default() };
    let mut session = Database::open(config).expect("a database opens").session();
    let list = |count: usize| vec!["1"; count].join(",");
    let many = format!("SELECT 1 IN ({})", list(60_000));
    for error in [run(&mut session, &many).await.expect_err("84 MB"), session.prepare(&many).expect_err("84 MB")] {
        assert_eq!(error.kind(), crate::ErrorKind::Memory);
        assert!(error.to_string().contains("a statement of 59999 values takes some 80 MB to plan"), "{error}");
    }
    assert_eq!(ok(&mut session, &format!("SELECT 1 IN ({})", list(2000))).await, 1);
    assert_eq!(ok(&mut session, &format!("SELECT length('{}')", list(200_000))).await, 1);
}
