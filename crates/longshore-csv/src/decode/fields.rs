//! The raw fields of one column of the rows of a piece.

use super::{Bad, FieldError, Reason};
use crate::{Padded, Rows};

/// The fields of one column.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a> {
    text: Padded<'a>,
    marks: &'a [u32],
    stride: usize,
    count: usize,
}

impl<'a> Fields<'a> {
    /// Column `column` of `rows`.
    pub(crate) fn new(rows: &Rows<'a>, column: usize) -> Fields<'a> {
        assert!(column < rows.fields(), "column {column} of rows of {} fields", rows.fields());
        let (marks, stride) = rows.raw_marks();
        let (text, count) = (rows.text(), rows.count());
        let marks = if count == 0 { &[] } else { &marks[column..] };
        assert!(count == 0 || (count - 1) * stride + 1 < marks.len(), "too few marks for {count} rows");
        Fields { text, marks, stride, count }
    }

    /// Number of rows.
    #[inline(always)]
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Start and end of the raw field of `row`.
    ///
    /// # Safety
    ///
    /// `row` is less than the number of rows.
    #[inline(always)]
    unsafe fn bounds(&self, row: usize) -> (u32, u32) {
        let at = row * self.stride;
        // SAFETY: `new` checked that the marks reach to the last row.
        unsafe { (self.marks.get_unchecked(at).wrapping_add(1), *self.marks.get_unchecked(at + 1)) }
    }

    /// Address and length of the raw field of `row`. [`crate::PADDING`] bytes behind it can be read.
    ///
    /// # Safety
    ///
    /// `row` is less than the number of rows.
    #[inline(always)]
    pub(crate) unsafe fn at(&self, row: usize) -> (*const u8, usize) {
        // SAFETY: as the caller promises. Fields lie within the text, which is part of a longer buffer, and do
        // not end before they start.
        unsafe {
            let (start, end) = self.bounds(row);
            (self.text.buffer().as_ptr().add(start as usize), end.wrapping_sub(start) as usize)
        }
    }

    /// Reports that the field of `row` is bad; returns what its slot gets if that does not end the column.
    #[cold]
    #[inline(never)]
    pub(crate) fn refuse<V: Default>(&self, row: usize, reason: Reason, bad: &mut Bad<'_>) -> Result<V, FieldError> {
        assert!(row < self.count);
        // SAFETY: just checked.
        let (start, end) = unsafe { self.bounds(row) };
        bad(FieldError { row, start, end, reason })?;
        Ok(V::default())
    }
}
