//! What the libraries need by themselves: the whole file decompressed into one small buffer by one thread.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

use super::make::Form;
use crate::Failure;

/// Bytes that are decompressed at a time, as in a load.
const BUFFER_BYTES: usize = 1 << 20;

/// Reads a file by a library.
pub(super) type Library = fn(File) -> Result<Box<dyn Read>, Failure>;

/// The library of a format; encodings have none.
pub(super) fn of(form: Form) -> Option<Library> {
    Some(match form {
        Form::Gzip => |file| Ok(Box::new(flate2::read::MultiGzDecoder::new(buffered(file)))),
        Form::Zstd => |file| Ok(Box::new(zstd::stream::read::Decoder::with_buffer(buffered(file))?)),
        Form::Lz4 => |file| Ok(Box::new(lz4_flex::frame::FrameDecoder::new(buffered(file)))),
        Form::Bzip2 => |file| Ok(Box::new(bzip2::read::MultiBzDecoder::new(buffered(file)))),
        Form::Xz => |file| Ok(Box::new(liblzma::read::XzDecoder::new(buffered(file)))),
        Form::Latin1 | Form::Latin1Accents | Form::Utf16 | Form::Utf16Accents => return None,
    })
}

fn buffered(file: File) -> std::io::BufReader<File> {
    std::io::BufReader::with_capacity(256 << 10, file)
}

pub(super) fn run(library: Library, path: &Path, bytes: u64) -> Result<Duration, Failure> {
    let mut buffer = vec![0; BUFFER_BYTES];
    let started = Instant::now();
    let mut reader = library(File::open(path)?)?;
    let mut found = 0;
    loop {
        match reader.read(&mut buffer)? {
            0 => break,
            read => found += read as u64,
        }
    }
    let time = started.elapsed();
    if found == bytes { Ok(time) } else { Err(format!("{found} bytes where {bytes} are right").into()) }
}
