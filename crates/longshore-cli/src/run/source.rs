//! What `COPY ... FROM STDIN` reads where standard input also gives the statements: the lines that follow it, up to
//! a line with a backslash and a period alone, as in psql.

use std::io::{self, Read};

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
