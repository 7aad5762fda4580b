//! The end of a text that old programs of DOS wrote: Ctrl-Z as its last byte, on a line of its own. It is no part of the
//! text. Anywhere else the byte is a character like any other.

use std::io::{self, Read};

/// Ctrl-Z.
const END_MARK: u8 = 0x1a;

/// The text of a whole file, without its end mark.
pub(super) fn strip(text: &[u8]) -> &[u8] {
    match text {
        [rest @ .., END_MARK] if rest.last().is_none_or(|byte| is_line_end(*byte)) => rest,
        _ => text,
    }
}

fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// A stream without its end mark.
pub(super) struct Unmarked {
    input: Box<dyn Read + Send>,
    /// Whether the byte before stands at the beginning of a line.
    at_line_start: bool,
    /// What was read and not handed out: what may be a mark, until it is known whether anything follows; then what
    /// follows, for a reader with room for one byte.
    held: Held,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Held {
    Nothing,
    Mark,
    Byte(u8),
}

impl Unmarked {
    pub(super) fn new(input: Box<dyn Read + Send>) -> Self {
        Self { input, at_line_start: true, held: Held::Nothing }
    }
}

impl Read for Unmarked {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        loop {
            let read = match self.held {
                Held::Nothing => self.input.read(into)?,
                Held::Byte(byte) => {
                    into[0] = byte;
                    self.held = Held::Nothing;
                    1
                }
                Held::Mark => {
                    let mut next = [0];
                    if self.input.read(&mut next)? == 0 {
                        return Ok(0);
                    }
                    into[0] = END_MARK;
                    self.at_line_start = false;
                    self.held = Held::Byte(next[0]);
                    return Ok(1);
                }
            };
            let Some(last) = read.checked_sub(1) else { return Ok(0) };
            let at_line_start = if last == 0 { self.at_line_start } else { is_line_end(into[last - 1]) };
            let is_mark = into[last] == END_MARK && at_line_start;
            self.at_line_start = is_mark || is_line_end(into[last]);
            if !is_mark {
                return Ok(read);
            }
            self.held = Held::Mark;
            if last > 0 {
                return Ok(last);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests end where anything fails")]

    use super::*;

    /// Gives out as many bytes at a time, and now and then nothing yet.
    struct Chunked(io::Cursor<Vec<u8>>, usize, bool);

    impl Read for Chunked {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.2 = !self.2;
            if self.2 {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            let room = into.len().min(self.1);
            self.0.read(&mut into[..room])
        }
    }

    #[test]
    fn streams_end_where_whole_texts_do() {
        // All texts of up to six bytes from these.
        let mut texts: Vec<Vec<u8>> = vec![Vec::new()];
        let mut first = 0;
        for _ in 0..6 {
            let longer =
                texts[first..].iter().flat_map(|text| b"a\n\x1a".map(|byte| [text.as_slice(), &[byte]].concat()));
            let longer: Vec<_> = longer.collect();
            first = texts.len();
            texts.extend(longer);
        }
        for text in texts {
            for (chunk, room) in [(1, 1), (1, 4), (2, 3), (3, 1), (9, 9), (9, 2)] {
                let mut stream = Unmarked::new(Box::new(Chunked(io::Cursor::new(text.clone()), chunk, false)));
                let (mut found, mut buffer) = (Vec::new(), vec![0; room]);
                loop {
                    match stream.read(&mut buffer) {
                        Ok(0) => break,
                        Ok(read) => found.extend_from_slice(&buffer[..read]),
                        Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
                    }
                }
                assert_eq!(stream.read(&mut buffer).ok().unwrap_or(0), 0, "the end stays the end");
                assert_eq!(found, strip(&text), "{text:?}, {chunk} at a time, room for {room}");
            }
        }
    }

    #[test]
    fn a_mark_ends_a_text_only_on_a_line_of_its_own() {
        assert_eq!(strip(b"a\r\n\x1a"), b"a\r\n");
        assert_eq!(strip(b"a\r\x1a"), b"a\r");
        assert_eq!(strip(b"\x1a"), b"");
        assert_eq!(strip(b"a\x1a"), b"a\x1a");
        assert_eq!(strip(b"a\n\x1a\n"), b"a\n\x1a\n");
        assert_eq!(strip(b"a\n\x1a\x1a"), b"a\n\x1a\x1a");
    }
}
