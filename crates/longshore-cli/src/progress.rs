//! Shows how far a statement is, on standard error and only if that is a terminal.
//!
//! A thread reads the counters of the statement ten times a second; the statement knows nothing of it. Statements
//! that end within [`QUIET`] show nothing.

use std::io::IsTerminal as _;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use longshore_engine::{Control, Progress};

use crate::human;

/// Time before anything is shown.
const QUIET: Duration = Duration::from_millis(250);
/// Time between two looks at the counters.
const INTERVAL: Duration = Duration::from_millis(100);

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
struct Bar {
    line: ProgressBar,
    started: Instant,
    /// Counters fall when a statement turns to its next file; the rates start anew then.
    bytes_before: u64,
    total_known: bool,
}

impl Bar {
    fn new(label: &str, started: Instant) -> Self {
        let line = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr())
            .with_style(style(false))
            .with_prefix(label.to_owned());
        Self { line, started, bytes_before: 0, total_known: false }
    }

    fn show(&mut self, progress: &Progress) {
        let (total, done, rows) = (progress.bytes_total(), progress.bytes_done(), progress.rows());
        if done < self.bytes_before {
            self.started = Instant::now();
        }
        self.bytes_before = done;
        if self.total_known != (total > 0) {
            self.total_known = total > 0;
            self.line.set_style(style(self.total_known));
        }
        if self.total_known {
            self.line.set_length(total);
            self.line.set_position(done.min(total));
        }
        self.line.set_message(message(total, done, rows, self.started.elapsed()));
        self.line.tick();
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.line.finish_and_clear();
    }
}

fn style(total_known: bool) -> ProgressStyle {
    let template = if total_known { "{prefix:10} [{bar:24}] {msg}" } else { "{prefix:10} {spinner} {msg}" };
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> ")
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
    fn without_a_terminal_there_is_no_display() {
        let mut display = Display::start("test", Arc::new(Control::new()));
        display.stop();
    }
}
