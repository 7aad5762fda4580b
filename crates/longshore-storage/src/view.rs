//! The 128-bit views that stand for texts: Arrow's layout, cut down to one data buffer.
//!
//! From the lowest bits: length (32), then up to 12 bytes inline; or, when longer, the first 4 bytes, the number of the
//! data buffer (32, always 0 here) and the offset in it (32).

/// Texts of up to this many bytes need no heap.
pub(crate) const INLINE_BYTES_MAX: usize = 12;

/// The most bytes that a heap of long texts may have, because views hold their offsets in 31 bits.
pub const HEAP_BYTES_MAX: usize = i32::MAX as usize;

/// The length of a view's text.
pub(crate) fn length(view: u128) -> usize {
    view as u32 as usize
}

/// Where in the heap a long text begins.
pub(crate) fn offset(view: u128) -> usize {
    (view >> 96) as usize
}

/// The view of the same long text at another place.
pub(crate) fn moved(view: u128, offset: usize) -> u128 {
    view & (u128::MAX >> 32) | (offset as u128) << 96
}

/// Bytes that texts need in a heap: those of the long ones.
pub(crate) fn heap_bytes(views: &[u128]) -> usize {
    let bytes = |&view: &u128| {
        if length(view) > INLINE_BYTES_MAX { length(view) } else { 0 }
    };
    views.iter().map(bytes).sum()
}
