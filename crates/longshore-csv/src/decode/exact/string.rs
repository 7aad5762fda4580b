//! Booleans, text, UUIDs and bytes.

use longshore_value::text::{fit_char, fit_varchar};
use longshore_value::uuid::{Uuid, UuidPart};

use super::{Expected, Reason, trim};

/// A boolean: 1, 0, or in any case a beginning of true, false, yes, no, on or off that is not a beginning of
/// another.
///
/// # Errors
///
/// If the field is anything else.
pub fn boolean(bytes: &[u8]) -> Result<bool, Reason> {
    let word = trim(bytes);
    if word.is_empty() {
        return Err(Reason::Empty);
    }
    let begins = |whole: &[u8], min: usize| {
        (min..=whole.len()).contains(&word.len()) && word.eq_ignore_ascii_case(&whole[..word.len()])
    };
    if word == b"1" || begins(b"true", 1) || begins(b"yes", 1) || begins(b"on", 2) {
        Ok(true)
    } else if word == b"0" || begins(b"false", 1) || begins(b"no", 1) || begins(b"off", 2) {
        Ok(false)
    } else {
        Err(Reason::Boolean)
    }
}

/// Text as it is.
///
/// # Errors
///
/// If the field is not UTF-8.
pub fn text(bytes: &[u8]) -> Result<&str, Reason> {
    std::str::from_utf8(bytes).map_err(|error| Reason::InvalidUtf8 { at: error.valid_up_to() as u32 })
}

/// Text of at most `characters` characters; surplus blanks are cut.
///
/// # Errors
///
/// If the field is not UTF-8, or longer.
pub fn varchar(bytes: &[u8], characters: u32) -> Result<&str, Reason> {
    fit_varchar(text(bytes)?, characters).ok_or(Reason::TooLong { characters })
}

/// Text of at most `characters` characters, without its trailing blanks, which mean nothing in a CHAR.
///
/// # Errors
///
/// If the field is not UTF-8, or longer.
pub fn character(bytes: &[u8], characters: u32) -> Result<&str, Reason> {
    fit_char(text(bytes)?, characters).ok_or(Reason::TooLong { characters })
}

fn hex_value(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

/// A UUID in any spelling of [`Uuid::parse`]. Blanks around it are no part of any.
///
/// # Errors
///
/// If the field is anything else.
pub fn uuid(bytes: &[u8]) -> Result<Uuid, Reason> {
    if bytes.is_empty() {
        return Err(Reason::Empty);
    }
    Uuid::parse(bytes).map_err(|error| {
        let expected = match error.expected {
            UuidPart::HexDigit => Expected::HexDigit,
            UuidPart::Brace => Expected::Byte(b'}'),
            UuidPart::End => Expected::End,
        };
        bytes.get(error.at).map_or(Reason::Ends { expected }, |&found| Reason::Unexpected { found, expected })
    })
}

/// Bytes from `\x` and pairs of hexadecimal digits, appended to `out`.
///
/// # Errors
///
/// If the field is anything else; `out` may then hold some of the bytes.
pub fn bytea(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
    let digits = bytes.strip_prefix(b"\\x").ok_or(Reason::NotHexadecimal)?;
    let expected = Expected::HexDigit;
    let value = |digit: u8| hex_value(digit).ok_or(Reason::Unexpected { found: digit, expected });
    for pair in digits.chunks(2) {
        let high = value(pair[0])?;
        let low = value(*pair.get(1).ok_or(Reason::Ends { expected })?)?;
        out.push(high << 4 | low);
    }
    Ok(())
}
