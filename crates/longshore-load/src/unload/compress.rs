//! Compression of what is written: each block by itself, so that workers do it side by side. Members of gzip and frames of
//! Zstandard that stand one behind the other are one file to every reader.

use std::io::{self, Write};

use flate2::write::GzEncoder;

/// How hard gzip tries, of 9.
const GZIP_LEVEL: u32 = 6;
/// The same of Zstandard, of 22.
const ZSTD_LEVEL: i32 = 3;

/// What text is compressed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextCompression {
    /// gzip.
    Gzip,
    /// Zstandard.
    Zstd,
}

impl TextCompression {
    /// Compresses `text` as one block.
    pub(super) fn compress(self, text: &[u8]) -> io::Result<Vec<u8>> {
        match self {
            Self::Gzip => {
                let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::new(GZIP_LEVEL));
                encoder.write_all(text)?;
                encoder.finish()
            }
            Self::Zstd => zstd::bulk::compress(text, ZSTD_LEVEL),
        }
    }
}
