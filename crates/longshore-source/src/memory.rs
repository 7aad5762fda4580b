//! What buffers count against, as the one who reads a source provides it: this crate knows no database.

use std::error::Error;

/// Memory with a limit that others use as well.
pub trait MemoryPool: Send + Sync {
    /// Bytes that are left of the limit, if there is one.
    fn room(&self) -> Option<usize>;

    /// A reservation of nothing, to be grown.
    fn reservation(&self) -> Box<dyn MemoryReservation>;
}

/// Bytes of a [`MemoryPool`] that count as used until this is dropped.
pub trait MemoryReservation: Send {
    /// Counts in further bytes.
    ///
    /// # Errors
    /// When the limit is reached; then nothing changes. Readers hand the error on inside an [`std::io::Error`], so that
    /// the owner of the pool knows it again.
    fn grow(&mut self, bytes: usize) -> Result<(), Box<dyn Error + Send + Sync>>;
}
