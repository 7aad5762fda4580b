//! Decides how values become text: the way back of [`crate::decode`], which reads every value that is written
//! here as the same value.
//!
//! Functions append to a buffer and write no delimiters: those are the caller's, who knows the columns.
//! Numbers, dates and times need no quotes unless the dialect or the NULL text is unusual; whether they might,
//! [`is_safe`] tells once per column, and [`protect`] then quotes a value in place.

mod moment;
mod number;
mod string;

pub use moment::{date, time, timestamp, timestamptz};
pub use number::{boolean, decimal, float32, float64, integer};
pub use string::{Unquotable, bytea, is_safe, protect, text};

/// `"00"` to `"99"`.
static PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number] = [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8];
        number += 1;
    }
    pairs
};

/// The two digits of a number below 100.
#[inline(always)]
fn pair(number: u64) -> [u8; 2] {
    PAIRS[number as usize]
}
