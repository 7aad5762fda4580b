//! Lines whose fields stand at fixed places.
//!
//! A field holds what stands at its place, without the blanks around it. One whose place begins at or behind the end of
//! its line is missing. Places are counted in bytes or in characters (Unicode code points). No character quotes.
//! Not here: telling the places from a sample.

use std::error::Error;
use std::fmt;

use longshore_csv::{Defect, DefectKind, FirstRecord, RecordFormat, RepairKind, RowText, ShapeErrorKind};

use crate::delimited::{LongRecords, ShortRecords};
use crate::lines::{Fault, LineOptions, is_blank, trimmed};

/// What can be said about fixed-width text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixedWidthOptions {
    /// The fields, in the order in which they are read; places may overlap, and leave some of the line out.
    pub columns: Vec<FixedColumn>,
    /// What places are counted in.
    pub unit: Unit,
    /// Whether the blanks around fields are taken away.
    pub trim: bool,
    /// Lines that end before the place of a field begins.
    pub short_records: ShortRecords,
    /// Lines with more than blanks behind the last place.
    pub long_records: LongRecords,
    /// Whether a line with a word that goes on where a place begins is a defect: places that a sample told may be others.
    pub whole_words: bool,
    /// Which lines are records.
    pub lines: LineOptions,
}

impl FixedWidthOptions {
    /// The options for `columns`, the others as is usual: characters, blanks trimmed, no other lines than these.
    #[must_use]
    pub fn new(columns: Vec<FixedColumn>) -> FixedWidthOptions {
        FixedWidthOptions {
            columns,
            unit: Unit::default(),
            trim: true,
            short_records: ShortRecords::default(),
            long_records: LongRecords::default(),
            whole_words: false,
            lines: LineOptions::default(),
        }
    }
}

/// The place of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixedColumn {
    /// Its name.
    pub name: String,
    /// How much of the line stands before it.
    pub start: usize,
    /// How much of the line it takes.
    pub width: usize,
}

impl FixedColumn {
    /// Columns of these widths, one behind the other.
    #[must_use]
    pub fn row(columns: &[(&str, usize)]) -> Vec<FixedColumn> {
        let starts = columns.iter().scan(0_usize, |next, (_, width)| {
            let start = *next;
            *next = next.saturating_add(*width);
            Some(start)
        });
        let column =
            |(start, &(name, width)): (usize, &(&str, usize))| FixedColumn { name: name.to_owned(), start, width };
        starts.zip(columns).map(column).collect()
    }

    fn end(&self) -> usize {
        self.start + self.width
    }
}

/// What places are counted in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// Unicode code points.
    #[default]
    Characters,
    /// Bytes.
    Bytes,
}

/// The last place that a column may end at.
pub const PLACE_MAX: usize = 1 << 24;

/// Why options do not make a [`FixedWidth`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FixedWidthError {
    /// No columns.
    Nothing,
    /// A column without width, or one that ends behind [`PLACE_MAX`].
    Width(FixedColumn),
    /// Two columns of one name.
    Name(String),
}

impl fmt::Display for FixedWidthError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FixedWidthError::Nothing => write!(f, "fixed-width text needs columns; give name, start and width of each"),
            FixedWidthError::Width(FixedColumn { name, start, width }) => write!(
                f,
                "column '{name}' cannot begin at {start} and be {width} wide; choose a width from 1, and an end of at \
                 most {PLACE_MAX}"
            ),
            FixedWidthError::Name(name) => write!(f, "two columns are named '{name}'; choose different names"),
        }
    }
}

impl Error for FixedWidthError {}

/// Fixed-width text.
#[derive(Clone, Debug)]
pub struct FixedWidth {
    options: FixedWidthOptions,
    /// Where the last place ends.
    width: usize,
}

impl FixedWidth {
    /// The format that `options` describe.
    ///
    /// # Errors
    /// If there is no column, or one is none.
    pub fn new(options: FixedWidthOptions) -> Result<FixedWidth, FixedWidthError> {
        let columns = &options.columns;
        for (index, column) in columns.iter().enumerate() {
            if column.width == 0 || column.start.checked_add(column.width).is_none_or(|end| end > PLACE_MAX) {
                return Err(FixedWidthError::Width(column.clone()));
            }
            if columns[..index].iter().any(|other| other.name == column.name) {
                return Err(FixedWidthError::Name(column.name.clone()));
            }
        }
        let width = columns.iter().map(FixedColumn::end).max().ok_or(FixedWidthError::Nothing)?;
        Ok(FixedWidth { options, width })
    }

    /// The names of the fields.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.options.columns.iter().map(|column| &*column.name)
    }

    /// Puts where the characters of `line` begin into `starts`, its length behind them; nothing if each is a byte.
    fn measure(&self, line: &[u8], starts: &mut Vec<usize>) {
        starts.clear();
        if self.options.unit == Unit::Characters && !line.is_ascii() {
            // A byte that continues a character begins none, so that text that is not UTF-8 has places as well.
            let begins = |(at, byte): (usize, &u8)| (byte & 0xC0 != 0x80).then_some(at);
            starts.extend(line.iter().enumerate().filter_map(begins).take(self.width + 1));
            starts.push(line.len());
        }
    }

    /// The text at the place of a column, and where it begins; none if the line ends before.
    fn field<'t>(&self, line: &'t [u8], starts: &[usize], column: &FixedColumn) -> Option<(&'t [u8], usize)> {
        let byte = |place: usize| match starts.last() {
            Some(&end) => starts.get(place).copied().unwrap_or(end),
            None => place.min(line.len()),
        };
        let (start, end) = (byte(column.start), byte(column.end()));
        let raw = &line[start..end];
        (start < line.len()).then_some((if self.options.trim { trimmed(raw) } else { raw }, start))
    }

    fn read_line(&self, line: &[u8], at: usize, starts: &mut Vec<usize>, rows: &mut RowText) -> Result<(), Fault> {
        self.measure(line, starts);
        let expected = self.options.columns.len();
        let mut missing = 0;
        for column in &self.options.columns {
            if let Some((field, start)) = self.field(line, starts, column) {
                rows.push_bare(field, (at + start) as u32);
            } else {
                missing += 1;
                rows.push_missing((at + line.len()) as u32);
            }
        }
        if missing > 0 && self.options.short_records == ShortRecords::Reject {
            let kind = ShapeErrorKind::MissingFields { expected, found: expected - missing };
            let remedy = "check PLACES, or set SHORT_RECORDS pad";
            return Err(Fault::new(DefectKind::MissingFields, kind.reason(), remedy));
        }
        if missing > 0 {
            rows.note_repair(RepairKind::Short);
        }
        if self.options.long_records != LongRecords::Truncate {
            let rest = FixedColumn { name: String::new(), start: self.width, width: PLACE_MAX };
            if self.field(line, starts, &rest).is_some_and(|(rest, _)| !rest.iter().all(|byte| is_blank(*byte))) {
                let reason = format!("has text behind place {}, where the last field ends", self.width);
                let remedy = "check PLACES, or set LONG_RECORDS truncate";
                return Err(Fault::new(DefectKind::ExtraFields, reason, remedy));
            }
        }
        if self.options.whole_words
            && let Some(place) = self.place_in_word(line, starts)
        {
            let reason =
                format!("has a word that goes over place {place}, where a field begins in the lines of the sample");
            let remedy = "set PLACES to where fields begin and end, or FORMAT csv with a DELIMITER";
            return Err(Fault::new(DefectKind::ExtraFields, reason, remedy));
        }
        Ok(())
    }

    /// The first place of a column that begins within a word.
    fn place_in_word(&self, line: &[u8], starts: &[usize]) -> Option<usize> {
        let is_filled = |place: usize| {
            let byte = if starts.is_empty() { Some(place) } else { starts.get(place).copied() };
            byte.and_then(|byte| line.get(byte)).is_some_and(|byte| !is_blank(*byte))
        };
        let places = self.options.columns.iter().map(|column| column.start);
        places.filter(|place| *place > 0 && is_filled(place - 1) && is_filled(*place)).min()
    }
}

impl RecordFormat for FixedWidth {
    fn complete(&self, text: &[u8], at_end: bool) -> usize {
        if at_end { text.len() } else { self.options.lines.line_ends.complete(text) }
    }

    /// # Panics
    /// If the rows have another number of fields than there are columns.
    fn read(&self, text: &[u8], rows: &mut RowText, defects: &mut Vec<Defect>) -> usize {
        assert_eq!(rows.fields(), self.options.columns.len(), "each column is a field");
        let mut starts = Vec::new();
        self.options.lines.read(text, rows, defects, |line, rows| {
            self.read_line(&text[line.start..line.end], line.start, &mut starts, rows)
        })
    }

    fn first_record(&self, text: &[u8], at_end: bool) -> Option<FirstRecord> {
        let text = &text[..self.complete(text, at_end)];
        let record = self.options.lines.record(text, 0)?;
        let line = &text[record.start..record.end];
        let mut starts = Vec::new();
        self.measure(line, &mut starts);
        let field = |column| self.field(line, &starts, column).map_or(Vec::new(), |(field, _)| field.to_vec());
        Some(FirstRecord { bytes: record.next, fields: self.options.columns.iter().map(field).collect() })
    }
}
