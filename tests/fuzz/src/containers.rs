//! Any bytes, taken as any container, give the same for any number of threads; a damaged container gives an error or
//! the right text, and nothing else.

use std::io::{Cursor, Read, Write};

use crate::Choices;
use longshore_source::{Compression, Container, OpenOptions, open_reader};

/// What must hold for any bytes.
///
/// # Panics
///
/// When it does not.
pub fn check_input(input: &[u8]) {
    let mut choices = Choices::new(input);
    let container = choices.pick(&Container::ALL);
    if choices.byte() & 1 == 0 {
        let bytes = choices.rest();
        let (serial, parallel) = (read(bytes, container, 1), read(bytes, container, 3));
        match (&serial, &parallel) {
            (Ok(left), Ok(right)) => assert!(left == right, "{container:?}: other text with other threads"),
            (Err(_), Err(_)) => {}
            // A bit pattern inside a block that looks like the beginning of another one: stated in its module.
            (Ok(_), Err(error)) => assert!(container == Container::Bzip2, "{container:?}: {error}"),
            (Err(error), Ok(_)) => panic!("{container:?}: only one thread sees that {error}"),
        }
        return;
    }
    // A byte changed or the end cut off: no checksum promises to find both at once, if one of them is in its own header.
    let (cuts, at, flip) = (choices.byte() & 1 == 0, choices.below(1 << 16), choices.byte());
    let text = choices.rest();
    if text.starts_with(b"\xff\xfe") || text.starts_with(b"\xfe\xff") {
        // By its mark it is UTF-16, and what comes out is rightly other bytes.
        return;
    }
    let Some(mut bytes) = pack(text, container) else { return };
    if cuts {
        bytes.truncate(at % (bytes.len() + 1));
    } else {
        let length = bytes.len();
        bytes[at % length] ^= flip;
    }
    for threads in [1, 3] {
        if let Ok(found) = read(&bytes, container, threads) {
            assert!(found == text, "{container:?}, {threads} threads: wrong text from a damaged file");
        }
    }
}

fn read(bytes: &[u8], container: Container, threads: usize) -> Result<Vec<u8>, String> {
    let options = OpenOptions { compression: Compression::Named(container), threads, ..OpenOptions::default() };
    let source = open_reader("fuzz", Box::new(Cursor::new(bytes.to_vec())), None, &options).expect("a thread");
    let mut text = Vec::new();
    // What is small may become large; so much shows what is to be seen.
    let result = source.into_reader().take(16 << 20).read_to_end(&mut text);
    result.map(|_| text).map_err(|error| error.to_string())
}

/// `text` as a container with checksums; `None` for those that are not made here.
fn pack(text: &[u8], container: Container) -> Option<Vec<u8>> {
    let packed = match container {
        Container::Gzip => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(text).and_then(|()| encoder.finish())
        }
        Container::Zstd => {
            let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).ok()?;
            encoder.include_checksum(true).ok()?;
            encoder.write_all(text).and_then(|()| encoder.finish())
        }
        Container::Lz4 => {
            let info = lz4_flex::frame::FrameInfo::new().content_checksum(true);
            let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(info, Vec::new());
            encoder.write_all(text).ok()?;
            return encoder.finish().ok();
        }
        Container::Bzip2 => {
            let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
            encoder.write_all(text).and_then(|()| encoder.finish())
        }
        Container::Xz => {
            let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 0);
            encoder.write_all(text).and_then(|()| encoder.finish())
        }
        Container::Zip => return None,
    };
    packed.ok()
}
