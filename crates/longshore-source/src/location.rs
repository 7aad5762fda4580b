//! Where a text is: a file, an address, or standard input.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use crate::percent;

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
            _ if name.starts_with("file://") => Self::File(file_path(name).unwrap_or_else(|| PathBuf::from(name))),
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

/// The path that a `file://` address names (RFC 8089); `None` if it names another machine.
fn file_path(address: &str) -> Option<PathBuf> {
    let rest = address.strip_prefix("file://")?;
    let rest = &rest[..rest.find(['?', '#']).unwrap_or(rest.len())];
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
        return None;
    }
    let mut parts: Vec<Vec<u8>> = Vec::new();
    let mut names = path.strip_prefix('/').unwrap_or(path).split('/').map(percent::decode).peekable();
    while let Some(name) = names.next() {
        let is_dots = matches!(name.as_slice(), b"." | b"..");
        if name == b".." {
            parts.pop();
        }
        if !is_dots {
            parts.push(name);
        } else if names.peek().is_none() {
            // What ends in dots is a folder.
            parts.push(Vec::new());
        }
    }
    Some(PathBuf::from(OsString::from_vec([b"/", parts.join(&b'/').as_slice()].concat())))
}

#[cfg(all(test, feature = "remote"))]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_files_are_those_of_the_url_standard() {
        for rest in [
            "",
            "/",
            "/a",
            "/a/",
            "//a",
            "/a//b",
            "/a%20b",
            "/a b",
            "/%C3%A9%zz%4",
            "/%ff",
            "/a?b=c",
            "/a#b",
            "/a/./b",
            "/a/../b",
            "/../a",
            "/a/..",
            "/a/.",
            "/%2e%2E/a",
            "/a+b",
            "localhost/a",
            "LOCALHOST/a",
            "localhost",
            "host/a",
            "/x=1/日本.csv",
        ] {
            let address = format!("file://{rest}");
            let right = url::Url::parse(&address).ok().and_then(|url| url.to_file_path().ok());
            assert_eq!(file_path(&address), right, "{address}");
        }
    }
}
