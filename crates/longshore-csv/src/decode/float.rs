//! Floats: short decimals by one exact division, everything else made of digits by the standard library.
//!
//! A whole number of up to 53 bits and a power of ten of up to 22 are both exact in double precision, and so
//! their quotient is the nearest double of the decimal (Clinger 1990). The text of a longer number, once its
//! bytes are known to be those of finite numbers, is parsed by Rust's `FromStr`, which rounds correctly.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::str::FromStr;

use super::conversion::{Conversion, Exact};
use super::simd_level::{SimdLevel, TEXT_BYTES_MAX};
use super::{Heap, Reason, ValueType, Values, exact};

const POWERS: [f64; TEXT_BYTES_MAX] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

/// The number in a field of a sign, digits and a point, if one division gives it.
///
/// # Safety
///
/// As [`Conversion::fast`].
#[inline(always)]
unsafe fn short<T: SimdLevel>(field: *const u8, len: usize) -> Option<f64> {
    // SAFETY: the padding makes the first byte of an empty field readable, and one byte more behind a sign.
    unsafe {
        let negative = *field == b'-';
        let text = field.add(usize::from(negative));
        let len = len.wrapping_sub(usize::from(negative));
        if len.wrapping_sub(1) >= TEXT_BYTES_MAX {
            return None;
        }
        let point = T::point(text, len);
        let (digits, fraction) = if point == len {
            (T::whole(text, len)?, 0)
        } else if len > 1 {
            (T::pointed(text, len, len - 1 - point)?, len - 1 - point)
        } else {
            return None;
        };
        if digits > 1 << 53 {
            return None;
        }
        let number = digits as f64 / POWERS[fraction];
        Some(if negative { -number } else { number })
    }
}

/// The number in a field of nothing but the bytes of finite numbers.
fn parsed<F: FromStr>(field: &[u8]) -> Option<F> {
    let plain = field.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+' | b'e' | b'E'));
    if plain { std::str::from_utf8(field).ok()?.parse().ok() } else { None }
}

/// The conversion to double precision.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Float64<T>(PhantomData<T>);

impl<T: SimdLevel> Exact for Float64<T> {
    type Value = f64;

    fn new(_: ValueType) -> Self {
        Float64(PhantomData)
    }

    fn slots<'t>(values: &'t mut Values<'_>) -> Option<&'t mut [MaybeUninit<f64>]> {
        if let Values::F64(slots) = values { Some(slots) } else { None }
    }

    fn exact(self, content: &[u8], _: &mut Heap<'_>) -> Result<f64, Reason> {
        exact::float64(content)
    }
}

impl<T: SimdLevel> Conversion for Float64<T> {
    #[inline(always)]
    unsafe fn fast(self, field: *const u8, len: usize, _: &mut Heap<'_>) -> Option<f64> {
        // SAFETY: as the caller promises; the field can be read.
        let (short, field) = unsafe { (short::<T>(field, len), std::slice::from_raw_parts(field, len)) };
        // Zero may be an underflow here, which the exact path tells.
        short.or_else(|| parsed::<f64>(field).filter(|number| number.is_normal()))
    }
}

/// The conversion to single precision.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Float32<T>(PhantomData<T>);

impl<T: SimdLevel> Exact for Float32<T> {
    type Value = f32;

    fn new(_: ValueType) -> Self {
        Float32(PhantomData)
    }

    fn slots<'t>(values: &'t mut Values<'_>) -> Option<&'t mut [MaybeUninit<f32>]> {
        if let Values::F32(slots) = values { Some(slots) } else { None }
    }

    fn exact(self, content: &[u8], _: &mut Heap<'_>) -> Result<f32, Reason> {
        exact::float32(content)
    }
}

impl<T: SimdLevel> Conversion for Float32<T> {
    #[inline(always)]
    unsafe fn fast(self, field: *const u8, len: usize, _: &mut Heap<'_>) -> Option<f32> {
        // SAFETY: as the caller promises; the field can be read.
        let (short, field) = unsafe { (short::<T>(field, len), std::slice::from_raw_parts(field, len)) };
        // The double is the nearest one, so rounding it again is right unless it lies halfway between two
        // singles, where the decimal may lie to either side.
        let halfway = |number: f64| number.to_bits() & 0x1FFF_FFFF == 0x1000_0000;
        short
            .filter(|number| !halfway(*number))
            .map(|number| number as f32)
            .or_else(|| parsed::<f32>(field).filter(|number| number.is_normal()))
    }
}
