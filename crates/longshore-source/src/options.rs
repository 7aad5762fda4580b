//! How a file shall be opened.

use std::fmt;

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
    /// Where objects are, and who asks for them.
    pub store: StoreOptions,
}

/// An S3-compatible store. What is `None` comes from the usual variables of the environment (`AWS_ENDPOINT_URL`,
/// `AWS_REGION`, `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`).
#[derive(Clone, Default, PartialEq, Eq)]
pub struct StoreOptions {
    /// The address of a store other than Amazon's.
    pub endpoint: Option<String>,
    /// The region that requests are signed for.
    pub region: Option<String>,
    /// Who asks.
    pub access_key_id: Option<String>,
    /// The secret that requests are signed with.
    pub secret_access_key: Option<String>,
    /// The token of credentials that expire.
    pub session_token: Option<String>,
    /// Whether the bucket stands in the path of an address and not in the name of the host; if nothing is said, it does.
    pub path_style: Option<bool>,
    /// Whether requests are not signed: for public buckets.
    pub anonymous: bool,
}

impl fmt::Debug for StoreOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the secrets.
        f.debug_struct("StoreOptions")
            .field("endpoint", &self.endpoint)
            .field("region", &self.region)
            .field("access_key_id", &self.access_key_id)
            .field("path_style", &self.path_style)
            .field("anonymous", &self.anonymous)
            .finish_non_exhaustive()
    }
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            compression: Compression::Auto,
            encoding: Encoding::UTF_8,
            encoding_errors: EncodingErrors::Stop,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            store: StoreOptions::default(),
        }
    }
}
