//! Sixteen bytes at a time: which of them end a plain stretch of string, which belong to a number.
//!
//! Bit `i` of every mask speaks of byte `i`. SSE2, which every 64-bit x86 CPU has, and machine words elsewhere; no
//! instruction set is asked for at run time, since strings and numbers are too short for wider registers to pay.

#[cfg(not(target_arch = "x86_64"))]
pub(super) use portable::Sixteen;
#[cfg(target_arch = "x86_64")]
pub(super) use sse2::Sixteen;

/// Bytes that are looked at together.
pub(super) const LANES: usize = 16;

/// The sixteen bytes at `at`, if the text has as many there.
#[inline(always)]
pub(super) fn sixteen(text: &[u8], at: usize) -> Option<Sixteen> {
    let bytes = text.get(at..)?.first_chunk::<LANES>()?;
    Some(Sixteen::new(bytes))
}

#[cfg(target_arch = "x86_64")]
mod sse2 {
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set_epi64x, _mm_set1_epi8,
        _mm_sub_epi8,
    };

    use super::LANES;

    /// Sixteen bytes in a register.
    #[derive(Clone, Copy)]
    pub(in super::super) struct Sixteen(__m128i);

    impl Sixteen {
        #[inline(always)]
        pub(in super::super) fn new(bytes: &[u8; LANES]) -> Sixteen {
            let word = u128::from_le_bytes(*bytes);
            // SAFETY: SSE2 is part of the architecture.
            Sixteen(unsafe { _mm_set_epi64x((word >> 64) as i64, word as i64) })
        }

        /// The bytes that equal `byte`.
        #[inline(always)]
        pub(in super::super) fn eq(self, byte: u8) -> u32 {
            // SAFETY: SSE2 is part of the architecture.
            unsafe { mask(_mm_cmpeq_epi8(self.0, splat(byte))) }
        }

        /// The bytes that equal `byte` once bit 5 is set, which tells no `[` from `{` and no `]` from `}`.
        #[inline(always)]
        pub(in super::super) fn eq_folded(self, byte: u8) -> u32 {
            // SAFETY: SSE2 is part of the architecture.
            unsafe { mask(_mm_cmpeq_epi8(_mm_or_si128(self.0, splat(0x20)), splat(byte))) }
        }

        /// The bytes that end a plain stretch of string: quotes, backslashes, control characters.
        #[inline(always)]
        pub(in super::super) fn string_stops(self) -> u32 {
            // SAFETY: SSE2 is part of the architecture.
            unsafe {
                let quotes = _mm_cmpeq_epi8(self.0, splat(b'"'));
                let backslashes = _mm_cmpeq_epi8(self.0, splat(b'\\'));
                let controls = _mm_cmpeq_epi8(_mm_min_epu8(self.0, splat(0x1F)), self.0);
                mask(_mm_or_si128(_mm_or_si128(quotes, backslashes), controls))
            }
        }

        /// The bytes `0` to `9`.
        #[inline(always)]
        pub(in super::super) fn digits(self) -> u32 {
            // SAFETY: SSE2 is part of the architecture.
            unsafe {
                let values = _mm_sub_epi8(self.0, splat(b'0'));
                mask(_mm_cmpeq_epi8(_mm_min_epu8(values, splat(9)), values))
            }
        }
    }

    #[inline(always)]
    fn splat(byte: u8) -> __m128i {
        // SAFETY: SSE2 is part of the architecture.
        unsafe { _mm_set1_epi8(byte.cast_signed()) }
    }

    #[inline(always)]
    fn mask(bytes: __m128i) -> u32 {
        // SAFETY: SSE2 is part of the architecture.
        unsafe { _mm_movemask_epi8(bytes) }.cast_unsigned()
    }
}

#[cfg(any(test, not(target_arch = "x86_64")))]
mod portable {
    use super::LANES;

    const HIGH: u64 = 0x8080_8080_8080_8080;
    const LOW: u64 = 0x0101_0101_0101_0101;

    /// Two words of eight bytes.
    #[derive(Clone, Copy)]
    pub(in super::super) struct Sixteen([u64; 2]);

    impl Sixteen {
        #[inline(always)]
        pub(in super::super) fn new(bytes: &[u8; LANES]) -> Sixteen {
            let word = u128::from_le_bytes(*bytes);
            Sixteen([word as u64, (word >> 64) as u64])
        }

        /// The bytes that equal `byte`.
        #[inline(always)]
        pub(in super::super) fn eq(self, byte: u8) -> u32 {
            self.mask(|word| zero_bytes(word ^ (LOW * u64::from(byte))))
        }

        /// The bytes that equal `byte` once bit 5 is set, which tells no `[` from `{` and no `]` from `}`.
        #[inline(always)]
        pub(in super::super) fn eq_folded(self, byte: u8) -> u32 {
            self.mask(|word| zero_bytes((word | (LOW * 0x20)) ^ (LOW * u64::from(byte))))
        }

        /// The bytes that end a plain stretch of string: quotes, backslashes, control characters.
        #[inline(always)]
        pub(in super::super) fn string_stops(self) -> u32 {
            let quotes = |word| zero_bytes(word ^ (LOW * u64::from(b'"')));
            let backslashes = |word| zero_bytes(word ^ (LOW * u64::from(b'\\')));
            self.mask(|word| quotes(word) | backslashes(word) | zero_bytes(word & (LOW * 0xE0)))
        }

        /// The bytes `0` to `9`.
        #[inline(always)]
        pub(in super::super) fn digits(self) -> u32 {
            // Below 0x80, adding carries into the top bit from `0` and from behind `9` on.
            self.mask(|word| {
                let low = word & !HIGH;
                (low + LOW * (0x80 - 0x30)) & !(low + LOW * (0x80 - 0x3A)) & !word & HIGH
            })
        }

        /// One bit per byte from words whose bytes are 0x80 or zero.
        #[inline(always)]
        fn mask(self, of: impl Fn(u64) -> u64) -> u32 {
            // The product moves bit 8 * i to bit 56 + i; no two of its terms meet, so nothing carries.
            let bits = |word| (of(word) >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
            (bits(self.0[0]) | bits(self.0[1]) << 8) as u32
        }
    }

    /// 0x80 in every zero byte, exactly.
    #[inline(always)]
    fn zero_bytes(word: u64) -> u64 {
        !(((word & !HIGH) + !HIGH) | word) & HIGH
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mask(bytes: &[u8; LANES], test: impl Fn(u8) -> bool) -> u32 {
        (0..LANES).filter(|&i| test(bytes[i])).fold(0, |mask, i| mask | 1 << i)
    }

    #[test]
    fn every_byte_in_every_lane_is_told_as_plain_code_tells_it() {
        for byte in 0..=u8::MAX {
            for lane in 0..LANES {
                for around in [b'a', b'"', 0, 0xFF, b'5', byte.wrapping_add(1)] {
                    let mut bytes = [around; LANES];
                    bytes[lane] = byte;
                    macro_rules! check {
                        ($sixteen:ty) => {
                            let sixteen = <$sixteen>::new(&bytes);
                            assert_eq!(sixteen.eq(b'"'), mask(&bytes, |byte| byte == b'"'));
                            assert_eq!(sixteen.eq_folded(b'{'), mask(&bytes, |byte| matches!(byte, b'{' | b'[')));
                            assert_eq!(sixteen.digits(), mask(&bytes, |byte| byte.is_ascii_digit()));
                            let stops = mask(&bytes, |byte| byte < 0x20 || byte == b'"' || byte == b'\\');
                            assert_eq!(sixteen.string_stops(), stops);
                        };
                    }
                    check!(Sixteen);
                    check!(portable::Sixteen);
                }
            }
        }
    }
}
