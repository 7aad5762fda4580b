//! The licences of what is linked into the binary: every crate with its licence, and each text once.
//!
//! The texts are those that lie in the crates' sources, as cargo has unpacked them, with those of the C libraries inside.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::files::{at, output};
use crate::shell::{cargo, ending};

/// The file's name.
pub(super) const NAME: &str = "THIRD-PARTY-NOTICES.txt";

/// How the names of files with a licence begin, in small letters.
const BEGINNINGS: [&str; 5] = ["license", "licence", "copying", "notice", "unlicense"];

/// Folders below the sources of a crate in which licences of C libraries lie.
const FOLDERS_DEEP: usize = 3;

/// A crate of the binary.
struct Crate {
    /// Name and version, as its folder is called: `csv-1.3.0`.
    folder: String,
    license: String,
    repository: String,
}

/// The whole text. The same sources give the same text.
pub(super) fn text() -> Result<String, String> {
    let registries = registries()?;
    let mut list = String::new();
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for Crate { folder, license, repository } in crates()? {
        list.extend([folder.as_str(), ": ", &license, ": ", &repository, "\n"]);
        let sources = registries.iter().map(|registry| registry.join(&folder)).find(|path| path.is_dir());
        let sources = sources.ok_or_else(|| format!("the sources of {folder} are not unpacked; run: cargo fetch"))?;
        let mut files = Vec::new();
        find(&sources, FOLDERS_DEEP, &mut files)?;
        for file in files {
            let text = fs::read(&file).map_err(|error| at(&file, &error))?;
            let text = String::from_utf8_lossy(&text).replace("\r\n", "\n").trim().to_owned();
            let holders = texts.entry(text).or_default();
            if !holders.contains(&folder) {
                holders.push(folder.clone());
            }
        }
    }
    let mut text = format!(
        "Longshore is under the licence in the file LICENSE. Its program also has these libraries in it, and Rust's \
         standard library\n(MIT OR Apache-2.0: https://github.com/rust-lang/rust).\n\n{list}"
    );
    // The texts that most libraries have come last: they are those that everybody knows.
    let mut texts: Vec<_> = texts.into_iter().collect();
    texts.sort_by_key(|(_, holders)| holders.len());
    for (license, holders) in texts {
        text.extend(["\n", &"=".repeat(80), "\n", &holders.join(", "), "\n\n", &license, "\n"]);
    }
    Ok(text)
}

/// The crates that the binary is linked from, by name, without those of this repository.
fn crates() -> Result<Vec<Crate>, String> {
    let mut tree = cargo(&["tree", "--locked", "--package", "longshore-cli", "--edges", "normal,no-proc-macro"]);
    let mut lines: Vec<String> = output(tree.args(["--prefix", "none", "--format", "{p}|{l}|{r}"]))?
        .lines()
        .map(|line| line.trim_end_matches(" (*)").to_owned())
        .collect();
    lines.sort();
    lines.dedup();
    // A path stands behind the version of what is no package of a registry.
    lines.retain(|line| !line.split('|').next().unwrap_or_default().contains(" (/"));
    lines.iter().map(|line| read(line)).collect()
}

/// A line of `cargo tree`: `csv v1.3.0|MIT|https://...`.
fn read(line: &str) -> Result<Crate, String> {
    let unexpected = || format!("cargo tree printed {line:?}");
    let mut parts = line.split('|');
    let mut part = || parts.next().ok_or_else(unexpected);
    let (package, license, repository) = (part()?, part()?, part()?);
    let mut words = package.split(' ');
    let (Some(name), Some(version)) = (words.next(), words.next().and_then(|word| word.strip_prefix('v'))) else {
        return Err(unexpected());
    };
    Ok(Crate { folder: format!("{name}-{version}"), license: license.to_owned(), repository: repository.to_owned() })
}

/// The folders in which cargo unpacks the sources of registries.
fn registries() -> Result<Vec<PathBuf>, String> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo"))).ok_or("there is no CARGO_HOME")?;
    let sources = home.join("registry/src");
    entries(&sources)
}

/// Files with a licence in a folder and so many levels below it.
fn find(folder: &Path, levels: usize, found: &mut Vec<PathBuf>) -> Result<(), String> {
    for path in entries(folder)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        if path.is_dir() {
            if levels > 0 {
                find(&path, levels - 1, found)?;
            }
        } else if BEGINNINGS.iter().any(|beginning| name.starts_with(beginning)) && ending(&name) != "rs" {
            found.push(path);
        }
    }
    Ok(())
}

/// What lies in a folder, sorted.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let read = || fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>();
    let mut paths = read().map_err(|error| at(folder, &error))?;
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_crate_and_the_texts_are_there() {
        let text = text().expect("the sources are there");
        for holds in ["\ndatafusion-55.", "\nzstd-sys-", "Apache License", "Meta Platforms", "Microsoft Corporation"] {
            assert!(text.contains(holds), "{holds:?} is missing");
        }
        assert!(!text.contains("longshore-engine"), "our own licence has a file of its own");
        assert_eq!(text, super::text().expect("once more"), "the same sources give the same text");
    }

    #[test]
    fn other_lines_are_refused() {
        assert!(read("csv v1.3.0|MIT|https://example.org").is_ok_and(|found| found.folder == "csv-1.3.0"));
        assert!(read("csv v1.3.0").is_err());
        assert!(read("csv|MIT|").is_err());
    }
}
