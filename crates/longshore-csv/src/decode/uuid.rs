//! UUIDs: 36 characters of hexadecimal digits and hyphens, made lower-case.

use std::mem::MaybeUninit;

use longshore_value::uuid::UUID_BYTES;

use super::conversion::{Conversion, Exact};
use super::{Heap, Reason, ValueType, Values, exact};

/// Characters of a UUID.
const LEN: usize = UUID_BYTES;

/// The lower-case of every hexadecimal digit; 0 for other bytes.
static LOWER: [u8; 256] = {
    let mut lower = [0; 256];
    let digits = b"0123456789abcdef";
    let mut value = 0;
    while value < 16 {
        let digit = digits[value];
        lower[digit as usize] = digit;
        lower[digit.to_ascii_uppercase() as usize] = digit;
        value += 1;
    }
    lower
};

/// The conversion to text of 36 characters.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Uuid;

impl Exact for Uuid {
    type Value = u128;

    fn new(_: ValueType) -> Self {
        Uuid
    }

    fn slots<'t>(values: &'t mut Values<'_>) -> Option<&'t mut [MaybeUninit<u128>]> {
        if let Values::Views(slots) = values { Some(slots) } else { None }
    }

    fn exact(self, content: &[u8], heap: &mut Heap<'_>) -> Result<u128, Reason> {
        exact::uuid(content).map(|text| heap.view(&text))
    }
}

impl Conversion for Uuid {
    #[inline(always)]
    unsafe fn fast(self, field: *const u8, len: usize, heap: &mut Heap<'_>) -> Option<u128> {
        if len != LEN {
            return None;
        }
        // SAFETY: the field has as many bytes.
        let field = unsafe { &*field.cast::<[u8; LEN]>() };
        let mut text = [b'-'; LEN];
        let mut wrong = false;
        for (place, slot) in text.iter_mut().enumerate() {
            let hyphen = matches!(place, 8 | 13 | 18 | 23);
            let lower = LOWER[usize::from(field[place])];
            wrong |= if hyphen { field[place] != b'-' } else { lower == 0 };
            if !hyphen {
                *slot = lower;
            }
        }
        if wrong {
            return None;
        }
        // SAFETY: the heap has the room, and all of it is written.
        Some(unsafe {
            heap.reserve(LEN).cast::<[u8; LEN]>().write(text);
            heap.keep_view(LEN)
        })
    }
}
