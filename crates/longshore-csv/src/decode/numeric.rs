//! NUMERIC without a precision: all digits of the text, and how many of them stand behind the point.

use std::mem::MaybeUninit;

use longshore_value::numeric::Limit;

use super::conversion::{Conversion, Exact};
use super::target::VIEW_INLINE_BYTES_MAX;
use super::{Heap, Reason, ValueType, Values, exact};

/// The conversion to the bytes of a NUMERIC.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Numeric {
    limit: Option<Limit>,
}

impl Exact for Numeric {
    type Value = u128;

    fn new(value_type: ValueType) -> Self {
        Numeric { limit: if let ValueType::Numeric(limit) = value_type { limit } else { None } }
    }

    fn slots<'t>(values: &'t mut Values<'_>) -> Option<&'t mut [MaybeUninit<u128>]> {
        if let Values::Views(slots) = values { Some(slots) } else { None }
    }

    fn exact(self, content: &[u8], heap: &mut Heap<'_>) -> Result<u128, Reason> {
        // Most are short; of a long one the bytes are counted before they are kept.
        let mut short = [0; VIEW_INLINE_BYTES_MAX];
        let mut count = 0;
        let mut keep = |byte| {
            if let Some(slot) = short.get_mut(count) {
                *slot = byte;
            }
            count += 1;
        };
        exact::numeric(content, self.limit, &mut keep)?;
        if count <= short.len() {
            return Ok(heap.view(&short[..count]));
        }
        let to = heap.reserve(count);
        let mut written = 0;
        let mut write = |byte| {
            assert!(written < count, "a text was read twice, and was longer the second time");
            // SAFETY: as many bytes are reserved.
            unsafe { to.add(written).write(byte) };
            written += 1;
        };
        exact::numeric(content, self.limit, &mut write)?;
        assert_eq!(written, count, "a text was read twice, and was shorter the second time");
        // SAFETY: all of them were just written.
        Ok(unsafe { heap.keep_view(count) })
    }
}

impl Conversion for Numeric {
    #[inline(always)]
    unsafe fn fast(self, _: *const u8, _: usize, _: &mut Heap<'_>) -> Option<u128> {
        None
    }
}
