//! Lets the buffers of sources count against the memory of a database: `longshore-source` does not know it, nor
//! `longshore-storage` sources.

use std::error::Error;
use std::sync::Arc;

use longshore_source::{MemoryPool, MemoryReservation};
use longshore_storage::{Memory, Reservation};

/// `memory` as sources see it. What its limit refuses is an [`OutOfMemory`](longshore_storage::OutOfMemory).
#[must_use]
pub fn memory_pool(memory: &Arc<Memory>) -> Arc<dyn MemoryPool> {
    Arc::new(Pool(Arc::clone(memory)))
}

struct Pool(Arc<Memory>);

impl MemoryPool for Pool {
    fn room(&self) -> Option<usize> {
        self.0.limit().map(|limit| limit.saturating_sub(self.0.used()))
    }

    fn reservation(&self) -> Box<dyn MemoryReservation> {
        Box::new(Reserved(Reservation::new(&self.0)))
    }
}

struct Reserved(Reservation);

impl MemoryReservation for Reserved {
    fn grow(&mut self, bytes: usize) -> Result<(), Box<dyn Error + Send + Sync>> {
        Ok(self.0.grow(bytes)?)
    }
}
