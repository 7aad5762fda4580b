//! Results that are longer than the terminal go through a pager: the command in `PAGER`, or `less`.
//!
//! What fits the terminal is written there at once. A pager that is left early ends the query, which is no failure.

use std::io::{self, Write};
use std::process::{Child, Command, Stdio};

use super::results::program;
use crate::output::Screen;

/// Shows what is written to it, a screen at a time.
pub(super) struct Pager {
    screen: Screen,
    always: bool,
    state: State,
}

enum State {
    /// All of it may fit the terminal; so many lines of that are full, and so many cells of the next.
    Gathering { text: Vec<u8>, lines: usize, cells: usize },
    /// The pager shows it.
    Showing(Child),
    /// There is no pager, or what it shows was enough.
    Direct { left: bool },
}

impl Pager {
    /// A pager for results that are longer than `screen`, or for all.
    pub(super) fn new(screen: Screen, always: bool) -> Self {
        Self { screen, always, state: State::Gathering { text: Vec::new(), lines: 0, cells: 0 } }
    }

    /// Whether nobody wants to see more.
    pub(super) fn was_left(&self) -> bool {
        matches!(self.state, State::Direct { left: true })
    }

    /// Shows what is held back, and waits until the pager is left.
    ///
    /// # Errors
    ///
    /// A terminal that cannot be written.
    pub(super) fn finish(mut self) -> io::Result<()> {
        if self.always
            && let State::Gathering { .. } = self.state
        {
            self.show()?;
        }
        match self.state {
            State::Gathering { text, .. } => {
                io::stdout().write_all(&text)?;
                io::stdout().flush()
            }
            State::Showing(mut child) => {
                drop(child.stdin.take());
                child.wait().map(|_| ())
            }
            State::Direct { .. } => io::stdout().flush(),
        }
    }

    /// Hands what was gathered to the pager, or to the terminal if there is none.
    fn show(&mut self) -> io::Result<()> {
        let State::Gathering { text, .. } = &mut self.state else { return Ok(()) };
        let text = std::mem::take(text);
        self.state = match start() {
            Some(child) => State::Showing(child),
            None => State::Direct { left: false },
        };
        self.write_all(&text)
    }
}

impl Write for Pager {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.state {
            State::Gathering { text, lines, cells } => {
                text.extend_from_slice(bytes);
                for part in String::from_utf8_lossy(bytes).split_inclusive('\n') {
                    *cells += part.trim_end_matches('\n').chars().count();
                    if part.ends_with('\n') {
                        // A long line takes several of the terminal.
                        *lines += cells.div_ceil(self.screen.width.max(1)).max(1);
                        *cells = 0;
                    }
                }
                if *lines >= self.screen.height {
                    self.show()?;
                }
                Ok(bytes.len())
            }
            State::Showing(child) => match child.stdin.as_mut().map(|stdin| stdin.write(bytes)) {
                Some(Err(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
                    child.wait()?;
                    self.state = State::Direct { left: true };
                    Ok(bytes.len())
                }
                Some(result) => result,
                None => Ok(bytes.len()),
            },
            State::Direct { left: true } => Ok(bytes.len()),
            State::Direct { left: false } => io::stdout().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Starts the pager.
fn start() -> Option<Child> {
    let chosen = ["LONGSHORE_PAGER", "PAGER"].into_iter().find_map(|name| std::env::var(name).ok());
    let mut command = match chosen {
        Some(chosen) if chosen.trim().is_empty() => return None,
        Some(chosen) => program(&chosen),
        None => Command::new("less"),
    };
    if std::env::var_os("LESS").is_none() {
        // Long lines are cut at the edge, colours are shown, and what fits the terminal stays there.
        command.env("LESS", "-SRFX");
    }
    command.stdin(Stdio::piped()).spawn().ok()
}
