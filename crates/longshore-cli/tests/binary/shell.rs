//! The shell on a pseudo-terminal.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::run::command;

const PROMPT: &str = "longshore=> ";
/// Shows some lines, and waits for Enter.
const PAGER: &str = "head -n 30; echo PAGED; read answer < /dev/tty";
const PATIENCE: Duration = Duration::from_mins(1);

/// A shell and the terminal it runs on.
struct Terminal {
    child: Child,
    keyboard: File,
    screen: Receiver<Vec<u8>>,
    /// What was shown and not yet waited for.
    shown: String,
}

impl Terminal {
    fn open(directory: &Path) -> Self {
        let (mut master, mut slave) = (-1, -1);
        let size = libc::winsize { ws_row: 40, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
        // SAFETY: both descriptors are written by the call, `size` is only read, and no name is asked for.
        let result = unsafe {
            libc::openpty(&raw mut master, &raw mut slave, std::ptr::null_mut(), std::ptr::null(), &raw const size)
        };
        assert_eq!(result, 0, "a pseudo-terminal");
        // SAFETY: the call above has opened both descriptors for us alone.
        let (master, slave) = unsafe { (OwnedFd::from_raw_fd(master), OwnedFd::from_raw_fd(slave)) };
        let stdio = || Stdio::from(slave.try_clone().expect("a descriptor"));
        let mut command = command(directory);
        for name in ["LONGSHORE_PAGER", "NO_COLOR", "LONGSHORERC"] {
            command.env_remove(name);
        }
        command.env("PAGER", PAGER);
        command.env("HOME", directory).env("TERM", "xterm").stdin(stdio()).stdout(stdio()).stderr(stdio());
        // SAFETY: between fork and exec only these two system calls run, which are safe there.
        unsafe {
            command.pre_exec(|| {
                if libc::setsid() < 0 || libc::ioctl(0, libc::TIOCSCTTY, 0) < 0 {
                    return Err(std::io::Error::last_os_error());
                }
                Ok(())
            });
        }
        let child = command.spawn().expect("the binary starts");
        drop(command);
        drop(slave);
        let mut reader = File::from(master.try_clone().expect("a descriptor"));
        let (send, screen) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = reader.read(&mut buffer) {
                if send.send(buffer[..length].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { child, keyboard: File::from(master), screen, shown: String::new() }
    }

    fn type_in(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("the terminal takes keys");
    }

    /// Waits until `text` is shown; returns what was shown up to its end since the last call.
    fn wait_for(&mut self, text: &str) -> String {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(start) = self.shown.find(text) {
                let rest = self.shown.split_off(start + text.len());
                return std::mem::replace(&mut self.shown, rest);
            }
            match self.screen.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(bytes) => self.shown.push_str(&String::from_utf8_lossy(&bytes)),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    panic!("{text:?} does not come; shown is {:?}", self.shown)
                }
            }
        }
    }

    /// Types a line; returns what is shown until the next prompt.
    fn enter(&mut self, line: &str) -> String {
        self.type_in(line);
        self.type_in("\r");
        // The echo of the line ends with the line feed that Enter makes; the next prompt comes after the answer.
        self.wait_for("\n") + &self.wait_for(PROMPT)
    }

    fn status(&mut self) -> i32 {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                return status.code().unwrap_or(-1);
            }
            assert!(Instant::now() < until, "the shell does not leave");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It has left already unless the test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_session() {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("s.sql"), "SELECT 41 + 1 AS answer;").expect("a file");
    let mut shell = Terminal::open(directory.path());
    let banner = shell.wait_for(PROMPT);
    assert!(banner.contains("Longshore"), "{banner:?}");
    assert!(banner.contains("in memory and is gone when you leave"), "{banner:?}");

    let shown = shell.enter("CREATE TABLE trips (id INTEGER NOT NULL, city TEXT);");
    assert!(shown.contains("CREATE TABLE\r\n"), "{shown:?}");
    let shown = shell.enter("\\d");
    assert!(shown.contains("trips"), "{shown:?}");
    let shown = shell.enter("\\d trips");
    assert!(shown.contains("city") && shown.contains("INTEGER"), "{shown:?}");
    let shown = shell.enter("\\d+ trips");
    assert!(shown.contains("city") && shown.contains("bytes_if_plain"), "{shown:?}");

    // Enter continues an open statement, and the prompt says so.
    shell.type_in("SELECT count(*)\r");
    shell.wait_for("longshore-> ");
    shell.type_in("AS lines\r");
    shell.wait_for("longshore-> ");
    shell.type_in("FROM trips;\r");
    let shown = shell.wait_for("(1 row)");
    assert!(shown.contains(" lines\r\n"), "{shown:?}");
    shell.wait_for(PROMPT);

    let shown = shell.enter("\\timing");
    assert!(shown.contains("Timing is on."), "{shown:?}");
    let shown = shell.enter("\\x");
    assert!(shown.contains("Expanded display is on."), "{shown:?}");
    let shown = shell.enter("\\i s.sql");
    assert!(shown.contains("answer | 42") && shown.contains("Time: "), "{shown:?}");
    // Help is longer than the screen.
    shell.type_in("\\?\r");
    let shown = shell.wait_for("PAGED");
    assert!(shown.contains("\\timing [on|off]"), "{shown:?}");
    shell.type_in("\r");
    shell.wait_for(PROMPT);

    // Errors do not end a session.
    let shown = shell.enter("SELECT * FROM missing;");
    assert!(shown.contains("error: "), "{shown:?}");
    let shown = shell.enter("\\nonsense");
    assert!(shown.contains("not a meta-command"), "{shown:?}");

    // Tab completes names.
    let shown = shell.enter("SELECT * FROM tri\t;");
    assert!(shown.contains("trips"), "{shown:?}");

    shell.type_in("\\q\r");
    shell.wait_for("The database was in memory: 1 table gone with the shell.");
    assert_eq!(shell.status(), 0);
    let history = std::fs::read_to_string(directory.path().join("state/longshore/history")).expect("the history");
    assert!(history.contains("CREATE TABLE trips"), "{history}");
}

#[test]
fn control_c_drops_the_input_and_cancels_a_statement() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut shell = Terminal::open(directory.path());
    shell.wait_for(PROMPT);
    shell.type_in("SELECT '\r");
    shell.wait_for("longshore'> ");
    shell.type_in("nonsense");
    shell.wait_for("nonsense");
    shell.type_in("\u{3}");
    shell.wait_for("\n");
    shell.wait_for(PROMPT);
    let shown = shell.enter("SELECT 7 AS seven;");
    assert!(shown.contains("seven") && !shown.contains("error"), "{shown:?}");

    // Far more work than patience.
    shell.type_in(
        "SELECT sum(a.value * b.value) FROM generate_series(1, 10000000) a(value), generate_series(1, 10000000) b(value);\r",
    );
    std::thread::sleep(Duration::from_millis(1500));
    shell.type_in("\u{3}");
    shell.wait_for("cancelled");
    shell.wait_for(PROMPT);
    let shown = shell.enter("SELECT 8 AS eight;");
    assert!(shown.contains("eight"), "{shown:?}");

    // Ctrl-D leaves.
    shell.type_in("\u{4}");
    assert_eq!(shell.status(), 0);
}

#[test]
fn a_history_that_cannot_be_written_does_no_harm() {
    let directory = tempfile::tempdir().expect("a directory");
    // A file stands where the directory should be.
    std::fs::write(directory.path().join("state"), "").expect("a file");
    let mut shell = Terminal::open(directory.path());
    shell.wait_for(PROMPT);
    let shown = shell.enter("SELECT 7 AS seven;");
    assert!(shown.contains("seven"), "{shown:?}");
    shell.type_in("\\q\r");
    assert_eq!(shell.status(), 0);
}

#[test]
fn the_prompt_shows_the_transaction() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut shell = Terminal::open(directory.path());
    shell.wait_for(PROMPT);
    shell.type_in("BEGIN;\r");
    shell.wait_for("longshore=*> ");
    shell.type_in("SELECT (\r");
    shell.wait_for("longshore(*> ");
    shell.type_in("1);\r");
    shell.wait_for("longshore=*> ");
    shell.type_in("SELECT 1 / 0;\r");
    shell.wait_for("longshore=!> ");
    shell.type_in("ROLLBACK;\r");
    shell.wait_for(PROMPT);
    let shown = shell.enter("help");
    assert!(shown.contains("\\? lists the commands"), "{shown:?}");
    shell.type_in("exit\r");
    assert_eq!(shell.status(), 0);
}

#[test]
fn results_that_are_long_or_wide_are_shown_so_that_they_can_be_read() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut shell = Terminal::open(directory.path());
    shell.wait_for(PROMPT);
    // NULL is set apart.
    let shown = shell.enter("SELECT NULL AS a, 'NULL' AS b;");
    assert!(shown.contains("\u{1b}[2mNULL\u{1b}[0m | NULL"), "{shown:?}");
    // More rows than the terminal has lines.
    shell.type_in("SELECT * FROM generate_series(1, 1000000);\r");
    shell.wait_for("PAGED");
    shell.type_in("\r");
    shell.wait_for(PROMPT);
    // Wider than the terminal.
    let shown = shell.enter("SELECT repeat('a', 60) AS one, repeat('b', 60) AS two;");
    assert!(shown.contains("-[ RECORD 1 ]"), "{shown:?}");
    // A long value.
    shell.enter("\\pset pager off");
    let shown = shell.enter("SELECT repeat('a', 5000) AS long;");
    assert!(shown.contains("… (5000 characters)"), "{shown:?}");
    let shown = shell.enter("SELECT * FROM generate_series(1, 50);");
    assert!(shown.contains("(50 rows)"), "{shown:?}");
    shell.type_in("quit;\r");
    assert_eq!(shell.status(), 0);
}

#[test]
fn the_file_of_the_user_is_run_first() {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join(".longshorerc"), "\\set QUIET on\n\\set hello 'good day'\n\\timing on\n")
        .expect("a file");
    let mut shell = Terminal::open(directory.path());
    shell.wait_for(PROMPT);
    let shown = shell.enter("SELECT :'hello' AS h;");
    assert!(shown.contains("good day") && shown.contains("Time: "), "{shown:?}");
    shell.type_in("\\q\r");
    assert_eq!(shell.status(), 0);
}

#[test]
fn data_are_typed() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut shell = Terminal::open(directory.path());
    shell.wait_for(PROMPT);
    shell.enter("CREATE TABLE t (a INTEGER);");
    shell.type_in("COPY t FROM STDIN;\r");
    shell.wait_for(">> ");
    shell.type_in("1\r");
    shell.wait_for(">> ");
    shell.type_in("2\r");
    shell.wait_for(">> ");
    shell.type_in("\\.\r");
    shell.wait_for("COPY 2");
    shell.wait_for(PROMPT);
    let shown = shell.enter("SELECT sum(a) AS total FROM t;");
    assert!(shown.contains("     3\r\n"), "{shown:?}");
    shell.type_in("\\q\r");
    assert_eq!(shell.status(), 0);
}
