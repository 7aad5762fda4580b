//! Decides what a raw field contains once its quotes and escapes are taken away.
//!
//! The common shapes, no quote at all or one pair around the field, are recognised by the column loops
//! themselves; this is the automaton for everything else.

use crate::Dialect;

/// The content of the field `raw`, and whether any quote stands in it. `scratch` is overwritten if the
/// content is not a part of `raw`.
pub(crate) fn content<'b>(raw: &'b [u8], dialect: &Dialect, scratch: &'b mut Vec<u8>) -> (&'b [u8], bool) {
    let Some(quote) = dialect.quote() else { return (raw, false) };
    if !raw.contains(&quote) {
        return (raw, false);
    }
    let escape = dialect.escape().unwrap_or(quote);
    scratch.clear();
    let mut inside = false;
    let mut rest = raw;
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        match tail.first() {
            Some(&next) if inside && byte == escape && (next == quote || next == escape) => {
                scratch.push(next);
                rest = &tail[1..];
            }
            _ if byte == quote => inside = !inside,
            _ => scratch.push(byte),
        }
    }
    (scratch, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doubling(raw: &[u8]) -> (Vec<u8>, bool) {
        let mut scratch = Vec::new();
        let (content, quoted) = content(raw, &Dialect::default(), &mut scratch);
        (content.to_vec(), quoted)
    }

    #[test]
    fn quotes_toggle_anywhere() {
        assert_eq!(doubling(b"ab"), (b"ab".to_vec(), false));
        assert_eq!(doubling(b"\"ab\""), (b"ab".to_vec(), true));
        assert_eq!(doubling(b"a\"b,c\"d"), (b"ab,cd".to_vec(), true));
        assert_eq!(doubling(b"\"\""), (b"".to_vec(), true));
        assert_eq!(doubling(b"\"a\"\"b\""), (b"a\"b".to_vec(), true));
        assert_eq!(doubling(b"\"\"\"\""), (b"\"".to_vec(), true));
        assert_eq!(doubling(b"a\"\"b"), (b"ab".to_vec(), true));
    }

    #[test]
    fn an_escape_protects_quotes_and_itself_inside_quotes_only() {
        let dialect = Dialect::new(b',', Some(b'"'), Some(b'\\')).unwrap();
        let mut scratch = Vec::new();
        let mut of = |raw: &[u8]| content(raw, &dialect, &mut scratch).0.to_vec();
        assert_eq!(of(br#""a\"b""#), br#"a"b"#);
        assert_eq!(of(br#""a\\""#), br"a\");
        assert_eq!(of(br#""a\n""#), br"a\n");
        assert_eq!(of(br#"\\"a""#), br"\\a");
        assert_eq!(of(br#""a""b""#), br"ab");
    }
}
