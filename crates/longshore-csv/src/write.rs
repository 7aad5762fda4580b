//! Decides how values become text: the way back of [`crate::decode`], which reads every value that is written
//! here as the same value.
//!
//! Functions append to a buffer and write no delimiters: those are the caller's, who knows the columns.
//! Numbers, dates and times need no quotes unless the dialect or the NULL text is unusual; whether they might,
//! [`Quoting::is_safe`] tells once per column, and [`Quoting::protect`] then quotes a value in place.
//!
//! Digits are made eight at a time in a register (`write/digits.rs`). Their slow twins in the tests are those of the
//! standard library.

mod date_time;
mod digits;
mod number;
mod special;
mod string;

pub use date_time::{date, time, timestamp, timestamptz};
pub use number::{boolean, decimal, float32, float64, integer, unsigned};
pub use string::{Quoting, Unquotable, bytea};

/// Appends the first `len` of some bytes. All of them are copied, which takes an instruction or two where a copy of a
/// length that is not known takes a call.
#[inline(always)]
fn append<const N: usize>(out: &mut Vec<u8>, bytes: [u8; N], len: usize) {
    let end = out.len() + len.min(N);
    out.extend_from_slice(&bytes);
    out.truncate(end);
}
