//! Takes the quotes off a field whose quotes are escaped by doubling, 64 bytes at a time.
//!
//! Quotes toggle. A quote that is met outside, right behind another one, is the second of a doubled one: it is content,
//! and all other quotes go. The slow twin is `decode/quoted.rs`.

use super::Heap;
use super::column::{NullHead, Settings};
use super::simd_level::SimdLevel;
use super::target::VIEW_INLINE_BYTES_MAX;
use crate::scan::portable::prefix_xor;
use crate::{PADDING, Rows};

/// Long fields in quotes that are escaped by doubling.
pub(super) struct LongQuoted<'s> {
    /// `None` if quotes are escaped otherwise, or not at all.
    quote: Option<u8>,
    non_ascii: bool,
    nulls: &'s [NullHead],
    bytes_max: usize,
}

impl<'s> LongQuoted<'s> {
    pub(super) fn new(settings: &'s Settings, bytes_max: usize, rows: &Rows<'_>) -> LongQuoted<'s> {
        LongQuoted {
            quote: settings.dialect.quote().filter(|_| settings.dialect.escape().is_none()),
            non_ascii: rows.traits().non_ascii,
            nulls: &settings.null_heads,
            bytes_max,
        }
    }

    /// The view of the content of a field that is, for sure, long, in quotes, not NULL, not too long and UTF-8.
    ///
    /// # Safety
    ///
    /// The field and [`PADDING`] bytes behind it can be read; the CPU runs the instructions of `T`.
    #[inline(always)]
    pub(super) unsafe fn view<T: SimdLevel>(
        &self,
        (raw, len): (*const u8, usize),
        heap: &mut Heap<'_>,
    ) -> Option<u128> {
        if len <= PADDING {
            return None;
        }
        // SAFETY: as the caller promises; the content is no longer than the field.
        unsafe {
            let quote = self.quote.filter(|quote| *quote == *raw)?;
            let to = heap.reserve(len + PADDING);
            let bytes = unquote::<T>(raw, len, quote, to);
            let content = std::slice::from_raw_parts(to, bytes);
            let is_plain = bytes > VIEW_INLINE_BYTES_MAX
                && bytes <= self.bytes_max
                && !self.nulls.iter().any(|null| null.len() == bytes)
                && (!self.non_ascii || simdutf8::basic::from_utf8(content).is_ok());
            is_plain.then(|| heap.keep_view(bytes))
        }
    }
}

/// Stores the content of a field where `to` says, and returns its length, which is no more than that of the field. Up to
/// [`PADDING`] bytes behind the content are overwritten.
///
/// # Safety
///
/// `len` and [`PADDING`] bytes can be read at `field`, and as many stored at `to`; the CPU runs the instructions of `T`.
#[inline(always)]
unsafe fn unquote<T: SimdLevel>(field: *const u8, len: usize, quote: u8, to: *mut u8) -> usize {
    // All bits where what comes next is inside quotes; one bit where the byte before was a quote.
    let (mut inside, mut after_quote) = (0_u64, 0_u64);
    let (mut read, mut written) = (0, 0);
    while read < len {
        let bytes = PADDING.min(len - read);
        let within = u64::MAX >> (PADDING - bytes);
        // SAFETY: a block begins within the field, and no more is written than was read, but for the padding.
        unsafe {
            let quotes = T::equal(field.add(read), quote) & within;
            if quotes == 0 {
                std::ptr::copy_nonoverlapping(field.add(read), to.add(written), PADDING);
                (written, read, after_quote) = (written + bytes, read + bytes, 0);
                continue;
            }
            let toggled = prefix_xor(quotes) ^ inside;
            let doubled = quotes & (quotes << 1 | after_quote) & toggled;
            let content = !quotes & within | doubled;
            T::compress(field.add(read), content, to.add(written));
            written += content.count_ones() as usize;
            inside = ((toggled as i64) >> 63) as u64;
            after_quote = quotes >> 63;
        }
        read += bytes;
    }
    written
}

#[cfg(test)]
mod tests {
    use longshore_testing::Random;

    use super::*;
    use crate::Dialect;
    use crate::decode::quoted;
    use crate::decode::simd_level::Portable;
    #[cfg(target_arch = "x86_64")]
    use crate::decode::simd_level::{Avx2, Avx512};

    fn check<T: SimdLevel>() {
        let (mut random, mut scratch) = (Random::new(1), Vec::new());
        for _ in 0..20_000 {
            let (len, quotes) = (random.below(300), 1 + random.below(20));
            let mut byte = || if random.once_in(quotes) { b'"' } else { b'a' + random.below(26) as u8 };
            let mut field: Vec<u8> = (0..len).map(|_| byte()).collect();
            // Quotes in the padding count for nothing.
            field.resize(len + PADDING, b'"');
            let mut stored = vec![0; len + PADDING];
            // SAFETY: both have room for the padding, and the caller checked the CPU.
            let written = unsafe { unquote::<T>(field.as_ptr(), len, b'"', stored.as_mut_ptr()) };
            let (expected, _) = quoted::content(&field[..len], &Dialect::default(), &mut scratch);
            assert_eq!(&stored[..written], expected, "{}", field[..len].escape_ascii());
        }
    }

    #[test]
    fn every_level_takes_off_what_the_slow_twin_does() {
        check::<Portable>();
        #[cfg(target_arch = "x86_64")]
        {
            if crate::Kernel::Avx2.is_available() {
                check::<Avx2>();
            }
            if crate::Kernel::Avx512.is_available() {
                check::<Avx512>();
            }
        }
    }
}
