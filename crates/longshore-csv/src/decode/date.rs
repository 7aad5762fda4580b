//! Dates: `YYYY-MM-DD`, one by one (`iso`) or in blocks (`block`).

use std::mem::MaybeUninit;

use super::block::{self, BLOCK_ROWS, Collected};
use super::conversion::{Conversion, Exact};
use super::iso::ten_bytes;
use super::{Heap, Reason, ValueType, Values, exact};

/// The conversion to days since 1970-01-01.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Date;

impl Exact for Date {
    type Value = i32;

    fn new(_: ValueType) -> Self {
        Date
    }

    fn slots<'t>(values: &'t mut Values<'_>) -> Option<&'t mut [MaybeUninit<i32>]> {
        if let Values::I32(slots) = values { Some(slots) } else { None }
    }

    fn exact(self, content: &[u8], _: &mut Heap<'_>) -> Result<i32, Reason> {
        exact::date(content)
    }
}

impl Conversion for Date {
    #[inline(always)]
    unsafe fn fast(self, field: *const u8, len: usize, _: &mut Heap<'_>) -> Option<i32> {
        if len != 10 {
            return None;
        }
        // SAFETY: the field has ten bytes.
        unsafe { ten_bytes(field) }
    }

    #[inline(always)]
    fn has_blocks(self, _: bool) -> bool {
        true
    }

    #[inline(always)]
    unsafe fn block(
        self,
        collected: &mut Collected,
        content: impl Fn(usize) -> (*const u8, usize),
        slots: &mut [MaybeUninit<i32>; BLOCK_ROWS],
    ) -> u64 {
        // SAFETY: as the caller promises.
        unsafe { block::dates(collected, content, slots) }
    }
}
