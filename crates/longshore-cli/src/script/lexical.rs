//! Where texts, comments and names end, by PostgreSQL's lexical rules.

/// Whether `sql` is white space and complete comments alone.
pub(crate) fn is_blank(sql: &str) -> bool {
    leading_blank(sql) == sql.len()
}

/// The first word of `sql` in lower case.
pub(crate) fn first_word(sql: &str) -> String {
    sql[leading_blank(sql)..].split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or("").to_ascii_lowercase()
}

/// Length of the white space and complete comments at the start of `sql`.
fn leading_blank(sql: &str) -> usize {
    let bytes = sql.as_bytes();
    let mut at = 0;
    loop {
        at += sql[at..].len() - sql[at..].trim_start().len();
        let rest = &bytes[at..];
        if rest.starts_with(b"--") {
            at += line_end(rest);
        } else if rest.starts_with(b"/*") {
            match comment_end(rest, 0) {
                (length, 0) => at += length,
                _ => return at,
            }
        } else {
            return at;
        }
    }
}

pub(super) fn line_end(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |at| at + 1)
}

/// Behind the closing quote. A doubled quote closes and opens again.
pub(super) fn quotes_end(bytes: &[u8], quote: u8, backslash_escapes: bool) -> Option<usize> {
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if backslash_escapes => at += 2,
            byte if byte == quote && bytes.get(at + 1) == Some(&quote) => at += 2,
            byte if byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}

/// Behind the comment that is `depth` deep at the start of `text`, or its end, and how deep it is there; comments nest.
pub(super) fn comment_end(text: &[u8], depth: usize) -> (usize, usize) {
    let (mut depth, mut at) = (depth, 0);
    while at < text.len() {
        match text.get(at..at + 2) {
            Some(b"/*") => {
                depth += 1;
                at += 2;
            }
            Some(b"*/") => {
                depth = depth.saturating_sub(1);
                at += 2;
                if depth == 0 {
                    return (at, 0);
                }
            }
            _ => at += 1,
        }
    }
    (at, depth)
}

/// The opening dollar quote at the start of `text`.
pub(super) fn dollar_tag(text: &str) -> Option<String> {
    let name = text[1..].bytes().take_while(|byte| is_name_byte(*byte)).count();
    let is_tag = text.as_bytes().get(1 + name) == Some(&b'$') && !text.as_bytes()[1].is_ascii_digit();
    is_tag.then(|| text[..name + 2].to_owned())
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

pub(super) fn ends_with_name(text: &str) -> bool {
    text.bytes().last().is_some_and(|byte| is_name_byte(byte) || byte == b'$')
}

/// Whether a quote behind `text` opens `E'...'`, where a backslash escapes.
pub(super) fn opens_escapes(text: &str) -> bool {
    text.strip_suffix(['e', 'E']).is_some_and(|before| !ends_with_name(before))
}

pub(super) fn newlines(text: &[u8]) -> usize {
    text.iter().map(|&byte| usize::from(byte == b'\n')).sum()
}
