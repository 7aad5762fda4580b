//! The failure of an allocation.

use std::error::Error;
use std::fmt;

/// The memory limit does not allow an allocation, or the operating system refused it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutOfMemory {
    /// Bytes asked for.
    pub wanted: usize,
    /// Bytes in use at that moment.
    pub used: usize,
    /// The limit in bytes; `None` when the operating system refused the memory.
    pub limit: Option<usize>,
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OutOfMemory { wanted, used, limit } = *self;
        match limit {
            Some(limit) => write!(
                f,
                "out of memory: {wanted} bytes more are needed, {used} of the allowed {limit} are in use; drop tables or \
                 raise --memory-limit"
            ),
            None => write!(
                f,
                "out of memory: the operating system refused {wanted} bytes beyond the {used} in use; drop tables, free \
                 memory, or set --memory-limit below what the machine has"
            ),
        }
    }
}

impl Error for OutOfMemory {}
