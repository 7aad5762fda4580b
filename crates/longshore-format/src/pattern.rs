//! Lines that a regular expression takes apart.
//!
//! The named groups are the fields, in their order; a group that takes no part in a match is missing. A line that the
//! expression does not match is a defect. The expression matches anywhere in a line unless it says `^` and `$`.
//! Not here: expressions over several lines.

mod presets;

use std::error::Error;
use std::fmt;

use longshore_csv::{Defect, DefectKind, FirstRecord, RecordFormat, RowText};
use regex::bytes::Regex;

pub use self::presets::{Preset, preset, presets};
use crate::lines::{Fault, LineOptions};

/// Why an expression does not make a [`Pattern`].
#[derive(Clone, Debug)]
pub enum PatternError {
    /// It is no regular expression, or one too large.
    Regex(Box<regex::Error>),
    /// It has no named group.
    NoGroups,
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PatternError::Regex(error) => write!(f, "the pattern cannot be read: {error}"),
            PatternError::NoGroups => {
                write!(f, "the pattern names no group; write (?<name>...) around what each column holds")
            }
        }
    }
}

impl Error for PatternError {}

/// Lines that a regular expression takes apart.
#[derive(Clone, Debug)]
pub struct Pattern {
    regex: Regex,
    /// The named groups: numbers and names.
    groups: Vec<(usize, String)>,
    lines: LineOptions,
}

impl Pattern {
    /// The format of lines that `pattern` matches.
    ///
    /// # Errors
    /// If it is no regular expression or names no group.
    pub fn new(pattern: &str, lines: LineOptions) -> Result<Pattern, PatternError> {
        let regex = Regex::new(pattern).map_err(|error| PatternError::Regex(Box::new(error)))?;
        let named = |(group, name): (usize, Option<&str>)| Some((group, name?.to_owned()));
        let groups: Vec<_> = regex.capture_names().enumerate().filter_map(named).collect();
        if groups.is_empty() {
            return Err(PatternError::NoGroups);
        }
        Ok(Pattern { regex, groups, lines })
    }

    /// As [`Pattern::new`], where `pattern` may also be the name of a [`Preset`].
    ///
    /// # Errors
    /// If it is no regular expression or names no group.
    pub fn of(pattern: &str, lines: LineOptions) -> Result<Pattern, PatternError> {
        Pattern::new(preset(pattern).map_or(pattern, |preset| preset.pattern), lines)
    }

    /// The names of the fields.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.groups.iter().map(|(_, name)| &**name)
    }
}

impl RecordFormat for Pattern {
    fn complete(&self, text: &[u8], at_end: bool) -> usize {
        if at_end { text.len() } else { self.lines.line_ends.complete(text) }
    }

    /// # Panics
    /// If the rows have another number of fields than there are named groups.
    fn read(&self, text: &[u8], rows: &mut RowText, defects: &mut Vec<Defect>) -> usize {
        assert_eq!(rows.fields(), self.groups.len(), "each named group is a field");
        let mut captures = self.regex.capture_locations();
        self.lines.read(text, rows, defects, |line, rows| {
            let content = &text[line.start..line.end];
            if self.regex.captures_read(&mut captures, content).is_none() {
                let remedy = "change the pattern to match this line as well";
                return Err(Fault::new(DefectKind::Syntax, "does not match the pattern", remedy));
            }
            for (group, _) in &self.groups {
                match captures.get(*group) {
                    Some((start, end)) => rows.push_bare(&content[start..end], (line.start + start) as u32),
                    None => rows.push_missing(line.end as u32),
                }
            }
            Ok(())
        })
    }

    fn first_record(&self, _text: &[u8], _at_end: bool) -> Option<FirstRecord> {
        None
    }
}
