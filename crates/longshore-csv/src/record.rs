//! Decides whether marks form rows of equal length.
//!
//! Columns can be decoded one after the other if the fields of a column stand at a fixed stride in the list of marks.
//! That holds if every record has the same number of fields, which one look at each line end proves: the marks form
//! rows of `F` fields if and only if every `F`-th mark is a line end and no other is. Only when that fails is the list
//! walked record by record, to find the first one to blame, or all of them and the good ones between.
//! Not here: which fields a table wants, and in which file and line a bad record stands (`longshore-load`).

mod lenient;
mod shape;

pub use shape::{Shape, ShapeError, ShapeErrorKind};

use crate::{Dialect, Marks, Padded, QuoteState, TextTraits};

/// Complete records of equal length.
///
/// Field `column` of row `row` lies between `marks[row * stride + column] + 1` (wrapping) and
/// `marks[row * stride + column + 1]`; both are within the text and the first is not above the second.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    text: Padded<'a>,
    marks: &'a [u32],
    /// Marks from one row to the next. Rows that follow each other in the text share a mark, the line end of one being
    /// the start of the next; copied rows do not.
    stride: usize,
    count: usize,
    shape: Shape,
    /// Whether there may be bytes of no row between two rows.
    selected: bool,
    traits: TextTraits,
    dialect: &'a Dialect,
}

/// What [`Rows::new`] finds in a scanned text.
#[derive(Clone, Copy, Debug)]
pub struct Records<'a> {
    /// The complete records before the first misshapen one.
    pub rows: Rows<'a>,
    /// Bytes that `rows` take: up to and with the line end of the last one.
    pub consumed: usize,
    /// The first misshapen record among the complete ones.
    pub error: Option<ShapeError>,
}

impl<'a> Rows<'a> {
    /// The complete records of a text, given its marks. What follows the last line end is left for later.
    ///
    /// The error, if there is one, is that of the first bad record. A stray carriage return is reported before a wrong
    /// number of fields in the same record, which it may well have caused.
    ///
    /// # Panics
    /// If `shape` has no fields or `marks` are those of a text of another length.
    #[allow(clippy::new_ret_no_self, reason = "the rows come with what they leave over")]
    #[must_use]
    pub fn new(
        text: Padded<'a>,
        marks: &'a mut Marks,
        shape: Shape,
        traits: TextTraits,
        dialect: &'a Dialect,
    ) -> Records<'a> {
        assert!(shape.fields > 0, "a record has at least one field");
        assert_eq!(marks.text_bytes(), text.len(), "the marks are those of another text");
        let (line_ends, carriage_returns) = (marks.line_ends(), marks.carriage_returns());
        let (positions, trimmed) = marks.parts();
        let scanned = Scanned { text: text.text(), positions, shape, trim: carriage_returns > 0 };
        let mut error = if scanned.is_rectangular(line_ends) { None } else { scanned.first_misshapen() };
        let mut count = error.map_or(line_ends, |error| error.row);
        let stride = shape.marks();
        let mut rows =
            Rows { text, marks: &positions[..=count * stride], stride, count, shape, selected: false, traits, dialect };
        if scanned.trim {
            let in_line_ends = scanned.copy_trimmed(count, trimmed);
            if in_line_ends < carriage_returns {
                // The others are stray, or stand in a record that is misshapen or not complete yet.
                error = scanned.first_stray(count, error, dialect).or(error);
                count = error.map_or(line_ends, |error| error.row);
            }
            rows = Rows { marks: trimmed, stride: stride + 1, count, ..rows };
        }
        let consumed = scanned.start(count) as usize;
        Records { rows, consumed, error }
    }

    /// Rows whose marks are known without a scan: each mark ends a field, and the one behind it begins after it.
    ///
    /// # Panics
    /// If the marks are not those of whole rows, or go beyond the text.
    pub(crate) fn from_marks(
        text: Padded<'a>,
        marks: &'a [u32],
        shape: Shape,
        traits: TextTraits,
        dialect: &'a Dialect,
    ) -> Rows<'a> {
        let stride = shape.marks();
        assert!(!marks.is_empty() && (marks.len() - 1).is_multiple_of(stride), "the marks are those of whole rows");
        assert!(marks.len() == 1 || (marks[marks.len() - 1] as usize) < text.len(), "the marks lie within the text");
        debug_assert!(marks[1..].is_sorted());
        Rows { text, marks, stride, count: (marks.len() - 1) / stride, shape, selected: false, traits, dialect }
    }

    /// Number of rows.
    #[must_use]
    #[inline]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether there are no rows.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Fields of every row, not counting the empty one behind a trailing delimiter.
    #[must_use]
    #[inline]
    pub fn fields(&self) -> usize {
        self.shape.fields
    }

    /// The text that positions point into.
    #[must_use]
    #[inline]
    pub fn text(&self) -> Padded<'a> {
        self.text
    }

    /// The kinds of bytes that the text may hold.
    #[must_use]
    #[inline]
    pub fn traits(&self) -> TextTraits {
        self.traits
    }

    /// The dialect of the text.
    #[must_use]
    #[inline]
    pub fn dialect(&self) -> &'a Dialect {
        self.dialect
    }

    /// Start and end of a field as it stands in the text, quotes included.
    ///
    /// # Panics
    /// If there is no such row or column.
    #[must_use]
    #[inline(always)]
    pub fn field(&self, row: usize, column: usize) -> (u32, u32) {
        assert!(row < self.count && column < self.shape.fields, "no field at row {row}, column {column}");
        let at = row * self.stride + column;
        // SAFETY: `new` and `select` see to it that a row has a mark before its first field and one behind each.
        unsafe { (self.marks.get_unchecked(at).wrapping_add(1), *self.marks.get_unchecked(at + 1)) }
    }

    /// Start and end of a record, line end excluded.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    #[inline]
    pub fn record(&self, row: usize) -> (u32, u32) {
        assert!(row < self.count, "no row {row}");
        let first = row * self.stride;
        (self.marks[first].wrapping_add(1), self.marks[first + self.shape.marks()])
    }

    /// The first `count` rows.
    ///
    /// # Panics
    /// If there are fewer.
    #[must_use]
    pub fn truncated(self, count: usize) -> Rows<'a> {
        assert!(count <= self.count, "{count} rows of {}", self.count);
        Rows { count, ..self }
    }

    /// The first `count` rows, and those behind them.
    ///
    /// # Panics
    /// If there are fewer.
    #[must_use]
    pub fn split_at(self, count: usize) -> (Rows<'a>, Rows<'a>) {
        let rest = Rows { marks: &self.marks[count * self.stride..], count: self.count - count, ..self };
        (self.truncated(count), rest)
    }

    /// The rows with the given numbers, in their order; `marks` is scratch that is overwritten.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn select<'b>(self, rows: &[u32], marks: &'b mut Vec<u32>) -> Rows<'b>
    where
        'a: 'b,
    {
        let width = self.shape.marks();
        marks.clear();
        marks.reserve(rows.len() * (width + 1));
        for &row in rows {
            let row = row as usize;
            assert!(row < self.count, "no row {row}");
            let first = row * self.stride;
            marks.extend_from_slice(&self.marks[first..=first + width]);
        }
        Rows { marks, stride: width + 1, count: rows.len(), selected: true, ..self }
    }

    /// Bytes that the fields of all rows take at most, together.
    #[must_use]
    pub fn text_bytes(&self) -> usize {
        let bytes = |start: u32, end: u32| (end - start) as usize;
        if self.selected {
            (0..self.count).map(|row| self.record(row)).map(|(start, end)| bytes(start, end)).sum()
        } else if let Some(last) = self.count.checked_sub(1) {
            bytes(self.record(0).0, self.record(last).1)
        } else {
            0
        }
    }

    /// The marks and their stride, as described at [`Rows`].
    #[inline(always)]
    pub(crate) fn raw_marks(&self) -> (&'a [u32], usize) {
        (self.marks, self.stride)
    }
}

/// The marks of a text as the scan left them.
struct Scanned<'a> {
    text: &'a [u8],
    /// The sentinel and the marks.
    positions: &'a [u32],
    shape: Shape,
    /// Whether a carriage return before a line end belongs to it.
    trim: bool,
}

impl Scanned<'_> {
    /// Whether all complete records have the shape that is expected. There are `line_ends` of them.
    fn is_rectangular(&self, line_ends: usize) -> bool {
        let stride = self.shape.marks();
        let Some(marks) = self.positions.get(1..=line_ends * stride) else {
            return false;
        };
        if self.shape.trailing_delimiter {
            marks.chunks_exact(stride).all(|record| {
                let last = record[stride - 1];
                self.is_line_end(last) && record[stride - 2] + 1 == self.trimmed(last)
            })
        } else {
            marks.chunks_exact(stride).all(|record| self.is_line_end(record[stride - 1]))
        }
    }

    /// The first record that has another shape than is expected.
    fn first_misshapen(&self) -> Option<ShapeError> {
        let (mut row, mut marks) = (0, 0);
        for (index, &mark) in self.positions.iter().enumerate().skip(1) {
            marks += 1;
            if self.is_line_end(mark) {
                let start = self.positions[index - marks].wrapping_add(1);
                let end = self.trimmed(mark);
                let last_is_empty = self.positions[index - 1].wrapping_add(1) == end;
                if let Some(kind) = self.shape.check(marks, last_is_empty) {
                    return Some(ShapeError { row, start, end, kind });
                }
                row += 1;
                marks = 0;
            }
        }
        None
    }

    /// Replaces `marks` by those of the first `count` records, which have the shape that is expected: each with a mark of its
    /// own before the first field, and the last field ended by a carriage return that belongs to the line end. Returns
    /// how many such carriage returns there are.
    fn copy_trimmed(&self, count: usize, marks: &mut Vec<u32>) -> usize {
        let stride = self.shape.marks();
        let mut in_line_ends = 0;
        marks.clear();
        marks.reserve(count * (stride + 1));
        for record in self.positions.windows(stride + 1).step_by(stride).take(count) {
            let line_end = record[stride];
            let end = self.trimmed(line_end);
            in_line_ends += (line_end - end) as usize;
            marks.extend_from_slice(&record[..stride]);
            marks.push(end);
        }
        in_line_ends
    }

    /// The first unquoted carriage return that is not part of a line end, among `count` records of the shape that is
    /// expected and the misshapen one behind them.
    fn first_stray(&self, count: usize, misshapen: Option<ShapeError>, dialect: &Dialect) -> Option<ShapeError> {
        let end = misshapen.map_or(self.start(count), |error| error.end) as usize;
        let mut state = QuoteState::Outside;
        let at = (0..end).find(|&at| {
            let before = state;
            state = before.step(dialect, self.text[at]);
            before == QuoteState::Outside && self.text[at] == b'\r' && self.text.get(at + 1) != Some(&b'\n')
        })? as u32;
        let kind = ShapeErrorKind::StrayCarriageReturn { at };
        match (0..count).find(|&row| at < self.line_end(row)) {
            Some(row) => Some(ShapeError { row, start: self.start(row), end: self.trimmed(self.line_end(row)), kind }),
            None => misshapen.map(|error| ShapeError { kind, ..error }),
        }
    }

    /// Where record `row` begins, if all before it have the shape that is expected.
    fn start(&self, row: usize) -> u32 {
        self.positions[row * self.shape.marks()].wrapping_add(1)
    }

    /// The `\n` of record `row`, if it and all before it have the shape that is expected.
    fn line_end(&self, row: usize) -> u32 {
        self.positions[(row + 1) * self.shape.marks()]
    }

    #[inline(always)]
    fn is_line_end(&self, mark: u32) -> bool {
        self.text[mark as usize] == b'\n'
    }

    /// Where the last field of a record ends, given its `\n`: before a carriage return that stands directly before. It
    /// is no more quoted than the `\n`, and of the same record, as it is neither a quote nor a mark.
    #[inline(always)]
    fn trimmed(&self, line_end: u32) -> u32 {
        let returns = self.trim && line_end > 0 && self.text[line_end as usize - 1] == b'\r';
        line_end - u32::from(returns)
    }
}
