//! What `COPY ... FROM STDIN` reads and `COPY ... TO STDOUT` writes.
//!
//! Where standard input also gives the statements, the data are the lines that follow the statement, up to a line with
//! a backslash and a period alone, as in psql.

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
