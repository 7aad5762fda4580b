//! Decides where a text of JSON may be cut, by its brackets and quotes alone.
//!
//! Whether a record is JSON is not asked here: a record that is none is cut as if it were one, by the same rules that
//! the reader uses to find where it ends, so that what is read does not depend on where a text is cut.
//!
//! * A quote opens or closes a string, unless a backslash stands before it. A line feed closes a string, since a
//!   string cannot hold one: a quote that is missing does no harm beyond its line.
//! * Outside strings, any opening bracket adds a level and any closing one takes one away.
//!
//! In an array, its elements are on level 1, where only `]` closes: a `}` too many does no harm. The text is cut
//! before a comma on level 1 behind a closing bracket, so that a stretch from within an array begins with a comma;
//! or before an array that follows another.

mod blocks;

use super::token::{byte, skip_blanks};

/// How records stand in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// One to a line (JSON lines, NDJSON). Blank lines are skipped. A record ends with its line, so a bad one costs no
    /// more than itself.
    Lines,
    /// One behind the other, blanks and line ends or nothing between them, each over as many lines as it takes.
    Values,
    /// As the elements of one array, or of several that follow each other.
    Array,
}

impl Layout {
    /// The name that users see.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Layout::Lines => "lines",
            Layout::Values => "values",
            Layout::Array => "array",
        }
    }
}

/// How many bytes of a text that begins with a record are whole records, more text to come.
pub(super) fn complete(text: &[u8], layout: Layout) -> usize {
    match layout {
        Layout::Lines => memchr::memrchr(b'\n', text).map_or(0, |line_feed| line_feed + 1),
        Layout::Values => blocks::scan::<false>(text, 0).cut.unwrap_or(0),
        Layout::Array => walk_arrays(text).cut,
    }
}

/// Whether a text of arrays ends within an array, between two elements.
pub(super) fn ends_in_array(text: &[u8]) -> bool {
    walk_arrays(text).ends_inside
}

/// What is known of a text of arrays.
struct Walk {
    cut: usize,
    ends_inside: bool,
}

fn walk_arrays(text: &[u8]) -> Walk {
    let mut at = skip_blanks::<false>(text, 0);
    let mut inside = begins_inside(text, at);
    let (mut cut, mut first) = (0, true);
    loop {
        if inside {
            let found = blocks::scan::<true>(text, at);
            cut = found.cut.unwrap_or(cut);
            let Some(end) = found.end else {
                return Walk { cut, ends_inside: found.level == 1 && !found.in_string };
            };
            at = end;
            inside = false;
        }
        at = skip_blanks::<false>(text, at);
        match text.get(at) {
            None => return Walk { cut, ends_inside: false },
            Some(b'[') => {
                if !first {
                    cut = at;
                }
                at += 1;
                inside = true;
            }
            Some(_) => at = stray_end(text, at),
        }
        first = false;
    }
}

/// Whether a text of arrays whose first byte that is not blank stands at `at` begins within an array.
pub(super) fn begins_inside(text: &[u8], at: usize) -> bool {
    matches!(byte(text, at), b',' | b']')
}

/// The end of what stands between arrays at `start` and should not.
pub(super) fn stray_end(text: &[u8], start: usize) -> usize {
    memchr::memchr(b'\n', &text[start..]).map_or(text.len(), |line| start + line)
}

/// The end of the value, or of what stands in its place, that begins at `start` in [`Layout::Values`]: behind the
/// bracket that closes it; of other things, the next opening bracket or line end.
pub(super) fn value_end(text: &[u8], start: usize) -> usize {
    let mut lexer = Lexer::new::<false>();
    for (at, &byte) in text.iter().enumerate().skip(start) {
        let level = lexer.level;
        match lexer.step::<false>(byte) {
            Event::Close if level == 1 => return at + 1,
            Event::Open if level == 0 && at > start => return at,
            _ if byte == b'\n' && level == 0 => return at,
            _ => {}
        }
    }
    text.len()
}

/// The end of the element, or of what stands in its place, that begins at `start` in an array: the comma behind it,
/// or the bracket that closes the array.
pub(super) fn element_end(text: &[u8], start: usize) -> usize {
    let mut lexer = Lexer::new::<true>();
    for (at, &byte) in text.iter().enumerate().skip(start) {
        match lexer.step::<true>(byte) {
            Event::End => return at,
            _ if byte == b',' && lexer.level == 1 && !lexer.in_string => return at,
            _ => {}
        }
    }
    text.len()
}

/// Where a byte of a text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Lexer {
    level: usize,
    in_string: bool,
    escaped: bool,
}

/// What a byte does to the levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Open,
    Close,
    /// The array is closed whose elements are records.
    End,
    Other,
}

impl Lexer {
    fn new<const ARRAY: bool>() -> Lexer {
        Lexer { level: usize::from(ARRAY), in_string: false, escaped: false }
    }

    /// Goes over one byte.
    #[inline]
    fn step<const ARRAY: bool>(&mut self, byte: u8) -> Event {
        let escaped = std::mem::take(&mut self.escaped);
        match byte {
            b'\\' => self.escaped = !escaped,
            b'"' if !escaped => self.in_string = !self.in_string,
            b'\n' => self.in_string = false,
            b'{' | b'[' if !self.in_string => {
                self.level += 1;
                return Event::Open;
            }
            b'}' | b']' if !self.in_string => {
                if self.level > usize::from(ARRAY) {
                    self.level -= 1;
                    return Event::Close;
                }
                if ARRAY && byte == b']' {
                    self.level = 0;
                    return Event::End;
                }
            }
            _ => {}
        }
        Event::Other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_behind_the_last_line_feed() {
        assert_eq!(complete(b"{}\n{}\n{", Layout::Lines), 6);
        assert_eq!(complete(b"{}", Layout::Lines), 0);
    }

    #[test]
    fn values_are_cut_where_all_brackets_are_closed() {
        for (text, cut) in [
            ("{} {\"a\":[", 2),
            ("{\"a\":\"}\"}{", 9),
            ("{\"a\":\"\\\"}\"}{}", 13),
            ("{\n}\n", 4),
            ("}{}", 3),
            ("1\n2", 2),
            ("{\"a\n}{}", 7),
            ("{", 0),
        ] {
            assert_eq!(complete(text.as_bytes(), Layout::Values), cut, "{text}");
        }
    }

    #[test]
    fn arrays_are_cut_before_a_comma_between_records() {
        for (text, cut, open) in [
            ("[{},{}", 3, true),
            ("[{},{},", 6, true),
            ("[{} ,\n{}]", 4, false),
            (",{\"a\":[1,2]},{", 12, false),
            ("[[1,2],[3", 6, false),
            ("[{}]", 0, false),
            ("[{}]\n[{}]", 5, false),
            ("  [{}", 0, true),
            ("[", 0, true),
            ("[1,2,3,", 0, true),
            ("[,,{}},{}", 0, true),
            ("]", 0, false),
            ("[{\"a\":\"", 0, false),
            ("x\n[{},", 5, true),
        ] {
            assert_eq!(complete(text.as_bytes(), Layout::Array), cut, "{text}");
            assert_eq!(ends_in_array(text.as_bytes()), open, "{text}");
        }
    }

    #[test]
    fn what_is_no_record_ends_where_its_brackets_are_balanced() {
        for (text, start, end) in
            [("{x} {}", 0, 3), ("x {}", 0, 2), ("x\n{}", 0, 1), ("} {}", 0, 2), ("{\"}\"", 0, 4), ("1", 0, 1)]
        {
            assert_eq!(value_end(text.as_bytes(), start), end, "{text}");
        }
        for (text, start, end) in [
            ("[{x,y},{}]", 1, 6),
            ("[1,2]", 1, 2),
            ("[1]", 1, 2),
            ("[{}},{}]", 1, 4),
            ("[\",\n,{}]", 1, 4),
            ("[", 1, 1),
        ] {
            assert_eq!(element_end(text.as_bytes(), start), end, "{text}");
        }
    }
}
