//! Decides which operation crashes the machine or fails.

use std::io;

/// How an operation fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// There is no room (`ENOSPC`).
    Full,
    /// The medium does not answer (`EIO`).
    Broken,
}

impl Fault {
    pub(crate) fn error(self) -> io::Error {
        io::Error::from_raw_os_error(match self {
            Fault::Full => 28,
            Fault::Broken => 5,
        })
    }
}

/// What an operation does to the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing: it reads.
    None,
    /// It changes or syncs something: a crash at it differs from one at the next.
    Change,
}

/// What becomes of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    Fails(Fault),
    /// The machine crashes in the middle of it.
    Crashes,
    /// The machine has crashed before.
    Dead,
}

/// Counts operations and knows which are to fail.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults {
    operations: u64,
    changes: u64,
    crash_at: Option<u64>,
    fail_at: Option<(u64, Fault)>,
    /// Whether operations after the one that fails do so as well.
    lasts: bool,
    is_dead: bool,
}

impl Faults {
    pub(crate) fn operations(&self) -> u64 {
        self.operations
    }

    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.is_dead
    }

    pub(crate) fn crash_at(&mut self, change: u64) {
        self.crash_at = Some(change);
    }

    pub(crate) fn fail(&mut self, operation: u64, fault: Fault, lasts: bool) {
        (self.fail_at, self.lasts) = (Some((operation, fault)), lasts);
    }

    pub(crate) fn heal(&mut self) {
        self.fail_at = None;
    }

    /// Counts an operation and says what becomes of it.
    pub(crate) fn next(&mut self, effect: Effect) -> Outcome {
        if self.is_dead {
            return Outcome::Dead;
        }
        let (operation, change) = (self.operations, self.changes);
        self.operations += 1;
        if effect == Effect::Change {
            self.changes += 1;
            if self.crash_at == Some(change) {
                self.is_dead = true;
                return Outcome::Crashes;
            }
        }
        match self.fail_at {
            Some((at, fault)) if operation == at || (self.lasts && operation > at) => Outcome::Fails(fault),
            _ => Outcome::Done,
        }
    }
}
