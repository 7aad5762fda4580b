//! From what a user names to files in order: paths, lists, patterns, folders, standard input.
//!
//! A name that is a file is that file, whatever characters it has. Otherwise a name with `*`, `?`, `[..]` or `{a,b}` is
//! a pattern: `*` and `?` stop at `/`, `**` does not. A folder stands for all files in it and below, without those that
//! begin with `.` or `_` (what writers leave beside their parts). What a pattern or a folder stands for is sorted by its
//! path, byte by byte; the names of a list keep their order. Not here: listing stores (`remote`), opening (`open`).

use std::io;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use walkdir::{DirEntry, WalkDir};

use crate::error::SourceError;
use crate::location::Location;
use crate::options::StoreOptions;
use crate::remote::{self, Listed, RemoteState};

mod hive;

pub use hive::partition_names;

/// A file that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFile {
    /// Where it is; opens it.
    pub location: Location,
    /// What its folders say (`year=2024/month=01`): names and values in their order; `None` is NULL.
    pub partitions: Vec<(String, Option<String>)>,
    /// Its size, compressed if it is, where known.
    pub bytes: Option<u64>,
    /// Which state of it was found, as its store tells; of files that are asked when that matters, nothing.
    pub state: RemoteState,
}

impl FoundFile {
    fn local(path: PathBuf, bytes: Option<u64>) -> Self {
        let partitions = hive::partitions(&path.to_string_lossy());
        Self { location: Location::File(path), partitions, bytes, state: RemoteState::default() }
    }
}

/// The files that `names` stand for.
///
/// # Errors
/// When a name stands for no file, or a folder cannot be read.
pub fn expand(names: &[String], store: &StoreOptions) -> Result<Vec<FoundFile>, SourceError> {
    let mut files = Vec::new();
    for name in names {
        match Location::parse(name) {
            Location::File(path) => local(name, &path, &mut files)?,
            Location::Remote(url) => remote(&url, store, &mut files)?,
            location @ Location::Stdin => {
                let state = RemoteState::default();
                files.push(FoundFile { location, partitions: Vec::new(), bytes: None, state });
            }
        }
    }
    Ok(files)
}

/// Objects of a bucket by pattern or folder; anything else is one file, whose size is asked for.
fn remote(url: &str, store: &StoreOptions, files: &mut Vec<FoundFile>) -> Result<(), SourceError> {
    let failed = |error| SourceError::Io { file: url.to_owned(), action: "find it", error };
    let found = |Listed { url, bytes, state }| {
        let partitions = hive::partitions(&url);
        FoundFile { location: Location::Remote(url), partitions, bytes, state }
    };
    let listing = remote::split_s3(url).filter(|(_, key)| is_pattern(key) || key.is_empty() || key.ends_with('/'));
    let Some((bucket, key)) = listing else {
        if url.contains('*') {
            let problem = String::from("HTTP servers do not list their files: name each, or use an s3:// address");
            return Err(SourceError::Unfit { file: url.to_owned(), problem });
        }
        files.push(found(remote::ask(url, store).map_err(failed)?));
        return Ok(());
    };
    let base = base_of(key);
    let before = files.len();
    let listed = remote::list(bucket, base, store).map_err(failed)?;
    let own = |listed: &Listed| listed.url[format!("s3://{bucket}/").len()..].to_owned();
    if is_pattern(key) {
        let glob = compile(key).map_err(|problem| SourceError::Unfit { file: url.to_owned(), problem })?;
        let wanted = listed.into_iter().filter(|listed| glob.is_match(own(listed)));
        files.extend(wanted.map(found));
    } else {
        let wanted = listed
            .into_iter()
            .filter(|listed| own(listed)[base.len()..].split('/').all(|part| !part.starts_with(['.', '_'])));
        files.extend(wanted.map(found));
    }
    if files.len() == before { Err(no_match(url)) } else { Ok(()) }
}

fn local(name: &str, path: &Path, files: &mut Vec<FoundFile>) -> Result<(), SourceError> {
    match path.metadata() {
        Ok(metadata) if metadata.is_dir() => folder(name, path, files),
        Ok(metadata) => {
            files.push(FoundFile::local(path.to_owned(), metadata.is_file().then_some(metadata.len())));
            Ok(())
        }
        Err(_) if is_pattern(name) => pattern(name, files),
        Err(error) => Err(SourceError::Io { file: name.to_owned(), action: "open it", error }),
    }
}

fn folder(name: &str, path: &Path, files: &mut Vec<FoundFile>) -> Result<(), SourceError> {
    let is_wanted = |entry: &DirEntry| {
        let first = entry.file_name().as_encoded_bytes().first();
        entry.depth() == 0 || !matches!(first, Some(b'.' | b'_'))
    };
    let found = walk(name, path, usize::MAX, is_wanted, |_| true)?;
    if found.is_empty() {
        let problem = String::from("the folder holds no file; those that begin with '.' or '_' are passed over");
        return Err(SourceError::Unfit { file: name.to_owned(), problem });
    }
    files.extend(found);
    Ok(())
}

fn pattern(name: &str, files: &mut Vec<FoundFile>) -> Result<(), SourceError> {
    let base = base_of(name);
    let glob = compile(name).map_err(|problem| SourceError::Unfit { file: name.to_owned(), problem })?;
    let wants_hidden = name[base.len()..].split('/').any(|part| part.starts_with('.') && part != "." && part != "..");
    let is_wanted = |entry: &DirEntry| {
        entry.depth() == 0 || wants_hidden || entry.file_name().as_encoded_bytes().first() != Some(&b'.')
    };
    // What the walk finds below "." begins with "./", and patterns do not.
    let root = if base.is_empty() { Path::new(".") } else { Path::new(base) };
    let found = if root.is_dir() {
        let shown = |path: &Path| {
            if base.is_empty() { path.strip_prefix(".").unwrap_or(path).to_owned() } else { path.to_owned() }
        };
        let mut found = walk(name, root, depth_of(&name[base.len()..]), is_wanted, |path| glob.is_match(shown(path)))?;
        if base.is_empty() {
            for file in &mut found {
                if let Location::File(path) = &mut file.location {
                    *path = shown(path);
                }
            }
        }
        found
    } else {
        Vec::new()
    };
    if found.is_empty() {
        return Err(no_match(name));
    }
    files.extend(found);
    Ok(())
}

/// The error of a pattern that no file fits.
fn no_match(name: &str) -> SourceError {
    SourceError::Unfit { file: name.to_owned(), problem: String::from("no file fits this pattern") }
}

/// How many folders deep files can lie that a pattern fits, of which `rest` stands behind its folder.
fn depth_of(rest: &str) -> usize {
    if rest.contains("**") { usize::MAX } else { rest.trim_start_matches('/').matches('/').count() + 1 }
}

/// The files under `root`, at most `depth` folders deep, sorted by path. Links in a circle lead to nothing new.
fn walk(
    name: &str,
    root: &Path,
    depth: usize,
    is_wanted: impl FnMut(&DirEntry) -> bool,
    fits: impl Fn(&Path) -> bool,
) -> Result<Vec<FoundFile>, SourceError> {
    let mut found = Vec::new();
    for entry in WalkDir::new(root).follow_links(true).max_depth(depth).into_iter().filter_entry(is_wanted) {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) if error.loop_ancestor().is_some() => continue,
            // A link to nowhere, or whatever lies beside the files, and is none of them.
            Err(error)
                if error.path().is_some_and(|path| !fits(path) && (error.depth() >= depth || leads_nowhere(path))) =>
            {
                continue;
            }
            Err(error) => {
                let place = error.path().map_or_else(String::new, |path| format!("{}: ", path.display()));
                let problem = error.io_error().map_or_else(|| error.to_string(), io::Error::to_string);
                let error = io::Error::other(format!("{place}{problem}"));
                return Err(SourceError::Io { file: name.to_owned(), action: "look through its folders", error });
            }
        };
        if !entry.file_type().is_dir() && fits(entry.path()) {
            let bytes = entry.metadata().ok().filter(std::fs::Metadata::is_file).map(|metadata| metadata.len());
            found.push(FoundFile::local(entry.into_path(), bytes));
        }
    }
    found.sort_by(|left, right| path_of(left).cmp(path_of(right)));
    Ok(found)
}

/// Whether `path` is a link to what is not there, or to itself.
fn leads_nowhere(path: &Path) -> bool {
    let found = path.metadata().map_err(|error| error.kind());
    path.is_symlink() && found.is_err_and(|kind| kind != io::ErrorKind::PermissionDenied)
}

fn path_of(file: &FoundFile) -> &[u8] {
    match &file.location {
        Location::File(path) => path.as_os_str().as_encoded_bytes(),
        Location::Remote(url) => url.as_bytes(),
        Location::Stdin => &[],
    }
}

/// Whether `name` has characters that mean more than themselves.
fn is_pattern(name: &str) -> bool {
    name.contains(['*', '?', '[', '{'])
}

fn compile(pattern: &str) -> Result<GlobMatcher, String> {
    // Paths are found with single slashes.
    let pattern = pattern.replace("//", "/");
    let glob = GlobBuilder::new(&pattern).literal_separator(true).backslash_escape(true).build();
    glob.map(|glob| glob.compile_matcher()).map_err(|error| format!("this is not a valid pattern: {}", error.kind()))
}

/// The folder that a pattern's files are under: what stands before the first part with a special character.
fn base_of(pattern: &str) -> &str {
    let special = pattern.find(['*', '?', '[', '{', '\\']).unwrap_or(pattern.len());
    match pattern[..special].rfind('/') {
        Some(0) => "/",
        Some(slash) => &pattern[..slash],
        None => "",
    }
}
