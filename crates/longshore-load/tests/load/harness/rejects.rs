//! The slow twin of loads that reject records: the good rows, and what is wrong with each of the others.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex};

use longshore_csv::reference::{self, RawField, RawRecord, ReferenceError};
use longshore_csv::write::Quoting;
use longshore_csv::{Reason, ShapeErrorKind};
use longshore_load::{
    Control, DefectKind, Header, InputFile, LoadError, LoadReport, OnError, Reject, RejectSink, Source, TextFormat,
    TextOptions, TrailingDelimiter, Tuning, copy_from,
};
use longshore_storage::{Column, ColumnType, Memory, Relation, Schema};
use longshore_testing::Random;
use tempfile::NamedTempFile;

use super::{Machine, canonical, canonical_value, dump, is_null};

/// What is to be known of a reject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    pub line: u64,
    pub byte: u64,
    pub column: Option<String>,
    pub value: Option<Vec<u8>>,
    pub kind: DefectKind,
    pub reason: String,
    pub record_byte: u64,
    pub record: Vec<u8>,
}

impl From<&Reject> for Expected {
    fn from(reject: &Reject) -> Expected {
        Expected {
            line: reject.line,
            byte: reject.byte,
            column: reject.column.as_ref().map(|column| column.name.clone()),
            value: reject.value.clone(),
            kind: reject.kind,
            reason: reject.reason.clone(),
            record_byte: reject.record_byte,
            record: reject.record.to_vec(),
        }
    }
}

/// A load with rejects: the good rows as canonical CSV, the rejects, and how many records they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub rows: String,
    pub rejects: Vec<Expected>,
    pub records: u64,
}

/// What the slow twin makes of `text`; `None` where the header cannot be read.
pub fn expected_rejects(text: &[u8], schema: &Schema, options: &TextOptions) -> Option<Outcome> {
    let base = if text.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let TextFormat::Csv(dialect) = &options.format else { unreachable!("the twin reads CSV") };
    let mut records = reference::lenient_records(&text[base..], dialect).into_iter().peekable();
    if options.header != Header::None && records.next().is_some_and(|header| header.is_err()) {
        return None;
    }
    let due = schema.columns().len();
    let last_is_empty = |record: &RawRecord| record.fields.last().is_some_and(|field| field.start == field.end);
    let trailing = match options.trailing_delimiter {
        TrailingDelimiter::Yes => true,
        TrailingDelimiter::No => false,
        TrailingDelimiter::Auto => records.peek().is_some_and(|first| {
            first.as_ref().is_ok_and(|record| record.fields.len() == due + 1 && last_is_empty(record))
        }),
    };
    let mut outcome = Outcome { rows: String::new(), rejects: Vec::new(), records: 0 };
    for record in records {
        let (start, end) = record.as_ref().map_or_else(|bad| (bad.start, bad.end), |good| (good.start, good.end));
        let (start, end) = (base + start, base + end);
        let reject = |at: usize, column: Option<&str>, value: Option<&[u8]>, kind, reason: String| Expected {
            line: memchr::memchr_iter(b'\n', &text[..at]).count() as u64 + 1,
            byte: at as u64,
            column: column.map(str::to_owned),
            value: value.map(<[u8]>::to_vec),
            kind,
            reason,
            record_byte: start as u64,
            record: text[start..end].to_vec(),
        };
        let misshapen = |kind, reason| vec![reject(start, None, None, kind, reason)];
        let mut row = Vec::new();
        let rejects = match record {
            Err(bad) => match bad.errors.last().expect("an error") {
                ReferenceError::UnterminatedQuote(_) => {
                    misshapen(DefectKind::Quote, "opens a quote that is never closed".to_owned())
                }
                ReferenceError::StrayCarriageReturn(_) => {
                    misshapen(DefectKind::LineEnd, ShapeErrorKind::StrayCarriageReturn { at: 0 }.reason())
                }
            },
            Ok(record) => {
                let shape = shape_error(&record, due, trailing && last_is_empty(&record), trailing);
                let mut rejects: Vec<Expected> =
                    shape.into_iter().flat_map(|(kind, reason)| misshapen(kind, reason)).collect();
                let fields = if rejects.is_empty() { &record.fields[..due] } else { &[] };
                for (index, (field, column)) in fields.iter().zip(schema.columns()).enumerate() {
                    row.extend_from_slice(if index == 0 { b"" } else { b"," });
                    if let Err(reason) = add_value(&mut row, field, column, options) {
                        let raw = &text[base + field.start..base + field.end];
                        let (column, kind) = (Some(column.name.as_str()), DefectKind::from(reason));
                        rejects.push(reject(base + field.start, column, Some(raw), kind, reason.to_string()));
                    }
                }
                rejects
            }
        };
        if rejects.is_empty() {
            outcome.rows.push_str(std::str::from_utf8(&row).expect("values are UTF-8"));
            outcome.rows.push('\n');
        } else {
            outcome.records += 1;
            outcome.rejects.extend(rejects);
        }
    }
    Some(outcome)
}

/// Appends a value in canonical form; nothing for NULL.
fn add_value(row: &mut Vec<u8>, field: &RawField, column: &Column, options: &TextOptions) -> Result<(), Reason> {
    if is_null(field, column, options) {
        return if column.nullable { Ok(()) } else { Err(Reason::Null) };
    }
    let value = canonical_value(&field.value, &column.column_type)?;
    Quoting::new(&canonical(), b"", true).text(row, &value).expect("there is a quote");
    Ok(())
}

fn shape_error(record: &RawRecord, due: usize, trails: bool, trailing: bool) -> Option<(DefectKind, String)> {
    let (expected, found) = (due, record.fields.len() - usize::from(trails));
    let kind = match found {
        _ if found < expected => ShapeErrorKind::MissingFields { expected, found },
        _ if found > expected => ShapeErrorKind::ExtraFields { expected, found },
        _ if trailing && !trails => ShapeErrorKind::TrailingDelimiterMissing,
        _ => return None,
    };
    let extra = matches!(kind, ShapeErrorKind::ExtraFields { .. });
    Some((if extra { DefectKind::ExtraFields } else { DefectKind::MissingFields }, kind.reason()))
}

/// Keeps rejects in memory.
#[derive(Debug, Default)]
pub struct Gathered {
    pub rejects: Mutex<Vec<Reject>>,
    pub finished: Mutex<bool>,
}

impl RejectSink for Gathered {
    fn take(&self, rejects: &[Reject]) -> Result<(), LoadError> {
        self.rejects.lock().expect("no panic").extend_from_slice(rejects);
        Ok(())
    }

    fn finish(&self) -> Result<(), LoadError> {
        *self.finished.lock().expect("no panic") = true;
        Ok(())
    }
}

/// Loads `text` on one machine, collecting rejects.
pub fn load_with_rejects(
    machine: &Machine,
    file: &Path,
    schema: &Arc<Schema>,
    options: &TextOptions,
) -> Result<(Outcome, LoadReport), String> {
    let relation = Relation::new(Arc::clone(schema), Memory::new(None));
    let source = if machine.stream { Source::open_unmapped(file) } else { Source::open(file) }.expect("opened");
    let sink = Arc::new(Gathered::default());
    let on_error = OnError::Collect(Arc::clone(&sink) as Arc<dyn RejectSink>);
    let options = TextOptions { mode: machine.mode, on_error, ..options.clone() };
    let fields: Vec<usize> = (0..schema.columns().len()).collect();
    let inputs = vec![InputFile::opened(source, &fields)];
    let report = copy_from(inputs, &relation, &options, &machine.tuning, &Control::new());
    let finished = *sink.finished.lock().expect("no panic");
    assert_eq!(finished, report.is_ok(), "told of the end if and only if there is a good one");
    let message = |error: LoadError| error.to_string().replace(&file.display().to_string(), "FILE");
    let report = report.map_err(|error| {
        assert_eq!(relation.snapshot().rows(), 0, "a load that fails keeps nothing");
        message(error)
    })?;
    assert_eq!(report.rows, relation.snapshot().rows(), "rows of the report");
    let rejects: Vec<Expected> = sink.rejects.lock().expect("no panic").iter().map(Expected::from).collect();
    assert_eq!(report.rejects.rejects(), rejects.len() as u64, "rejects of the report");
    let first: Vec<Expected> = report.rejects.first.iter().map(Expected::from).collect();
    assert_eq!(first, rejects[..first.len()]);
    let records = report.rejects.records;
    Ok((Outcome { rows: dump(&relation), rejects, records }, report))
}

pub fn file_of(text: &[u8]) -> NamedTempFile {
    let mut file = NamedTempFile::new().expect("a temporary file");
    file.write_all(text).expect("written");
    file
}

pub fn number_and_text() -> Arc<Schema> {
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

pub fn kinds() -> Vec<u8> {
    let mut text = KINDS.as_bytes().to_vec();
    let at = text.windows(3).position(|window| window == b"BAD").expect("it is there");
    text[at] = 0xFF;
    text
}

/// Records of three fields, one in a few of them bad in one way or another.
pub fn records(random: &mut Random, count: usize, one_in: usize) -> Vec<u8> {
    let mut text = String::new();
    for row in 0..count {
        let bad = random.below(one_in) == 0;
        let number = if bad { random.pick(&["", "1x", "99999999999", "\"\"", "7", "7", "\"8\""]) } else { "" };
        let words = ["plain", "", "\"quoted\"", "\"a,b\"", "\"two\nlines\"", "\"say \"\"so\"\"\"", "\"x\r\n,1,\n\""];
        let text_of_it = random.pick(&words);
        let dates =
            if bad { ["2024-02-30", "x", "", "2024-1"] } else { ["2024-02-29", "", "1999-12-31", "2000-01-01"] };
        let date = random.pick(&dates);
        let end = random.pick(&["\n", "\n", "\n", "\r\n"]);
        let kind = if bad { random.below(8) } else { 7 };
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

/// Changes a few bytes of a text.
pub fn mutate(random: &mut Random, text: &mut Vec<u8>) {
    for _ in 0..random.below(4) {
        if !text.is_empty() {
            let at = random.below(text.len());
            let special = b"\"\",\n\r -.0a\xc3\xa9\x00"[random.below(13)];
            match random.below(4) {
                0 => text[at] = special,
                1 => text.insert(at, special),
                2 => drop(text.remove(at)),
                _ => text.truncate(at),
            }
        }
    }
}

/// Some of these machines.
pub fn some_of(random: &mut Random, all: &[Machine], count: usize) -> Vec<Machine> {
    (0..count).map(|_| all[random.below(all.len())].clone()).collect()
}

/// Loads `text` with a sink or without, on a usual machine.
pub fn load(text: &[u8], options: &TextOptions, threads: usize) -> (Result<LoadReport, String>, String) {
    let file = file_of(text);
    let relation = Relation::new(number_and_text(), Memory::new(None));
    let tuning = Tuning { span_bytes: Some(100), piece_bytes: Some(30), ..Tuning::new(threads) };
    let inputs = vec![InputFile::opened(Source::open(file.path()).expect("opened"), &[0, 1, 2])];
    let report = copy_from(inputs, &relation, options, &tuning, &Control::new());
    let name = file.path().display().to_string();
    (report.map_err(|error| error.to_string().replace(&name, "FILE")), dump(&relation))
}
