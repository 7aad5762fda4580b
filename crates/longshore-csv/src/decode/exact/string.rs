//! Booleans, text, UUIDs and bytes.

use super::{Due, Reader, Reason, trim};

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
    let text = text(bytes)?;
    let Some((end, _)) = text.char_indices().nth(characters as usize) else { return Ok(text) };
    let (fitting, surplus) = text.split_at(end);
    if surplus.bytes().all(|byte| byte == b' ') { Ok(fitting) } else { Err(Reason::TooLong { characters }) }
}

/// Text of at most `characters` characters, without its trailing blanks, which mean nothing in a CHAR.
///
/// # Errors
///
/// If the field is not UTF-8, or longer.
pub fn character(bytes: &[u8], characters: u32) -> Result<&str, Reason> {
    let text = text(bytes)?.trim_end_matches(' ');
    if text.chars().count() <= characters as usize { Ok(text) } else { Err(Reason::TooLong { characters }) }
}

fn hex_value(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

/// A UUID of 8-4-4-4-12 hexadecimal digits, perhaps in braces, as lower-case text.
///
/// # Errors
///
/// If the field is anything else.
pub fn uuid(bytes: &[u8]) -> Result<[u8; 36], Reason> {
    let mut reader = Reader::trimmed(bytes)?;
    let brace = reader.take(|byte| byte == b'{').is_some();
    let mut text = [b'-'; 36];
    for (place, slot) in text.iter_mut().enumerate() {
        if matches!(place, 8 | 13 | 18 | 23) {
            reader.byte(b'-')?;
        } else {
            let digit = reader.take(|byte| byte.is_ascii_hexdigit());
            *slot = digit.ok_or_else(|| reader.missing(Due::HexDigit))?.to_ascii_lowercase();
        }
    }
    if brace {
        reader.byte(b'}')?;
    }
    reader.end()?;
    Ok(text)
}

/// Bytes from `\x` and pairs of hexadecimal digits, appended to `out`.
///
/// # Errors
///
/// If the field is anything else; `out` may then hold some of the bytes.
pub fn bytea(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
    let digits = bytes.strip_prefix(b"\\x").ok_or(Reason::NotHexadecimal)?;
    let due = Due::HexDigit;
    let value = |digit: u8| hex_value(digit).ok_or(Reason::Unexpected { found: digit, due });
    for pair in digits.chunks(2) {
        let high = value(pair[0])?;
        let low = value(*pair.get(1).ok_or(Reason::Ends { due })?)?;
        out.push(high << 4 | low);
    }
    Ok(())
}
