//! Scans of files: the same rows as a load, with every projection, predicate and limit, and the same errors.

use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::Arc;

use crate::harness::{comma, schema};
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{BooleanArray, RecordBatch};
use longshore_load::{Control, InputFile, LoadError, RowFilter, ScanRequest, Source, TextScan, Tuning};
use longshore_storage::{ColumnType, Memory};

const ROWS: i32 = 30_000;

struct Below {
    limit: i32,
    columns: Vec<usize>,
}

impl RowFilter for Below {
    fn columns(&self) -> &[usize] {
        &self.columns
    }

    fn select(&self, batch: &RecordBatch) -> Result<BooleanArray, String> {
        let keys = batch.column(0).as_primitive::<Int32Type>();
        Ok(keys.iter().map(|key| key.map(|key| key % 1000 < self.limit)).collect())
    }
}

fn text() -> String {
    (0..ROWS).fold(String::new(), |mut text, row| {
        writeln!(text, "{row},\"text, {row}\",{}", row * 2).expect("a string takes all");
        text
    })
}

fn request(projection: &[usize], filter: Option<i32>, limit: Option<usize>, threads: usize) -> ScanRequest {
    ScanRequest {
        schema: schema(&[ColumnType::Integer, ColumnType::Text, ColumnType::Integer]),
        projection: projection.to_vec(),
        filter: filter.map(|limit| Arc::new(Below { limit, columns: vec![0] }) as Arc<dyn RowFilter>),
        limit,
        options: comma(),
        tuning: Tuning { span_bytes: Some(10_000), piece_bytes: Some(3_000), ..Tuning::new(threads) },
        memory: Memory::new(None),
        control: Arc::new(Control::new()),
    }
}

fn scan(text: &str, request: ScanRequest) -> Result<Vec<RecordBatch>, LoadError> {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(text.as_bytes()).expect("written");
    let threads = request.tuning.threads;
    let scan = TextScan::new(vec![InputFile::opened(Source::open(file.path()).expect("opened"), &[0, 1, 2])], request)?;
    let workers: Vec<_> = (0..threads).map(|_| scan.worker()).collect();
    let batches: Vec<Result<Vec<RecordBatch>, LoadError>> = std::thread::scope(|scope| {
        let threads: Vec<_> = workers.into_iter().map(|worker| scope.spawn(move || worker.collect())).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    Ok(batches.into_iter().collect::<Result<Vec<_>, _>>()?.concat())
}

fn keys(batches: &[RecordBatch], column: usize) -> Vec<i32> {
    let mut keys: Vec<i32> =
        batches.iter().flat_map(|batch| batch.column(column).as_primitive::<Int32Type>().values().to_vec()).collect();
    keys.sort_unstable();
    keys
}

#[test]
fn every_projection_has_all_rows() {
    for threads in [1, 2, 7] {
        for projection in [vec![], vec![0], vec![2, 0], vec![1, 0, 2]] {
            let batches = scan(&text(), request(&projection, None, None, threads)).expect("a scan");
            assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), ROWS as usize);
            assert!(batches.iter().all(|batch| batch.num_columns() == projection.len()));
            if let Some(column) = projection.iter().position(|&field| field == 0) {
                assert_eq!(keys(&batches, column), (0..ROWS).collect::<Vec<_>>());
            }
        }
    }
}

#[test]
fn predicates_keep_their_rows() {
    for limit in [0, 1, 500, 1000] {
        let batches = scan(&text(), request(&[1, 2], Some(limit), None, 2)).expect("a scan");
        let expected: Vec<i32> = (0..ROWS).filter(|row| row % 1000 < limit).map(|row| row * 2).collect();
        assert_eq!(keys(&batches, 1), expected);
        for batch in &batches {
            for (text, double) in
                batch.column(0).as_string_view().iter().zip(batch.column(1).as_primitive::<Int32Type>())
            {
                assert_eq!(text.expect("a text"), format!("text, {}", double.expect("a number") / 2));
            }
        }
    }
}

#[test]
fn a_limit_stops_the_parse() {
    let mut text = text();
    text.push_str("this,row,is bad\n");
    let batches = scan(&text, request(&[0], None, Some(10), 1)).expect("a scan");
    assert_eq!(keys(&batches, 0), (0..10).collect::<Vec<_>>());
}

#[test]
fn the_first_error_of_the_file_is_reported() {
    let mut lines: Vec<String> = text().lines().map(str::to_owned).collect();
    lines[20_000] = "x,first,1".to_owned();
    lines[20_700] = "y,second,1".to_owned();
    lines[29_000] = "only one field".to_owned();
    let text = lines.join("\n");
    for threads in [1, 2, 7] {
        let error = scan(&text, request(&[0, 1, 2], None, None, threads)).expect_err("an error");
        assert!(error.to_string().contains("line 20001, "), "{error}");
    }
}

#[test]
fn memory_is_bounded_by_what_the_query_holds() {
    let request = request(&[0, 1, 2], None, None, 1);
    let memory = Arc::clone(&request.memory);
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(text().repeat(20).as_bytes()).expect("written");
    let scan = TextScan::new(vec![InputFile::opened(Source::open(file.path()).expect("opened"), &[0, 1, 2])], request)
        .expect("a scan");
    let rows: usize = scan.worker().map(|batch| batch.expect("a batch").num_rows()).sum();
    assert_eq!(rows, 20 * ROWS as usize);
    assert!(memory.peak() <= 16 << 20, "{} bytes", memory.peak());
}
