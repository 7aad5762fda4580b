//! Decides which texts are UUIDs, and how they are stored: 36 characters, lower case, hyphens after 8, 12, 16 and 20
//! digits.
//!
//! As in PostgreSQL a UUID has 32 hexadecimal digits of either case; a hyphen may stand after every group of four but
//! the last; all of it may stand in braces. Blanks around it are an error.
//!
//! Not here: the fast path of loads (`csv/decode/uuid`), and blanks that COPY cuts where its option TRIM is set.

/// Bytes of a stored UUID.
pub const UUID_BYTES: usize = 36;

/// Hexadecimal digits of a UUID, its shortest spelling.
const DIGITS: usize = 32;

/// Bytes by which the stored UUID may be longer than its text.
pub const UUID_GROWTH_MAX: usize = UUID_BYTES - DIGITS;

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

/// The stored form of a UUID.
///
/// # Errors
///
/// If the text is not a UUID.
pub fn canonical(text: &[u8]) -> Result<[u8; UUID_BYTES], UuidError> {
    let braces = text.first() == Some(&b'{');
    let mut at = usize::from(braces);
    let mut stored = [b'-'; UUID_BYTES];
    let mut to = 0;
    for digit in 0..DIGITS {
        at += usize::from(digit > 0 && digit % 4 == 0 && text.get(at) == Some(&b'-'));
        let found = text.get(at).filter(|byte| byte.is_ascii_hexdigit());
        let found = found.ok_or(UuidError { at, expected: UuidPart::HexDigit })?;
        to += usize::from(matches!(to, 8 | 13 | 18 | 23));
        stored[to] = found.to_ascii_lowercase();
        at += 1;
        to += 1;
    }
    if braces {
        if text.get(at) != Some(&b'}') {
            return Err(UuidError { at, expected: UuidPart::Brace });
        }
        at += 1;
    }
    if at == text.len() { Ok(stored) } else { Err(UuidError { at, expected: UuidPart::End }) }
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
            assert_eq!(canonical(text.as_bytes()), Ok(*b"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"), "{text}");
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
            assert_eq!(canonical(text.as_bytes()), Err(UuidError { at, expected }), "{text:?}");
        }
    }
}
