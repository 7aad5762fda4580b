//! The memory limit, held against what the system says the process has taken.

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::Path;
use std::process::Stdio;

use crate::run::command;

const MIB: usize = 1 << 20;
/// What the process may take beside a tenth more than the limit, and beside what it takes for nothing: a development
/// build is large.
const BESIDE_BYTES: usize = 64 * MIB;

/// What a run took and said.
struct Run {
    peak_bytes: usize,
    succeeded: bool,
    out: String,
    err: String,
}

/// Runs `sql` in `directory` under a limit of `limit` MiB.
#[expect(clippy::zombie_processes, reason = "`wait4` waits for it, and says what it took")]
fn under(limit: usize, directory: &Path, sql: &str) -> Run {
    let mut child = command(directory)
        .args(["--format", "csv", "--threads", "2", "--memory-limit", &format!("{limit}MiB"), "-c", sql])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let (mut stdout, mut stderr) = (child.stdout.take().expect("a pipe"), child.stderr.take().expect("a pipe"));
    let err = std::thread::spawn(move || {
        let mut err = String::new();
        stderr.read_to_string(&mut err).expect("UTF-8");
        err
    });
    let mut out = String::new();
    stdout.read_to_string(&mut out).expect("UTF-8");
    let (mut status, pid) = (0, libc::pid_t::try_from(child.id()).expect("a process id"));
    // SAFETY: `rusage` is plain integers, for which zero is a value; both pointers are to locals, and nobody else waits
    // for the child.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::wait4(pid, &raw mut status, 0, &raw mut usage), pid);
        usage
    };
    Run {
        peak_bytes: usize::try_from(usage.ru_maxrss).expect("a size") << 10,
        succeeded: libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0,
        out,
        err: err.join().expect("the thread reads"),
    }
}

impl Run {
    #[track_caller]
    fn within(self, limit: usize, idle_bytes: usize) -> Self {
        let most = limit * MIB + limit * MIB / 10 + BESIDE_BYTES + idle_bytes;
        assert!(self.peak_bytes <= most, "{} MiB at a limit of {limit} MiB\n{}", self.peak_bytes / MIB, self.err);
        self
    }

    #[track_caller]
    fn gives(self, out: &str) {
        assert!(self.succeeded, "{}", self.err);
        assert_eq!(self.out.trim(), out);
    }
}

/// A file of `rows` lines: a key without repetition in no order, a key of few values, and a text of 60 bytes.
fn text(directory: &Path, rows: usize) {
    let mut text = String::from("id,few,note\n");
    for row in 0..rows {
        let key = row * 7_919 % rows;
        let _ = writeln!(
            text,
            "{key},{},{:016x} is the text of row {key:020} here",
            row % 1000,
            key.wrapping_mul(0x9e37_79b9_7f4a_7c15)
        );
    }
    std::fs::write(directory.join("rows.csv"), text).expect("the file is written");
}

#[test]
fn what_is_more_than_fits_spills_and_finishes_within_the_limit() {
    const ROWS: usize = 1_499_977;
    let directory = tempfile::tempdir().expect("a temporary directory");
    text(directory.path(), ROWS);
    let limit = 64;
    let idle_bytes = under(limit, directory.path(), "SELECT 1").peak_bytes;
    let run = |sql: &str| under(limit, directory.path(), sql).within(limit, idle_bytes);
    let sorted = run("COPY (SELECT * FROM 'rows.csv' ORDER BY note, id) TO 'sorted.csv'");
    assert!(sorted.succeeded, "{}", sorted.err);
    if longshore_testing::parts() > 1 {
        return;
    }
    run("SELECT count(*) AS n FROM (SELECT note, count(*) FROM 'rows.csv' GROUP BY note)").gives(&format!("n\n{ROWS}"));
    run("SELECT count(DISTINCT note) AS n FROM 'rows.csv'").gives(&format!("n\n{ROWS}"));
    run("SELECT count(*) AS n FROM 'rows.csv' a JOIN 'rows.csv' b ON a.note = b.note AND a.id = b.id")
        .gives(&format!("n\n{ROWS}"));
    run("SELECT max(r) AS n FROM (SELECT row_number() OVER (PARTITION BY few ORDER BY note) AS r FROM 'rows.csv')")
        .gives("n\n1500");
    run("SELECT max(s) AS n FROM (SELECT count(note) OVER (PARTITION BY few) AS s, note FROM 'rows.csv')")
        .gives("n\n1500");
}
