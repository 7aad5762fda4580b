//! Shows how far a statement is, on standard error and only if that is a terminal.
//!
//! A thread reads the counters of the statement ten times a second; the statement knows nothing of it. Statements
//! that end within [`QUIET`] show nothing.

use std::io::{IsTerminal as _, Write as _};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use console::Term;
use longshore_engine::{Control, Progress};

use crate::human;

/// Time before anything is shown.
const QUIET: Duration = Duration::from_millis(250);
/// Time between two looks at the counters.
const INTERVAL: Duration = Duration::from_millis(100);

/// Characters between the brackets of a bar.
const BAR_WIDTH: usize = 24;
/// Cells that stay free for what a terminal shows of Ctrl-C.
const CONTROL_C_WIDTH: usize = 3;
/// What turns where the end is not known.
const SPINNER: [&str; 4] = ["|", "/", "-", "\\"];
/// Goes to the first column, and takes the line away.
const CLEAR_LINE: &str = "\r\u{1b}[2K";

/// Where counters come from.
pub(crate) trait Counters: Send + Sync + 'static {
    /// The counters.
    fn progress(&self) -> &Progress;
}

impl Counters for Control {
    fn progress(&self) -> &Progress {
        &self.progress
    }
}

impl Counters for Progress {
    fn progress(&self) -> &Progress {
        self
    }
}

/// A progress display; it goes when this is dropped.
#[derive(Debug, Default)]
pub(crate) struct Display {
    running: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Display {
    /// Shows `counters` under `label`, if standard error is a terminal.
    pub(crate) fn start<C: Counters>(label: &str, counters: Arc<C>) -> Self {
        if !std::io::stderr().is_terminal() {
            return Self::default();
        }
        let label = label.to_owned();
        let (stop, stopped) = channel();
        let started = Instant::now();
        let thread = std::thread::Builder::new().name(String::from("progress")).spawn(move || {
            if stopped.recv_timeout(QUIET) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let mut bar = Bar::new(&label, started);
            loop {
                bar.show(counters.progress());
                if stopped.recv_timeout(INTERVAL) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
            }
        });
        // Without a thread there is no display; the statement does not suffer.
        Self { running: thread.ok().map(|thread| (stop, thread)) }
    }

    /// Takes the display away before something else is written.
    pub(crate) fn stop(&mut self) {
        if let Some((stop, thread)) = self.running.take() {
            drop(stop);
            // A panic of the display has been reported by the thread itself.
            let _ = thread.join();
        }
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The line on the terminal.
///
/// It is no longer than what it says, so that the `^C` that a terminal shows behind it does not begin another line, which would
/// stay.
struct Bar {
    label: String,
    started: Instant,
    /// Counters fall when a statement turns to its next file; the rates start anew then.
    bytes_before: u64,
    /// How often it was shown.
    shown: usize,
}

impl Bar {
    fn new(label: &str, started: Instant) -> Self {
        Self { label: label.to_owned(), started, bytes_before: 0, shown: 0 }
    }

    fn show(&mut self, progress: &Progress) {
        let (total, done, rows) = (progress.bytes_total(), progress.bytes_done(), progress.rows());
        if done < self.bytes_before {
            self.started = Instant::now();
        }
        self.bytes_before = done;
        let sign = if total > 0 { bar(done, total) } else { SPINNER[self.shown % SPINNER.len()].to_owned() };
        self.shown += 1;
        let text = format!("{:10} {sign} {}", self.label, message(total, done, rows, self.started.elapsed()));
        let width = usize::from(Term::stderr().size().1).saturating_sub(CONTROL_C_WIDTH);
        let line: String = text.chars().take(width).collect();
        // If standard error is closed, nobody wants to know.
        let _ = write!(std::io::stderr(), "{CLEAR_LINE}{line}");
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        let _ = write!(std::io::stderr(), "{CLEAR_LINE}");
    }
}

/// `[====>   ]`
fn bar(done: u64, total: u64) -> String {
    let filled = (done.min(total) as f64 / total as f64 * BAR_WIDTH as f64) as usize;
    let head = if filled < BAR_WIDTH { ">" } else { "" };
    let line = "=".repeat(filled) + head;
    format!("[{line:BAR_WIDTH$}]")
}

/// The counters in words: `412 MB of 760 MB, 2.51 GB/s, 20.1 M rows/s, 0:00 left`.
fn message(total: u64, done: u64, rows: u64, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64();
    let mut parts = Vec::new();
    if total > 0 {
        parts.push(format!("{} of {}", human::bytes(done), human::bytes(total)));
    } else if done > 0 {
        parts.push(human::bytes(done));
    }
    if done > 0 {
        parts.push(human::rate(done, seconds));
    }
    if rows > 0 {
        parts.push(human::row_rate(rows, seconds));
    }
    if total > 0 && done > 0 {
        let left = total.saturating_sub(done) as f64 / done as f64 * seconds;
        // A display that runs for years needs no exact end.
        let left = Duration::from_secs_f64(left.min(1e9));
        parts.push(format!("{} left", human::remaining(left)));
    } else {
        parts.push(human::remaining(elapsed));
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_say_what_is_known() {
        let second = Duration::from_secs(1);
        assert_eq!(
            message(4_000_000_000, 1_000_000_000, 8_000_000, second),
            "1.00 GB of 4.00 GB, 1.00 GB/s, 8.00 M rows/s, 0:03 left"
        );
        assert_eq!(message(0, 0, 0, second), "0:01");
        assert_eq!(message(100, 0, 0, second), "0 B of 100 B, 0:01");
    }

    #[test]
    fn bars_fill() {
        assert_eq!(bar(0, 100), format!("[>{}]", " ".repeat(23)));
        assert_eq!(bar(50, 100), format!("[{}>{}]", "=".repeat(12), " ".repeat(11)));
        assert_eq!(bar(200, 100), format!("[{}]", "=".repeat(24)));
    }

    #[test]
    fn without_a_terminal_there_is_no_display() {
        let mut display = Display::start("test", Arc::new(Control::new()));
        display.stop();
    }
}
