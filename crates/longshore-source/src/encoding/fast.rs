//! Text of one or two bytes per unit as UTF-8: single-byte encodings by a table, UTF-16 by its bits, ASCII of both in
//! long strides. Such text can be cut anywhere between two characters, and the parts be converted side by side.
//!
//! The slow twin is `encoding_rs`, from which the tables are taken. Not here: the cutting (`parallel`).

use encoding_rs::{DecoderResult, UTF_16BE, UTF_16LE};

use super::Encoding;

/// Units that are looked at together.
const STRIDE: usize = 64;
/// Bytes that a character of the Basic Multilingual Plane has in UTF-8 at most; a pair of units has four.
const UNIT_BYTES_MAX: usize = 3;
/// With less room than this nothing is converted.
pub(super) const ROOM_BYTES_MIN: usize = STRIDE * UNIT_BYTES_MAX + ENTRY_BYTES;

/// An entry of a table as it is stored: the character's bytes, then how many they are, 0 for none.
type Entry = [u8; ENTRY_BYTES];
const ENTRY_BYTES: usize = 4;

/// An encoding whose text can be cut anywhere between two characters.
pub(super) enum Units {
    /// What each byte stands for; ASCII stands for itself.
    Single(Box<[Entry; 256]>),
    LittleEndian,
    BigEndian,
}

/// How far a conversion came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Progress {
    /// Bytes of the source that were converted.
    pub(super) read: usize,
    /// Bytes of the room that were filled.
    pub(super) written: usize,
    /// So many bytes follow that stand for nothing. Otherwise the source or the room is used up.
    pub(super) malformed: Option<usize>,
}

impl Units {
    /// The units of `encoding`, if it has such.
    pub(super) fn of(encoding: Encoding) -> Option<Self> {
        let library = encoding.0;
        if library == UTF_16LE {
            return Some(Self::LittleEndian);
        }
        if library == UTF_16BE {
            return Some(Self::BigEndian);
        }
        if !(library.is_single_byte() && library.is_ascii_compatible()) {
            return None;
        }
        let mut table = Box::new([[0; ENTRY_BYTES]; 256]);
        for (byte, entry) in (0..=u8::MAX).zip(table.iter_mut()) {
            let mut decoder = library.new_decoder_without_bom_handling();
            let mut room = [0; 16];
            if let (DecoderResult::InputEmpty, _, bytes) =
                decoder.decode_to_utf8_without_replacement(&[byte], &mut room, true)
            {
                entry[..bytes].copy_from_slice(&room[..bytes]);
                entry[ENTRY_BYTES - 1] = bytes as u8;
            }
        }
        Some(Self::Single(table))
    }

    /// Bytes of a unit.
    pub(super) fn bytes(&self) -> usize {
        if let Self::Single(_) = self { 1 } else { 2 }
    }

    /// The byte order mark that the text may begin with.
    pub(super) fn mark(&self) -> &'static [u8] {
        match self {
            Self::Single(_) => b"",
            Self::LittleEndian => b"\xff\xfe",
            Self::BigEndian => b"\xfe\xff",
        }
    }

    /// How much of `text`, which begins a character, can be cut off so that none is cut in two; 0 if it is too short
    /// to tell.
    pub(super) fn whole(&self, text: &[u8]) -> usize {
        let even = text.len() - text.len() % self.bytes();
        let last = match self {
            Self::Single(_) => return even,
            Self::LittleEndian => text[..even].last_chunk().map(|&unit| u16::from_le_bytes(unit)),
            Self::BigEndian => text[..even].last_chunk().map(|&unit| u16::from_be_bytes(unit)),
        };
        if last.is_some_and(is_first_of_pair) { even - 2 } else { even }
    }

    /// Converts what it can of `source`, which is whole characters unless it is the last of the text.
    pub(super) fn convert(&self, source: &[u8], room: &mut [u8]) -> Progress {
        match self {
            Self::Single(table) => single(table, source, room),
            Self::LittleEndian => wide(u16::from_le_bytes, source, room),
            Self::BigEndian => wide(u16::from_be_bytes, source, room),
        }
    }
}

fn single(table: &[Entry; 256], source: &[u8], room: &mut [u8]) -> Progress {
    let (mut read, mut written) = (0, 0);
    // A stride at a time while one fits, whatever it holds; the rest byte by byte.
    while let (Some(stride), Some(into)) =
        (source[read..].first_chunk::<STRIDE>(), room[written..].first_chunk_mut::<ROOM_BYTES_MIN>())
    {
        if stride.is_ascii() {
            into[..STRIDE].copy_from_slice(stride);
            (read, written) = (read + STRIDE, written + STRIDE);
            continue;
        }
        let mut filled = 0;
        for part in stride.as_chunks::<8>().0 {
            if part.is_ascii() {
                into[filled..filled + 8].copy_from_slice(part);
                (read, filled) = (read + 8, filled + 8);
                continue;
            }
            for &byte in part {
                let entry = table[usize::from(byte)];
                let bytes = usize::from(entry[ENTRY_BYTES - 1]);
                if bytes == 0 {
                    return Progress { read, written: written + filled, malformed: Some(1) };
                }
                // The length goes where the next character will.
                into[filled..filled + ENTRY_BYTES].copy_from_slice(&entry);
                (read, filled) = (read + 1, filled + bytes);
            }
        }
        written += filled;
    }
    while let (Some(&byte), Some(into)) = (source.get(read), room[written..].first_chunk_mut::<ENTRY_BYTES>()) {
        let entry = table[usize::from(byte)];
        if entry[ENTRY_BYTES - 1] == 0 {
            return Progress { read, written, malformed: Some(1) };
        }
        *into = entry;
        (read, written) = (read + 1, written + usize::from(entry[ENTRY_BYTES - 1]));
    }
    Progress { read, written, malformed: None }
}

fn wide(unit: impl Fn([u8; 2]) -> u16 + Copy, source: &[u8], room: &mut [u8]) -> Progress {
    let (mut read, mut written) = (0, 0);
    while let (Some(stride), true) =
        (source[read..].first_chunk::<{ 2 * STRIDE }>(), room.len() - written >= ROOM_BYTES_MIN)
    {
        let into = &mut room[written..];
        let mut units = [0; STRIDE];
        for (unit_at, &bytes) in units.iter_mut().zip(stride.as_chunks::<2>().0) {
            *unit_at = unit(bytes);
        }
        if units.iter().fold(0, |all, unit| all | unit) < 0x80 {
            for (byte, unit) in into.iter_mut().zip(units) {
                *byte = unit as u8;
            }
            (read, written) = (read + 2 * STRIDE, written + STRIDE);
            continue;
        }
        let progress = characters(unit, &source[read..], STRIDE, into);
        (read, written) = (read + progress.read, written + progress.written);
        if progress.malformed.is_some() {
            return Progress { read, written, ..progress };
        }
    }
    let rest = characters(unit, &source[read..], usize::MAX, &mut room[written..]);
    Progress { read: read + rest.read, written: written + rest.written, ..rest }
}

/// Converts up to `count` characters one by one.
fn characters(unit: impl Fn([u8; 2]) -> u16, source: &[u8], count: usize, room: &mut [u8]) -> Progress {
    let (mut read, mut written) = (0, 0);
    for _ in 0..count {
        let rest = &source[read..];
        let Some(into) = room[written..].first_chunk_mut::<4>() else { break };
        let malformed = |bytes| Progress { read, written, malformed: Some(bytes) };
        let Some(&first) = rest.first_chunk::<2>() else {
            if rest.is_empty() {
                break;
            }
            return malformed(1);
        };
        let first = unit(first);
        if first < 0x80 {
            into[0] = first as u8;
            (read, written) = (read + 2, written + 1);
            continue;
        }
        let character = if is_first_of_pair(first) {
            let Some(&[_, _, a, b]) = rest.first_chunk::<4>() else {
                // The end of the text: half a pair, and perhaps half a unit.
                return malformed(rest.len());
            };
            let second = unit([a, b]);
            let code = 0x10000 + ((u32::from(first) & 0x3ff) << 10 | u32::from(second) & 0x3ff);
            char::from_u32(code).filter(|_| is_second_of_pair(second))
        } else {
            char::from_u32(u32::from(first))
        };
        let Some(character) = character else { return malformed(2) };
        read += character.len_utf16() * 2;
        written += character.encode_utf8(into).len();
    }
    Progress { read, written, malformed: None }
}

fn is_first_of_pair(unit: u16) -> bool {
    unit & 0xfc00 == 0xd800
}

fn is_second_of_pair(unit: u16) -> bool {
    unit & 0xfc00 == 0xdc00
}
