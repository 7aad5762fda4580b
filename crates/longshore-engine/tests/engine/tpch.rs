//! The 22 queries of TPC-H against answers computed by another engine (`scripts/tpch_answers.py`).
//!
//! The text is generated, loaded through COPY, and queried as a user would. Integers, decimals, dates and strings must
//! be equal; where the other engine computes in floating point (its DOUBLE columns: averages, quotients), the answer
//! must be equal to the digits that ours has. Rows are compared as a multiset and, in order, by the columns of ORDER BY:
//! rows that these do not decide between may come in any order.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::util::display::{ArrayFormatter, FormatOptions};
use arrow_array::{ArrayRef, RecordBatch};
use futures::TryStreamExt as _;
use longshore_engine::{Config, Database, Kernel, Outcome, Session, nested_texts, split};

/// The scale factor of the committed answers.
const SCALE: f64 = 0.05;

/// However few digits an answer has, it may not be further off than this.
const TOLERANCE_MAX: f64 = 1e-3;

/// What sums of floats in another order may differ by.
const TOLERANCE_RELATIVE: f64 = 1e-12;

const TPCH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/tpch");

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (table, text) in crate::tpch_text::tables(SCALE) {
        fs::write(folder.path().join(table), text).expect("the text is written");
    }
    let mut wrong = Vec::new();
    for kernel in [None, Some(Kernel::Portable)] {
        let mut session = loaded(folder.path(), kernel).await;
        for number in 1..=22 {
            let name = format!("q{number:02}");
            let sql = read(&format!("queries/{name}.sql"));
            let answer = Answer::parse(&read(&format!("answers/{name}.csv")));
            let found = query(&mut session, &sql).await;
            if let Err(difference) = answer.check(&found, &order_by(&sql)) {
                wrong.push(format!("{name}, kernel {kernel:?}: {difference}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A session over the eight tables, loaded from the text in `folder` by one kernel.
async fn loaded(folder: &Path, kernel: Option<Kernel>) -> Session {
    let config = Config { threads: 2, kernel, ..Config::default() };
    let database = Database::open(config).expect("the configuration is valid");
    let mut session = database.session();
    for statement in split(&read("schema.sql")).statements {
        session.execute(&statement).await.expect("the table is made");
    }
    for table in database.table_names() {
        let copy = format!("COPY {table} FROM '{}' (FORMAT csv, DELIMITER '|')", folder.join(&table).display());
        session.execute(&copy).await.unwrap_or_else(|error| panic!("{copy}: {error}"));
    }
    session
}

fn read(file: &str) -> String {
    let path: PathBuf = Path::new(TPCH).join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The rows of a query, each cell as text; NULL is empty.
async fn query(session: &mut Session, sql: &str) -> Vec<Vec<String>> {
    let statements = split(sql).statements;
    assert_eq!(statements.len(), 1, "one query a file");
    match session.execute(&statements[0]).await.unwrap_or_else(|error| panic!("{sql}\n{error}")) {
        Outcome::Rows(stream) => {
            let batches: Vec<RecordBatch> = stream.try_collect().await.unwrap_or_else(|error| panic!("{sql}\n{error}"));
            batches.iter().flat_map(cells).collect()
        }
        Outcome::Done { tag, .. } => panic!("{tag} where rows are expected"),
    }
}

fn cells(batch: &RecordBatch) -> Vec<Vec<String>> {
    let options = FormatOptions::default();
    let written =
        |array: &ArrayRef| nested_texts(array).map_or_else(|| array.clone(), |texts| Arc::new(texts) as ArrayRef);
    let arrays: Vec<ArrayRef> = batch.columns().iter().map(written).collect();
    let columns: Vec<ArrayFormatter<'_>> = arrays
        .iter()
        .map(|column| ArrayFormatter::try_new(column.as_ref(), &options).expect("every type has a text"))
        .collect();
    (0..batch.num_rows()).map(|row| columns.iter().map(|column| column.value(row).to_string()).collect()).collect()
}

/// The columns that the query orders by, by name, as positions are unknown before the answer's header is read.
fn order_by(sql: &str) -> Vec<String> {
    let lower = sql.to_lowercase();
    let Some(at) = lower.rfind("order by") else { return Vec::new() };
    let keys = &lower[at + "order by".len()..];
    let keys = keys.split(';').next().unwrap_or_default();
    let keys = keys.split("limit").next().unwrap_or_default();
    keys.split(',').filter_map(|key| key.split_whitespace().next().map(str::to_owned)).collect()
}

/// A committed answer.
struct Answer {
    names: Vec<String>,
    /// Whether the column is computed in floating point.
    approximate: Vec<bool>,
    rows: Vec<Vec<String>>,
}

impl Answer {
    /// Reads the CSV of an answer: a header of `name:TYPE`, then rows.
    fn parse(text: &str) -> Answer {
        let mut lines = text.lines().map(fields);
        let header = lines.next().expect("an answer has a header");
        let typed: Vec<(&str, &str)> =
            header.iter().map(|field| field.rsplit_once(':').expect("a header is name:TYPE")).collect();
        Answer {
            names: typed.iter().map(|(name, _)| name.to_lowercase()).collect(),
            approximate: typed.iter().map(|(_, kind)| *kind == "DOUBLE").collect(),
            rows: lines.collect(),
        }
    }

    fn check(&self, found: &[Vec<String>], order: &[String]) -> Result<(), String> {
        if found.len() != self.rows.len() {
            return Err(format!("{} rows where {} are right", found.len(), self.rows.len()));
        }
        let keys: Vec<usize> = order
            .iter()
            .map(|key| self.names.iter().position(|name| name == key).ok_or(format!("no column {key} to order by")))
            .collect::<Result<_, _>>()?;
        for (number, (right, found)) in self.rows.iter().zip(found).enumerate() {
            if found.len() != self.names.len() {
                return Err(format!("{} columns where {} are right", found.len(), self.names.len()));
            }
            if let Some(&key) = keys.iter().find(|&&key| !self.same(key, &right[key], &found[key])) {
                return Err(format!("row {number} is ordered wrongly: {found:?} where {right:?} is right ({key})"));
            }
        }
        let (mut right, mut left) = (self.rows.clone(), found.to_vec());
        self.sort(&mut right);
        self.sort(&mut left);
        for (right, found) in right.iter().zip(&left) {
            if (0..right.len()).any(|column| !self.same(column, &right[column], &found[column])) {
                return Err(format!("{found:?} where {right:?} is right"));
            }
        }
        Ok(())
    }

    /// Sorts rows by their exact columns.
    fn sort(&self, rows: &mut [Vec<String>]) {
        rows.sort_by_key(|row| {
            let exact = row.iter().zip(&self.approximate).filter(|(_, approximate)| !**approximate);
            exact.map(|(cell, _)| normal(cell)).collect::<Vec<_>>()
        });
    }

    fn same(&self, column: usize, right: &str, found: &str) -> bool {
        if !self.approximate[column] || right.is_empty() || found.is_empty() {
            return normal(right) == normal(found);
        }
        let (Ok(right), Ok(number)) = (right.parse::<f64>(), found.parse::<f64>()) else { return false };
        // Ours is a decimal, cut or rounded in its last digit, or a float itself.
        let digits = found.split_once('.').map_or(0, |(_, fraction)| fraction.len()) as i32;
        let last_digit = 10_f64.powi(-digits).min(TOLERANCE_MAX);
        // A shade more, as the difference of two decimals is none in binary.
        (right - number).abs() <= last_digit.max(right.abs() * TOLERANCE_RELATIVE) * 1.0001
    }
}

/// A cell without the zeros in which decimals of different scale differ.
fn normal(cell: &str) -> String {
    let number = cell.parse::<f64>().is_ok() && cell.contains('.');
    if number { cell.trim_end_matches('0').trim_end_matches('.').to_owned() } else { cell.to_owned() }
}

/// The fields of a line of CSV; there are no line breaks in the answers.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        let field = fields.last_mut().expect("there is always a field");
        match c {
            '"' if quoted && rest.peek() == Some(&'"') => field.extend(rest.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            _ => field.push(c),
        }
    }
    fields
}

#[test]
fn every_query_has_an_answer_that_is_not_empty() {
    let mut rows = BTreeMap::new();
    for number in 1..=22 {
        let name = format!("q{number:02}");
        rows.insert(name.clone(), Answer::parse(&read(&format!("answers/{name}.csv"))).rows.len());
    }
    assert!(rows.values().all(|&rows| rows > 0), "{rows:?}");
}

#[test]
fn wrong_answers_are_found() {
    let answer = Answer::parse("a:BIGINT,b:DOUBLE\n2,0.125\n1,3.5\n");
    let row = |a: &str, b: &str| vec![a.to_owned(), b.to_owned()];
    let order = ["a".to_owned()];
    assert_eq!(answer.check(&[row("2", "0.125"), row("1", "3.5")], &order), Ok(()));
    assert_eq!(answer.check(&[row("1", "3.5"), row("2", "0.125")], &[]), Ok(()));
    assert!(answer.check(&[row("1", "3.5"), row("2", "0.125")], &order).is_err());
    assert_eq!(answer.check(&[row("2", "0.125001"), row("1", "3.5")], &order), Ok(()), "the last digit may be rounded");
    assert!(answer.check(&[row("2", "0.125003"), row("1", "3.5")], &order).is_err());
    assert!(answer.check(&[row("2", "0"), row("1", "3.5")], &order).is_err());
    assert!(answer.check(&[row("3", "0.125"), row("1", "3.5")], &[]).is_err());
    assert!(answer.check(&[row("2", "0.125")], &[]).is_err());
}
