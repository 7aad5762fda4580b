//! Takes spare rows into a partition buffer except some: those that turned out bad after other columns were filled.
//!
//! The kept rows move together within the room that was spared, column by column, before the buffer takes them; so
//! statistics never see a rejected row, and a load without any pays nothing. What rejected rows put on the heap stays
//! there, out of reach.

use super::{PartitionBuffer, Physical, Region};
use crate::values::SpareValues;

impl PartitionBuffer {
    /// As [`PartitionBuffer::advance`], but leaves out the rows `rejected`: numbers among the `rows`, ascending. `nulls`
    /// counts all validity bits that were cleared, those of rejected rows too.
    ///
    /// # Safety
    ///
    /// As for [`PartitionBuffer::advance`]. Values of rejected rows need not have been written.
    ///
    /// # Panics
    ///
    /// When the counts cannot be right, or `rejected` does not ascend.
    pub unsafe fn advance_without(&mut self, rows: usize, rejected: &[u32], nulls: &[usize], heap_used: usize) {
        assert!(rows <= self.capacity - self.rows, "no more rows than were spared");
        assert_eq!(nulls.len(), self.columns.len(), "one count per column");
        assert!(rejected.is_sorted_by(|a, b| a < b), "each rejected row once, in order");
        assert!(rejected.last().is_none_or(|&last| (last as usize) < rows), "only rows that were spared are rejected");
        let filled = self.rows;
        let mut nulls = nulls.to_vec();
        if !rejected.is_empty() {
            for (column, nulls) in self.columns.iter_mut().zip(&mut nulls) {
                close_value_gaps(column.physical, &mut column.values, filled, rows, rejected);
                if let Some(codes) = &mut column.codes {
                    close_gaps(codes.room(rows), rejected);
                }
                if *nulls > 0 {
                    let first = filled / 8;
                    let bytes = (filled + rows).div_ceil(8) - first;
                    let validity = column.validity.spare::<u8>(first, bytes);
                    // SAFETY: `spare` has written them, for at least as many rows.
                    let validity = unsafe { validity.assume_init_mut() };
                    *nulls -= close_bit_gaps(validity, filled % 8, rows, rejected);
                }
            }
        }
        // SAFETY: the caller's promise, for the rows that are left; the NULLs of the others are no longer counted.
        unsafe { self.advance(rows - rejected.len(), &nulls, heap_used) };
    }
}

impl PartitionBuffer {
    /// Takes rows out of the buffer that turned out bad afterwards, by their numbers, ascending. What they put on the heap
    /// stays there, out of reach; bounds are gathered anew when the buffer is sealed.
    ///
    /// # Panics
    ///
    /// When `rejected` does not ascend, or there are no such rows.
    pub fn remove(&mut self, rejected: &[u32]) {
        assert!(rejected.is_sorted_by(|a, b| a < b), "each row once, in order");
        assert!(rejected.last().is_none_or(|&last| (last as usize) < self.rows), "only rows that there are");
        if rejected.is_empty() {
            return;
        }
        let rows = self.rows;
        for column in &mut self.columns {
            close_value_gaps(column.physical, &mut column.values, 0, rows, rejected);
            if column.nulls > 0 {
                // SAFETY: the bits of all rows were written when they were spared.
                let bits = unsafe { column.validity.spare::<u8>(0, rows.div_ceil(8)).assume_init_mut() };
                column.nulls -= close_bit_gaps(bits, 0, rows, rejected);
            }
            if let Some(codes) = &mut column.codes {
                close_gaps(codes.codes_mut(), rejected);
                codes.codes_mut().truncate(rows - rejected.len());
            }
        }
        self.rows -= rejected.len();
        self.has_lost_rows = true;
    }
}

/// The runs of rows to keep, in order: where each begins, where it goes, and how many rows it has.
fn kept_runs(rows: usize, rejected: &[u32]) -> impl Iterator<Item = (usize, usize, usize)> {
    let ends = rejected.iter().map(|&row| row as usize).chain([rows]);
    let starts = std::iter::once(0).chain(rejected.iter().map(|&row| row as usize + 1));
    starts.zip(ends).enumerate().map(|(gaps, (start, end))| (start, start - gaps, end - start))
}

/// Moves the values of the kept rows together, among the `rows` from row `from` on.
fn close_value_gaps(physical: Physical, values: &mut Region, from: usize, rows: usize, rejected: &[u32]) {
    match SpareValues::of(physical, values, from, rows) {
        SpareValues::U8(values) => close_gaps(values, rejected),
        SpareValues::I16(values) => close_gaps(values, rejected),
        SpareValues::I32(values) => close_gaps(values, rejected),
        SpareValues::I64(values) => close_gaps(values, rejected),
        SpareValues::I128(values) => close_gaps(values, rejected),
        SpareValues::F32(values) => close_gaps(values, rejected),
        SpareValues::F64(values) => close_gaps(values, rejected),
        SpareValues::Views(values) => close_gaps(values, rejected),
    }
}

fn close_gaps<T: Copy>(values: &mut [T], rejected: &[u32]) {
    for (from, to, count) in kept_runs(values.len(), rejected).skip(1) {
        values.copy_within(from..from + count, to);
    }
}

/// Moves the bits of the kept rows together; row 0 has bit `offset`. The bits behind them become ones. Returns how many
/// rejected rows had a zero.
fn close_bit_gaps(bits: &mut [u8], offset: usize, rows: usize, rejected: &[u32]) -> usize {
    let is_zero = |&&row: &&u32| {
        let bit = offset + row as usize;
        bits[bit / 8] >> (bit % 8) & 1 == 0
    };
    let zeros = rejected.iter().filter(is_zero).count();
    for (from, to, count) in kept_runs(rows, rejected).skip(1) {
        move_bits(bits, offset + from, offset + to, count);
    }
    for bit in offset + rows - rejected.len()..offset + rows {
        bits[bit / 8] |= 1 << (bit % 8);
    }
    zeros
}

/// Moves `count` bits from bit `from` down to bit `to`.
fn move_bits(bits: &mut [u8], from: usize, to: usize, count: usize) {
    debug_assert!(to <= from);
    let mut done = 0;
    while done < count {
        let (source, target) = (from + done, to + done);
        if target.is_multiple_of(8) && count - done >= 8 {
            // A whole byte of the target; its source begins within one byte and may end in the next.
            let pair = u16::from_le_bytes([bits[source / 8], bits.get(source / 8 + 1).copied().unwrap_or(0)]);
            bits[target / 8] = (pair >> (source % 8)) as u8;
            done += 8;
        } else {
            let bit = bits[source / 8] >> (source % 8) & 1;
            let byte = &mut bits[target / 8];
            *byte = *byte & !(1 << (target % 8)) | bit << (target % 8);
            done += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows to reject among so many: none, all, one, runs of them.
    fn choices(rows: usize) -> Vec<Vec<u32>> {
        let some = |keep: &dyn Fn(usize) -> bool| (0..rows).filter(|row| !keep(*row)).map(|row| row as u32).collect();
        vec![
            Vec::new(),
            some(&|_| false),
            some(&|row| row > 0),
            some(&|row| row + 1 < rows),
            some(&|row| row % 10 > 2),
            some(&|row| row % 37 > 0),
            some(&|row| row * row % 7 != 2),
        ]
    }

    #[test]
    fn kept_values_move_together() {
        for rows in [1, 2, 8, 9, 100] {
            for rejected in choices(rows) {
                let mut values: Vec<i32> = (0..rows as i32).collect();
                close_gaps(&mut values, &rejected);
                let right: Vec<i32> = (0..rows as i32).filter(|row| !rejected.contains(&row.cast_unsigned())).collect();
                assert_eq!(values[..right.len()], right);
            }
        }
    }

    #[test]
    fn kept_bits_move_together() {
        for (rows, offset) in [(1, 0), (1, 7), (9, 3), (64, 0), (100, 5), (1000, 1)] {
            for rejected in choices(rows) {
                let bit = |row: usize| row * row % 11 < 6;
                let mut bits = vec![0b1010_1010_u8; (offset + rows).div_ceil(8)];
                let before = bits[0] & ((1 << offset) - 1);
                for row in 0..rows {
                    let at = offset + row;
                    bits[at / 8] = bits[at / 8] & !(1 << (at % 8)) | u8::from(bit(row)) << (at % 8);
                }
                let zeros = close_bit_gaps(&mut bits, offset, rows, &rejected);
                assert_eq!(zeros, rejected.iter().filter(|row| !bit(**row as usize)).count());
                let mut right: Vec<bool> =
                    (0..rows).filter(|row| !rejected.contains(&(*row as u32))).map(bit).collect();
                right.resize(rows, true);
                let found: Vec<bool> = (offset..offset + rows).map(|at| bits[at / 8] >> (at % 8) & 1 == 1).collect();
                assert_eq!(found, right, "{rows} rows from bit {offset} on without {rejected:?}");
                assert_eq!(bits[0] & ((1 << offset) - 1), before, "bits of rows before");
            }
        }
    }
}
