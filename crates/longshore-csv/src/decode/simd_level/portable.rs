//! Eight digits at a time in a 64-bit word: for every CPU.

#![allow(clippy::cast_ptr_alignment, reason = "all loads and stores are unaligned ones")]

use super::SimdLevel;

const ZEROS: u64 = 0x3030_3030_3030_3030;

/// Any CPU.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Portable;

/// Whether eight bytes, from which `'0'` was taken by exclusive or, are all below 10. A byte of 0x0A to 0x7F
/// gets its highest bit from the sum, a higher one has it; what it may carry changes no verdict.
#[inline(always)]
pub(crate) fn is_eight_digits(digits: u64) -> bool {
    (digits.wrapping_add(0x7676_7676_7676_7676) | digits) & 0x8080_8080_8080_8080 == 0
}

/// The number that eight values below 10 mean, the most significant in the lowest byte.
#[inline(always)]
pub(crate) fn eight_digits(digits: u64) -> u64 {
    const MASK: u64 = 0x0000_00FF_0000_00FF;
    // Pairs of digits in bytes 0, 2, 4 and 6.
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let first = (pairs & MASK).wrapping_mul(100 + (1_000_000 << 32));
    let second = (pairs >> 16 & MASK).wrapping_mul(1 + (10_000 << 32));
    first.wrapping_add(second) >> 32
}

/// `len` bytes (1 to 8) at `field` moved to the high end of a word, with `'0'` taken off; zeros below.
///
/// # Safety
///
/// 8 bytes can be read at `field`.
#[inline(always)]
unsafe fn aligned(field: *const u8, len: usize) -> u64 {
    // SAFETY: as the caller promises.
    let word = u64::from_le(unsafe { field.cast::<u64>().read_unaligned() });
    (word ^ ZEROS) << (64 - 8 * len)
}

impl SimdLevel for Portable {
    #[inline(always)]
    unsafe fn whole(field: *const u8, len: usize) -> Option<u64> {
        // SAFETY: `len` is 1 to 16, and 16 bytes can be read.
        unsafe {
            if len <= 8 {
                let digits = aligned(field, len);
                is_eight_digits(digits).then(|| eight_digits(digits))
            } else {
                let high = aligned(field, len - 8);
                let low = aligned(field.add(len - 8), 8);
                (is_eight_digits(high) && is_eight_digits(low))
                    .then(|| eight_digits(high) * 100_000_000 + eight_digits(low))
            }
        }
    }

    #[inline(always)]
    unsafe fn pointed(field: *const u8, len: usize, fraction: usize) -> Option<u64> {
        const POWERS: [u64; 16] = {
            let mut powers = [1; 16];
            let mut exponent = 1;
            while exponent < 16 {
                powers[exponent] = powers[exponent - 1] * 10;
                exponent += 1;
            }
            powers
        };
        let point = len - 1 - fraction;
        // SAFETY: both parts lie within the field, whose padding covers a word that begins in it.
        unsafe {
            let integer = if point == 0 { 0 } else { Self::whole(field, point)? };
            let behind = if fraction == 0 { 0 } else { Self::whole(field.add(point + 1), fraction)? };
            Some(integer * POWERS[fraction] + behind)
        }
    }

    #[inline(always)]
    unsafe fn point(field: *const u8, len: usize) -> usize {
        // SAFETY: the field can be read.
        let bytes = unsafe { std::slice::from_raw_parts(field, len) };
        bytes.iter().position(|byte| *byte == b'.').unwrap_or(len)
    }

    #[inline(always)]
    unsafe fn equal(text: *const u8, byte: u8) -> u64 {
        let pattern = u64::from(byte) * 0x0101_0101_0101_0101;
        // SAFETY: as the caller promises.
        unsafe {
            mask(text, |word| {
                // A byte of zero is one whose lower seven bits carry nothing and whose eighth is zero.
                let differs = word ^ pattern;
                !((differs & !HIGH).wrapping_add(!HIGH) | differs) & HIGH
            })
        }
    }

    #[inline(always)]
    unsafe fn store_view(slot: *mut u128, content: *const u8, mask: u128, low: u64, high: u64) {
        // SAFETY: as the caller promises.
        unsafe {
            let bytes = u128::from_le(content.cast::<u128>().read_unaligned()) & mask;
            slot.write(bytes << 32 | u128::from(low) | u128::from(high) << 64);
        }
    }

    #[inline(always)]
    unsafe fn high(text: *const u8) -> u64 {
        // SAFETY: as the caller promises.
        unsafe { mask(text, |word| word & HIGH) }
    }
}

const HIGH: u64 = 0x8080_8080_8080_8080;

/// A bit per byte of 64, from a function that gives the highest bits of eight.
///
/// # Safety
///
/// 64 bytes can be read at `text`.
#[inline(always)]
unsafe fn mask(text: *const u8, of: impl Fn(u64) -> u64) -> u64 {
    let mut mask = 0;
    for word in 0..8 {
        // SAFETY: as the caller promises.
        let bytes = u64::from_le(unsafe { text.add(8 * word).cast::<u64>().read_unaligned() });
        // The product moves the eight bits, 8 apart, next to each other in the highest byte.
        mask |= ((of(bytes) >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * word);
    }
    mask
}
