//! One text: a mapped file, or a stream that is read from front to back.
//!
//! Not here: finding and opening what a name stands for (`expand`, `open`), where records begin (`longshore-load`).

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use crate::byte_counter::ByteCounter;
use crate::cancellation::Cancellation;
use crate::error::SourceError;
use crate::memory::MemoryPool;

mod end_mark;
mod kept;
mod mapping;
mod shrink_guard;

pub use kept::KeptText;
pub use mapping::Mapping;

/// The byte order mark that some programs write before UTF-8 text; it is not part of the data.
pub const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A file or a stream of text.
pub struct Source {
    /// As the user named it; stands in messages.
    name: String,
    input: Input,
    /// For streams that are made from other bytes than their own: those bytes.
    measure: Option<Measure>,
    /// Told what memory counts against, before the first read.
    count: Option<Count>,
}

/// Takes the memory that a source's own buffers count against.
type Count = Box<dyn FnOnce(&Arc<dyn MemoryPool>) + Send>;

/// How far a stream is, in the bytes that it is made from: a compressed file, an object in a store.
struct Measure {
    /// Bytes in all, if they are known.
    bytes_total: Option<u64>,
    /// Bytes that were read so far.
    counter: Arc<ByteCounter>,
}

/// How a text is at hand.
pub enum Input {
    /// All of it, in memory.
    Mapped(Mapping),
    /// From front to back. Nothing came for a while where a read fails with [`io::ErrorKind::WouldBlock`].
    Stream(Box<dyn Read + Send>),
}

impl Source {
    /// Opens a file: regular files are mapped, everything else (pipes, devices, what cannot be mapped) is read.
    ///
    /// # Errors
    /// When the file cannot be opened, or is a directory.
    pub fn open(path: &Path) -> Result<Self, SourceError> {
        let name = path.display().to_string();
        let file =
            File::open(path).map_err(|error| SourceError::Io { file: name.clone(), action: "open it", error })?;
        Self::from_file(&name, file)
    }

    /// As [`Source::open`], for a file that is open already and stands at its beginning; `name` stands in messages.
    ///
    /// # Errors
    /// When it is a directory, or the system cannot say what it is.
    pub fn from_file(name: &str, file: File) -> Result<Self, SourceError> {
        let name = name.to_owned();
        let io_error = |error| SourceError::Io { file: name.clone(), action: "open it", error };
        let metadata = file.metadata().map_err(io_error)?;
        if metadata.is_dir() {
            return Err(io_error(io::Error::from(io::ErrorKind::IsADirectory)));
        }
        let length = usize::try_from(metadata.len()).unwrap_or(usize::MAX);
        // Files of /proc and the like are regular, of length 0, and not empty.
        let input =
            if metadata.is_file() && length > 0 { Mapping::new(&file, length).map(Input::Mapped) } else { None };
        Ok(Self { name, input: input.unwrap_or_else(|| Input::Stream(Box::new(file))), measure: None, count: None })
    }

    /// Opens a file to be read through `read` even where it could be mapped: for files that others may cut
    /// short at any time, and for tests of that way.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn open_unmapped(path: &Path) -> Result<Self, SourceError> {
        let name = path.display().to_string();
        match File::open(path) {
            Ok(file) => Ok(Self::from_reader(&name, Box::new(file))),
            Err(error) => Err(SourceError::Io { file: name, action: "open it", error }),
        }
    }

    /// A source that is read once, from front to back; `name` stands in messages.
    ///
    /// A reader that waits for others should not wait for long, but fail with [`io::ErrorKind::WouldBlock`]: the load
    /// then sees whether it was cancelled, and asks again.
    #[must_use]
    pub fn from_reader(name: &str, reader: Box<dyn Read + Send>) -> Self {
        Self { name: name.to_owned(), input: Input::Stream(reader), measure: None, count: None }
    }

    /// The same source, whose progress is told by `counter`, of `bytes_total` bytes if they are known: for text that is
    /// decompressed, decoded or fetched while it is read.
    pub(crate) fn measured(self, bytes_total: Option<u64>, counter: Arc<ByteCounter>) -> Self {
        Self { measure: Some(Measure { bytes_total, counter }), ..self }
    }

    /// The same source, which calls `count` when it is told what memory counts against.
    pub(crate) fn counted(self, count: impl FnOnce(&Arc<dyn MemoryPool>) + Send + 'static) -> Self {
        Self { count: Some(Box::new(count)), ..self }
    }

    /// From now on, what the source takes for itself counts against `pool`. To be called before the first read.
    pub fn count_against(&mut self, pool: &Arc<dyn MemoryPool>) {
        if let Some(count) = self.count.take() {
            count(pool);
        }
    }

    /// As the user named it; stands in messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name of the source, and its text without an end mark.
    #[must_use]
    pub fn into_parts(self) -> (String, Input) {
        let input = match self.input {
            Input::Stream(reader) => Input::Stream(unmarked(reader)),
            mapped @ Input::Mapped(_) => mapped,
        };
        (self.name, input)
    }

    /// The text from front to back, for those who need no more than that and do not mind to wait.
    #[must_use]
    pub fn into_reader(self) -> Box<dyn Read + Send> {
        match self.input {
            Input::Mapped(_) => self.into_stream(),
            Input::Stream(reader) => Box::new(Patient(reader)),
        }
    }

    /// The text from front to back, where a wait is for whoever reads it.
    fn into_stream(self) -> Box<dyn Read + Send> {
        match self.input {
            Input::Mapped(mapping) => Box::new(MappedReader { mapping, position: 0 }),
            Input::Stream(reader) => reader,
        }
    }

    /// The same source, whose text ends after `bytes`.
    #[must_use]
    pub fn cut(self, bytes: u64) -> Self {
        let input = match self.input {
            Input::Mapped(mapping) => Input::Mapped(mapping.cut(usize::try_from(bytes).unwrap_or(usize::MAX))),
            Input::Stream(reader) => Input::Stream(Box::new(reader.take(bytes))),
        };
        Self { input, ..self }
    }

    /// All of the text, where it is mapped.
    #[must_use]
    pub fn mapped(&self) -> Option<&[u8]> {
        match &self.input {
            Input::Mapped(mapping) => Some(mapping.bytes()),
            Input::Stream(_) => None,
        }
    }

    /// The first `bytes` of the text, or all of it if it is shorter, whether that is all, and the source as it was.
    ///
    /// # Errors
    /// When it cannot be read, or that was cancelled.
    pub fn with_head(self, bytes: usize, cancellation: &Cancellation) -> Result<(Vec<u8>, bool, Self), SourceError> {
        let mut reader = match self.input {
            Input::Mapped(mapping) => {
                let all = mapping.bytes();
                let (head, at_end) = (all[..bytes.min(all.len())].to_vec(), all.len() <= bytes);
                return Ok((head, at_end, Self { input: Input::Mapped(mapping), ..self }));
            }
            Input::Stream(reader) => unmarked(reader),
        };
        let mut head = Vec::new();
        let at_end = read_up_to(bytes + 1, &mut reader, &mut head, &self.name, cancellation)?;
        let again = io::Cursor::new(head.clone());
        let reader: Box<dyn Read + Send> = if at_end { Box::new(again) } else { Box::new(again.chain(reader)) };
        head.truncate(bytes);
        Ok((head, at_end, Self { input: Input::Stream(reader), ..self }))
    }

    /// Bytes to read, if they are known before.
    #[must_use]
    pub fn bytes_total(&self) -> Option<u64> {
        match (&self.measure, &self.input) {
            (Some(measure), _) => measure.bytes_total,
            (None, Input::Mapped(mapping)) => Some(mapping.bytes().len() as u64),
            (None, Input::Stream(_)) => None,
        }
    }

    /// What tells the progress of a stream that is made from other bytes; without one, the bytes of the text do.
    #[must_use]
    pub fn counter(&self) -> Option<&Arc<ByteCounter>> {
        self.measure.as_ref().map(|measure| &measure.counter)
    }
}

/// What a stream gives, without an end mark.
fn unmarked(reader: Box<dyn Read + Send>) -> Box<dyn Read + Send> {
    Box::new(end_mark::Unmarked::new(reader))
}

/// Reads until `text` holds `wanted` bytes or the stream called `name` ends; whether it ended.
///
/// # Errors
/// When it cannot be read, or that was cancelled.
pub fn read_up_to(
    wanted: usize,
    reader: &mut Box<dyn Read + Send>,
    text: &mut Vec<u8>,
    name: &str,
    cancellation: &Cancellation,
) -> Result<bool, SourceError> {
    while text.len() < wanted {
        if cancellation.is_cancelled() {
            return Err(SourceError::Cancelled);
        }
        let missing = (wanted - text.len()) as u64;
        match reader.by_ref().take(missing).read_to_end(text) {
            Ok(read) if (read as u64) < missing => return Ok(true),
            Ok(_) => {}
            // Nothing came for a while; what came before is in `text`.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(SourceError::of_read(name, error)),
        }
    }
    Ok(false)
}

/// Asks again where nothing came for a while.
struct Patient(Box<dyn Read + Send>);

impl Read for Patient {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.read(into) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                other => return other,
            }
        }
    }
}

/// Reads a mapped file.
struct MappedReader {
    mapping: Mapping,
    position: usize,
}

impl Read for MappedReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = (&self.mapping.bytes()[self.position..]).read(into)?;
        self.position += read;
        if self.mapping.is_whole() { Ok(read) } else { Err(io::Error::other("the file became shorter")) }
    }
}
