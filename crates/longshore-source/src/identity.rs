//! What tells whether a file is the one that it was: size, time and version, and the hash of its content.
//!
//! Size and time are what the system or the store says without reading the file. The hash is XXH3 of 128 bits over the bytes
//! as they lie there, compressed if they are: it finds changes, and is no protection against someone who forges them.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

use crate::cancellation::Cancellation;
use crate::error::SourceError;
use crate::expand::FoundFile;
use crate::location::Location;
use crate::options::StoreOptions;
use crate::remote;

/// Bytes that are read and hashed at a time: they stay in the second-level cache.
const STEP_BYTES: usize = 256 << 10;

/// What a file is called, and what tells its states apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileState {
    /// Its path without links and dots, or its address.
    pub name: String,
    /// Its size, compressed if it is; `None` if that is not known, or it is no regular file.
    pub bytes: Option<u64>,
    /// When it was last modified: microseconds since 1970.
    pub modified: Option<i64>,
    /// The `ETag` of a remote file, or the version that its store gave it.
    pub version: Option<String>,
}

/// The hash of the content of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContentHash(pub u128);

/// The hash of a file, and what is known of its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrefixHash {
    /// That of all of it.
    pub whole: ContentHash,
    /// That of as many bytes as were asked for; `None` if it has fewer.
    pub prefix: Option<ContentHash>,
    /// The last byte of those.
    pub prefix_end: Option<u8>,
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl FileState {
    /// What is known of a file now; of a remote one what was known when it was found.
    ///
    /// # Errors
    /// When the system cannot tell, or the name is no text.
    pub fn of(found: &FoundFile) -> Result<Self, SourceError> {
        match &found.location {
            Location::File(path) => Self::of_path(path),
            Location::Stdin => {
                Ok(Self { name: found.location.to_string(), bytes: None, modified: None, version: None })
            }
            Location::Remote(url) => Ok(Self {
                name: url.clone(),
                bytes: found.bytes,
                modified: found.state.modified,
                version: found.state.version.clone(),
            }),
        }
    }

    /// What is known of a file now, asked anew.
    ///
    /// # Errors
    /// As [`FileState::of`], and when the server does not answer.
    pub fn now(found: &FoundFile, store: &StoreOptions) -> Result<Self, SourceError> {
        let Location::Remote(url) = &found.location else { return Self::of(found) };
        let failed = |error| SourceError::Io { file: url.clone(), action: "find it", error };
        let listed = remote::ask(url, store).map_err(failed)?;
        Self::of(&FoundFile { bytes: listed.bytes, state: listed.state, ..found.clone() })
    }

    /// Whether it is the same state of a file as another one. A store may tell time more exactly where it lists its files than
    /// where it is asked for one.
    #[must_use]
    pub fn is_same_as(&self, other: &Self) -> bool {
        match (&self.version, &other.version) {
            (Some(version), Some(others)) => version == others,
            _ if self.version.is_some() || other.version.is_some() => false,
            _ => self.bytes == other.bytes && self.modified == other.modified,
        }
    }

    /// The file at `path`: what links lead to is one file, by whatever name it is reached.
    fn of_path(path: &Path) -> Result<Self, SourceError> {
        let file = path.display().to_string();
        let failed = |error| SourceError::Io { file: file.clone(), action: "look at it", error };
        let metadata = path.metadata().map_err(failed)?;
        let name = path.canonicalize().and_then(text_of).map_err(failed)?;
        let since = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let modified = since.and_then(|since| i64::try_from(since.as_micros()).ok());
        Ok(Self { name, bytes: metadata.is_file().then_some(metadata.len()), modified, version: None })
    }
}

fn text_of(path: PathBuf) -> io::Result<String> {
    let is_no_text = |_| io::Error::other("its name is not UTF-8; rename it");
    path.into_os_string().into_string().map_err(is_no_text)
}

/// A number for the name of a file, which hardly any other has.
#[must_use]
pub fn name_id(name: &str) -> i64 {
    xxh3_64(name.as_bytes()).cast_signed()
}

/// Hashes the first `bytes` of the file at `path`, and the first `prefix` of these beside.
///
/// # Errors
/// When it cannot be read, ends before that, or this was cancelled.
pub fn hash_content(
    path: &Path,
    bytes: u64,
    prefix: Option<u64>,
    cancellation: &Cancellation,
) -> Result<PrefixHash, SourceError> {
    let failed = |error| SourceError::of_read(&path.display().to_string(), error);
    let mut file = File::open(path).map_err(failed)?.take(bytes);
    let mut buffer = vec![0; STEP_BYTES];
    let mut hasher = Xxh3Default::new();
    let mut hash = PrefixHash { whole: ContentHash(0), prefix: None, prefix_end: None };
    let mut done = 0;
    loop {
        if prefix == Some(done) {
            hash.prefix = Some(ContentHash(hasher.digest128()));
        }
        if cancellation.is_cancelled() {
            return Err(SourceError::Cancelled);
        }
        // Up to the end of the prefix, where there is one to come.
        let left = prefix.filter(|prefix| *prefix > done).map_or(u64::MAX, |prefix| prefix - done);
        let step = usize::try_from(left).unwrap_or(usize::MAX).min(STEP_BYTES);
        let read = match file.read(&mut buffer[..step]) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(failed(error)),
        };
        hasher.update(&buffer[..read]);
        done += read as u64;
        if prefix == Some(done) {
            hash.prefix_end = Some(buffer[read - 1]);
        }
    }
    if done < bytes {
        return Err(failed(io::Error::new(io::ErrorKind::UnexpectedEof, "it has become shorter meanwhile")));
    }
    hash.whole = ContentHash(hasher.digest128());
    Ok(hash)
}

#[cfg(test)]
mod tests {
    use xxhash_rust::xxh3::xxh3_128;

    use super::*;

    #[test]
    fn a_hash_is_that_of_the_bytes() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("f");
        for length in [0, 1, 240, STEP_BYTES - 1, STEP_BYTES, STEP_BYTES + 1, 3 * STEP_BYTES + 7] {
            let bytes: Vec<u8> = (0..length).map(|at| (at * 31 % 251) as u8).collect();
            std::fs::write(&path, &bytes).expect("it can be written");
            for prefix in [0, 1, length / 2, STEP_BYTES, length] {
                let found = hash_content(&path, length as u64, Some(prefix as u64), &Cancellation::default());
                let found = found.expect("it can be read");
                let expected = bytes.get(..prefix).map(|prefix| ContentHash(xxh3_128(prefix)));
                assert_eq!(found.whole, ContentHash(xxh3_128(&bytes)), "{length}");
                assert_eq!(found.prefix, expected, "{prefix} of {length}");
                let end = bytes.get(..prefix).and_then(|prefix| prefix.last().copied());
                assert_eq!(found.prefix_end, end, "{prefix} of {length}");
            }
            assert!(hash_content(&path, length as u64 + 1, None, &Cancellation::default()).is_err());
        }
    }

    #[test]
    fn a_file_is_the_same_by_any_name() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("f");
        std::fs::write(&path, "1\n").expect("it can be written");
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&path, &link).expect("a link can be made");
        let state = FileState::of_path(&path).expect("it is there");
        assert_eq!(state, FileState::of_path(&link).expect("it is there"));
        assert_eq!(state, FileState::of_path(&directory.path().join("./f")).expect("it is there"));
        assert_eq!(state.bytes, Some(2));
        assert!(state.modified.is_some());
    }
}
