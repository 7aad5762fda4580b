//! Read access to the bytes of keys, in a register or in memory.

/// Bytes of a key that need no allocation.
pub(in crate::index) const SHORT_BYTES: usize = 16;

/// Read access to a key's bytes, whatever their form.
pub(in crate::index) trait KeyBytes: Copy {
    fn length(self) -> usize;

    /// Byte `at`; 0 behind the last.
    fn byte(self, at: usize) -> u8;

    /// Eight bytes from `at` on, the first in the highest bits; zeros behind the last.
    fn word(self, at: usize) -> u64;

    fn to_vec(self) -> Vec<u8> {
        (0..self.length()).map(|at| self.byte(at)).collect()
    }
}

/// The bytes of a whole key.
pub(in crate::index) trait WholeKey: KeyBytes {
    /// The same for those who tell both forms apart.
    fn any<'k>(self) -> AnyBytes<'k>
    where
        Self: 'k;
}

impl WholeKey for ShortBytes {
    #[inline]
    fn any<'k>(self) -> AnyBytes<'k> {
        AnyBytes::Short(self)
    }
}

impl WholeKey for LongBytes<'_> {
    #[inline]
    fn any<'k>(self) -> AnyBytes<'k>
    where
        Self: 'k,
    {
        AnyBytes::Long(self)
    }
}

/// Up to 16 bytes, the first in the highest bits, zeros behind the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::index) struct ShortBytes {
    pub(in crate::index) bits: u128,
    pub(in crate::index) length: u32,
}

impl KeyBytes for ShortBytes {
    #[inline]
    fn length(self) -> usize {
        self.length as usize
    }

    #[inline]
    fn byte(self, at: usize) -> u8 {
        (self.word(at) >> 56) as u8
    }

    #[inline]
    fn word(self, at: usize) -> u64 {
        if at >= SHORT_BYTES { 0 } else { (self.bits << (8 * at) >> 64) as u64 }
    }
}

/// Any number of bytes.
#[derive(Clone, Copy, Debug)]
pub(in crate::index) struct LongBytes<'a>(pub(in crate::index) &'a [u8]);

impl KeyBytes for LongBytes<'_> {
    #[inline]
    fn length(self) -> usize {
        self.0.len()
    }

    #[inline]
    fn byte(self, at: usize) -> u8 {
        self.0.get(at).copied().unwrap_or(0)
    }

    #[inline]
    fn word(self, at: usize) -> u64 {
        let rest = self.0.get(at..).unwrap_or(&[]);
        if let Some(eight) = rest.first_chunk::<8>() {
            return u64::from_be_bytes(*eight);
        }
        if rest.is_empty() { 0 } else { big_endian(rest) << (8 * (8 - rest.len())) }
    }

    fn to_vec(self) -> Vec<u8> {
        self.0.to_vec()
    }
}

/// Either form.
#[derive(Clone, Copy, Debug)]
pub(in crate::index) enum AnyBytes<'a> {
    Short(ShortBytes),
    Long(LongBytes<'a>),
}

impl AnyBytes<'_> {
    pub(in crate::index) fn to_vec(self) -> Vec<u8> {
        match self {
            AnyBytes::Short(short) => {
                // With room for the padding at the end of a range.
                let mut bytes = Vec::with_capacity(2 * SHORT_BYTES);
                bytes.extend_from_slice(&short.bits.to_be_bytes()[..short.length as usize]);
                bytes
            }
            AnyBytes::Long(long) => long.to_vec(),
        }
    }
}

/// Up to eight bytes as a number.
pub(super) fn big_endian(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |word, &byte| word << 8 | u64::from(byte))
}
