//! The process lives: what a statement or a script does ends neither it nor its tables.

use std::fs;
use std::time::{Duration, Instant};

use crate::run::{Run, command, longshore_in};

/// Runs a script in `directory`; failures of statements do not end it.
fn script(directory: &std::path::Path, text: &str) -> Run {
    longshore_in(directory, &["--threads", "2", "--format", "csv", "--memory-limit", "300MiB"], text)
}

#[test]
fn scripts_that_include_themselves_end_with_an_error() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let at = |name: &str| directory.path().join(name);
    fs::write(at("own.sql"), "SELECT 1 AS a;\n\\i own.sql\n").expect("written");
    fs::write(at("one.sql"), "\\i two.sql\n").expect("written");
    fs::write(at("two.sql"), "\\i one.sql\n").expect("written");
    for name in ["own.sql", "one.sql"] {
        let run = longshore_in(directory.path(), &["-f", name], "");
        assert_eq!(run.status, 1, "{}", run.err);
        assert!(run.err.contains("include each other more than 64 deep"), "{}", run.err);
    }
    // As deep as may be.
    for level in 0..63 {
        fs::write(at(&format!("{level}.sql")), format!("\\i {}.sql\n", level + 1)).expect("written");
    }
    fs::write(at("63.sql"), "SELECT 'the end' AS a;\n").expect("written");
    let run = longshore_in(directory.path(), &["-f", "0.sql"], "");
    assert_eq!(run.status, 0, "{}", run.err);
    assert!(run.out.contains("the end"), "{}", run.out);
}

#[test]
fn spill_files_have_no_name() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let spilled = directory.path().join("spilled");
    fs::create_dir(&spilled).expect("made");
    let sort = "COPY (SELECT x, repeat('a text', 10) AS s FROM generate_series(1, 5000000) AS g(x) ORDER BY x % 1000, x) \
                TO '/dev/null'";
    let run = |sql: &str| {
        let mut command = command(directory.path());
        command.args(["--threads", "2", "--memory-limit", "64MiB", "-c", sql]).env("TMPDIR", &spilled);
        command.stdin(std::process::Stdio::null());
        command
    };
    let left = || fs::read_dir(&spilled).expect("the folder").count();
    // Statements that succeed, and that fail after they have spilled.
    assert!(run(sort).status().expect("it runs").success());
    assert_eq!(left(), 0);
    let fails = sort.replace("SELECT x,", "SELECT 1 / (x - 4999999) AS y, x,");
    assert!(!run(&fails).status().expect("it runs").success());
    assert_eq!(left(), 0);
    // A process that is killed while it spills.
    let mut child = run(sort).spawn().expect("it starts");
    let open = format!("/proc/{}/fd", child.id());
    let begun = Instant::now();
    loop {
        let spills = fs::read_dir(&open)
            .into_iter()
            .flatten()
            .flatten()
            .any(|file| fs::read_link(file.path()).is_ok_and(|path| path.starts_with(&spilled)));
        if spills {
            break;
        }
        assert!(begun.elapsed() < Duration::from_mins(1), "it does not spill");
        assert!(child.try_wait().expect("a child").is_none(), "it has ended without spilling");
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().expect("killed");
    child.wait().expect("ended");
    assert_eq!(left(), 0);
}

#[test]
fn allocations_that_a_statement_asks_for_are_refused() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for (sql, part) in [
        ("SELECT repeat('a', 2000000000)", "a value may have"),
        ("SELECT length(repeat('a', 900000000))", "beyond the memory limit of 300.0 MiB"),
        ("SELECT array_repeat(1, 1000000000)", "a value may have"),
        ("SELECT lpad('a', 2000000000, 'xy')", "a value may have"),
        ("SELECT generate_series(1, 1000000000000)", "a value may have"),
        ("SELECT range(1, 9000000000000000000)", "a value may have"),
        ("SELECT replace(repeat('a', 1000000), 'a', repeat('b', 1000000))", "a value may have"),
        (
            "SELECT sum(length(repeat('a', x::int))) FROM generate_series(200000, 210000) AS g(x)",
            "beyond the memory limit",
        ),
        (
            "SELECT cardinality(array_agg(repeat('ab', 1000) || x)) FROM generate_series(1, 1000000) AS g(x)",
            "memory limit",
        ),
        ("SELECT length(string_agg(repeat('ab', 1000), ',')) FROM generate_series(1, 1000000)", "memory limit"),
    ] {
        let run = script(directory.path(), &format!("{sql};\n"));
        assert_eq!(run.status, 1, "{sql}: {}{}", run.out, run.err);
        assert!(run.err.contains(part), "{sql}: {}", run.err);
    }
    for (sql, result) in [
        ("SELECT length(repeat('a', 100000000)) AS n", "n\n100000000\n"),
        ("SELECT length(lpad('a', 1000, 'xy')) AS n", "n\n1000\n"),
        ("SELECT cardinality(array_agg(i)) AS n FROM generate_series(1, 100000) AS g(i)", "n\n100000\n"),
    ] {
        let run = script(directory.path(), &format!("{sql};\n"));
        assert_eq!((run.out.as_str(), run.status), (result, 0), "{sql}: {}", run.err);
    }
}
