//! Takes the escapes out of a string that `token::string` found in order.

use longshore_csv::RowText;

/// Appends the characters that a string's content stands for to the field that is open.
pub(super) fn unescape_into(mut content: &[u8], rows: &mut RowText) {
    while let Some(backslash) = memchr::memchr(b'\\', content) {
        rows.extend_quoted(&content[..backslash]);
        let (character, len) = character(&content[backslash..]);
        let mut buffer = [0; 4];
        rows.extend_quoted(character.encode_utf8(&mut buffer).as_bytes());
        content = &content[backslash + len..];
    }
    rows.extend_quoted(content);
}

/// The characters that a string's content stands for.
pub(super) fn unescape(mut content: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(content.len());
    while let Some(backslash) = memchr::memchr(b'\\', content) {
        plain.extend_from_slice(&content[..backslash]);
        let (character, len) = character(&content[backslash..]);
        plain.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        content = &content[backslash + len..];
    }
    plain.extend_from_slice(content);
    plain
}

/// The character that the escape at the start of a text stands for, and the escape's length.
fn character(escape: &[u8]) -> (char, usize) {
    match escape[1] {
        b'b' => ('\u{8}', 2),
        b'f' => ('\u{c}', 2),
        b'n' => ('\n', 2),
        b'r' => ('\r', 2),
        b't' => ('\t', 2),
        b'u' => {
            let first = unit(escape, 2);
            if !(0xD800..0xE000).contains(&first) {
                return (char::from_u32(first).expect("not half a character"), 6);
            }
            let second = unit(escape, 8);
            let code = 0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00);
            (char::from_u32(code).expect("two halves that were checked"), 12)
        }
        other => (char::from(other), 2),
    }
}

fn unit(escape: &[u8], at: usize) -> u32 {
    escape[at..at + 4]
        .iter()
        .fold(0, |unit, digit| unit << 4 | char::from(*digit).to_digit(16).expect("digits that were checked"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_escape_is_its_character() {
        let text = r#"a\"\\\/\b\f\n\r\t\u0041\u00e9\u20AC\uD83D\uDE00z\u0000"#;
        assert_eq!(unescape(text.as_bytes()), "a\"\\/\u{8}\u{c}\n\r\tAé€😀z\0".as_bytes());
        assert_eq!(unescape(b"plain"), b"plain");
    }
}
