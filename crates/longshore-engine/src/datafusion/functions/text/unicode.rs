//! Normal forms and escapes of Unicode.

use unicode_normalization::UnicodeNormalization;

use crate::datafusion::functions::calls::Kind::{Bool, Text};
use crate::datafusion::functions::calls::{Given, Overload, Row, of};
use crate::{Error, ErrorKind};

pub(super) const OVERLOADS: &[Overload] = &[
    of("normalize", &[Text], Text, |row| normalized(row.text(0), "NFC").map(Given::from)),
    of("normalize", &[Text, Text], Text, |row| normalized(row.text(0), row.text(1)).map(Given::from)),
    of("is_normalized", &[Text], Bool, |row| Ok((normalized(row.text(0), "NFC")? == row.text(0)).into())),
    of("is_normalized", &[Text, Text], Bool, |row| Ok((normalized(row.text(0), row.text(1))? == row.text(0)).into())),
    of("unistr", &[Text], Text, |row: &Row<'_>| unescaped(row.text(0), '\\').map(Given::from)),
];

fn normalized(text: &str, form: &str) -> Result<String, Error> {
    Ok(match form.to_ascii_uppercase().as_str() {
        "NFC" => text.nfc().collect(),
        "NFD" => text.nfd().collect(),
        "NFKC" => text.nfkc().collect(),
        "NFKD" => text.nfkd().collect(),
        _ => return Err(Error::invalid(format!("invalid normalization form: {form}"))),
    })
}

/// `text` with characters for `\XXXX`, `\+XXXXXX`, `\uXXXX` and `\UXXXXXXXX`.
fn unescaped(text: &str, escape: char) -> Result<String, Error> {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    let mut high: Option<u32> = None;
    while let Some(character) = rest.chars().next() {
        rest = &rest[character.len_utf8()..];
        if character != escape {
            pair(high)?;
            plain.push(character);
            continue;
        }
        if let Some(behind) = rest.strip_prefix(escape) {
            pair(high)?;
            plain.push(escape);
            rest = behind;
            continue;
        }
        let (skipped, digits) = match rest.as_bytes().first() {
            Some(b'u') => (1, 4),
            Some(b'U') => (1, 8),
            Some(b'+') => (1, 6),
            _ => (0, 4),
        };
        let code = rest.get(skipped..skipped + digits).filter(|code| code.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let Some(code) = code.and_then(|code| u32::from_str_radix(code, 16).ok()) else {
            return Err(Error::syntax("invalid Unicode escape"));
        };
        rest = &rest[skipped + digits..];
        let code = match (high.take(), code) {
            (None, 0xd800..=0xdbff) => {
                high = Some(code);
                continue;
            }
            (None, code) => code,
            (Some(first), 0xdc00..=0xdfff) => 0x1_0000 + ((first - 0xd800) << 10) + (code - 0xdc00),
            (Some(first), _) => return pair(Some(first)).map(|()| plain),
        };
        if (0xdc00..=0xdfff).contains(&code) {
            return Err(Error::syntax("invalid Unicode surrogate pair"));
        }
        match char::from_u32(code).filter(|character| *character != '\0') {
            Some(character) => plain.push(character),
            None => return Err(Error::new(ErrorKind::Invalid, format!("invalid Unicode code point: {code:04X}"))),
        }
    }
    pair(high)?;
    Ok(plain)
}

/// Refuses the first half of a pair that has no second one.
fn pair(high: Option<u32>) -> Result<(), Error> {
    if high.is_some() { Err(Error::syntax("invalid Unicode surrogate pair")) } else { Ok(()) }
}
