#![no_main]
//! A load of any bytes has one result, relation or error, whatever the kernel, threads, pieces, spans, merge and
//! source; and where the slow twins take the text, the relation holds what they read.

use std::io::{Cursor, Write as _};
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use longshore_csv::decode::exact;
use longshore_csv::reference::{self, RawField};
use longshore_fuzz::Choices;
use longshore_load::{
    Control, InputFile, Kernel, LoadError, Mode, Source, TextOptions, TrailingDelimiter, Tuning, copy_from,
};
use longshore_storage::checksum::checksum;
use longshore_storage::{Column, ColumnType, Memory, MergeKind, Relation, Schema};

fuzz_target!(|input: &[u8]| {
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
    let right = load(stream(text), &safe, &plain);
    let found = if way.is_multiple_of(8) {
        load_mapped(text, &options, &tuning)
    } else {
        load(stream(text), &options, &tuning)
    };
    assert_eq!(found, right, "{tuning:?}");
    if options.trailing_delimiter == TrailingDelimiter::No {
        against_twins(text, &options, right.as_ref().ok().map(|loaded| loaded.rows));
    }
});

/// What messages call the text.
const NAME: &str = "text";

#[derive(Debug, PartialEq, Eq)]
struct Loaded {
    rows: u64,
    checksum: String,
}

/// Rows and checksum, or the message of the error; its kind is part of the message.
fn load(source: Source, options: &TextOptions, tuning: &Tuning) -> Result<Loaded, String> {
    let columns = vec![
        Column::new("number", ColumnType::Integer, false),
        Column::new("text", ColumnType::Varchar(20), true),
        Column::new("money", ColumnType::Decimal { precision: 7, scale: 2 }, true),
    ];
    let relation = Relation::new(Arc::new(Schema::new(columns)), Memory::new(None));
    let result = copy_from(vec![InputFile::opened(source, &[0, 1, 2])], &relation, options, tuning, &Control::new());
    let snapshot = relation.snapshot();
    match result {
        Ok(report) => {
            assert_eq!(report.rows, snapshot.rows());
            Ok(Loaded { rows: report.rows, checksum: checksum(&snapshot, 1).to_string() })
        }
        Err(error) => {
            assert_eq!(snapshot.rows(), 0, "a load that fails keeps nothing");
            assert!(!matches!(error, LoadError::Io { .. } | LoadError::Shrunk { .. }), "{error}");
            Err(error.to_string())
        }
    }
}

fn stream(text: &[u8]) -> Source {
    Source::from_reader(NAME, Box::new(Cursor::new(text.to_vec())))
}

/// The same through a mapped file, under the name that the stream has.
fn load_mapped(text: &[u8], options: &TextOptions, tuning: &Tuning) -> Result<Loaded, String> {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(text).expect("the file takes the text");
    let source = Source::open(file.path()).expect("the file is there");
    load(source, options, tuning).map_err(|error| error.replace(&file.path().display().to_string(), NAME))
}

/// Whether the load took the text if and only if the twins do.
fn against_twins(text: &[u8], options: &TextOptions, loaded: Option<u64>) {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let right = reference::records(text, &options.dialect).ok().filter(|records| {
        records.iter().all(|record| match record.fields.as_slice() {
            [number, string, money] => {
                !is_null(number)
                    && exact::int32(&number.value).is_ok()
                    && (is_null(string) || exact::varchar(&string.value, 20).is_ok())
                    && (is_null(money) || exact::decimal64(&money.value, 7, 2).is_ok())
            }
            _ => false,
        })
    });
    assert_eq!(loaded, right.map(|records| records.len() as u64), "rows against the twins");
}

fn is_null(field: &RawField) -> bool {
    !field.quoted && field.value.is_empty()
}
