//! Whether texts that were decoded from memory which others may write are texts where they lie now.
//!
//! A file that is mapped can be written by another process between the check of a text and its copy. So what was checked
//! before the copy is checked again where it was copied to, which nobody else can reach. Most columns are ASCII, or short,
//! and take one pass over bytes that are still in the cache.

use super::PartitionBuffer;
use crate::chunk::{Stored, Values};
use crate::types::ColumnType;
use crate::view::{self, INLINE_BYTES_MAX};

/// The highest bits of the bytes of a text that a view holds itself.
const INLINE_HIGH: u128 = 0x8080_8080_8080_8080_8080_8080 << 32;

const _: () = assert!(INLINE_HIGH.count_ones() as usize == INLINE_BYTES_MAX && INLINE_HIGH.leading_zeros() == 0);

impl PartitionBuffer {
    /// Whether the texts of the rows from one on are UTF-8, and their views begin with their first bytes. What they have of
    /// the heap lies behind its first `heap_from` bytes.
    #[must_use]
    pub fn are_texts(&self, from: usize, heap_from: usize) -> bool {
        let heap = self.heap();
        let is_ascii = heap.get(heap_from..).is_none_or(<[u8]>::is_ascii);
        let columns = self.schema().columns().iter().enumerate();
        let mut texts = columns.filter(|(_, column)| column.column_type != ColumnType::Bytea);
        texts.all(|(at, _)| match self.values(at) {
            Values::Views(views) => are_texts(&views[from..], heap, is_ascii),
            _ => true,
        })
    }
}

/// The same of the views of one column.
fn are_texts(views: &[u128], heap: &[u8], is_ascii: bool) -> bool {
    let (mut longest, mut all) = (0, 0);
    for &view in views {
        longest = longest.max(view as u32);
        all |= view;
    }
    if longest as usize <= INLINE_BYTES_MAX && all & INLINE_HIGH == 0 {
        return true;
    }
    views.iter().all(|&view| {
        let length = view::length(view);
        if length <= INLINE_BYTES_MAX {
            return view & INLINE_HIGH == 0 || simdutf8::basic::from_utf8(&view.to_le_bytes()[4..4 + length]).is_ok();
        }
        let at = view::offset(view);
        let Some(text) = at.checked_add(length).and_then(|end| heap.get(at..end)) else { return false };
        text[..4] == view.to_le_bytes()[4..8] && (is_ascii || simdutf8::basic::from_utf8(text).is_ok())
    })
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
        let other_prefix = ascii ^ 1 << 40;
        for wrong in [broken, other_prefix, short(b"\xC3"), short(b"12345678901\xFF"), long(0, 20) + 100] {
            assert!(!is_text(wrong), "{wrong:x}");
        }
    }
}
