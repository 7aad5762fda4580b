//! Loads and scans that reject records: the same rows and the same rejects, in the order of the file, on every machine,
//! as the slow twin finds.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::harness::rejects::{
    Expected, Gathered, Outcome, expected_rejects, file_of, kinds, load, load_with_rejects, mutate, number_and_text,
    records, some_of,
};
use crate::harness::{Machine, comma, dump, machines, schema};
use longshore_format::delimited::{Delimited, DelimitedOptions};
use longshore_format::sniff::{Given, QuoteChoice};
use longshore_load::{
    ColumnChoice, Control, DefectKind, Dialect, Header, InferRequest, InputFile, LoadError, OnError, Reject,
    RejectLimit, RejectSink, ScanRequest, Source, TextFormat, TextOptions, TextScan, TrailingDelimiter, Tuning,
    ValueOptions, copy_from, infer, load_inferred,
};
use longshore_storage::{ColumnType, Memory, Relation, Schema};
use longshore_testing::{Random, share};
use tempfile::NamedTempFile;

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

#[test]
fn generated_records_with_errors() {
    let all = machines();
    let mut random = Random::new(21);
    for turn in 0..share(160) {
        let (count, one_in) = ([3, 20, 200][turn % 3], [1, 2, 10, 40][turn % 4]);
        let mut text = records(&mut random, count, one_in);
        mutate(&mut random, &mut text);
        check_on(&some_of(&mut random, &all, 5), &text, &number_and_text(), &comma());
    }
}

#[test]
fn generated_soup() {
    let all = machines();
    let mut random = Random::new(22);
    let types = [ColumnType::Integer, ColumnType::Text];
    for turn in 0..share(1200) {
        let text: Vec<u8> = (0..random.below(150)).map(|_| b"\",\n\r1a\"\n,1,1"[random.below(12)]).collect();
        let header = if turn % 5 == 0 { Header::Skip } else { Header::None };
        check_on(&some_of(&mut random, &all, 4), &text, &schema(&types), &TextOptions { header, ..comma() });
    }
}

#[test]
fn generated_records_of_another_dialect() {
    let all = machines();
    let mut random = Random::new(23);
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
        check_on(&some_of(&mut random, &all, 5), text.as_bytes(), &schema, &options);
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
    let mut random = Random::new(4);
    for turn in 0..share(40) {
        let text = records(&mut random, 300, [3, 30][turn % 2]);
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
fn types_are_found_out_beside_records_that_are_rejected() {
    let all = machines();
    let mut random = Random::new(25);
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
        for machine in some_of(&mut random, &all, 4) {
            let sink = Arc::new(Gathered::default());
            let on_error = OnError::Collect(Arc::clone(&sink) as Arc<dyn RejectSink>);
            let request = InferRequest {
                given: given.clone(),
                types: vec![("id".to_owned(), ColumnType::Integer)],
                spelled: Vec::new(),
                defaults: Vec::new(),
                extra: Vec::new(),
                by_name: false,
                repairs: true,
                options: TextOptions { on_error, mode: machine.mode, ..comma() },
                tuning: machine.tuning.clone(),
                memory: Memory::new(None),
                storage: longshore_storage::Storage::default(),
                found: std::sync::Arc::default(),
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

#[test]
fn rejects_of_other_formats_stand_where_they_say() {
    let all = machines();
    let mut random = Random::new(26);
    let delimiter = ";;".to_owned();
    let format = DelimitedOptions { delimiter, comment: Some("#".to_owned()), ..DelimitedOptions::default() };
    let format: Arc<Delimited> = Arc::new(Delimited::new(format).expect("a format"));
    for _ in 0..share(60) {
        let mut text = String::new();
        for row in 0..random.below(80) {
            let id = random.pick(&["x", "", "", "", "", ""]);
            let name = random.pick(&["a", "\"b\n;;c\"", "\"d\"\"\"", ""]);
            let day = random.pick(&["2024-01-01", "2024-01-01", "", "2024-1", "2024-01-01;;more"]);
            let comment = random.pick(&["", "", "", "# \"comment\n"]);
            writeln!(text, "{comment}{id}{row};;{name};;{day}").expect("a string takes all");
        }
        text.push_str(random.pick(&["", "1;;a", "1;;\"open\n;;2024-01-01\n"]));
        let text = text.as_bytes();
        let file = file_of(text);
        let options = TextOptions::of(TextFormat::Other(Arc::clone(&format) as _));
        let mut first: Option<Outcome> = None;
        for machine in some_of(&mut random, &all, 5) {
            let (found, _) = load_with_rejects(&machine, file.path(), &number_and_text(), &options).expect("a load");
            for reject in &found.rejects {
                let (at, start) = (reject.byte as usize, reject.record_byte as usize);
                let end = start + reject.record.len();
                assert_eq!(reject.record, text[start..end], "{reject:?}");
                assert!(at >= start && at <= end && (start == 0 || text[start - 1] == b'\n'), "{reject:?}");
                assert_eq!(reject.line, memchr::memchr_iter(b'\n', &text[..at]).count() as u64 + 1, "{reject:?}");
            }
            assert_eq!(*first.get_or_insert_with(|| found.clone()), found, "{machine:?}\n{}", text.escape_ascii());
        }
    }
}
