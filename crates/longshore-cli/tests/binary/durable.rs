//! `longshore DIRECTORY`: what statements did is there for the next process.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Stdio};

use crate::run::{command, longshore_in};

#[test]
fn the_next_process_finds_it() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let made = longshore_in(
        directory.path(),
        &["shop", "-c", "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)", "-c", "INSERT INTO t VALUES (1, 'x')"],
        "",
    );
    assert_eq!((made.status, made.err.as_str()), (0, "CREATE TABLE\nINSERT 0 1\n"));
    let loaded =
        longshore_in(directory.path(), &["shop"], "COPY t FROM STDIN (FORMAT csv);\n2,y\n3,z\n\\.\nCHECKPOINT;\n");
    assert_eq!((loaded.status, loaded.err.as_str()), (0, "COPY 2\nCHECKPOINT\n"));
    let select = ["shop", "--format", "csv", "-c", "SELECT * FROM t ORDER BY a"];
    let expected = "a,b\n1,x\n2,y\n3,z\n";
    assert_eq!(longshore_in(directory.path(), &select, "").out, expected);
    let read = longshore_in(directory.path(), &[&select[..], &["--read-only"]].concat(), "");
    assert_eq!((read.status, read.out.as_str()), (0, expected));
    let refused = longshore_in(directory.path(), &["shop", "--read-only", "-c", "DELETE FROM t"], "");
    assert!(refused.status == 1 && refused.err.contains("read only"), "{}", refused.err);
    let missing = longshore_in(directory.path(), &["other", "--read-only", "-c", "SELECT 1"], "");
    assert!(missing.status == 1 && missing.err.contains("there is no database"), "{}", missing.err);
    let full = longshore_in(directory.path(), &[".", "-c", "SELECT 1"], "");
    assert!(full.status == 1 && full.err.contains("no database can be made here"), "{}", full.err);
}

#[test]
fn options_say_how_it_is_kept() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let show = |options: &[&str]| {
        let statements = ["shop", "--format", "csv", "-c", "SHOW max_wal_size", "-c", "SHOW checkpoint_timeout"];
        let done =
            longshore_in(directory.path(), &[&statements[..], &["-c", "SHOW wal_writer_delay"], options].concat(), "");
        assert_eq!(done.status, 0, "{}", done.err);
        done.out.lines().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(show(&[]), "max_wal_size 1GB checkpoint_timeout 5min wal_writer_delay 200ms");
    let options = ["--max-wal-size", "64MB", "--checkpoint-timeout", "90s", "--wal-writer-delay", "1s"];
    assert_eq!(show(&options), "max_wal_size 64MB checkpoint_timeout 90s wal_writer_delay 1000ms");
    // They are of the process, not of the database.
    assert_eq!(show(&[]), "max_wal_size 1GB checkpoint_timeout 5min wal_writer_delay 200ms");
    for (options, reason) in [
        (&["--max-wal-size", "1GB"][..], "--max-wal-size needs the DIRECTORY"),
        (&["shop", "--max-wal-size", "1kB"], "'1kB' is no size from 2MB on"),
        (&["shop", "--checkpoint-timeout", "soon"], "'soon' is not a time"),
        (&["shop", "--wal-writer-delay", "1min"], "'1min' is not a time from 1ms to 10s"),
        (&["shop", "--read-only", "--wal-writer-delay", "1"], "with --read-only nothing is written"),
    ] {
        let refused = longshore_in(directory.path(), &[options, &["-c", "SELECT 1"]].concat(), "");
        assert!(refused.status == 2 && refused.err.contains(reason), "{options:?}: {} {}", refused.status, refused.err);
    }
}

/// A process that has done a statement, and waits for the next.
fn at_work(directory: &Path) -> Child {
    let mut child = command(directory)
        .args(["shop", "--format", "csv"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary starts");
    let script =
        "CREATE TABLE IF NOT EXISTS t (a INTEGER);\nINSERT INTO t VALUES (7);\nSELECT count(*) AS rows FROM t;\n";
    child.stdin.as_mut().expect("a pipe").write_all(script.as_bytes()).expect("it reads");
    let mut output = BufReader::new(child.stdout.as_mut().expect("a pipe"));
    let mut lines = String::new();
    while !lines.contains("rows\n") || lines.lines().count() < 2 {
        assert_ne!(output.read_line(&mut lines).expect("it writes"), 0, "it has ended: {lines}");
    }
    child
}

#[test]
fn who_holds_it_is_named() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut child = at_work(directory.path());
    let second = longshore_in(directory.path(), &["shop", "-c", "SELECT 1"], "");
    let holder = format!("process {}", child.id());
    assert!(second.status == 1 && second.err.contains(&holder), "{}", second.err);
    let beside =
        longshore_in(directory.path(), &["shop", "--read-only", "--format", "csv", "-c", "SELECT a FROM t"], "");
    assert_eq!((beside.status, beside.out.as_str()), (0, "a\n7\n"));
    drop(child.stdin.take());
    assert!(child.wait().expect("it ends").success());
    assert_eq!(longshore_in(directory.path(), &["shop", "-c", "SELECT 1"], "").status, 0);
}

#[test]
fn a_killed_process_loses_nothing() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for kills in 1..=3 {
        let mut child = at_work(directory.path());
        child.kill().expect("it runs");
        child.wait().expect("it has ended");
        let count =
            longshore_in(directory.path(), &["shop", "--format", "csv", "-c", "SELECT count(*) AS rows FROM t"], "");
        assert_eq!((count.status, count.out), (0, format!("rows\n{kills}\n")), "{}", count.err);
    }
}
