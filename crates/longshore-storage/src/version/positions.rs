//! Synopses of where rows with versions are (the thesis, 2.2.6: `VersionedPositions`).

use std::ops::Range;

/// Rows of a range, each of which has a synopsis.
pub(crate) const RANGE_ROWS: usize = 1024;

/// The first row of a range with a version and the one behind the last; it may be too wide, never too narrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    first: u16,
    end: u16,
}

impl Span {
    pub(crate) const EMPTY: Span = Span { first: u16::MAX, end: 0 };

    pub(crate) fn add(&mut self, row: usize) {
        debug_assert!(row < RANGE_ROWS);
        self.first = self.first.min(row as u16);
        self.end = self.end.max(row as u16 + 1);
    }

    /// The rows, counted within the range.
    pub(crate) fn rows(self) -> Range<usize> {
        self.first.into()..self.end.max(self.first).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_covers_what_was_added() {
        let mut span = Span::EMPTY;
        assert!(span.rows().is_empty());
        for row in [5, 3, 900] {
            span.add(row);
        }
        assert_eq!(span.rows(), 3..901);
        let mut last = Span::EMPTY;
        last.add(RANGE_ROWS - 1);
        assert_eq!(last.rows(), RANGE_ROWS - 1..RANGE_ROWS);
    }
}
