//! Loads that reject records: the same rows and the same rejects, in the order of the file, on every machine, as the
//! slow twin finds; limits, sinks and dry runs.

mod harness;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use harness::rejects::{Expected, Gathered, Outcome, expected_rejects, load_with_rejects};
use harness::{Machine, comma, dump, machines, schema, share};
use longshore_format::sniff::{Given, QuoteChoice};
use longshore_load::{
    ColumnChoice, Control, DefectKind, Dialect, Header, InferRequest, InputFile, LoadError, OnError, Reject,
    RejectFile, RejectLimit, RejectSink, RejectTable, ScanRequest, Source, TextOptions, TextScan, TrailingDelimiter,
    Tuning, ValueOptions, copy_from, dry_run, infer, load_inferred, reject_schema,
};
use longshore_storage::{Column, ColumnType, Memory, Relation, Schema};
use tempfile::NamedTempFile;

fn file_of(text: &[u8]) -> NamedTempFile {
    let mut file = NamedTempFile::new().expect("a temporary file");
    file.write_all(text).expect("written");
    file
}

/// Compares the rejects of a text on all of some machines with the slow twin's.
fn check_on(machines: &[Machine], text: &[u8], schema: &Arc<Schema>, options: &TextOptions) -> Option<Outcome> {
    let file = file_of(text);
    let expected = expected_rejects(text, schema, options);
    for machine in machines {
        let loaded = load_with_rejects(machine, file.path(), schema, options);
        match (&expected, loaded) {
            (Some(expected), Ok((found, _))) => {
                assert_eq!(found, *expected, "{machine:?}\n{}", text.escape_ascii());
            }
            (None, Err(_)) => {}
            (_, loaded) => panic!("{machine:?}: {loaded:?}\n{}", text.escape_ascii()),
        }
    }
    expected
}

fn number_and_text() -> Arc<Schema> {
    Arc::new(Schema::new(vec![
        Column::new("c0", ColumnType::Integer, false),
        Column::new("c1", ColumnType::Text, true),
        Column::new("c2", ColumnType::Date, true),
    ]))
}

/// Every kind of error among good records: in quotes over several lines, with both line ends.
const KINDS: &str = concat!(
    "1,a,2024-01-01\r\n",
    "x,b,2024-13-01\r\n",
    "2,\"two\r\nlines, 3,c,2024-01-01\n4,d\n\",2024-01-02\n",
    ",e,2024-01-03\n",
    "5,f\r\n",
    "6,g,2024-01-04,extra\n",
    "\n",
    "7,\"multi\nline\",\"not\na\ndate\"\n",
    "8,h\ri,2024-01-05\n",
    "9,\"j\",\n",
    "10,\u{e9},2024-02-30\r\n",
    "11,BAD,2024-01-06\n",
    "12,k,2024-01-07\n",
    "13,\"never closed,2024-01-08\n14,l,2024-01-09\n",
);

fn kinds() -> Vec<u8> {
    let mut text = KINDS.as_bytes().to_vec();
    let at = text.windows(3).position(|window| window == b"BAD").expect("it is there");
    text[at] = 0xFF;
    text
}

#[test]
fn every_kind_on_every_machine() {
    let outcome = check_on(&machines(), &kinds(), &number_and_text(), &comma()).expect("no header");
    let found: Vec<(u64, DefectKind, Option<&str>)> =
        outcome.rejects.iter().map(|reject| (reject.line, reject.kind, reject.column.as_deref())).collect();
    assert_eq!(
        found,
        [
            (2, DefectKind::Value, Some("c0")),
            (2, DefectKind::Value, Some("c2")),
            (7, DefectKind::Null, Some("c0")),
            (8, DefectKind::MissingFields, None),
            (9, DefectKind::ExtraFields, None),
            (10, DefectKind::MissingFields, None),
            (12, DefectKind::Value, Some("c2")),
            (15, DefectKind::LineEnd, None),
            (17, DefectKind::Value, Some("c2")),
            (18, DefectKind::Encoding, Some("c1")),
            (20, DefectKind::Quote, None),
        ]
    );
    assert_eq!(outcome.records, 10);
    assert!(outcome.rows.ends_with("\n\"9\",\"j\",\n\"12\",\"k\",\"2024-01-07\"\n"), "{}", outcome.rows);
}

/// A small deterministic generator (xorshift64*), so that a failure can be repeated.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }

    /// Records of three fields, one in a few of them bad in one way or another.
    fn records(&mut self, count: usize, one_in: usize) -> Vec<u8> {
        let mut text = String::new();
        for row in 0..count {
            let bad = self.below(one_in) == 0;
            let number = if bad { self.pick(&["", "1x", "99999999999", "\"\"", "7", "7", "\"8\""]) } else { "" };
            let words =
                ["plain", "", "\"quoted\"", "\"a,b\"", "\"two\nlines\"", "\"say \"\"so\"\"\"", "\"x\r\n,1,\n\""];
            let text_of_it = self.pick(&words);
            let dates =
                if bad { ["2024-02-30", "x", "", "2024-1"] } else { ["2024-02-29", "", "1999-12-31", "2000-01-01"] };
            let date = self.pick(&dates);
            let end = self.pick(&["\n", "\n", "\n", "\r\n"]);
            let kind = if bad { self.below(8) } else { 7 };
            let number = if bad { number.to_owned() } else { row.to_string() };
            match kind {
                0 => write!(text, "{number},{text_of_it}{end}"),
                1 => write!(text, "{number},{text_of_it},{date},{end}"),
                2 => write!(text, "{number},a\rb,{date}{end}"),
                3 => write!(text, "{end}"),
                _ => write!(text, "{number},{text_of_it},{date}{end}"),
            }
            .expect("a string takes all");
        }
        text.into_bytes()
    }

    fn mutate(&mut self, text: &mut Vec<u8>) {
        for _ in 0..self.below(4) {
            if !text.is_empty() {
                let at = self.below(text.len());
                let special = b"\"\",\n\r -.0a\xc3\xa9\x00"[self.below(13)];
                match self.below(4) {
                    0 => text[at] = special,
                    1 => text.insert(at, special),
                    2 => drop(text.remove(at)),
                    _ => text.truncate(at),
                }
            }
        }
    }

    fn machines(&mut self, all: &[Machine], count: usize) -> Vec<Machine> {
        (0..count).map(|_| all[self.below(all.len())].clone()).collect()
    }
}

#[test]
fn generated_records_with_errors() {
    let all = machines();
    let mut random = Random(21);
    for turn in 0..share(160) {
        let (count, one_in) = ([3, 20, 200][turn % 3], [1, 2, 10, 40][turn % 4]);
        let mut text = random.records(count, one_in);
        random.mutate(&mut text);
        check_on(&random.machines(&all, 5), &text, &number_and_text(), &comma());
    }
}

#[test]
fn generated_soup() {
    let all = machines();
    let mut random = Random(22);
    let types = [ColumnType::Integer, ColumnType::Text];
    for turn in 0..share(1200) {
        let text: Vec<u8> = (0..random.below(150)).map(|_| b"\",\n\r1a\"\n,1,1"[random.below(12)]).collect();
        let header = if turn % 5 == 0 { Header::Skip } else { Header::None };
        check_on(&random.machines(&all, 4), &text, &schema(&types), &TextOptions { header, ..comma() });
    }
}

#[test]
fn generated_records_of_another_dialect() {
    let all = machines();
    let mut random = Random(23);
    let dialect = Dialect::new(b'|', Some(b'\''), Some(b'\\')).expect("a dialect");
    let options = TextOptions {
        values: ValueOptions {
            nulls: vec!["NULL".to_owned()],
            quoted_nulls: ColumnChoice::Names(vec!["c1".to_owned()]),
            ..ValueOptions::default()
        },
        ..TextOptions::new(dialect)
    };
    let schema = schema(&[ColumnType::Double, ColumnType::Boolean, ColumnType::Decimal { precision: 6, scale: 2 }]);
    for _ in 0..share(300) {
        let mut text = String::new();
        let trails = random.below(2) == 0;
        for _ in 0..random.below(60) {
            let number = random.pick(&["1.5", "1e400", "NULL", "'2'", "x"]);
            let boolean = random.pick(&["t", "'no'", "maybe", "'NULL'", "'a\\'\n|b'"]);
            let money = random.pick(&["1.25", "12345.1", "0.999", "-3", "1,5"]);
            let trail = if trails && random.below(20) > 0 { "|" } else { "" };
            writeln!(text, "{number}|{boolean}|{money}{trail}").expect("a string takes all");
        }
        check_on(&random.machines(&all, 5), text.as_bytes(), &schema, &options);
    }
}

/// Loads `text` with a sink or without, on a usual machine.
fn load(text: &[u8], options: &TextOptions, threads: usize) -> (Result<longshore_load::LoadReport, String>, String) {
    let file = file_of(text);
    let relation = Relation::new(number_and_text(), Memory::new(None));
    let tuning = Tuning { span_bytes: Some(100), piece_bytes: Some(30), ..Tuning::new(threads) };
    let inputs = vec![InputFile::opened(Source::open(file.path()).expect("opened"), &[0, 1, 2])];
    let report = copy_from(inputs, &relation, options, &tuning, &Control::new());
    let name = file.path().display().to_string();
    (report.map_err(|error| error.to_string().replace(&name, "FILE")), dump(&relation))
}

#[test]
fn rejects_can_be_ignored() {
    let expected = expected_rejects(&kinds(), &number_and_text(), &comma()).expect("no header");
    for threads in [1, 2, 7] {
        let (report, rows) = load(&kinds(), &TextOptions { on_error: OnError::Ignore, ..comma() }, threads);
        let summary = report.expect("a load").rejects;
        assert_eq!((rows, summary.records), (expected.rows.clone(), expected.records));
        assert_eq!(summary.rejects(), expected.rejects.len() as u64);
        let first: Vec<Expected> = summary.first.iter().map(Expected::from).collect();
        assert_eq!(first, expected.rejects[..10]);
        let values = summary.kinds.iter().find(|(kind, _)| *kind == DefectKind::Value);
        assert_eq!(values, Some(&(DefectKind::Value, 4)));
    }
}

#[test]
fn a_reject_too_many_ends_the_load() {
    let limited = |limit| {
        let on_error = [OnError::Ignore, OnError::Collect(Arc::new(Gathered::default()))];
        on_error.map(|on_error| TextOptions { on_error, reject_limit: limit, ..comma() })
    };
    for threads in [1, 2, 7] {
        for options in limited(RejectLimit::Records(10)).iter().chain(&limited(RejectLimit::Percent(71.5))) {
            assert!(load(&kinds(), options, threads).0.is_ok(), "ten records of fourteen are bad");
        }
        for (limit, start) in [
            (RejectLimit::Records(9), "more than 9 records were rejected (REJECT_LIMIT 9); the first: "),
            (RejectLimit::Records(0), "more than 0 records were rejected (REJECT_LIMIT 0); the first: "),
            (RejectLimit::Percent(71.0), "more than 71% of the records were rejected (REJECT_LIMIT 71%); the first: "),
        ] {
            for options in limited(limit) {
                let (report, rows) = load(&kinds(), &options, threads);
                let message = report.expect_err("too many");
                let first = "FILE: line 2, byte 16, column c0 INTEGER: \"x\" is not valid (found 'x' where ";
                assert!(message.starts_with(&format!("{start}{first}")), "{message}");
                assert_eq!(
                    message.matches(" | FILE: line ").count(),
                    if limit == RejectLimit::Records(0) { 1 } else { 2 }
                );
                assert_eq!(rows, "", "nothing is kept");
            }
        }
    }
}

#[test]
fn limits_that_make_no_sense_are_refused() {
    let refused = |on_error, reject_limit| {
        load(b"1,a,\n", &TextOptions { on_error, reject_limit, ..comma() }, 1).0.expect_err("an error")
    };
    let message = refused(OnError::Stop, RejectLimit::Records(3));
    assert_eq!(message, "REJECT_LIMIT needs records that are rejected; set ON_ERROR to ignore, table or file");
    for percent in [-1.0, 100.5, f64::NAN] {
        let message = refused(OnError::Ignore, RejectLimit::Percent(percent));
        assert!(message.contains("give a percentage from 0 to 100"), "{message}");
    }
}

#[test]
fn a_file_of_rejects_is_read_into_a_table_of_rejects() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("rejects.csv");
    std::fs::write(&path, "before").expect("written");
    let memory = Memory::new(None);
    let of_table = Relation::new(reject_schema(), Arc::clone(&memory));
    let table = Arc::new(RejectTable::new(&memory));
    let file = file_of(&kinds());
    for on_error in [
        OnError::Collect(Arc::clone(&table) as Arc<dyn RejectSink>),
        OnError::Collect(Arc::new(RejectFile::create(&path).expect("created"))),
    ] {
        assert_eq!(std::fs::read(&path).expect("read"), b"before", "replaced only when it is done");
        let relation = Relation::new(number_and_text(), Memory::new(None));
        let inputs = vec![InputFile::opened(Source::open(file.path()).expect("opened"), &[0, 1, 2])];
        let options = TextOptions { on_error, ..comma() };
        copy_from(inputs, &relation, &options, &Tuning::new(2), &Control::new()).expect("a load");
    }
    assert_eq!(table.count(), 11);
    assert_eq!(table.append_to(&of_table), Ok(11));
    assert_eq!(table.count(), 0);
    let of_file = Relation::new(reject_schema(), Arc::clone(&memory));
    let fields: Vec<usize> = (0..reject_schema().columns().len()).collect();
    let inputs = vec![InputFile::opened(Source::open(&path).expect("opened"), &fields)];
    let options = TextOptions { header: Header::Match, ..comma() };
    copy_from(inputs, &of_file, &options, &Tuning::new(1), &Control::new()).expect("a load");
    assert_eq!(dump(&of_file), dump(&of_table));
    let rows = dump(&of_file);
    assert!(rows.contains(",\"2\",\"20\",\"c2\",\"DATE\",\"2024-13-01\",\"value\","), "{rows}");
    assert!(rows.contains(",\"18\","), "{rows}");
    assert!(rows.contains("\"11,\u{FFFD}AD,2024-01-06\""), "{rows}");
}

#[test]
fn a_load_that_fails_leaves_no_file_of_rejects() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("rejects.csv");
    {
        let on_error = OnError::Collect(Arc::new(RejectFile::create(&path).expect("created")));
        let options = TextOptions { on_error, reject_limit: RejectLimit::Records(2), ..comma() };
        assert!(load(&kinds(), &options, 2).0.is_err());
    }
    assert_eq!(std::fs::read_dir(directory.path()).expect("a directory").count(), 0);
    let missing = RejectFile::create(Path::new("/nowhere/rejects.csv")).expect_err("no such directory");
    assert!(matches!(missing, LoadError::Io { action: "create it", .. }), "{missing}");
}

#[test]
fn a_dry_run_keeps_nothing_and_says_the_same() {
    let memory = Memory::new(None);
    for (on_error, is_ok) in [(OnError::Ignore, true), (OnError::Stop, false)] {
        let file = file_of(&kinds());
        let input = || vec![InputFile::opened(Source::open(file.path()).expect("opened"), &[0, 1, 2])];
        let options = TextOptions { on_error, ..comma() };
        let tuning = Tuning { span_bytes: Some(50), ..Tuning::new(2) };
        let relation = Relation::new(number_and_text(), Memory::new(None));
        let loaded = copy_from(input(), &relation, &options, &tuning, &Control::new());
        let tried = dry_run(input(), &number_and_text(), &memory, &options, &tuning, &Control::new());
        assert_eq!(tried.is_ok(), is_ok);
        match (loaded, tried) {
            (Ok(loaded), Ok(tried)) => {
                assert_eq!((loaded.rows, loaded.bytes, loaded.rejects), (tried.rows, tried.bytes, tried.rejects));
            }
            (Err(loaded), Err(tried)) => assert_eq!(loaded.to_string(), tried.to_string()),
            (loaded, tried) => panic!("{loaded:?} {tried:?}"),
        }
        assert_eq!(memory.used(), 0);
    }
}

#[test]
fn rejects_of_several_files_have_lines_of_their_own() {
    let texts: [&[u8]; 4] = [b"h\n1,a,\nx,b,\n", b"h\n", b"h\ny,\"c\n\",\nz\n2,d,\n3,\"e,", b"h\n\n\n4,f,\n"];
    let files: Vec<NamedTempFile> = texts.iter().map(|text| file_of(text)).collect();
    for machine in machines().iter().step_by(3) {
        let relation = Relation::new(number_and_text(), Memory::new(None));
        let sink = Arc::new(Gathered::default());
        let on_error = OnError::Collect(Arc::clone(&sink) as Arc<dyn RejectSink>);
        let options = TextOptions { on_error, header: Header::Skip, mode: machine.mode, ..comma() };
        let open = |file: &NamedTempFile| {
            if machine.stream { Source::open_unmapped(file.path()) } else { Source::open(file.path()) }
        };
        let inputs = files.iter().map(|file| InputFile::opened(open(file).expect("opened"), &[0, 1, 2])).collect();
        copy_from(inputs, &relation, &options, &machine.tuning, &Control::new()).expect("a load");
        let rejects = sink.rejects.lock().expect("no panic");
        let place = |reject: &Reject| {
            let file =
                files.iter().position(|file| *reject.file == *file.path().display().to_string()).expect("a file");
            (file, reject.line, reject.byte, reject.kind)
        };
        let value = DefectKind::Value;
        assert_eq!(
            rejects.iter().map(place).collect::<Vec<_>>(),
            [
                (0, 3, 7, value),
                (2, 2, 2, value),
                (2, 4, 10, DefectKind::MissingFields),
                (2, 6, 17, DefectKind::Quote),
                (3, 2, 2, DefectKind::MissingFields),
                (3, 3, 3, DefectKind::MissingFields),
            ],
            "{machine:?}"
        );
    }
}

/// Drains a scan of `text` on some threads.
fn scan(text: &[u8], request: ScanRequest) -> Result<(usize, longshore_load::RejectSummary), String> {
    let file = file_of(text);
    let threads = request.tuning.threads;
    let scan = TextScan::new(vec![InputFile::opened(Source::open(file.path()).expect("opened"), &[0, 1, 2])], request)
        .expect("a scan");
    let workers: Vec<_> = (0..threads).map(|_| scan.worker()).collect();
    let rows: Result<Vec<usize>, LoadError> = std::thread::scope(|scope| {
        let drain = |worker: longshore_load::ScanWorker| worker.map(|batch| batch.map(|batch| batch.num_rows())).sum();
        let threads: Vec<_> = workers.into_iter().map(|worker| scope.spawn(move || drain(worker))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    let name = file.path().display().to_string();
    rows.map(|rows| (rows.iter().sum(), scan.rejects())).map_err(|error| error.to_string().replace(&name, "FILE"))
}

struct Odd;

impl longshore_load::RowFilter for Odd {
    fn columns(&self) -> &[usize] {
        &[0]
    }

    fn select(&self, batch: &arrow_array::RecordBatch) -> Result<arrow_array::BooleanArray, String> {
        use arrow_array::cast::AsArray as _;
        let keys = batch.column(0).as_primitive::<arrow_array::types::Int32Type>();
        Ok(keys.iter().map(|key| key.map(|key| key % 2 == 1)).collect())
    }
}

#[test]
fn what_a_scan_rejects_does_not_depend_on_the_query() {
    let mut random = Random(24);
    for turn in 0..share(40) {
        let text = random.records(300, [3, 30][turn % 2]);
        let expected = expected_rejects(&text, &number_and_text(), &comma()).expect("no header");
        // The key is the first field, quoted; texts may hold lines that look as if they began with one.
        let relation_rows =
            load(&text, &TextOptions { on_error: OnError::Ignore, ..comma() }, 1).0.expect("a load").rows;
        for (projection, odd) in [
            (vec![], false),
            (vec![1], false),
            (vec![2, 0], false),
            (vec![0, 1, 2], false),
            (vec![1], true),
            (vec![], true),
        ] {
            let sink = Arc::new(Gathered::default());
            let request = ScanRequest {
                schema: number_and_text(),
                projection: projection.clone(),
                filter: odd.then(|| Arc::new(Odd) as Arc<dyn longshore_load::RowFilter>),
                limit: None,
                options: TextOptions {
                    on_error: OnError::Collect(Arc::clone(&sink) as Arc<dyn RejectSink>),
                    ..comma()
                },
                tuning: Tuning { span_bytes: Some(900), piece_bytes: Some(200), ..Tuning::new([1, 2, 7][turn % 3]) },
                memory: Memory::new(None),
                control: Arc::new(Control::new()),
            };
            let (rows, summary) = scan(&text, request).expect("a scan");
            let rejects: Vec<Expected> = sink.rejects.lock().expect("no panic").iter().map(Expected::from).collect();
            assert_eq!(rejects, expected.rejects, "{projection:?}");
            assert_eq!(summary.records, expected.records);
            assert!(*sink.finished.lock().expect("no panic"));
            if odd {
                assert!(rows < relation_rows as usize);
            } else {
                assert_eq!(rows, relation_rows as usize, "{projection:?}");
            }
        }
    }
}

#[test]
fn a_scan_has_a_limit_of_rejects() {
    for threads in [1, 2, 7] {
        let request = ScanRequest {
            schema: number_and_text(),
            projection: vec![1],
            filter: None,
            limit: None,
            options: TextOptions { on_error: OnError::Ignore, reject_limit: RejectLimit::Records(9), ..comma() },
            tuning: Tuning { span_bytes: Some(40), ..Tuning::new(threads) },
            memory: Memory::new(None),
            control: Arc::new(Control::new()),
        };
        let message = scan(&kinds(), request).expect_err("too many");
        assert!(
            message.starts_with("more than 9 records were rejected (REJECT_LIMIT 9); the first: FILE: line 2,"),
            "{message}"
        );
    }
}

#[test]
fn long_records_are_cut() {
    let long = "y".repeat(100_000);
    let text = format!("1,a,\n2,\"{long}\",bad\n{long},b,\n3,c,\n");
    let sink = Arc::new(Gathered::default());
    let on_error = OnError::Collect(Arc::clone(&sink) as Arc<dyn RejectSink>);
    load(text.as_bytes(), &TextOptions { on_error, ..comma() }, 2).0.expect("a load");
    let rejects = sink.rejects.lock().expect("no panic");
    let lengths: Vec<_> =
        rejects.iter().map(|reject| (reject.record.len(), reject.value.as_ref().map(Vec::len))).collect();
    let (record, value) = (longshore_load::REJECT_RECORD_BYTES_MAX, longshore_load::REJECT_VALUE_BYTES_MAX);
    assert_eq!(lengths, [(record, Some(3)), (record, Some(value))]);
}

#[test]
fn rejects_count_as_memory() {
    let text = "not a number,\"a text that makes the record long enough to matter\",2024-01-01\n".repeat(40_000);
    let file = file_of(text.as_bytes());
    let memory = Memory::new(Some(24 << 20));
    let relation = Relation::new(number_and_text(), Arc::clone(&memory));
    let run = |on_error| {
        let inputs = vec![InputFile::opened(Source::open(file.path()).expect("opened"), &[0, 1, 2])];
        let tuning = Tuning { span_bytes: Some(1 << 20), ..Tuning::new(2) };
        copy_from(inputs, &relation, &TextOptions { on_error, ..comma() }, &tuning, &Control::new())
    };
    assert_eq!(run(OnError::Ignore).expect("counting takes no memory").rejects.records, 40_000);
    let table = Arc::new(RejectTable::new(&memory));
    let error = run(OnError::Collect(Arc::clone(&table) as Arc<dyn RejectSink>)).expect_err("no room for all");
    assert!(matches!(error, LoadError::OutOfMemory(_)), "{error}");
    drop(table);
    assert_eq!(memory.used(), 0);
}

#[test]
fn types_are_found_out_beside_records_that_are_rejected() {
    let all = machines();
    let mut random = Random(25);
    let given = Given {
        delimiter: Some(b",".to_vec()),
        quote: Some(QuoteChoice::Byte(b'"')),
        header: Some(true),
        trailing_delimiter: Some(false),
        null_texts: Some(vec![Vec::new()]),
        ..Given::default()
    };
    for _ in 0..share(24) {
        let mut text = b"id,name,day\n0,a,2024-01-01\n".to_vec();
        for row in 0..100 {
            let id = if random.below(20) == 0 { random.pick(&["1x", "99999999999", "\"\""]) } else { "" };
            let id = if id.is_empty() { row.to_string() } else { id.to_owned() };
            let name = random.pick(&["plain", "", "\"quoted\"", "\"a,b\"", "\"two\nlines, 1,\n\""]);
            let day = random.pick(&["2024-02-29", "", "1999-12-31"]);
            let extra = if random.below(20) == 0 { ",extra" } else { "" };
            text.extend_from_slice(format!("{id},{name},{day}{extra}\n").as_bytes());
        }
        // Which text it is, is found out at the head; the last records may be anything.
        let last = random.pick(&["7,\"never closed,2024-01-01\n8,b,\n", "9,BAD,2024-01-01\n", "10,c,late\n", ""]);
        text.extend(last.bytes().map(|byte| if byte == b'B' { 0xFF } else { byte }));
        let file = file_of(&text);
        let mut found: Option<Outcome> = None;
        for machine in random.machines(&all, 4) {
            let sink = Arc::new(Gathered::default());
            let on_error = OnError::Collect(Arc::clone(&sink) as Arc<dyn RejectSink>);
            let request = InferRequest {
                given: given.clone(),
                types: vec![("id".to_owned(), ColumnType::Integer)],
                extra: Vec::new(),
                options: TextOptions { on_error, mode: machine.mode, ..comma() },
                tuning: machine.tuning.clone(),
                memory: Memory::new(None),
            };
            let path = file.path().to_owned();
            let input = || {
                let path = path.clone();
                let open = move || if machine.stream { Source::open_unmapped(&path) } else { Source::open(&path) };
                vec![InputFile::new("FILE", open, &[])]
            };
            let (relation, inferred, report) = load_inferred(input(), &request, &Control::new()).expect("a load");
            let types = infer(input(), &request, &Control::new()).expect("types").schema;
            assert_eq!(types, inferred.schema, "{machine:?}");
            let rejects: Vec<Expected> = sink.rejects.lock().expect("no panic").iter().map(Expected::from).collect();
            assert_eq!(report.rejects.rejects(), rejects.len() as u64);
            let loaded = Outcome { rows: dump(&relation), rejects, records: report.rejects.records };
            let options = TextOptions { header: Header::Skip, trailing_delimiter: TrailingDelimiter::No, ..comma() };
            let expected = expected_rejects(&text, &inferred.schema, &options).expect("a header");
            assert_eq!(loaded.rejects, expected.rejects, "{machine:?}\n{}", text.escape_ascii());
            assert_eq!(loaded, expected, "{machine:?}\n{}", text.escape_ascii());
            assert_eq!(*found.get_or_insert_with(|| loaded.clone()), loaded);
        }
    }
}
