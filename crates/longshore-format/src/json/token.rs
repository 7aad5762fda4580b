//! Strings, numbers, names and blanks of JSON (RFC 8259), strictly: where they end, or what is wrong with them.
//!
//! Nothing is converted here; `unescape` does that for what a column takes. Not here: UTF-8, which the reader checks
//! for a whole stretch at a time.

use longshore_csv::DefectKind;

use super::fault::{Expected, Fault};
use super::lanes::{LANES, Sixteen, sixteen};

/// Where something ends, or what is wrong.
pub(super) type Scanned<T = usize> = Result<T, Box<Fault>>;

/// The byte at `at`; 0, which JSON has no use for outside strings, behind the end.
#[inline(always)]
pub(super) fn byte(text: &[u8], at: usize) -> u8 {
    text.get(at).copied().unwrap_or(0)
}

/// The position of the first byte from `at` on that is not blank. With `LINES`, a line feed is none.
#[inline(always)]
pub(super) fn skip_blanks<const LINES: bool>(text: &[u8], mut at: usize) -> usize {
    while is_blank::<LINES>(byte(text, at)) {
        at += 1;
    }
    at
}

#[inline(always)]
fn is_blank<const LINES: bool>(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r') || (!LINES && byte == b'\n')
}

/// A text without the blanks at its end. (Rust's own functions take a form feed for a blank, JSON does not.)
pub(super) fn trim_end(text: &[u8]) -> &[u8] {
    let len = text.iter().rposition(|byte| !is_blank::<false>(*byte)).map_or(0, |last| last + 1);
    &text[..len]
}

/// The position of the quote that closes the string whose content begins at `at`, and whether it holds escapes.
#[inline(always)]
pub(super) fn string(text: &[u8], mut at: usize) -> Scanned<(usize, bool)> {
    let mut escaped = false;
    loop {
        match sixteen(text, at).map(Sixteen::string_stops) {
            Some(0) => {
                at += LANES;
                continue;
            }
            Some(stops) => at += stops.trailing_zeros() as usize,
            None => at += plain_bytes(&text[at.min(text.len())..]),
        }
        match byte(text, at) {
            b'"' => return Ok((at, escaped)),
            b'\\' => {
                escaped = true;
                at = escape(text, at)?;
            }
            _ => return Err(unclosed(text, at)),
        }
    }
}

/// How many bytes at the start of a text stand for themselves in a string.
#[inline(never)]
fn plain_bytes(text: &[u8]) -> usize {
    text.iter().position(|byte| *byte < 0x20 || matches!(byte, b'"' | b'\\')).unwrap_or(text.len())
}

#[cold]
fn unclosed(text: &[u8], at: usize) -> Box<Fault> {
    match text.get(at) {
        None | Some(b'\n') => Fault::unexpected(text, at, Expected::Other("the closing quote of a string")),
        Some(byte) => Fault::new(
            at,
            DefectKind::Syntax,
            format!("found the control character 0x{byte:02X} in a string"),
            "write control characters in strings as escapes",
        ),
    }
}

/// The position behind the escape whose backslash stands at `at`.
fn escape(text: &[u8], at: usize) -> Scanned {
    match byte(text, at + 1) {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Ok(at + 2),
        b'u' => {
            let unit = hex_digits(text, at + 2)?;
            let lone = || {
                let found = format!("found \\u{unit:04X}, half a character,");
                Fault::new(at, DefectKind::Encoding, found, "write both halves of the character, or neither")
            };
            match unit {
                0xD800..=0xDBFF if byte(text, at + 6) == b'\\' && byte(text, at + 7) == b'u' => {
                    match hex_digits(text, at + 8)? {
                        0xDC00..=0xDFFF => Ok(at + 12),
                        _ => Err(lone()),
                    }
                }
                0xD800..=0xDFFF => Err(lone()),
                _ => Ok(at + 6),
            }
        }
        _ => Err(Fault::unexpected(text, at + 1, Expected::Other("one of \" \\ / b f n r t u after a backslash"))),
    }
}

fn hex_digits(text: &[u8], at: usize) -> Scanned<u16> {
    let mut unit = 0;
    for at in at..at + 4 {
        let Some(digit) = char::from(byte(text, at)).to_digit(16) else {
            return Err(Fault::unexpected(text, at, Expected::Other("a digit of base 16, of which \\u has four,")));
        };
        unit = unit << 4 | digit as u16;
    }
    Ok(unit)
}

/// The position behind the number that begins at `at` with a minus sign or a digit.
#[inline(always)]
pub(super) fn number(text: &[u8], at: usize) -> Scanned {
    if let Some(bytes) = sixteen(text, at) {
        let (digits, dots) = (bytes.digits(), bytes.eq(b'.'));
        let minus = u32::from(text[at] == b'-');
        // -12.50,"b"     text
        //  11 11         digits
        //    1           dots
        //  1111          token, `len` bytes with the sign
        let len = minus + (!((digits | dots) >> minus)).trailing_zeros();
        if len < LANES as u32 {
            let token = (1 << len) - 1;
            let (dots, first) = (dots & token, digits >> minus);
            let zero_first = text[at + minus as usize] == b'0';
            let good = first & 1 == 1
                // A digit behind the zero.
                && !(zero_first && first & 2 == 2)
                // More than one point.
                && dots & dots.wrapping_sub(1) == 0
                // No digit behind the point.
                && digits & token & (dots << 1) == dots << 1
                && byte(text, at + len as usize) | 0x20 != b'e';
            if good {
                return Ok(at + len as usize);
            }
        }
    }
    any_number(text, at)
}

/// [`number`], one byte at a time.
#[inline(never)]
pub(super) fn any_number(text: &[u8], start: usize) -> Scanned {
    let digits = |mut at: usize| {
        while byte(text, at).is_ascii_digit() {
            at += 1;
        }
        at
    };
    let some_digits = |at: usize, expected| {
        let end = digits(at);
        if end == at { Err(Fault::unexpected(text, at, expected)) } else { Ok(end) }
    };
    let mut at = start + usize::from(byte(text, start) == b'-');
    let whole = at;
    at = some_digits(at, Expected::Number)?;
    if byte(text, whole) == b'0' && at > whole + 1 {
        return Err(Fault::new(
            whole,
            DefectKind::Syntax,
            "found a number with a leading zero",
            "write numbers without leading zeros, or as strings",
        ));
    }
    if byte(text, at) == b'.' {
        at = some_digits(at + 1, Expected::Other("a digit behind the decimal point"))?;
    }
    if byte(text, at) | 0x20 == b'e' {
        at += 1;
        at += usize::from(matches!(byte(text, at), b'+' | b'-'));
        at = some_digits(at, Expected::Other("a digit of the exponent"))?;
    }
    Ok(at)
}

/// The position behind `true`, `false` or `null`, of which the first letter stands at `at`.
#[inline(always)]
pub(super) fn name(text: &[u8], at: usize) -> Scanned {
    let name: &[u8] = match byte(text, at) {
        b't' => b"true",
        b'f' => b"false",
        b'n' => b"null",
        _ => return Err(Fault::unexpected(text, at, Expected::Value)),
    };
    if text[at..].starts_with(name) { Ok(at + name.len()) } else { Err(Fault::unexpected(text, at, Expected::Value)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every text with nothing and with a lot behind it, so that both ways of looking are taken.
    fn both(text: &str, scan: impl Fn(&[u8]) -> Scanned, expected: Option<usize>) {
        for behind in ["", ",\"0123456789012345678901234567890\"", "]", " "] {
            let text = format!("{text}{behind}");
            let found = scan(text.as_bytes()).ok();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn numbers() {
        for number in [
            "0",
            "-0",
            "1",
            "12.5",
            "-12.50",
            "0.5",
            "1e5",
            "1E+05",
            "-1.5e-300",
            "12345678901234567890123456789",
            "0.1234567890123456789",
            "123456789012345",
            "1234567890123456",
            "-0.0",
            "0e0",
        ] {
            both(number, |text| super::number(text, 0), Some(number.len()));
            both(number, |text| any_number(text, 0), Some(number.len()));
        }
        for none in ["-", "-.5", "01", "-01", "1.", "1.e5", "1e", "1e+", "00", "-a", "0123456789012345678"] {
            both(none, |text| super::number(text, 0), None);
            both(none, |text| any_number(text, 0), None);
        }
        // What follows a number is the business of who asked.
        assert_eq!(super::number(b"1.5.2                ", 0).ok(), any_number(b"1.5.2                ", 0).ok());
        assert_eq!(super::number(b"12-5                 ", 0).ok(), Some(2));
    }

    #[test]
    fn strings() {
        for (content, escaped) in [
            ("", false),
            ("abc", false),
            ("0123456789abcdef", false),
            ("0123456789abcde", false),
            ("0123456789abcdefg\\n", true),
            ("\\\"", true),
            ("\\\\", true),
            ("\\/\\b\\f\\n\\r\\t\\u00e9\\uD83D\\uDE00", true),
            ("größe \u{7f}", false),
        ] {
            let text = format!("{content}\",\"01234567890123456789");
            assert_eq!(string(text.as_bytes(), 0).unwrap(), (content.len(), escaped), "{content}");
            let text = format!("{content}\"");
            assert_eq!(string(text.as_bytes(), 0).unwrap(), (content.len(), escaped), "{content}");
            assert!(string(content.as_bytes(), 0).is_err());
        }
        for (content, at, kind) in [
            ("a\tb", 1, DefectKind::Syntax),
            ("a\nb", 1, DefectKind::Syntax),
            ("\\x", 1, DefectKind::Syntax),
            ("\\u12g4", 4, DefectKind::Syntax),
            ("\\ud800", 0, DefectKind::Encoding),
            ("\\ud800x", 0, DefectKind::Encoding),
            ("\\ud800\\u0041", 0, DefectKind::Encoding),
            ("a\\udc00", 1, DefectKind::Encoding),
            ("\\", 1, DefectKind::Syntax),
        ] {
            let text = format!("{content}\" 0123456789012345");
            let fault = string(text.as_bytes(), 0).map(|found| found.0).unwrap_err();
            let at = if content == "\\" { text.len() } else { at };
            assert_eq!((fault.at, fault.kind), (at, kind), "{content}");
        }
    }
}
