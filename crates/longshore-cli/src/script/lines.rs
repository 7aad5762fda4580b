//! The lines of a script, which `COPY ... FROM STDIN` in it reads as well.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Lines that the reader of a script and the data in it share.
pub(crate) type SharedLines = Arc<Mutex<Lines>>;

/// Where the lines of a script come from.
#[derive(Debug)]
pub(crate) enum Lines {
    /// Standard input, which others may read in between.
    Standard,
    /// A file.
    File(BufReader<File>),
}

impl Lines {
    /// Those of standard input.
    pub(crate) fn standard() -> SharedLines {
        Arc::new(Mutex::new(Self::Standard))
    }

    /// Those of a file.
    ///
    /// # Errors
    ///
    /// One that cannot be opened.
    pub(crate) fn file(path: &Path) -> io::Result<SharedLines> {
        let mut reader = BufReader::new(File::open(path)?);
        // The mark of the byte order is no part of the text.
        if reader.fill_buf()?.starts_with(b"\xef\xbb\xbf") {
            reader.consume(3);
        }
        Ok(Arc::new(Mutex::new(Self::File(reader))))
    }

    /// Appends the next line with its line end; at the end nothing. Returns its length.
    ///
    /// # Errors
    ///
    /// A source that cannot be read.
    pub(crate) fn read(&mut self, line: &mut Vec<u8>) -> io::Result<usize> {
        match self {
            Self::Standard => io::stdin().lock().read_until(b'\n', line),
            Self::File(reader) => reader.read_until(b'\n', line),
        }
    }
}
