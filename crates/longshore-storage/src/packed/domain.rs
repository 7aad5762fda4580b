//! How the values of a dictionary are told apart, and their order.

#![allow(clippy::inline_always, reason = "a call for each value would cost more than what it does")]

use std::cmp::Ordering;

use super::compare_floats;
use crate::view::{self, INLINE_BYTES_MAX};

/// What values are told apart by: the same of equal ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Key {
    first: u64,
    middle: u64,
    last: u64,
}

impl Key {
    /// Of all bits of a value.
    #[inline(always)]
    fn of_bits(bits: u128) -> Key {
        Key { first: bits as u64, middle: (bits >> 64) as u64, last: 0 }
    }

    /// A number that is seldom that of another key.
    #[inline(always)]
    pub(super) fn hash(self) -> u64 {
        let one = (self.first ^ self.last.rotate_left(32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mixed = one ^ self.middle.wrapping_mul(0xC2B2_AE3D_27D4_EB4F);
        mixed ^ (mixed >> 32)
    }
}

/// How values are told apart and ordered. Unless it says otherwise, values are equal if all of their bits are.
pub(super) trait Domain {
    #[inline(always)]
    fn key(&self, value: u128) -> Key {
        Key::of_bits(value)
    }

    /// Whether values of the same key are equal.
    #[inline(always)]
    fn is_same(&self, _: u128, _: u128) -> bool {
        true
    }

    /// Whether the value is one of those that the keys tell apart.
    fn has(&self, _: u128) -> bool {
        true
    }

    fn compare(&self, one: u128, other: u128) -> Ordering;
}

/// Whole numbers, by their bits with the sign kept.
pub(super) struct Integers;

impl Domain for Integers {
    fn compare(&self, one: u128, other: u128) -> Ordering {
        (one as i128).cmp(&(other as i128))
    }
}

/// Floats by their bits, in the order of SQL: values that are equal there, as -0 and 0, are neighbours.
pub(super) struct Floats<F>(pub(super) F);

impl<F: Fn(u128) -> f64> Domain for Floats<F> {
    fn compare(&self, one: u128, other: u128) -> Ordering {
        compare_floats(&(self.0)(one), &(self.0)(other)).then(one.cmp(&other))
    }
}

/// Texts that their views hold, in the order of their bytes.
pub(super) struct ShortTexts;

impl Domain for ShortTexts {
    fn has(&self, view: u128) -> bool {
        view::length(view) <= INLINE_BYTES_MAX
    }

    fn compare(&self, one: u128, other: u128) -> Ordering {
        Texts { heap: &[] }.compare(one, other)
    }
}

/// Texts by their views, in the order of their bytes; some are long.
pub(super) struct Texts<'a> {
    pub(super) heap: &'a [u8],
}

/// Texts of up to this many bytes are known by their keys: the first four bytes, the next eight, and the last eight.
const KEY_BYTES_MAX: usize = 20;

impl Domain for Texts<'_> {
    #[inline(always)]
    fn key(&self, view: u128) -> Key {
        // Long or short is not decided by a branch: it could not be predicted.
        let (length, bits) = (view::length(view), Key::of_bits(view));
        let is_long = length > INLINE_BYTES_MAX;
        let start = if is_long { view::offset(view) } else { 0 };
        let end = if is_long { start + length } else { 8 };
        let eight = |from: usize| u64::from_le_bytes(*self.heap[from..].first_chunk().expect("there is a long text"));
        let (middle, last) = (eight(start + 4), eight(end - 8));
        Key {
            // The length and the first four bytes.
            first: bits.first,
            middle: if is_long { middle } else { bits.middle },
            last: last & u64::from(is_long).wrapping_neg(),
        }
    }

    #[inline(always)]
    fn is_same(&self, one: u128, other: u128) -> bool {
        let text = |view: u128| &self.heap[view::offset(view)..][..view::length(view)];
        view::length(one) <= KEY_BYTES_MAX || text(one) == text(other)
    }

    fn compare(&self, one: u128, other: u128) -> Ordering {
        view::text(&one.to_le_bytes(), self.heap).cmp(view::text(&other.to_le_bytes(), self.heap))
    }
}
