//! Memory with a limit that nobody else uses.

use std::error::Error;
use std::fmt;
use std::sync::{Arc, Mutex};

use longshore_source::{MemoryPool, MemoryReservation};

/// A pool that knows how much is used, and was at most.
pub(crate) struct Limited {
    limit: usize,
    bytes: Arc<Mutex<Bytes>>,
}

#[derive(Default)]
struct Bytes {
    used: usize,
    peak: usize,
}

/// The limit of a pool does not allow what was asked for.
#[derive(Debug)]
pub(crate) struct LimitReached;

impl fmt::Display for LimitReached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the limit is reached")
    }
}

impl Error for LimitReached {}

impl Limited {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, bytes: Arc::default() }
    }

    pub(crate) fn used(&self) -> usize {
        self.bytes.lock().unwrap().used
    }

    pub(crate) fn peak(&self) -> usize {
        self.bytes.lock().unwrap().peak
    }
}

impl MemoryPool for Limited {
    fn room(&self) -> Option<usize> {
        Some(self.limit - self.used())
    }

    fn reservation(&self) -> Box<dyn MemoryReservation> {
        Box::new(Reserved { limit: self.limit, taken: 0, bytes: Arc::clone(&self.bytes) })
    }
}

struct Reserved {
    limit: usize,
    taken: usize,
    bytes: Arc<Mutex<Bytes>>,
}

impl MemoryReservation for Reserved {
    fn grow(&mut self, bytes: usize) -> Result<(), Box<dyn Error + Send + Sync>> {
        let mut all = self.bytes.lock().unwrap();
        if bytes > self.limit - all.used {
            return Err(Box::new(LimitReached));
        }
        all.used += bytes;
        all.peak = all.peak.max(all.used);
        self.taken += bytes;
        Ok(())
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.bytes.lock().unwrap().used -= self.taken;
    }
}
