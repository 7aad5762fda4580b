//! Rows without those of another shape: the good records of a text, and what is wrong with each of the others.
//!
//! Marks are exact, so that a bad record ends where its line end stands outside quotes, and the next one is as good as
//! if the bad one were not there, and nothing inside quotes is taken for a record. A walk over the marks, made only
//! where they are not rectangular; most of it in steps of whole records.

use super::{Records, Rows, Scanned, Shape, ShapeError, ShapeErrorKind};
use crate::{Dialect, Marks, Padded, QuoteState, TextTraits};

impl<'a> Rows<'a> {
    /// As [`Rows::new`], but goes on behind misshapen records: these are appended to `errors` in their order, and the
    /// rows are all the others. A record with a stray carriage return counts as misshapen for that, whatever else is
    /// wrong with it.
    ///
    /// # Panics
    /// As [`Rows::new`].
    #[must_use]
    pub fn lenient(
        text: Padded<'a>,
        marks: &'a mut Marks,
        shape: Shape,
        traits: TextTraits,
        dialect: &'a Dialect,
        errors: &mut Vec<ShapeError>,
    ) -> Records<'a> {
        assert!(shape.fields > 0, "a record has at least one field");
        assert_eq!(marks.text_bytes(), text.len(), "the marks are those of another text");
        let (line_ends, carriage_returns) = (marks.line_ends(), marks.carriage_returns());
        let (positions, copied) = marks.parts();
        let scanned = Scanned { text: text.text(), positions, shape, trim: carriage_returns > 0 };
        let stride = shape.marks();
        let rows = Rows { text, marks: positions, stride, count: line_ends, shape, selected: false, traits, dialect };
        let rows = match (scanned.is_rectangular(line_ends), scanned.trim) {
            (true, false) => rows,
            (true, true) if scanned.copy_trimmed(line_ends, copied) == carriage_returns => {
                Rows { marks: copied, stride: stride + 1, ..rows }
            }
            _ => {
                let count = scanned.copy_good(line_ends, dialect, copied, errors);
                Rows { marks: copied, stride: stride + 1, count, selected: true, ..rows }
            }
        };
        Records { rows, consumed: scanned.end_of_records(), error: None }
    }
}

impl Scanned<'_> {
    /// Replaces `marks` by those of the complete records that have the shape that is expected, as
    /// [`Scanned::copy_trimmed`] leaves them, and appends the others to `errors`. Returns how many are good. There are
    /// `line_ends` records in all.
    ///
    /// At first, a record is taken to have as many marks as are expected if a line end stands there. That is wrong where
    /// short records add up to the length of one; then fewer records are found than there are line ends, and each is
    /// measured.
    fn copy_good(
        &self,
        line_ends: usize,
        dialect: &Dialect,
        marks: &mut Vec<u32>,
        errors: &mut Vec<ShapeError>,
    ) -> usize {
        let stride = self.shape.marks();
        let errors_before = errors.len();
        let expected =
            |first| Some(first + stride).filter(|&end| self.ends_record(end)).or_else(|| self.record_end(first));
        let count = self.copy_good_by(expected, dialect, marks, errors);
        if count + errors.len() - errors_before == line_ends {
            return count;
        }
        errors.truncate(errors_before);
        self.copy_good_by(|first| self.record_end(first), dialect, marks, errors)
    }

    /// The same, where `end_of` gives the mark that ends the record behind a mark, if it is complete.
    fn copy_good_by(
        &self,
        end_of: impl Fn(usize) -> Option<usize>,
        dialect: &Dialect,
        marks: &mut Vec<u32>,
        errors: &mut Vec<ShapeError>,
    ) -> usize {
        let stride = self.shape.marks();
        let (mut count, mut first) = (0, 0);
        marks.clear();
        while let Some(last) = end_of(first) {
            let (start, end) = (self.positions[first].wrapping_add(1), self.trimmed(self.positions[last]));
            let last_is_empty = self.positions[last - 1].wrapping_add(1) == end;
            let stray = self.stray_within(start, end, dialect);
            if let Some(kind) = stray.or_else(|| self.shape.check(last - first, last_is_empty)) {
                errors.push(ShapeError { row: count, start, end, kind });
            } else {
                marks.extend_from_slice(&self.positions[first..first + stride]);
                marks.push(end);
                count += 1;
            }
            first = last;
        }
        count
    }

    /// The mark that ends the record behind the mark `first`.
    fn record_end(&self, first: usize) -> Option<usize> {
        (first + 1..self.positions.len()).find(|&mark| self.ends_record(mark))
    }

    fn ends_record(&self, mark: usize) -> bool {
        self.positions.get(mark).is_some_and(|&position| self.is_line_end(position))
    }

    /// The first carriage return outside quotes in the record at `start..end`, line end excluded.
    fn stray_within(&self, start: u32, end: u32, dialect: &Dialect) -> Option<ShapeErrorKind> {
        if !self.trim {
            return None;
        }
        let record = &self.text[start as usize..end as usize];
        memchr::memchr(b'\r', record)?;
        let mut state = QuoteState::Outside;
        for (at, &byte) in (start..).zip(record) {
            if state == QuoteState::Outside && byte == b'\r' {
                return Some(ShapeErrorKind::StrayCarriageReturn { at });
            }
            state = state.step(dialect, byte);
        }
        None
    }

    /// Just behind the last line end.
    fn end_of_records(&self) -> usize {
        let last = self.positions[1..].iter().rfind(|mark| self.is_line_end(**mark));
        last.map_or(0, |mark| *mark as usize + 1)
    }
}
