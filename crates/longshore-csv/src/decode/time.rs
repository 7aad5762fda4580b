//! Times and timestamps: `HH:MM:SS` with up to six digits behind a point, a date before it, a zone behind it.

use std::mem::MaybeUninit;

use super::conversion::{Conversion, Exact};
use super::exact::MICROSECONDS_PER_DAY;
use super::iso::{clock, ten_bytes};
use super::{Heap, Reason, ValueType, Values, exact};

/// Microseconds since 1970-01-01 00:00:00 in the `len` bytes at `field`.
///
/// # Safety
///
/// `len` plus 16 bytes can be read at `field`.
#[inline(always)]
unsafe fn timestamp(field: *const u8, len: usize) -> Option<i64> {
    if len < 10 {
        return None;
    }
    // SAFETY: the field has ten bytes, and eleven if its length says so.
    unsafe {
        let midnight = i64::from(ten_bytes(field)?) * MICROSECONDS_PER_DAY;
        if len == 10 {
            return Some(midnight);
        }
        if !matches!(*field.add(10), b' ' | b'T') {
            return None;
        }
        Some(midnight + clock(field.add(11), len - 11)?)
    }
}

/// `len` bytes at `field` without a zone of no offset behind a time.
///
/// # Safety
///
/// The `len` bytes can be read.
#[inline(always)]
unsafe fn utc(field: *const u8, len: usize) -> usize {
    // Shorter ones are dates, whose end must not be taken for an offset.
    if len < 19 {
        return len;
    }
    // SAFETY: all bytes read are of the field.
    unsafe {
        if *field.add(len - 1) == b'Z' {
            len - 1
        } else if field.add(len - 3).cast::<[u8; 3]>().read() == *b"+00" {
            len - 3
        } else if field.add(len - 6).cast::<[u8; 6]>().read() == *b"+00:00" {
            len - 6
        } else {
            len
        }
    }
}

macro_rules! times {
    ($($name:ident, $what:literal, |$field:ident, $len:ident| $fast:expr, $exact:path;)*) => {$(
        #[doc = $what]
        #[derive(Debug, Clone, Copy)]
        pub(crate) struct $name;

        impl Exact for $name {
            type Value = i64;

            fn new(_: ValueType) -> Self {
                $name
            }

            fn slots<'t>(values: &'t mut Values<'_>) -> Option<&'t mut [MaybeUninit<i64>]> {
                if let Values::I64(slots) = values { Some(slots) } else { None }
            }

            fn exact(self, content: &[u8], _: &mut Heap<'_>) -> Result<i64, Reason> {
                $exact(content)
            }
        }

        impl Conversion for $name {
            #[inline(always)]
            unsafe fn fast(self, $field: *const u8, $len: usize, _: &mut Heap<'_>) -> Option<i64> {
                // SAFETY: as the caller promises.
                unsafe { $fast }
            }
        }
    )*};
}

times! {
    Time, "The conversion to microseconds since midnight.",
        |field, len| clock(field, len), exact::time;
    Timestamp, "The conversion to microseconds since 1970-01-01 00:00:00.",
        |field, len| timestamp(field, len), exact::timestamp;
    TimestampTz, "The conversion to microseconds since 1970-01-01 00:00:00 UTC.",
        |field, len| timestamp(field, utc(field, len)), exact::timestamptz;
}
