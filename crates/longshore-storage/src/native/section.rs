//! A block is a row of sections; each is stored plain or as one LZ4 block, whichever pays.
//!
//! The encodings have done most of the work before LZ4 sees a byte. What is left to it must be worth the time, of who writes
//! and of who reads: LZ4 is kept only where it takes three quarters off, as of codes in long runs. Comments of TPC-H, of
//! which it takes 0.58 off, took half the time of a reload and two thirds of that of an unload; `VACUUM` compresses them in
//! memory, and then they need nothing here. A sample of each section comes first, so that the others cost next to nothing.
//!
//! Sections are unpacked straight into the memory of the chunk. Texts come in pieces, behind the other sections.

use std::mem::MaybeUninit;

use lz4_flex::block::{CompressTable, compress_into_with_table, decompress_into, get_maximum_output_size};

use super::wire::Malformed;

/// Readable bytes behind every unpacked section, so that a value of up to 12 bytes is read by one 16-byte load.
pub(super) const SLACK_BYTES: usize = 16;

/// Texts are cut into sections of this many bytes, which are unpacked in L2. Smaller ones would cost the compressor, whose
/// window is 64 KiB.
pub(super) const PIECE_BYTES: usize = 128 << 10;

/// Shorter sections are stored plain: LZ4 finds little and the directory is read either way.
const COMPRESS_BYTES_MIN: usize = 128;

/// The bytes of a longer section that are compressed first, to see whether the others are worth it.
const SAMPLE_BYTES: usize = 8 << 10;

/// LZ4 is kept where it leaves at most one byte in so many.
const SHRINKS_MIN: usize = 4;

/// LZ4 cannot expand a byte to more than this many, which bounds what a section may claim.
const LZ4_EXPANSION_MAX: u64 = 255;

/// The extent of one section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Section {
    /// Bytes as the encoding wrote them.
    pub(super) raw_bytes: u64,
    /// Bytes in the file; fewer than `raw_bytes` if and only if they are LZ4.
    pub(super) stored_bytes: u64,
}

impl Section {
    fn is_compressed(self) -> bool {
        self.stored_bytes < self.raw_bytes
    }

    /// Whether any bytes of the stored length can be the raw ones.
    pub(super) fn is_possible(self) -> bool {
        self.stored_bytes <= self.raw_bytes && self.raw_bytes <= self.stored_bytes.saturating_mul(LZ4_EXPANSION_MAX)
    }
}

/// What a section's raw length must be.
#[derive(Clone, Copy)]
pub(super) enum Extent {
    Exactly(u64),
    AtMost(u64),
}

/// Collects the sections of one block after the other; belongs to one worker.
pub(super) struct SectionWriter {
    /// The bytes of all blocks since `clear`.
    bytes: Vec<u8>,
    sections: Vec<Section>,
    pieces: Vec<Section>,
    packed: Vec<u8>,
    table: CompressTable,
}

impl SectionWriter {
    /// A writer without bytes.
    pub(super) fn new() -> SectionWriter {
        SectionWriter {
            bytes: Vec::new(),
            sections: Vec::new(),
            pieces: Vec::new(),
            packed: Vec::new(),
            table: CompressTable::large(),
        }
    }

    /// Forgets all bytes, not their allocation.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
    }

    /// The bytes of all sections since `clear`.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The sections since the last call, and the pieces of long values among them.
    pub(super) fn take_sections(&mut self) -> (Vec<Section>, Vec<Section>) {
        (std::mem::take(&mut self.sections), std::mem::take(&mut self.pieces))
    }

    /// Adds a section.
    pub(super) fn push(&mut self, raw: &[u8]) {
        let section = self.write(raw);
        self.sections.push(section);
    }

    /// Adds a piece of long values, behind all other sections of the block.
    pub(super) fn push_piece(&mut self, raw: &[u8]) {
        let section = self.write(raw);
        self.pieces.push(section);
    }

    /// Appends bytes, compressed if that pays.
    fn write(&mut self, raw: &[u8]) -> Section {
        let stored = self.pack(raw).unwrap_or(raw.len());
        if stored < raw.len() {
            self.bytes.extend_from_slice(&self.packed[..stored]);
        } else {
            self.bytes.extend_from_slice(raw);
        }
        Section { raw_bytes: raw.len() as u64, stored_bytes: stored as u64 }
    }

    /// The number of bytes in `packed`, if compressing `raw` into it paid.
    fn pack(&mut self, raw: &[u8]) -> Option<usize> {
        if raw.len() < COMPRESS_BYTES_MIN {
            return None;
        }
        if raw.len() > 2 * SAMPLE_BYTES {
            self.pack_whole(&raw[..SAMPLE_BYTES])?;
        }
        self.pack_whole(raw)
    }

    fn pack_whole(&mut self, raw: &[u8]) -> Option<usize> {
        let room = get_maximum_output_size(raw.len());
        if self.packed.len() < room {
            self.packed.resize(room, 0);
        }
        let stored = compress_into_with_table(raw, &mut self.packed, &mut self.table).ok()?;
        (stored <= raw.len() / SHRINKS_MIN).then_some(stored)
    }
}

/// A section's bytes with at least `SLACK_BYTES` readable bytes behind them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unpacked<'a> {
    padded: &'a [u8],
    len: usize,
}

impl<'a> Unpacked<'a> {
    /// The section alone.
    pub(super) fn bytes(self) -> &'a [u8] {
        &self.padded[..self.len]
    }

    /// The section and what happens to lie behind it.
    pub(super) fn padded(self) -> &'a [u8] {
        self.padded
    }
}

/// Unpacks `sections`, the first ones of `block`, into `scratch` or, where they are stored plain, not at all.
///
/// `block` has `SLACK_BYTES` bytes more than all its sections.
pub(super) fn unpack<'a>(
    sections: &[Section],
    block: &'a [u8],
    scratch: &'a mut Vec<u8>,
) -> Result<Vec<Unpacked<'a>>, Malformed> {
    let mut places = Vec::with_capacity(sections.len());
    let mut block_at = 0;
    let mut scratch_at = 0;
    for section in sections {
        let (raw, stored) = (section.raw_bytes as usize, section.stored_bytes as usize);
        if section.is_compressed() {
            if scratch.len() < scratch_at + raw + SLACK_BYTES {
                scratch.resize(scratch_at + raw + SLACK_BYTES, 0);
            }
            expand(&block[block_at..block_at + stored], &mut scratch[scratch_at..scratch_at + raw])?;
            places.push((true, scratch_at, raw));
            scratch_at += raw;
        } else {
            places.push((false, block_at, raw));
        }
        block_at += stored;
    }
    let scratch: &'a [u8] = scratch;
    let unpacked = |(in_scratch, at, len): (bool, usize, usize)| Unpacked {
        padded: &(if in_scratch { scratch } else { block })[at..],
        len,
    };
    Ok(places.into_iter().map(unpacked).collect())
}

/// Unpacks the sections that `stored` begins with into `room`, which has their raw length, one behind the other: all of
/// it. Gives what is left of `stored`.
pub(super) fn expand_all<'a>(
    sections: &[Section],
    mut stored: &'a [u8],
    mut room: &mut [MaybeUninit<u8>],
) -> Result<&'a [u8], Malformed> {
    for section in sections {
        let (bytes, rest) = stored.split_at(section.stored_bytes as usize);
        let (slots, more) = room.split_at_mut(section.raw_bytes as usize);
        (stored, room) = (rest, more);
        if section.is_compressed() {
            // The decompressor asks for initialised bytes. A section stays in L2, where this costs next to nothing.
            slots.fill(MaybeUninit::new(0));
            // SAFETY: just filled.
            expand(bytes, unsafe { slots.assume_init_mut() })?;
        } else {
            slots.write_copy_of_slice(bytes);
        }
    }
    assert!(room.is_empty(), "there is room for {} bytes too many", room.len());
    Ok(stored)
}

fn expand(packed: &[u8], raw: &mut [u8]) -> Result<(), Malformed> {
    match decompress_into(packed, raw) {
        Ok(len) if len == raw.len() => Ok(()),
        Ok(len) => Err(Malformed::new(format!("a section of {} bytes decompresses to {len}", raw.len()))),
        Err(error) => Err(Malformed::new(format!("a section does not decompress: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use xxhash_rust::xxh3::xxh3_64;

    use super::*;

    #[test]
    fn sections_come_back_plain_and_packed() {
        let repeated = b"the slyly regular deposits sleep. ".repeat(100);
        let random: Vec<u8> = (0..700_u32).flat_map(|i| xxh3_64(&i.to_le_bytes()).to_le_bytes()).collect();
        let all: [&[u8]; 5] = [&repeated, b"", b"short", &random, &repeated[..2000]];
        let mut writer = SectionWriter::new();
        for raw in all {
            writer.push(raw);
        }
        writer.push_piece(&repeated);
        writer.push_piece(b"a piece");
        let (sections, pieces) = writer.take_sections();
        assert!(sections[0].is_compressed() && !sections[2].is_compressed() && !sections[3].is_compressed());
        let mut block = writer.bytes().to_vec();
        block.resize(block.len() + SLACK_BYTES, 0);

        let mut scratch = Vec::new();
        let unpacked = unpack(&sections, &block, &mut scratch).expect("they were just packed");
        assert_eq!(unpacked.len(), all.len());
        for (unpacked, raw) in unpacked.iter().zip(all) {
            assert_eq!(unpacked.bytes(), raw);
            assert!(unpacked.padded().len() >= raw.len() + SLACK_BYTES);
        }
        let stored = &block[sections.iter().map(|section| section.stored_bytes as usize).sum()..];
        let mut room = vec![MaybeUninit::uninit(); repeated.len() + 7];
        let rest = expand_all(&pieces, stored, &mut room).expect("they were just packed");
        assert_eq!(rest.len(), SLACK_BYTES);
        // SAFETY: just filled.
        let unpacked = unsafe { room.assume_init_ref() };
        assert_eq!(unpacked, [&repeated[..], b"a piece"].concat());
    }

    #[test]
    fn broken_lz4_is_refused() {
        let sections = [Section { raw_bytes: 1000, stored_bytes: 20 }];
        for byte in 0..=255_u8 {
            let block = [byte; 20 + SLACK_BYTES];
            assert!(unpack(&sections, &block, &mut Vec::new()).is_err(), "filled with {byte}");
        }
    }
}
