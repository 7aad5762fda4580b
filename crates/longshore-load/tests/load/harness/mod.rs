//! One text, many machines: every test line is loaded by every kernel, with many piece and span sizes, with 1, 2 and 7
//! workers, from a mapped file and from a stream, and compared with the slow twin: the reference parser, the exact
//! value parsers and the writers of `longshore-csv`.
#![allow(dead_code, unreachable_pub, reason = "each test binary uses its share of the harness")]

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use longshore_csv::Reason;
use longshore_csv::decode::exact;
use longshore_csv::reference::{self, RawField};
use longshore_csv::write::{self, Quoting};
use longshore_load::{
    ColumnChoice, Control, Dialect, Header, InputFile, Kernel, LoadError, LoadReport, Mode, Source, Target, TextFormat,
    TextOptions, TrailingDelimiter, Tuning, UnloadOptions, copy_from, unload_csv,
};
use longshore_storage::{Column, ColumnType, Memory, MergeKind, Relation, Schema};
use longshore_value::numeric::Numeric;

pub mod infer;
pub mod rejects;

/// Bytes of a piece: around blocks, and the default.
pub const PIECE_BYTES: [usize; 8] = [1, 2, 7, 63, 64, 65, 300, longshore_load::PIECE_BYTES_DEFAULT];
/// Bytes of a span: `None` is the default.
pub const SPAN_BYTES: [Option<usize>; 5] = [Some(1), Some(3), Some(64), Some(257), None];
/// Workers.
pub const THREADS: [usize; 3] = [1, 2, 7];

/// PostgreSQL's CSV.
pub fn comma() -> TextOptions {
    TextOptions::new(Dialect::new(b',', Some(b'"'), None).expect("a dialect"))
}

/// dbgen's files: no quotes are expected, but they are looked for.
pub fn pipe() -> TextOptions {
    TextOptions::new(Dialect::new(b'|', Some(b'"'), None).expect("a dialect"))
}

/// Columns `c0`, `c1`, ... of these types, all nullable.
pub fn schema(types: &[ColumnType]) -> Arc<Schema> {
    let column = |(index, column_type): (usize, &ColumnType)| Column::new(format!("c{index}"), *column_type, true);
    Arc::new(Schema::new(types.iter().enumerate().map(column).collect()))
}

/// That many text columns.
pub fn texts(columns: usize) -> Arc<Schema> {
    schema(&vec![ColumnType::Text; columns])
}

/// How a load is run.
#[derive(Clone, Debug)]
pub struct Machine {
    pub tuning: Tuning,
    pub mode: Mode,
    pub stream: bool,
}

/// Machines that together meet every kernel, piece size, span size, thread count, mode and kind of source.
pub fn machines() -> Vec<Machine> {
    let mut machines = Vec::new();
    for kernel in Kernel::available() {
        for piece_bytes in PIECE_BYTES {
            for (turn, span_bytes) in SPAN_BYTES.into_iter().enumerate() {
                let threads = THREADS[(turn + piece_bytes) % THREADS.len()];
                let stream = (turn + piece_bytes) % 4 == 3;
                let mode = if (turn + piece_bytes) % 5 == 4 { Mode::Safe } else { Mode::Exact };
                let merge = [MergeKind::Chunk, MergeKind::Copy, MergeKind::Insert][turn % 3];
                let tuning = Tuning { threads, kernel, piece_bytes: Some(piece_bytes), span_bytes, merge };
                machines.push(Machine { tuning, mode, stream });
            }
        }
    }
    machines
}

/// Loads `text` on one machine; the rows come back as canonical CSV.
pub fn load_on(machine: &Machine, file: &Path, schema: &Arc<Schema>, options: &TextOptions) -> Result<String, String> {
    let relation = Relation::new(Arc::clone(schema), Memory::new(None));
    let source = if machine.stream { Source::open_unmapped(file) } else { Source::open(file) };
    let options = TextOptions { mode: machine.mode, ..options.clone() };
    let fields: Vec<usize> = (0..schema.columns().len()).collect();
    let loaded: Result<LoadReport, LoadError> = source.map_err(LoadError::from).and_then(|source| {
        copy_from(vec![InputFile::opened(source, &fields)], &relation, &options, &machine.tuning, &Control::new())
    });
    let message = |error: LoadError| error.to_string().replace(&file.display().to_string(), "FILE");
    let report = loaded.map_err(message)?;
    assert_eq!(report.rows, relation.snapshot().rows(), "rows of the report");
    Ok(dump(&relation))
}

/// The rows of a relation, in order, as CSV: comma, every non-null value quoted.
pub fn dump(relation: &Relation) -> String {
    let snapshot = relation.snapshot();
    let columns: Vec<usize> = (0..relation.schema().columns().len()).collect();
    let batches: Vec<_> =
        snapshot.chunks().iter().map(|chunk| Ok::<_, String>(chunk.batch(&columns, 0, chunk.rows()))).collect();
    let (sender, receiver) = std::sync::mpsc::channel();
    let options =
        UnloadOptions { dialect: canonical(), null: String::new(), header: false, force_quote: ColumnChoice::All };
    let target = Target::Writer(Box::new(Pipe(sender)));
    unload_csv(batches.into_iter(), &relation.schema().arrow(), target, &options, 2, &Control::new())
        .expect("an unload to memory");
    String::from_utf8(receiver.try_iter().flatten().collect()).expect("UTF-8")
}

struct Pipe(std::sync::mpsc::Sender<Vec<u8>>);

impl std::io::Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.send(bytes.to_vec()).expect("the test receives");
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn canonical() -> Dialect {
    Dialect::new(b',', Some(b'"'), None).expect("a dialect")
}

/// What the slow twin makes of `text`: canonical CSV, or `None` where there must be an error.
pub fn expected(text: &[u8], schema: &Schema, options: &TextOptions) -> Option<String> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let TextFormat::Csv(dialect) = &options.format else { unreachable!("the twin reads CSV") };
    let records = reference::records(text, dialect).ok()?;
    let columns = schema.columns();
    let skipped = usize::from(options.header != Header::None);
    let mut records = records.into_iter().skip(skipped).peekable();
    let trails = |fields: &[RawField]| {
        fields.len() == columns.len() + 1 && fields.last().is_some_and(|field| !field.quoted && field.value.is_empty())
    };
    let trailing = match options.trailing_delimiter {
        TrailingDelimiter::Yes => true,
        TrailingDelimiter::No => false,
        TrailingDelimiter::Auto => records.peek().is_some_and(|record| trails(&record.fields)),
    };
    let mut out = Vec::new();
    for record in records {
        let mut fields = record.fields;
        if trailing {
            if !trails(&fields) {
                return None;
            }
            fields.pop();
        }
        if fields.len() != columns.len() {
            return None;
        }
        for (index, (field, column)) in fields.iter().zip(columns).enumerate() {
            if index > 0 {
                out.push(b',');
            }
            if is_null(field, column, options) {
                if !column.nullable {
                    return None;
                }
                continue;
            }
            let text = canonical_value(&field.value, &column.column_type).ok()?;
            Quoting::new(&canonical(), b"", true).text(&mut out, &text).expect("there is a quote");
        }
        out.push(b'\n');
    }
    Some(String::from_utf8(out).expect("values are UTF-8"))
}

fn is_null(field: &RawField, column: &Column, options: &TextOptions) -> bool {
    let values = &options.values;
    let matches = values.nulls.iter().any(|null| field.value == null.as_bytes());
    if field.quoted {
        matches && values.quoted_nulls.contains(&column.name)
    } else {
        matches && !values.force_not_null.contains(&column.name)
    }
}

/// The value by the exact parsers, written by the writers.
fn canonical_value(value: &[u8], column_type: &ColumnType) -> Result<Vec<u8>, Reason> {
    let mut out = Vec::new();
    match *column_type {
        ColumnType::Boolean => write::boolean(&mut out, exact::boolean(value)?),
        ColumnType::SmallInt => write::integer(&mut out, exact::int16(value)?.into()),
        ColumnType::Integer => write::integer(&mut out, exact::int32(value)?.into()),
        ColumnType::BigInt => write::integer(&mut out, exact::int64(value)?),
        ColumnType::Real => write::float32(&mut out, exact::float32(value)?),
        ColumnType::Double => write::float64(&mut out, exact::float64(value)?),
        ColumnType::Decimal { precision, scale } => {
            write::decimal(&mut out, exact::decimal128(value, precision, scale)?, scale);
        }
        ColumnType::Date => write::date(&mut out, exact::date(value)?),
        ColumnType::Time => write::time(&mut out, exact::time(value)?),
        ColumnType::Timestamp => write::timestamp(&mut out, exact::timestamp(value)?),
        ColumnType::TimestampTz => write::timestamptz(&mut out, exact::timestamptz(value)?),
        ColumnType::Text => out.extend_from_slice(exact::text(value)?.as_bytes()),
        ColumnType::Numeric(limit) => {
            let mut bytes = Vec::new();
            exact::numeric(value, limit, &mut |byte| bytes.push(byte))?;
            let number = Numeric::of(&bytes).expect("bytes of a number");
            out.extend_from_slice(number.to_string().as_bytes());
        }
        ref other => panic!("the harness has no twin for {other}"),
    }
    Ok(out)
}

/// Loads `text` on every machine and compares: all must agree with the slow twin, and where that has no answer, all
/// must fail with the same message. Returns that message.
pub fn check(text: &[u8], schema: &Arc<Schema>, options: &TextOptions) -> Option<String> {
    check_on(&machines(), text, schema, options)
}

/// As [`check`], on the given machines.
pub fn check_on(machines: &[Machine], text: &[u8], schema: &Arc<Schema>, options: &TextOptions) -> Option<String> {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(text).expect("written");
    let expected = expected(text, schema, options);
    let mut message: Option<String> = None;
    for machine in machines {
        let actual = load_on(machine, file.path(), schema, options);
        match (&expected, actual) {
            (Some(expected), Ok(actual)) => {
                assert_eq!(*expected, actual, "{machine:?}\n{}", text.escape_ascii());
            }
            (Some(_), Err(error)) => panic!("{machine:?}: {error}\n{}", text.escape_ascii()),
            (None, Ok(rows)) => panic!("{machine:?}: loaded {rows:?}\n{}", text.escape_ascii()),
            (None, Err(error)) => match &message {
                None => message = Some(error),
                Some(first) => assert_eq!(*first, error, "{machine:?}\n{}", text.escape_ascii()),
            },
        }
    }
    message
}
