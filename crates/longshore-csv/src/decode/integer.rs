//! Integers: an optional minus sign and digits.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use super::column::{Conversion, Exact};
use super::digits::{Digits, TEXT_BYTES_MAX, long_whole};
use super::{Heap, Reason, ValueType, Values, exact};

/// The number in `field` if it is an optional minus sign and 1 to 19 digits that 64 bits hold.
///
/// # Safety
///
/// As [`Conversion::fast`].
#[inline(always)]
unsafe fn integer<D: Digits>(field: *const u8, len: usize) -> Option<i64> {
    // SAFETY: the padding makes the first byte of an empty field readable, and one byte more behind a sign.
    unsafe {
        let negative = *field == b'-';
        let digits = field.add(usize::from(negative));
        let count = len.wrapping_sub(usize::from(negative));
        let number = if count.wrapping_sub(1) < TEXT_BYTES_MAX {
            D::whole(digits, count)?
        } else if count <= 19 {
            u64::try_from(long_whole::<D>(digits, count)?).ok()?
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
        pub(crate) struct $name<D>(PhantomData<D>);

        impl<D: Digits> Exact for $name<D> {
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

        impl<D: Digits> Conversion for $name<D> {
            #[inline(always)]
            unsafe fn fast(self, field: *const u8, len: usize, _: &mut Heap<'_>) -> Option<$value> {
                // SAFETY: as the caller promises.
                <$value>::try_from(unsafe { integer::<D>(field, len) }?).ok()
            }
        }
    )*};
}

integers! {
    Int16, i16, I16, exact::int16;
    Int32, i32, I32, exact::int32;
    Int64, i64, I64, exact::int64;
}
