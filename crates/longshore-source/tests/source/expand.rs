//! Names become files: patterns, folders, values in folders' names.

use std::fs;
use std::path::Path;

use longshore_source::{FoundFile, Location, OpenOptions, StoreOptions, expand, open, partition_names};
use tempfile::TempDir;

/// A folder with these files in it, each with its own path as its text.
fn folder(paths: &[&str]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for path in paths {
        let file = folder.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, path).unwrap();
    }
    folder
}

fn find(folder: &Path, names: &[&str]) -> Result<Vec<FoundFile>, String> {
    let names: Vec<String> = names.iter().map(|name| format!("{}/{name}", folder.display())).collect();
    expand(&names, &StoreOptions::default()).map_err(|error| error.to_string())
}

/// The paths that `names` stand for, within the folder.
fn paths(folder: &Path, names: &[&str]) -> Vec<String> {
    let within = |file: FoundFile| match file.location {
        Location::File(path) => path.strip_prefix(folder).unwrap().display().to_string(),
        Location::Stdin | Location::Remote(_) => panic!("not a file"),
    };
    find(folder, names).unwrap().into_iter().map(within).collect()
}

const FILES: [&str; 10] = [
    "b.csv",
    "a10.csv",
    "a2.csv",
    "a[1].csv",
    ".hidden.csv",
    "_SUCCESS",
    "sub/c.csv",
    "sub/deep/d.csv.gz",
    "sub/_temporary/e.csv",
    "other/f.txt",
];

#[test]
fn patterns_are_sorted_and_stop_at_folders() {
    let folder = folder(&FILES);
    let at = folder.path();
    assert_eq!(paths(at, &["*.csv"]), ["a10.csv", "a2.csv", "a[1].csv", "b.csv"]);
    assert_eq!(paths(at, &["a?.csv"]), ["a2.csv"]);
    assert_eq!(paths(at, &["a[0-9]*.csv"]), ["a10.csv", "a2.csv"]);
    assert_eq!(paths(at, &["{b,a2}.csv"]), ["a2.csv", "b.csv"]);
    assert_eq!(paths(at, &["*/*.csv"]), ["sub/c.csv"]);
    assert_eq!(
        paths(at, &["**/*.csv*"]),
        ["a10.csv", "a2.csv", "a[1].csv", "b.csv", "sub/_temporary/e.csv", "sub/c.csv", "sub/deep/d.csv.gz",]
    );
    assert_eq!(paths(at, &["sub/**"]), ["sub/_temporary/e.csv", "sub/c.csv", "sub/deep/d.csv.gz"]);
    assert_eq!(paths(at, &[".h*"]), [".hidden.csv"]);
}

/// A pattern of the files of one folder does not care for what lies below it.
#[test]
fn links_in_a_circle_and_to_nowhere_are_in_nobodys_way() {
    let folder = folder(&["a.csv", "sub/b.csv", "sub/deep/c.csv"]);
    let at = folder.path();
    std::os::unix::fs::symlink("..", at.join("sub/deep/up")).unwrap();
    std::os::unix::fs::symlink("gone", at.join("nowhere.txt")).unwrap();
    std::os::unix::fs::symlink("itself.txt", at.join("itself.txt")).unwrap();
    assert_eq!(paths(at, &["*.csv"]), ["a.csv"]);
    assert_eq!(paths(at, &["s*/*.csv"]), ["sub/b.csv"]);
    assert_eq!(paths(at, &["{sub/deep,.}/*.csv"]), ["sub/deep/c.csv"]);
    assert_eq!(paths(at, &["**/*.csv"]), ["a.csv", "sub/b.csv", "sub/deep/c.csv"]);
    assert_eq!(paths(at, &["sub"]), ["sub/b.csv", "sub/deep/c.csv"]);
    let message = find(at, &["*.txt"]).unwrap_err();
    assert!(message.contains("nowhere.txt: No such file"), "{message}");
}

#[test]
fn lists_keep_their_order_and_names_of_files_are_no_patterns() {
    let folder = folder(&FILES);
    assert_eq!(paths(folder.path(), &["b.csv", "a*0.csv", "b.csv"]), ["b.csv", "a10.csv", "b.csv"]);
    assert_eq!(paths(folder.path(), &["a[1].csv"]), ["a[1].csv"]);
    assert_eq!(find(folder.path(), &["b.csv"]).unwrap()[0].bytes, Some(5));
}

#[test]
fn folders_stand_for_their_files() {
    let folder = folder(&FILES);
    assert_eq!(paths(folder.path(), &["sub"]), ["sub/c.csv", "sub/deep/d.csv.gz"]);
    let all = ["a10.csv", "a2.csv", "a[1].csv", "b.csv", "other/f.txt", "sub/c.csv", "sub/deep/d.csv.gz"];
    assert_eq!(paths(folder.path(), &[""]), all);
    fs::create_dir(folder.path().join("empty")).unwrap();
    assert!(find(folder.path(), &["empty"]).unwrap_err().contains("the folder holds no file"));
}

#[test]
fn what_stands_for_nothing_is_named() {
    let folder = folder(&FILES);
    let error = |name| find(folder.path(), &["b.csv", name]).unwrap_err();
    assert!(error("*.tsv").contains("*.tsv: no file fits this pattern"));
    assert!(error("none/*.csv").contains("no file fits"));
    assert!(error("none.csv").contains("none.csv: cannot open it"));
    assert!(error("[z").contains("not a valid pattern"));
}

#[test]
fn folders_give_values() {
    let folder = folder(&[
        "t/year=2024/city=S%C3%A3o%20Paulo/0.csv",
        "t/year=2025/city=__HIVE_DEFAULT_PARTITION__/0.csv",
        "t/year=2025/city=100%/a=b.csv",
    ]);
    let files = find(folder.path(), &["t"]).unwrap();
    assert_eq!(partition_names(&files).unwrap(), ["year", "city"]);
    let values: Vec<_> = files.iter().map(|file| file.partitions[1].1.as_deref()).collect();
    assert_eq!(values, [Some("São Paulo"), Some("100%"), None]);
    let other = self::folder(&["u/year=1/0.csv", "u/month=1/0.csv", "u/x=1/x=2/0.csv"]);
    let message = |names: &[&str]| partition_names(&find(other.path(), names).unwrap()).unwrap_err().to_string();
    assert!(message(&["u/year=1", "u/month=1"]).contains("name (month), and those of "));
    assert!(message(&["u/x=1"]).contains("twice"));
}

#[test]
fn standard_input_has_two_names() {
    for name in ["-", "/dev/stdin"] {
        assert_eq!(expand(&[name.to_owned()], &StoreOptions::default()).unwrap()[0].location, Location::Stdin);
    }
}

#[test]
fn plain_files_are_mapped_and_pipes_are_read() {
    let folder = folder(&["a.csv"]);
    let file = &find(folder.path(), &["a.csv"]).unwrap()[0];
    let source = open(&file.location, &OpenOptions::default()).unwrap();
    assert!(source.counter().is_none() && source.bytes_total() == Some(5));
    let pipe = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let writer = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::write(pipe, "a,b\n1,2\n").unwrap()
    });
    let source = open(&Location::File(pipe), &OpenOptions::default()).unwrap();
    assert_eq!(std::io::read_to_string(source.into_reader()).unwrap(), "a,b\n1,2\n");
    writer.join().unwrap();
}

#[cfg(not(feature = "remote"))]
#[test]
fn addresses_are_refused_by_builds_that_read_no_remote_files() {
    for address in ["http://host/a.csv", "HTTPS://host/a.csv", "s3://bucket/a.csv", "s3://bucket/*.csv"] {
        let found = expand(&[address.to_owned()], &StoreOptions::default()).unwrap_err().to_string();
        assert!(found.starts_with(&format!("{address}: cannot find it: this build reads no remote files")), "{found}");
        let opened = open(&Location::parse(address), &OpenOptions::default()).map(drop).unwrap_err().to_string();
        assert!(
            opened.starts_with(&format!("{address}: cannot open it: this build reads no remote files")),
            "{opened}"
        );
    }
}
