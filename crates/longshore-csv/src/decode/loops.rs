//! The column loops compiled for a SIMD level: the feature boundary goes around the loop, so that nothing within it is
//! a call.

use super::column::{self, Settings};
use super::conversion::Conversion;
#[cfg(target_arch = "x86_64")]
use super::simd_level::{Avx2, Avx512};
use super::simd_level::{Portable, SimdLevel};
use super::text::{self, TextKind};
use super::{Bad, Column, FieldError, Target};
use crate::Rows;

/// Column loops compiled for a SIMD level.
pub(crate) trait Loops: SimdLevel {
    /// The loop over a column of a type of fixed size; the caller makes sure that the CPU runs it.
    fn column<C: Conversion, const GENERAL: bool>() -> Column;

    /// The loop over a column of text.
    fn text_column<K: TextKind, const QUOTES: bool, const UNUSUAL: bool>() -> Column;
}

macro_rules! loops {
    ($level:ty, lane_shifts: $lane_shifts:literal $(, $features:literal)?) => {
        impl Loops for $level {
            fn column<C: Conversion, const GENERAL: bool>() -> Column {
                $(#[target_feature(enable = $features)])?
                unsafe fn run<C: Conversion, const GENERAL: bool>(
                    settings: &Settings,
                    rows: &Rows<'_>,
                    column: usize,
                    target: &mut Target<'_, '_>,
                    bad: &mut Bad<'_>,
                ) -> Result<(), FieldError> {
                    // SAFETY: this function enables every instruction that is needed.
                    unsafe { column::decode::<C, GENERAL, $lane_shifts>(settings, rows, column, target, bad) }
                }
                run::<C, GENERAL>
            }

            fn text_column<K: TextKind, const QUOTES: bool, const UNUSUAL: bool>() -> Column {
                $(#[target_feature(enable = $features)])?
                unsafe fn run<K: TextKind, const QUOTES: bool, const UNUSUAL: bool>(
                    settings: &Settings,
                    rows: &Rows<'_>,
                    column: usize,
                    target: &mut Target<'_, '_>,
                    bad: &mut Bad<'_>,
                ) -> Result<(), FieldError> {
                    // SAFETY: this function enables every instruction that is needed.
                    unsafe { text::decode::<$level, K, QUOTES, UNUSUAL>(settings, rows, column, target, bad) }
                }
                run::<K, QUOTES, UNUSUAL>
            }
        }
    };
}

loops!(Portable, lane_shifts: false);
#[cfg(target_arch = "x86_64")]
loops!(Avx2, lane_shifts: true, "avx2,bmi1,bmi2,lzcnt,popcnt");
#[cfg(target_arch = "x86_64")]
loops!(Avx512, lane_shifts: true, "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt");
