//! The words of a Rust source: identifiers and marks, without comments, strings and what only tests compile.
//!
//! Not here: what the words mean (`paths`).

/// A word of a source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Token<'a> {
    /// An identifier or keyword, a raw one without `r#`.
    Word(&'a str),
    /// `::`
    Colons,
    /// Any other mark.
    Mark(u8),
}

/// The words of `source`, items under `#[cfg(test)]` left out.
pub(super) fn tokens(source: &str) -> Vec<Token<'_>> {
    without_tests(&all(source))
}

fn all(source: &str) -> Vec<Token<'_>> {
    let bytes = source.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'/' if bytes.get(at + 1) == Some(&b'/') => at = find(bytes, at, b'\n'),
            b'/' if bytes.get(at + 1) == Some(&b'*') => at = block_comment(bytes, at),
            b'"' => at = string(bytes, at + 1),
            b'\'' => at = quote(bytes, at),
            b'r' | b'b' | b'c' if opens_string(bytes, at).is_some() => {
                at = opens_string(bytes, at).unwrap_or(bytes.len());
            }
            byte if byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80 => {
                let end = at + bytes[at..].iter().take_while(|byte| is_word(**byte)).count();
                found.push(Token::Word(&source[at..end]));
                at = end;
            }
            byte if byte.is_ascii_digit() => at += bytes[at..].iter().take_while(|byte| is_word(**byte)).count(),
            b':' if bytes.get(at + 1) == Some(&b':') => {
                found.push(Token::Colons);
                at += 2;
            }
            byte if byte.is_ascii_whitespace() => at += 1,
            byte => {
                found.push(Token::Mark(byte));
                at += 1;
            }
        }
    }
    found
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// Where the next `wanted` stands, or the end.
fn find(bytes: &[u8], from: usize, wanted: u8) -> usize {
    bytes[from..].iter().position(|byte| *byte == wanted).map_or(bytes.len(), |offset| from + offset)
}

/// The end of a block comment, which may hold others.
fn block_comment(bytes: &[u8], from: usize) -> usize {
    let mut depth = 0;
    let mut at = from;
    while at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if bytes[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    at
}

/// The end of a string whose quote stands before `from`.
fn string(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The end of a character, or the place behind the quote of a lifetime.
fn quote(bytes: &[u8], at: usize) -> usize {
    if bytes.get(at + 1) == Some(&b'\\') {
        return find(bytes, at + 3, b'\'') + 1;
    }
    let width = bytes[at + 1..].iter().take(5).position(|byte| *byte == b'\'');
    match width {
        // One character of one to four bytes; `'a, 'b` are lifetimes.
        Some(1) => at + 3,
        Some(width) if bytes[at + 1] >= 0x80 => at + width + 2,
        _ => at + 1,
    }
}

/// The end of a prefixed string that begins at `at`: `r"`, `r#"`, `b"`, `br"`, `c"`, `b'`.
fn opens_string(bytes: &[u8], at: usize) -> Option<usize> {
    if at > 0 && is_word(bytes[at - 1]) {
        return None;
    }
    let prefix = bytes[at..].iter().take_while(|byte| matches!(byte, b'r' | b'b' | b'c')).count();
    let raw = bytes[at..at + prefix].contains(&b'r');
    let hashes = bytes[at + prefix..].iter().take_while(|byte| **byte == b'#').count();
    let open = at + prefix + hashes;
    match bytes.get(open)? {
        b'"' if raw => {
            let mut end = open + 1;
            loop {
                end = find(bytes, end, b'"') + 1;
                if end >= bytes.len() || bytes[end..].iter().take_while(|byte| **byte == b'#').count() >= hashes {
                    return Some((end + hashes).min(bytes.len()));
                }
            }
        }
        b'"' if hashes == 0 => Some(string(bytes, open + 1)),
        b'\'' if hashes == 0 && bytes[at..open] == *b"b" => Some(quote(bytes, open)),
        _ => None,
    }
}

/// Leaves out every item with an attribute `#[cfg(test)]` or `#[cfg(all(test, ...))]`.
fn without_tests<'a>(tokens: &[Token<'a>]) -> Vec<Token<'a>> {
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if is_test_attribute(&tokens[at..]) {
            at = item_end(tokens, at);
        } else {
            kept.push(tokens[at]);
            at += 1;
        }
    }
    kept
}

fn is_test_attribute(tokens: &[Token]) -> bool {
    let opens = [Token::Mark(b'#'), Token::Mark(b'['), Token::Word("cfg"), Token::Mark(b'(')];
    tokens.starts_with(&opens)
        && (tokens[4..].starts_with(&[Token::Word("test")])
            || tokens[4..].starts_with(&[Token::Word("all"), Token::Mark(b'('), Token::Word("test")]))
}

/// The end of the item that begins at `from`: behind its `;`, or behind its outermost braces.
fn item_end(tokens: &[Token], from: usize) -> usize {
    let mut depth = 0_usize;
    for (offset, token) in tokens[from..].iter().enumerate() {
        match token {
            Token::Mark(b'{' | b'(' | b'[') => depth += 1,
            Token::Mark(b')' | b']') => depth -= 1,
            Token::Mark(b'}') => {
                depth -= 1;
                if depth == 0 {
                    return from + offset + 1;
                }
            }
            Token::Mark(b';') if depth == 0 => return from + offset + 1,
            _ => {}
        }
    }
    tokens.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_strings_and_tests_are_left_out() {
        let source = "use a::b; // c::d\n/* e /* f */ g */ let x = \"h::i\\\"\" + r#\"j\"k\"# + 'l' + b'm';\n\
                      fn n<'o>() {}\n#[cfg(test)]\nmod p { use q::r; }\nfn s() {}";
        let words: Vec<&str> = tokens(source)
            .into_iter()
            .filter_map(|token| match token {
                Token::Word(word) => Some(word),
                _ => None,
            })
            .collect();
        assert_eq!(words, ["use", "a", "b", "let", "x", "fn", "n", "o", "fn", "s"]);
    }
}
