//! A load of any bytes has one result, relation and rejects or error, whatever the kernel, threads, pieces, spans, merge
//! and source; where the slow twins take the text, the relation holds what they read; and a load that rejects records
//! goes on where the other stops.

use std::io::{Cursor, Write as _};
use std::sync::{Arc, Mutex};

use crate::Choices;
use longshore_csv::decode::exact;
use longshore_csv::reference::{self, RawField};
use longshore_load::{
    Control, DefectKind, InputFile, Kernel, LoadError, Mode, OnError, Reject, RejectSink, Source, TextFormat,
    TextOptions, TrailingDelimiter, Tuning, copy_from,
};
use longshore_storage::checksum::checksum;
use longshore_storage::{Column, ColumnType, Memory, MergeKind, Relation, Schema};

/// What must hold for any bytes.
///
/// # Panics
///
/// When it does not.
pub fn check_input(input: &[u8]) {
    let mut choices = Choices::new(input);
    let mut options = TextOptions::new(choices.dialect());
    options.trailing_delimiter =
        choices.pick(&[TrailingDelimiter::No, TrailingDelimiter::Auto, TrailingDelimiter::Yes]);
    let mut tuning = Tuning::new(1 + choices.below(3));
    tuning.kernel = choices.pick(&Kernel::available());
    tuning.piece_bytes = Some(1 + choices.below(300));
    tuning.span_bytes = choices.pick(&[None, Some(1), Some(7), Some(64), Some(1000)]);
    tuning.merge = choices.pick(&[MergeKind::Chunk, MergeKind::Copy, MergeKind::Insert]);
    let way = choices.byte();
    let text = choices.rest();

    let plain = Tuning { kernel: Kernel::Portable, piece_bytes: Some(1 << 20), span_bytes: None, ..Tuning::new(1) };
    let safe = TextOptions { mode: Mode::Safe, ..options.clone() };
    let is_mapped = way.is_multiple_of(8);
    let [right, all] = [false, true].map(|lenient| {
        let right = load(stream(text), &safe, &plain, lenient);
        let found = if is_mapped {
            load_mapped(text, &options, &tuning, lenient)
        } else {
            load(stream(text), &options, &tuning, lenient)
        };
        assert_eq!(found, right, "{tuning:?}");
        right
    });
    goes_on(&right, &all);
    if options.trailing_delimiter == TrailingDelimiter::No {
        against_twins(text, &options, right.as_ref().ok().map(|loaded| loaded.rows), all.ok());
    }
}

/// Whether the load that rejects has the rows of the one that stops, or what that stopped at as its first reject.
fn goes_on(stops: &Result<Loaded, String>, rejects: &Result<Loaded, String>) {
    match (stops, rejects) {
        (Ok(stops), rejects) => assert_eq!(Ok(stops), rejects.as_ref(), "there is nothing to reject"),
        (Err(message), Ok(rejects)) => match rejects.rejects.first() {
            // The message tells where the quote stands, the reject where the record begins.
            Some(Rejected { kind: DefectKind::Quote, .. }) => assert!(message.contains("never closed"), "{message}"),
            first => assert_eq!(Some(message), first.map(|first| &first.message), "the first reject"),
        },
        (Err(stops), Err(rejects)) => assert_eq!(stops, rejects),
    }
}

/// What messages call the text.
const NAME: &str = "text";

#[derive(Debug, PartialEq, Eq)]
struct Loaded {
    rows: u64,
    checksum: String,
    rejects: Vec<Rejected>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rejected {
    kind: DefectKind,
    message: String,
    /// Everything that it tells.
    all: String,
}

/// Keeps rejects, told under the name of the text.
#[derive(Debug)]
struct Gathered {
    name: String,
    rejects: Mutex<Vec<Rejected>>,
}

impl RejectSink for Gathered {
    fn take(&self, rejects: &[Reject]) -> Result<(), LoadError> {
        let told = rejects.iter().map(|reject| Rejected {
            kind: reject.kind,
            message: reject.to_string().replace(&self.name, NAME),
            all: format!("{reject:?}").replace(&self.name, NAME),
        });
        self.rejects.lock().expect("no panic").extend(told);
        Ok(())
    }

    fn finish(&self) -> Result<(), LoadError> {
        Ok(())
    }
}

/// Rows and checksum, or the message of the error; its kind is part of the message.
fn load(source: Source, options: &TextOptions, tuning: &Tuning, lenient: bool) -> Result<Loaded, String> {
    load_named(NAME, source, options, tuning, lenient)
}

fn load_named(
    name: &str,
    source: Source,
    options: &TextOptions,
    tuning: &Tuning,
    lenient: bool,
) -> Result<Loaded, String> {
    let columns = vec![
        Column::new("number", ColumnType::Integer, false),
        Column::new("text", ColumnType::Varchar(20), true),
        Column::new("money", ColumnType::Decimal { precision: 7, scale: 2 }, true),
    ];
    let relation = Relation::new(Arc::new(Schema::new(columns)), Memory::new(None));
    let sink = Arc::new(Gathered { name: name.to_owned(), rejects: Mutex::default() });
    let on_error = if lenient { OnError::Collect(Arc::clone(&sink) as _) } else { OnError::Stop };
    let options = TextOptions { on_error, ..options.clone() };
    let result = copy_from(vec![InputFile::opened(source, &[0, 1, 2])], &relation, &options, tuning, &Control::new());
    let snapshot = relation.snapshot();
    match result {
        Ok(report) => {
            assert_eq!(report.rows, snapshot.rows());
            let rejects = sink.rejects.lock().expect("no panic").clone();
            assert_eq!(report.rejects.rejects(), rejects.len() as u64);
            Ok(Loaded { rows: report.rows, checksum: checksum(&snapshot, 1).to_string(), rejects })
        }
        Err(error) => {
            assert_eq!(snapshot.rows(), 0, "a load that fails keeps nothing");
            assert!(!matches!(error, LoadError::Io { .. } | LoadError::Shrunk { .. }), "{error}");
            Err(error.to_string().replace(name, NAME))
        }
    }
}

fn stream(text: &[u8]) -> Source {
    Source::from_reader(NAME, Box::new(Cursor::new(text.to_vec())))
}

/// The same through a mapped file, under the name that the stream has.
fn load_mapped(text: &[u8], options: &TextOptions, tuning: &Tuning, lenient: bool) -> Result<Loaded, String> {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(text).expect("the file takes the text");
    let source = Source::open(file.path()).expect("the file is there");
    load_named(&file.path().display().to_string(), source, options, tuning, lenient)
}

/// Whether the load took the text if and only if the twins do, and the one that rejects the records that they take.
fn against_twins(text: &[u8], options: &TextOptions, loaded: Option<u64>, all: Option<Loaded>) {
    // Ctrl-Z on a line of its own ends the texts of old programs.
    let text = match text {
        [rest @ .., 0x1a] if rest.last().is_none_or(|byte| b"\r\n".contains(byte)) => rest,
        text => text,
    };
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let TextFormat::Csv(dialect) = &options.format else { unreachable!("the dialect was chosen above") };
    let records = reference::lenient_records(text, dialect);
    let is_good = |fields: &[RawField]| match fields {
        [number, string, money] => {
            !is_null(number)
                && exact::int32(&number.value).is_ok()
                && (is_null(string) || exact::varchar(&string.value, 20).is_ok())
                && (is_null(money) || exact::decimal64(&money.value, 7, 2).is_ok())
        }
        _ => false,
    };
    let good = records.iter().filter(|record| record.as_ref().is_ok_and(|record| is_good(&record.fields))).count();
    let right = (good == records.len()).then_some(good as u64);
    assert_eq!(loaded, right, "rows against the twins");
    assert_eq!(all.map(|all| all.rows), Some(good as u64), "rows that are not rejected");
}

fn is_null(field: &RawField) -> bool {
    !field.quoted && field.value.is_empty()
}
