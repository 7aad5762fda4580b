//! Marks to rectangular rows.
use crate::{Dialect, Marks, Padded, TextTraits};

/// What every record must look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Fields of every record, at least one.
    pub fields: usize,
    /// Whether every record ends with one more delimiter.
    pub trailing_delimiter: bool,
}

/// Complete records of equal length.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    text: Padded<'a>,
    marks: &'a [u32],
    stride: usize,
    count: usize,
    shape: Shape,
    traits: TextTraits,
    dialect: &'a Dialect,
}

/// What [`Rows::new`] found.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    /// The records before the first misshapen one.
    pub rows: Rows<'a>,
    /// Bytes of `rows`: up to and with the last record's line end.
    pub consumed: usize,
    /// The first misshapen record, if there is one.
    pub error: Option<ShapeError>,
}

impl<'a> Rows<'a> {
    /// The complete records of a scanned text.
    #[must_use]
    pub fn new(
        text: Padded<'a>,
        marks: &'a mut Marks,
        shape: Shape,
        traits: TextTraits,
        dialect: &'a Dialect,
    ) -> Records<'a> {
        let _ = (text, marks, shape, traits, dialect);
        todo!()
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

    /// Fields per row.
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
    #[must_use]
    #[inline(always)]
    pub fn field(&self, row: usize, column: usize) -> (u32, u32) {
        assert!(row < self.count && column < self.shape.fields, "no such field");
        let at = row * self.stride + column;
        (self.marks[at].wrapping_add(1), self.marks[at + 1])
    }

    /// Start and end of a record without its line end.
    #[must_use]
    pub fn record(&self, row: usize) -> (u32, u32) {
        let _ = row;
        todo!()
    }

    /// The first `count` rows.
    #[must_use]
    pub fn truncated(self, count: usize) -> Rows<'a> {
        let _ = count;
        todo!()
    }

    /// The given rows (ascending), their marks copied to `marks`.
    #[must_use]
    pub fn select<'b>(self, rows: &[u32], marks: &'b mut Vec<u32>) -> Rows<'b>
    where
        'a: 'b,
    {
        let _ = (rows, marks);
        todo!()
    }

    /// At least the bytes of all fields together.
    #[must_use]
    pub fn text_bytes(&self) -> usize {
        todo!()
    }

    /// The marks and their stride: field `column` of row `row` lies between `marks[row * stride + column] + 1`
    /// (wrapping) and `marks[row * stride + column + 1]`.
    #[inline(always)]
    pub(crate) fn raw_marks(&self) -> (&'a [u32], usize) {
        (self.marks, self.stride)
    }
}

/// A record of the wrong shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShapeError {
    /// Its row, counted from the start of the text.
    pub row: usize,
    /// Its first byte.
    pub start: u32,
    /// The byte behind it, line end excluded.
    pub end: u32,
    /// What is wrong.
    pub kind: ShapeErrorKind,
}

/// What is wrong with a record's shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShapeErrorKind {
    /// Too few fields.
    MissingFields {
        /// Fields due.
        expected: usize,
        /// Fields found.
        found: usize,
    },
    /// Too many fields.
    ExtraFields {
        /// Fields due.
        expected: usize,
        /// Fields found.
        found: usize,
    },
    /// The right number of fields, but no delimiter behind the last one.
    TrailingDelimiterMissing,
    /// An unquoted `\r` that is not part of a line end.
    StrayCarriageReturn {
        /// Position of the `\r`.
        at: u32,
    },
}

impl ShapeErrorKind {
    /// What is wrong, as part of a sentence.
    #[must_use]
    pub fn reason(&self) -> String {
        todo!()
    }

    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> String {
        todo!()
    }
}
