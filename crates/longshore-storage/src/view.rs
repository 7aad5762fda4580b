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

/// The text of a view whose bytes these are, which lies there or in `heap`.
#[inline]
pub(crate) fn text<'a>(view: &'a [u8; 16], heap: &'a [u8]) -> &'a [u8] {
    let bits = u128::from_le_bytes(*view);
    let length = length(bits);
    if length > INLINE_BYTES_MAX { &heap[offset(bits)..][..length] } else { &view[4..4 + length] }
}

/// The view of a text of so many bytes that begins with `start`; bytes of it that the text does not have are left out. A
/// long text lies at `offset` in the heap. Nothing is decided by a branch.
#[allow(clippy::inline_always, reason = "it is the inner loop of those who rebuild views")]
#[inline(always)]
pub(crate) fn of_start(start: &[u8; INLINE_BYTES_MAX], length: u32, offset: u32) -> u128 {
    let (first, rest) = start.split_first_chunk::<4>().expect("12 are more than 4");
    let rest = u64::from_le_bytes(*rest.first_chunk().expect("12 are 4 and 8"));
    let (first_mask, rest_mask) = KEPT[(length as usize).min(INLINE_BYTES_MAX + 1)];
    let offset = if length as usize > INLINE_BYTES_MAX { u64::from(offset) << 32 } else { 0 };
    let low = u64::from(length) | u64::from(u32::from_le_bytes(*first) & first_mask) << 32;
    u128::from(low) | u128::from(rest & rest_mask | offset) << 64
}

/// By the length of a text: the bits of its first 4 and its next 8 bytes that its view keeps. The last entry is that of
/// all long texts, whose views keep the first 4 bytes.
const KEPT: [(u32, u64); INLINE_BYTES_MAX + 2] = {
    let mut kept = [(u32::MAX, 0); INLINE_BYTES_MAX + 2];
    let mut length = 0;
    while length <= INLINE_BYTES_MAX {
        let bits = (1_u128 << (8 * length)) - 1;
        kept[length] = (bits as u32, (bits >> 32) as u64);
        length += 1;
    }
    kept
};
