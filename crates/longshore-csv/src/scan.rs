//! Marks: the position of every unquoted delimiter and line end of a text.
//!
//! One loop over blocks of 64 bytes (`driver`) over a block type per instruction set (`avx512`, `avx2`, `sse42`, `neon`,
//! `portable`) and a way of quoting per dialect (`quoting`). The paper (Instant Loading, 3.4) finds the next special byte
//! and branches to what it means; here the text is first turned into a list of positions without such branches, and
//! the decoders work down a column of that list. A scan for a text without quotes or carriage returns does not look
//! for them.
//! Not here: whether the marks make rows (`record`), where a text may begin (`prefix`).

pub(crate) mod block;
pub(crate) mod driver;
pub mod enclosed;
pub(crate) mod portable;
pub(crate) mod quoting;

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512;
#[cfg(target_arch = "aarch64")]
pub(crate) mod neon;
#[cfg(target_arch = "x86_64")]
pub(crate) mod sse42;

use block::FLATTEN_MARKS_MAX;
use quoting::{DoubledQuotes, EscapedQuotes, NoQuotes};

use crate::kernel::with_kernel;
use crate::{Dialect, Kernel, Padded, QuoteState, TextTraits};

/// Longest text that can be scanned at once, in bytes: positions are 32 bits wide, and the sentinel is none of them.
pub const TEXT_BYTES_MAX: usize = (u32::MAX / 2) as usize;

/// A scan of one kernel; unsafe to call unless the CPU runs that kernel.
type ScanFn = unsafe fn(Padded<'_>, &Dialect, &mut Marks);

/// Finds the marks of texts of one dialect with one kernel.
#[derive(Clone, Copy, Debug)]
pub struct Scanner {
    dialect: Dialect,
    scan: ScanFn,
}

impl Scanner {
    /// A scanner for texts whose traits are among `traits`: a text of another kind is scanned as if the bytes that
    /// `traits` denies had no meaning.
    ///
    /// # Panics
    /// If the CPU does not run `kernel`.
    #[must_use]
    pub fn new(kernel: Kernel, dialect: &Dialect, traits: TextTraits) -> Scanner {
        kernel.assert_available();
        let escaped = dialect.escape().is_some();
        let scan: ScanFn = with_kernel!(kernel, simd => {
            match (traits.quotes && dialect.quote().is_some(), escaped, traits.carriage_returns) {
                (false, _, false) => simd::scan::<NoQuotes, false>,
                (false, _, true) => simd::scan::<NoQuotes, true>,
                (true, false, false) => simd::scan::<DoubledQuotes, false>,
                (true, false, true) => simd::scan::<DoubledQuotes, true>,
                (true, true, false) => simd::scan::<EscapedQuotes, false>,
                (true, true, true) => simd::scan::<EscapedQuotes, true>,
            }
        });
        Scanner { dialect: *dialect, scan }
    }

    /// Replaces `marks` by those of `text`, which begins at a record start, outside quotes.
    ///
    /// # Panics
    /// If the text is longer than [`TEXT_BYTES_MAX`].
    pub fn scan(&self, text: Padded<'_>, marks: &mut Marks) {
        // SAFETY: `new` checked that the CPU runs the kernel.
        unsafe { (self.scan)(text, &self.dialect, marks) }
    }
}

/// The marks of one text; made once and reused from text to text.
///
/// Positions ascend and lie within the text: [`crate::Rows`] and the decoders rest on it.
#[derive(Debug)]
pub struct Marks {
    positions: Vec<u32>,
    text_bytes: usize,
    line_ends: usize,
    carriage_returns: usize,
    end_state: QuoteState,
    /// Scratch of [`crate::Rows::new`]: marks of rows whose ends exclude a carriage return.
    trimmed: Vec<u32>,
}

/// What stands before the first mark: one before position 0.
const SENTINEL: u32 = u32::MAX;

impl Default for Marks {
    fn default() -> Marks {
        Marks::new()
    }
}

impl Marks {
    /// The marks of no text.
    #[must_use]
    pub fn new() -> Marks {
        Marks {
            positions: vec![SENTINEL],
            text_bytes: 0,
            line_ends: 0,
            carriage_returns: 0,
            end_state: QuoteState::Outside,
            trimmed: Vec::new(),
        }
    }

    /// A sentinel of `u32::MAX` (one before the first byte), then the position of every unquoted delimiter and line
    /// end, in order.
    #[must_use]
    pub fn positions(&self) -> &[u32] {
        &self.positions
    }

    /// How many marks are line ends.
    #[must_use]
    pub fn line_ends(&self) -> usize {
        self.line_ends
    }

    /// How many unquoted `\r` the text holds, in line ends or not; zero if the scanner did not look.
    #[must_use]
    pub fn carriage_returns(&self) -> usize {
        self.carriage_returns
    }

    /// The quote state behind the text.
    #[must_use]
    pub fn end_state(&self) -> QuoteState {
        self.end_state
    }

    /// The positions, and the scratch for rows whose line ends are trimmed.
    pub(crate) fn parts(&mut self) -> (&[u32], &mut Vec<u32>) {
        (&self.positions, &mut self.trimmed)
    }

    /// Length of the text that the marks belong to.
    pub(crate) fn text_bytes(&self) -> usize {
        self.text_bytes
    }

    /// Starts over for a text of `text_bytes`. Marks go to the returned address: one per byte of text and the slack of
    /// [`block::Block::flatten`] have room there.
    fn begin(&mut self, text_bytes: usize) -> *mut u32 {
        assert!(text_bytes <= TEXT_BYTES_MAX, "a text of {text_bytes} bytes is too long to scan at once");
        self.text_bytes = text_bytes;
        self.positions.clear();
        // Not zeroed, and mostly never touched: pages of memory come with the marks that need them.
        self.positions.reserve(1 + text_bytes + FLATTEN_MARKS_MAX);
        self.positions.push(SENTINEL);
        self.positions.spare_capacity_mut().as_mut_ptr().cast()
    }

    /// Takes the marks between what [`Marks::begin`] returned and `end`.
    ///
    /// # Safety
    /// These were written, ascend, and lie within the text; `end` is in the room that `begin` made.
    unsafe fn finish(&mut self, end: *mut u32) {
        // SAFETY: the caller vouches for both; the allocation has not moved since.
        unsafe {
            let count = end.offset_from_unsigned(self.positions.as_ptr());
            self.positions.set_len(count);
        }
    }
}
