//! What the head of a file decides for all of it: byte order mark, header, trailing delimiter, bytes per record.

use longshore_csv::reference::{self, RawField};
use longshore_csv::{QuoteState, record_start};

use crate::position::malformed;
use crate::source::BYTE_ORDER_MARK;
use crate::{Header, LoadError, TextOptions, TrailingDelimiter, Tuning};

/// Bytes of the head that the estimate of a record's length is taken from.
const SAMPLE_BYTES: usize = 256 << 10;

/// What the head of a file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Preamble {
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
    names: &[&str],
    options: &TextOptions,
    tuning: &Tuning,
) -> Result<Option<Preamble>, LoadError> {
    let mut start = if head.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
    if options.header != Header::None {
        let Some(end) = record_end(head, start, at_end, options, tuning) else {
            return Ok(None);
        };
        if let Err(error) = reference::records(&head[start..end], &options.dialect) {
            return Err(malformed(name, head, start, error));
        }
        if options.header == Header::Match {
            check_header(name, &head[start..end], names, options)?;
        }
        start = end;
    }
    let trailing_delimiter = match options.trailing_delimiter {
        TrailingDelimiter::Yes => true,
        TrailingDelimiter::No => false,
        TrailingDelimiter::Auto => {
            let Some(end) = record_end(head, start, at_end, options, tuning) else {
                return Ok(None);
            };
            has_trailing_delimiter(&head[start..end], names.len(), options)
        }
    };
    let sample = &head[start..head.len().min(start + SAMPLE_BYTES)];
    let line_ends = memchr::memchr_iter(b'\n', sample).count();
    let record_bytes = sample.len().div_ceil(line_ends.max(1)).max(1);
    Ok(Some(Preamble { data_start: start, trailing_delimiter, record_bytes }))
}

/// Just after the record that begins at `start`; `None` when it does not end within the head.
fn record_end(head: &[u8], start: usize, at_end: bool, options: &TextOptions, tuning: &Tuning) -> Option<usize> {
    record_start(tuning.kernel, &options.dialect, &head[start..], QuoteState::Outside)
        .map(|length| start + length)
        .or(at_end.then_some(head.len()))
}

/// The fields of the first record in `text`; none when it is malformed, which the load itself will report.
fn first_fields(text: &[u8], options: &TextOptions) -> Vec<RawField> {
    reference::records(text, &options.dialect)
        .ok()
        .and_then(|records| records.into_iter().next())
        .map(|record| record.fields)
        .unwrap_or_default()
}

fn has_trailing_delimiter(text: &[u8], columns: usize, options: &TextOptions) -> bool {
    let fields = first_fields(text, options);
    fields.len() == columns + 1 && fields.last().is_some_and(|field| !field.quoted && field.value.is_empty())
}

fn check_header(name: &str, text: &[u8], names: &[&str], options: &TextOptions) -> Result<(), LoadError> {
    let mut found: Vec<String> = first_fields(text, options)
        .into_iter()
        .map(|field| String::from_utf8_lossy(&field.value).into_owned())
        .collect();
    let may_trail = options.trailing_delimiter != TrailingDelimiter::No;
    if may_trail && found.len() == names.len() + 1 && found.last().is_some_and(String::is_empty) {
        found.pop();
    }
    let unfit = |problem| Err(LoadError::Unfit { file: name.to_owned(), problem });
    for (position, expected) in names.iter().enumerate() {
        match found.get(position) {
            Some(actual) if actual == expected => {}
            Some(actual) => {
                return unfit(format!(
                    "line 1: the header names field {} \"{actual}\" where column \"{expected}\" is due; \
                     list the columns in the order of the file, or set HEADER true to skip the header",
                    position + 1
                ));
            }
            None => {
                return unfit(format!(
                    "line 1: the header has {} fields where {} columns are due; \
                     list the columns of the file, or check the delimiter",
                    found.len(),
                    names.len()
                ));
            }
        }
    }
    if found.len() > names.len() {
        return unfit(format!(
            "line 1: the header has {} fields where {} columns are due; \
             list the columns of the file, or check the delimiter",
            found.len(),
            names.len()
        ));
    }
    Ok(())
}
