//! Decimals: an optional minus sign, digits, and a point anywhere among them or none.
//!
//! The form that the type itself prints, all its digits behind the point, and whole numbers come first.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use super::block::{self, BLOCK_ROWS, Collected};
use super::conversion::{Conversion, Exact};
use super::exact::POWERS_OF_TEN;
use super::simd_level::{SimdLevel, TEXT_BYTES_MAX, long_whole};
use super::{Heap, Reason, ValueType, Values, exact};

/// Precision and scale with the limits that follow from them.
#[derive(Debug, Clone, Copy)]
struct Form {
    precision: u8,
    scale: u8,
    /// First number with too many digits for the type: in units of the last place, and in whole units. At most
    /// 10^18, more than 16 digits reach.
    limit: u64,
    whole_limit: u64,
}

/// A decimal as digits and the power of ten that makes them units of the last place.
struct Scaled {
    negative: bool,
    digits: u64,
    missing: usize,
}

/// 10 to the power of `exponent`, at most 18.
fn power(exponent: u8) -> u64 {
    10_u64.pow(u32::from(exponent.min(18)))
}

impl Form {
    fn new(precision: u8, scale: u8) -> Form {
        Form { precision, scale, limit: power(precision), whole_limit: power(precision - scale) }
    }

    /// Reads up to 16 bytes behind an optional sign, within range of the type.
    ///
    /// # Safety
    ///
    /// As [`Conversion::fast`].
    #[inline(always)]
    unsafe fn short<T: SimdLevel>(self, field: *const u8, len: usize) -> Option<Scaled> {
        let scale = usize::from(self.scale);
        // SAFETY: the padding makes the first byte of an empty field readable, and one byte more behind a sign.
        // A point is looked for only within the field.
        unsafe {
            let negative = *field == b'-';
            let text = field.add(usize::from(negative));
            let len = len.wrapping_sub(usize::from(negative));
            if len.wrapping_sub(1) >= TEXT_BYTES_MAX {
                return None;
            }
            if len > scale + 1 && *text.add(len - 1 - scale) == b'.' {
                let digits = T::pointed(text, len, scale)?;
                return (digits < self.limit).then_some(Scaled { negative, digits, missing: 0 });
            }
            if let Some(digits) = T::whole(text, len) {
                return (digits < self.whole_limit).then_some(Scaled { negative, digits, missing: scale });
            }
            let point = T::point(text, len);
            let missing = (scale + point + 1).checked_sub(len)?;
            if len < 2 || point == len {
                return None;
            }
            let digits = T::pointed(text, len, len - 1 - point)?;
            let limit = power(self.precision.checked_sub(missing as u8)?);
            (digits < limit).then_some(Scaled { negative, digits, missing })
        }
    }

    /// Reads up to 38 digits with all digits of the type behind the point, within its range.
    ///
    /// # Safety
    ///
    /// As [`Conversion::fast`].
    #[inline(always)]
    unsafe fn long<T: SimdLevel>(self, field: *const u8, len: usize) -> Option<i128> {
        let scale = usize::from(self.scale);
        // SAFETY: as in `short`; both parts lie within the field.
        unsafe {
            let negative = len > 0 && *field == b'-';
            let text = field.add(usize::from(negative));
            let point = (len - usize::from(negative)).checked_sub(scale + 1)?;
            if *text.add(point) != b'.' {
                return None;
            }
            let fraction = if scale == 0 { 0 } else { long_whole::<T>(text.add(point + 1), scale)? };
            let whole = long_whole::<T>(text, point)?;
            let number = whole.checked_mul(POWERS_OF_TEN[scale] as u128)?.checked_add(fraction)?;
            if number >= POWERS_OF_TEN[usize::from(self.precision)] as u128 {
                return None;
            }
            Some(if negative { -(number as i128) } else { number as i128 })
        }
    }
}

/// The conversion to decimals of up to 18 digits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Decimal64<T>(Form, PhantomData<T>);

impl<T: SimdLevel> Exact for Decimal64<T> {
    type Value = i64;

    fn new(value_type: ValueType) -> Self {
        let ValueType::Decimal64 { precision, scale } = value_type else { unreachable!("chosen by the type") };
        Decimal64(Form::new(precision, scale), PhantomData)
    }

    fn slots<'t>(values: &'t mut Values<'_>) -> Option<&'t mut [MaybeUninit<i64>]> {
        if let Values::I64(slots) = values { Some(slots) } else { None }
    }

    fn exact(self, content: &[u8], _: &mut Heap<'_>) -> Result<i64, Reason> {
        exact::decimal64(content, self.0.precision, self.0.scale)
    }
}

impl<T: SimdLevel> Conversion for Decimal64<T> {
    #[inline(always)]
    fn has_blocks(self, lane_shifts: bool) -> bool {
        lane_shifts && self.0.scale <= block::SCALE_MAX
    }

    #[inline(always)]
    unsafe fn block(
        self,
        collected: &mut Collected,
        content: impl Fn(usize) -> (*const u8, usize),
        slots: &mut [MaybeUninit<i64>; BLOCK_ROWS],
    ) -> u64 {
        // SAFETY: as the caller promises; the scale was checked.
        unsafe { block::decimals(collected, content, slots, self.0.scale, self.0.limit as i64, |number| number) }
    }

    #[inline(always)]
    unsafe fn fast(self, field: *const u8, len: usize, _: &mut Heap<'_>) -> Option<i64> {
        // SAFETY: as the caller promises.
        unsafe {
            if len > TEXT_BYTES_MAX + 1 {
                return self.0.long::<T>(field, len).and_then(|wide| i64::try_from(wide).ok());
            }
            let Scaled { negative, digits, missing } = self.0.short::<T>(field, len)?;
            let number = digits as i64 * POWERS_OF_TEN[missing] as i64;
            Some(if negative { -number } else { number })
        }
    }
}

/// The conversion to decimals of up to 38 digits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Decimal128<T>(Form, PhantomData<T>);

impl<T: SimdLevel> Exact for Decimal128<T> {
    type Value = i128;

    fn new(value_type: ValueType) -> Self {
        let ValueType::Decimal128 { precision, scale } = value_type else { unreachable!("chosen by the type") };
        Decimal128(Form::new(precision, scale), PhantomData)
    }

    fn slots<'t>(values: &'t mut Values<'_>) -> Option<&'t mut [MaybeUninit<i128>]> {
        if let Values::I128(slots) = values { Some(slots) } else { None }
    }

    fn exact(self, content: &[u8], _: &mut Heap<'_>) -> Result<i128, Reason> {
        exact::decimal128(content, self.0.precision, self.0.scale)
    }
}

impl<T: SimdLevel> Conversion for Decimal128<T> {
    #[inline(always)]
    fn has_blocks(self, lane_shifts: bool) -> bool {
        lane_shifts && self.0.scale <= block::SCALE_MAX
    }

    #[inline(always)]
    unsafe fn block(
        self,
        collected: &mut Collected,
        content: impl Fn(usize) -> (*const u8, usize),
        slots: &mut [MaybeUninit<i128>; BLOCK_ROWS],
    ) -> u64 {
        // SAFETY: as the caller promises; the scale was checked.
        unsafe { block::decimals(collected, content, slots, self.0.scale, self.0.limit as i64, i128::from) }
    }

    #[inline(always)]
    unsafe fn fast(self, field: *const u8, len: usize, _: &mut Heap<'_>) -> Option<i128> {
        // SAFETY: as the caller promises.
        unsafe {
            if len > TEXT_BYTES_MAX + 1 {
                return self.0.long::<T>(field, len);
            }
            let Scaled { negative, digits, missing } = self.0.short::<T>(field, len)?;
            let number = i128::from(digits) * POWERS_OF_TEN[missing];
            Some(if negative { -number } else { number })
        }
    }
}
