//! Files that are not clean, many, or can be read only once, as the program meets them.

use std::fmt::Write as _;
use std::fs;
use std::process::Stdio;

use crate::run::{Run, command, longshore_in};

/// Runs statements beside these files.
fn beside(files: &[(&str, &str)], args: &[&str], input: &str) -> Run {
    let directory = tempfile::tempdir().expect("a directory");
    for (name, text) in files {
        fs::write(directory.path().join(name), text).expect("written");
    }
    longshore_in(directory.path(), args, input)
}

const RAGGED: &str = "id,n,name\n1,2,a\n2,4\n3,6,c,\n4,8,d\n5,10,e\n6,12,f\n7,14,g\n";

const TOLD: &str = "ragged.csv: 1 record has too few fields; those that lack are NULL (ragged.csv, line 3: \"2,4\"); \
                    1 record has too many fields; those that are too many are empty and were dropped (ragged.csv, line 4: \
                    \"3,6,c,\"); STRICT true refuses such records";

#[test]
fn repairs_are_told_by_every_door() {
    let files = [("ragged.csv", RAGGED)];
    for statement in [
        "SELECT count(*) FROM 'ragged.csv'",
        "SELECT * FROM 'ragged.csv' LIMIT 1",
        "CREATE TABLE t AS FROM 'ragged.csv'",
        "CREATE TABLE t AS SELECT * FROM 'ragged.csv'",
        "COPY t FROM 'ragged.csv' (AUTO)",
        "CREATE TABLE t (id INTEGER, n INTEGER, name TEXT); COPY t FROM 'ragged.csv' (AUTO)",
        "CREATE TABLE t (id INTEGER, n INTEGER, name TEXT); COPY t FROM 'ragged.csv' (AUTO) WHERE id > 0",
        "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER, name TEXT); COPY t FROM 'ragged.csv' (AUTO, MERGE_MODE interleaved)",
        "DESCRIBE 'ragged.csv'",
        "COPY (SELECT * FROM 'ragged.csv') TO STDOUT",
    ] {
        let run = beside(&files, &["-c", statement], "");
        assert_eq!(run.status, 0, "{statement}: {}", run.err);
        assert_eq!(run.err.lines().filter(|line| *line == TOLD).count(), 1, "{statement}: {}", run.err);
    }
    let footer = format!("Report of the year\n\n{}Total: 4\n", RAGGED.replace("3,6,c,\n", ""));
    let run = beside(&[("f.csv", &footer)], &["--format", "csv", "-c", "SELECT id, n FROM 'f.csv'"], "");
    assert_eq!((run.status, run.out.as_str()), (0, "id,n\n1,2\n2,4\n4,8\n5,10\n6,12\n7,14\n"), "{}", run.err);
    for told in [
        "f.csv: lines 1 to 2 were skipped (",
        "; 1 record has too few fields",
        "from line 10 on is no part of the table",
    ] {
        assert!(run.err.contains(told), "{}", run.err);
    }
    let run = beside(&files, &["-c", "SELECT * FROM read_csv('ragged.csv', strict => true)"], "");
    assert_eq!(run.status, 1);
    assert!(
        run.err.contains("ragged.csv: line 3, byte 16: \"2,4\": found 2 fields where 3 are expected"),
        "{}",
        run.err
    );
    let run = beside(&[("clean.csv", "a,b\n1,2\n")], &["-c", "SELECT * FROM 'clean.csv'"], "");
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    let run = beside(&[("empty.csv", "")], &["-c", "SELECT * FROM 'empty.csv'"], "");
    assert_eq!(run.status, 0, "{}", run.err);
    assert!(run.err.contains("empty.csv: it is empty, and was read as a table of one column"), "{}", run.err);
}

#[test]
fn rows_come_in_the_order_of_the_file() {
    let mut text = String::from("id,n,name\n");
    for id in 0..60_000 {
        writeln!(text, "{id},{},name {id}", id % 7).expect("a String takes everything");
    }
    let expected = |keep: &dyn Fn(u32) -> bool, count: usize| -> String {
        let lines = (0..60_000).filter(|id| keep(*id)).take(count);
        lines.fold(String::new(), |mut text, id| {
            writeln!(text, "{id}").expect("a String takes everything");
            text
        })
    };
    let all = usize::MAX;
    for threads in ["1", "2", "7"] {
        for (query, rows) in [
            ("SELECT id FROM 'f.csv'", expected(&|_| true, all)),
            ("SELECT id FROM 'f.csv' WHERE n = 3", expected(&|id| id % 7 == 3, all)),
            ("SELECT id FROM 'f.csv' WHERE name LIKE '%1%' AND length(name) > 5", {
                expected(&|id| id.to_string().contains('1') && id > 0, all)
            }),
            ("SELECT id FROM 'f.csv' WHERE n = 3 LIMIT 5000", expected(&|id| id % 7 == 3, 5000)),
            ("SELECT id FROM 'f.csv' WHERE n = 3 LIMIT 10 OFFSET 4000", {
                expected(&|id| id % 7 == 3 && id > 7 * 4000, 10)
            }),
            ("SELECT id + 0 FROM (SELECT id FROM 'f.csv' LIMIT 50000) AS some", expected(&|_| true, 50_000)),
        ] {
            let statement = format!("COPY ({query}) TO STDOUT");
            let run = beside(&[("f.csv", &text)], &["--threads", threads, "-c", &statement], "");
            assert_eq!(run.status, 0, "{query}: {}", run.err);
            assert!(run.out == rows, "{query} on {threads} threads: {}...", &run.out[..run.out.len().min(200)]);
        }
    }
}

#[test]
fn an_error_comes_in_the_order_of_the_file() {
    let mut text = String::from("id,n\n");
    for id in 0..60_000 {
        writeln!(text, "{id},{}", u8::from(id != 50_000 && id != 55_000)).expect("a String takes everything");
    }
    for threads in ["1", "2", "7"] {
        let statement = "COPY (SELECT id / n FROM 'f.csv') TO STDOUT";
        let run = beside(&[("f.csv", &text)], &["--threads", threads, "-c", statement], "");
        assert!(run.status != 0 && run.err.to_lowercase().contains("zero"), "{}", run.err);
    }
}

#[test]
fn thousands_of_files_take_few_descriptors() {
    let directory = tempfile::tempdir().expect("a directory");
    for file in 0..1_300 {
        fs::write(directory.path().join(format!("f{file:04}.csv")), format!("id,name\n{file},x\n")).expect("written");
    }
    for statement in [
        "SELECT count(*), sum(id) FROM 'f*.csv'",
        "SELECT count(*), sum(id) FROM read_csv('f*.csv', union_by_name => true)",
        "CREATE TABLE t AS FROM 'f*.csv'; SELECT count(*), sum(id) FROM t",
        "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT); COPY t FROM 'f*.csv' (AUTO); SELECT count(*), sum(id) FROM t",
    ] {
        let program = command(directory.path()).get_program().to_owned();
        let run = std::process::Command::new("sh")
            .args(["-c", "ulimit -n 64; exec \"$0\" \"$@\""])
            .arg(program)
            .args(["--threads", "2", "--format", "csv", "-c", statement])
            .current_dir(directory.path())
            .stdin(Stdio::null())
            .output()
            .expect("a shell");
        let err = String::from_utf8_lossy(&run.stderr);
        assert!(String::from_utf8_lossy(&run.stdout).ends_with("1300,844350\n"), "{statement}: {err}");
    }
}

#[test]
fn what_can_be_read_only_once_needs_no_columns() {
    let text = "id,n,name\n1,2,a\n2,4\n3,6,c\n4,8,d\n";
    let query = "SELECT sum(id), count(name) FROM '/dev/stdin'";
    let run = beside(&[], &["--format", "csv", "-c", query], text);
    assert_eq!(run.status, 0, "{}", run.err);
    assert!(run.out.ends_with("10,3\n"), "{}", run.out);
    assert!(run.err.contains("1 record has too few fields"), "{}", run.err);
    let run =
        beside(&[], &["--format", "csv", "-c", "CREATE TABLE t AS FROM '/dev/stdin'; SELECT count(name) FROM t"], text);
    assert!(run.status == 0 && run.out.ends_with("3\n"), "{}", run.err);
}
