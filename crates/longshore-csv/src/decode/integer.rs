//! Integers: an optional minus sign and digits.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use super::block::{self, BLOCK_ROWS, Collected};
use super::conversion::{Conversion, Exact};
use super::simd_level::{SimdLevel, TEXT_BYTES_MAX, long_whole};
use super::{Heap, Reason, ValueType, Values, exact};

/// The number in `field` if it is an optional minus sign and 1 to 19 digits that 64 bits hold.
///
/// # Safety
///
/// As [`Conversion::fast`].
#[inline(always)]
unsafe fn integer<T: SimdLevel>(field: *const u8, len: usize) -> Option<i64> {
    // SAFETY: the padding makes the first byte of an empty field readable, and one byte more behind a sign.
    unsafe {
        let negative = *field == b'-';
        let digits = field.add(usize::from(negative));
        let count = len.wrapping_sub(usize::from(negative));
        let number = if count.wrapping_sub(1) < TEXT_BYTES_MAX {
            T::whole(digits, count)?
        } else if count <= 19 {
            u64::try_from(long_whole::<T>(digits, count)?).ok()?
        } else {
            return None;
        };
        let sign = -i64::from(negative);
        let number = i64::try_from(number).ok()?;
        Some((number ^ sign) - sign)
    }
}

macro_rules! integers {
    ($($name:ident, $value:ty, $slots:ident, $exact:path;)*) => {$(
        /// The conversion to this width.
        #[derive(Debug, Clone, Copy)]
        pub(crate) struct $name<T>(PhantomData<T>);

        impl<T: SimdLevel> Exact for $name<T> {
            type Value = $value;

            fn new(_: ValueType) -> Self {
                $name(PhantomData)
            }

            fn slots<'t>(values: &'t mut Values<'_>) -> Option<&'t mut [MaybeUninit<$value>]> {
                if let Values::$slots(slots) = values { Some(slots) } else { None }
            }

            fn exact(self, content: &[u8], _: &mut Heap<'_>) -> Result<$value, Reason> {
                $exact(content)
            }
        }

        impl<T: SimdLevel> Conversion for $name<T> {
            #[inline(always)]
            unsafe fn fast(self, field: *const u8, len: usize, _: &mut Heap<'_>) -> Option<$value> {
                // SAFETY: as the caller promises.
                <$value>::try_from(unsafe { integer::<T>(field, len) }?).ok()
            }

            #[inline(always)]
            fn has_blocks(self, lane_shifts: bool) -> bool {
                lane_shifts
            }

            #[inline(always)]
            unsafe fn block(
                self,
                collected: &mut Collected,
                content: impl Fn(usize) -> (*const u8, usize),
                slots: &mut [MaybeUninit<$value>; BLOCK_ROWS],
            ) -> u64 {
                let range = (i64::from(<$value>::MIN), i64::from(<$value>::MAX));
                // SAFETY: as the caller promises.
                unsafe { block::integers(collected, content, slots, range, |number| number as $value) }
            }
        }
    )*};
}

integers! {
    Int16, i16, I16, exact::int16;
    Int32, i32, I32, exact::int32;
    Int64, i64, I64, exact::int64;
}
