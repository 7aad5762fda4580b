//! What a kernel provides: 64 bytes in registers and four questions about them.
//!
//! Bit `i` of every mask speaks of byte `i` of the block. The algorithm that uses the masks is written once, in
//! `driver`; a kernel file holds a [`Block`] and the list of CPU features it needs.

/// Bytes of a block.
pub(crate) const BLOCK_BYTES: usize = 64;
const _: () = assert!(BLOCK_BYTES == u64::BITS as usize);
const _: () = assert!(BLOCK_BYTES <= crate::PADDING);

/// Marks that [`Block::flatten`] may write, wanted or not.
pub(crate) const FLATTEN_MARKS_MAX: usize = BLOCK_BYTES;

/// 64 bytes of text in registers.
///
/// A value exists only where [`Block::load`] was allowed, so that holding one proves that the CPU has the features
/// of its kernel, and all methods on it are sound.
pub(crate) trait Block: Copy {
    /// Loads 64 bytes, at any alignment.
    ///
    /// # Safety
    /// 64 bytes at `text` are readable and the CPU has the features of the kernel.
    unsafe fn load(text: *const u8) -> Self;

    /// The bytes that equal `byte`.
    fn eq(self, byte: u8) -> u64;

    /// The bytes that equal `first` or `second`.
    fn eq_either(self, first: u8, second: u8) -> u64;

    /// The bytes of 0x80 and above.
    fn high_bits(self) -> u64;

    /// Bitwise or of two blocks, to ask [`Block::high_bits`] of many at once.
    #[must_use]
    fn or(self, other: Self) -> Self;

    /// Bit `i` is the exclusive or of the bits `0..=i`, which turns quotes into the stretches they enclose:
    ///
    /// ```text
    /// a,"b,c",d     input
    ///   1   1       bits
    ///   1111        prefix_xor(bits)
    /// ```
    fn prefix_xor(self, bits: u64) -> u64;

    /// Writes `base + i` for every set bit `i` of `marks`, in order.
    ///
    /// # Safety
    /// [`FLATTEN_MARKS_MAX`] marks at `out` are writable: what follows the wanted ones may be overwritten.
    unsafe fn flatten(self, marks: u64, base: u32, out: *mut u32);

    /// Asks for the cache line at `text`, which need not be readable.
    #[inline(always)]
    fn prefetch(text: *const u8) {
        let _ = text;
    }
}

/// The lowest `count` bits, for `count` below 64.
#[inline(always)]
pub(super) fn low_bits(count: usize) -> u64 {
    (1 << count) - 1
}

/// A copy of up to 63 bytes with zeros behind, which have no role in any dialect.
#[inline(always)]
pub(super) fn zero_padded(rest: &[u8]) -> [u8; BLOCK_BYTES] {
    let mut block = [0; BLOCK_BYTES];
    block[..rest.len()].copy_from_slice(rest);
    block
}

/// [`Block::flatten`] by counting trailing zeros, eight marks at a time so that few branches depend on the text.
///
/// # Safety
/// As for [`Block::flatten`].
#[inline(always)]
pub(crate) unsafe fn flatten_by_trailing_zeros(mut marks: u64, base: u32, mut out: *mut u32) {
    let mut left = marks.count_ones();
    while left > 0 {
        for lane in 0..8 {
            // SAFETY: at most 64 marks are `left` to write; rounded up to eights they are within the 64 promised.
            unsafe { out.add(lane).write(base.wrapping_add(marks.trailing_zeros())) };
            marks &= marks.wrapping_sub(1);
        }
        // SAFETY: as above; at most one past the last of the 64.
        out = unsafe { out.add(8) };
        left = left.saturating_sub(8);
    }
}

/// What every kernel must answer, compared with one line of plain Rust.
#[cfg(test)]
pub(crate) mod tests {
    use longshore_testing::Random;

    use super::*;

    const ALPHABET: &[u8] = b"\",|\n\r\x00\x80\xFFabc\x7F\x0B-+";

    /// Runs all checks on a block type whose features the CPU has.
    pub(crate) unsafe fn check_block<B: Block>() {
        let mut random = Random::new(1);
        let mut next = || random.next();
        for round in 0..2_000 {
            let mut bytes = [0_u8; BLOCK_BYTES];
            for byte in &mut bytes {
                *byte = ALPHABET[(next() >> 33) as usize % ALPHABET.len()];
            }
            // SAFETY: the array is 64 bytes long; the caller vouches for the features.
            let block = unsafe { B::load(bytes.as_ptr()) };
            let mask = |test: &dyn Fn(u8) -> bool| {
                (0..BLOCK_BYTES).filter(|&i| test(bytes[i])).fold(0, |mask, i| mask | 1_u64 << i)
            };
            for wanted in [b'"', b',', b'|', b'\n', b'\r', 0, 0x7F, 0x80, 0xFF] {
                assert_eq!(block.eq(wanted), mask(&|byte| byte == wanted));
                assert_eq!(block.eq_either(wanted, b','), mask(&|byte| byte == wanted || byte == b','));
            }
            assert_eq!(block.high_bits(), mask(&|byte| byte >= 0x80));
            // SAFETY: as above.
            let other = unsafe { B::load([round as u8; BLOCK_BYTES].as_ptr()) };
            assert_eq!(block.or(other).high_bits(), mask(&|byte| (byte | round as u8) >= 0x80));

            let bits = [0, u64::MAX, next(), next() & next(), next() & next() & next(), 1 << (round % 64)][round % 6];
            let naive = (0..64).fold(0, |all, i| all | u64::from((bits << (63 - i)).count_ones() & 1) << i);
            assert_eq!(block.prefix_xor(bits), naive);

            let base = next() as u32 >> 1;
            let mut out = [0; FLATTEN_MARKS_MAX];
            // SAFETY: the array has room for every mark a block can have.
            unsafe { block.flatten(bits, base, out.as_mut_ptr()) };
            let naive: Vec<u32> = (0..64).filter(|i| bits >> i & 1 == 1).map(|i| base + i).collect();
            assert_eq!(out[..naive.len()], naive);
            B::prefetch(bytes.as_ptr().wrapping_add(1 << 40));
        }
    }
}
