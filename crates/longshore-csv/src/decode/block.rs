//! Decides how a block of numeric fields is read at once, in plain loops over arrays of words.
//!
//! The first loop collects: a word or two of every field, and its length. The second does arithmetic without
//! branches on words of eight digits each, as `simd_level::portable` does on one, and notes which rows it refuses.

#![allow(
    clippy::needless_bitwise_bool,
    reason = "lazy operators would be branches, and loops with branches do not become vector instructions"
)]

use std::mem::MaybeUninit;

use super::iso;
use super::simd_level::is_eight_digits;

/// Rows of a block: as many as a word has bits.
pub(crate) const BLOCK_ROWS: usize = 64;

/// A word per row.
pub(crate) type Words = [u64; BLOCK_ROWS];

/// What is collected of a block's fields; kept from block to block, so that it is not cleared each time.
#[repr(C, align(64))]
pub(crate) struct Collected {
    heads: Words,
    tails: Words,
    lens: Words,
    refused: Words,
}

impl Collected {
    /// Nothing.
    pub(crate) fn new() -> Collected {
        Collected { heads: [0; BLOCK_ROWS], tails: [0; BLOCK_ROWS], lens: [0; BLOCK_ROWS], refused: [0; BLOCK_ROWS] }
    }
}

/// Where a block's fields are, and how long.
pub(crate) trait Content: Fn(usize) -> (*const u8, usize) {}

impl<T: Fn(usize) -> (*const u8, usize)> Content for T {}

const ZEROS: u64 = u64::from_le_bytes(*b"00000000");

/// The eight bytes at `field`.
///
/// # Safety
///
/// They can be read.
#[inline(always)]
pub(crate) unsafe fn word(field: *const u8) -> u64 {
    // SAFETY: as the caller promises.
    u64::from_le(unsafe { field.cast::<u64>().read_unaligned() })
}

/// `len` digits at the low end of `word`, moved to its high end, with zeros below and `'0'` taken off.
#[inline(always)]
pub(crate) fn aligned(word: u64, len: u64) -> u64 {
    (word ^ ZEROS).wrapping_shl(64_u32.wrapping_sub((len as u32).wrapping_mul(8)))
}

/// A bit per row whose word is not zero.
#[inline(always)]
pub(crate) fn rows_of(flags: &Words) -> u64 {
    if flags.iter().fold(0, |any, flag| any | flag) == 0 {
        return 0;
    }
    flags.iter().enumerate().fold(0, |rows, (row, flag)| rows | u64::from(*flag != 0) << row)
}

#[inline(always)]
fn times_ten(number: u64) -> u64 {
    (number << 3).wrapping_add(number << 1)
}

/// What eight values below 10 mean, as `simd_level::eight_digits` finds it, without multiplications of 64 bits, which
/// few vector units have.
#[inline(always)]
pub(crate) fn eight_digits(digits: u64) -> u64 {
    // What is no digit may overflow, and is refused.
    let pairs = times_ten(digits).wrapping_add(digits >> 8) & 0x00FF_00FF_00FF_00FF;
    let fours = times_ten(times_ten(pairs)).wrapping_add(pairs >> 16) & 0x0000_FFFF_0000_FFFF;
    (fours & 0xFFFF_FFFF) * 10_000 + (fours >> 32)
}

/// Reads integers of up to eight bytes within `min` to `max`; returns the rows that hold others.
///
/// # Safety
///
/// Each field's length plus 8 bytes can be read.
#[inline(always)]
pub(crate) unsafe fn integers<T>(
    collected: &mut Collected,
    content: impl Content,
    slots: &mut [MaybeUninit<T>; BLOCK_ROWS],
    (min, max): (i64, i64),
    narrow: impl Fn(i64) -> T,
) -> u64 {
    let Collected { heads, lens, refused, .. } = collected;
    for row in 0..BLOCK_ROWS {
        let (field, len) = content(row);
        // SAFETY: as the caller promises.
        heads[row] = unsafe { word(field) };
        lens[row] = len as u64;
    }
    for row in 0..BLOCK_ROWS {
        let negative = u64::from(heads[row] & 0xFF == u64::from(b'-'));
        let len = lens[row].wrapping_sub(negative);
        let digits = aligned(heads[row] >> (8 * negative), len);
        let sign = (negative as i64).wrapping_neg();
        let number = (eight_digits(digits) as i64 ^ sign).wrapping_sub(sign);
        let good = (lens[row].wrapping_sub(1) < 8) & (len != 0) & is_eight_digits(digits);
        refused[row] = u64::from(!(good & (min <= number) & (number <= max)));
        slots[row].write(narrow(number));
    }
    rows_of(refused)
}

/// Most digits behind the point that [`decimals`] reads.
pub(crate) const SCALE_MAX: u8 = 7;

/// Reads decimals of up to eight digits before the point, and either none or exactly `scale` behind it, that are less
/// than `limit` units of the last place; returns the rows that hold others.
///
/// # Safety
///
/// Each field's length plus 8 bytes can be read; `scale` is at most [`SCALE_MAX`].
#[inline(always)]
pub(crate) unsafe fn decimals<T>(
    collected: &mut Collected,
    content: impl Content,
    slots: &mut [MaybeUninit<T>; BLOCK_ROWS],
    scale: u8,
    limit: i64,
    widen: impl Fn(i64) -> T,
) -> u64 {
    let scale = usize::from(scale);
    let unit = 10_u64.pow(scale as u32);
    let Collected { heads, tails, lens, refused } = collected;
    for row in 0..BLOCK_ROWS {
        let (field, len) = content(row);
        // SAFETY: as the caller promises; the tail begins within the field.
        unsafe {
            heads[row] = word(field);
            tails[row] = word(field.add(len.saturating_sub(scale + 1)));
        }
        lens[row] = len as u64;
    }
    // Moves the digits behind the point to the high end; without any, nothing is left.
    let (fraction_shift, fraction_mask) = (64 - 8 * scale as u32, if scale == 0 { 0 } else { u64::MAX });
    for row in 0..BLOCK_ROWS {
        let negative = u64::from(heads[row] & 0xFF == u64::from(b'-'));
        let pointed = u64::from((tails[row] & 0xFF == u64::from(b'.')) & (lens[row] > scale as u64));
        let len = lens[row].wrapping_sub(negative + pointed * (scale as u64 + 1));
        let whole = aligned(heads[row] >> (8 * negative), len);
        let fraction =
            ((tails[row] ^ ZEROS) >> 8).wrapping_shl(fraction_shift) & fraction_mask & pointed.wrapping_neg();
        let number = (eight_digits(whole) & 0xFFFF_FFFF).wrapping_mul(unit).wrapping_add(eight_digits(fraction));
        let sign = (negative as i64).wrapping_neg();
        let good = (len.wrapping_add(negative).wrapping_sub(1) < 8)
            & (len != 0)
            & is_eight_digits(whole)
            & is_eight_digits(fraction)
            & ((number as i64) < limit);
        refused[row] = u64::from(!good);
        slots[row].write(widen((number as i64 ^ sign).wrapping_sub(sign)));
    }
    rows_of(refused)
}

/// Reads dates of the form `YYYY-MM-DD`; returns the rows that hold others, and those of leap days.
///
/// # Safety
///
/// Each field's length plus 16 bytes can be read.
#[inline(always)]
pub(crate) unsafe fn dates(
    collected: &mut Collected,
    content: impl Content,
    slots: &mut [MaybeUninit<i32>; BLOCK_ROWS],
) -> u64 {
    let Collected { heads, tails, refused, .. } = collected;
    let mut other_lens = 0;
    for row in 0..BLOCK_ROWS {
        let (field, len) = content(row);
        // SAFETY: as the caller promises.
        unsafe {
            heads[row] = word(field);
            tails[row] = word(field.add(2));
        }
        other_lens |= u64::from(len != 10) << row;
    }
    for row in 0..BLOCK_ROWS {
        // The year's digits in the lower half, month and hyphens in the upper one; the day in the upper quarter.
        let head = heads[row] ^ iso::YEAR_MONTH;
        let tail = (tails[row] ^ ZEROS) >> 48;
        let bad = (head.wrapping_add(iso::YEAR_MONTH_CHECK) | head) & 0x8080_8080_8080_8080
            | ((tail + 0x7676) | tail) & 0x8080;
        let pairs = times_ten(head).wrapping_add(head >> 8);
        let year = ((pairs & 0xFF) * 100 + (pairs >> 16 & 0xFF)) as u32;
        let month = (pairs >> 40 & 0xFF) as u32;
        let day = ((tail & 0xF) * 10 + (tail >> 8 & 0xF)) as u32;
        // Months of 31 days are odd before August and even from then on; the days of February are 28.
        let days = 30 + ((month ^ month >> 3) & 1) - if month == 2 { 2 } else { 0 };
        let good = (bad == 0) & (month.wrapping_sub(1) < 12) & (day.wrapping_sub(1) < days) & (year != 0);
        refused[row] = u64::from(!good);
        let number = iso::days(year as i32, month as i32, day as i32);
        slots[row].write(number);
    }
    rows_of(refused) | other_lens
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::simd_level;

    #[test]
    fn eight_digits_mean_the_same() {
        let mut number = 0_u64;
        while number < 100_000_000 {
            let text = format!("{number:08}");
            let digits = u64::from_le_bytes(text.as_bytes().try_into().unwrap()) ^ ZEROS;
            assert_eq!(eight_digits(digits), number);
            assert_eq!(simd_level::eight_digits(digits), number);
            number += 9_973;
        }
    }
}
