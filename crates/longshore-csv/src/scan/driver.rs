//! The loops over blocks, written once for all kernels, and the entry points that compile them for one.
//!
//! The loops are inlined into the entry points of a kernel, whose features they then may use.

use super::Marks;
use super::block::{BLOCK_BYTES, Block, low_bits, zero_padded};
use super::quoting::{Quoting, Transitions};
use crate::{Dialect, Padded, QuoteState, Survey, TextTraits};

/// How far ahead of the block in work memory is asked for. Far enough to hide the latency of DRAM behind the decoding
/// of the rows in between; asking beyond the text is harmless.
const PREFETCH_BYTES: usize = 64 << 10;

/// What a scan carries from block to block.
struct Scan<Q> {
    delimiter: u8,
    quoting: Q,
    /// Where the next mark goes.
    out: *mut u32,
    line_ends: usize,
    carriage_returns: usize,
}

impl<Q: Quoting> Scan<Q> {
    /// Writes the marks of one block.
    ///
    /// ```text
    /// a,"b,c"\n     input
    ///   1111        inside
    ///  1 . 1        delimiters; the dot is inside
    ///        1      line ends
    /// ```
    ///
    /// # Safety
    /// The output has room for what `flatten` may write.
    #[inline(always)]
    unsafe fn block<B: Block, const CARRIAGE_RETURNS: bool>(&mut self, block: B, base: u32, valid: u64) {
        let counts = !self.quoting.inside(block, valid) & valid;
        let marks = block.eq_either(self.delimiter, b'\n') & counts;
        self.line_ends += (block.eq(b'\n') & counts).count_ones() as usize;
        if CARRIAGE_RETURNS {
            self.carriage_returns += (block.eq(b'\r') & counts).count_ones() as usize;
        }
        // SAFETY: the caller vouches for the room; the marks written advance `out` by their number.
        unsafe {
            block.flatten(marks, base, self.out);
            self.out = self.out.add(marks.count_ones() as usize);
        }
    }
}

/// Replaces `marks` by those of `text`, which begins outside quotes.
///
/// # Safety
/// The CPU has the features of the kernel of `B`.
#[inline(always)]
pub(crate) unsafe fn scan_blocks<B: Block, Q: Quoting, const CARRIAGE_RETURNS: bool>(
    text: Padded<'_>,
    dialect: &Dialect,
    marks: &mut Marks,
) {
    let mut scan = Scan {
        delimiter: dialect.delimiter(),
        quoting: Q::new(dialect, QuoteState::Outside),
        out: marks.begin(text.len()),
        line_ends: 0,
        carriage_returns: 0,
    };
    let start = text.buffer().as_ptr();
    let mut at = 0;
    while at + BLOCK_BYTES <= text.len() {
        // SAFETY: the block lies within the text; `begin` made room for a mark per byte and the slack of `flatten`.
        unsafe {
            let block = start.add(at);
            B::prefetch(block.wrapping_add(PREFETCH_BYTES));
            scan.block::<B, CARRIAGE_RETURNS>(B::load(block), at as u32, u64::MAX);
        }
        at += BLOCK_BYTES;
    }
    if at < text.len() {
        // SAFETY: as above; what lies behind the text is padding, and not valid.
        unsafe { scan.block::<B, CARRIAGE_RETURNS>(B::load(start.add(at)), at as u32, low_bits(text.len() - at)) };
    }
    // SAFETY: every mark up to `out` was written, and lies in the room that `begin` made.
    unsafe { marks.finish(scan.out) };
    marks.line_ends = scan.line_ends;
    marks.carriage_returns = scan.carriage_returns;
    marks.end_state = scan.quoting.state();
}

/// Surveys a text that begins anywhere.
///
/// # Safety
/// The CPU has the features of the kernel of `B`.
#[inline(always)]
pub(crate) unsafe fn survey_blocks<B: Block, T: Transitions>(dialect: &Dialect, text: &[u8]) -> Survey {
    if text.is_empty() {
        return Survey::identity();
    }
    let (blocks, rest) = text.as_chunks::<BLOCK_BYTES>();
    let last = zero_padded(rest);
    let mut transitions = T::new(dialect);
    // SAFETY: 64 bytes; the caller vouches for the features. The last block is taken out of turn, because holding
    // it is a start for `all`: a text has at least one byte.
    let last = unsafe { B::load(last.as_ptr()) };
    let mut all = last;
    let (mut quotes, mut carriage_returns) = (0, 0);
    for block in blocks {
        B::prefetch(block.as_ptr().wrapping_add(PREFETCH_BYTES));
        // SAFETY: 64 bytes; the caller vouches for the features.
        let block = unsafe { B::load(block.as_ptr()) };
        quotes |= transitions.follow(block, u64::MAX);
        carriage_returns |= block.eq(b'\r');
        all = all.or(block);
    }
    if !rest.is_empty() {
        quotes |= transitions.follow(last, low_bits(rest.len()));
        carriage_returns |= last.eq(b'\r');
    }
    let traits =
        TextTraits { quotes: quotes != 0, carriage_returns: carriage_returns != 0, non_ascii: all.high_bits() != 0 };
    Survey::new(traits, transitions.after())
}

/// Offset behind the first unquoted `\n` of a text that begins in `state`.
///
/// # Safety
/// The CPU has the features of the kernel of `B`.
#[inline(always)]
pub(crate) unsafe fn first_line_end<B: Block, Q: Quoting>(
    dialect: &Dialect,
    text: &[u8],
    state: QuoteState,
) -> Option<usize> {
    let (blocks, rest) = text.as_chunks::<BLOCK_BYTES>();
    let mut quoting = Q::new(dialect, state);
    for (index, block) in blocks.iter().enumerate() {
        // SAFETY: 64 bytes; the caller vouches for the features.
        let block = unsafe { B::load(block.as_ptr()) };
        let line_ends = block.eq(b'\n') & !quoting.inside(block, u64::MAX);
        if line_ends != 0 {
            return Some(index * BLOCK_BYTES + line_ends.trailing_zeros() as usize + 1);
        }
    }
    let last = zero_padded(rest);
    // SAFETY: 64 bytes; the caller vouches for the features.
    let block = unsafe { B::load(last.as_ptr()) };
    let line_ends = block.eq(b'\n') & !quoting.inside(block, low_bits(rest.len()));
    (line_ends != 0).then(|| blocks.len() * BLOCK_BYTES + line_ends.trailing_zeros() as usize + 1)
}

/// The functions of a kernel: the driver's loops compiled with the features that the block type needs. The feature
/// boundary goes around the loop, so that nothing within it is a call.
macro_rules! entry_points {
    ($block:ty, $($features:literal)?) => {
        /// `driver::scan_blocks` for this kernel.
        $(#[target_feature(enable = $features)])?
        pub(crate) fn scan<Q: $crate::scan::quoting::Quoting, const CARRIAGE_RETURNS: bool>(
            text: $crate::Padded<'_>,
            dialect: &$crate::Dialect,
            marks: &mut $crate::Marks,
        ) {
            // SAFETY: this function enables every feature that the block type needs.
            unsafe { $crate::scan::driver::scan_blocks::<$block, Q, CARRIAGE_RETURNS>(text, dialect, marks) }
        }

        /// `driver::survey_blocks` for this kernel.
        $(#[target_feature(enable = $features)])?
        pub(crate) fn survey<T: $crate::scan::quoting::Transitions>(
            dialect: &$crate::Dialect,
            text: &[u8],
        ) -> $crate::Survey {
            // SAFETY: this function enables every feature that the block type needs.
            unsafe { $crate::scan::driver::survey_blocks::<$block, T>(dialect, text) }
        }

        /// `enclosed::enclose_fields` for this kernel.
        $(#[target_feature(enable = $features)])?
        pub(crate) fn quotes_enclose_fields(quote: u8, delimiter: u8, text: &[u8]) -> bool {
            // SAFETY: this function enables every feature that the block type needs.
            unsafe { $crate::scan::enclosed::enclose_fields::<$block>(quote, delimiter, text) }
        }

        /// `driver::first_line_end` for this kernel.
        $(#[target_feature(enable = $features)])?
        pub(crate) fn first_line_end<Q: $crate::scan::quoting::Quoting>(
            dialect: &$crate::Dialect,
            text: &[u8],
            state: $crate::QuoteState,
        ) -> Option<usize> {
            // SAFETY: this function enables every feature that the block type needs.
            unsafe { $crate::scan::driver::first_line_end::<$block, Q>(dialect, text, state) }
        }
    };
}
pub(crate) use entry_points;
