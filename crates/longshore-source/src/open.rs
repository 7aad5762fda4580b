//! Opens what a name stands for.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::budget::Budget;
use crate::byte_counter::ByteCounter;
use crate::container::HEAD_BYTES;
use crate::encoding::{Encoding, EncodingErrors};
use crate::error::SourceError;
use crate::location::Location;
use crate::options::OpenOptions;
use crate::pipe;
use crate::remote;
use crate::source::Source;
use crate::stages::{self, Head};

/// Opens `location`. May be called again for the same location, for a second pass, except for standard input; a named
/// pipe then waits for another writer.
///
/// A file of plain UTF-8 is mapped. Everything else is a stream: what is wrong with it is said when it is read.
///
/// # Errors
/// When it cannot be opened, or its first bytes show that it cannot be loaded.
pub fn open(location: &Location, options: &OpenOptions) -> Result<Source, SourceError> {
    let name = location.to_string();
    match location {
        Location::File(path) => open_file(&name, path, options),
        Location::Remote(url) => {
            let budget = Budget::default();
            let reader = remote::open(url, &options.store, budget.clone()).map_err(|error| SourceError::Io {
                file: name.clone(),
                action: "open it",
                error,
            })?;
            Ok(stream(&name, reader, None, options, budget))
        }
        Location::Stdin => {
            static WAS_OPENED: AtomicBool = AtomicBool::new(false);
            if WAS_OPENED.swap(true, Ordering::Relaxed) {
                let problem = String::from("it can be read only once; save it to a file first");
                return Err(SourceError::Unfit { file: name, problem });
            }
            open_reader(&name, Box::new(io::stdin()), None, options)
        }
    }
}

fn open_file(name: &str, path: &Path, options: &OpenOptions) -> Result<Source, SourceError> {
    let io_error = |error| SourceError::Io { file: name.to_owned(), action: "open it", error };
    let file = File::open(path).map_err(io_error)?;
    let metadata = file.metadata().map_err(io_error)?;
    if metadata.is_dir() {
        return Err(io_error(io::Error::from(io::ErrorKind::IsADirectory)));
    }
    // Files of /proc and the like are regular, of length 0, and not empty; they are streams.
    if !metadata.is_file() || metadata.len() == 0 {
        return open_reader(name, Box::new(file), None, options);
    }
    if is_plain(&file, options).map_err(io_error)? {
        return Source::from_file(name, file);
    }
    Ok(stream(name, Box::new(file), Some(metadata.len()), options, Budget::default()))
}

/// Whether a file is text that the loader can take as it lies there.
fn is_plain(file: &File, options: &OpenOptions) -> io::Result<bool> {
    let mut bytes = vec![0; HEAD_BYTES];
    let mut filled = 0;
    let is_whole = loop {
        match file.read_at(&mut bytes[filled..], filled as u64) {
            Ok(0) => break filled < HEAD_BYTES,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    };
    bytes.truncate(filled);
    let head = Head { bytes, is_whole };
    Ok(stages::container_of(&head, options.compression)?.is_none()
        && options.encoding_errors == EncodingErrors::Stop
        && Encoding::of(&head.bytes, options.encoding)? == Encoding::UTF_8)
}

/// The text of `input`, which is read once from front to back and has `bytes_total` bytes if that is known; `name`
/// stands in messages. It may keep its reader waiting: a thread of its own reads it. What is wrong with it is said when
/// it is read.
///
/// # Errors
/// When the thread cannot be started.
pub fn open_reader(
    name: &str,
    input: Box<dyn Read + Send>,
    bytes_total: Option<u64>,
    options: &OpenOptions,
) -> Result<Source, SourceError> {
    let budget = Budget::default();
    let input = pipe::PipeReader::new(input, budget.clone());
    Ok(stream(name, Box::new(input), bytes_total, options, budget))
}

fn stream(
    name: &str,
    input: Box<dyn Read + Send>,
    bytes_total: Option<u64>,
    options: &OpenOptions,
    budget: Budget,
) -> Source {
    let counter = Arc::new(ByteCounter::default());
    let text = stages::text(input, options, Arc::clone(&counter), budget.clone());
    let source = Source::from_reader(name, text).measured(bytes_total, counter);
    source.counted(move |pool| budget.count_against(pool))
}
