//! Decides which texts are UUIDs, and how they are stored and written.
//!
//! As in PostgreSQL a UUID has 32 hexadecimal digits of either case; a hyphen may stand after every group of four but
//! the last; all of it may stand in braces. Blanks around it are an error. It is written in lower case, with hyphens after 8,
//! 12, 16 and 20 digits.
//!
//! Not here: the fast path of loads (`csv/decode/uuid`), and blanks that COPY cuts where its option TRIM is set.

use core::fmt;

/// Bytes of a written UUID.
pub const UUID_TEXT_BYTES: usize = 36;

/// Hexadecimal digits of a UUID.
const DIGITS: usize = 32;

/// A UUID: its 16 bytes, the most significant first. They order as the texts do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid(pub [u8; 16]);

impl Uuid {
    /// The UUID that a text spells.
    ///
    /// # Errors
    ///
    /// If the text spells none.
    pub fn parse(text: &[u8]) -> Result<Uuid, UuidError> {
        let braces = text.first() == Some(&b'{');
        let mut at = usize::from(braces);
        let mut value = 0_u128;
        for digit in 0..DIGITS {
            at += usize::from(digit > 0 && digit % 4 == 0 && text.get(at) == Some(&b'-'));
            let found = text.get(at).and_then(|&byte| char::from(byte).to_digit(16));
            value = value << 4 | u128::from(found.ok_or(UuidError { at, expected: UuidPart::HexDigit })?);
            at += 1;
        }
        if braces {
            if text.get(at) != Some(&b'}') {
                return Err(UuidError { at, expected: UuidPart::Brace });
            }
            at += 1;
        }
        let uuid = Uuid(value.to_be_bytes());
        if at == text.len() { Ok(uuid) } else { Err(UuidError { at, expected: UuidPart::End }) }
    }

    /// The UUID as it is written, in ASCII.
    #[must_use]
    pub fn text(self) -> [u8; UUID_TEXT_BYTES] {
        let mut text = [b'-'; UUID_TEXT_BYTES];
        // Hyphens stand behind 4, 6, 8 and 10 bytes.
        for (at, byte) in self.0.into_iter().enumerate() {
            let to = 2 * at + (at / 2).saturating_sub(1).min(4);
            text[to..to + 2].copy_from_slice(&HEXADECIMAL[usize::from(byte)]);
        }
        text
    }

    /// The whole number that a column stores, which orders as the UUIDs do.
    #[must_use]
    pub fn stored(self) -> i128 {
        u128::from_be_bytes(self.0).wrapping_add(1 << 127) as i128
    }

    /// The UUID that is stored as a whole number.
    #[must_use]
    pub fn of_stored(stored: i128) -> Uuid {
        Uuid((stored as u128).wrapping_sub(1 << 127).to_be_bytes())
    }
}

/// The two digits of each byte.
static HEXADECIMAL: [[u8; 2]; 256] = {
    let digits = b"0123456789abcdef";
    let mut both = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        both[byte] = [digits[byte >> 4], digits[byte & 15]];
        byte += 1;
    }
    both
};

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(core::str::from_utf8(&self.text()).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text is no UUID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UuidError {
    /// Offset of the byte that is wrong; the text's length if it ends too early.
    pub at: usize,
    /// What is expected there.
    pub expected: UuidPart,
}

/// A part of a UUID's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UuidPart {
    /// A hexadecimal digit.
    HexDigit,
    /// The closing brace.
    Brace,
    /// The end of the text.
    End,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_postgresql_is_read() {
        for text in [
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
            "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11",
            "{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380A11}",
            "a0eebc999c0b4ef8bb6d6bb9bd380a11",
            "{a0eebc999c0b4ef8bb6d6bb9bd380a11}",
            "a0ee-bc99-9c0b-4ef8-bb6d-6bb9-bd38-0a11",
            "{a0eebc99-9c0b4ef8-bb6d6bb9-bd380a11}",
        ] {
            let uuid = Uuid::parse(text.as_bytes()).expect("it is a UUID");
            assert_eq!(uuid.0[..4], [0xA0, 0xEE, 0xBC, 0x99], "{text}");
            assert_eq!(&uuid.text(), b"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "{text}");
        }
    }

    #[test]
    fn other_texts_are_refused_where_they_go_wrong() {
        use UuidPart::{Brace, End, HexDigit};
        for (text, at, expected) in [
            ("", 0, HexDigit),
            ("{}", 1, HexDigit),
            ("-a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", 0, HexDigit),
            ("g0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", 0, HexDigit),
            ("a0eebc999-c0b-4ef8-bb6d-6bb9bd380a11", 9, HexDigit),
            ("a0eebc99--9c0b-4ef8-bb6d-6bb9bd380a11", 9, HexDigit),
            ("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1", 35, HexDigit),
            ("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11-", 36, End),
            ("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}", 36, End),
            ("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a110", 36, End),
            ("{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", 37, Brace),
            ("{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11-}", 37, Brace),
            ("{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}}", 38, End),
            (" a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", 0, HexDigit),
            ("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11 ", 36, End),
            ("\u{e4}0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", 0, HexDigit),
        ] {
            assert_eq!(Uuid::parse(text.as_bytes()), Err(UuidError { at, expected }), "{text:?}");
        }
    }
    #[test]
    fn stored_numbers_order_as_texts_do() {
        let texts = [
            "00000000-0000-0000-0000-000000000000",
            "00000000-0000-0000-0000-000000000001",
            "7fffffff-ffff-ffff-ffff-ffffffffffff",
            "80000000-0000-0000-0000-000000000000",
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
            "ffffffff-ffff-ffff-ffff-ffffffffffff",
        ];
        let uuids = texts.map(|text| Uuid::parse(text.as_bytes()).expect("it is a UUID"));
        assert!(uuids.is_sorted() && uuids.map(Uuid::stored).is_sorted());
        assert_eq!(uuids.map(|uuid| Uuid::of_stored(uuid.stored())), uuids);
        assert!(uuids.iter().zip(texts).all(|(uuid, text)| uuid.text() == text.as_bytes()));
        assert_eq!((uuids[0].stored(), uuids[5].stored()), (i128::MIN, i128::MAX));
    }
}
