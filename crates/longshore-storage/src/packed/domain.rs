//! How the values of a dictionary are told apart, and their order.

#![allow(clippy::inline_always, reason = "a call for each value would cost more than what it does")]

use std::cmp::Ordering;

use super::compare_floats;
use crate::view::{self, INLINE_BYTES_MAX};

/// How values are told apart and ordered.
pub(super) trait Domain {
    fn hash(&self, value: u128) -> u64;
    fn is_equal(&self, one: u128, other: u128) -> bool;
    fn compare(&self, one: u128, other: u128) -> Ordering;
}

/// Whole numbers, by their bits with the sign kept.
pub(super) struct Integers;

impl Domain for Integers {
    fn hash(&self, value: u128) -> u64 {
        mix(value)
    }

    fn is_equal(&self, one: u128, other: u128) -> bool {
        one == other
    }

    fn compare(&self, one: u128, other: u128) -> Ordering {
        (one as i128).cmp(&(other as i128))
    }
}

/// Floats by their bits, in the order of SQL: values that are equal there, as -0 and 0, are neighbours.
pub(super) struct Floats<F>(pub(super) F);

impl<F: Fn(u128) -> f64> Domain for Floats<F> {
    fn hash(&self, value: u128) -> u64 {
        mix(value)
    }

    fn is_equal(&self, one: u128, other: u128) -> bool {
        one == other
    }

    fn compare(&self, one: u128, other: u128) -> Ordering {
        compare_floats(&(self.0)(one), &(self.0)(other)).then(one.cmp(&other))
    }
}

/// Texts that their views hold.
pub(super) struct ShortTexts;

impl Domain for ShortTexts {
    #[inline(always)]
    fn hash(&self, view: u128) -> u64 {
        mix(view)
    }

    #[inline(always)]
    fn is_equal(&self, one: u128, other: u128) -> bool {
        one == other
    }

    fn compare(&self, one: u128, other: u128) -> Ordering {
        Texts { heap: &[] }.compare(one, other)
    }
}

/// Texts by their views, in the order of their bytes.
pub(super) struct Texts<'a> {
    pub(super) heap: &'a [u8],
}

impl Texts<'_> {
    fn is_long(view: u128) -> bool {
        view::length(view) > INLINE_BYTES_MAX
    }

    /// Whether the same bytes are at two places of the heap, more than 8 of them.
    #[inline(always)]
    fn are_same(&self, one: usize, other: usize, length: usize) -> bool {
        let (one, other) = (&self.heap[one..one + length], &self.heap[other..other + length]);
        if length > 16 {
            return one == other;
        }
        // The first eight and the last are all of them.
        one.first_chunk::<8>() == other.first_chunk() && one.last_chunk::<8>() == other.last_chunk()
    }
}

impl Domain for Texts<'_> {
    #[inline(always)]
    fn hash(&self, view: u128) -> u64 {
        if !Texts::is_long(view) {
            return mix(view);
        }
        // The length and the first bytes, and the last ones.
        let bytes = view.to_le_bytes();
        let text = view::text(&bytes, self.heap);
        let last: [u8; 8] = *text.last_chunk().expect("a long text has more than 12 bytes");
        mix(u128::from(view as u64) | u128::from(u64::from_le_bytes(last)) << 64)
    }

    #[inline(always)]
    fn is_equal(&self, one: u128, other: u128) -> bool {
        // The low half of a view is the length of its text and its first bytes.
        one == other
            || one as u64 == other as u64
                && Texts::is_long(one)
                && self.are_same(view::offset(one), view::offset(other), view::length(one))
    }

    fn compare(&self, one: u128, other: u128) -> Ordering {
        view::text(&one.to_le_bytes(), self.heap).cmp(view::text(&other.to_le_bytes(), self.heap))
    }
}

/// Mixes the bits of a number.
#[inline(always)]
fn mix(value: u128) -> u64 {
    let (low, high) = (value as u64, (value >> 64) as u64);
    let mixed = (low ^ high).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ high.wrapping_mul(0xC2B2_AE3D_27D4_EB4F);
    mixed ^ (mixed >> 32)
}
