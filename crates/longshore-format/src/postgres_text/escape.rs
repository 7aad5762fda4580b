//! What a field contains once its escapes are taken away.

use memchr::memchr;

/// Gives the contents of `raw` to `emit`, in parts.
pub(super) fn content(mut raw: &[u8], emit: &mut impl FnMut(&[u8])) {
    while let Some(at) = memchr(b'\\', raw) {
        emit(&raw[..at]);
        let behind = &raw[at + 1..];
        // At the end of the text a backslash protects nothing, and is nothing.
        let Some(&first) = behind.first() else { return };
        let (byte, length) = match first {
            b'b' => (8, 1),
            b'f' => (0x0C, 1),
            b'n' => (b'\n', 1),
            b'r' => (b'\r', 1),
            b't' => (b'\t', 1),
            b'v' => (0x0B, 1),
            b'0'..=b'7' => number(behind, 8, 3),
            b'x' => match number(&behind[1..], 16, 2) {
                (_, 0) => (b'x', 1),
                (byte, digits) => (byte, 1 + digits),
            },
            other => (other, 1),
        };
        emit(&[byte]);
        raw = &behind[length..];
    }
    emit(raw);
}

/// The byte that up to `digits_max` digits at the start of `text` stand for, and how many there are. An octal number may
/// go beyond a byte; its lower bits count, as in PostgreSQL.
fn number(text: &[u8], base: u32, digits_max: usize) -> (u8, usize) {
    let digits = text.iter().take(digits_max).map_while(|byte| char::from(*byte).to_digit(base));
    let (number, count) = digits.fold((0, 0), |(number, count), digit| (number * base + digit, count + 1));
    (number as u8, count)
}
