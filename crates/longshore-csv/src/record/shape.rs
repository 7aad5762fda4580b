//! The shape that is expected of every record, and how to say that one lacks it.

/// What every record must look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Fields of every record, at least one.
    pub fields: usize,
    /// Whether every record ends with one more delimiter.
    pub trailing_delimiter: bool,
}

impl Shape {
    /// Marks of every record: one behind each field, and the line end behind a trailing delimiter.
    pub(super) fn marks(self) -> usize {
        self.fields + usize::from(self.trailing_delimiter)
    }

    /// What is wrong with a record of `marks` marks whose last field is empty or not.
    pub(super) fn check(self, marks: usize, last_is_empty: bool) -> Option<ShapeErrorKind> {
        let expected = self.fields;
        let found = marks - usize::from(self.trailing_delimiter && last_is_empty);
        if found < expected {
            Some(ShapeErrorKind::MissingFields { expected, found })
        } else if found > expected {
            Some(ShapeErrorKind::ExtraFields { expected, found })
        } else if self.trailing_delimiter && !last_is_empty {
            Some(ShapeErrorKind::TrailingDelimiterMissing)
        } else {
            None
        }
    }
}

/// A record of another shape than is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShapeError {
    /// How many rows of the shape that is expected stand before it in the text.
    pub row: usize,
    /// Its first byte.
    pub start: u32,
    /// The byte behind its last one, line end excluded.
    pub end: u32,
    /// What is wrong.
    pub kind: ShapeErrorKind,
}

/// What is wrong with the shape of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShapeErrorKind {
    /// Too few fields. An empty line has one, which is empty; none, if each field is followed by a delimiter.
    MissingFields {
        /// Fields that are expected.
        expected: usize,
        /// Fields found.
        found: usize,
    },
    /// Too many fields.
    ExtraFields {
        /// Fields that are expected.
        expected: usize,
        /// Fields found.
        found: usize,
    },
    /// The right number of fields, but no delimiter behind the last one.
    TrailingDelimiterMissing,
    /// An unquoted carriage return that is not part of a line end.
    StrayCarriageReturn {
        /// Its position.
        at: u32,
    },
}

impl ShapeErrorKind {
    /// What is wrong, as a part of a sentence.
    #[must_use]
    pub fn reason(&self) -> String {
        let fields = |count: usize| {
            if count == 1 { "1 field".to_owned() } else { format!("{count} fields") }
        };
        match *self {
            ShapeErrorKind::MissingFields { expected, found } | ShapeErrorKind::ExtraFields { expected, found } => {
                format!("found {} where {expected} are expected", fields(found))
            }
            ShapeErrorKind::TrailingDelimiterMissing => "the last field is not followed by a delimiter".to_owned(),
            ShapeErrorKind::StrayCarriageReturn { .. } => {
                "found a carriage return that is neither quoted nor part of a line end".to_owned()
            }
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> String {
        match *self {
            ShapeErrorKind::MissingFields { .. } => {
                "check DELIMITER and QUOTE, list the columns that the file holds, or set SHORT_RECORDS pad".to_owned()
            }
            ShapeErrorKind::ExtraFields { expected, found } if found == expected + 1 => {
                "check DELIMITER and QUOTE, quote fields that hold the delimiter, or set TRAILING_DELIMITER true \
                 if every record ends with one, or LONG_RECORDS truncate"
                    .to_owned()
            }
            ShapeErrorKind::ExtraFields { .. } => {
                "check DELIMITER and QUOTE, quote fields that hold the delimiter, or set LONG_RECORDS truncate"
                    .to_owned()
            }
            ShapeErrorKind::TrailingDelimiterMissing => {
                "end every record with a delimiter, or none and set TRAILING_DELIMITER false".to_owned()
            }
            ShapeErrorKind::StrayCarriageReturn { .. } => {
                "quote the field, end every line with \\n or \\r\\n, or set LINE_ENDS any".to_owned()
            }
        }
    }
}
