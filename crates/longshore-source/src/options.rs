//! How a file shall be opened.

use crate::container::Container;
use crate::encoding::{Encoding, EncodingErrors};

/// What a file is compressed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compression {
    /// What its first bytes say; its name does not matter.
    #[default]
    Auto,
    /// Nothing, whatever its first bytes look like.
    None,
    /// This; anything else is an error.
    Named(Container),
}

impl Compression {
    /// The compression that an option calls `name`.
    ///
    /// # Errors
    /// A message that names all of them.
    pub fn named(name: &str) -> Result<Self, String> {
        let lower = name.trim().to_ascii_lowercase();
        Ok(match lower.as_str() {
            "auto" => Self::Auto,
            "none" | "uncompressed" => Self::None,
            "gz" | "gzip" | "bgzf" | "bgzip" => Self::Named(Container::Gzip),
            "zst" | "zstd" => Self::Named(Container::Zstd),
            "lz4" => Self::Named(Container::Lz4),
            "bz2" | "bzip2" => Self::Named(Container::Bzip2),
            "xz" => Self::Named(Container::Xz),
            "zip" => Self::Named(Container::Zip),
            _ => {
                return Err(format!(
                    "COMPRESSION {name:?} is not known; there are auto, none, gzip, zstd, lz4, bzip2, xz, zip"
                ));
            }
        })
    }
}

/// How to open a file.
#[derive(Debug, Clone)]
pub struct OpenOptions {
    /// What it is compressed with.
    pub compression: Compression,
    /// How its text is encoded.
    pub encoding: Encoding,
    /// What to do about bytes that are not valid in the encoding.
    pub encoding_errors: EncodingErrors,
    /// Threads that decompress it, beside those that load; at least one.
    pub threads: usize,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            compression: Compression::Auto,
            encoding: Encoding::UTF_8,
            encoding_errors: EncodingErrors::Stop,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}
