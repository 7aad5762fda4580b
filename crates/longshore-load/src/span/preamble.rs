//! What the head of a file decides for all of it: byte order mark, header, trailing delimiter, bytes per record.

use longshore_csv::reference::{self, ReferenceError};
use longshore_csv::{Dialect, FirstRecord, QuoteState, ShapeErrorKind, record_start};
use longshore_source::BYTE_ORDER_MARK;
use longshore_storage::Column;

use super::ScanContext;
use crate::error::{BadField, Fault, LoadError};
use crate::input::{FieldNames, FieldTarget};
use crate::options::{Header, TextFormat, TextOptions, TrailingDelimiter, Tuning};

/// Bytes of the head that the estimate of a record's length is taken from.
const SAMPLE_BYTES: usize = 256 << 10;

/// What becomes of the fields of a file.
#[derive(Clone, Copy)]
pub(crate) enum Fields<'a> {
    /// The column of each.
    Known(&'a [Option<Column>]),
    /// The header decides it.
    ByName(&'a FieldNames),
}

/// What the head of a file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Preamble {
    /// What becomes of each field, if the header decides it.
    pub(crate) fields: Option<Vec<Option<FieldTarget>>>,
    /// Where the first record of data begins.
    pub(crate) data_start: usize,
    /// Whether records end with one more delimiter.
    pub(crate) trailing_delimiter: bool,
    /// About how many bytes a record has, with its line end; at least 1.
    pub(crate) record_bytes: usize,
}

/// Reads the head of the file `name`. `at_end` tells that `head` is the whole file.
///
/// Returns `None` when the head is too short to tell.
///
/// # Errors
/// When a header is to match and does not, or a quote in the first records is never closed.
pub(crate) fn read(
    name: &str,
    head: &[u8],
    at_end: bool,
    fields: Fields<'_>,
    context: &ScanContext<'_>,
) -> Result<Option<Preamble>, LoadError> {
    let ScanContext { options, tuning, .. } = *context;
    let mark = if head.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
    let Some(mut start) = after_lines(head, mark, options.skip_lines, at_end) else {
        return Ok(None);
    };
    let mut by_name = None;
    // A text of nothing has no header either.
    let is_empty = at_end && start >= head.len();
    if options.header != Header::None {
        let Some(record) = first_record(name, head, start, at_end, options, tuning)? else {
            return Ok(None);
        };
        let line = memchr::memchr_iter(b'\n', &head[..start]).count() + 1;
        match fields {
            Fields::Known(fields) if options.header == Header::Match && !is_empty => {
                check_header(name, line, &record.fields, fields, options)?;
            }
            Fields::Known(_) => {}
            Fields::ByName(names) if is_empty => {
                by_name = Some(names.columns.iter().map(|(_, target)| Some(target.clone())).collect());
            }
            Fields::ByName(names) => {
                let header = header_names(&record.fields, options);
                let unfit =
                    |problem| LoadError::Unfit { file: name.to_owned(), problem: format!("line {line}: {problem}") };
                by_name = Some(names.fields(&header).map_err(unfit)?);
            }
        }
        start += record.bytes;
    }
    let fields_due = match (fields, &by_name) {
        (Fields::Known(fields), _) => fields.len(),
        (Fields::ByName(_), Some(fields)) => fields.len(),
        (Fields::ByName(_), None) => {
            return Err(LoadError::Options("fields are found by name, so that HEADER must be true".to_owned()));
        }
    };
    let trailing_delimiter = match (&options.format, options.trailing_delimiter) {
        (TextFormat::Other(_), _) | (_, TrailingDelimiter::No) => false,
        (TextFormat::Csv(_), TrailingDelimiter::Yes) => true,
        (TextFormat::Csv(dialect), TrailingDelimiter::Auto) => {
            let Some(end) = record_end(head, start, at_end, dialect, tuning) else {
                return Ok(None);
            };
            has_trailing_delimiter(&head[start..end], fields_due, dialect)
        }
    };
    let sample = &head[start..head.len().min(start + SAMPLE_BYTES)];
    let line_ends = memchr::memchr_iter(b'\n', sample).count();
    let record_bytes = sample.len().div_ceil(line_ends.max(1)).max(1);
    Ok(Some(Preamble { fields: by_name, data_start: start, trailing_delimiter, record_bytes }))
}

/// Where the text begins behind `lines` lines from `start` on; `None` when they do not end within the head.
fn after_lines(head: &[u8], start: usize, lines: u64, at_end: bool) -> Option<usize> {
    let mut position = start;
    // Without a line feed anywhere, carriage returns end lines.
    let line_feeds = memchr::memchr(b'\n', head).is_some() || memchr::memchr(b'\r', head).is_none();
    let line_end = if line_feeds { b'\n' } else { b'\r' };
    for _ in 0..lines {
        match memchr::memchr(line_end, &head[position..]) {
            Some(line_end) => position += line_end + 1,
            None if at_end => return Some(head.len()),
            None => return None,
        }
    }
    Some(position)
}

/// The record that begins at `start`, taken apart; `None` when it does not end within the head. At the end of the file
/// an empty one.
fn first_record(
    name: &str,
    head: &[u8],
    start: usize,
    at_end: bool,
    options: &TextOptions,
    tuning: &Tuning,
) -> Result<Option<FirstRecord>, LoadError> {
    match &options.format {
        TextFormat::Csv(dialect) => {
            let Some(end) = record_end(head, start, at_end, dialect, tuning) else {
                return Ok(None);
            };
            let records =
                reference::records(&head[start..end], dialect).map_err(|error| malformed(name, head, start, error))?;
            let fields = records.into_iter().next().map(|record| record.fields).unwrap_or_default();
            let fields = fields.into_iter().map(|field| field.value).collect();
            Ok(Some(FirstRecord { bytes: end - start, fields }))
        }
        TextFormat::Other(format) => Ok(format
            .first_record(&head[start..], at_end)
            .or_else(|| at_end.then(|| FirstRecord { bytes: head.len() - start, fields: Vec::new() }))),
    }
}

/// The error for a header that begins at `start` of the head of the file `name` and cannot be taken apart.
fn malformed(name: &str, head: &[u8], start: usize, error: ReferenceError) -> LoadError {
    let at = start
        + match error {
            ReferenceError::UnterminatedQuote(at) | ReferenceError::StrayCarriageReturn(at) => at,
        };
    let mut field = BadField {
        file: name.to_owned(),
        line: memchr::memchr_iter(b'\n', &head[..at]).count() as u64 + 1,
        byte: at as u64,
        column: None,
        value: head[at..].to_vec(),
        reason: String::new(),
        remedy: String::new(),
        fault: Fault::default(),
    };
    match error {
        ReferenceError::UnterminatedQuote(_) => field.explain_unclosed_quote(),
        ReferenceError::StrayCarriageReturn(_) => {
            let kind = ShapeErrorKind::StrayCarriageReturn { at: at as u32 };
            field.reason = kind.reason();
            field.remedy = kind.remedy();
        }
    }
    LoadError::Bad(Box::new(field))
}

/// Just after the record that begins at `start`; `None` when it does not end within the head.
fn record_end(head: &[u8], start: usize, at_end: bool, dialect: &Dialect, tuning: &Tuning) -> Option<usize> {
    record_start(tuning.kernel, dialect, &head[start..], QuoteState::Outside)
        .map(|length| start + length)
        .or(at_end.then_some(head.len()))
}

/// Whether the first record in `text` has one more field than is expected, and that is empty. A malformed record has not;
/// the load itself will report it.
fn has_trailing_delimiter(text: &[u8], fields_due: usize, dialect: &Dialect) -> bool {
    let records = reference::records(text, dialect).unwrap_or_default();
    records.first().is_some_and(|record| {
        let last_is_empty = record.fields.last().is_some_and(|field| !field.quoted && field.value.is_empty());
        record.fields.len() == fields_due + 1 && last_is_empty
    })
}

/// The names in a header. One of nothing at its end is of a trailing delimiter.
fn header_names(found: &[Vec<u8>], options: &TextOptions) -> Vec<String> {
    let mut names: Vec<String> = found.iter().map(|field| String::from_utf8_lossy(field).into_owned()).collect();
    let may_trail = matches!(options.format, TextFormat::Csv(_)) && options.trailing_delimiter != TrailingDelimiter::No;
    if names.len() > 1 && may_trail && names.last().is_some_and(String::is_empty) {
        names.pop();
    }
    names
}

fn check_header(
    name: &str,
    line: usize,
    found: &[Vec<u8>],
    columns: &[Option<Column>],
    options: &TextOptions,
) -> Result<(), LoadError> {
    let mut found: Vec<String> = found.iter().map(|field| String::from_utf8_lossy(field).into_owned()).collect();
    let may_trail = options.trailing_delimiter != TrailingDelimiter::No;
    if may_trail && found.len() == columns.len() + 1 && found.last().is_some_and(String::is_empty) {
        found.pop();
    }
    let unfit = |problem| Err(LoadError::Unfit { file: name.to_owned(), problem });
    for (position, expected) in columns.iter().enumerate() {
        let Some(expected) = expected.as_ref().map(|column| &column.name) else { continue };
        match found.get(position) {
            Some(actual) if actual == expected => {}
            Some(actual) => {
                return unfit(format!(
                    "line {line}: the header names field {} \"{actual}\" where column \"{expected}\" is expected; \
                     list the columns in the order of the file, set UNION_BY_NAME true to find them by their names, or \
                     HEADER true to skip the header",
                    position + 1
                ));
            }
            None => {
                return unfit(format!(
                    "line {line}: the header has {} fields where {} columns are expected; \
                     list the columns of the file, set UNION_BY_NAME true to find them by their names, or check the \
                     delimiter",
                    found.len(),
                    columns.len()
                ));
            }
        }
    }
    if found.len() > columns.len() {
        return unfit(format!(
            "line {line}: the header has {} fields where {} columns are expected; \
             list the columns of the file, set UNION_BY_NAME true to find them by their names, or check the delimiter",
            found.len(),
            columns.len()
        ));
    }
    Ok(())
}
