//! A script that loads a folder with ONCE is killed at random moments and started again, while files arrive: in the end every
//! row of every file is there once, and `longshore_loads` has the rows of each file.
//!
//! `LONGSHORE_ONCE_KILLS` sets how often it is killed; a usual run does it a dozen times.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use longshore_testing::Random;

use crate::run::{command, longshore_in};

const KILLS: &str = "LONGSHORE_ONCE_KILLS";
const KILLS_USUAL: usize = 12;

/// Files that arrive before each start.
const ARRIVING: usize = 6;
/// Rows of a file, at most.
const ROWS_MAX: usize = 20_000;

/// What is run every night. The folder is loaded in several transactions, so that a kill comes between them as well.
const NIGHTLY: &str = "\
CREATE TABLE IF NOT EXISTS t (number BIGINT, note TEXT);
BEGIN;
COPY t FROM 'inbox/*[02].csv' (HEADER match, ONCE);
COPY t FROM 'inbox/*[024].csv' (HEADER match, ONCE);
COMMIT;
COPY t FROM 'inbox/*[135].csv' (HEADER match, ONCE);
CHECKPOINT;
COPY t FROM 'inbox' (HEADER match, ONCE);
";

/// The files so far: their names with their rows.
#[derive(Default)]
struct Inbox {
    rows: BTreeMap<String, usize>,
    next: usize,
}

impl Inbox {
    /// Lets files arrive, each whole at once.
    fn arrive(&mut self, directory: &Path, random: &mut Random) {
        for _ in 0..ARRIVING {
            let rows = 1 + random.below(ROWS_MAX);
            let mut text = String::from("number,note\n");
            for number in self.next..self.next + rows {
                writeln!(text, "{number},note {}", number % 11).expect("a text takes everything");
            }
            self.next += rows;
            let name = format!("{:04}.csv", self.rows.len());
            let written = directory.join("written");
            fs::write(&written, text).expect("it can be written");
            fs::rename(&written, directory.join("inbox").join(&name)).expect("it can be renamed");
            self.rows.insert(name, rows);
        }
    }
}

/// Whether all rows are there that the ledger has, and none twice.
fn check(directory: &Path, context: &str) {
    let query = "SELECT (SELECT count(*) FROM t) AS rows, (SELECT count(DISTINCT number) FROM t) AS numbers, \
                 (SELECT coalesce(sum(rows), 0) FROM longshore_loads WHERE status = 'loaded') AS loaded, \
                 (SELECT count(*) FROM longshore_loads WHERE status <> 'loaded') AS others";
    let found = longshore_in(directory, &["shop", "--format", "csv", "-c", query], "");
    let numbers = found.out.lines().nth(1).unwrap_or_default();
    let numbers: Vec<&str> = numbers.split(',').collect();
    let [rows, distinct, loaded, others] = numbers.as_slice() else { panic!("{context}: {} {}", found.out, found.err) };
    assert!(rows == distinct && rows == loaded && *others == "0", "{context}: {}", found.out);
}

#[test]
fn a_killed_script_that_is_run_again_loads_all_once() {
    let kills = std::env::var(KILLS).map_or(KILLS_USUAL, |kills| kills.parse().expect("a number"));
    let directory = tempfile::tempdir().expect("a temporary directory");
    let directory = directory.path();
    fs::create_dir(directory.join("inbox")).expect("a directory can be made");
    fs::write(directory.join("nightly.sql"), NIGHTLY).expect("it can be written");
    let (mut inbox, mut random, mut killed) = (Inbox::default(), Random::new(kills as u64), 0);
    // How long a run takes, about; it is found out.
    let (mut starts, mut usual_us) = (0, 100_000);
    while killed < kills {
        starts += 1;
        assert!(starts < 20 * kills, "it was killed {killed} times in {starts} starts");
        inbox.arrive(directory, &mut random);
        let mut child = command(directory)
            .args(["shop", "-f", "nightly.sql"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary starts");
        std::thread::sleep(Duration::from_micros(random.below(usual_us) as u64));
        // Done before it was its turn.
        if let Some(status) = child.try_wait().expect("it can be asked") {
            assert!(status.success(), "kill {killed}");
            usual_us = (usual_us * 3 / 4).max(1000);
            continue;
        }
        child.kill().expect("it runs");
        child.wait().expect("it has ended");
        killed += 1;
        usual_us = usual_us * 9 / 8;
        if killed % 4 == 0 {
            let made =
                longshore_in(directory, &["shop", "-c", "CREATE TABLE IF NOT EXISTS t (number BIGINT, note TEXT)"], "");
            assert_eq!(made.status, 0, "kill {killed}: {}", made.err);
            check(directory, &format!("kill {killed}"));
        }
    }
    let done = longshore_in(directory, &["shop", "-f", "nightly.sql"], "");
    assert_eq!(done.status, 0, "{}", done.err);
    check(directory, "in the end");
    let loaded = "SELECT file, rows FROM longshore_loads ORDER BY file";
    let loaded = longshore_in(directory, &["shop", "--format", "csv", "-c", loaded], "");
    let inbox_path = directory.join("inbox").canonicalize().expect("it is there");
    let mut expected = String::from("file,rows\n");
    for (name, rows) in &inbox.rows {
        writeln!(expected, "{},{rows}", inbox_path.join(name).display()).expect("a text takes everything");
    }
    assert_eq!(loaded.out, expected);
    let count = longshore_in(directory, &["shop", "--format", "csv", "-c", "SELECT count(*) AS n FROM t"], "");
    assert_eq!(count.out, format!("n\n{}\n", inbox.next));
    // Nothing is left to do.
    let again = longshore_in(directory, &["shop", "-c", "COPY t FROM 'inbox' (HEADER match, ONCE)"], "");
    assert!(again.err.contains(&format!("0 files were loaded; {} files were", inbox.rows.len())), "{}", again.err);
    println!("{killed} kills in {starts} starts, {} files", inbox.rows.len());
}
