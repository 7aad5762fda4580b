//! Whether any of sixteen bytes is one of five.

/// Bytes that are looked at together.
pub(super) const CHUNK_BYTES: usize = 16;

/// The bytes to look for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Special {
    /// Each in every place.
    everywhere: [u128; 5],
}

/// A 1 in every byte.
const ONES: u128 = u128::MAX / 0xFF;

impl Special {
    /// Looks for these.
    pub(super) fn new(bytes: [u8; 5]) -> Special {
        Special { everywhere: bytes.map(|byte| ONES * u128::from(byte)) }
    }

    /// Whether any of the bytes is special.
    #[inline(always)]
    pub(super) fn is_in(&self, chunk: &[u8; CHUNK_BYTES]) -> bool {
        #[cfg(target_arch = "x86_64")]
        return self.is_in_vector(u128::from_le_bytes(*chunk));
        #[cfg(not(target_arch = "x86_64"))]
        self.is_in_word(u128::from_le_bytes(*chunk))
    }

    /// With the instructions that every such machine has.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn is_in_vector(&self, chunk: u128) -> bool {
        use std::arch::x86_64::{__m128i, _mm_cmpeq_epi8, _mm_movemask_epi8, _mm_or_si128, _mm_set_epi64x};

        // SAFETY: SSE2 is part of the architecture, and nothing but registers is touched.
        unsafe {
            let vector = |word: u128| -> __m128i { _mm_set_epi64x((word >> 64) as i64, word as i64) };
            let chunk = vector(chunk);
            let [a, b, c, d, e] = self.everywhere.map(|special| _mm_cmpeq_epi8(chunk, vector(special)));
            let found = _mm_or_si128(_mm_or_si128(_mm_or_si128(a, b), _mm_or_si128(c, d)), e);
            _mm_movemask_epi8(found) != 0
        }
    }

    /// A byte that is special becomes 0, and a 0 alone borrows from its highest bit when 1 is taken away (or the byte
    /// above one does, which changes nothing about there being one).
    #[cfg(any(not(target_arch = "x86_64"), test))]
    #[inline(always)]
    fn is_in_word(&self, chunk: u128) -> bool {
        let zeros = |word: u128| word.wrapping_sub(ONES) & !word;
        let found = self.everywhere.iter().fold(0, |found, special| found | zeros(chunk ^ special));
        found & (ONES << 7) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_special_byte_is_found_everywhere() {
        let bytes = *b",\"\\\n\r";
        let special = Special::new(bytes);
        for background in [0, b'x', b',' + 1, b',' - 1, 0x80, 0xFF, b',' | 0x80] {
            let mut chunk = [background; CHUNK_BYTES];
            for at in 0..CHUNK_BYTES {
                for byte in 0..=255 {
                    chunk[at] = byte;
                    let expected = chunk.iter().any(|byte| bytes.contains(byte));
                    assert_eq!(special.is_in(&chunk), expected, "{chunk:?}");
                    assert_eq!(special.is_in_word(u128::from_le_bytes(chunk)), expected, "{chunk:?}");
                }
                chunk[at] = background;
            }
        }
    }
}
