//! Whether texts that were decoded from memory which others may write are texts where they lie now.
//!
//! A file that is mapped can be written by another process between the check of a text and its copy. So what was checked
//! before the copy is checked again where it was copied to, which nobody else can reach. Most texts are ASCII, and take one
//! pass over bytes that are still in the cache.

use super::PartitionBuffer;
use crate::values::Values;
use crate::view::{self, INLINE_BYTES_MAX};

/// The highest bits of the bytes of a text that a view holds itself.
const INLINE_HIGH: u128 = 0x8080_8080_8080_8080_8080_8080 << 32;

const _: () = assert!(INLINE_HIGH.count_ones() as usize == INLINE_BYTES_MAX && INLINE_HIGH.leading_zeros() == 0);

impl PartitionBuffer {
    /// Whether the texts of the rows from one on are UTF-8. What they have of the heap lies behind its first `heap_from`
    /// bytes. The first bytes that a view repeats of a longer text are not looked at: they decide about order only.
    #[must_use]
    pub fn are_texts(&self, from: usize, heap_from: usize) -> bool {
        let heap = self.texts();
        let heap_is_ascii = heap.get(heap_from..).is_none_or(all_ascii);
        let columns = self.schema().all_columns().iter().enumerate();
        let mut texts = columns.filter(|(_, column)| !column.column_type.is_bytes());
        texts.all(|(at, _)| match self.column_values(at) {
            Values::Views(views) => are_texts(&views[from..], heap, heap_is_ascii),
            _ => true,
        })
    }
}

/// The same of the views of one column.
fn are_texts(views: &[u128], heap: &[u8], heap_is_ascii: bool) -> bool {
    if heap_is_ascii && !any_high(views) {
        return true;
    }
    views.iter().all(|&view| {
        let length = view::length(view);
        if length <= INLINE_BYTES_MAX {
            return view & INLINE_HIGH == 0 || simdutf8::basic::from_utf8(&view.to_le_bytes()[4..4 + length]).is_ok();
        }
        let at = view::offset(view);
        let text = at.checked_add(length).and_then(|end| heap.get(at..end));
        text.is_some_and(|text| heap_is_ascii || simdutf8::basic::from_utf8(text).is_ok())
    })
}

/// Bytes that are looked at before it is asked whether they are all ASCII.
const STRETCH_BYTES: usize = 16 << 10;

/// Whether no byte is 0x80 or above.
fn all_ascii(bytes: &[u8]) -> bool {
    // In stretches, so that it ends soon where it is not so.
    bytes.chunks(STRETCH_BYTES).all(|stretch| {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the feature it needs is there.
            return unsafe { all_ascii_avx2(stretch) };
        }
        stretch.is_ascii()
    })
}

/// The same, 128 bytes at a time.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[expect(clippy::cast_ptr_alignment, reason = "the load is an unaligned one")]
fn all_ascii_avx2(bytes: &[u8]) -> bool {
    use std::arch::x86_64::{__m256i, _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_or_si256, _mm256_setzero_si256};
    let mut all = [_mm256_setzero_si256(); 4];
    let (blocks, rest) = bytes.as_chunks::<128>();
    for block in blocks {
        let (vectors, _) = block.as_chunks::<32>();
        for (all, vector) in all.iter_mut().zip(vectors) {
            // SAFETY: a vector is 32 bytes.
            *all = _mm256_or_si256(*all, unsafe { _mm256_loadu_si256(vector.as_ptr().cast::<__m256i>()) });
        }
    }
    let [one, two, three, four] = all;
    let all = _mm256_or_si256(_mm256_or_si256(one, two), _mm256_or_si256(three, four));
    _mm256_movemask_epi8(all) == 0 && rest.is_ascii()
}

/// Whether a text that its view holds has a byte of 0x80 or above.
fn any_high(views: &[u128]) -> bool {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the feature it needs is there.
        return unsafe { any_high_avx2(views) };
    }
    any_high_portable(views)
}

fn any_high_portable(views: &[u128]) -> bool {
    views.iter().any(|&view| view::length(view) <= INLINE_BYTES_MAX && view & INLINE_HIGH != 0)
}

/// The same, eight views at a time.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[expect(clippy::cast_ptr_alignment, reason = "the load is an unaligned one")]
fn any_high_avx2(views: &[u128]) -> bool {
    use std::arch::x86_64::{
        __m256i, _mm256_and_si256, _mm256_cmpgt_epi32, _mm256_loadu_si256, _mm256_or_si256, _mm256_set_epi64x,
        _mm256_set1_epi32, _mm256_setzero_si256, _mm256_shuffle_epi32, _mm256_testz_si256,
    };
    let long = _mm256_set1_epi32(INLINE_BYTES_MAX as i32 + 1);
    let mut all = _mm256_setzero_si256();
    let (blocks, rest) = views.as_chunks::<8>();
    for block in blocks {
        for pair in block.as_chunks::<2>().0 {
            // SAFETY: two views are 32 bytes.
            let pair = unsafe { _mm256_loadu_si256(pair.as_ptr().cast::<__m256i>()) };
            let lengths = _mm256_shuffle_epi32::<0>(pair);
            all = _mm256_or_si256(all, _mm256_and_si256(pair, _mm256_cmpgt_epi32(long, lengths)));
        }
    }
    let [low, high] = [INLINE_HIGH as i64, (INLINE_HIGH >> 64) as i64];
    _mm256_testz_si256(all, _mm256_set_epi64x(high, low, high, low)) == 0 || any_high_portable(rest)
}

#[cfg(test)]
mod tests {
    use arrow_array::builder::make_view;

    use super::*;

    #[test]
    fn a_text_is_told_from_bytes_wherever_it_lies() {
        let mut heap = b"a long text of letters ".to_vec();
        let umlauts = "\u{e4}\u{f6}\u{fc}, and so on".as_bytes();
        heap.extend(umlauts);
        let long = |at: usize, length: usize| make_view(&heap[at..at + length], 0, at as u32);
        let (ascii, other) = (long(0, 20), long(23, umlauts.len()));
        let broken = long(24, umlauts.len() - 1);
        let short = |text: &[u8]| make_view(text, 0, 0);
        let is_text = |view| are_texts(&[short(b"a"), view, short(b"")], &heap, heap.is_ascii());
        assert!([ascii, other, short(b"twelve bytes"), short("\u{e4}".as_bytes())].into_iter().all(is_text));
        for wrong in [broken, short(b"\xC3"), short(b"12345678901\xFF"), long(0, 20) + 100] {
            assert!(!is_text(wrong), "{wrong:x}");
        }
        // The twin, with each byte of each of several views made high.
        for count in [0, 1, 2, 7, 8, 9, 17] {
            let views: Vec<u128> =
                (0..count).map(|at| if at % 2 == 0 { ascii } else { short(b"twelve bytes") }).collect();
            for bit in 0..count as u32 * 128 {
                let mut views = views.clone();
                views[bit as usize / 128] ^= 1 << (bit % 128);
                assert_eq!(any_high(&views), any_high_portable(&views), "{count} views, bit {bit}");
            }
            assert_eq!(any_high(&views), any_high_portable(&views), "{count} views");
        }
        for length in [0, 1, 31, 127, 128, 129, 300, STRETCH_BYTES + 1] {
            assert!(all_ascii(&vec![0x7F; length]));
            for at in (0..length).rev().take(300) {
                let mut bytes = vec![0x7F; length];
                bytes[at] = 0x80;
                assert!(!all_ascii(&bytes), "{length} bytes, byte {at}");
            }
        }
    }
}
