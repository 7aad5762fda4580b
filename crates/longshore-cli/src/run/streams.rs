//! What `COPY ... FROM STDIN` reads where a script gives the statements: the lines that follow the statement, up to a line
//! with a backslash and a period alone, as in psql.

use std::io::{self, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::script::SharedLines;

/// Bytes that are read ahead.
const BUFFER_BYTES: usize = 64 << 10;

/// The data lines that follow a statement.
#[derive(Clone, Debug)]
pub(super) struct InlineData(Arc<Mutex<Inner>>);

#[derive(Debug)]
struct Inner {
    source: SharedLines,
    /// Whether a person types the lines.
    is_typed: bool,
    buffer: Vec<u8>,
    /// Bytes of `buffer` that were handed out.
    taken: usize,
    /// Lines that were read.
    lines: usize,
    ended: bool,
}

impl InlineData {
    /// Those that come from `source`, which a person types if `is_typed`.
    pub(super) fn new(source: SharedLines, is_typed: bool) -> Self {
        let inner = Inner { source, is_typed, buffer: Vec::new(), taken: 0, lines: 0, ended: false };
        Self(Arc::new(Mutex::new(inner)))
    }

    /// Reads what the statement has left, if it has read any; returns the number of lines of all data.
    ///
    /// # Errors
    ///
    /// A source that cannot be read.
    pub(super) fn finish(&self) -> io::Result<usize> {
        let mut inner = self.lock();
        while inner.lines > 0 && !inner.ended {
            inner.fill()?;
        }
        Ok(inner.lines)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Read for InlineData {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut inner = self.lock();
        if inner.taken == inner.buffer.len() && !inner.ended {
            inner.fill()?;
        }
        let rest = &inner.buffer[inner.taken..];
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        inner.taken += length;
        Ok(length)
    }
}

impl Inner {
    /// Reads the next lines.
    fn fill(&mut self) -> io::Result<()> {
        self.buffer.clear();
        self.taken = 0;
        let mut source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
        while !self.ended && self.buffer.len() < BUFFER_BYTES {
            let before = self.buffer.len();
            if self.is_typed {
                eprint!(">> ");
            }
            let length = source.read(&mut self.buffer)?;
            self.lines += usize::from(length > 0);
            if matches!(&self.buffer[before..], b"" | b"\\.\n" | b"\\.\r\n" | b"\\.") {
                self.buffer.truncate(before);
                self.ended = true;
            }
            if self.is_typed {
                break;
            }
        }
        Ok(())
    }
}
