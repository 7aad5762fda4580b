//! What a type's loop needs to know: how any of its fields is read, how the usual one, and how a block of them.
//!
//! Not here: the loop (`column`), and NULL.

use std::mem::MaybeUninit;

use super::block::{BLOCK_ROWS, Collected};
use super::{Heap, Reason, ValueType, Values};

/// How any field of a type is read.
pub(crate) trait Exact: Copy {
    /// What a slot holds; the default goes where the field is NULL.
    type Value: Copy + Default;

    /// The conversion to a type, which the caller has chosen to suit it.
    fn new(value_type: ValueType) -> Self;

    /// The slots of such values, or `None` if `values` is of another type.
    fn slots<'t>(values: &'t mut Values<'_>) -> Option<&'t mut [MaybeUninit<Self::Value>]>;

    /// The value of a field's content.
    fn exact(self, content: &[u8], heap: &mut Heap<'_>) -> Result<Self::Value, Reason>;
}

/// How the usual field of a type is read.
pub(crate) trait Conversion: Exact {
    /// The value of the `len` bytes at `field` if they are in the usual form; `None` leaves them to `exact`,
    /// and must do so wherever `exact` would give anything else.
    ///
    /// # Safety
    ///
    /// `len` plus [`crate::PADDING`] bytes can be read at `field`, and the CPU runs the conversion's
    /// instructions.
    unsafe fn fast(self, field: *const u8, len: usize, heap: &mut Heap<'_>) -> Option<Self::Value>;

    /// Whether [`Conversion::block`] is worth trying, with or without instructions that shift each lane of a vector by
    /// a count of its own.
    #[inline(always)]
    fn has_blocks(self, _lane_shifts: bool) -> bool {
        false
    }

    /// [`Conversion::fast`] for [`BLOCK_ROWS`] fields at once, `content` giving address and length of each, and
    /// `collected` being scratch.
    /// Returns a bit for each row that it leaves to `fast`; their slots then hold anything.
    ///
    /// # Safety
    ///
    /// As [`Conversion::fast`], for each field.
    #[inline(always)]
    unsafe fn block(
        self,
        collected: &mut Collected,
        content: impl Fn(usize) -> (*const u8, usize),
        slots: &mut [MaybeUninit<Self::Value>; BLOCK_ROWS],
    ) -> u64 {
        let _ = (collected, content, slots);
        u64::MAX
    }
}
