//! What `COPY ... FROM STDIN` reads and `COPY ... TO STDOUT` writes.
//!
//! Where standard input also gives the statements, the data are the lines that follow the statement, up to a line with
//! a backslash and a period alone, as in psql. So they are in a file of statements, if it has such a line behind the
//! statement; standard input is read otherwise.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The data lines that follow a statement on standard input.
#[derive(Debug, Default)]
pub(crate) struct InlineData {
    line: Vec<u8>,
    /// Bytes of `line` that were handed out.
    taken: usize,
    ended: bool,
}

impl Read for InlineData {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.line.len() && !self.ended {
            self.next_line()?;
        }
        let rest = &self.line[self.taken..];
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        self.taken += length;
        Ok(length)
    }
}

impl InlineData {
    fn next_line(&mut self) -> io::Result<()> {
        use io::BufRead as _;
        self.line.clear();
        self.taken = 0;
        io::stdin().lock().read_until(b'\n', &mut self.line)?;
        if matches!(self.line.as_slice(), b"" | b"\\.\n" | b"\\.\r\n" | b"\\.") {
            self.line.clear();
            self.ended = true;
        }
        Ok(())
    }
}

/// The text of a file of statements, and how far it has been read.
#[derive(Clone, Debug)]
pub(crate) struct FileText {
    text: Arc<str>,
    at: usize,
}

/// How the first lines of what pg_dump and pg_dumpall write begin.
const DUMPS: [&str; 2] = ["-- PostgreSQL database dump", "-- PostgreSQL database cluster dump"];

/// Lines within which that is looked for.
pub(super) const DUMP_LINES: usize = 10;

impl FileText {
    pub(crate) fn new(text: &str) -> Self {
        Self { text: text.into(), at: 0 }
    }

    /// Whether it is a dump of PostgreSQL, whose data are in PostgreSQL's text format.
    pub(crate) fn is_dump(&self) -> bool {
        let is_mark = |line: &str| DUMPS.iter().any(|mark| line.trim_end() == *mark);
        self.text.lines().take(DUMP_LINES).any(is_mark)
    }

    /// The next line, with its end.
    pub(crate) fn line(&mut self) -> Option<String> {
        let rest = &self.text[self.at..];
        let length = rest.find('\n').map_or(rest.len(), |end| end + 1);
        let line = rest[..length].to_owned();
        self.at += length;
        (length > 0).then_some(line)
    }

    /// The lines up to one with a backslash and a period alone, which are taken, if there is such a line; with their number.
    pub(crate) fn data(&mut self) -> Option<(FileData, usize)> {
        let rest = &self.text[self.at..];
        let mut length = 0;
        let mut lines = 1;
        for line in rest.split_inclusive('\n') {
            if matches!(line, "\\.\n" | "\\.\r\n" | "\\.") {
                let (at, end) = (self.at, self.at + length);
                self.at = end + line.len();
                return Some((FileData { text: Arc::clone(&self.text), at, end }, lines));
            }
            length += line.len();
            lines += 1;
        }
        None
    }
}

/// Data lines of a file of statements.
#[derive(Clone, Debug)]
pub(crate) struct FileData {
    text: Arc<str>,
    at: usize,
    end: usize,
}

impl Read for FileData {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = &self.text.as_bytes()[self.at..self.end];
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        self.at += length;
        Ok(length)
    }
}

/// Standard output that remembers whether its reader has gone: a statement tells only that it failed.
#[derive(Clone, Debug, Default)]
pub(crate) struct PipedOutput {
    broken: Arc<AtomicBool>,
}

impl PipedOutput {
    /// Whether the reader has gone.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }

    fn noted<T>(&self, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result
            && error.kind() == io::ErrorKind::BrokenPipe
        {
            self.broken.store(true, Ordering::Relaxed);
        }
        result
    }
}

impl Write for PipedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = io::stdout().write(bytes);
        self.noted(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = io::stdout().flush();
        self.noted(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_lie_between_statements() {
        let mut text = FileText::new("COPY t FROM stdin;\n1\n2\n\\.\nSELECT 1;\n");
        assert_eq!(text.line().as_deref(), Some("COPY t FROM stdin;\n"));
        let (mut data, lines) = text.data().unwrap();
        let mut read = String::new();
        data.read_to_string(&mut read).unwrap();
        assert_eq!((read.as_str(), lines), ("1\n2\n", 3));
        assert!(text.data().is_none());
        assert_eq!(text.line().as_deref(), Some("SELECT 1;\n"));
        assert_eq!(text.line(), None);
    }

    #[test]
    fn dumps_say_what_they_are() {
        assert!(FileText::new("--\n-- PostgreSQL database dump\n--\n").is_dump());
        assert!(!FileText::new("SELECT '-- PostgreSQL database dump'").is_dump());
    }
}
