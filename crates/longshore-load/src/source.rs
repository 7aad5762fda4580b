//! Where text comes from: a mapped file, or a stream that is read from front to back.
//!
//! Not here: where records begin (`span`), what the text means (`fields`, `worker`).

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::LoadError;

mod mapping;
mod shrink_guard;

pub(crate) use mapping::Mapping;

/// The byte order mark that some programs write before UTF-8 text; it is not part of the data.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A file or a stream of text.
pub struct Source {
    /// As the user named it; stands in messages.
    pub(crate) name: String,
    pub(crate) input: Input,
}

pub(crate) enum Input {
    Mapped(Mapping),
    Stream(Box<dyn Read + Send>),
}

impl Source {
    /// Opens a file: regular files are mapped, everything else (pipes, devices, what cannot be mapped) is read.
    ///
    /// # Errors
    /// When the file cannot be opened, or is a directory.
    pub fn open(path: &Path) -> Result<Self, LoadError> {
        let name = path.display().to_string();
        let io_error = |error| LoadError::Io { file: name.clone(), action: "open it", error };
        let file = File::open(path).map_err(io_error)?;
        let metadata = file.metadata().map_err(io_error)?;
        if metadata.is_dir() {
            return Err(io_error(io::Error::from(io::ErrorKind::IsADirectory)));
        }
        let length = usize::try_from(metadata.len()).unwrap_or(usize::MAX);
        // Files of /proc and the like are regular, of length 0, and not empty.
        let input =
            if metadata.is_file() && length > 0 { Mapping::new(&file, length).map(Input::Mapped) } else { None };
        Ok(Self { name, input: input.unwrap_or_else(|| Input::Stream(Box::new(file))) })
    }

    /// Opens a file to be read through `read` even where it could be mapped: for files that others may cut
    /// short at any time, and for tests of that way.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn open_unmapped(path: &Path) -> Result<Self, LoadError> {
        let name = path.display().to_string();
        match File::open(path) {
            Ok(file) => Ok(Self::from_reader(&name, Box::new(file))),
            Err(error) => Err(LoadError::Io { file: name, action: "open it", error }),
        }
    }

    /// A source that is read once, from front to back; `name` stands in messages.
    #[must_use]
    pub fn from_reader(name: &str, reader: Box<dyn Read + Send>) -> Self {
        Self { name: name.to_owned(), input: Input::Stream(reader) }
    }

    /// All of the text, where it is mapped.
    pub(crate) fn mapped(&self) -> Option<&[u8]> {
        match &self.input {
            Input::Mapped(mapping) => Some(mapping.bytes()),
            Input::Stream(_) => None,
        }
    }

    /// Bytes to read, if they are known before.
    #[must_use]
    pub fn bytes_total(&self) -> Option<u64> {
        match &self.input {
            Input::Mapped(mapping) => Some(mapping.bytes().len() as u64),
            Input::Stream(_) => None,
        }
    }
}
