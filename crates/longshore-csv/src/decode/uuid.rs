//! UUIDs: 36 characters of hexadecimal digits and hyphens.

use std::mem::MaybeUninit;

use longshore_value::uuid::{UUID_TEXT_BYTES, Uuid};

use super::bytea::{DIGITS, NO_DIGIT};
use super::conversion::{Conversion, Exact};
use super::{Heap, Reason, ValueType, Values, exact};

/// The conversion to whole numbers that order as UUIDs do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ToUuid;

impl Exact for ToUuid {
    type Value = i128;

    fn new(_: ValueType) -> Self {
        ToUuid
    }

    fn slots<'t>(values: &'t mut Values<'_>) -> Option<&'t mut [MaybeUninit<i128>]> {
        if let Values::I128(slots) = values { Some(slots) } else { None }
    }

    fn exact(self, content: &[u8], _: &mut Heap<'_>) -> Result<i128, Reason> {
        exact::uuid(content).map(Uuid::stored)
    }
}

impl Conversion for ToUuid {
    #[inline(always)]
    unsafe fn fast(self, field: *const u8, len: usize, _: &mut Heap<'_>) -> Option<i128> {
        if len != UUID_TEXT_BYTES {
            return None;
        }
        // SAFETY: the field has as many bytes.
        let field = unsafe { &*field.cast::<[u8; UUID_TEXT_BYTES]>() };
        let (mut value, mut wrong) = ([0_u64; 2], 0);
        for (place, &byte) in field.iter().enumerate() {
            if matches!(place, 8 | 13 | 18 | 23) {
                wrong |= byte ^ b'-';
            } else {
                let digit = DIGITS[usize::from(byte)];
                wrong |= digit & NO_DIGIT;
                let half = &mut value[usize::from(place > 18)];
                *half = *half << 4 | u64::from(digit & 0x0F);
            }
        }
        let [high, low] = value;
        (wrong == 0).then(|| Uuid((u128::from(high) << 64 | u128::from(low)).to_be_bytes()).stored())
    }
}
