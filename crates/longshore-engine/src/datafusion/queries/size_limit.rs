//! Refuses statements of more values than there is memory to plan.

use datafusion::execution::memory_pool::MemoryLimit;

use super::Queries;
use crate::datafusion::execution::memory::machine_bytes_left;
use crate::{Error, ErrorKind};

/// Values in the text of a statement from which on it is asked whether there is memory to plan them.
const VALUES_MIN: usize = 50_000;
/// Memory that the planner takes for a value: 1.2 KB were seen in IN, and 1.4 KB in VALUES.
const BYTES_PER_VALUE: usize = 1400;

impl Queries {
    /// Refuses a statement of more values than there is memory to plan.
    ///
    /// # Errors
    /// [`ErrorKind::Memory`].
    pub(crate) fn check_values(&self, sql: &str) -> Result<(), Error> {
        // Each takes two bytes at least.
        if sql.len() < 2 * VALUES_MIN {
            return Ok(());
        }
        let values = values(sql);
        if values < VALUES_MIN {
            return Ok(());
        }
        let wanted = values.saturating_mul(BYTES_PER_VALUE);
        let pool = &self.state.runtime_env().memory_pool;
        let (left, whose) = match pool.memory_limit() {
            MemoryLimit::Finite(limit) => {
                (limit.saturating_sub(self.files.memory.used() + pool.reserved()), "within --memory-limit")
            }
            _ => (machine_bytes_left().unwrap_or(usize::MAX), "on this machine"),
        };
        if wanted <= left {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Memory,
            format!(
                "a statement of {values} values takes some {} MB to plan, and {} MB are left {whose}; load the values with \
                 COPY, or give fewer in a statement",
                wanted >> 20,
                left >> 20
            ),
        ))
    }
}

/// How many values `sql` lists, about: what commas part outside of quotes.
fn values(sql: &str) -> usize {
    let mut quote = None;
    let mut commas = 0;
    for byte in sql.bytes() {
        match (quote, byte) {
            (None, b',') => commas += 1,
            (None, b'\'' | b'"') => quote = Some(byte),
            (Some(open), close) if open == close => quote = None,
            _ => {}
        }
    }
    commas
}
