//! Where a text is: a file, or standard input.

use std::fmt;
use std::path::PathBuf;

/// A place that can be opened.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Location {
    /// A file, a named pipe or a device.
    File(PathBuf),
    /// Standard input.
    Stdin,
}

impl Location {
    /// What `name` stands for; `-` and `/dev/stdin` are standard input.
    #[must_use]
    pub fn parse(name: &str) -> Self {
        match name {
            "-" | "/dev/stdin" => Self::Stdin,
            _ => Self::File(PathBuf::from(name)),
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Stdin => f.write_str("standard input"),
        }
    }
}
