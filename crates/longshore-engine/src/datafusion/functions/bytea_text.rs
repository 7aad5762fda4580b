//! BYTEA as text: PostgreSQL's hexadecimal and escape notations.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, BinaryViewBuilder};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;

use crate::datafusion::errors::external;
use crate::{Error, ErrorKind};

/// The bytes that texts stand for, in PostgreSQL's hexadecimal or escape notation.
pub(in crate::datafusion) fn bytes_of_texts(array: &ArrayRef) -> Result<ArrayRef> {
    let texts = cast(array, &DataType::Utf8View)?;
    let mut bytes = BinaryViewBuilder::with_capacity(texts.len());
    for text in texts.as_string_view() {
        bytes.append_option(text.map(decode).transpose().map_err(external)?);
    }
    Ok(Arc::new(bytes.finish()))
}

/// The bytes that `text` stands for in PostgreSQL's hexadecimal or escape notation.
fn decode(text: &str) -> std::result::Result<Vec<u8>, Error> {
    match text.strip_prefix("\\x") {
        Some(digits) => decode_hex(digits),
        None => decode_escaped(text.as_bytes()),
    }
}

/// The bytes of these hexadecimal digits.
pub(in crate::datafusion) fn decode_hex(digits: &str) -> std::result::Result<Vec<u8>, Error> {
    let mut bytes = Vec::with_capacity(digits.len() / 2);
    let mut half = None;
    for digit in digits.chars() {
        let Some(value) = digit.to_digit(16) else {
            if digit.is_ascii_whitespace() && half.is_none() {
                continue;
            }
            return Err(Error::invalid(format!("invalid hexadecimal digit: \"{digit}\"")));
        };
        match half.take() {
            None => half = Some(value as u8),
            Some(high) => bytes.push(high << 4 | value as u8),
        }
    }
    if half.is_some() {
        return Err(Error::invalid("invalid hexadecimal data: odd number of digits"));
    }
    Ok(bytes)
}

/// The bytes of a text in which a backslash stands before another one, or before three octal digits.
pub(in crate::datafusion) fn decode_escaped(text: &[u8]) -> std::result::Result<Vec<u8>, Error> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    loop {
        rest = match rest {
            [] => return Ok(bytes),
            [b'\\', b'\\', tail @ ..] => {
                bytes.push(b'\\');
                tail
            }
            [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', tail @ ..] => {
                bytes.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                tail
            }
            [b'\\', ..] => {
                return Err(Error::new(ErrorKind::InvalidText, "invalid input syntax for type bytea"));
            }
            [byte, tail @ ..] => {
                bytes.push(*byte);
                tail
            }
        };
    }
}

/// `bytes` in the hexadecimal notation.
pub(super) fn encode(bytes: &[u8]) -> String {
    format!("\\x{}", hex(bytes))
}

/// The hexadecimal digits of `bytes`.
pub(in crate::datafusion) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_in_both_notations() {
        for (text, bytes) in [
            ("", b"".as_slice()),
            ("\\x", b""),
            ("\\x00fF 41", b"\x00\xffA"),
            ("abc", b"abc"),
            ("a\\\\b\\000\\377", b"a\\b\x00\xff"),
            ("ä", "ä".as_bytes()),
        ] {
            assert_eq!(decode(text).unwrap(), bytes, "{text}");
            assert_eq!(decode(&encode(bytes)).unwrap(), bytes, "{text}");
        }
        for text in ["\\x0", "\\xg0", "\\x0 0", "a\\b", "\\400", "\\"] {
            assert!(decode(text).is_err(), "{text}");
        }
    }
}
