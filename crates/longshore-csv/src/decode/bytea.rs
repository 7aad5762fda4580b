//! Bytes: `\x` and hexadecimal digits.

use std::mem::MaybeUninit;

use super::conversion::{Conversion, Exact};
use super::target::VIEW_INLINE_BYTES_MAX;
use super::{Heap, Reason, ValueType, Values, exact};

/// Marks a byte that is no hexadecimal digit; no sum of digits has this bit.
pub(super) const NO_DIGIT: u8 = 0x80;

/// The value of every hexadecimal digit.
pub(super) static DIGITS: [u8; 256] = {
    let mut values = [NO_DIGIT; 256];
    let digits = b"0123456789abcdef";
    let mut value = 0;
    while value < 16 {
        values[digits[value] as usize] = value as u8;
        values[digits[value].to_ascii_uppercase() as usize] = value as u8;
        value += 1;
    }
    values
};

/// The conversion to bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bytea;

impl Exact for Bytea {
    type Value = u128;

    fn new(_: ValueType) -> Self {
        Bytea
    }

    fn slots<'t>(values: &'t mut Values<'_>) -> Option<&'t mut [MaybeUninit<u128>]> {
        if let Values::Views(slots) = values { Some(slots) } else { None }
    }

    fn exact(self, content: &[u8], heap: &mut Heap<'_>) -> Result<u128, Reason> {
        let mut bytes = Vec::new();
        exact::bytea(content, &mut bytes)?;
        Ok(heap.view(&bytes))
    }
}

impl Conversion for Bytea {
    #[inline(always)]
    unsafe fn fast(self, field: *const u8, len: usize, heap: &mut Heap<'_>) -> Option<u128> {
        // SAFETY: the field can be read.
        let field = unsafe { std::slice::from_raw_parts(field, len) };
        let digits = field.strip_prefix(b"\\x")?;
        let (pairs, []) = digits.as_chunks::<2>() else { return None };
        let mut short = [0; VIEW_INLINE_BYTES_MAX];
        let is_long = pairs.len() > short.len();
        let out = if is_long {
            let to = heap.reserve(pairs.len());
            // SAFETY: as many bytes are reserved; zeroes are written so that no byte is uninitialised.
            unsafe {
                to.write_bytes(0, pairs.len());
                std::slice::from_raw_parts_mut(to, pairs.len())
            }
        } else {
            &mut short[..pairs.len()]
        };
        let mut seen = 0;
        for ([high, low], slot) in pairs.iter().zip(&mut *out) {
            let (high, low) = (DIGITS[usize::from(*high)], DIGITS[usize::from(*low)]);
            seen |= high | low;
            *slot = high << 4 | low;
        }
        if seen & NO_DIGIT != 0 {
            return None;
        }
        if !is_long {
            return Some(heap.view(out));
        }
        // SAFETY: all of them were just written.
        Some(unsafe { heap.keep_view(pairs.len()) })
    }
}
