//! Decides which instructions the column loops can be compiled for, and the arithmetic that depends on them.
//!
//! Digits are moved to the right end of a register, so that zeros fill the left, checked all at once, and
//! summed in pairs: 16 digits, 8 numbers below 100, 4 below 10^4, 2 below 10^8. The paper (3.4) validates by
//! `pcmpistrm` ranges and then sums digit by digit; checking and summing 8 or 16 at a time is shorter.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;

#[cfg(target_arch = "x86_64")]
pub(crate) use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) use avx512::Avx512;
pub(crate) use portable::{Portable, eight_digits, is_eight_digits};

/// Most digits that [`SimdLevel::whole`] and its siblings take, as bytes of text.
pub(crate) const TEXT_BYTES_MAX: usize = 16;

/// Instructions, by the arithmetic that they make fast.
pub(crate) trait SimdLevel: Copy {
    /// The number that `len` digits mean; `None` if any is no digit.
    ///
    /// # Safety
    ///
    /// `len` is 1 to [`TEXT_BYTES_MAX`]; `len` plus 16 bytes can be read at `field`; the CPU runs the instructions.
    unsafe fn whole(field: *const u8, len: usize) -> Option<u64>;

    /// The number that `len - 1` digits mean among which stands one other byte, `fraction` digits before their
    /// end, which the caller has seen to be a point; `None` if any is no digit.
    ///
    /// # Safety
    ///
    /// `len` is 2 to [`TEXT_BYTES_MAX`], `fraction` less than `len`; `len` plus 16 bytes can be read at `field`; the
    /// CPU runs the instructions.
    unsafe fn pointed(field: *const u8, len: usize, fraction: usize) -> Option<u64>;

    /// Offset of the first point within `len` bytes, or `len`.
    ///
    /// # Safety
    ///
    /// `len` is 1 to [`TEXT_BYTES_MAX`]; `len` plus 16 bytes can be read at `field`; the CPU runs the instructions.
    unsafe fn point(field: *const u8, len: usize) -> usize;

    /// Which of 64 bytes are `byte`: a bit each.
    ///
    /// # Safety
    ///
    /// 64 bytes can be read at `text`; the CPU runs the instructions.
    unsafe fn equal(text: *const u8, byte: u8) -> u64;

    /// Which of 64 bytes are 0x80 or above: a bit each.
    ///
    /// # Safety
    ///
    /// 64 bytes can be read at `text`; the CPU runs the instructions.
    unsafe fn high(text: *const u8) -> u64;

    /// Stores those of 64 bytes that `keep` has a bit for, one behind the other; what is behind them is overwritten, up to 64
    /// bytes in all.
    ///
    /// # Safety
    ///
    /// 64 bytes can be read at `text` and stored at `to`; the CPU runs the instructions.
    #[inline(always)]
    unsafe fn compress(text: *const u8, keep: u64, to: *mut u8) {
        let (mut from, mut stored) = (0, 0);
        while from < 64 && keep >> from != 0 {
            from += (keep >> from).trailing_zeros() as usize;
            let run = (!(keep >> from)).trailing_zeros() as usize;
            // SAFETY: as the caller promises; a run is no longer than what is left of the 64 bytes.
            unsafe { std::ptr::copy_nonoverlapping(text.add(from), to.add(stored), run) };
            stored += run;
            from += run;
        }
    }

    /// Stores a view: the 12 bytes at `content` that `mask` keeps, behind 4 bytes of zeros, or-ed with the words `low`
    /// and `high`.
    ///
    /// # Safety
    ///
    /// 16 bytes can be read at `content` and stored at `slot`; the CPU runs the instructions.
    unsafe fn store_view(slot: *mut u128, content: *const u8, mask: u128, low: u64, high: u64);
}

/// The number of up to 38 digits; `None` if there are none, more, or other bytes.
///
/// # Safety
///
/// `len` plus `len` plus 16 bytes can be read at `field`; the CPU runs the instructions of `T`.
#[inline(always)]
pub(crate) unsafe fn long_whole<T: SimdLevel>(field: *const u8, len: usize) -> Option<u128> {
    if len == 0 || len > 38 {
        return None;
    }
    let mut number = 0_u128;
    let mut at = 0;
    // The first part takes what is over, so that all others have 16 digits.
    let mut part = (len - 1) % TEXT_BYTES_MAX + 1;
    while at < len {
        // SAFETY: parts lie within the field.
        let digits = unsafe { T::whole(field.add(at), part) }?;
        number = number * 10_u128.pow(16) + u128::from(digits);
        at += part;
        part = TEXT_BYTES_MAX;
    }
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: SimdLevel>() {
        let digits = b"9876543210123456";
        for len in 1..=TEXT_BYTES_MAX {
            let mut text = [b'7'; 80];
            text[..len].copy_from_slice(&digits[..len]);
            let expected: u64 = std::str::from_utf8(&digits[..len]).unwrap().parse().unwrap();
            // SAFETY: the text is long enough and the caller checked the CPU.
            unsafe {
                assert_eq!(T::whole(text.as_ptr(), len), Some(expected), "{len} digits");
                assert_eq!(T::point(text.as_ptr(), len), len);
            }
            for at in 0..len {
                for byte in (0..=u8::MAX).filter(|byte| !byte.is_ascii_digit()) {
                    let mut wrong = text;
                    wrong[at] = byte;
                    // SAFETY: as above.
                    assert_eq!(unsafe { T::whole(wrong.as_ptr(), len) }, None, "{byte} at {at} of {len}");
                }
            }
            for fraction in 0..len {
                if len < 2 {
                    continue;
                }
                let at = len - 1 - fraction;
                let mut pointed = [b'.'; 80];
                pointed[..at].copy_from_slice(&digits[..at]);
                pointed[at + 1..len].copy_from_slice(&digits[at..len - 1]);
                let expected: u64 = std::str::from_utf8(&digits[..len - 1]).unwrap().parse().unwrap();
                // SAFETY: as above.
                unsafe {
                    assert_eq!(T::pointed(pointed.as_ptr(), len, fraction), Some(expected), "{fraction} of {len}");
                    assert_eq!(T::point(pointed.as_ptr(), len), at);
                }
                for other in (0..len).filter(|other| *other != at) {
                    for byte in (0..=u8::MAX).filter(|byte| !byte.is_ascii_digit()) {
                        let mut wrong = pointed;
                        wrong[other] = byte;
                        // SAFETY: as above.
                        assert_eq!(unsafe { T::pointed(wrong.as_ptr(), len, fraction) }, None);
                    }
                }
            }
        }
    }

    #[test]
    fn portable_arithmetic_is_exact() {
        check::<Portable>();
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn avx2_arithmetic_is_exact() {
        if crate::Kernel::Avx2.is_available() {
            check::<Avx2>();
        }
        if crate::Kernel::Avx512.is_available() {
            check::<Avx512>();
        }
    }

    #[test]
    fn long_numbers_are_put_together() {
        let text = [b'9'; 128];
        for len in 1..=38 {
            // SAFETY: the text is long enough.
            let number = unsafe { long_whole::<Portable>(text.as_ptr(), len) };
            assert_eq!(number, Some(10_u128.pow(len as u32) - 1));
        }
        // SAFETY: as above.
        assert_eq!(unsafe { long_whole::<Portable>(text.as_ptr(), 39) }, None);
    }
}
