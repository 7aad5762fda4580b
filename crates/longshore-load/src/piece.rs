//! The records of a piece of a span: what a worker decodes at a time.
//!
//! Not here: finding them (`worker`), what becomes of them (`fields`).

use longshore_csv::{Defect, RepairKind, RowText, Rows};

use crate::numbering::First;

/// Complete records of a piece.
pub(crate) struct Piece<'a> {
    /// Where the piece begins in its span.
    pub(crate) start: usize,
    /// Bytes that the records take.
    pub(crate) bytes: usize,
    pub(crate) rows: Rows<'a>,
    /// Records that are none, in their order. Of plain CSV at most one, and no rows behind it, unless the pass is
    /// lenient.
    pub(crate) defects: Vec<Defect>,
    /// Numbers of the first record, if a column asks for them.
    pub(crate) first_record: Option<First>,
    /// The rows, if they were rewritten and do not stand in the piece itself.
    pub(crate) rewritten: Option<&'a RowText>,
    /// The text is that of a mapped file, which others may write while it is decoded.
    pub(crate) may_change: bool,
}

impl<'a> Piece<'a> {
    /// The rows before the first defect.
    pub(crate) fn sound_rows(&self) -> Rows<'a> {
        self.defects.first().map_or(self.rows, |defect| self.rows.truncated(defect.row))
    }

    /// Whether every line of the piece is a row or a defect, as far as is known without a look at the text. The last
    /// line of a file may lack its line feed.
    pub(crate) fn has_a_line_per_record(&self) -> bool {
        self.rewritten.is_none() && !self.rows.traits().quotes
    }

    /// The rows whose records were repaired, in their order, and how.
    pub(crate) fn repairs(&self) -> &[(usize, RepairKind)] {
        self.rewritten.map_or(&[], |rows| rows.repairs())
    }

    /// Where the record that became row `row` begins and ends in the piece, line end excluded.
    pub(crate) fn record(&self, row: usize) -> (usize, usize) {
        let (start, end) = self.rewritten.map_or_else(|| self.rows.record(row), |rows| rows.record_origin(row));
        (start as usize, end as usize)
    }

    /// Where the field that stands at `start` in the rows' text begins in the piece.
    pub(crate) fn origin(&self, start: u32) -> usize {
        match self.rewritten {
            None => start as usize,
            Some(rows) => {
                let (row, column) = rows.locate(start);
                rows.field_origin(row, column) as usize
            }
        }
    }

    /// Records of the piece, good or not.
    pub(crate) fn records(&self) -> u64 {
        (self.rows.count() + self.defects.len()) as u64
    }

    /// The number in the file of the row that begins at `start` in the rows' text.
    pub(crate) fn number(&self, start: u32) -> u64 {
        self.first().in_file(self.records_before(start))
    }

    /// What the row that begins at `start` in the rows' text has of a source of numbers.
    pub(crate) fn number_of(&self, source: usize, start: u32) -> i64 {
        self.first().of_source(source, self.records_before(start))
    }

    fn first(&self) -> &First {
        self.first_record.as_ref().expect("the cursor counted, since a column asks for numbers")
    }

    /// Records of the piece, good or not, before the row that begins at `start` in the rows' text.
    fn records_before(&self, start: u32) -> u64 {
        let (mut low, mut high) = (0, self.rows.count());
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.rows.record(middle).0 < start {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let defects_before = self.defects.partition_point(|defect| defect.row <= low);
        (low + defects_before) as u64
    }
}
