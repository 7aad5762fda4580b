//! Backups, checks and logs through the program.

use std::fs;
use std::path::Path;

use crate::run::{Run, longshore_in};

/// A database with two tables and a backup of it.
fn made(directory: &Path) {
    let made = longshore_in(
        directory,
        &[
            "shop",
            "-c",
            "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT); INSERT INTO t VALUES (1, 'x'), (2, NULL)",
            "-c",
            "BACKUP DATABASE TO 'one'",
            "-c",
            "CREATE TABLE u AS SELECT 7 AS a",
            "-c",
            "BACKUP DATABASE TO 'two' (INCREMENTAL 'one')",
        ],
        "",
    );
    assert_eq!(made.status, 0, "{}", made.err);
    let lines: Vec<&str> = made.err.lines().collect();
    assert!(lines[2].starts_with("copied 2 files (") && lines[3] == "BACKUP DATABASE", "{}", made.err);
    assert!(lines[5].starts_with("copied 2 files (") && lines[5].contains(", shared 1 file ("), "{}", made.err);
}

fn lines(run: &Run) -> Vec<&str> {
    run.out.lines().collect()
}

#[test]
fn a_backup_is_a_database() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path();
    made(path);
    let read = longshore_in(path, &["one", "--read-only", "--format", "csv", "-c", "SELECT count(*) AS n FROM t"], "");
    assert_eq!((read.status, read.out.as_str()), (0, "n\n2\n"), "{}", read.err);
    let check = longshore_in(path, &["check", "two"], "");
    let sound = "two is sound: 2 tables with 3 rows, 2 block files, 0 transactions in the log\n";
    assert_eq!((check.status, check.out.as_str()), (0, sound), "{}", check.err);
    fs::remove_dir_all(path.join("one")).expect("it is there");
    let written = longshore_in(path, &["two", "-c", "INSERT INTO t VALUES (3, 'y')"], "");
    assert_eq!((written.status, written.err.as_str()), (0, "INSERT 0 1\n"));
    let refused = longshore_in(path, &["shop", "-c", "BACKUP DATABASE TO 'two'"], "");
    assert!(refused.status == 1 && refused.err.contains("there is a database already"), "{}", refused.err);
    // What is left of one that was cut short.
    fs::create_dir(path.join("cut")).expect("it can be made");
    fs::write(path.join("cut").join("incomplete_backup"), b"").expect("it can be written");
    for args in [&["cut", "-c", "SELECT 1"][..], &["cut", "--read-only", "-c", "SELECT 1"], &["check", "cut"]] {
        let refused = longshore_in(path, args, "");
        assert!(refused.status == 1 && refused.err.contains("was cut short; write it again"), "{}", refused.err);
    }
    let again = longshore_in(path, &["shop", "-c", "BACKUP DATABASE TO 'cut'"], "");
    assert_eq!(again.status, 0, "{}", again.err);
    assert_eq!(longshore_in(path, &["check", "cut"], "").status, 0);
    // In memory there is nothing to copy, and directories with other things are left as they are.
    let memory = longshore_in(path, &["-c", "BACKUP DATABASE TO 'memory'"], "");
    assert!(memory.status == 1 && memory.err.contains("use EXPORT DATABASE"), "{}", memory.err);
    fs::create_dir(path.join("other")).expect("it can be made");
    fs::write(path.join("other").join("file"), b"").expect("it can be written");
    assert_eq!(longshore_in(path, &["other", "-c", "SELECT 1"], "").status, 1);
    assert_eq!(longshore_in(path, &["shop", "-c", "BACKUP DATABASE TO 'other'"], "").status, 1);
    assert_eq!(fs::read_dir(path.join("other")).expect("it can be read").count(), 1);
}

#[test]
fn damage_is_listed() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path();
    made(path);
    let before: Vec<_> = all_files(path);
    assert_eq!(longshore_in(path, &["check", "shop"], "").status, 0);
    assert_eq!(all_files(path), before, "nothing is written");
    let block = path.join("one").join("blocks").join("0000000000000000.blocks");
    let mut bytes = fs::read(&block).expect("it is there");
    *bytes.last_mut().expect("it is not empty") ^= 1;
    fs::write(&block, bytes).expect("it can be written");
    let check = longshore_in(path, &["check", "one"], "");
    assert_eq!(check.status, 1);
    let [damage, table] = lines(&check)[..] else { panic!("{}", check.out) };
    assert!(damage.starts_with("one/blocks/0000000000000000.blocks: offset 40 (t, rows 0 to 65535): "), "{damage}");
    assert_eq!(table, "table t: 1 chunk is missing, with the rows 0 to 65535");
    assert!(check.err.starts_with("error: one: 2 problems; restore a backup"), "{}", check.err);
    // It is shared.
    let check = longshore_in(path, &["check", "two"], "");
    assert_eq!(lines(&check).len(), 2, "{}", check.out);
    let strict = longshore_in(path, &["two", "--read-only", "-c", "SELECT 1"], "");
    assert!(strict.status == 1 && strict.err.contains("the checksum does not match"), "{}", strict.err);
    let count = "SELECT (SELECT count(*) FROM t) AS t, (SELECT count(*) FROM u) AS u";
    let read = longshore_in(path, &["two", "--read-only", "--skip-damaged", "--format", "csv", "-c", count], "");
    assert_eq!((read.status, read.out.as_str()), (0, "t,u\n0,1\n"), "{}", read.err);
    assert!(read.err.contains("warning: table t: 1 chunk is missing"), "{}", read.err);
    let missing = longshore_in(path, &["check", "three"], "");
    assert!(missing.status == 1 && missing.err.contains("there is no database"), "{}", missing.err);
}

/// The paths and bytes of all files.
fn all_files(path: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(path).expect("it can be read") {
        let path = entry.expect("it can be read").path();
        if path.is_dir() {
            files.extend(all_files(&path));
        } else {
            let bytes = fs::read(&path).expect("it can be read");
            files.push((path, bytes));
        }
    }
    files.sort();
    files
}

#[test]
fn the_log_is_printed() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path();
    made(path);
    let log = longshore_in(path, &["log", "shop"], "");
    assert_eq!(log.status, 0, "{}", log.err);
    let lines = lines(&log);
    assert!(lines[0].starts_with("0/00000010 to 0/000000"), "{}", log.out);
    assert!(lines.contains(&"    t (relation 1): insert row 0:0: a = 1, b = 'x'"), "{}", log.out);
    assert!(lines[lines.len() - 1].starts_with("-- the log ends at 0/000"), "{}", log.out);
    let from = lines.iter().rev().find(|line| line.starts_with("0/")).expect("a record");
    let from = &from[..from.find(' ').expect("a position")];
    let later = longshore_in(path, &["log", "shop", "--from", from], "");
    assert!(later.out.starts_with(from) && log.out.ends_with(&later.out), "{}", later.out);
    let refused = longshore_in(path, &["log", "shop", "--from", "here"], "");
    assert!(refused.status == 1 && refused.err.contains("'here' is not a position of the log"), "{}", refused.err);
    let missing = longshore_in(path, &["log", "other"], "");
    assert!(missing.status == 1 && missing.err.contains("there is no database"), "{}", missing.err);
}
