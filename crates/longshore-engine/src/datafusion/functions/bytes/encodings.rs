//! `encode` and `decode`: bytes as texts in hexadecimal, base64 and escape notation.

use std::fmt::Write;

use crate::datafusion::functions::bytea_text;
use crate::{Error, ErrorKind};

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// Characters of a line of base64, as MIME has it.
const LINE: usize = 76;

enum Notation {
    Hex,
    Base64,
    Escape,
}

fn notation(name: &str) -> Result<Notation, Error> {
    match name.to_ascii_lowercase().as_str() {
        "hex" => Ok(Notation::Hex),
        "base64" => Ok(Notation::Base64),
        "escape" => Ok(Notation::Escape),
        _ => Err(Error::invalid(format!("unrecognized encoding: \"{name}\""))),
    }
}

pub(super) fn encoded(bytes: &[u8], name: &str) -> Result<String, Error> {
    Ok(match notation(name)? {
        Notation::Hex => bytea_text::hex(bytes),
        Notation::Base64 => base64(bytes),
        Notation::Escape => {
            let mut text = String::with_capacity(bytes.len());
            for byte in bytes {
                match byte {
                    b'\\' => text.push_str("\\\\"),
                    0 | 0x80..=0xff => {
                        let _ = write!(text, "\\{byte:03o}");
                    }
                    byte => text.push(char::from(*byte)),
                }
            }
            text
        }
    })
}

pub(super) fn decoded(text: &str, name: &str) -> Result<Vec<u8>, Error> {
    match notation(name)? {
        Notation::Hex => bytea_text::decode_hex(text),
        Notation::Base64 => of_base64(text),
        Notation::Escape => bytea_text::decode_escaped(text.as_bytes()),
    }
}

fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() / 3 * 4 + 4);
    let mut column = 0;
    for group in bytes.chunks(3) {
        let value = group.iter().fold(0_u32, |value, byte| value << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        if column == LINE {
            text.push('\n');
            column = 0;
        }
        for digit in 0..4 {
            if digit <= group.len() {
                text.push(char::from(BASE64[(value >> (18 - 6 * digit) & 63) as usize]));
            } else {
                text.push('=');
            }
        }
        column += 4;
    }
    text
}

fn of_base64(text: &str) -> Result<Vec<u8>, Error> {
    let invalid = |message: String| Error::invalid(message);
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut value, mut digits, mut padding) = (0_u32, 0, 0);
    for character in text.chars() {
        if matches!(character, ' ' | '\t' | '\n' | '\r') {
            continue;
        }
        if character == '=' {
            if padding == 0 && digits < 2 {
                return Err(invalid("unexpected \"=\" while decoding base64 sequence".to_owned()));
            }
            padding += 1;
            value <<= 6;
        } else {
            let digit = BASE64.iter().position(|byte| char::from(*byte) == character);
            let Some(digit) = digit.filter(|_| padding == 0) else {
                return Err(invalid(format!("invalid symbol \"{character}\" found while decoding base64 sequence")));
            };
            value = value << 6 | digit as u32;
        }
        digits += 1;
        if digits == 4 {
            let group = value.to_be_bytes();
            bytes.extend(&group[1..4 - padding.min(2)]);
            (value, digits) = (0, 0);
            if padding > 0 {
                padding = 3;
            }
        }
    }
    if digits != 0 {
        return Err(Error::new(ErrorKind::Invalid, "invalid base64 end sequence"));
    }
    Ok(bytes)
}
