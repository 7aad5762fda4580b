//! Booleans: the words that PostgreSQL and others write.

use std::mem::MaybeUninit;

use super::column::{Conversion, Exact};
use super::{Heap, Reason, ValueType, Values, exact};

/// A word of up to five bytes as a number, with its length in the highest byte.
const fn word(text: &[u8]) -> u64 {
    let mut word = 0;
    let len = (text.len() as u64) << 56;
    let mut at = text.len();
    while at > 0 {
        at -= 1;
        word = word << 8 | text[at] as u64;
    }
    word | len
}

const ONE: u64 = word(b"1");
const ZERO: u64 = word(b"0");
const T: u64 = word(b"t");
const F: u64 = word(b"f");
const TRUE: u64 = word(b"true");
const FALSE: u64 = word(b"false");

/// The conversion to 0 and 1.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Boolean;

impl Exact for Boolean {
    type Value = u8;

    fn new(_: ValueType) -> Self {
        Boolean
    }

    fn slots<'t>(values: &'t mut Values<'_>) -> Option<&'t mut [MaybeUninit<u8>]> {
        if let Values::U8(slots) = values { Some(slots) } else { None }
    }

    fn exact(self, content: &[u8], _: &mut Heap<'_>) -> Result<u8, Reason> {
        exact::boolean(content).map(u8::from)
    }
}

impl Conversion for Boolean {
    #[inline(always)]
    unsafe fn fast(self, field: *const u8, len: usize, _: &mut Heap<'_>) -> Option<u8> {
        if len == 0 || len > 5 {
            return None;
        }
        let mask = (1 << (8 * len)) - 1;
        // SAFETY: the padding makes eight bytes readable.
        let text = u64::from_le(unsafe { field.cast::<u64>().read_unaligned() }) & mask | (len as u64) << 56;
        // The length counts: a zero byte behind the digit leaves the number as it is.
        if len == 1 && (text == ONE || text == ZERO) {
            return Some(u8::from(text == ONE));
        }
        // Makes letters small; no other byte becomes a letter by it.
        match text | 0x2020_2020_2020_2020 & mask {
            T | TRUE => Some(1),
            F | FALSE => Some(0),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zero_byte_ends_no_word() {
        for text in [*b"0\0", *b"1\0", *b"t\0"] {
            let mut padded = [0; 8];
            padded[..2].copy_from_slice(&text);
            let mut heap = Heap::new(&mut [], 0);
            // SAFETY: eight bytes are readable.
            assert_eq!(unsafe { Boolean.fast(padded.as_ptr(), 2, &mut heap) }, None);
        }
    }
}
