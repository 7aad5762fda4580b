//! Lines of `key=value` pairs, as many services log them.
//!
//! Pairs are separated by blanks. A value begins with a double quote and ends with the next one that no backslash
//! protects, or it ends with the next blank and may hold any other character. A key alone is `true`. Of two values of
//! one key the last one counts; a key that a line lacks is missing.
//!
//! Source: the parser of `go-logfmt`, from which this one differs in what it takes: `=` and `"` inside unquoted values.

use std::error::Error;
use std::fmt;

use longshore_csv::{Defect, DefectKind, FirstRecord, RecordFormat, RowText};
use memchr::{memchr, memchr2};

use crate::lines::{Fault, Line, LineOptions};

/// What can be said about logfmt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogfmtOptions {
    /// The keys whose values are read, in the order of the fields.
    pub keys: Vec<String>,
    /// Keys that are none of these.
    pub unknown_keys: UnknownKeys,
    /// Which lines are records.
    pub lines: LineOptions,
}

/// What becomes of keys that no field goes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownKeys {
    /// They are dropped.
    #[default]
    Drop,
    /// The record is a defect.
    Reject,
}

/// Why options do not make a [`Logfmt`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogfmtError {
    /// No keys.
    Nothing,
    /// A key that no pair can have.
    Key(String),
    /// The same key twice.
    Twice(String),
}

impl fmt::Display for LogfmtError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LogfmtError::Nothing => write!(f, "logfmt needs columns; name each as its key"),
            LogfmtError::Key(key) => write!(
                f,
                "'{}' cannot be a key of logfmt; choose one without blanks, control characters, '=' and '\"'",
                key.escape_debug()
            ),
            LogfmtError::Twice(key) => write!(f, "the key '{key}' stands for two columns; choose different keys"),
        }
    }
}

impl Error for LogfmtError {}

/// Lines of `key=value` pairs.
#[derive(Clone, Debug)]
pub struct Logfmt {
    options: LogfmtOptions,
}

/// A pair, as places in the text.
#[derive(Clone, Copy, Debug)]
struct Pair {
    key: (usize, usize),
    value: Value,
}

#[derive(Clone, Copy, Debug)]
enum Value {
    /// None: the key stands alone.
    True {
        at: usize,
    },
    Bare {
        start: usize,
        end: usize,
    },
    /// Between quotes; whether there is a backslash.
    Quoted {
        start: usize,
        end: usize,
        escaped: bool,
    },
}

impl Logfmt {
    /// The format that `options` describe.
    ///
    /// # Errors
    /// If there are no keys, or one of them is none.
    pub fn new(options: LogfmtOptions) -> Result<Logfmt, LogfmtError> {
        if options.keys.is_empty() {
            return Err(LogfmtError::Nothing);
        }
        for (index, key) in options.keys.iter().enumerate() {
            if key.is_empty() || key.bytes().any(|byte| byte <= b' ' || matches!(byte, b'=' | b'"')) {
                return Err(LogfmtError::Key(key.clone()));
            }
            if options.keys[..index].contains(key) {
                return Err(LogfmtError::Twice(key.clone()));
            }
        }
        Ok(Logfmt { options })
    }

    /// The keys of a sample, in the order in which they come.
    #[must_use]
    pub fn keys_of(sample: &[u8], lines: &LineOptions) -> Vec<String> {
        let mut keys: Vec<String> = Vec::new();
        let mut at = 0;
        while let Some(line) = lines.record(sample, at) {
            at = line.next;
            let mut from = line.start;
            while let Ok(Some((pair, next))) = pair(sample, from, line.end) {
                from = next;
                if let Ok(key) = str::from_utf8(&sample[pair.key.0..pair.key.1])
                    && !keys.iter().any(|known| known == key)
                {
                    keys.push(key.to_owned());
                }
            }
        }
        keys
    }

    /// The fewest pairs of any line of a sample; `None` if it has no line, or one with something that is no pair: a quote
    /// or a key that stands alone.
    #[must_use]
    pub fn pairs_per_line(sample: &[u8], lines: &LineOptions) -> Option<usize> {
        let mut fewest = None;
        let mut at = 0;
        while let Some(line) = lines.record(sample, at) {
            at = line.next;
            let (mut from, mut pairs) = (line.start, 0);
            while let Some((pair, next)) = pair(sample, from, line.end).ok()? {
                if matches!(pair.value, Value::True { .. }) {
                    return None;
                }
                (from, pairs) = (next, pairs + 1);
            }
            fewest = Some(fewest.map_or(pairs, |fewest: usize| fewest.min(pairs)));
        }
        fewest
    }

    /// Finds the values of a line.
    fn values(&self, text: &[u8], line: Line, values: &mut [Option<Value>]) -> Result<(), Fault> {
        values.fill(None);
        let mut at = line.start;
        // Lines of one program have their keys in one order: the key behind the last one is tried first.
        let mut guess = 0;
        while let Some((pair, next)) = pair(text, at, line.end)? {
            at = next;
            let key = &text[pair.key.0..pair.key.1];
            let is_key = |index: &usize| self.options.keys[*index].as_bytes() == key;
            let count = self.options.keys.len();
            let found = if guess < count && is_key(&guess) { Some(guess) } else { (0..count).find(is_key) };
            match found {
                Some(index) => {
                    values[index] = Some(pair.value);
                    guess = index + 1;
                }
                None if self.options.unknown_keys == UnknownKeys::Drop => {}
                None => {
                    let reason =
                        format!("has the key '{}', which is none of the columns", String::from_utf8_lossy(key));
                    let remedy = "add a column for it, or set UNKNOWN_KEYS ignore";
                    return Err(Fault::new(DefectKind::ExtraFields, reason, remedy));
                }
            }
        }
        Ok(())
    }
}

/// The pair at or behind `at` of the line that ends at `end`, if there is one, and what is behind it.
fn pair(text: &[u8], mut at: usize, end: usize) -> Result<Option<(Pair, usize)>, Fault> {
    while at < end && text[at] <= b' ' {
        at += 1;
    }
    if at == end {
        return Ok(None);
    }
    let ends_key = |byte: &u8| *byte <= b' ' || matches!(byte, b'=' | b'"');
    let behind = text[at..end].iter().position(ends_key).map_or(end, |offset| at + offset);
    let key = (at, behind);
    if behind == at || behind < end && text[behind] == b'"' {
        let reason = "has a quote or an equals sign where a key is expected";
        return Err(Fault::new(DefectKind::Syntax, reason, "write key=value, the value in quotes if it has blanks"));
    }
    if behind == end || text[behind] != b'=' {
        return Ok(Some((Pair { key, value: Value::True { at: behind } }, behind)));
    }
    let start = behind + 1;
    if start == end || text[start] != b'"' {
        let behind = text[start..end].iter().position(|byte| *byte <= b' ').map_or(end, |offset| start + offset);
        return Ok(Some((Pair { key, value: Value::Bare { start, end: behind } }, behind)));
    }
    let start = start + 1;
    let (mut at, mut escaped) = (start, false);
    loop {
        let Some(offset) = memchr2(b'"', b'\\', &text[at..end]) else {
            let remedy = "close it, and write quotes inside quotes with a backslash";
            return Err(Fault::new(DefectKind::Quote, "opens a quote that is never closed", remedy));
        };
        at += offset;
        if text[at] == b'"' {
            break;
        }
        escaped = true;
        at = (at + 2).min(end);
    }
    if at + 1 < end && text[at + 1] > b' ' {
        let remedy = "write quotes inside quotes with a backslash, and a blank behind each pair";
        return Err(Fault::new(DefectKind::Quote, "has text behind a quoted value", remedy));
    }
    Ok(Some((Pair { key, value: Value::Quoted { start, end: at, escaped } }, at + 1)))
}

/// Gives a quoted value without its escapes. A backslash before anything but those of JSON stands for itself.
fn unescape(mut raw: &[u8], emit: &mut impl FnMut(&[u8])) {
    while let Some(at) = memchr(b'\\', raw) {
        emit(&raw[..at]);
        let behind = &raw[at + 1..];
        let mut buffer = [0; 4];
        let (meant, length): (&[u8], usize) = match behind.first() {
            Some(b'b') => (b"\x08", 1),
            Some(b'f') => (b"\x0c", 1),
            Some(b'n') => (b"\n", 1),
            Some(b'r') => (b"\r", 1),
            Some(b't') => (b"\t", 1),
            Some(b'"' | b'\\' | b'/') => (&behind[..1], 1),
            Some(b'u') => match unicode(behind) {
                Some((character, length)) => (character.encode_utf8(&mut buffer).as_bytes(), length),
                None => (b"\\", 0),
            },
            _ => (b"\\", 0),
        };
        emit(meant);
        raw = &behind[length..];
    }
    emit(raw);
}

/// The character of `uXXXX`, two of them behind each other where it takes two, and the bytes that this takes.
fn unicode(text: &[u8]) -> Option<(char, usize)> {
    let unit = |text: &[u8]| -> Option<u32> {
        let digits = text.strip_prefix(b"u")?.get(..4)?;
        digits.iter().try_fold(0, |unit, digit| Some(unit * 16 + char::from(*digit).to_digit(16)?))
    };
    let first = unit(text)?;
    if !(0xD800..0xDC00).contains(&first) {
        return Some((char::from_u32(first)?, 5));
    }
    let second = unit(text[5..].strip_prefix(b"\\")?).filter(|second| (0xDC00..0xE000).contains(second))?;
    Some((char::from_u32(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00))?, 11))
}

impl RecordFormat for Logfmt {
    fn complete(&self, text: &[u8], at_end: bool) -> usize {
        if at_end { text.len() } else { self.options.lines.line_ends.complete(text) }
    }

    /// # Panics
    /// If the rows have another number of fields than there are keys.
    fn read(&self, text: &[u8], rows: &mut RowText, defects: &mut Vec<Defect>) -> usize {
        assert_eq!(rows.fields(), self.options.keys.len(), "each key is a field");
        let mut values = vec![None; self.options.keys.len()];
        self.options.lines.read(text, rows, defects, |line, rows| {
            self.values(text, line, &mut values)?;
            for value in &values {
                match *value {
                    None => rows.push_missing(line.end as u32),
                    Some(Value::True { at }) => rows.push_bare(b"true", at as u32),
                    Some(Value::Bare { start, end }) => rows.push_bare(&text[start..end], start as u32),
                    Some(Value::Quoted { start, end, escaped: false }) => {
                        rows.push_quoted(&text[start..end], start as u32);
                    }
                    Some(Value::Quoted { start, end, escaped: true }) => {
                        rows.open_quoted();
                        unescape(&text[start..end], &mut |part| rows.extend_quoted(part));
                        rows.close_quoted(start as u32);
                    }
                }
            }
            Ok(())
        })
    }

    fn first_record(&self, _text: &[u8], _at_end: bool) -> Option<FirstRecord> {
        None
    }
}
