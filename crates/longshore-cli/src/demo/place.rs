//! Decides where the demonstration keeps its files, whether there is room, and what remains of them.

use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use crate::args::DemoArgs;
use crate::generate::{Request, Table};
use crate::human;
use crate::run::{Failure, Reason};

/// Bytes on disk for each byte of text: the text, its copy as CSV and the native copy.
const DISK_PER_TEXT: f64 = 2.6;
/// No line of TPC-H is longer.
const LINE_BYTES_MAX: i64 = 1024;

/// The directory of a demonstration; what was made there goes when this is dropped, unless it is to be kept.
#[derive(Debug)]
pub(super) struct Place {
    directory: PathBuf,
    /// The directory is ours alone and goes as a whole.
    temporary: bool,
    keep: bool,
}

impl Place {
    /// Makes the directory that `args` names, or a temporary one.
    pub(super) fn prepare(args: &DemoArgs) -> Result<Self, Failure> {
        let directory = match &args.dir {
            Some(directory) => {
                fs::create_dir_all(directory).map_err(|error| Reason::file(directory, error))?;
                directory.clone()
            }
            None => temporary_directory()?,
        };
        let place = Self { directory, temporary: args.dir.is_none(), keep: args.keep };
        place.remove_copies();
        Ok(place)
    }

    /// Where the text lies.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Where the unloaded copy in `format` lies.
    pub(super) fn copy(&self, format: &str) -> PathBuf {
        self.directory.join(format!("unloaded-{format}"))
    }

    /// Removes the copies of this run, or of an earlier one: EXPORT wants a directory of its own.
    fn remove_copies(&self) {
        for format in ["native", "csv"] {
            // There is none in most cases, and EXPORT says clearly if it is in its way.
            let _ = fs::remove_dir_all(self.copy(format));
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.keep {
            return;
        }
        if self.temporary {
            // Nobody can be told any more, and the system cleans its temporary directory.
            let _ = fs::remove_dir_all(&self.directory);
        } else {
            self.remove_copies();
        }
    }
}

fn temporary_directory() -> Result<PathBuf, Failure> {
    let base = std::env::temp_dir();
    let mut attempt = 0;
    loop {
        let directory = base.join(format!("longshore-demo-{}-{attempt}", std::process::id()));
        match fs::create_dir(&directory) {
            Ok(()) => return Ok(directory),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && attempt < 1000 => attempt += 1,
            Err(error) => return Err(Reason::file(&directory, error).into()),
        }
    }
}

/// Refuses to start what would fill the disk.
pub(super) fn check_room(request: &Request) -> Result<(), Failure> {
    let needed = (request.bytes_estimate() as f64 * DISK_PER_TEXT) as u64;
    match free_bytes(&request.directory) {
        Some(free) if free < needed => Err(Reason::Message(format!(
            "{}: the demo needs about {} of disk at scale factor {}, but {} are free; \
             name another directory with --dir or a smaller --scale",
            request.directory.display(),
            human::bytes(needed),
            request.scale,
            human::bytes(free)
        ))
        .into()),
        _ => Ok(()),
    }
}

/// Bytes that this user may still write to the disk of `path`; none if the system does not tell.
fn free_bytes(path: &Path) -> Option<u64> {
    let room = rustix::fs::statvfs(path).ok()?;
    Some(room.f_bavail * room.f_frsize)
}

/// Whether the files of `request` are there, whole and of its scale factor.
///
/// Keys ascend and end with the scale factor's last key, so the last line of each file tells.
pub(super) fn is_generated(request: &Request) -> bool {
    Table::ALL.iter().all(|&table| last_key(&request.path(table)) == Some(table.last_key(request.scale)))
}

/// The key in the last complete line of a file.
fn last_key(path: &Path) -> Option<u64> {
    let mut file = File::open(path).ok()?;
    let length = i64::try_from(file.metadata().ok()?.len()).ok()?;
    file.seek(SeekFrom::End(-length.min(LINE_BYTES_MAX))).ok()?;
    let mut tail = Vec::new();
    file.read_to_end(&mut tail).ok()?;
    let line = tail.strip_suffix(b"\n")?;
    let line = line.rsplit(|&byte| byte == b'\n').next()?;
    let key = line.split(|&byte| byte == b'|').next()?;
    std::str::from_utf8(key).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_keys_need_a_whole_line() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("t.tbl");
        let key_of = |text: &str| {
            fs::write(&path, text).expect("a file");
            last_key(&path)
        };
        assert_eq!(key_of("1|a|\n25|b|\n"), Some(25));
        assert_eq!(key_of("1|a|\n25|b|"), None);
        assert_eq!(key_of(""), None);
        assert_eq!(key_of("x|y|\n"), None);
        assert_eq!(key_of(&format!("{}7|b|\n", "1|a|\n".repeat(1000))), Some(7));
        assert_eq!(last_key(&directory.path().join("none")), None);
    }

    #[test]
    fn a_temporary_place_vanishes() {
        let args = DemoArgs { scale: 1.0, dir: None, keep: false };
        let place = Place::prepare(&args).expect("a place");
        let directory = place.directory().to_owned();
        assert!(directory.is_dir());
        assert!(free_bytes(&directory).is_some());
        drop(place);
        assert!(!directory.exists());
    }
}
