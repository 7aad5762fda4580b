//! Passes over containers that no path goes into, as strictly as over the others.

use super::fault::{Expected, Fault};
use super::token::{Scanned, byte, name, number, skip_blanks, string};

use longshore_csv::DefectKind;

/// Containers that may lie within each other.
pub const JSON_DEPTH_MAX: usize = 1024;

/// The kinds of the containers that are open: a bit for each, set for an object.
struct Open {
    kinds: [u64; JSON_DEPTH_MAX / 64],
    depth: usize,
}

impl Open {
    fn push(&mut self, is_object: bool) {
        let bit = 1 << (self.depth % 64);
        let word = &mut self.kinds[self.depth / 64];
        *word = if is_object { *word | bit } else { *word & !bit };
        self.depth += 1;
    }

    fn is_object(&self) -> bool {
        let innermost = self.depth - 1;
        self.kinds[innermost / 64] >> (innermost % 64) & 1 == 1
    }
}

/// The position behind the object or array that begins at `start` and lies in `depth` others.
pub(super) fn container<const LINES: bool>(text: &[u8], start: usize, depth: usize) -> Scanned {
    let mut open = Open { kinds: [0; JSON_DEPTH_MAX / 64], depth: 0 };
    let mut at = start;
    loop {
        // A value is expected.
        match byte(text, at) {
            b'"' => at = string(text, at + 1)?.0 + 1,
            b'-' | b'0'..=b'9' => at = number(text, at)?,
            first @ (b'{' | b'[') => {
                if open.depth + depth >= JSON_DEPTH_MAX {
                    return Err(too_deep(at));
                }
                let is_object = first == b'{';
                open.push(is_object);
                at = skip_blanks::<LINES>(text, at + 1);
                if byte(text, at) != first + 2 {
                    if is_object {
                        at = key::<LINES>(text, at)?;
                    }
                    continue;
                }
                at += 1;
                open.depth -= 1;
            }
            _ => at = name(text, at)?,
        }
        // What is expected follows a value.
        loop {
            if open.depth == 0 {
                return Ok(at);
            }
            at = skip_blanks::<LINES>(text, at);
            match (byte(text, at), open.is_object()) {
                (b'}', true) | (b']', false) => {
                    at += 1;
                    open.depth -= 1;
                }
                (b',', is_object) => {
                    at = skip_blanks::<LINES>(text, at + 1);
                    if is_object {
                        at = key::<LINES>(text, at)?;
                    }
                    break;
                }
                (_, true) => return Err(Fault::unexpected(text, at, Expected::Other("',' or '}'"))),
                (_, false) => return Err(Fault::unexpected(text, at, Expected::Other("',' or ']'"))),
            }
        }
    }
}

#[cold]
pub(super) fn too_deep(at: usize) -> Box<Fault> {
    let found = format!("found more than {JSON_DEPTH_MAX} objects and arrays within each other");
    Fault::new(at, DefectKind::Syntax, found, "write nested values flatter, or as strings")
}

/// The position of the value behind the key at `at`.
fn key<const LINES: bool>(text: &[u8], at: usize) -> Scanned {
    if byte(text, at) != b'"' {
        return Err(Fault::unexpected(text, at, Expected::Key));
    }
    let (quote, _) = string(text, at + 1)?;
    colon::<LINES>(text, quote + 1)
}

/// The position of the value behind the colon that is expected from `at` on.
pub(super) fn colon<const LINES: bool>(text: &[u8], at: usize) -> Scanned {
    let at = skip_blanks::<LINES>(text, at);
    if byte(text, at) != b':' {
        return Err(Fault::unexpected(text, at, Expected::Other("':'")));
    }
    Ok(skip_blanks::<LINES>(text, at + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(text: &str) -> Option<usize> {
        container::<false>(text.as_bytes(), 0, 0).ok()
    }

    #[test]
    fn containers_end_where_they_are_closed() {
        for container in [
            "{}",
            "[]",
            "{ }",
            "[\n]",
            "[1]",
            "{\"a\":1}",
            "{\"a\" : [ {} , [ ] , \"]\" ] }",
            "[[[]],{\"\":{\"\":[]}}]",
            "[true,false,null,-1e5,\"\\\"\"]",
        ] {
            for behind in ["", "]", "}", ",", "x"] {
                assert_eq!(end(&format!("{container}{behind}")), Some(container.len()), "{container}{behind}");
            }
        }
    }

    #[test]
    fn what_is_no_container_is_refused() {
        for none in [
            "{",
            "[",
            "{]",
            "[}",
            "[1}",
            "{\"a\":1]",
            "[,]",
            "[1,]",
            "[1 2]",
            "{,}",
            "{\"a\":1,}",
            "{\"a\"}",
            "{\"a\",1}",
            "{1:2}",
            "{a:1}",
            "[tru]",
            "[nulll]",
            "[1,,2]",
            "{\"a\"::1}",
            "[//]",
            "['a']",
            "[\"a]",
            "[.5]",
            "[+1]",
        ] {
            assert_eq!(end(none), None, "{none}");
        }
        assert_eq!(container::<true>(b"[\n]", 0, 0).unwrap_err().at, 1, "a line feed where it ends the record");
    }

    #[test]
    fn depth_has_a_limit() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert_eq!(end(&nested(JSON_DEPTH_MAX)), Some(2 * JSON_DEPTH_MAX));
        assert_eq!(end(&nested(JSON_DEPTH_MAX + 1)), None);
        assert!(container::<false>(nested(JSON_DEPTH_MAX).as_bytes(), 0, 1).is_err());
        let alternating = "{\"a\":[".repeat(500) + &"]}".repeat(500);
        assert_eq!(end(&alternating), Some(alternating.len()));
    }
}
