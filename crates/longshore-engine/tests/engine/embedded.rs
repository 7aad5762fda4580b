//! What programs that embed the engine are given: texts as Arrow without a database, and rows of theirs in queries and tables.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test")]

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, RecordBatch, StringArray, UInt8Array};
use arrow::datatypes::{DataType, Decimal128Type, Int32Type};
use futures::TryStreamExt as _;
use longshore_engine::{
    Config, Control, ErrorKind, OptionSetting, Outcome, TextRequest, copy_rows_text, decimal_columns, plain_rows,
    read_text, table_names,
};
use tempfile::NamedTempFile;

use crate::query_support::{ok, open, run};

fn file(text: &str) -> NamedTempFile {
    let file = NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    file
}

fn request(file: &NamedTempFile, options: &[(&str, OptionSetting)]) -> TextRequest {
    let options = options.iter().map(|(name, setting)| ((*name).to_owned(), setting.clone())).collect();
    TextRequest { files: vec![file.path().display().to_string()], options, keeps_rejects: false }
}

fn per_column(columns: &[(&str, &str)]) -> OptionSetting {
    let text = |text: &str| OptionSetting::Text(text.to_owned());
    OptionSetting::PerColumn(columns.iter().map(|(name, value)| ((*name).to_owned(), text(value))).collect())
}

fn words() -> RecordBatch {
    let numbers: ArrayRef = Arc::new(UInt8Array::from(vec![Some(1), None, Some(255)]));
    let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("one"), Some("a text of many bytes"), None]));
    RecordBatch::try_from_iter_with_nullable([("n", numbers, true), ("word", texts, true)]).unwrap()
}

#[test]
fn texts_become_batches() {
    let rows = 200_000;
    let lines: Vec<String> = (0..rows).map(|n| format!("{n};text {};{}.25\n", n % 7, n % 100)).collect();
    let text = file(&format!("n;word;price\n{}", lines.concat()));
    for threads in [1, 3] {
        let config = Config { threads, ..Config::default() };
        let read = read_text(&request(&text, &[]), &config, &Arc::default()).unwrap();
        assert_eq!(read.report.rows, rows);
        let types: Vec<_> = read.schema.fields().iter().map(|field| field.data_type().clone()).collect();
        assert_eq!(types, [DataType::Int32, DataType::Utf8View, DataType::Decimal128(18, 2)]);
        let mut next = 0;
        for batch in read.batches() {
            let batch = batch.unwrap();
            for (n, word) in
                batch.column(0).as_primitive::<Int32Type>().values().iter().zip(batch.column(1).as_string_view())
            {
                assert_eq!((*n, word), (next, Some(format!("text {}", next % 7).as_str())));
                next += 1;
            }
        }
        assert_eq!(next, rows as i32);
        // What Arrow has otherwise than the loader is made with each call, and the same each time.
        assert_eq!(read.row_count() as u64, rows);
        let last = read.batch_count() - 1;
        let price = |of: RecordBatch| of.column(2).as_primitive::<Decimal128Type>().values().last().copied();
        assert_eq!(price(read.batch(last).unwrap()), Some((i128::from(rows) - 1) % 100 * 100 + 25));
        assert_eq!(read.batch(last).unwrap(), read.batch(last).unwrap());
    }
}

#[test]
fn columns_are_given_and_bad_records_are_rows() {
    let text = file("1,x\ntwo,y\n3,z\n");
    let columns = ("columns", per_column(&[("a", "INTEGER"), ("b", "TEXT")]));
    let header = ("header", OptionSetting::Flag(false));
    let read = |request: &TextRequest| read_text(request, &Config::default(), &Arc::default());
    let error = read(&request(&text, &[columns.clone(), header.clone()])).unwrap_err();
    assert_eq!((error.details().line, error.details().column.as_deref()), (Some(2), Some("a")));
    let lenient = TextRequest { keeps_rejects: true, ..request(&text, &[columns.clone(), header.clone()]) };
    let made = read(&lenient).unwrap();
    assert_eq!((made.report.rows, made.rejected), (2, 1));
    assert_eq!(made.rejects.unwrap().row_count(), 1);
    let ignoring = ("on_error", OptionSetting::Text("ignore".to_owned()));
    assert_eq!(read(&request(&text, &[columns.clone(), header.clone(), ignoring])).unwrap().report.rows, 2);
    let table = ("on_error", OptionSetting::Text("table bad".to_owned()));
    assert_eq!(read(&request(&text, &[columns, header, table])).unwrap_err().kind(), ErrorKind::Invalid);
    let cancelled = Arc::new(Control::new());
    cancelled.cancel();
    let error = read_text(&request(&text, &[]), &Config::default(), &cancelled).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_a_program_are_a_table() {
    let database = open(Config::default());
    let mut session = database.session();
    session.register("words", words().schema_ref(), &[words()]).unwrap();
    assert_eq!(
        session.unknown_tables(&table_names("SELECT * FROM words, others JOIN more USING (n)")),
        ["others", "more"]
    );
    let found = run(&mut session, "SELECT word FROM words WHERE n = 255 OR n IS NULL ORDER BY word").await.unwrap();
    assert_eq!(found, ["a text of many bytes", "-"]);
    assert!(run(&mut database.session(), "SELECT * FROM words").await.is_err(), "another session does not know them");
    ok(&mut session, "BEGIN").await;
    ok(&mut session, "CREATE TABLE t AS SELECT * FROM words").await;
    ok(&mut session, "COMMIT").await;
    assert_eq!(session.register("t", words().schema_ref(), &[]).unwrap_err().kind(), ErrorKind::Exists);
    session.unregister("words");
    assert!(run(&mut session, "SELECT * FROM words").await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_a_program_are_copied() {
    let database = open(Config::default());
    let mut session = database.session();
    ok(&mut session, "CREATE TABLE t (word TEXT, n BIGINT, made TEXT DEFAULT 'x')").await;
    session.set_rows(words().schema_ref(), [Ok(words()), Ok(words())].into_iter()).unwrap();
    let sql = copy_rows_text("t", &["n".to_owned(), "word".to_owned()]);
    let Outcome::Done { tag, .. } = session.execute(&sql).await.unwrap() else { panic!("rows") };
    assert_eq!(tag, "COPY 6");
    assert_eq!(run(&mut session, "SELECT count(n), sum(n), min(made) FROM t").await.unwrap(), ["4|512|x"]);
    session.set_rows(words().schema_ref(), [Ok(words()), Err("it broke".to_owned())].into_iter()).unwrap();
    let error = session.execute(&sql).await.unwrap_err();
    assert!(error.to_string().contains("it broke"), "{error}");
    session.set_rows(words().schema_ref(), std::iter::empty()).unwrap();
    assert!(session.execute("COPY t FROM STDIN").await.is_err(), "three columns");
    assert_eq!(run(&mut session, "SELECT count(*) FROM t").await.unwrap(), ["6"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_plain_for_programs() {
    let mut session = open(Config::default()).session();
    let sql = "SELECT n / 4.0::numeric AS part, json_build_object('n', n) AS doc, INTERVAL '1 day' AS span FROM generate_series(1, 3) AS t (n)";
    let Outcome::Rows(rows) = session.execute(sql).await.unwrap() else { panic!("no rows") };
    let rows = plain_rows(rows).unwrap();
    let types = rows.types();
    assert_eq!(types.iter().map(|type_id| type_id.oid).collect::<Vec<_>>(), [1700, 114, 1186]);
    let schema = Arc::clone(rows.schema());
    assert!(schema.fields().iter().all(|field| *field.data_type() == DataType::Utf8View));
    let batches: Vec<RecordBatch> = rows.try_collect().await.unwrap();
    let (schema, batches) = decimal_columns(&schema, &types, &batches).unwrap();
    assert_eq!(*schema.field(0).data_type(), DataType::Decimal128(21, 20));
    let first = batches[0].column(0).as_primitive::<Decimal128Type>().value(0);
    assert_eq!(first, 25 * 10_i128.pow(18));
}
