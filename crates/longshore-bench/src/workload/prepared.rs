//! Prepared statements about one row by its key, through a session: what SQL costs beyond the typed API, and what it costs where
//! a generic plan runs it.

use std::time::{Duration, Instant};

use futures::TryStreamExt as _;
use longshore_engine::{Config, Database, Datum, Outcome, Prepared, Session};

use crate::measure::{Amount, Case, Measured, measure};
use crate::{Failure, Settings};

/// Rows of the table, and statements of a run, at scale factor 1.
const ROWS: f64 = 1e6;
const STATEMENTS: f64 = 2e5;
/// The fewest of both.
const COUNT_MIN: f64 = 1e3;
/// A step that visits all keys in an order of no use to a cache.
const STEP: i64 = 7_919;

/// What the cases share.
struct Bench {
    runtime: tokio::runtime::Runtime,
    database: std::sync::Arc<Database>,
    rows: i64,
    statements: i64,
}

pub(super) fn run(settings: &Settings) -> Result<Vec<Measured>, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let database = Database::open(Config { threads: settings.threads, ..Config::default() })?;
    let rows = (ROWS * settings.scale).max(COUNT_MIN) as i64;
    let statements = (STATEMENTS * settings.scale).max(COUNT_MIN) as i64;
    let bench = Bench { runtime, database, rows, statements };
    bench.runtime.block_on(async {
        let mut session = bench.database.session();
        session.execute("CREATE TABLE t (id BIGINT, n BIGINT, v TEXT, PRIMARY KEY (id) USING HASH)").await?;
        let numbers = format!("SELECT value, 0, 'text ' || value FROM generate_series(0, {}) AS g(value)", rows - 1);
        session.execute(&format!("INSERT INTO t {numbers}")).await
    })?;
    let amount = Amount::Transactions(statements as u64);
    let mut next = rows;
    let cases = vec![
        Case::new("point select", amount, || {
            bench.each("SELECT n, v FROM t WHERE id = $1", |number| vec![Datum::I64(number * STEP % rows)], 1)
        }),
        Case::new("point select, as SQL text", Amount::Transactions(statements as u64 / 100), || {
            bench.each_text("SELECT n, v FROM t WHERE id = ", statements / 100)
        }),
        Case::new("computed of a point select", amount, || {
            bench.each("SELECT n + 1, v FROM t WHERE id = $1", |number| vec![Datum::I64(number * STEP % rows)], 1)
        }),
        Case::new("join by key", amount, || {
            let sql = "SELECT a.n, b.v FROM t AS a JOIN t AS b ON b.id = a.id WHERE a.id = $1";
            bench.each(sql, |number| vec![Datum::I64(number * STEP % rows)], 1)
        }),
        Case::new("aggregate of a key", amount, || {
            let sql = "SELECT n, count(*) FROM t WHERE id = $1 GROUP BY n ORDER BY n";
            bench.each(sql, |number| vec![Datum::I64(number * STEP % rows)], 1)
        }),
        Case::new("update by key", amount, || {
            bench.each("UPDATE t SET n = n + $2 WHERE id = $1", |number| vec![Datum::I64(number), Datum::I64(1)], 0)
        }),
        Case::new("insert", amount, || {
            let first = next;
            next += statements;
            let row = |number| vec![Datum::I64(first + number), Datum::I64(0), Datum::Text("text")];
            bench.each("INSERT INTO t VALUES ($1, $2, $3)", row, 0)
        }),
    ];
    measure(cases, settings)
}

impl Bench {
    /// Runs a statement once per number; each returns so many rows, or changes one.
    fn each(
        &self,
        sql: &str,
        values: impl Fn(i64) -> Vec<Datum<'static>>,
        rows_returned: usize,
    ) -> Result<Duration, Failure> {
        let mut session = self.database.session();
        let prepared = session.prepare(sql)?;
        self.runtime.block_on(async {
            let started = Instant::now();
            for number in 0..self.statements {
                once(&mut session, &prepared, &values(number % self.rows.min(self.statements)), rows_returned).await?;
            }
            Ok(started.elapsed())
        })
    }

    /// The same through the parser and the planner.
    fn each_text(&self, sql: &str, statements: i64) -> Result<Duration, Failure> {
        let mut session = self.database.session();
        self.runtime.block_on(async {
            let started = Instant::now();
            for number in 0..statements {
                let outcome = session.execute(&format!("{sql}{}", number * STEP % self.rows)).await?;
                check(outcome, 1).await?;
            }
            Ok(started.elapsed())
        })
    }
}

async fn once(
    session: &mut Session,
    prepared: &Prepared,
    values: &[Datum<'_>],
    rows_returned: usize,
) -> Result<(), Failure> {
    check(session.execute_prepared(prepared, values).await?, rows_returned).await
}

async fn check(outcome: Outcome, rows_returned: usize) -> Result<(), Failure> {
    let (found, expected) = match outcome {
        Outcome::Rows(rows) => {
            (rows.try_fold(0, async |rows, batch| Ok(rows + batch.num_rows())).await?, rows_returned)
        }
        Outcome::Done { report, .. } => (report.rows as usize, 1),
    };
    if found == expected { Ok(()) } else { Err(format!("{found} rows where {expected} are expected").into()) }
}
