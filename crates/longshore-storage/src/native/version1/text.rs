//! Rebuilds the 16-byte views that point to texts and byte strings.
//!
//! Values of up to 12 bytes live in their views, longer ones in the heap of the chunk. The file keeps them apart in the
//! same way: a section of the bytes of all short values, pieces of those of all long values, which become a part of the heap as they
//! are, and a list of lengths (`integer`), from which the views are rebuilt in one pass.
//!
//! ```text
//! values   "AIR"  "TAKE BACK RETURN"  ""  "REG AIR"
//! lengths  3 16 0 7        short  AIRREG AIR        long  TAKE BACK RETURN
//! ```
//!
//! With few distinct values these three hold the distinct values only, and a list of codes says which row has which:
//! the views are then looked up in a table, and equal long values share their bytes in the heap.
//!
//! Not here: what CHAR(n) or UUID demand of a text. The relation had it, and the checksum says that nothing changed.

use std::mem::MaybeUninit;

use crate::view;

use super::integer::{IntegerCode, IntegerReader};
use super::plane::{BATCH_ROWS, Planes};
use crate::native::section::Unpacked;
use crate::native::wire::Malformed;

/// Codes of a dictionary have at most 16 bits.
pub(super) const DICTIONARY_ENTRIES_MAX: usize = 1 << 16;

/// The bytes from which views are rebuilt.
#[derive(Clone, Copy)]
pub(super) struct Values<'a> {
    /// Code of the lengths.
    pub(super) lengths: IntegerCode,
    /// Planes of the lengths.
    pub(super) planes: Planes<'a>,
    /// All short values.
    pub(super) short: Unpacked<'a>,
    /// All long values, already in the heap.
    pub(super) long: &'a [u8],
    /// Where in the heap `long` begins.
    pub(super) long_at: u32,
    /// Whether every value must be UTF-8.
    pub(super) utf8: bool,
}

impl Values<'_> {
    /// Rebuilds one view per slot of `out`.
    ///
    /// Checks that the lengths use up both sections exactly and, for text, that every value is UTF-8. `long_at` and the
    /// length of `long` must together fit 32 bits.
    pub(super) fn decode<'out>(&self, out: &'out mut [MaybeUninit<u128>]) -> Result<&'out [u128], Malformed> {
        let short_is_ascii = !self.utf8 || check_utf8(self.short.bytes())?;
        let long_is_ascii = !self.utf8 || check_utf8(self.long)?;
        self.rebuild(out, !(short_is_ascii && long_is_ascii))
    }

    /// `check`: whether values may begin inside a character of the section, which is UTF-8 as a whole.
    fn rebuild<'out>(&self, out: &'out mut [MaybeUninit<u128>], check: bool) -> Result<&'out [u128], Malformed> {
        let beyond = || Malformed::new("the values are longer than their bytes");
        let (short, short_len) = (self.short.padded(), self.short.bytes().len());
        let (mut short_at, mut long_at) = (0, 0);
        let mut lengths = [MaybeUninit::uninit(); BATCH_ROWS];
        let mut reader = IntegerReader::<u32>::new(&self.lengths, &self.planes);
        let mut inside_a_character = false;
        for out in out.chunks_mut(BATCH_ROWS) {
            let lengths = reader.read(&mut lengths[..out.len()]);
            for (slot, &length) in out.iter_mut().zip(lengths) {
                // Short and long values come in no order that could be predicted, so nothing is decided by a branch.
                let is_long = length as usize > view::INLINE_BYTES_MAX;
                let (source, at) = if is_long { (self.long, long_at) } else { (short, short_at) };
                let start: &[u8; view::INLINE_BYTES_MAX] =
                    source.get(at..).and_then(<[u8]>::first_chunk).ok_or_else(beyond)?;
                slot.write(view::of_start(start, length, self.long_at.wrapping_add(long_at as u32)));
                inside_a_character |= length > 0 && start[0] & 0xC0 == 0x80;
                long_at += if is_long { length as usize } else { 0 };
                short_at += if is_long { 0 } else { length as usize };
            }
        }
        if short_at != short_len || long_at != self.long.len() {
            return Err(Malformed::new("the lengths of the values do not add up to their bytes"));
        }
        if check && inside_a_character {
            return Err(Malformed::new("a value begins inside a UTF-8 character"));
        }
        // SAFETY: the reader gives as many lengths as a batch has slots, so the loops wrote every slot.
        Ok(unsafe { out.assume_init_ref() })
    }
}

/// Looks every code up in `table`, which holds the views of a dictionary.
pub(super) fn decode_codes<'out>(
    planes: &Planes<'_>,
    table: &[u128],
    out: &'out mut [MaybeUninit<u128>],
) -> Result<&'out [u128], Malformed> {
    let mut codes = [0_u32; BATCH_ROWS];
    for (batch, out) in out.chunks_mut(BATCH_ROWS).enumerate() {
        let codes = &mut codes[..out.len()];
        planes.join(batch, codes);
        for (slot, &code) in out.iter_mut().zip(&*codes) {
            let view = table
                .get(code as usize)
                .ok_or_else(|| Malformed::new(format!("code {code} in a dictionary of {} entries", table.len())))?;
            slot.write(*view);
        }
    }
    // SAFETY: a batch has a code for each of its slots, so the loops wrote every slot.
    Ok(unsafe { out.assume_init_ref() })
}

/// Whether `bytes`, which must be UTF-8, are ASCII even.
fn check_utf8(bytes: &[u8]) -> Result<bool, Malformed> {
    if bytes.is_ascii() {
        return Ok(true);
    }
    match simdutf8::basic::from_utf8(bytes) {
        Ok(_) => Ok(false),
        Err(_) => Err(Malformed::new("the text is not UTF-8")),
    }
}
