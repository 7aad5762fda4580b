//! Where a text is: a file, an address, or standard input.

use std::fmt;
use std::path::PathBuf;

/// A place that can be opened.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Location {
    /// A file, a named pipe or a device.
    File(PathBuf),
    /// Standard input.
    Stdin,
    /// An address: `http://`, `https://` or `s3://bucket/key`.
    Remote(String),
}

impl Location {
    /// What `name` stands for; `-` and `/dev/stdin` are standard input, `file://` addresses are files.
    #[must_use]
    pub fn parse(name: &str) -> Self {
        let is_remote = ["http://", "https://", "s3://"]
            .iter()
            .any(|scheme| name.get(..scheme.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(scheme)));
        match name {
            "-" | "/dev/stdin" => Self::Stdin,
            _ if is_remote => Self::Remote(name.to_owned()),
            _ if name.starts_with("file://") => {
                let path = url::Url::parse(name).ok().and_then(|url| url.to_file_path().ok());
                Self::File(path.unwrap_or_else(|| PathBuf::from(name)))
            }
            _ => Self::File(PathBuf::from(name)),
        }
    }
}

impl Location {
    /// What a statement has to say for it.
    #[must_use]
    pub fn as_written(&self) -> String {
        match self {
            Self::Stdin => "/dev/stdin".to_owned(),
            other => other.to_string(),
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Stdin => f.write_str("standard input"),
            Self::Remote(url) => f.write_str(url),
        }
    }
}
