//! Several files in one load, columns that no field goes to, and a format that is not CSV.

use std::io::Write;
use std::sync::Arc;

use crate::harness::{comma, dump};
use longshore_csv::{Defect, DefectKind, FirstRecord, RecordFormat, RowText};
use longshore_load::{
    ComputedValue, Control, FieldTarget, FileCounts, Header, InputFile, LoadError, Mode, OnError, ScanRequest, Source,
    TextFormat, TextOptions, TextScan, Tuning, copy_from, load_inferred,
};
use longshore_storage::{Column, ColumnType, Memory, Relation, Schema};
use longshore_testing::share;
use tempfile::NamedTempFile;

/// Lines of key=value pairs in any order: `a=1;b=two`.
#[derive(Debug)]
struct Pairs;

const KEYS: [&[u8]; 2] = [b"a", b"b"];

impl RecordFormat for Pairs {
    fn complete(&self, text: &[u8], at_end: bool) -> usize {
        if at_end { text.len() } else { memchr::memrchr(b'\n', text).map_or(0, |end| end + 1) }
    }

    fn read(&self, text: &[u8], rows: &mut RowText, defects: &mut Vec<Defect>) -> usize {
        let mut position = 0;
        while position < text.len() && !rows.is_full() {
            let rest = &text[position..];
            let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let (start, end) = (position as u32, (position + length) as u32);
            let pair = |key: &[u8]| {
                rest[..length].split(|byte| *byte == b';').find_map(|pair| {
                    let value = pair.strip_prefix(key)?.strip_prefix(b"=")?;
                    Some((value, (value.as_ptr().addr() - text.as_ptr().addr()) as u32))
                })
            };
            if rest[..length].contains(&b'=') {
                for key in KEYS {
                    match pair(key) {
                        Some((value, origin)) => rows.push_quoted(value, origin),
                        None => rows.push_missing(start),
                    }
                }
                rows.end_record(start, end);
            } else {
                let (reason, remedy) = ("has no pair".to_owned(), "write a=1;b=2".to_owned());
                defects.push(Defect { row: rows.count(), start, end, kind: DefectKind::Syntax, reason, remedy });
            }
            position += (length + 1).min(rest.len());
        }
        position
    }

    fn first_record(&self, _text: &[u8], _at_end: bool) -> Option<FirstRecord> {
        None
    }
}

/// The lines of that many rows.
fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(line).collect::<Vec<_>>().concat()
}

fn file(text: &str) -> NamedTempFile {
    let mut file = NamedTempFile::new().expect("a temporary file");
    file.write_all(text.as_bytes()).expect("written");
    file
}

fn input(file: &NamedTempFile, fields: &[usize]) -> InputFile {
    let path = file.path().to_owned();
    InputFile::new(&path.display().to_string(), move || Source::open(&path), fields)
}

fn schema(columns: &[(&str, ColumnType, bool)]) -> Arc<Schema> {
    let column = |&(name, column_type, nullable): &(&str, ColumnType, bool)| Column {
        name: name.to_owned(),
        column_type,
        nullable,
    };
    Arc::new(Schema::new(columns.iter().map(column).collect()))
}

fn numbers() -> Arc<Schema> {
    schema(&[("a", ColumnType::Integer, true), ("b", ColumnType::Text, true)])
}

fn load(
    inputs: Vec<InputFile>,
    schema: &Arc<Schema>,
    options: &TextOptions,
    tuning: &Tuning,
) -> Result<String, LoadError> {
    let relation = Relation::new(Arc::clone(schema), Memory::new(None));
    copy_from(inputs, &relation, options, tuning, &Control::new())?;
    Ok(dump(&relation))
}

/// Every thread count, with pieces and spans from a byte to more than a file.
fn tunings() -> impl Iterator<Item = Tuning> {
    [1, 2, 7].into_iter().flat_map(|threads| {
        [(Some(1), Some(1)), (Some(7), Some(30)), (None, None)].map(|(piece_bytes, span_bytes)| Tuning {
            piece_bytes,
            span_bytes,
            ..Tuning::new(threads)
        })
    })
}

#[test]
fn files_follow_each_other_in_order() {
    let texts: Vec<String> = (0..30).map(|part| lines(part, |row| format!("{part},\"row\n{row}\"\n"))).collect();
    let files: Vec<NamedTempFile> = texts.iter().map(|text| file(&format!("a,b\n{text}"))).collect();
    let options = TextOptions { header: Header::Match, ..comma() };
    let all = file(&texts.concat());
    let expected = load(vec![input(&all, &[0, 1])], &numbers(), &comma(), &Tuning::new(1)).expect("a load");
    for tuning in tunings() {
        let inputs = files.iter().map(|file| input(file, &[0, 1])).collect();
        assert_eq!(load(inputs, &numbers(), &options, &tuning).expect("a load"), expected, "{tuning:?}");
    }
}

#[test]
fn a_file_is_read_from_the_begin_of_a_record_on() {
    let records: Vec<String> = (0..40).map(|row| format!("{row},\"row\n{row}\"\n")).collect();
    let head = "a,b\n";
    let (whole, spoilt) = (records.concat(), records.concat() + "x,bad\n");
    let (whole, spoilt) = (file(&format!("{head}{whole}")), file(&format!("{head}{spoilt}")));
    for (mode, tuning) in
        [Mode::Exact, Mode::Safe].into_iter().flat_map(|mode| tunings().map(move |tuning| (mode, tuning)))
    {
        let options = TextOptions { header: Header::Match, mode, ..comma() };
        for loaded in [0, 1, 17, 39, 40] {
            let start = (head.len() + records[..loaded].concat().len()) as u64;
            let expected = file(&records[loaded..].concat());
            let expected = load(vec![input(&expected, &[0, 1])], &numbers(), &comma(), &Tuning::new(1));
            let counts = Arc::new(FileCounts::default());
            let mut from = input(&whole, &[0, 1]);
            (from.text_start, from.counts) = (Some(start), Some(Arc::clone(&counts)));
            let found = load(vec![from], &numbers(), &options, &tuning).expect("a load");
            assert_eq!(found, expected.expect("a load"), "{tuning:?}, {mode:?}, from {start}");
            assert_eq!((counts.rows(), counts.rejects()), (40 - loaded as u64, 0), "{tuning:?}");
            // Lines are those of the file.
            let mut from = input(&spoilt, &[0, 1]);
            from.text_start = Some(start);
            let error = load(vec![from], &numbers(), &options, &tuning).expect_err("a bad record").to_string();
            assert!(error.contains("line 82, "), "{tuning:?}, {mode:?}, from {start}: {error}");
        }
    }
    let path = whole.path().to_owned();
    let mut stream = InputFile::new("STREAM", move || Source::open_unmapped(&path), &[0, 1]);
    stream.text_start = Some(4);
    let error = load(vec![stream], &numbers(), &comma(), &Tuning::new(1)).expect_err("a stream has no middle");
    assert!(error.to_string().contains("only uncompressed text in UTF-8"), "{error}");
}

#[test]
fn thousands_of_small_files_make_few_chunks_in_their_order() {
    let count = share(4000);
    let texts: Vec<Arc<String>> = (0..count)
        .map(|part| Arc::new(lines(3, |row| format!("{},{}x\n", part * 3 + row, "y".repeat(row * 9)))))
        .collect();
    let inputs = || {
        let one = |(part, text): (usize, &Arc<String>)| {
            let text = Arc::clone(text);
            let open = move || {
                let text = std::io::Cursor::new(text.as_bytes().to_vec());
                Ok(Source::from_reader("part", Box::new(text)))
            };
            InputFile::new(&format!("part {part}"), open, &[0, 1])
        };
        texts.iter().enumerate().map(one).collect::<Vec<_>>()
    };
    let expected = lines(count * 3, |row| format!("\"{row}\",\"{}x\"\n", "y".repeat(row % 3 * 9)));
    for threads in [1, 2, 7] {
        let relation = Relation::new(numbers(), Memory::new(None));
        let report = copy_from(inputs(), &relation, &comma(), &Tuning::new(threads), &Control::new()).expect("a load");
        let snapshot = relation.snapshot();
        assert_eq!(report.rows, count as u64 * 3);
        assert_eq!(snapshot.chunks().len(), (count * 3).div_ceil(longshore_storage::CHUNK_ROWS_MAX));
        assert_eq!(dump(&relation), expected);
        let request = crate::harness::infer::request(&Tuning::new(threads));
        let (inferred, _, _) = load_inferred(inputs(), &request, &Control::new()).expect("a load");
        assert_eq!(inferred.snapshot().chunks().len(), snapshot.chunks().len());
        assert_eq!(dump(&inferred), expected);
    }
}

#[test]
fn the_first_error_in_the_order_of_the_files_counts() {
    let good: String = lines(1000, |row| format!("{row},x\n"));
    let files = [file(&good), file(&format!("{good}bad,x\n")), file("worse,x\n"), file(&good)];
    for tuning in tunings() {
        let inputs = files.iter().map(|file| input(file, &[0, 1])).collect();
        let error = load(inputs, &numbers(), &comma(), &tuning).expect_err("a bad value").to_string();
        let place = format!("{}: line 1001, byte {}, column a INTEGER: \"bad\"", files[1].path().display(), good.len());
        assert!(error.starts_with(&place), "{error}");
    }
}

#[test]
fn a_file_that_cannot_be_opened_is_named_after_earlier_errors() {
    let good = file("1,x\n");
    let missing = || InputFile::new("gone", || Source::open(std::path::Path::new("/nonexistent/gone")), &[0, 1]);
    let error = load(vec![input(&good, &[0, 1]), missing()], &numbers(), &comma(), &Tuning::new(2));
    assert!(error.expect_err("no such file").to_string().starts_with("/nonexistent/gone: cannot open it"));
    let bad = file("x,x\n");
    let error = load(vec![input(&bad, &[0, 1]), missing()], &numbers(), &comma(), &Tuning::new(2));
    assert!(error.expect_err("a bad value").to_string().contains("\"x\" is not valid"));
}

#[test]
fn columns_without_a_field_are_filled() {
    let schema = schema(&[
        ("year", ColumnType::SmallInt, false),
        ("a", ColumnType::Integer, false),
        ("region", ColumnType::Text, true),
        ("price", ColumnType::Decimal { precision: 30, scale: 2 }, false),
        ("note", ColumnType::Varchar(40), true),
    ]);
    let text: String = lines(500, |row| format!("skipped,{row}\n"));
    let file = file(&text);
    let long = "longer than fits into a view, \"quoted\"";
    let expected: String =
        lines(500, |row| format!("\"2024\",\"{row}\",,\"1.50\",\"{}\"\n", long.replace('"', "\"\"")));
    for tuning in tunings() {
        let mut input = input(&file, &[0, 1]);
        input.fields = vec![None, Some(FieldTarget::new(1))];
        input.computed = vec![
            (0, ComputedValue::Text("2024".to_owned())),
            (2, ComputedValue::Null),
            (3, ComputedValue::Text("1.5".to_owned())),
            (4, ComputedValue::Text(long.to_owned())),
        ];
        assert_eq!(load(vec![input], &schema, &comma(), &tuning).expect("a load"), expected, "{tuning:?}");
    }
}

#[test]
fn a_fill_must_be_a_value_of_its_column() {
    let file = file("x\n");
    let mut bad = input(&file, &[1]);
    bad.computed = vec![(0, ComputedValue::Text("abc".to_owned()))];
    let error = load(vec![bad], &numbers(), &comma(), &Tuning::new(1)).expect_err("no number").to_string();
    assert!(error.contains("column a INTEGER: the value \"abc\" for the whole file is not valid"), "{error}");
}

#[test]
fn another_format_gives_the_same_rows_on_every_machine() {
    let text: String = lines(2000, |row| match row % 3 {
        0 => format!("a={row};b=x,\"y\"\n"),
        1 => format!("b=\u{e9};c=3;a={row}\n"),
        _ => format!("b={row}\n"),
    });
    let expected: String = lines(2000, |row| match row % 3 {
        0 => format!("\"{row}\",\"x,\"\"y\"\"\"\n"),
        1 => format!("\"{row}\",\"\u{e9}\"\n"),
        _ => format!("\"-1\",\"{row}\"\n"),
    });
    let file = file(&text);
    let options = TextOptions::of(TextFormat::Other(Arc::new(Pairs)));
    for tuning in tunings() {
        for mapped in [true, false] {
            let mut input = input(&file, &[0, 1]);
            if !mapped {
                let path = file.path().to_owned();
                input = InputFile::new("stream", move || Source::open_unmapped(&path), &[0, 1]);
            }
            input.fields[0] = Some(FieldTarget { column: 0, default: Some("-1".to_owned()) });
            assert_eq!(load(vec![input], &numbers(), &options, &tuning).expect("a load"), expected, "{tuning:?}");
        }
    }
}

#[test]
fn errors_of_another_format_stand_where_they_stand_in_the_file() {
    let good: String = lines(300, |row| format!("b=b{row};a={row}\n"));
    let options = TextOptions::of(TextFormat::Other(Arc::new(Pairs)));
    let value = format!("line 301, byte {}, column a INTEGER: \"\"1x\"\" is not valid", good.len() + 6);
    let record = format!("line 301, byte {}: \"nothing\": has no pair; write a=1;b=2", good.len());
    let cases = [("b=x;a=1x\nnothing\n", value), ("nothing\nb=x;a=1x\n", record)];
    for (bad, place) in cases {
        let file = file(&format!("{good}{bad}{good}"));
        for tuning in tunings() {
            let error = load(vec![input(&file, &[0, 1])], &numbers(), &options, &tuning).expect_err("bad").to_string();
            assert!(error.contains(&place), "{error}");
        }
    }
}

#[test]
fn a_scan_reads_the_same_as_a_load() {
    let texts: Vec<String> = (0..5).map(|part| format!("{part},x\n").repeat(1000)).collect();
    let files: Vec<NamedTempFile> = texts.iter().map(|text| file(text)).collect();
    let schema = schema(&[
        ("part", ColumnType::Integer, false),
        ("b", ColumnType::Text, true),
        ("name", ColumnType::Text, false),
    ]);
    let inputs = files.iter().enumerate().map(|(part, file)| {
        let mut input = input(file, &[0, 1]);
        input.computed = vec![(2, ComputedValue::Text(format!("a rather long name {part}")))];
        input
    });
    let request = ScanRequest {
        schema,
        projection: vec![2, 0],
        filter: None,
        limit: None,
        options: comma(),
        tuning: Tuning { piece_bytes: Some(100), ..Tuning::new(1) },
        memory: Memory::new(None),
        control: Arc::new(Control::new()),
    };
    let scan = TextScan::new(inputs.collect(), request).expect("a scan");
    let batches: Vec<_> = scan.worker().map(|batch| batch.expect("a batch")).collect();
    let mut row = 0;
    for batch in &batches {
        let names = arrow_array::cast::AsArray::as_string_view(batch.column(0));
        for name in names {
            assert_eq!(name, Some(format!("a rather long name {}", row / 1000).as_str()));
            row += 1;
        }
    }
    assert_eq!(row, 5000);
}

#[test]
fn records_are_numbered_file_by_file() {
    let texts = [0, 1, 700, 30].map(|rows| lines(rows, |row| format!("{row},\"x\n{row}\"\n")));
    let files = texts.map(|text| file(&format!("skipped\na,b\n{text}")));
    let schema = schema(&[("a", ColumnType::Integer, true), ("number", ColumnType::BigInt, false)]);
    let options = TextOptions { header: Header::Skip, skip_lines: 1, ..comma() };
    let expected = [0, 1, 700, 30].map(|rows| lines(rows, |row| format!("\"{row}\",\"{}\"\n", row + 1))).concat();
    for tuning in tunings() {
        let inputs = files.iter().map(|file| {
            let mut input = input(file, &[0]);
            input.fields.push(None);
            input.computed = vec![(1, ComputedValue::RecordNumber)];
            input
        });
        assert_eq!(load(inputs.collect(), &schema, &options, &tuning).expect("a load"), expected, "{tuning:?}");
    }
}

#[test]
fn rejected_records_are_counted() {
    let text = lines(500, |row| match row % 7 {
        3 => "bad,x\n".to_owned(),
        5 => format!("{row},too,many\n"),
        _ => format!("{row},x\n"),
    });
    let file = file(&text);
    let schema = schema(&[
        ("a", ColumnType::Integer, true),
        ("b", ColumnType::Text, true),
        ("number", ColumnType::BigInt, false),
    ]);
    let options = TextOptions { on_error: OnError::Ignore, ..comma() };
    let expected = lines(500, |row| match row % 7 {
        3 | 5 => String::new(),
        _ => format!("\"{row}\",\"x\",\"{}\"\n", row + 1),
    });
    for tuning in tunings() {
        let mut input = input(&file, &[0, 1]);
        input.computed = vec![(2, ComputedValue::RecordNumber)];
        assert_eq!(load(vec![input], &schema, &options, &tuning).expect("a load"), expected, "{tuning:?}");
    }
}

#[test]
fn records_of_another_format_are_numbered() {
    let text = lines(300, |row| if row % 5 == 2 { "nothing\n".to_owned() } else { format!("a={row}\n") });
    let file = file(&text);
    let schema = schema(&[
        ("a", ColumnType::Integer, true),
        ("b", ColumnType::Text, true),
        ("number", ColumnType::BigInt, false),
    ]);
    let options = TextOptions { on_error: OnError::Ignore, ..TextOptions::of(TextFormat::Other(Arc::new(Pairs))) };
    let expected = lines(300, |row| match row % 5 {
        2 => String::new(),
        _ => format!("\"{row}\",,\"{}\"\n", row + 1),
    });
    for tuning in tunings() {
        let mut input = input(&file, &[0, 1]);
        input.computed = vec![(2, ComputedValue::RecordNumber)];
        assert_eq!(load(vec![input], &schema, &options, &tuning).expect("a load"), expected, "{tuning:?}");
    }
}
