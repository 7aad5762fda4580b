//! Where results go: standard output, a file or a program (`\o`).

use std::fs::File;
use std::io::{self, Write};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Where results go; `COPY ... TO STDOUT` writes there as well.
#[derive(Clone, Debug, Default)]
pub(crate) struct Results {
    destination: Arc<Mutex<Destination>>,
    broken: Arc<AtomicBool>,
}

/// Where results may go.
#[derive(Debug, Default)]
pub(super) enum Destination {
    /// Standard output.
    #[default]
    Stdout,
    /// A file.
    File(File),
    /// What reads them as its standard input.
    Program(Child),
}

impl Destination {
    /// What `name` says: a file, `|command`, or nothing for standard output.
    ///
    /// # Errors
    ///
    /// A file that cannot be written, or a program that does not start.
    pub(super) fn open(name: &str) -> io::Result<Self> {
        Ok(match name.strip_prefix('|') {
            Some(command) => Self::Program(program(command).stdin(Stdio::piped()).spawn()?),
            None if name.is_empty() => Self::Stdout,
            None => Self::File(File::create(name)?),
        })
    }

    /// Waits until a program has done with what it was given.
    ///
    /// # Errors
    ///
    /// A program that cannot be waited for.
    pub(super) fn finish(self) -> io::Result<()> {
        if let Self::Program(mut child) = self {
            drop(child.stdin.take());
            child.wait()?;
        }
        Ok(())
    }
}

/// A command of the system's shell.
pub(super) fn program(command: &str) -> Command {
    let mut program = Command::new("sh");
    program.arg("-c").arg(command);
    program
}

impl Results {
    /// Whether the reader of standard output has gone. A statement tells only that it failed.
    pub(super) fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }

    /// Whether they go to standard output.
    pub(super) fn is_stdout(&self) -> bool {
        matches!(*self.lock(), Destination::Stdout)
    }

    /// Sends them elsewhere from now on; returns where they went.
    pub(super) fn replace(&self, destination: Destination) -> Destination {
        std::mem::replace(&mut self.lock(), destination)
    }

    fn lock(&self) -> MutexGuard<'_, Destination> {
        self.destination.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn noted<T>(&self, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result
            && error.kind() == io::ErrorKind::BrokenPipe
        {
            self.broken.store(true, Ordering::Relaxed);
        }
        result
    }
}

impl Write for Results {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut destination = self.lock();
        match &mut *destination {
            Destination::Stdout => {
                drop(destination);
                let result = io::stdout().write(bytes);
                self.noted(result)
            }
            Destination::File(file) => file.write(bytes),
            Destination::Program(child) => match &mut child.stdin {
                // A program that has read enough is no failure.
                Some(stdin) => stdin.write(bytes).or_else(|error| match error.kind() {
                    io::ErrorKind::BrokenPipe => Ok(bytes.len()),
                    _ => Err(error),
                }),
                None => Ok(bytes.len()),
            },
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.is_stdout() {
            let result = io::stdout().flush();
            return self.noted(result);
        }
        Ok(())
    }
}
