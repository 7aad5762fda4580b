//! The demonstration, end to end at a small scale.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use crate::run::{command, longshore_in};

#[test]
fn the_demo_proves_that_nothing_was_lost() {
    let directory = tempfile::tempdir().expect("a directory");
    let args = ["demo", "--scale", "0.01", "--dir", "tpch", "--keep"];
    let run = longshore_in(directory.path(), &args, "");
    assert_eq!(run.status, 0, "{}\n{}", run.out, run.err);
    assert_eq!(run.err, "");
    for part in [
        "\nGenerate\n",
        "\nLoad\n",
        "  lineitem ",
        "60,175",
        " bytes per byte of text, and would take ",
        " if plain\n",
        "\nWork: the 22 queries\n",
        "  Q22 ",
        "global sales opportunity",
        "\nUnload\n",
        "  native ",
        "  csv ",
        "\nLoad again, into the memory that the tables had\n",
        "\nReload the native copy",
        "proved: all 8 tables came back as they went out, 86,805 rows",
        "\nSummary\n",
        "  load again ",
        "  unload native ",
        "  reload native ",
    ] {
        assert!(run.out.contains(part), "{part} in\n{}", run.out);
    }
    let kept = directory.path().join("tpch");
    assert!(kept.join("lineitem.tbl").is_file());
    assert!(kept.join("unloaded-native").is_dir());
    assert!(kept.join("unloaded-csv").is_dir());

    // The second run finds the text, and cleans up what it unloads.
    let run = longshore_in(directory.path(), &args[..5], "");
    assert_eq!(run.status, 0, "{}\n{}", run.out, run.err);
    assert!(run.out.contains("the text is there already"), "{}", run.out);
    assert!(kept.join("lineitem.tbl").is_file());
    assert!(!kept.join("unloaded-native").exists());
}

#[test]
fn a_temporary_directory_is_removed() {
    let directory = tempfile::tempdir().expect("a directory");
    let output = command(directory.path())
        .env("TMPDIR", directory.path())
        .args(["demo", "--scale", "0.001", "--threads", "1"])
        .output()
        .expect("the binary runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let left: Vec<_> = fs::read_dir(directory.path()).expect("the directory").collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn an_interruption_leaves_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut child = command(directory.path())
        .env("TMPDIR", directory.path())
        .args(["demo", "--scale", "0.1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    // The first line comes when the directory is there and signals are heard.
    let mut first = String::new();
    let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
    out.read_line(&mut first).expect("a line");
    assert!(first.starts_with("Longshore"), "{first}");
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
    assert!(killed.success());
    let output = child.wait_with_output().expect("the binary ends");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "error: interrupted\n");
    assert_eq!(output.status.code(), Some(130));
    let left: Vec<_> = fs::read_dir(directory.path()).expect("the directory").collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_full_disk_is_told_before_it_is_full() {
    let directory = tempfile::tempdir().expect("a directory");
    let run = longshore_in(directory.path(), &["demo", "--scale", "10000", "--dir", "x"], "");
    assert_eq!(run.status, 1);
    assert!(run.err.contains("--dir") && run.err.contains("free"), "{}", run.err);
}
