//! Texts compressed one by one, by symbols that they have in common: FSST (Boncz, Neumann, Leis: *FSST: Fast Random Access
//! String Compression*, PVLDB 13, 2020).
//!
//! A *symbol* is a string of 1 to 8 bytes; a column of a chunk has a table of up to 255. A text is a sequence of codes:
//! each stands for a symbol, but for the last code, the *escape*, which stands for the byte behind it. So a text is found
//! by its place, as an uncompressed one is, and decompressed without any other.
//!
//! ```text
//! symbols   0 "the "  1 "slyly "  2 "deposits"        text    the slyly e deposits
//!                                                     codes   0 1 255 e 255 ' ' 2
//! ```
//!
//! The crate `fsst-rs` makes tables and codes. It is not asked to decompress: it trusts that no symbol is longer than 8
//! bytes and that a byte follows every escape, and a native file may hold anything. Here every store is checked, which was
//! as fast by measurement: the stores of a text wait for each other, not for comparisons.
//!
//! The length of a symbol is not stored. It is that of its 8 bytes without the zeros at their end, and 1 at least, as the
//! crate has it; so there is no length that could be wrong.
//!
//! Not here: when texts are compressed (`packed/compress.rs`, `chunk/hot/freeze.rs`), where their codes lie
//! (`packed/text.rs`).

use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::OnceLock;

use ::fsst::Compressor;
use arrow_buffer::{BooleanBuffer, Buffer};

use super::copy_of;
use super::text::{SLACK_BYTES, TextEnds, view_at};
use crate::arena::Arena;
use crate::memory::OutOfMemory;
use crate::view::HEAP_BYTES_MAX;

/// The code that stands for the byte behind it.
const ESCAPE: u8 = u8::MAX;

/// Bytes that a symbol has at most, and takes.
pub(super) const SYMBOL_BYTES: usize = 8;

/// Texts that are compressed at a time, in bytes: between them it is seen whether it pays.
const STRETCH_BYTES: usize = 64 << 10;

/// Room for texts beyond what is expected, lest it has to grow for the last one.
const ROOM_BYTES_MIN: usize = 4096;

/// Texts that are decompressed together where they are checked.
const CHECKED_ROWS: usize = 256;

/// How the texts of a column are made of their codes, which lie in its heap.
pub(super) struct FsstTexts {
    symbols: SymbolTable,
    /// Where the codes of each text end.
    ends: TextEnds,
    /// Bytes of all texts, once somebody asks.
    bytes: OnceLock<usize>,
}

/// Compresses texts, and gives their codes, too. It is given up once it does not `pay`, which is asked from time to time of
/// the bytes that some texts have and that they would take, the table included.
pub(super) fn compress(
    rows: usize,
    ends: &TextEnds,
    heap: &[u8],
    pays: impl Fn(usize, usize) -> bool,
    arena: &mut Arena,
) -> Result<Option<(FsstTexts, Buffer)>, OutOfMemory> {
    let texts: Vec<&[u8]> = (0..rows).map(|row| &heap[ends.range(row)]).collect();
    let compressor = Compressor::train(&texts);
    let (mut codes, mut code_ends) = (Vec::new(), Vec::with_capacity(rows));
    let (mut left, mut bytes) = (&texts[..], 0);
    while !left.is_empty() {
        let before = bytes;
        let is_full = |text: &&[u8]| {
            bytes += text.len();
            bytes - before >= STRETCH_BYTES
        };
        let count = left.iter().position(is_full).map_or(left.len(), |last| last + 1);
        let (stretch, rest) = left.split_at(count);
        compressor.compress_bulk_into::<{ Compressor::DEFAULT_BULK_LANES }>(stretch, &mut codes, &mut code_ends);
        if !pays(bytes, codes.len() + SymbolTable::BYTES_MAX) {
            return Ok(None);
        }
        left = rest;
    }
    let length = |row: usize| (code_ends[row] - if row == 0 { 0 } else { code_ends[row - 1] }) as usize;
    let symbols: Vec<u64> = compressor.symbol_table().iter().map(|symbol| symbol.to_u64().to_le()).collect();
    let symbols = SymbolTable::new(copy_of(&symbols, arena)?);
    let ends = TextEnds::of_lengths(rows, length, arena)?;
    let codes = copy_of(&codes, arena)?;
    Ok(Some((FsstTexts { symbols, ends, bytes: bytes.into() }, codes)))
}

impl FsstTexts {
    /// Texts of these codes; `check` says whether they are right.
    pub(super) fn new(symbols: SymbolTable, ends: TextEnds) -> FsstTexts {
        FsstTexts { symbols, ends, bytes: OnceLock::new() }
    }

    /// A copy in memory of another arena.
    pub(super) fn copied(&self, arena: &mut Arena) -> Result<FsstTexts, OutOfMemory> {
        let symbols = SymbolTable::new(copy_of(self.symbols.stored.as_slice(), arena)?);
        Ok(FsstTexts { symbols, ends: self.ends.copied(arena)?, bytes: self.bytes.clone() })
    }

    /// The table, [`SYMBOL_BYTES`] for each symbol.
    pub(super) fn symbols(&self) -> &Buffer {
        &self.symbols.stored
    }

    /// Where the codes of each text end.
    pub(super) fn ends(&self) -> &TextEnds {
        &self.ends
    }

    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        self.symbols.bytes() + self.ends.bytes()
    }

    /// Bytes of all texts.
    pub(super) fn text_bytes(&self, codes: &[u8]) -> usize {
        *self.bytes.get_or_init(|| self.symbols.length(codes))
    }

    /// Bytes of a text.
    pub(super) fn length(&self, row: usize, codes: &[u8]) -> usize {
        self.symbols.length(&codes[self.ends.range(row)])
    }

    /// A text.
    pub(super) fn text(&self, row: usize, codes: &[u8]) -> Vec<u8> {
        let codes = &codes[self.ends.range(row)];
        let mut text = vec![0; codes.len() * SYMBOL_BYTES];
        let length = self.symbols.decompress(codes, &mut text);
        text.truncate(length);
        text
    }

    /// Writes the texts of some rows to the start of `room`, which grows to what is needed and is used again, and views of
    /// them; says where the texts end. Rows that are not `wanted`, by a bit for each, have no text then.
    pub(super) fn unpack(
        &self,
        rows: Range<usize>,
        wanted: Option<&BooleanBuffer>,
        codes: &[u8],
        views: &mut [MaybeUninit<u128>],
        room: &mut Vec<u8>,
    ) -> usize {
        assert_eq!(rows.len(), views.len(), "one view per row");
        let mut views = views.iter_mut();
        self.unpack_each(rows, wanted, codes, room, |room, start, length| {
            let view = views.next().expect("there is one for each row");
            view.write(view_at(room, start as u32, length as u32));
        })
    }

    /// The same, and says of each text where it begins and how long it is.
    fn unpack_each(
        &self,
        rows: Range<usize>,
        wanted: Option<&BooleanBuffer>,
        codes: &[u8],
        room: &mut Vec<u8>,
        mut each: impl FnMut(&[u8], usize, usize),
    ) -> usize {
        assert!(wanted.is_none_or(|wanted| wanted.len() == rows.len()), "a bit for each of {rows:?}");
        let (mut at, mut row) = (0, 0);
        self.ends.each(rows, |start, length| {
            let length = if wanted.is_none_or(|wanted| wanted.value(row)) { length } else { 0 };
            row += 1;
            let length = self.decompress_to(&codes[start as usize..][..length as usize], room, at);
            each(room, at, length);
            at += length;
        });
        at
    }

    /// Views of the texts of some of the column's rows, in the order given, and the texts.
    pub(super) fn picked(&self, rows: &[u32], column_rows: usize, codes: &[u8]) -> (Vec<u128>, Vec<u8>) {
        let mut room = self.room(rows.len(), column_rows, codes);
        let mut at = 0;
        let views = rows.iter().map(|&row| {
            let length = self.decompress_to(&codes[self.ends.range(row as usize)], &mut room, at);
            let view = view_at(&room, at as u32, length as u32);
            at += length;
            view
        });
        let views = views.collect();
        assert!(at <= HEAP_BYTES_MAX, "{at} bytes of texts for one heap");
        room.truncate(at);
        (views, room)
    }

    /// Writes the text of some codes to a room, which grows to what is needed; says how long it is. Behind it is a view's
    /// worth of bytes.
    #[inline]
    fn decompress_to(&self, codes: &[u8], room: &mut Vec<u8>, at: usize) -> usize {
        let needed = at + codes.len() * SYMBOL_BYTES + SLACK_BYTES;
        if room.len() < needed {
            room.resize(needed.max(2 * room.len()), 0);
        }
        self.symbols.decompress(codes, &mut room[at..])
    }

    /// Room for the texts of `count` of the `rows`, as far as can be told.
    pub(super) fn room(&self, count: usize, rows: usize, codes: &[u8]) -> Vec<u8> {
        let bytes = self.text_bytes(codes) as u128;
        let expected = (bytes * count as u128).div_ceil(rows.max(1) as u128) as usize;
        vec![0; expected + expected / 16 + ROOM_BYTES_MIN]
    }

    /// Checks that the texts fill their codes, one behind the other, that each can be decompressed, and what comes of it.
    pub(super) fn check(&self, rows: usize, codes: &[u8], is_utf8: bool) -> Result<(), &'static str> {
        self.ends.check_order(codes.len())?;
        if codes.len() > HEAP_BYTES_MAX / SYMBOL_BYTES && self.text_bytes(codes) > HEAP_BYTES_MAX {
            return Err("the texts are longer than a heap may be");
        }
        if self.are_clearly_ascii(rows, codes) {
            return Ok(());
        }
        let mut are_whole = true;
        self.ends.each(0..rows, |start, length| {
            are_whole &= self.symbols.is_whole(&codes[start as usize..][..length as usize]);
        });
        if !are_whole {
            return Err("a text has a code without a symbol, or ends with an escape");
        }
        if is_utf8 && !self.are_utf8(rows, codes) {
            return Err("a text is not UTF-8");
        }
        Ok(())
    }

    /// Whether all codes stand for something, and it is ASCII, as a look at each code and the one before it tells: not where
    /// an escape comes before an escape, or before a byte that is no ASCII.
    fn are_clearly_ascii(&self, rows: usize, codes: &[u8]) -> bool {
        let count = self.symbols.count();
        let is_wrong = |before: u8, code: u8| {
            let is_no_symbol = code >= count && code != ESCAPE;
            if before == ESCAPE { !code.is_ascii() } else { is_no_symbol }
        };
        let of_first = codes.first().is_some_and(|&first| is_wrong(0, first));
        let of_others = codes.array_windows().fold(false, |any, &[before, code]| any | is_wrong(before, code));
        if of_first || of_others || !self.symbols.stored.is_ascii() {
            return false;
        }
        // So each escape is one.
        let mut is_cut = false;
        self.ends.each(0..rows, |start, length| {
            is_cut |= length > 0 && codes[(start + length) as usize - 1] == ESCAPE;
        });
        !is_cut
    }

    /// The first four bytes of a text as a view has them, the first lowest, with zeros for those that are missing.
    pub(super) fn prefix(&self, row: usize, codes: &[u8]) -> u32 {
        // An escape and its byte stand for one.
        const CODES: usize = 2 * size_of::<u32>();
        let codes = &codes[self.ends.range(row)];
        let mut text = [0; CODES * SYMBOL_BYTES];
        let length = self.symbols.decompress(&codes[..codes.len().min(CODES)], &mut text);
        let mut prefix = [0; size_of::<u32>()];
        let known = length.min(prefix.len());
        prefix[..known].copy_from_slice(&text[..known]);
        u32::from_le_bytes(prefix)
    }

    fn are_utf8(&self, rows: usize, codes: &[u8]) -> bool {
        let mut room = Vec::new();
        let mut are_utf8 = true;
        for from in (0..rows).step_by(CHECKED_ROWS) {
            self.unpack_each(from..rows.min(from + CHECKED_ROWS), None, codes, &mut room, |room, start, length| {
                are_utf8 &= simdutf8::basic::from_utf8(&room[start..start + length]).is_ok();
            });
        }
        are_utf8
    }
}

/// What codes stand for.
pub(super) struct SymbolTable {
    /// The symbols one behind the other, as they are stored.
    stored: Buffer,
    /// The same for every code; without a symbol of no length.
    symbols: Box<[[u8; SYMBOL_BYTES]; 256]>,
    lengths: Box<[u8; 256]>,
}

impl SymbolTable {
    /// The most bytes that one takes.
    const BYTES_MAX: usize = ESCAPE as usize * SYMBOL_BYTES + 256 * (SYMBOL_BYTES + 1);

    /// The table of at most 255 symbols, which a buffer holds.
    pub(super) fn new(stored: Buffer) -> SymbolTable {
        let (mut symbols, mut lengths) = (Box::new([[0; SYMBOL_BYTES]; 256]), Box::new([0; 256]));
        let (each, rest) = stored.as_chunks::<SYMBOL_BYTES>();
        assert!(rest.is_empty() && each.len() <= ESCAPE.into(), "{} bytes of symbols", stored.len());
        for ((symbol, length), stored) in symbols.iter_mut().zip(lengths.iter_mut()).zip(each) {
            let zeros = u64::from_le_bytes(*stored).leading_zeros() as usize / 8;
            *symbol = *stored;
            *length = (SYMBOL_BYTES - zeros).max(1) as u8;
        }
        SymbolTable { stored, symbols, lengths }
    }

    /// How many symbols there are.
    fn count(&self) -> u8 {
        (self.stored.len() / SYMBOL_BYTES) as u8
    }

    fn bytes(&self) -> usize {
        self.stored.len() + size_of_val(&*self.symbols) + size_of_val(&*self.lengths)
    }

    /// The length of the text of some codes.
    fn length(&self, codes: &[u8]) -> usize {
        let mut codes = codes.iter();
        let mut length = 0;
        while let Some(&code) = codes.next() {
            length += match code {
                ESCAPE => codes.next().map_or(0, |_| 1),
                code => self.lengths[usize::from(code)].into(),
            };
        }
        length
    }

    /// Whether every code stands for something.
    fn is_whole(&self, codes: &[u8]) -> bool {
        let mut codes = codes.iter();
        let mut is_whole = true;
        while let Some(&code) = codes.next() {
            is_whole &= if code == ESCAPE { codes.next().is_some() } else { self.lengths[usize::from(code)] > 0 };
        }
        is_whole
    }

    /// Writes the text of some codes to the start of a room, which has [`SYMBOL_BYTES`] for each; says how long it is.
    #[inline]
    fn decompress(&self, codes: &[u8], room: &mut [u8]) -> usize {
        let mut codes = codes.iter();
        let mut at = 0;
        while let Some(&code) = codes.next() {
            if code == ESCAPE {
                let Some(&byte) = codes.next() else { break };
                room[at] = byte;
                at += 1;
            } else {
                room[at..at + SYMBOL_BYTES].copy_from_slice(&self.symbols[usize::from(code)]);
                at += usize::from(self.lengths[usize::from(code)]);
            }
        }
        at
    }
}

#[cfg(test)]
mod tests;
